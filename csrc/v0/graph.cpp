#include <cstdio>

#include "core.h"
#include "selection.h"

using namespace infinirt::v0;  // NOLINT: the C entry points below are outside the namespace

infiniStatus_t infinirtStreamBeginCapture(infinirtStream_t stream, infinirtStreamCaptureMode_t mode) {
  const int number = number_of(mode);
  if (number < INFINIRT_STREAM_CAPTURE_MODE_GLOBAL || number > INFINIRT_STREAM_CAPTURE_MODE_RELAXED) {
    return INFINI_STATUS_BAD_PARAM;
  }
  return on_device([&] { return core::stream_begin_capture(stream, number); });
}

infiniStatus_t infinirtStreamEndCapture(infinirtStream_t stream, infinirtGraph_t* graph_ptr) {
  if (!graph_ptr) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::stream_end_capture(stream, graph_ptr); });
}

infiniStatus_t infinirtGraphDestroy(infinirtGraph_t graph) {
  if (!graph) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::graph_destroy(graph); });
}

infiniStatus_t infinirtGraphInstantiate(infinirtGraphExec_t* graph_exec_ptr, infinirtGraph_t graph,
                                        infinirtGraphNode_t* node_ptr, char* log_buffer, size_t buffer_size) {
  if (!graph_exec_ptr || !graph) return INFINI_STATUS_NULL_POINTER;
  infinirtGraphNode_t node_at_fault = nullptr;
  const infiniStatus_t status = on_device([&] {
    const core::Error error = core::graph_instantiate(graph_exec_ptr, graph, &node_at_fault);
    // Read here: leaving the device type again could replace the message.
    if (log_buffer && buffer_size)
      std::snprintf(log_buffer, buffer_size, "%s", error ? core::last_error_message() : "");
    return error;
  });
  if (node_ptr) *node_ptr = node_at_fault;
  return status;
}

infiniStatus_t infinirtGraphExecDestroy(infinirtGraphExec_t graph_exec) {
  if (!graph_exec) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::graph_exec_destroy(graph_exec); });
}

infiniStatus_t infinirtGraphLuanch(infinirtGraphExec_t graph_exec, infinirtStream_t stream) {
  if (!graph_exec) return INFINI_STATUS_NULL_POINTER;
  return in_stream(stream, [&] { return core::graph_launch(graph_exec, stream); });
}
