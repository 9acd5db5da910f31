// Our functions on CUDA 13's symbols, where those have another shape. C keeps the shape of 12.9.
#pragma once

#include "infinirt.h"

namespace infinirt::nvidia::compat13 {

infinirtError_t GetDeviceProperties(struct infinirtDeviceProp* prop, int device);
infinirtError_t PointerGetAttributes(struct infinirtPointerAttributes* attributes, const void* ptr);
infinirtError_t StreamGetCaptureInfo(infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
                                     unsigned long long* id_out, infinirtGraph_t* graph_out,
                                     const infinirtGraphNode_t** dependencies_out, size_t* numDependencies_out);
infinirtError_t StreamUpdateCaptureDependencies(infinirtStream_t stream, infinirtGraphNode_t* dependencies,
                                                size_t numDependencies, unsigned int flags);
infinirtError_t MemcpyBatchAsync(void** dsts, void** srcs, size_t* sizes, size_t count,
                                 struct infinirtMemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                                 size_t* failIdx, infinirtStream_t stream);
infinirtError_t Memcpy3DBatchAsync(size_t numOps, struct infinirtMemcpy3DBatchOp* opList, size_t* failIdx,
                                   unsigned long long flags, infinirtStream_t stream);
infinirtError_t MemPrefetchAsync(const void* devPtr, size_t count, int dstDevice, infinirtStream_t stream);
infinirtError_t MemAdvise(const void* devPtr, size_t count, enum infinirtMemoryAdvise advice, int device);
infinirtError_t GraphAddNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                             const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                             struct infinirtGraphNodeParams* nodeParams);
infinirtError_t GraphAddDependencies(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                     const infinirtGraphNode_t* to, size_t numDependencies);
infinirtError_t GraphRemoveDependencies(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                        const infinirtGraphNode_t* to, size_t numDependencies);
infinirtError_t GraphGetEdges(infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to,
                              size_t* numEdges);
infinirtError_t GraphNodeGetDependencies(infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies,
                                         size_t* pNumDependencies);
infinirtError_t GraphNodeGetDependentNodes(infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes,
                                           size_t* pNumDependentNodes);

}  // namespace infinirt::nvidia::compat13
