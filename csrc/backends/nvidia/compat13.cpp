#include "backends/nvidia/compat13.h"

#include <cstdint>
#include <cstring>

#include "backends/nvidia/properties13.h"
#include "backends/nvidia/real_library.h"

namespace infinirt::nvidia::compat13 {

namespace {

// CUDA 13's symbol behind one of our functions, in the shape it has there.
template <class Shape>
Shape* symbol(FunctionId function) {
  return reinterpret_cast<Shape*>(real13[static_cast<size_t>(function)]);
}

struct infinirtMemLocation location_of(int device) {
  struct infinirtMemLocation location = {};
  location.type = device == infinirtCpuDeviceId ? infinirtMemLocationTypeHost : infinirtMemLocationTypeDevice;
  location.id = device == infinirtCpuDeviceId ? 0 : device;
  return location;
}

int attribute(enum infinirtDeviceAttr attr, int device) {
  int value = 0;
  return real.DeviceGetAttribute(&value, attr, device) == infinirtSuccess ? value : 0;
}

}  // namespace

infinirtError_t GetDeviceProperties(struct infinirtDeviceProp* prop, int device) {
  using Shape = infinirtError_t(Properties13*, int);
  Properties13 from;
  std::memset(&from, 0, sizeof from);
  if (!prop) return symbol<Shape>(FunctionId::GetDeviceProperties)(nullptr, device);
  if (auto error = symbol<Shape>(FunctionId::GetDeviceProperties)(&from, device)) return error;
  copy_properties(from, prop);
  // CUDA 13's struct no longer has these.
  prop->clockRate = attribute(infinirtDevAttrClockRate, device);
  prop->deviceOverlap = attribute(infinirtDevAttrGpuOverlap, device);
  prop->kernelExecTimeoutEnabled = attribute(infinirtDevAttrKernelExecTimeout, device);
  prop->computeMode = attribute(infinirtDevAttrComputeMode, device);
  prop->maxTexture1DLinear = attribute(infinirtDevAttrMaxTexture1DLinearWidth, device);
  prop->memoryClockRate = attribute(infinirtDevAttrMemoryClockRate, device);
  prop->singleToDoublePrecisionPerfRatio = attribute(infinirtDevAttrSingleToDoublePrecisionPerfRatio, device);
  prop->cooperativeMultiDeviceLaunch = attribute(infinirtDevAttrCooperativeMultiDeviceLaunch, device);
  return infinirtSuccess;
}

infinirtError_t PointerGetAttributes(struct infinirtPointerAttributes* attributes, const void* ptr) {
  struct Attributes13 {
    struct infinirtPointerAttributes known;
    uint64_t reserved[8];
  } found = {};
  using Shape = infinirtError_t(Attributes13*, const void*);
  const auto error = symbol<Shape>(FunctionId::PointerGetAttributes)(attributes ? &found : nullptr, ptr);
  if (attributes && error == infinirtSuccess) *attributes = found.known;
  return error;
}

infinirtError_t StreamGetCaptureInfo(infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
                                     unsigned long long* id_out, infinirtGraph_t* graph_out,
                                     const infinirtGraphNode_t** dependencies_out, size_t* numDependencies_out) {
  using Shape = infinirtError_t(infinirtStream_t, enum infinirtStreamCaptureStatus*, unsigned long long*,
                                infinirtGraph_t*, const infinirtGraphNode_t**, const infinirtGraphEdgeData**, size_t*);
  return symbol<Shape>(FunctionId::StreamGetCaptureInfo)(stream, captureStatus_out, id_out, graph_out, dependencies_out,
                                                         nullptr, numDependencies_out);
}

infinirtError_t StreamUpdateCaptureDependencies(infinirtStream_t stream, infinirtGraphNode_t* dependencies,
                                                size_t numDependencies, unsigned int flags) {
  using Shape =
      infinirtError_t(infinirtStream_t, infinirtGraphNode_t*, const infinirtGraphEdgeData*, size_t, unsigned int);
  return symbol<Shape>(FunctionId::StreamUpdateCaptureDependencies)(stream, dependencies, nullptr, numDependencies,
                                                                    flags);
}

infinirtError_t MemcpyBatchAsync(void** dsts, void** srcs, size_t* sizes, size_t count,
                                 struct infinirtMemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                                 size_t* failIdx, infinirtStream_t stream) {
  using Shape = infinirtError_t(void* const*, const void* const*, const size_t*, size_t,
                                struct infinirtMemcpyAttributes*, size_t*, size_t, infinirtStream_t);
  const auto error =
      symbol<Shape>(FunctionId::MemcpyBatchAsync)(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream);
  if (error != infinirtSuccess && failIdx) *failIdx = SIZE_MAX;  // CUDA 13 does not say which
  return error;
}

infinirtError_t Memcpy3DBatchAsync(size_t numOps, struct infinirtMemcpy3DBatchOp* opList, size_t* failIdx,
                                   unsigned long long flags, infinirtStream_t stream) {
  using Shape = infinirtError_t(size_t, struct infinirtMemcpy3DBatchOp*, unsigned long long, infinirtStream_t);
  const auto error = symbol<Shape>(FunctionId::Memcpy3DBatchAsync)(numOps, opList, flags, stream);
  if (error != infinirtSuccess && failIdx) *failIdx = SIZE_MAX;
  return error;
}

infinirtError_t MemPrefetchAsync(const void* devPtr, size_t count, int dstDevice, infinirtStream_t stream) {
  using Shape = infinirtError_t(const void*, size_t, struct infinirtMemLocation, unsigned int, infinirtStream_t);
  return symbol<Shape>(FunctionId::MemPrefetchAsync)(devPtr, count, location_of(dstDevice), 0, stream);
}

infinirtError_t MemAdvise(const void* devPtr, size_t count, enum infinirtMemoryAdvise advice, int device) {
  using Shape = infinirtError_t(const void*, size_t, enum infinirtMemoryAdvise, struct infinirtMemLocation);
  return symbol<Shape>(FunctionId::MemAdvise)(devPtr, count, advice, location_of(device));
}

infinirtError_t GraphAddNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                             const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                             struct infinirtGraphNodeParams* nodeParams) {
  using Shape = infinirtError_t(infinirtGraphNode_t*, infinirtGraph_t, const infinirtGraphNode_t*,
                                const infinirtGraphEdgeData*, size_t, struct infinirtGraphNodeParams*);
  return symbol<Shape>(FunctionId::GraphAddNode)(pGraphNode, graph, pDependencies, nullptr, numDependencies,
                                                 nodeParams);
}

