// Interprocess functions of engine-run backends.
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "engine/capture.h"
#include "engine/event.h"
#include "engine/ipc.h"
#include "engine/shared_event.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

constexpr uint32_t kMemoryMagic = 0x4952434d, kEventMagic = 0x49524345;

// What the 64 bytes of a handle hold.
struct MemoryHandle {
  uint32_t magic;
  uint32_t process;
  int32_t file;
  uint32_t reserved;
  uint64_t offset, size;
  uint64_t token, token_offset;
  uint64_t padding[2];
};
static_assert(sizeof(MemoryHandle) == sizeof(infinirtIpcMemHandle_t));

struct EventHandle {
  uint32_t magic;
  uint32_t process;
  int32_t file;
  uint32_t reserved;
  uint64_t token;
  uint64_t padding[5];
};
static_assert(sizeof(EventHandle) == sizeof(infinirtIpcEventHandle_t));

// Memory of other processes that is mapped here.
struct Opened {
  uint64_t token = 0;
  int device = 0;
  unsigned users = 0;
};

struct OpenedTable {
  Mutex mutex;
  std::map<uintptr_t, Opened> by_address;
};

OpenedTable& opened_table() {
  static auto* table = [] {
    pthread_atfork(nullptr, nullptr,
                   [] { opened_table().mutex.reset_after_fork(); });  // the holder is not in the child
    return new OpenedTable;
  }();
  return *table;
}

// Holds still whatever could write to the device's memory through the runtime: its streams are idle and take no work.
class QuietDevice {
 public:
  explicit QuietDevice(EngineDevice& device) : device_(device) {
    for (int attempt = 0; attempt < 100 && !quiet_; ++attempt) {
      std::vector<Point> points;
      device.mutex.lock();
      streams_ = device.streams;
      streams_.push_back(device.legacy);
      quiet_ = true;
      for (Stream* stream : streams_) {
        stream->mutex.lock();
        points.push_back(stream->tail());
        quiet_ = quiet_ && stream->idle();
      }
      if (quiet_) return;
      unlock();
      for (const Point& point : points) wait_for(point);
    }
  }
  ~QuietDevice() {
    if (quiet_) unlock();
  }
  QuietDevice(const QuietDevice&) = delete;
  QuietDevice& operator=(const QuietDevice&) = delete;
  bool quiet() const { return quiet_; }

 private:
  void unlock() {
    for (Stream* stream : streams_) stream->mutex.unlock();
    device_.mutex.unlock();
  }

  EngineDevice& device_;
  std::vector<Stream*> streams_;
  bool quiet_ = false;
};

// The token where the handle says it is. False: the memory is not what it was, or the handle is damaged.
bool token_matches(int file, const MemoryHandle& handle) {
  uint64_t token = 0;
  return pread(file, &token, sizeof token, static_cast<off_t>(handle.token_offset)) == sizeof token &&
         token == handle.token;
}

infinirtError_t map_opened(EngineDevice& device, const MemoryHandle& handle, void** out) {
  const int file = open_shared_file(handle.process, handle.file);
  if (file < 0) return infinirtErrorMapBufferObjectFailed;
  infinirtError_t error = infinirtSuccess;
  if (!token_matches(file, handle)) {
    error = fail(infinirtErrorMapBufferObjectFailed, "handle is of memory that process %u has freed, or is damaged",
                 handle.process);
  } else {
    // Memory lies in the file as it lies in pages: the first of them may begin before it.
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t lead = handle.offset % page;
    const off_t end = lseek(file, 0, SEEK_END);
    if (end < 0 || handle.size == 0 || handle.offset > static_cast<size_t>(end) ||
        handle.size > static_cast<size_t>(end) - handle.offset) {
      error =
          fail(infinirtErrorInvalidValue, "handle is damaged: it describes memory beyond the end of what is shared");
    } else {
      error = device.engine->map_shared(device.ordinal, file, handle.offset - lead, lead + handle.size, out);
      if (error == infinirtSuccess) *out = static_cast<char*>(*out) + lead;
    }
  }
  close(file);
  return error;
}

