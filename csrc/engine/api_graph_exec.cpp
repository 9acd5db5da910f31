// Table functions: executable graphs.
#include "engine/capture.h"
#include "engine/capture_state.h"
#include "engine/graph_args.h"
#include "engine/graph_exec.h"
#include "engine/memory.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

constexpr unsigned long long kInstantiateFlags =
    infinirtGraphInstantiateFlagAutoFreeOnLaunch | infinirtGraphInstantiateFlagUpload |
    infinirtGraphInstantiateFlagDeviceLaunch | infinirtGraphInstantiateFlagUseNodePriority;

infinirtError_t check_flags(unsigned long long flags, bool has_upload_stream) {
  if (flags & ~kInstantiateFlags)
    return fail(infinirtErrorInvalidValue,
                "flags 0x%llx: only the bits of infinirtGraphInstantiateFlags (0xf) are allowed", flags);
  if (flags & infinirtGraphInstantiateFlagDeviceLaunch) {
    return fail(infinirtErrorNotSupported,
                "flags 0x%llx: graphs cannot be launched by device code here; leave "
                "infinirtGraphInstantiateFlagDeviceLaunch out",
                flags);
  }
  if ((flags & infinirtGraphInstantiateFlagUpload) && !has_upload_stream) {
    return fail(
        infinirtErrorInvalidValue,
        "flags 0x%llx: infinirtGraphInstantiateFlagUpload needs a stream; use infinirtGraphInstantiateWithParams",
        flags);
  }
  return infinirtSuccess;
}

infinirtError_t null_exec_out() {
  return fail(infinirtErrorInvalidValue, "pGraphExec is null; it must point at where the executable graph goes");
}

infinirtError_t instantiate(infinirtGraphExec_t* out, infinirtGraph_t handle, unsigned long long flags,
                            InstantiateReport* report, bool has_upload_stream) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  if (!out) return null_exec_out();
  GRAPH_OR_RETURN(graph, handle);
  if (auto error = check_flags(flags, has_upload_stream)) return error;
  return instantiate_graph(graph, flags, out, report);
}

// The stream for an executable graph; the default streams are those of the graph's device type.
infinirtError_t find_stream(const GraphExec& exec, infinirtStream_t handle, Stream** out) {
  infinirtError_t error = infinirtSuccess;
  *out = resolve_stream(thread_state(), handle, &error);
  if (!*out) return error;
  if ((*out)->device->engine != exec.engine) {
    return fail(infinirtErrorInvalidResourceHandle, "stream is of device type '%s', graphExec of '%s'",
                (*out)->device->engine->backend.name.c_str(), exec.engine->backend.name.c_str());
  }
  return infinirtSuccess;
}

// Everything is in place from instantiation on, so uploading only takes its place in the stream's order.
infinirtError_t upload(const GraphExec& exec, infinirtStream_t handle) {
  Stream* stream;
  infinirtError_t error = find_stream(exec, handle, &stream);
  if (error) return error;
  if (stream->capture.load(std::memory_order_acquire) && capture_bars_stream(*stream, "uploading a graph", &error))
    return error;
  Work nothing;
  return submit(*stream, nothing);
}

// The new body is made for the device of the old one, as CUDA keeps a node's context.
template <class Make>
infinirtError_t set_node(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, enum infinirtGraphNodeType type,
                         bool given, Make&& make) {
  EXEC_OR_RETURN(exec, hGraphExec);
  NODE_OR_RETURN(n, node);
  if (!given) return fail(infinirtErrorInvalidValue, "pNodeParams is null; it must point at the parameters");
  if (n.body->type != type) {
    return fail(infinirtErrorInvalidValue, "node is a %s node; a %s node was expected", node_type_name(n.body->type),
                node_type_name(type));
  }
  infinirtError_t error = infinirtSuccess;
  NodeBodyPtr body = make(n, &error);
  return body ? set_exec_body(exec, hGraphExec, n, std::move(body)) : error;
}

infinirtError_t set_child(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, infinirtGraph_t childGraph) {
  EXEC_OR_RETURN(exec, hGraphExec);
  NODE_OR_RETURN(n, node);
  GRAPH_OR_RETURN(child, childGraph);
  return set_exec_child(exec, hGraphExec, n, child);
}

}  // namespace

