// A capture: which streams take part, where their next nodes attach, and what went wrong.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/mutex.h"
#include "engine/capture.h"
#include "engine/graph.h"
#include "engine/stream.h"

namespace infinirt {

struct Capture {
  struct Participant {
    Stream* stream;
    std::vector<GraphNode*> tail;                  // what the stream's next node depends on
    std::vector<infinirtGraphNode_t> given_out;    // the same as handles, for infinirtStreamGetCaptureInfo
  };

  uint64_t id = 0;                  // never reused
  enum infinirtStreamCaptureMode mode = infinirtStreamCaptureModeGlobal;
  uint64_t thread = 0;              // that began it
  Graph* graph = nullptr;
  bool graph_is_callers = false;    // infinirtStreamBeginCaptureToGraph
  std::vector<Participant> participants;           // the stream it began on first
  std::vector<GraphNode*> orphans;  // tails of streams that were destroyed meanwhile
  std::unordered_map<const Event*, std::vector<GraphNode*>> events;  // what captured records stand for

  bool valid = true;
  std::string broken_by;            // the function that broke it; empty while that call is still failing
  uint64_t broken_by_thread = 0;
  std::string reason;               // what was wrong with that

  Stream& origin() const { return *participants.front().stream; }
};

// Locks all captures. Taken before any other lock of the engine; no user code and no primitive runs under it.
class CaptureLock {
 public:
  CaptureLock();
  ~CaptureLock();
  CaptureLock(const CaptureLock&) = delete;
  CaptureLock& operator=(const CaptureLock&) = delete;

  // The stream's capture and its part in it; null when it does not capture.
  Capture* of(const Stream& stream) const { return stream.capture.load(std::memory_order_relaxed); }
  Capture::Participant& part(Capture& capture, const Stream& stream) const;

  Capture* begin(Stream& stream, enum infinirtStreamCaptureMode mode, Graph& graph, bool graph_is_callers,
                 std::vector<GraphNode*> tail) const;
  void join(Capture& capture, Stream& stream, std::vector<GraphNode*> tail) const;
  // The streams are ordinary ones again, and the capture is gone. The graph is left to the caller.
  void end(Capture& capture) const;

  // The call in progress breaks the capture; it is named by itself as it fails.
  void invalidate(Capture& capture, std::string reason) const;

  // Whether these nodes are ordered before what the origin does next.
  bool is_joined(const Capture& capture, const std::vector<GraphNode*>& tail) const;
};

// 901, with the name of the call that broke the capture.
infinirtError_t capture_is_broken(const Capture& capture);

// The calling thread, for the life of the process.
uint64_t capture_thread_id();

// The call in progress cannot be captured: the stream's capture is invalidated, and 900 returned.
infinirtError_t capture_refused(Stream& stream, const char* reason);

// Adds a node after the stream's tail, which it becomes. `child`, if any, is the graph's or destroyed afterwards.
infinirtError_t capture_node(Stream& stream, NodeBodyPtr body, Graph* child = nullptr);

}  // namespace infinirt
