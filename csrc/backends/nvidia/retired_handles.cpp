#include "backends/nvidia/retired_handles.h"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "backends/nvidia/around_calls.h"
#include "backends/nvidia/real_library.h"
#include "core/mutex.h"

namespace infinirt::nvidia {

namespace {

// Names the thread's context for good, as its address does not; 0 where the driver cannot say.
uint64_t current_context() {
  static const auto get = reinterpret_cast<int (*)(void**)>(driver_function("cuCtxGetCurrent"));
  static const auto identify = reinterpret_cast<int (*)(void*, unsigned long long*)>(driver_function("cuCtxGetId"));
  void* context = nullptr;
  unsigned long long id = 0;
  if (!get || !identify || get(&context) != 0 || !context) return 0;
  return identify(context, &id) == 0 ? id : 0;
}

// By context: what another library ended together with its context must not be destroyed again, and the current one is alive.
template <class Handle, size_t kKept>
class Retired {
 public:
  // Keeps the handle and returns the one that has to go, if any.
  Handle exchange(Handle handle, uint64_t context) {
    std::lock_guard guard(mutex_);
    Ring& ring = rings_[context];
    const Handle old = std::exchange(ring.handles[ring.next++ % kKept], handle);
    if (old) note_alive(old);  // from here on the address may be anybody's
    return old;
  }

  void forget() {
    std::lock_guard guard(mutex_);
    for (const auto& [context, ring] : rings_) {
      for (Handle handle : ring.handles) {
        if (handle) note_alive(handle);
      }
    }
    rings_.clear();
  }

 private:
  struct Ring {
    std::array<Handle, kKept> handles = {};
    size_t next = 0;
  };
  Mutex mutex_;
  std::map<uint64_t, Ring> rings_;
};

// A stream of the driver holds some memory, an event next to none.
using RetiredStreams = Retired<infinirtStream_t, 32>;
using RetiredEvents = Retired<infinirtEvent_t, 256>;

RetiredStreams& retired_streams() {
  static auto* instance = new RetiredStreams;
  return *instance;
}
RetiredEvents& retired_events() {
  static auto* instance = new RetiredEvents;
  return *instance;
}

bool is_in_capture(infinirtStream_t stream) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  return real.StreamIsCapturing(stream, &status) != infinirtSuccess || status != infinirtStreamCaptureStatusNone;
}

// The first failure of a device is somebody's to see; here nobody would.
void destroy_quietly(infinirtError_t error) {
  if (error != infinirtSuccess && real_get_last_error) real_get_last_error();
}

}  // namespace

infinirtError_t StreamDestroy(infinirtStream_t stream) {
  if (is_dead(stream)) [[unlikely]]
    return refuse_dead(stream, "stream");
  const uint64_t context = current_context();
  // What the real library has to say about predefined streams, and about captures that end here, is its own to say.
  if (reinterpret_cast<uintptr_t>(stream) <= 2 || !context || is_in_capture(stream)) {
    const infinirtError_t error = real.StreamDestroy(stream);
    if (error == infinirtSuccess) return error;
    return failed(FunctionId::StreamDestroy, error, nullptr, "stream %p", shown(stream));
  }
  mark_dead(stream);
  if (infinirtStream_t old = retired_streams().exchange(stream, context)) destroy_quietly(real.StreamDestroy(old));
  return infinirtSuccess;
}

infinirtError_t EventDestroy(infinirtEvent_t event) {
  if (is_dead(event)) [[unlikely]]
    return refuse_dead(event, "event");
  const uint64_t context = current_context();
  if (!event || !context) {
    const infinirtError_t error = real.EventDestroy(event);
    if (error == infinirtSuccess) return error;
    return failed(FunctionId::EventDestroy, error, nullptr, "event %p", shown(event));
  }
  mark_dead(event);
  if (infinirtEvent_t old = retired_events().exchange(event, context)) destroy_quietly(real.EventDestroy(old));
  return infinirtSuccess;
}

void forget_retired_handles() {
  retired_streams().forget();
  retired_events().forget();
}

}  // namespace infinirt::nvidia
