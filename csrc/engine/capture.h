// Stream capture: what the rest of the engine needs to know of it.
#pragma once

#include <atomic>

#include "engine/engine.h"
#include "engine/work.h"

namespace infinirt {

struct Event;
struct Stream;

// Adds the work to the graph being captured on the stream. Takes ownership of the work as submit() does.
infinirtError_t capture_work(Stream& stream, Work& work);

// For the stream functions, when a capture is involved. Each answers true when it has dealt with the call.
// (`flags`: the External flags make event nodes.) Both are cheap when nothing captures.
bool capture_event_record(Event& event, Stream& stream, unsigned flags, infinirtError_t* result);
bool capture_wait_event(Stream& stream, Event& event, unsigned flags, infinirtError_t* result);
// Query, synchronise, elapsed time of an event whose latest record is a captured one: 907 (invalidating where CUDA does), or 1
// when that capture has ended.
bool capture_uses_event(Event& event, bool invalidates, infinirtError_t* result);
// Query or synchronise of a capturing stream: 900, and the capture is invalidated.
bool capture_bars_stream(Stream& stream, const char* what, infinirtError_t* result);
// Use of the legacy stream while a blocking stream of the device captures: 906, and those captures are invalidated.
infinirtError_t capture_bars_legacy(EngineDevice& device);

// Calls that are unsafe during capture (infinirtMalloc and other implicitly synchronising calls). Fails with 900 and
// invalidates the captures concerned, by the modes' rules; success when nothing is in the way. Cheap when no capture exists.
extern std::atomic<int> g_active_captures;  // 0 lets every check through at the cost of one load
[[gnu::cold]] infinirtError_t check_capture_unsafe_slowly(ThreadState& ts);
inline infinirtError_t check_capture_unsafe(ThreadState& ts) {
  return g_active_captures.load(std::memory_order_relaxed) == 0 ? infinirtSuccess : check_capture_unsafe_slowly(ts);
}
// Device-wide synchronisation: also barred in relaxed mode while any stream of the device captures.
infinirtError_t check_capture_device_sync(ThreadState& ts, EngineDevice& device);

// Once, after the engine's own handlers: the lock of captures comes before the engine's, and after whatever calls the engine.
void install_capture_fork_handlers();

// A stream that captures is destroyed, or its device reset: the capture is invalidated and dropped.
void capture_stream_destroyed(Stream& stream);

}  // namespace infinirt
