// Memory, events and pools shared between processes, through the public API on the CPU device. The program runs itself as
// the second process; the two talk over pipes.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "gate.h"
#include "infinirt.h"
#include "infinirt_ext.h"

namespace {

#define OK(call) CHECK_EQ(call, infinirtSuccess)

constexpr int kChannel = 100;  // descriptor of the channel to the other process, in the child

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
      execl("/proc/self/exe", "ipc_test", "--child", body, nullptr);
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

void send_file(int channel, int file) {
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

int receive_file(int channel) {
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

std::vector<unsigned char> contents(const void* device, size_t size) {
  std::vector<unsigned char> bytes(size);
  OK(infinirtMemcpy(bytes.data(), device, size, infinirtMemcpyDeviceToHost));
  return bytes;
}

void fill(void* device, int value, size_t size) {
  OK(infinirtMemset(device, value, size));
  OK(infinirtDeviceSynchronize());
}

bool all_are(const std::vector<unsigned char>& bytes, unsigned char value) {
  for (unsigned char byte : bytes) {
    if (byte != value) return false;
  }
  return true;
}

bool mentions(const char* text) { return std::string(infinirtXGetLastErrorMessage()).find(text) != std::string::npos; }

infinirtEvent_t make_event() {
  infinirtEvent_t event = nullptr;
  OK(infinirtEventCreateWithFlags(&event, infinirtEventInterprocess | infinirtEventDisableTiming));
  return event;
}

}  // namespace

// ---- memory

struct Offer {
  infinirtIpcMemHandle_t handle;
  size_t size;
};

CHILD(importer) {
  for (Offer offer; receive_value(kChannel, &offer) && offer.size != 0;) {
    void *pointer = nullptr, *again = nullptr;
    OK(infinirtIpcOpenMemHandle(&pointer, offer.handle, infinirtIpcMemLazyEnablePeerAccess));
    OK(infinirtIpcOpenMemHandle(&again, offer.handle, infinirtIpcMemLazyEnablePeerAccess));
    CHECK_EQ(pointer, again);
    struct infinirtPointerAttributes attributes = {};
    OK(infinirtPointerGetAttributes(&attributes, pointer));
    CHECK_EQ(attributes.type, infinirtMemoryTypeDevice);
    CHECK(all_are(contents(pointer, offer.size), 0x21));
    CHECK_EQ(infinirtMemset(pointer, 1, offer.size + 1), infinirtErrorInvalidValue);
    CHECK_EQ(infinirtFree(pointer), infinirtErrorInvalidValue);
    fill(pointer, 0x42, offer.size);
    OK(infinirtIpcCloseMemHandle(again));
    CHECK(all_are(contents(pointer, offer.size), 0x42));  // still open once
    OK(infinirtIpcCloseMemHandle(pointer));
    CHECK_EQ(infinirtIpcCloseMemHandle(pointer), infinirtErrorInvalidValue);
    CHECK_EQ(infinirtMemset(pointer, 1, 1), infinirtErrorInvalidValue);
    send_value(kChannel, int{check::failures() == 0});
  }
}

void share_memory() {
  Peer peer("importer");
  for (size_t size : {size_t{100}, size_t{5000}, size_t{70000}, size_t{3} << 20, (size_t{2} << 20) + 12345}) {
    // Neighbours must not notice: small allocations lie together.
    void *before = nullptr, *memory = nullptr, *after = nullptr;
    OK(infinirtMalloc(&before, 700));
    OK(infinirtMalloc(&memory, size));
    OK(infinirtMalloc(&after, 700));
    fill(before, 0x0b, 700);
    fill(memory, 0x21, size);
    fill(after, 0x0a, 700);
    Offer offer = {{}, size}, again = {{}, size};
    OK(infinirtIpcGetMemHandle(&offer.handle, memory));
    OK(infinirtIpcGetMemHandle(&again.handle, static_cast<char*>(memory) + 50));  // the whole allocation is meant
    CHECK_EQ(std::memcmp(&offer, &again, sizeof offer), 0);
    CHECK(all_are(contents(memory, size), 0x21));
    send_value(peer.channel, offer);
    CHECK_EQ(receive<int>(peer.channel), 1);
    CHECK(all_are(contents(memory, size), 0x42));  // what the other process wrote
    CHECK(all_are(contents(before, 700), 0x0b));
    CHECK(all_are(contents(after, 700), 0x0a));
    void* pointer = nullptr;
    CHECK_EQ(infinirtIpcOpenMemHandle(&pointer, offer.handle, infinirtIpcMemLazyEnablePeerAccess),
             infinirtErrorDeviceUninitialized);
    CHECK(mentions("own memory"));
    OK(infinirtFree(memory));
    OK(infinirtFree(before));
    OK(infinirtFree(after));
  }
  send_value(peer.channel, Offer{});
  CHECK_EQ(peer.join(), 0);
}

TEST(memory_is_seen_by_both_processes) { share_memory(); }
CHILD(share_memory) { share_memory(); }
TEST(memory_is_seen_by_both_processes_isolated) {
  CHECK_EQ(child::run("share_memory", {"INFINIRT_CPU_MEMORY=isolated"}), 0);
}
TEST(memory_is_seen_by_both_processes_guarded) {
  CHECK_EQ(child::run("share_memory", {"INFINIRT_CPU_MEMORY=guarded"}), 0);
}

CHILD(stale_importer) {
  for (Offer offer; receive_value(kChannel, &offer) && offer.size != 0;) {
    void* pointer = nullptr;
    const infinirtError_t error = infinirtIpcOpenMemHandle(&pointer, offer.handle, infinirtIpcMemLazyEnablePeerAccess);
    send_value(kChannel, static_cast<int>(error));
  }
}

TEST(handles_of_freed_memory_and_damaged_handles_are_errors) {
  Peer peer("stale_importer");
  for (size_t size : {size_t{1000}, size_t{1} << 20}) {
    void* memory = nullptr;
    OK(infinirtMalloc(&memory, size));
    Offer offer = {{}, size};
    OK(infinirtIpcGetMemHandle(&offer.handle, memory));
    Offer damaged = offer;
    damaged.handle.reserved[20] = static_cast<char>(damaged.handle.reserved[20] ^ 0x7f);  // the offset
    damaged.handle.reserved[23] = 0x7f;
    damaged.handle.reserved[40] = static_cast<char>(damaged.handle.reserved[40] ^ 1);  // where the token is
    send_value(peer.channel, damaged);
    CHECK_NE(receive<int>(peer.channel), infinirtSuccess);
    OK(infinirtFree(memory));
    send_value(peer.channel, offer);
    CHECK_EQ(receive<int>(peer.channel), infinirtErrorMapBufferObjectFailed);
    void* next = nullptr;
    OK(infinirtMalloc(&next, size));
    Offer unlike = {{}, size};
    OK(infinirtIpcGetMemHandle(&unlike.handle, next));
    CHECK_NE(std::memcmp(&unlike, &offer, sizeof offer), 0);
    OK(infinirtFree(next));
  }
  send_value(peer.channel, Offer{{}, 1});  // all zeros
  CHECK_EQ(receive<int>(peer.channel), infinirtErrorInvalidValue);
  send_value(peer.channel, Offer{});
  CHECK_EQ(peer.join(), 0);
}

CHILD(exporter) {
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, 100000));
  fill(memory, 0x33, 100000);
  Offer offer = {{}, 100000};
  OK(infinirtIpcGetMemHandle(&offer.handle, memory));
  send_value(kChannel, offer);
  receive<int>(kChannel);  // never comes: this process is killed
}

