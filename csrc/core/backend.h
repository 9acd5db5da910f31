// A backend: a name, a table of functions in the CUDA shape, and how it came by each of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/cross_copy.h"
#include "core/hot_state.h"
#include "core/thread_state.h"
#include "infinirt/generated/table.h"
#include "infinirt_ext.h"

namespace infinirt {

struct Compiled;

enum class Support : uint8_t { Unsupported = 0, Emulated = 1, Native = 2 };

// What infinirt_ext.h asks of a backend. An entry that is null is unsupported.
struct BackendExtensions {
  infinirtError_t (*LaunchHostFunc)(infinirtStream_t, infinirtHostFn_t, void* data, infinirtHostFn_t destroy) = nullptr;
  // Disposes of the data whatever happens.
  infinirtError_t (*LaunchStep)(infinirtStream_t, const infinirtXStepInfo&) = nullptr;
  infinirtError_t (*StreamUse)(infinirtStream_t, const void*, size_t bytes, const char* argument,
                               void** host) = nullptr;
  infinirtError_t (*SetMemoryLimit)(Backend&, int device, size_t bytes) = nullptr;
  infinirtError_t (*GetHostAddress)(Backend&, const void* device_pointer, void** host) = nullptr;
  infinirtError_t (*SeedSchedule)(uint64_t seed) = nullptr;
  bool (*Drain)(Backend&, int64_t timeout_ns) = nullptr;  // false: work is left
  // For infinirtXCompile; `out` is empty before. The architecture is that of the calling thread's device when it is null.
  infinirtError_t (*Compile)(const infinirtXCompileInfo&, Compiled& out) = nullptr;
  infinirtError_t (*StreamGetDevice)(infinirtStream_t, int* device) = nullptr;  // also while it captures
  // As infinirtStreamQuery, infinirtEventQuery and infinirtDeviceSynchronize, for the runtime's own questions: a failure of earlier
  // work is left for the program to hear of. Null: the functions themselves leave it.
  infinirtError_t (*QuietStreamQuery)(infinirtStream_t) = nullptr;
  infinirtError_t (*QuietEventQuery)(infinirtEvent_t) = nullptr;
  infinirtError_t (*QuietEventSynchronize)(infinirtEvent_t) = nullptr;
  infinirtError_t (*QuietDeviceSynchronize)() = nullptr;
  // What an event stands for now, for a stream of another backend: made, waited for on any thread, dropped once. `lane` is for the
  // backend: null at first, the same for all waits of that stream, which come in this order, and dropped when the stream is gone.
  infinirtError_t (*SnapshotEvent)(infinirtEvent_t, void** lane, void** snapshot) = nullptr;
  void (*WaitForSnapshot)(void*) = nullptr;
  void (*DropSnapshot)(void*) = nullptr;
  void (*DropLane)(void** lane) = nullptr;  // of one that is not null
  infinirtError_t (*CopyNow)(const CrossCopy&) = nullptr;  // between its memory and the host's
  // Waits for the default stream of the device that has this memory; not for engines, which have streams of ours.
  infinirtError_t (*WaitForDefaultStream)(const void* pointer) = nullptr;
  bool (*OwnsPointer)(const void*) = nullptr;  // for backends whose allocations are not in the registry
  // A stream of the vendor's own that stands in for one of ours: see infinirtXStreamBeginNative. Null where there is none,
  // or where the handles are the vendor's own anyway.
  infinirtError_t (*BeginNative)(infinirtStream_t, void** native) = nullptr;
  infinirtError_t (*EndNative)(infinirtStream_t, void* native) = nullptr;
  void* (*NativeAddress)(const Backend&, const void*) = nullptr;  // of its memory; null: the pointer itself
};

struct Backend {
  std::string name;  // the device type: "cpu", "nvidia", …
  std::string origin;  // where it comes from, for people: "built in", a library's path, …; "": nothing was found
  std::string problem;  // why it has no devices; empty when it has
  infinirtError_t problem_code = infinirtErrorNoDevice;  // with it
  std::string refusal;  // why calls fail that the backend does have: in a forked child; empty usually
  infinirtError_t refusal_code = infinirtErrorNotSupported;  // with it
  uint8_t index = 0;  // position in the list; given at registration
  bool is_accelerator = false;  // preferred over the CPU when no device type was chosen
  bool native_handles = false;  // its handles are the vendor's own: foreign handle values are routed to it
  BackendTable table;
  BackendExtensions extensions;
  std::array<Support, static_cast<size_t>(FunctionId::Count)> support{};
  // Never fails; 0 when unusable. May load a library, and then fills what is above.
  int (*device_count)(const Backend&) = nullptr;
  bool (*calls_may_wait)() =
      nullptr;  // see infinirtXCallMayWait; null: never. Asked only while g_hot.may_wait is not 0
  void* engine = nullptr;  // the engine instance of an engine-run backend
};

// Fills every entry with one that fails as unsupported (generated).
const BackendTable& unsupported_table();

// Called by such an entry: NotSupported, with what is missing and on which backend.
infinirtError_t unsupported_call(FunctionId function);

// Registration is for the life of the process. Fails (returns false) when the name is taken or the list is full.
bool register_backend(Backend* backend);

// All registered backends; built-in ones register themselves on first use. The references stay valid.
int backend_count();
Backend* backend_at(int index);
Backend* find_backend(const char* name);

// The device type of threads that have chosen none: INFINIRT_DEVICE, else the first accelerator with a device, else cpu.
// Null (with a message) when INFINIRT_DEVICE names a type that does not exist.
const Backend* default_backend();

// The thread's backend, chosen by default on first use; null with a message on failure.
const Backend* current_backend(ThreadState& ts);

// Makes it the thread's own.
void choose_backend(ThreadState& ts, const Backend* backend);

// Built-in backends put a registrar into this list by a static object in their own folder, so that nothing outside the
// folder names them. Registrars run once, in priority order (lower first), when the list is first looked at.
struct BuiltinBackend {
  BuiltinBackend(int priority, Backend* (*make)());
};

}  // namespace infinirt
