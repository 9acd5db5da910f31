#include "engine/capture.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>

#include "engine/capture_state.h"
#include "engine/event.h"

namespace infinirt {

std::atomic<int> g_active_captures{0};

namespace {

struct Captures {
  Mutex mutex;
  std::vector<Capture*> all;
  uint64_t next_id = 1;
};

Captures& captures() {
  static auto* instance = new Captures;
  return *instance;
}

std::atomic<bool> ever_used{false};  // events may carry the mark of a capture from now on

Capture* find_capture(uint64_t id) {
  for (Capture* capture : captures().all) {
    if (capture->id == id) return capture;
  }
  return nullptr;
}

// A captured event's mark; 0 when its latest record is an ordinary one.
uint64_t capture_of_event(Event& event, bool* recorded) {
  std::lock_guard guard(event.mutex);
  if (recorded) *recorded = event.recorded;
  return event.capture_id;
}

// Called as the call that broke captures fails: only now is its name known.
void name_the_breaker(const char* function) {
  const uint64_t self = capture_thread_id();
  CaptureLock lock;
  for (Capture* capture : captures().all) {
    if (!capture->valid && capture->broken_by.empty() && capture->broken_by_thread == self)
      capture->broken_by = function;
  }
}

const char* mode_name(enum infinirtStreamCaptureMode mode) {
  switch (mode) {
    case infinirtStreamCaptureModeGlobal:
      return "global";
    case infinirtStreamCaptureModeThreadLocal:
      return "thread-local";
    case infinirtStreamCaptureModeRelaxed:
      return "relaxed";
  }
  return "unknown";
}

void merge_tail(std::vector<GraphNode*>& tail, const std::vector<GraphNode*>& more) {
  for (GraphNode* node : more) {
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
}

const void* shown(const Stream& stream) {
  return stream.role == StreamRole::PerThread ? reinterpret_cast<const void*>(uintptr_t{2}) : stream.handle;
}

infinirtError_t external_outside() {
  return fail(infinirtErrorIllegalState,
              "flags: an external event node belongs to a capture, and the stream does not capture");
}

}  // namespace

// ------------------------------------------------------------------ the lock, and what is done under it

void install_capture_fork_handlers() {
  static const int installed = pthread_atfork([] { captures().mutex.lock(); }, [] { captures().mutex.unlock(); },
                                              [] { captures().mutex.reset_after_fork(); });
  (void)installed;
}

CaptureLock::CaptureLock() { captures().mutex.lock(); }
CaptureLock::~CaptureLock() { captures().mutex.unlock(); }

Capture::Participant& CaptureLock::part(Capture& capture, const Stream& stream) const {
  return *std::find_if(capture.participants.begin(), capture.participants.end(),
                       [&](const auto& part) { return part.stream == &stream; });
}

Capture* CaptureLock::begin(Stream& stream, enum infinirtStreamCaptureMode mode, Graph& graph, bool graph_is_callers,
                            std::vector<GraphNode*> tail) const {
  auto* capture = new Capture;
  capture->id = captures().next_id++;
  capture->mode = mode;
  capture->thread = capture_thread_id();
  capture->graph = &graph;
  capture->graph_is_callers = graph_is_callers;
  ++graph.captures;
  captures().all.push_back(capture);
  ever_used.store(true, std::memory_order_relaxed);
  g_active_captures.fetch_add(1, std::memory_order_relaxed);
  join(*capture, stream, std::move(tail));
  return capture;
}

void CaptureLock::join(Capture& capture, Stream& stream, std::vector<GraphNode*> tail) const {
  capture.participants.push_back({&stream, std::move(tail), {}});
  if (stream.blocking) stream.device->blocking_captures.fetch_add(1, std::memory_order_relaxed);
  stream.capture.store(&capture, std::memory_order_release);
}

void CaptureLock::end(Capture& capture) const {
  for (auto& part : capture.participants) {
    if (part.stream->blocking) part.stream->device->blocking_captures.fetch_sub(1, std::memory_order_relaxed);
    part.stream->capture.store(nullptr, std::memory_order_release);
  }
  --capture.graph->captures;
  std::erase(captures().all, &capture);
  g_active_captures.fetch_sub(1, std::memory_order_relaxed);
  delete &capture;
}

void CaptureLock::invalidate(Capture& capture, std::string reason) const {
  if (!capture.valid) return;
  capture.valid = false;
  capture.reason = std::move(reason);
  capture.broken_by_thread = capture_thread_id();
  thread_extra(thread_state()).on_failure = name_the_breaker;
}

bool CaptureLock::is_joined(const Capture& capture, const std::vector<GraphNode*>& tail) const {
  const uint64_t mark = mark_ancestors(*capture.graph, capture.participants.front().tail);
  return std::all_of(tail.begin(), tail.end(), [&](const GraphNode* node) { return node->mark == mark; });
}

infinirtError_t capture_is_broken(const Capture& capture) {
  return fail(infinirtErrorStreamCaptureInvalidated, "the capture that began on stream %p was invalidated by %s: %s",
              shown(capture.origin()), capture.broken_by.empty() ? "another call" : capture.broken_by.c_str(),
              capture.reason.c_str());
}

uint64_t capture_thread_id() {
  static std::atomic<uint64_t> next{1};
  static thread_local uint64_t id = 0;
  if (id == 0) id = next.fetch_add(1, std::memory_order_relaxed);
  return id;
}

// ------------------------------------------------------------------ recording

infinirtError_t capture_node(Stream& stream, NodeBodyPtr body, Graph* child) {
  infinirtError_t error = infinirtSuccess;
  {
    CaptureLock lock;
    Capture* capture = lock.of(stream);
    if (!capture) {
      error = fail(infinirtErrorIllegalState, "the capture of the stream was ended by another thread during this call");
    } else if (!capture->valid) {
      error = capture_is_broken(*capture);
    } else {
      auto& part = lock.part(*capture, stream);
      GraphNode* node = add_node(*capture->graph, part.tail, std::move(body), child);
      if (node) {
        child = nullptr;
        part.tail.assign(1, node);
      } else {
        error = infinirtErrorMemoryAllocation;
      }
    }
  }
  if (child) destroy_graph(*child);
  return error;
}

infinirtError_t capture_refused(Stream& stream, const char* reason) {
  CaptureLock lock;
  Capture* capture = lock.of(stream);
  if (capture && !capture->valid) return capture_is_broken(*capture);
  if (capture) lock.invalidate(*capture, reason);
  return fail(infinirtErrorStreamCaptureUnsupported, "%s; the capture on stream %p is invalid now", reason,
              shown(stream));
}

infinirtError_t capture_work(Stream& stream, Work& work) {
  if (NodeBodyPtr body = make_captured_body(*stream.device, work)) {
    body->made_by = issued_now(thread_state());
    return capture_node(stream, std::move(body));
  }
  dispose_work(work);
  return capture_refused(stream, "the operation cannot be captured");
}

bool capture_event_record(Event& event, Stream& stream, unsigned flags, infinirtError_t* result) {
  const bool external = flags & infinirtEventRecordExternal;
  if (!stream.capture.load(std::memory_order_acquire)) {
    if (external) *result = external_outside();
    return external;
  }
  if (external) {
    NodeBodyPtr body = make_event_body(infinirtGraphNodeTypeEventRecord, event.handle, result);
    if (body) *result = capture_node(stream, std::move(body));
    return true;
  }
  CaptureLock lock;
  Capture* capture = lock.of(stream);
  if (!capture) return false;
  if (!capture->valid) {
    *result = capture_is_broken(*capture);
    return true;
  }
  capture->events[&event] = lock.part(*capture, stream).tail;
  std::lock_guard guard(event.mutex);
  event.capture_id = capture->id;
  event.recorded = true;
  *result = infinirtSuccess;
  return true;
}

namespace {

// The stream captures already.
infinirtError_t wait_in_capture(const CaptureLock& lock, Capture& capture, Stream& stream, Event& event, uint64_t id,
                                bool recorded) {
  if (!capture.valid) return capture_is_broken(capture);
  if (id == 0 && !recorded) return infinirtSuccess;  // a wait for an event that was never recorded is no wait
  Capture* other = id ? find_capture(id) : nullptr;
  if (other == &capture) {
    merge_tail(lock.part(capture, stream).tail, capture.events[&event]);
    return infinirtSuccess;
  }
  if (other) {
    lock.invalidate(capture, "it waited for an event of another capture");
    lock.invalidate(*other, "a stream of another capture waited for one of its events");
    return fail(infinirtErrorStreamCaptureMerge,
                "event was recorded in the capture that began on stream %p, stream %p belongs to another one; captures "
                "cannot be "
                "merged, and both are invalid now",
                shown(other->origin()), shown(stream));
  }
  if (id != 0) {
    lock.invalidate(capture, "it waited for an event of a capture that has ended");
    return fail(infinirtErrorInvalidValue,
                "event was last recorded in a capture that has ended; the capture on stream %p is invalid now",
                shown(stream));
  }
  lock.invalidate(capture, "it waited for an event that was recorded outside of the capture");
  return fail(infinirtErrorStreamCaptureIsolation,
              "event was recorded outside of the capture on stream %p, which is invalid now; record it in the capture, "
              "or wait with "
              "infinirtEventWaitExternal",
              shown(stream));
}

// The event was captured, the stream does not capture yet: it is drawn in.
infinirtError_t join_capture(const CaptureLock& lock, Stream& stream, Event& event, uint64_t id) {
  Capture* capture = find_capture(id);
  if (!capture) {
    return fail(infinirtErrorInvalidValue,
                "event was last recorded in a capture that has ended; record it again before waiting for it");
  }
  if (!capture->valid) return capture_is_broken(*capture);
  if (stream.role == StreamRole::Legacy) {
    lock.invalidate(*capture, "the legacy default stream waited for one of its events, and cannot be captured");
    return fail(infinirtErrorStreamCaptureImplicit,
                "event belongs to a capture, and the legacy default stream cannot take part in one; the capture is "
                "invalid now");
  }
  if (capture->graph->engine != stream.device->engine) {
    return fail(infinirtErrorStreamCaptureIsolation,
                "event belongs to a capture on device type '%s', the stream is of type '%s'",
                capture->graph->engine->backend.name.c_str(), stream.device->engine->backend.name.c_str());
  }
  lock.join(*capture, stream, capture->events[&event]);
  return infinirtSuccess;
}

}  // namespace

bool capture_wait_event(Stream& stream, Event& event, unsigned flags, infinirtError_t* result) {
  const bool capturing = stream.capture.load(std::memory_order_acquire) != nullptr;
  if (flags & infinirtEventWaitExternal) {
    if (!capturing) {
      *result = external_outside();
      return true;
    }
    NodeBodyPtr body = make_event_body(infinirtGraphNodeTypeWaitEvent, event.handle, result);
    if (body) *result = capture_node(stream, std::move(body));
    return true;
  }
  if (!ever_used.load(std::memory_order_relaxed)) return false;
  bool recorded = false;
  const uint64_t id = capture_of_event(event, &recorded);
  if (!capturing && id == 0) return false;
  CaptureLock lock;
  if (Capture* capture = lock.of(stream)) {
    *result = wait_in_capture(lock, *capture, stream, event, id, recorded);
    return true;
  }
  if (id == 0) return false;
  *result = join_capture(lock, stream, event, id);
  return true;
}

// ------------------------------------------------------------------ barred calls

bool capture_uses_event(Event& event, bool invalidates, infinirtError_t* result) {
  if (!ever_used.load(std::memory_order_relaxed)) return false;
  const uint64_t id = capture_of_event(event, nullptr);
  if (id == 0) return false;
  CaptureLock lock;
  Capture* capture = find_capture(id);
  if (capture && invalidates)
    lock.invalidate(*capture, "an event recorded in the capture was queried or waited for by the host");
  // The code for an event of a capture that has ended is what a GPU was measured to give.
  *result = fail(capture ? infinirtErrorCapturedEvent : infinirtErrorInvalidValue,
                 "event was last recorded in a capture%s, and stands for no work yet%s; record it outside of "
                 "captures to use it from the host",
                 capture ? "" : " that has ended", capture && invalidates ? "; the capture is invalid now" : "");
  return true;
}

bool capture_bars_stream(Stream& stream, const char* what, infinirtError_t* result) {
  CaptureLock lock;
  Capture* capture = lock.of(stream);
  if (!capture) return false;
  if (!capture->valid) {
    *result = capture_is_broken(*capture);
    return true;
  }
  lock.invalidate(*capture, std::string(what) + " is not possible while a stream captures");
  *result = fail(infinirtErrorStreamCaptureUnsupported,
                 "stream %p captures, and %s is not possible then; the capture is invalid now", shown(stream), what);
  return true;
}

infinirtError_t capture_bars_legacy(EngineDevice& device) {
  CaptureLock lock;
  const Stream* blocking = nullptr;
  for (Capture* capture : captures().all) {
    for (auto& part : capture->participants) {
      if (part.stream->device != &device || !part.stream->blocking) continue;
      blocking = part.stream;
      lock.invalidate(*capture, "the legacy default stream was used, which would wait for the capturing stream");
      break;
    }
  }
  if (!blocking) return infinirtSuccess;
  return fail(infinirtErrorStreamCaptureImplicit,
              "the legacy default stream would wait for stream %p, which captures; the capture is invalid now. Capture "
              "on a stream made with "
              "infinirtStreamNonBlocking, or use another stream meanwhile",
              shown(*blocking));
}

namespace {

// Whether the modes bar unsafe calls of this thread because of the capture.
bool bars(const Capture& capture, enum infinirtStreamCaptureMode thread_mode) {
  if (!capture.valid || thread_mode == infinirtStreamCaptureModeRelaxed) return false;
  if (capture.thread == capture_thread_id()) return capture.mode != infinirtStreamCaptureModeRelaxed;
  return thread_mode == infinirtStreamCaptureModeGlobal && capture.mode == infinirtStreamCaptureModeGlobal;
}

[[gnu::cold, gnu::noinline]] infinirtError_t check_captures(ThreadState& ts, const EngineDevice* synchronised) {
  CaptureLock lock;
  const Capture* guilty = nullptr;
  for (Capture* capture : captures().all) {
    const bool on_device = synchronised && capture->valid &&
                           std::any_of(capture->participants.begin(), capture->participants.end(),
                                       [&](const auto& part) { return part.stream->device == synchronised; });
    if (!on_device && !bars(*capture, ts.capture_mode)) continue;
    guilty = capture;
    lock.invalidate(*capture, synchronised
                                  ? "the device was synchronised with, which a capturing stream does not allow"
                                  : "the call may synchronise with the device, which its capture mode does not allow");
  }
  if (!guilty) return infinirtSuccess;
  return fail(infinirtErrorStreamCaptureUnsupported,
              "not possible while stream %p captures (mode %s, begun by %s thread); the capture is invalid now. Do it "
              "before the capture%s",
              shown(guilty->origin()), mode_name(guilty->mode),
              guilty->thread == capture_thread_id() ? "this" : "another",
              synchronised ? "" : ", or capture in relaxed mode if it is safe");
}

}  // namespace

infinirtError_t check_capture_unsafe_slowly(ThreadState& ts) { return check_captures(ts, nullptr); }

infinirtError_t check_capture_device_sync(ThreadState& ts, EngineDevice& device) {
  return g_active_captures.load(std::memory_order_relaxed) == 0 ? infinirtSuccess : check_captures(ts, &device);
}

void capture_stream_destroyed(Stream& stream) {
  Graph* dropped = nullptr;
  {
    CaptureLock lock;
    Capture* capture = lock.of(stream);
    if (!capture) return;
    if (&capture->origin() == &stream) {
      if (!capture->graph_is_callers) dropped = capture->graph;
      lock.end(*capture);
    } else {
      auto& part = lock.part(*capture, stream);
      capture->orphans.insert(capture->orphans.end(), part.tail.begin(), part.tail.end());
      if (stream.blocking) stream.device->blocking_captures.fetch_sub(1, std::memory_order_relaxed);
      stream.capture.store(nullptr, std::memory_order_release);
      capture->participants.erase(capture->participants.begin() + (&part - capture->participants.data()));
    }
  }
  if (dropped) destroy_graph(*dropped);
}

}  // namespace infinirt