namespace {
using ChangeDependencies = infinirtError_t(infinirtGraph_t, const infinirtGraphNode_t*, const infinirtGraphNode_t*,
                                           const infinirtGraphEdgeData*, size_t);
using ListNodes = infinirtError_t(infinirtGraphNode_t, infinirtGraphNode_t*, infinirtGraphEdgeData*, size_t*);
}  // namespace

infinirtError_t GraphAddDependencies(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                     const infinirtGraphNode_t* to, size_t numDependencies) {
  return symbol<ChangeDependencies>(FunctionId::GraphAddDependencies)(graph, from, to, nullptr, numDependencies);
}

infinirtError_t GraphRemoveDependencies(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                        const infinirtGraphNode_t* to, size_t numDependencies) {
  return symbol<ChangeDependencies>(FunctionId::GraphRemoveDependencies)(graph, from, to, nullptr, numDependencies);
}

infinirtError_t GraphGetEdges(infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to,
                              size_t* numEdges) {
  using Shape =
      infinirtError_t(infinirtGraph_t, infinirtGraphNode_t*, infinirtGraphNode_t*, infinirtGraphEdgeData*, size_t*);
  return symbol<Shape>(FunctionId::GraphGetEdges)(graph, from, to, nullptr, numEdges);
}

infinirtError_t GraphNodeGetDependencies(infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies,
                                         size_t* pNumDependencies) {
  return symbol<ListNodes>(FunctionId::GraphNodeGetDependencies)(node, pDependencies, nullptr, pNumDependencies);
}

infinirtError_t GraphNodeGetDependentNodes(infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes,
                                           size_t* pNumDependentNodes) {
  return symbol<ListNodes>(FunctionId::GraphNodeGetDependentNodes)(node, pDependentNodes, nullptr, pNumDependentNodes);
}

}  // namespace infinirt::nvidia::compat13
