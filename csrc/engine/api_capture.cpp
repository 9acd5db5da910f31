// Table functions: stream capture.
#include <algorithm>

#include "engine/capture_state.h"
#include "engine/graph_args.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

bool valid_mode(enum infinirtStreamCaptureMode mode) {
  return mode == infinirtStreamCaptureModeGlobal || mode == infinirtStreamCaptureModeThreadLocal ||
         mode == infinirtStreamCaptureModeRelaxed;
}

infinirtError_t bad_mode(enum infinirtStreamCaptureMode mode) {
  return fail(infinirtErrorInvalidValue, "mode %d is none of global (0), thread-local (1) and relaxed (2)",
              static_cast<int>(mode));
}

// With the capture lock held: whether a capture may begin.
infinirtError_t check_begin(const CaptureLock& lock, const Stream& stream) {
  if (stream.role == StreamRole::Legacy) {
    return fail(infinirtErrorStreamCaptureUnsupported,
                "stream is the legacy default stream, which cannot be captured; use one from infinirtStreamCreate");
  }
  if (lock.of(stream)) {
    return fail(infinirtErrorIllegalState, "stream is capturing already; call infinirtStreamEndCapture first");
  }
  return infinirtSuccess;
}

// The legacy stream cannot be asked while a blocking stream captures; that capture stays valid.
infinirtError_t check_ask(const Stream& stream) {
  if (stream.role == StreamRole::Legacy && stream.device->blocking_captures.load(std::memory_order_relaxed) > 0) {
    return fail(infinirtErrorStreamCaptureImplicit,
                "a blocking stream of the device captures; the legacy default stream cannot be used");
  }
  return infinirtSuccess;
}

enum infinirtStreamCaptureStatus status_of(const Capture* capture) {
  if (!capture) return infinirtStreamCaptureStatusNone;
  return capture->valid ? infinirtStreamCaptureStatusActive : infinirtStreamCaptureStatusInvalidated;
}

infinirtError_t get_info(infinirtStream_t handle, enum infinirtStreamCaptureStatus* status, unsigned long long* id,
                         infinirtGraph_t* graph, const infinirtGraphNode_t** dependencies,
                         const infinirtGraphEdgeData** edges, size_t* count) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  if (!status)
    return fail(infinirtErrorInvalidValue, "captureStatus_out is null; it must point at where the state goes");
  if ((error = check_ask(*stream))) return error;
  CaptureLock lock;
  Capture* capture = lock.of(*stream);
  *status = status_of(capture);
  const bool active = *status == infinirtStreamCaptureStatusActive;
  if (id) *id = active ? capture->id : 0;
  if (graph) *graph = active ? capture->graph->handle : nullptr;
  if (edges) *edges = nullptr;  // all dependencies are plain ones
  if (!active) {
    if (dependencies) *dependencies = nullptr;
    if (count) *count = 0;
    return infinirtSuccess;
  }
  auto& part = lock.part(*capture, *stream);
  part.given_out.clear();
  for (const GraphNode* node : part.tail) part.given_out.push_back(node->handle);
  if (dependencies) *dependencies = part.given_out.empty() ? nullptr : part.given_out.data();
  if (count) *count = part.given_out.size();
  return infinirtSuccess;
}

infinirtError_t update_dependencies(infinirtStream_t handle, const infinirtGraphNode_t* dependencies,
                                    const infinirtGraphEdgeData* edges, size_t count, unsigned flags) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  if (flags != infinirtStreamAddCaptureDependencies && flags != infinirtStreamSetCaptureDependencies) {
    return fail(
        infinirtErrorInvalidValue,
        "flags %u is neither infinirtStreamAddCaptureDependencies (0) nor infinirtStreamSetCaptureDependencies (1)",
        flags);
  }
  if ((error = check_edge_data(edges, count, "dependencyData"))) return error;
  CaptureLock lock;
  Capture* capture = lock.of(*stream);
  if (!capture) return fail(infinirtErrorIllegalState, "stream does not capture");
  if (!capture->valid) return capture_is_broken(*capture);
  std::vector<GraphNode*> nodes;
  if (!resolve_nodes(*capture->graph, dependencies, count, "dependencies", &nodes)) return infinirtErrorInvalidValue;
  auto& tail = lock.part(*capture, *stream).tail;
  if (flags == infinirtStreamSetCaptureDependencies) tail.clear();
  for (GraphNode* node : nodes) {
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
  return infinirtSuccess;
}

// With the capture lock held, for a capture that began on this stream: what is wrong with ending it now, if anything.
infinirtError_t check_end(const CaptureLock& lock, const Capture& capture) {
  if (capture.mode != infinirtStreamCaptureModeRelaxed && capture.thread != capture_thread_id()) {
    return fail(infinirtErrorStreamCaptureWrongThread,
                "the capture was begun by another thread; end it there, or begin it in relaxed mode. It is over now");
  }
  if (!capture.valid) return capture_is_broken(capture);
  for (const auto& part : capture.participants) {
    if (lock.is_joined(capture, part.tail)) continue;
    return fail(infinirtErrorStreamCaptureUnjoined,
                "stream %p took part in the capture and has work that was not joined; record an event on it and make "
                "the stream "
                "that the capture began on wait for that",
                static_cast<void*>(part.stream->handle));
  }
  if (!lock.is_joined(capture, capture.orphans)) {
    return fail(infinirtErrorStreamCaptureUnjoined,
                "a stream that took part in the capture was destroyed before its work was joined");
  }
  return infinirtSuccess;
}

}  // namespace

