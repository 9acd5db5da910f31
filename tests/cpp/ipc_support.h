// What the tests of sharing between processes share: a program runs itself as the second process, and the two talk over a
// channel.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "child.h"
#include "support.h"

inline constexpr int kChannel = 100;  // descriptor of the channel to the other process, in the child

template <class T>
void send_value(int channel, const T& value) {
  CHECK_EQ(write(channel, &value, sizeof value), static_cast<ssize_t>(sizeof value));
}

template <class T>
bool receive_value(int channel, T* value) {
  pollfd wanted = {channel, POLLIN, 0};
  return poll(&wanted, 1, 60000) == 1 && read(channel, value, sizeof *value) == static_cast<ssize_t>(sizeof *value);
}

template <class T>
T receive(int channel) {
  T value{};
  CHECK(receive_value(channel, &value));
  return value;
}

// The second process: this program with another body, and a channel to it.
class Peer {
 public:
  explicit Peer(const char* body, const char* setting = nullptr) {
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    channel = ends[0];
    process = fork();
    if (process == 0) {
      dup2(ends[1], kChannel);
      if (setting) putenv(const_cast<char*>(setting));
      execl("/proc/self/exe", "peer", "--child", body, nullptr);
      _exit(127);
    }
    close(ends[1]);
  }
  ~Peer() {
    if (process > 0) join();
    close(channel);
  }
  int join() {
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    process = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void end() {
    kill(process, SIGKILL);
    join();
  }
  int channel = -1;
  pid_t process = -1;
};

inline void send_file(int channel, int file) {
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
  iovec data = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  CHECK_EQ(sendmsg(channel, &message, 0), ssize_t{1});
}

inline int receive_file(int channel) {
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
  iovec data = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(channel, &message, 0) != 1) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
  return file;
}

inline std::vector<unsigned char> contents(const void* device, size_t size) {
  std::vector<unsigned char> bytes(size);
  OK(infinirtMemcpy(bytes.data(), device, size, infinirtMemcpyDeviceToHost));
  return bytes;
}

inline void fill(void* device, int value, size_t size) {
  OK(infinirtMemset(device, value, size));
  OK(infinirtDeviceSynchronize());
}

inline bool all_are(const std::vector<unsigned char>& bytes, unsigned char value) {
  for (unsigned char byte : bytes) {
    if (byte != value) return false;
  }
  return true;
}

inline infinirtEvent_t make_shared_event() {
  infinirtEvent_t event = nullptr;
  OK(infinirtEventCreateWithFlags(&event, infinirtEventInterprocess | infinirtEventDisableTiming));
  return event;
}

// Where memory cannot be shared: true, after a look that the device says so.
inline bool sharing_is_refused() {
  if (supported("infinirtIpcGetMemHandle")) return false;
  void* memory = nullptr;
  infinirtIpcMemHandle_t handle;
  OK(infinirtMalloc(&memory, 4096));
  FAILS(infinirtIpcGetMemHandle(&handle, memory), infinirtErrorNotSupported);
  OK(infinirtFree(memory));
  struct infinirtMemPoolProps properties = {};
  properties.allocType = infinirtMemAllocationTypePinned;
  properties.location = {infinirtMemLocationTypeDevice, 0};
  properties.handleTypes = infinirtMemHandleTypePosixFileDescriptor;
  infinirtMemPool_t pool = nullptr;
  FAILS(infinirtMemPoolCreate(&pool, &properties), infinirtErrorNotSupported);
  OK(infinirtDeviceGetDefaultMemPool(&pool, 0));
  int file = -1;
  FAILS(infinirtMemPoolExportToShareableHandle(&file, pool, infinirtMemHandleTypePosixFileDescriptor, 0),
        infinirtErrorNotSupported);
  int types = -1;
  OK(infinirtDeviceGetAttribute(&types, infinirtDevAttrMemoryPoolSupportedHandleTypes, 0));
  CHECK_EQ(types, 0);
  return true;
}
