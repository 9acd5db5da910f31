// Table functions: parameters and attributes of nodes.
#include <algorithm>

#include "engine/event.h"
#include "engine/graph_args.h"

namespace infinirt {

namespace {

infinirtError_t check_type(const GraphNode& node, enum infinirtGraphNodeType wanted) {
  if (node.body->type == wanted) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "node is a %s node; a %s node was expected", node_type_name(node.body->type),
              node_type_name(wanted));
}

// Puts a new body into the node; what the old one owned goes when nobody else uses it.
infinirtError_t put(GraphNode& node, NodeBodyPtr body, infinirtError_t error) {
  if (!body) return error;
  node.body = std::move(body);
  return infinirtSuccess;
}

infinirtError_t null_params(const char* argument) {
  return fail(infinirtErrorInvalidValue, "%s is null; it must point at the parameters", argument);
}

template <class Params>
infinirtError_t get_params(infinirtGraphNode_t handle, enum infinirtGraphNodeType type, Params* out) {
  NODE_OR_RETURN(node, handle);
  if (!out) return null_params("pNodeParams");
  if (auto error = check_type(node, type)) return error;
  *out = std::get<Params>(node.body->params);
  return infinirtSuccess;
}

// Setters of a graph's node keep the device that the node was made for.
template <class Make>
infinirtError_t set_params(infinirtGraphNode_t handle, enum infinirtGraphNodeType type, bool given, Make&& make) {
  NODE_OR_RETURN(node, handle);
  if (!given) return null_params("pNodeParams");
  if (auto error = check_type(node, type)) return error;
  infinirtError_t error = infinirtSuccess;
  NodeBodyPtr body = make(*node.body->device, &error);
  return put(node, std::move(body), error);
}

infinirtError_t get_event(infinirtGraphNode_t handle, enum infinirtGraphNodeType type, infinirtEvent_t* out) {
  NODE_OR_RETURN(node, handle);
  if (!out) return fail(infinirtErrorInvalidValue, "event_out is null; it must point at where the event goes");
  if (auto error = check_type(node, type)) return error;
  *out = std::get<infinirtEvent_t>(node.body->params);
  return infinirtSuccess;
}

infinirtError_t set_event(infinirtGraphNode_t node, enum infinirtGraphNodeType type, infinirtEvent_t event) {
  return set_params(node, type, true,
                    [&](EngineDevice&, infinirtError_t* error) { return make_event_body(type, event, error); });
}

bool is_kernel_attribute(infinirtLaunchAttributeID attribute) {
  switch (attribute) {
    case infinirtLaunchAttributeAccessPolicyWindow:
    case infinirtLaunchAttributeCooperative:
    case infinirtLaunchAttributeClusterDimension:
    case infinirtLaunchAttributeClusterSchedulingPolicyPreference:
    case infinirtLaunchAttributePriority:
    case infinirtLaunchAttributeMemSyncDomainMap:
    case infinirtLaunchAttributeMemSyncDomain:
    case infinirtLaunchAttributePreferredClusterDimension:
    case infinirtLaunchAttributePreferredSharedMemoryCarveout:
      return true;
    default:
      return false;
  }
}

infinirtError_t check_attribute(const GraphNode& node, infinirtLaunchAttributeID attribute, const void* value) {
  if (auto error = check_type(node, infinirtGraphNodeTypeKernel)) return error;
  if (!value) return fail(infinirtErrorInvalidValue, "value is null; it must point at the attribute's value");
  if (attribute == infinirtLaunchAttributeDeviceUpdatableKernelNode) {
    return fail(infinirtErrorNotSupported, "attr %d: nodes cannot be updated by device code here",
                static_cast<int>(attribute));
  }
  if (!is_kernel_attribute(attribute)) {
    return fail(infinirtErrorInvalidValue, "attr %d is not an attribute of kernel nodes", static_cast<int>(attribute));
  }
  return infinirtSuccess;
}

infinirtLaunchAttribute* find_attribute(GraphNode& node, infinirtLaunchAttributeID id) {
  auto found = std::find_if(node.attributes.begin(), node.attributes.end(), [&](const auto& a) { return a.id == id; });
  return found == node.attributes.end() ? nullptr : &*found;
}

}  // namespace