namespace engine_api {

infinirtError_t StreamBeginCapture(infinirtStream_t stream, enum infinirtStreamCaptureMode mode) {
  infinirtError_t error = infinirtSuccess;
  Stream* s = resolve_stream(thread_state(), stream, &error);
  if (!s) return error;
  if (!valid_mode(mode)) return bad_mode(mode);
  if ((error = check_device(*s->device))) return error;
  Graph* graph = create_graph(*s->device->engine);
  if (!graph) return infinirtErrorMemoryAllocation;
  {
    CaptureLock lock;
    error = check_begin(lock, *s);
    if (error == infinirtSuccess) lock.begin(*s, mode, *graph, false, {});
  }
  if (error != infinirtSuccess) destroy_graph(*graph);
  return error;
}

infinirtError_t StreamBeginCaptureToGraph(infinirtStream_t stream, infinirtGraph_t graph,
                                          const infinirtGraphNode_t* dependencies,
                                          const infinirtGraphEdgeData* dependencyData, size_t numDependencies,
                                          enum infinirtStreamCaptureMode mode) {
  infinirtError_t error = infinirtSuccess;
  Stream* s = resolve_stream(thread_state(), stream, &error);
  if (!s) return error;
  if (!valid_mode(mode)) return bad_mode(mode);
  if ((error = check_device(*s->device))) return error;
  Graph* g = resolve_graph(graph, "graph");
  if (!g) return infinirtErrorInvalidValue;
  if (g->engine != s->device->engine) {
    return fail(infinirtErrorInvalidValue, "graph is of device type '%s', stream of '%s'",
                g->engine->backend.name.c_str(), s->device->engine->backend.name.c_str());
  }
  if ((error = check_edge_data(dependencyData, numDependencies, "dependencyData"))) return error;
  CaptureLock lock;
  std::vector<GraphNode*> tail;
  if (!resolve_nodes(*g, dependencies, numDependencies, "dependencies", &tail)) return infinirtErrorInvalidValue;
  error = check_begin(lock, *s);
  if (error == infinirtSuccess) lock.begin(*s, mode, *g, true, std::move(tail));
  return error;
}

infinirtError_t StreamEndCapture(infinirtStream_t stream, infinirtGraph_t* pGraph) {
  infinirtError_t error = infinirtSuccess;
  Stream* s = resolve_stream(thread_state(), stream, &error);
  if (!s) return error;
  if (!pGraph) return fail(infinirtErrorInvalidValue, "pGraph is null; it must point at where the graph goes");
  *pGraph = nullptr;
  Graph* dropped = nullptr;
  {
    CaptureLock lock;
    Capture* capture = lock.of(*s);
    if (!capture)
      return fail(infinirtErrorIllegalState, "stream does not capture; call infinirtStreamBeginCapture first");
    if (&capture->origin() != s) {
      lock.invalidate(*capture, "it was to be ended on a stream that only joined it");
      return fail(infinirtErrorStreamCaptureUnmatched,
                  "the capture began on another stream, and this one joined it; end it there. It is invalid now");
    }
    error = check_end(lock, *capture);
    if (error == infinirtSuccess) {
      *pGraph = capture->graph->handle;
    } else if (!capture->graph_is_callers) {
      dropped = capture->graph;
    }
    lock.end(*capture);
  }
  if (dropped) destroy_graph(*dropped);  // may call user code
  return error;
}

infinirtError_t StreamIsCapturing(infinirtStream_t stream, enum infinirtStreamCaptureStatus* pCaptureStatus) {
  infinirtError_t error = infinirtSuccess;
  Stream* s = resolve_stream(thread_state(), stream, &error);
  if (!s) return error;
  if (!pCaptureStatus)
    return fail(infinirtErrorInvalidValue, "pCaptureStatus is null; it must point at where the state goes");
  if ((error = check_ask(*s))) return error;
  if (!s->capture.load(std::memory_order_acquire)) {
    *pCaptureStatus = infinirtStreamCaptureStatusNone;
    return infinirtSuccess;
  }
  CaptureLock lock;
  *pCaptureStatus = status_of(lock.of(*s));
  return infinirtSuccess;
}

infinirtError_t StreamGetCaptureInfo(infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
                                     unsigned long long* id_out, infinirtGraph_t* graph_out,
                                     const infinirtGraphNode_t** dependencies_out, size_t* numDependencies_out) {
  return get_info(stream, captureStatus_out, id_out, graph_out, dependencies_out, nullptr, numDependencies_out);
}

infinirtError_t StreamGetCaptureInfo_v3(infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
                                        unsigned long long* id_out, infinirtGraph_t* graph_out,
                                        const infinirtGraphNode_t** dependencies_out,
                                        const infinirtGraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return get_info(stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out);
}

infinirtError_t StreamUpdateCaptureDependencies(infinirtStream_t stream, infinirtGraphNode_t* dependencies,
                                                size_t numDependencies, unsigned int flags) {
  return update_dependencies(stream, dependencies, nullptr, numDependencies, flags);
}

infinirtError_t StreamUpdateCaptureDependencies_v2(infinirtStream_t stream, infinirtGraphNode_t* dependencies,
                                                   const infinirtGraphEdgeData* dependencyData, size_t numDependencies,
                                                   unsigned int flags) {
  return update_dependencies(stream, dependencies, dependencyData, numDependencies, flags);
}

infinirtError_t ThreadExchangeStreamCaptureMode(enum infinirtStreamCaptureMode* mode) {
  if (!mode) return fail(infinirtErrorInvalidValue, "mode is null; it must point at the new mode");
  if (!valid_mode(*mode)) return bad_mode(*mode);
  std::swap(*mode, thread_state().capture_mode);
  return infinirtSuccess;
}

}  // namespace engine_api

}  // namespace infinirt