namespace engine_api {

infinirtError_t GraphInstantiate(infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph, unsigned long long flags) {
  InstantiateReport report;
  return instantiate(pGraphExec, graph, flags, &report, false);
}

infinirtError_t GraphInstantiateWithFlags(infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph,
                                          unsigned long long flags) {
  InstantiateReport report;
  return instantiate(pGraphExec, graph, flags, &report, false);
}

infinirtError_t GraphInstantiateWithParams(infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph,
                                           infinirtGraphInstantiateParams* instantiateParams) {
  if (!instantiateParams) return fail(infinirtErrorInvalidValue, "instantiateParams is null");
  InstantiateReport report;
  report.result = infinirtGraphInstantiateError;
  infinirtError_t error = instantiate(pGraphExec, graph, instantiateParams->flags, &report, true);
  if (error == infinirtSuccess && (instantiateParams->flags & infinirtGraphInstantiateFlagUpload)) {
    GraphExec* exec = resolve_exec(*pGraphExec, "pGraphExec");
    error = exec ? upload(*exec, instantiateParams->uploadStream) : infinirtErrorInvalidValue;
    if (error != infinirtSuccess) {
      report.result = infinirtGraphInstantiateError;
      if (exec) destroy_exec(*exec, *pGraphExec);
      *pGraphExec = nullptr;
    }
  }
  if (error == infinirtErrorNotSupported) report.result = infinirtGraphInstantiateNodeOperationNotSupported;
  instantiateParams->result_out = report.result;
  instantiateParams->errNode_out = report.node;
  return error;
}

infinirtError_t GraphExecGetFlags(infinirtGraphExec_t graphExec, unsigned long long* flags) {
  EXEC_OR_RETURN(exec, graphExec);
  if (!flags) return fail(infinirtErrorInvalidValue, "flags is null; it must point at where the flags go");
  *flags = exec.flags;
  return infinirtSuccess;
}

infinirtError_t GraphUpload(infinirtGraphExec_t graphExec, infinirtStream_t stream) {
  EXEC_OR_RETURN(exec, graphExec);
  return upload(exec, stream);
}

infinirtError_t GraphLaunch(infinirtGraphExec_t graphExec, infinirtStream_t stream) {
  EXEC_OR_RETURN(exec, graphExec);
  Stream* s;
  if (auto error = find_stream(exec, stream, &s)) return error;
  infinirtError_t error = infinirtSuccess;
  if (s->capture.load(std::memory_order_acquire) &&
      capture_bars_stream(*s, "launching a graph, which becomes part of another only as a child graph node,", &error))
    return error;
  error = launch_graph(exec, graphExec, *s);
  if (error == infinirtSuccess && launch_blocking()) {
    wait_for(s->tail());
    error = take_async_error(*s->device);
  }
  return error;
}

infinirtError_t GraphExecDestroy(infinirtGraphExec_t graphExec) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  EXEC_OR_RETURN(exec, graphExec);
  destroy_exec(exec, graphExec);
  return infinirtSuccess;
}

infinirtError_t GraphExecUpdate(infinirtGraphExec_t hGraphExec, infinirtGraph_t hGraph,
                                infinirtGraphExecUpdateResultInfo* resultInfo) {
  EXEC_OR_RETURN(exec, hGraphExec);
  GRAPH_OR_RETURN(graph, hGraph);
  if (!resultInfo) return fail(infinirtErrorInvalidValue, "resultInfo is null; it must point at where the reason goes");
  *resultInfo = {infinirtGraphExecUpdateError, nullptr, nullptr};
  if (graph.engine != exec.engine) {
    return fail(infinirtErrorGraphExecUpdateFailure, "hGraph is of device type '%s', hGraphExec of '%s'",
                graph.engine->backend.name.c_str(), exec.engine->backend.name.c_str());
  }
  return update_exec(exec, hGraphExec, graph, resultInfo);
}

infinirtError_t GraphExecNodeSetParams(infinirtGraphExec_t graphExec, infinirtGraphNode_t node,
                                       struct infinirtGraphNodeParams* nodeParams) {
  if (!nodeParams) return fail(infinirtErrorInvalidValue, "nodeParams is null; it must point at the parameters");
  switch (nodeParams->type) {
    case infinirtGraphNodeTypeGraph:
      return set_child(graphExec, node, nodeParams->graph.graph);
    case infinirtGraphNodeTypeMemAlloc:
    case infinirtGraphNodeTypeMemFree:
      return fail(infinirtErrorNotSupported, "the parameters of a %s node cannot be changed",
                  node_type_name(nodeParams->type));
    default:
      break;
  }
  return set_node(graphExec, node, nodeParams->type, true, [&](GraphNode& n, infinirtError_t* error) {
    return make_body(*n.graph, *n.body->device, *nodeParams, error);
  });
}