TEST(memory_outlives_a_killed_exporter_and_its_handle_does_not) {
  Peer peer("exporter");
  const auto offer = receive<Offer>(peer.channel);
  void *pointer = nullptr, *late = nullptr;
  OK(infinirtIpcOpenMemHandle(&pointer, offer.handle, infinirtIpcMemLazyEnablePeerAccess));
  peer.end();
  CHECK(all_are(contents(pointer, offer.size), 0x33));
  OK(infinirtIpcCloseMemHandle(pointer));
  CHECK_EQ(infinirtIpcOpenMemHandle(&late, offer.handle, infinirtIpcMemLazyEnablePeerAccess),
           infinirtErrorMapBufferObjectFailed);
  CHECK(mentions("has ended"));
}

TEST(only_plain_device_memory_has_a_handle) {
  infinirtIpcMemHandle_t handle;
  void *pinned = nullptr, *pooled = nullptr, *memory = nullptr, *opened = nullptr;
  OK(infinirtMallocHost(&pinned, 4096));
  OK(infinirtMallocAsync(&pooled, 4096, nullptr));
  OK(infinirtMalloc(&memory, 4096));
  CHECK_EQ(infinirtIpcGetMemHandle(&handle, pinned), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtIpcGetMemHandle(&handle, pooled), infinirtErrorInvalidValue);
  CHECK(mentions("ExportToShareableHandle"));
  CHECK_EQ(infinirtIpcGetMemHandle(&handle, nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtIpcGetMemHandle(nullptr, memory), infinirtErrorInvalidValue);
  OK(infinirtIpcGetMemHandle(&handle, memory));
  CHECK_EQ(infinirtIpcOpenMemHandle(&opened, handle, 0), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtIpcCloseMemHandle(memory), infinirtErrorInvalidValue);
  OK(infinirtFree(memory));
  OK(infinirtFreeAsync(pooled, nullptr));
  OK(infinirtFreeHost(pinned));
}

TEST(sharing_waits_for_work_and_keeps_what_it_wrote) {
  constexpr size_t kSize = 200000;
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, kSize));
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtMemsetAsync(memory, 0x77, kSize, stream));
  std::thread opener([&gate] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    gate.open();
  });
  infinirtIpcMemHandle_t handle;
  OK(infinirtIpcGetMemHandle(&handle, memory));
  OK(infinirtStreamQuery(stream));
  CHECK(all_are(contents(memory, kSize), 0x77));
  opener.join();
  OK(infinirtFree(memory));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_forked_child_does_not_write_into_what_the_parent_shares) {
  for (size_t size : {size_t{1000}, size_t{300000}}) {
    void* memory = nullptr;
    OK(infinirtMalloc(&memory, size));
    fill(memory, 0x51, size);
    infinirtIpcMemHandle_t handle;
    OK(infinirtIpcGetMemHandle(&handle, memory));
    const pid_t process = fork();
    if (process == 0) {
      // A little at a time: small sets need no worker, which the thread sanitizer does not allow after a fork.
      const size_t part = std::min(size, size_t{4096});
      bool good = all_are(contents(memory, size), 0x51);
      good = good && infinirtMemset(memory, 0x52, part) == infinirtSuccess &&
             infinirtDeviceSynchronize() == infinirtSuccess;
      infinirtIpcMemHandle_t own;
      good = good && infinirtIpcGetMemHandle(&own, memory) == infinirtSuccess &&
             std::memcmp(&own, &handle, sizeof own) != 0;
      good = good && all_are(contents(memory, part), 0x52) && infinirtFree(memory) == infinirtSuccess;
      _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(process, &status, 0);
    CHECK_EQ(status, 0);
    CHECK(all_are(contents(memory, size), 0x51));
    OK(infinirtFree(memory));
  }
}

// ---- events

CHILD(event_opener) {
  const auto handle = receive<infinirtIpcEventHandle_t>(kChannel);
  infinirtEvent_t event = nullptr;
  OK(infinirtIpcOpenEventHandle(&event, handle));
  OK(infinirtEventQuery(event));  // not recorded yet
  send_value(kChannel, 0);
  receive<int>(kChannel);  // now it is, and pending
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  OK(infinirtStreamWaitEvent(stream, event, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
  send_value(kChannel, 0);
  OK(infinirtEventSynchronize(event));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtEventQuery(event));
  // The other way round: recorded here, waited for there.
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtEventRecord(event, stream));
  send_value(kChannel, 0);
  receive<int>(kChannel);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  receive<int>(kChannel);
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(events_order_work_of_two_processes) {
  Peer peer("event_opener");
  infinirtEvent_t event = make_event();
  infinirtIpcEventHandle_t handle, again;
  OK(infinirtIpcGetEventHandle(&handle, event));
  OK(infinirtIpcGetEventHandle(&again, event));
  CHECK_EQ(std::memcmp(&handle, &again, sizeof handle), 0);
  infinirtEvent_t own = nullptr;
  CHECK_EQ(infinirtIpcOpenEventHandle(&own, handle), infinirtErrorDeviceUninitialized);
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  send_value(peer.channel, handle);
  receive<int>(peer.channel);
  {
    Gate gate;
    OK(gate.hold(stream));
    OK(infinirtEventRecord(event, stream));
    CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
    send_value(peer.channel, 0);
    receive<int>(peer.channel);
    gate.open();
    OK(infinirtStreamSynchronize(stream));
  }
  receive<int>(peer.channel);  // the other process has recorded it
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  OK(infinirtStreamWaitEvent(stream, event, 0));
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
  send_value(peer.channel, 0);
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtEventQuery(event));
  OK(infinirtEventDestroy(event));
  send_value(peer.channel, 0);
  CHECK_EQ(peer.join(), 0);
  OK(infinirtStreamDestroy(stream));
}

TEST(an_event_recorded_before_it_was_shared_keeps_its_state) {
  infinirtEvent_t event = make_event();
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtEventRecord(event, stream));
  infinirtIpcEventHandle_t handle;
  OK(infinirtIpcGetEventHandle(&handle, event));
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  gate.open();
  OK(infinirtEventSynchronize(event));
  OK(infinirtEventQuery(event));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(many_records_in_flight_and_a_wait_for_an_early_one) {
  infinirtEvent_t event = make_event();
  infinirtIpcEventHandle_t handle;
  OK(infinirtIpcGetEventHandle(&handle, event));
  infinirtStream_t slow = nullptr, fast = nullptr, waiting = nullptr;
  for (auto* stream : {&slow, &fast, &waiting}) OK(infinirtStreamCreateWithFlags(stream, infinirtStreamNonBlocking));
  Gate gate;
  OK(gate.hold(slow));
  OK(infinirtEventRecord(event, slow));
  OK(infinirtStreamWaitEvent(waiting, event, 0));
  for (int i = 0; i < 1000; ++i) OK(infinirtEventRecord(event, fast));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_EQ(infinirtStreamQuery(waiting), infinirtErrorNotReady);  // later records do not release it
  gate.open();
  OK(infinirtStreamSynchronize(waiting));
  OK(infinirtEventSynchronize(event));
  OK(infinirtEventDestroy(event));  // a pending record or none: never a crash
  OK(infinirtDeviceSynchronize());
  for (auto stream : {slow, fast, waiting}) OK(infinirtStreamDestroy(stream));
}

TEST(event_handles_are_checked) {
  infinirtEvent_t plain = nullptr, opened = nullptr;
  infinirtIpcEventHandle_t handle = {};
  OK(infinirtEventCreateWithFlags(&plain, infinirtEventDisableTiming));
  CHECK_EQ(infinirtIpcGetEventHandle(&handle, plain), infinirtErrorInvalidResourceHandle);
  CHECK(mentions("infinirtEventInterprocess"));
  OK(infinirtEventDestroy(plain));
  CHECK_EQ(infinirtIpcGetEventHandle(&handle, plain), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtIpcOpenEventHandle(&opened, handle), infinirtErrorMapBufferObjectFailed);
  CHECK_EQ(infinirtIpcOpenEventHandle(nullptr, handle), infinirtErrorInvalidValue);
}

CHILD(event_exporter) {
  infinirtEvent_t event = make_event();
  infinirtIpcEventHandle_t handle;
  OK(infinirtIpcGetEventHandle(&handle, event));
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtEventRecord(event, stream));
  send_value(kChannel, handle);
  receive<int>(kChannel);  // never comes: this process is killed
}