namespace engine_api {

infinirtError_t GraphKernelNodeGetParams(infinirtGraphNode_t node, struct infinirtKernelNodeParams* pNodeParams) {
  NODE_OR_RETURN(n, node);
  if (!pNodeParams) return null_params("pNodeParams");
  if (auto error = check_type(n, infinirtGraphNodeTypeKernel)) return error;
  auto& kept = std::get<KernelNodeParams>(n.body->params);
  *pNodeParams = kept.given;
  pNodeParams->kernelParams = kept.arguments.empty() ? nullptr : kept.arguments.data();
  return infinirtSuccess;
}

infinirtError_t GraphKernelNodeSetParams(infinirtGraphNode_t node, const struct infinirtKernelNodeParams* pNodeParams) {
  return set_params(node, infinirtGraphNodeTypeKernel, pNodeParams, [&](EngineDevice& device, infinirtError_t* error) {
    return make_kernel_body(device, *pNodeParams, error);
  });
}

infinirtError_t GraphKernelNodeGetAttribute(infinirtGraphNode_t hNode, infinirtKernelNodeAttrID attr,
                                            infinirtKernelNodeAttrValue* value_out) {
  NODE_OR_RETURN(node, hNode);
  if (auto error = check_attribute(node, attr, value_out)) return error;
  const infinirtLaunchAttribute* set = find_attribute(node, attr);
  *value_out = set ? set->val : infinirtKernelNodeAttrValue{};
  return infinirtSuccess;
}

infinirtError_t GraphKernelNodeSetAttribute(infinirtGraphNode_t hNode, infinirtKernelNodeAttrID attr,
                                            const infinirtKernelNodeAttrValue* value) {
  NODE_OR_RETURN(node, hNode);
  if (auto error = check_attribute(node, attr, value)) return error;
  infinirtLaunchAttribute* set = find_attribute(node, attr);
  if (!set) {
    node.attributes.emplace_back();
    set = &node.attributes.back();
    set->id = attr;
  }
  set->val = *value;
  return infinirtSuccess;
}

infinirtError_t GraphKernelNodeCopyAttributes(infinirtGraphNode_t hSrc, infinirtGraphNode_t hDst) {
  // CUDA's order: the first argument is the source.
  NODE_OR_RETURN(source, hSrc);
  NODE_OR_RETURN(target, hDst);
  if (auto error = check_type(source, infinirtGraphNodeTypeKernel)) return error;
  if (auto error = check_type(target, infinirtGraphNodeTypeKernel)) return error;
  if (&source != &target) target.attributes = source.attributes;
  return infinirtSuccess;
}

infinirtError_t GraphMemcpyNodeGetParams(infinirtGraphNode_t node, struct infinirtMemcpy3DParms* pNodeParams) {
  return get_params(node, infinirtGraphNodeTypeMemcpy, pNodeParams);
}

infinirtError_t GraphMemcpyNodeSetParams(infinirtGraphNode_t node, const struct infinirtMemcpy3DParms* pNodeParams) {
  return set_params(node, infinirtGraphNodeTypeMemcpy, pNodeParams, [&](EngineDevice& device, infinirtError_t* error) {
    return make_copy_body(device, *pNodeParams, error);
  });
}

infinirtError_t GraphMemcpyNodeSetParams1D(infinirtGraphNode_t node, void* dst, const void* src, size_t count,
                                           enum infinirtMemcpyKind kind) {
  return set_params(node, infinirtGraphNodeTypeMemcpy, true, [&](EngineDevice& device, infinirtError_t* error) {
    return make_copy_body_1d(device, dst, src, count, kind, error);
  });
}

infinirtError_t GraphMemsetNodeGetParams(infinirtGraphNode_t node, struct infinirtMemsetParams* pNodeParams) {
  return get_params(node, infinirtGraphNodeTypeMemset, pNodeParams);
}

infinirtError_t GraphMemsetNodeSetParams(infinirtGraphNode_t node, const struct infinirtMemsetParams* pNodeParams) {
  return set_params(node, infinirtGraphNodeTypeMemset, pNodeParams, [&](EngineDevice& device, infinirtError_t* error) {
    return make_fill_body(device, *pNodeParams, error);
  });
}

infinirtError_t GraphHostNodeGetParams(infinirtGraphNode_t node, struct infinirtHostNodeParams* pNodeParams) {
  return get_params(node, infinirtGraphNodeTypeHost, pNodeParams);
}

infinirtError_t GraphHostNodeSetParams(infinirtGraphNode_t node, const struct infinirtHostNodeParams* pNodeParams) {
  return set_params(node, infinirtGraphNodeTypeHost, pNodeParams, [&](EngineDevice& device, infinirtError_t* error) {
    return make_host_body(device, *pNodeParams, error);
  });
}

infinirtError_t GraphChildGraphNodeGetGraph(infinirtGraphNode_t node, infinirtGraph_t* pGraph) {
  NODE_OR_RETURN(n, node);
  if (!pGraph) return fail(infinirtErrorInvalidValue, "pGraph is null; it must point at where the graph goes");
  if (auto error = check_type(n, infinirtGraphNodeTypeGraph)) return error;
  *pGraph = n.child->handle;
  return infinirtSuccess;
}

infinirtError_t GraphEventRecordNodeGetEvent(infinirtGraphNode_t node, infinirtEvent_t* event_out) {
  return get_event(node, infinirtGraphNodeTypeEventRecord, event_out);
}

infinirtError_t GraphEventRecordNodeSetEvent(infinirtGraphNode_t node, infinirtEvent_t event) {
  return set_event(node, infinirtGraphNodeTypeEventRecord, event);
}

infinirtError_t GraphEventWaitNodeGetEvent(infinirtGraphNode_t node, infinirtEvent_t* event_out) {
  return get_event(node, infinirtGraphNodeTypeWaitEvent, event_out);
}

infinirtError_t GraphEventWaitNodeSetEvent(infinirtGraphNode_t node, infinirtEvent_t event) {
  return set_event(node, infinirtGraphNodeTypeWaitEvent, event);
}

infinirtError_t GraphMemAllocNodeGetParams(infinirtGraphNode_t node, struct infinirtMemAllocNodeParams* params_out) {
  NODE_OR_RETURN(n, node);
  if (!params_out) return null_params("params_out");
  if (auto error = check_type(n, infinirtGraphNodeTypeMemAlloc)) return error;
  const auto& kept = std::get<AllocNodeParams>(n.body->params);
  *params_out = kept.given;
  params_out->accessDescs = kept.access.empty() ? nullptr : kept.access.data();
  return infinirtSuccess;
}

infinirtError_t GraphMemFreeNodeGetParams(infinirtGraphNode_t node, void* dptr_out) {
  NODE_OR_RETURN(n, node);
  if (!dptr_out) return fail(infinirtErrorInvalidValue, "dptr_out is null; it must point at where the address goes");
  if (auto error = check_type(n, infinirtGraphNodeTypeMemFree)) return error;
  *static_cast<void**>(dptr_out) = n.body->allocation->block->pointer;
  return infinirtSuccess;
}

infinirtError_t GraphNodeSetParams(infinirtGraphNode_t node, struct infinirtGraphNodeParams* nodeParams) {
  NODE_OR_RETURN(n, node);
  if (!nodeParams) return null_params("nodeParams");
  if (auto error = check_type(n, nodeParams->type)) return error;
  switch (nodeParams->type) {
    case infinirtGraphNodeTypeGraph:
    case infinirtGraphNodeTypeMemAlloc:
    case infinirtGraphNodeTypeMemFree:
      return fail(infinirtErrorNotSupported, "the parameters of a %s node cannot be changed; make another node",
                  node_type_name(nodeParams->type));
    default:
      break;
  }
  infinirtError_t error = infinirtSuccess;
  NodeBodyPtr body = make_body(*n.graph, *n.body->device, *nodeParams, &error);
  return put(n, std::move(body), error);
}

}  // namespace engine_api

}  // namespace infinirt