infinirtError_t GraphExecKernelNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
                                             const struct infinirtKernelNodeParams* pNodeParams) {
  return set_node(
      hGraphExec, node, infinirtGraphNodeTypeKernel, pNodeParams,
      [&](GraphNode& n, infinirtError_t* error) { return make_kernel_body(*n.body->device, *pNodeParams, error); });
}

infinirtError_t GraphExecMemcpyNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
                                             const struct infinirtMemcpy3DParms* pNodeParams) {
  if (pNodeParams && (pNodeParams->extent.height > 1 || pNodeParams->extent.depth > 1)) {
    return fail(infinirtErrorInvalidValue,
                "pNodeParams has %zu rows in %zu slices; in an executable graph only a copy of one row can be changed. "
                "Change the graph and use infinirtGraphExecUpdate, or instantiate it again",
                pNodeParams->extent.height, pNodeParams->extent.depth);
  }
  return set_node(
      hGraphExec, node, infinirtGraphNodeTypeMemcpy, pNodeParams,
      [&](GraphNode& n, infinirtError_t* error) { return make_copy_body(*n.body->device, *pNodeParams, error); });
}

infinirtError_t GraphExecMemcpyNodeSetParams1D(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, void* dst,
                                               const void* src, size_t count, enum infinirtMemcpyKind kind) {
  return set_node(hGraphExec, node, infinirtGraphNodeTypeMemcpy, true, [&](GraphNode& n, infinirtError_t* error) {
    return make_copy_body_1d(*n.body->device, dst, src, count, kind, error);
  });
}

infinirtError_t GraphExecMemsetNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
                                             const struct infinirtMemsetParams* pNodeParams) {
  return set_node(
      hGraphExec, node, infinirtGraphNodeTypeMemset, pNodeParams,
      [&](GraphNode& n, infinirtError_t* error) { return make_fill_body(*n.body->device, *pNodeParams, error); });
}

infinirtError_t GraphExecHostNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
                                           const struct infinirtHostNodeParams* pNodeParams) {
  return set_node(hGraphExec, node, infinirtGraphNodeTypeHost, pNodeParams, [&](GraphNode& n, infinirtError_t* error) {
    return make_host_body(*n.body->device, *pNodeParams, error);
  });
}

infinirtError_t GraphExecChildGraphNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
                                                 infinirtGraph_t childGraph) {
  return set_child(hGraphExec, node, childGraph);
}

infinirtError_t GraphExecEventRecordNodeSetEvent(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode,
                                                 infinirtEvent_t event) {
  return set_node(hGraphExec, hNode, infinirtGraphNodeTypeEventRecord, true, [&](GraphNode&, infinirtError_t* error) {
    return make_event_body(infinirtGraphNodeTypeEventRecord, event, error);
  });
}

infinirtError_t GraphExecEventWaitNodeSetEvent(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode,
                                               infinirtEvent_t event) {
  return set_node(hGraphExec, hNode, infinirtGraphNodeTypeWaitEvent, true, [&](GraphNode&, infinirtError_t* error) {
    return make_event_body(infinirtGraphNodeTypeWaitEvent, event, error);
  });
}

infinirtError_t GraphNodeSetEnabled(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, unsigned int isEnabled) {
  EXEC_OR_RETURN(exec, hGraphExec);
  NODE_OR_RETURN(node, hNode);
  return set_exec_enabled(exec, hGraphExec, node, isEnabled != 0);
}

infinirtError_t GraphNodeGetEnabled(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode,
                                    unsigned int* isEnabled) {
  EXEC_OR_RETURN(exec, hGraphExec);
  NODE_OR_RETURN(node, hNode);
  if (!isEnabled) return fail(infinirtErrorInvalidValue, "isEnabled is null; it must point at where the answer goes");
  bool enabled = false;
  if (auto error = get_exec_enabled(exec, hGraphExec, node, &enabled)) return error;
  *isEnabled = enabled;
  return infinirtSuccess;
}

}  // namespace engine_api

}  // namespace infinirt