size_t lead_of(uintptr_t address) { return address % static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void unmap_opened(EngineDevice& device, const Allocation& memory) {
  const size_t lead = lead_of(memory.base);
  device.engine->unmap_shared(device.ordinal, reinterpret_cast<void*>(memory.base - lead), lead + memory.size);
}

}  // namespace

namespace engine_api {

infinirtError_t IpcGetMemHandle(infinirtIpcMemHandle_t* handle, void* devPtr) {
  if (!handle) return fail(infinirtErrorInvalidValue, "handle is null; it must point at where the handle goes");
  Allocation memory;
  if (!registry_find(devPtr, &memory)) {
    return fail(infinirtErrorInvalidValue, "devPtr %p is not allocated; memory of infinirtMalloc was expected", devPtr);
  }
  if (memory.kind != MemoryKind::Device) {
    return fail(infinirtErrorInvalidValue,
                "devPtr %p is not memory of infinirtMalloc; pools are shared with "
                "infinirtMemPoolExportToShareableHandle, other memory not at all",
                devPtr);
  }
  auto& engine = *static_cast<Engine*>(memory.backend->engine);
  EngineDevice& device = *engine.devices[static_cast<size_t>(memory.device)];
  if (auto error = check_device(device)) return error;
  if (!engine.shares_memory()) {
    return fail(infinirtErrorNotSupported, "'%s' cannot share memory with other processes",
                engine.backend.name.c_str());
  }
  SharedRange range;
  {
    const QuietDevice quiet(device);
    if (!quiet.quiet()) {
      return fail(infinirtErrorMapBufferObjectFailed,
                  "%s:%d is given work all the time; memory can be shared only while it is idle",
                  engine.backend.name.c_str(), device.ordinal);
    }
    if (auto error = engine.share(memory.device, reinterpret_cast<void*>(memory.base), memory.size, &range))
      return error;
  }
  const MemoryHandle made = {kMemoryMagic,
                             static_cast<uint32_t>(getpid()),
                             range.file,
                             0,
                             range.offset,
                             memory.size,
                             range.token,
                             range.token_offset,
                             {}};
  std::memcpy(handle, &made, sizeof made);
  return infinirtSuccess;
}

infinirtError_t IpcOpenMemHandle(void** devPtr, infinirtIpcMemHandle_t handle, unsigned int flags) {
  if (!devPtr) return fail(infinirtErrorInvalidValue, "devPtr is null; it must point at where the address goes");
  if (flags != infinirtIpcMemLazyEnablePeerAccess) {
    return fail(infinirtErrorInvalidValue, "flags 0x%x: infinirtIpcMemLazyEnablePeerAccess (1) was expected", flags);
  }
  MemoryHandle wanted;
  std::memcpy(&wanted, &handle, sizeof wanted);
  if (wanted.magic != kMemoryMagic)
    return fail(infinirtErrorInvalidValue, "handle was not made by infinirtIpcGetMemHandle");
  if (wanted.process == static_cast<uint32_t>(getpid())) {
    return fail(infinirtErrorDeviceUninitialized,
                "handle is of this process's own memory; use the address it was made from");
  }
  EngineDevice& device = current_device(thread_state());
  if (auto error = check_device(device)) return error;
  if (auto error = check_capture_unsafe(thread_state())) return error;
  auto& table = opened_table();
  std::lock_guard guard(table.mutex);
  for (auto& [address, opened] : table.by_address) {
    if (opened.token != wanted.token || opened.device != device.ordinal) continue;
    ++opened.users;
    *devPtr = reinterpret_cast<void*>(address);
    return infinirtSuccess;
  }
  void* pointer = nullptr;
  if (auto error = map_opened(device, wanted, &pointer)) return error;
  Allocation memory;
  memory.base = reinterpret_cast<uintptr_t>(pointer);
  memory.size = wanted.size;
  memory.kind = MemoryKind::Imported;
  memory.device = device.ordinal;
  memory.backend = &device.engine->backend;
  if (!registry_insert(memory)) {
    unmap_opened(device, memory);
    return fail(infinirtErrorMapBufferObjectFailed, "the memory was mapped where other memory is registered already");
  }
  table.by_address[memory.base] = {wanted.token, device.ordinal, 1};
  *devPtr = pointer;
  return infinirtSuccess;
}

infinirtError_t IpcCloseMemHandle(void* devPtr) {
  Allocation memory;
  const auto address = reinterpret_cast<uintptr_t>(devPtr);
  if (!registry_find(devPtr, &memory) || memory.kind != MemoryKind::Imported || memory.base != address) {
    return fail(infinirtErrorInvalidValue, "devPtr %p did not come from infinirtIpcOpenMemHandle, or is closed already",
                devPtr);
  }
  if (auto error = check_capture_unsafe(thread_state())) return error;
  auto& engine = *static_cast<Engine*>(memory.backend->engine);
  EngineDevice& device = *engine.devices[static_cast<size_t>(memory.device)];
  {
    auto& table = opened_table();
    std::lock_guard guard(table.mutex);
    auto found = table.by_address.find(address);
    if (found == table.by_address.end()) return fail(infinirtErrorInvalidValue, "devPtr %p is closed already", devPtr);
    if (--found->second.users > 0) return infinirtSuccess;
    table.by_address.erase(found);
    registry_remove(devPtr, &memory);
  }
  for (auto& any : engine.devices) synchronize_device(*any);  // work on any device may still use it
  unmap_opened(device, memory);
  return infinirtSuccess;
}

infinirtError_t IpcGetEventHandle(infinirtIpcEventHandle_t* handle, infinirtEvent_t event) {
  if (!handle) return fail(infinirtErrorInvalidValue, "handle is null; it must point at where the handle goes");
  Event* e = resolve_event(event, "event");
  if (!e) return infinirtErrorInvalidResourceHandle;
  if (!(e->flags & infinirtEventInterprocess)) {
    return fail(infinirtErrorInvalidResourceHandle,
                "event was created without infinirtEventInterprocess; create it with that flag "
                "and infinirtEventDisableTiming");
  }
  if (auto error = check_device(*e->device)) return error;
  EventHandle made = {};
  made.magic = kEventMagic;
  made.process = static_cast<uint32_t>(getpid());
  int file = -1;
  if (auto error = share_event(*e, &file, &made.token)) return error;
  made.file = file;
  std::memcpy(handle, &made, sizeof made);
  return infinirtSuccess;
}

infinirtError_t IpcOpenEventHandle(infinirtEvent_t* event, infinirtIpcEventHandle_t handle) {
  if (!event) return fail(infinirtErrorInvalidValue, "event is null; it must point at where the event goes");
  EventHandle wanted;
  std::memcpy(&wanted, &handle, sizeof wanted);
  if (wanted.magic != kEventMagic) {
    return fail(infinirtErrorMapBufferObjectFailed, "handle was not made by infinirtIpcGetEventHandle");
  }
  if (wanted.process == static_cast<uint32_t>(getpid())) {
    return fail(infinirtErrorDeviceUninitialized,
                "handle is of this process's own event; use the event it was made from");
  }
  EngineDevice& device = current_device(thread_state());
  if (auto error = check_device(device)) return error;
  const int file = open_shared_file(wanted.process, wanted.file);
  if (file < 0) return infinirtErrorMapBufferObjectFailed;
  void* page = nullptr;
  const infinirtError_t error = open_shared_event(file, wanted.token, &page);
  close(file);
  if (error != infinirtSuccess) return error;
  Event* opened = create_event(device, infinirtEventInterprocess | infinirtEventDisableTiming);
  if (!opened) {
    shared_event_close(page);
    return fail(infinirtErrorMemoryAllocation, "no room for another handle: 16 million objects are alive");
  }
  {
    std::lock_guard guard(opened->mutex);
    opened->shared = page;
  }
  *event = opened->handle;
  return infinirtSuccess;
}

}  // namespace engine_api

}  // namespace infinirt
