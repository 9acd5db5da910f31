// Device attributes, as far as the properties tell.
#include <algorithm>
#include <climits>

#include "engine/engine.h"

namespace infinirt {

namespace {

int clamped(size_t value) { return static_cast<int>(std::min(value, size_t{INT_MAX})); }

bool from_properties(const struct infinirtDeviceProp& p, enum infinirtDeviceAttr attribute, int* value) {
  switch (attribute) {
    case infinirtDevAttrMaxThreadsPerBlock:
      return *value = p.maxThreadsPerBlock, true;
    case infinirtDevAttrMaxBlockDimX:
      return *value = p.maxThreadsDim[0], true;
    case infinirtDevAttrMaxBlockDimY:
      return *value = p.maxThreadsDim[1], true;
    case infinirtDevAttrMaxBlockDimZ:
      return *value = p.maxThreadsDim[2], true;
    case infinirtDevAttrMaxGridDimX:
      return *value = p.maxGridSize[0], true;
    case infinirtDevAttrMaxGridDimY:
      return *value = p.maxGridSize[1], true;
    case infinirtDevAttrMaxGridDimZ:
      return *value = p.maxGridSize[2], true;
    case infinirtDevAttrMaxSharedMemoryPerBlock:
      return *value = clamped(p.sharedMemPerBlock), true;
    case infinirtDevAttrTotalConstantMemory:
      return *value = clamped(p.totalConstMem), true;
    case infinirtDevAttrWarpSize:
      return *value = p.warpSize, true;
    case infinirtDevAttrMaxPitch:
      return *value = clamped(p.memPitch), true;
    case infinirtDevAttrMaxRegistersPerBlock:
      return *value = p.regsPerBlock, true;
    case infinirtDevAttrClockRate:
      return *value = p.clockRate, true;
    case infinirtDevAttrTextureAlignment:
      return *value = clamped(p.textureAlignment), true;
    case infinirtDevAttrGpuOverlap:
      return *value = p.deviceOverlap, true;
    case infinirtDevAttrMultiProcessorCount:
      return *value = p.multiProcessorCount, true;
    case infinirtDevAttrKernelExecTimeout:
      return *value = p.kernelExecTimeoutEnabled, true;
    case infinirtDevAttrIntegrated:
      return *value = p.integrated, true;
    case infinirtDevAttrCanMapHostMemory:
      return *value = p.canMapHostMemory, true;
    case infinirtDevAttrComputeMode:
      return *value = p.computeMode, true;
    case infinirtDevAttrMaxTexture1DWidth:
      return *value = p.maxTexture1D, true;
    case infinirtDevAttrMaxTexture2DWidth:
      return *value = p.maxTexture2D[0], true;
    case infinirtDevAttrMaxTexture2DHeight:
      return *value = p.maxTexture2D[1], true;
    case infinirtDevAttrMaxTexture3DWidth:
      return *value = p.maxTexture3D[0], true;
    case infinirtDevAttrMaxTexture3DHeight:
      return *value = p.maxTexture3D[1], true;
    case infinirtDevAttrMaxTexture3DDepth:
      return *value = p.maxTexture3D[2], true;
    case infinirtDevAttrMaxTexture2DLayeredWidth:
      return *value = p.maxTexture2DLayered[0], true;
    case infinirtDevAttrMaxTexture2DLayeredHeight:
      return *value = p.maxTexture2DLayered[1], true;
    case infinirtDevAttrMaxTexture2DLayeredLayers:
      return *value = p.maxTexture2DLayered[2], true;
    case infinirtDevAttrSurfaceAlignment:
      return *value = clamped(p.surfaceAlignment), true;
    case infinirtDevAttrConcurrentKernels:
      return *value = p.concurrentKernels, true;
    case infinirtDevAttrEccEnabled:
      return *value = p.ECCEnabled, true;
    case infinirtDevAttrPciBusId:
      return *value = p.pciBusID, true;
    case infinirtDevAttrPciDeviceId:
      return *value = p.pciDeviceID, true;
    case infinirtDevAttrTccDriver:
      return *value = p.tccDriver, true;
    case infinirtDevAttrMemoryClockRate:
      return *value = p.memoryClockRate, true;
    case infinirtDevAttrGlobalMemoryBusWidth:
      return *value = p.memoryBusWidth, true;
    case infinirtDevAttrL2CacheSize:
      return *value = p.l2CacheSize, true;
    case infinirtDevAttrMaxThreadsPerMultiProcessor:
      return *value = p.maxThreadsPerMultiProcessor, true;
    case infinirtDevAttrAsyncEngineCount:
      return *value = p.asyncEngineCount, true;
    case infinirtDevAttrUnifiedAddressing:
      return *value = p.unifiedAddressing, true;
    case infinirtDevAttrMaxTexture1DLayeredWidth:
      return *value = p.maxTexture1DLayered[0], true;
    case infinirtDevAttrMaxTexture1DLayeredLayers:
      return *value = p.maxTexture1DLayered[1], true;
    case infinirtDevAttrMaxTexture2DGatherWidth:
      return *value = p.maxTexture2DGather[0], true;
    case infinirtDevAttrMaxTexture2DGatherHeight:
      return *value = p.maxTexture2DGather[1], true;
    case infinirtDevAttrMaxTexture3DWidthAlt:
      return *value = p.maxTexture3DAlt[0], true;
    case infinirtDevAttrMaxTexture3DHeightAlt:
      return *value = p.maxTexture3DAlt[1], true;
    case infinirtDevAttrMaxTexture3DDepthAlt:
      return *value = p.maxTexture3DAlt[2], true;
    case infinirtDevAttrPciDomainId:
      return *value = p.pciDomainID, true;
    case infinirtDevAttrTexturePitchAlignment:
      return *value = clamped(p.texturePitchAlignment), true;
    case infinirtDevAttrMaxTextureCubemapWidth:
      return *value = p.maxTextureCubemap, true;
    case infinirtDevAttrMaxTextureCubemapLayeredWidth:
      return *value = p.maxTextureCubemapLayered[0], true;
    case infinirtDevAttrMaxTextureCubemapLayeredLayers:
      return *value = p.maxTextureCubemapLayered[1], true;
    case infinirtDevAttrMaxSurface1DWidth:
      return *value = p.maxSurface1D, true;
    case infinirtDevAttrMaxSurface2DWidth:
      return *value = p.maxSurface2D[0], true;
    case infinirtDevAttrMaxSurface2DHeight:
      return *value = p.maxSurface2D[1], true;
    case infinirtDevAttrMaxSurface3DWidth:
      return *value = p.maxSurface3D[0], true;
    case infinirtDevAttrMaxSurface3DHeight:
      return *value = p.maxSurface3D[1], true;
    case infinirtDevAttrMaxSurface3DDepth:
      return *value = p.maxSurface3D[2], true;
    case infinirtDevAttrMaxSurface1DLayeredWidth:
      return *value = p.maxSurface1DLayered[0], true;
    case infinirtDevAttrMaxSurface1DLayeredLayers:
      return *value = p.maxSurface1DLayered[1], true;
    case infinirtDevAttrMaxSurface2DLayeredWidth:
      return *value = p.maxSurface2DLayered[0], true;
    case infinirtDevAttrMaxSurface2DLayeredHeight:
      return *value = p.maxSurface2DLayered[1], true;
    case infinirtDevAttrMaxSurface2DLayeredLayers:
      return *value = p.maxSurface2DLayered[2], true;
    case infinirtDevAttrMaxSurfaceCubemapWidth:
      return *value = p.maxSurfaceCubemap, true;
    case infinirtDevAttrMaxSurfaceCubemapLayeredWidth:
      return *value = p.maxSurfaceCubemapLayered[0], true;
    case infinirtDevAttrMaxSurfaceCubemapLayeredLayers:
      return *value = p.maxSurfaceCubemapLayered[1], true;
    case infinirtDevAttrMaxTexture1DLinearWidth:
      return *value = p.maxTexture1DLinear, true;
    case infinirtDevAttrMaxTexture2DLinearWidth:
      return *value = p.maxTexture2DLinear[0], true;
    case infinirtDevAttrMaxTexture2DLinearHeight:
      return *value = p.maxTexture2DLinear[1], true;
    case infinirtDevAttrMaxTexture2DLinearPitch:
      return *value = p.maxTexture2DLinear[2], true;
    case infinirtDevAttrMaxTexture2DMipmappedWidth:
      return *value = p.maxTexture2DMipmap[0], true;
    case infinirtDevAttrMaxTexture2DMipmappedHeight:
      return *value = p.maxTexture2DMipmap[1], true;
    case infinirtDevAttrComputeCapabilityMajor:
      return *value = p.major, true;
    case infinirtDevAttrComputeCapabilityMinor:
      return *value = p.minor, true;
    case infinirtDevAttrMaxTexture1DMipmappedWidth:
      return *value = p.maxTexture1DMipmap, true;
    case infinirtDevAttrStreamPrioritiesSupported:
      return *value = p.streamPrioritiesSupported, true;
    case infinirtDevAttrGlobalL1CacheSupported:
      return *value = p.globalL1CacheSupported, true;
    case infinirtDevAttrLocalL1CacheSupported:
      return *value = p.localL1CacheSupported, true;
    case infinirtDevAttrMaxSharedMemoryPerMultiprocessor:
      return *value = clamped(p.sharedMemPerMultiprocessor), true;
    case infinirtDevAttrMaxRegistersPerMultiprocessor:
      return *value = p.regsPerMultiprocessor, true;
    case infinirtDevAttrManagedMemory:
      return *value = p.managedMemory, true;
    case infinirtDevAttrIsMultiGpuBoard:
      return *value = p.isMultiGpuBoard, true;
    case infinirtDevAttrMultiGpuBoardGroupID:
      return *value = p.multiGpuBoardGroupID, true;
    case infinirtDevAttrHostNativeAtomicSupported:
      return *value = p.hostNativeAtomicSupported, true;
    case infinirtDevAttrSingleToDoublePrecisionPerfRatio:
      return *value = p.singleToDoublePrecisionPerfRatio, true;
    case infinirtDevAttrPageableMemoryAccess:
      return *value = p.pageableMemoryAccess, true;
    case infinirtDevAttrConcurrentManagedAccess:
      return *value = p.concurrentManagedAccess, true;
    case infinirtDevAttrComputePreemptionSupported:
      return *value = p.computePreemptionSupported, true;
    case infinirtDevAttrCanUseHostPointerForRegisteredMem:
      return *value = p.canUseHostPointerForRegisteredMem, true;
    case infinirtDevAttrCooperativeLaunch:
      return *value = p.cooperativeLaunch, true;
    case infinirtDevAttrCooperativeMultiDeviceLaunch:
      return *value = p.cooperativeMultiDeviceLaunch, true;
    case infinirtDevAttrMaxSharedMemoryPerBlockOptin:
      return *value = clamped(p.sharedMemPerBlockOptin), true;
    case infinirtDevAttrHostRegisterSupported:
      return *value = p.hostRegisterSupported, true;
    case infinirtDevAttrPageableMemoryAccessUsesHostPageTables:
      return *value = p.pageableMemoryAccessUsesHostPageTables, true;
    case infinirtDevAttrDirectManagedMemAccessFromHost:
      return *value = p.directManagedMemAccessFromHost, true;
    case infinirtDevAttrMaxBlocksPerMultiprocessor:
      return *value = p.maxBlocksPerMultiProcessor, true;
    case infinirtDevAttrMaxPersistingL2CacheSize:
      return *value = p.persistingL2CacheMaxSize, true;
    case infinirtDevAttrMaxAccessPolicyWindowSize:
      return *value = p.accessPolicyMaxWindowSize, true;
    case infinirtDevAttrReservedSharedMemoryPerBlock:
      return *value = clamped(p.reservedSharedMemPerBlock), true;
    case infinirtDevAttrSparseCudaArraySupported:
      return *value = p.sparseCudaArraySupported, true;
    case infinirtDevAttrHostRegisterReadOnlySupported:
      return *value = p.hostRegisterReadOnlySupported, true;
    case infinirtDevAttrTimelineSemaphoreInteropSupported:
      return *value = p.timelineSemaphoreInteropSupported, true;
    case infinirtDevAttrMemoryPoolsSupported:
      return *value = p.memoryPoolsSupported, true;
    case infinirtDevAttrGPUDirectRDMASupported:
      return *value = p.gpuDirectRDMASupported, true;
    case infinirtDevAttrGPUDirectRDMAFlushWritesOptions:
      return *value = static_cast<int>(p.gpuDirectRDMAFlushWritesOptions), true;
    case infinirtDevAttrGPUDirectRDMAWritesOrdering:
      return *value = p.gpuDirectRDMAWritesOrdering, true;
    case infinirtDevAttrMemoryPoolSupportedHandleTypes:
      return *value = static_cast<int>(p.memoryPoolSupportedHandleTypes), true;
    case infinirtDevAttrClusterLaunch:
      return *value = p.clusterLaunch, true;
    case infinirtDevAttrDeferredMappingCudaArraySupported:
      return *value = p.deferredMappingCudaArraySupported, true;
    case infinirtDevAttrIpcEventSupport:
      return *value = p.ipcEventSupported, true;
    case infinirtDevAttrMemSyncDomainCount:
      return *value = 1, true;
    case infinirtDevAttrNumaConfig:
      return *value = infinirtDeviceNumaConfigNone, true;
    case infinirtDevAttrNumaId:
      return *value = -1, true;
    case infinirtDevAttrHostNumaId:
      return *value = -1, true;

    // What has no property: an engine-run device has none of these, and what is reserved reads as 0.
    case infinirtDevAttrReserved92:
    case infinirtDevAttrReserved93:
    case infinirtDevAttrReserved94:
    case infinirtDevAttrCanFlushRemoteWrites:
    case infinirtDevAttrReserved122:
    case infinirtDevAttrReserved123:
    case infinirtDevAttrReserved124:
    case infinirtDevAttrReserved127:
    case infinirtDevAttrReserved128:
    case infinirtDevAttrReserved129:
    case infinirtDevAttrReserved132:
    case infinirtDevAttrMpsEnabled:
    case infinirtDevAttrD3D12CigSupported:
    case infinirtDevAttrVulkanCigSupported:
    case infinirtDevAttrGpuPciDeviceId:
    case infinirtDevAttrGpuPciSubsystemId:
    case infinirtDevAttrReserved141:
    case infinirtDevAttrHostNumaMemoryPoolsSupported:
    case infinirtDevAttrHostNumaMultinodeIpcSupported:
      return *value = 0, true;
    case infinirtDevAttrMax:
      break;
  }
  return false;
}

}  // namespace

bool Engine::attribute(int device, enum infinirtDeviceAttr attribute, int* value) {
  std::atomic<const struct infinirtDeviceProp*>& described = devices[static_cast<size_t>(device)]->described;
  const struct infinirtDeviceProp* known = described.load(std::memory_order_acquire);
  if (!known) [[unlikely]] {
    auto* made = new infinirtDeviceProp{};
    properties(device, made);
    if (described.compare_exchange_strong(known, made)) {
      known = made;
    } else {
      delete made;  // another thread was faster
    }
  }
  return from_properties(*known, attribute, value);
}

infinirtError_t Engine::set_memory_limit(int, size_t) {
  return fail(infinirtErrorNotSupported, "device type '%s' has no settable memory limit", backend.name.c_str());
}

}  // namespace infinirt