CHILD(waits_for_the_dead) {  // in a process of its own: the device's error lasts
  Peer peer("event_exporter");
  const auto handle = receive<infinirtIpcEventHandle_t>(peer.channel);
  infinirtEvent_t event = nullptr, late = nullptr;
  OK(infinirtIpcOpenEventHandle(&event, handle));
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  OK(infinirtStreamWaitEvent(stream, event, 0));
  kill(peer.process, SIGKILL);  // not waited for: it stays a zombie, and must count as dead
  CHECK_NE(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK(mentions("ended"));
  peer.join();
  CHECK_EQ(infinirtDeviceReset(), infinirtSuccess);
  CHECK_EQ(infinirtIpcOpenEventHandle(&late, handle), infinirtErrorMapBufferObjectFailed);
}
TEST(a_killed_recorder_is_noticed) { CHECK_EQ(child::run("waits_for_the_dead", {}), 0); }

// ---- pools

struct PoolOffer {
  struct infinirtMemPoolPtrExportData data;
  size_t size;
};

CHILD(pool_importer) {
  const int file = receive_file(kChannel);
  infinirtMemPool_t pool = nullptr;
  OK(infinirtMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                              infinirtMemHandleTypePosixFileDescriptor, 0));
  close(file);
  void* none = nullptr;
  CHECK_EQ(infinirtMallocFromPoolAsync(&none, 8, pool, nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceSetMemPool(0, pool), infinirtErrorInvalidValue);
  std::vector<void*> imported;
  for (PoolOffer offer; receive_value(kChannel, &offer) && offer.size != 0;) {
    void* pointer = nullptr;
    OK(infinirtMemPoolImportPointer(&pointer, pool, &offer.data));
    CHECK(all_are(contents(pointer, offer.size), 0x21));
    CHECK_EQ(infinirtMemset(pointer, 1, offer.size + 1), infinirtErrorInvalidValue);
    fill(pointer, 0x42, offer.size);
    imported.push_back(pointer);
    offer.data.reserved[17] ^= 0x55;  // the offset
    offer.data.reserved[22] ^= 0x55;
    CHECK_EQ(infinirtMemPoolImportPointer(&none, pool, &offer.data), infinirtErrorInvalidValue);
    send_value(kChannel, int{check::failures() == 0});
  }
  OK(infinirtMemPoolDestroy(pool));  // the blocks live on
  bool in_order = true;
  for (void* pointer : imported) {
    OK(in_order ? infinirtFreeAsync(pointer, nullptr) : infinirtFree(pointer));
    CHECK_EQ(infinirtFreeAsync(pointer, nullptr), infinirtErrorInvalidValue);
    in_order = !in_order;
  }
  OK(infinirtDeviceSynchronize());
}

void share_pool() {
  Peer peer("pool_importer");
  struct infinirtMemPoolProps properties = {};
  properties.allocType = infinirtMemAllocationTypePinned;
  properties.location = {infinirtMemLocationTypeDevice, 0};
  infinirtMemPool_t plain = nullptr, pool = nullptr;
  OK(infinirtMemPoolCreate(&plain, &properties));
  properties.handleTypes = infinirtMemHandleTypePosixFileDescriptor;
  OK(infinirtMemPoolCreate(&pool, &properties));
  int file = -1;
  CHECK_EQ(infinirtMemPoolExportToShareableHandle(&file, plain, infinirtMemHandleTypePosixFileDescriptor, 0),
           infinirtErrorInvalidValue);
  CHECK_EQ(infinirtMemPoolExportToShareableHandle(&file, pool, infinirtMemHandleTypePosixFileDescriptor, 1),
           infinirtErrorInvalidValue);
  CHECK_EQ(infinirtMemPoolExportToShareableHandle(&file, pool, infinirtMemHandleTypeNone, 0),
           infinirtErrorInvalidValue);
  OK(infinirtMemPoolExportToShareableHandle(&file, pool, infinirtMemHandleTypePosixFileDescriptor, 0));
  send_file(peer.channel, file);
  close(file);
  std::vector<void*> blocks;
  for (size_t size :
       {size_t{600}, size_t{5000}, size_t{300000}, size_t{9} << 20}) {  // later ones in segments made after the export
    void* block = nullptr;
    OK(infinirtMallocFromPoolAsync(&block, size, pool, nullptr));
    fill(block, 0x21, size);
    PoolOffer offer = {{}, size};
    CHECK_EQ(infinirtMemPoolExportPointer(&offer.data, static_cast<char*>(block) + 256), infinirtErrorInvalidValue);
    OK(infinirtMemPoolExportPointer(&offer.data, block));
    send_value(peer.channel, offer);
    CHECK_EQ(receive<int>(peer.channel), 1);
    CHECK(all_are(contents(block, size), 0x42));
    blocks.push_back(block);
  }
  void* other = nullptr;
  struct infinirtMemPoolPtrExportData data;
  OK(infinirtMallocFromPoolAsync(&other, 64, plain, nullptr));
  CHECK_EQ(infinirtMemPoolExportPointer(&data, other), infinirtErrorInvalidValue);
  OK(infinirtFreeAsync(other, nullptr));
  send_value(peer.channel, PoolOffer{});
  CHECK_EQ(peer.join(), 0);
  for (void* block : blocks) OK(infinirtFreeAsync(block, nullptr));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtMemPoolDestroy(plain));
}

TEST(pools_are_shared_by_a_file_descriptor) { share_pool(); }
CHILD(share_pool) { share_pool(); }
TEST(pools_are_shared_by_a_file_descriptor_isolated) {
  CHECK_EQ(child::run("share_pool", {"INFINIRT_CPU_MEMORY=isolated"}), 0);
}
TEST(pools_are_shared_by_a_file_descriptor_guarded) {
  CHECK_EQ(child::run("share_pool", {"INFINIRT_CPU_MEMORY=guarded"}), 0);
}

TEST(what_is_no_pool_cannot_be_imported) {
  infinirtMemPool_t pool = nullptr;
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  for (int file : {ends[0], -1, 9999}) {
    CHECK_EQ(infinirtMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                                      infinirtMemHandleTypePosixFileDescriptor, 0),
             infinirtErrorInvalidValue);
  }
  close(ends[0]);
  close(ends[1]);
}

CHILD_MAIN()
