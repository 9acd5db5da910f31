#include "engine/ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace infinirt {

namespace {

constexpr char kFileName[] = "infinirt-shared";
constexpr char kFileLink[] = "/memfd:infinirt-shared";  // what the system calls such a file

bool link_is_shared_file(const char* path) {
  char target[128];
  const ssize_t length = readlink(path, target, sizeof target - 1);
  if (length < 0) return false;
  target[length] = 0;
  return std::strncmp(target, kFileLink, sizeof kFileLink - 1) == 0;
}

// The start time of a process, which tells it from a later one with its number. False: there is no such process, or it
// has ended and only waits for its parent to notice.
bool read_start(uint32_t process, uint32_t* start) {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%u/stat", process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = 0;
  const char* field = std::strrchr(text, ')');  // the name may hold anything, parentheses included
  if (!field || field[1] != ' ' || field[2] == 'Z' || field[2] == 'X') return false;
  field += 2;
  for (int i = 3; i < 22; ++i) {
    field = std::strchr(field, ' ');
    if (!field) return false;
    ++field;
  }
  *start = static_cast<uint32_t>(std::strtoull(field, nullptr, 10));
  return true;
}

}  // namespace

infinirtError_t Engine::share(int, void*, size_t, SharedRange*) {
  return fail(infinirtErrorNotSupported, "'%s' cannot share memory with other processes", backend.name.c_str());
}

infinirtError_t Engine::share_into(int, void*, size_t, int, size_t) {
  return fail(infinirtErrorNotSupported, "'%s' cannot share memory with other processes", backend.name.c_str());
}

infinirtError_t Engine::map_shared(int, int, size_t, size_t, void**) {
  return fail(infinirtErrorNotSupported, "'%s' cannot map memory of other processes", backend.name.c_str());
}

void Engine::unmap_shared(int, void*, size_t) {}

int create_shared_file(size_t size) {
  const int file = memfd_create(kFileName, MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(size)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

bool is_shared_file(int file) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return file >= 0 && link_is_shared_file(path);
}

int open_shared_file(uint32_t process, int file) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%d", process, file);
  uint32_t start = 0;
  if (!read_start(process, &start)) {
    fail(infinirtErrorMapBufferObjectFailed,
         "process %u, which made the handle, has ended (or is in another container)", process);
    return -1;
  }
  // Looked at first: to open whatever the number means by now could block, or do worse.
  const int opened = link_is_shared_file(path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (opened < 0) {
    fail(infinirtErrorMapBufferObjectFailed,
         errno == EACCES || errno == EPERM ? "process %u, which made the handle, belongs to another user"
                                           : "process %u, which made the handle, does not share this any more",
         process);
  }
  return opened;
}

uint64_t random_token() {
  uint64_t token = 0;
  while (token == 0) {
    if (getrandom(&token, sizeof token, 0) != sizeof token) token = 0;
  }
  return token;
}

ProcessId this_process() {
  ProcessId process{static_cast<uint32_t>(getpid()), 0};
  read_start(process.number, &process.start);
  return process;
}

bool process_is_alive(const ProcessId& process) {
  uint32_t start = 0;
  return read_start(process.number, &start) && start == process.start;
}

}  // namespace infinirt
