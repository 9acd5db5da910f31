// CUDA 13's device properties. It dropped some of 12.9's fields, which moved the others.
#pragma once

#include <cstring>

#include "infinirt.h"

namespace infinirt::nvidia {

struct Properties13 {
  char name[256];
  infinirtUUID_t uuid;
  char luid[8];
  unsigned int luidDeviceNodeMask;
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  size_t totalConstMem;
  int major;
  int minor;
  size_t textureAlignment;
  size_t texturePitchAlignment;
  int multiProcessorCount;
  int integrated;
  int canMapHostMemory;
  int maxTexture1D;
  int maxTexture1DMipmap;
  int maxTexture2D[2];
  int maxTexture2DMipmap[2];
  int maxTexture2DLinear[3];
  int maxTexture2DGather[2];
  int maxTexture3D[3];
  int maxTexture3DAlt[3];
  int maxTextureCubemap;
  int maxTexture1DLayered[2];
  int maxTexture2DLayered[3];
  int maxTextureCubemapLayered[2];
  int maxSurface1D;
  int maxSurface2D[2];
  int maxSurface3D[3];
  int maxSurface1DLayered[2];
  int maxSurface2DLayered[3];
  int maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int globalL1CacheSupported;
  int localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int multiGpuBoardGroupID;
  int hostNativeAtomicSupported;
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int computePreemptionSupported;
  int canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables;
  int directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported;
  int sparseCudaArraySupported;
  int hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported;
  int memoryPoolsSupported;
  int gpuDirectRDMASupported;
  unsigned int gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned int memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported;
  int ipcEventSupported;
  int clusterLaunch;
  int unifiedFunctionPointers;
  int deviceNumaConfig;
  int deviceNumaId;
  int mpsEnabled;
  int hostNumaId;
  unsigned int gpuPciDeviceID;
  unsigned int gpuPciSubsystemID;
  int hostNumaMultinodeIpcSupported;
  int reserved[56];
};

static_assert(sizeof(Properties13) == 1008, "as in CUDA 13.0");

// Everything that both have.
inline void copy_properties(const Properties13& from, struct infinirtDeviceProp* to) {
  std::memset(to, 0, sizeof *to);
#define COPY(field)                                     \
  static_assert(sizeof to->field == sizeof from.field); \
  std::memcpy(&to->field, &from.field, sizeof from.field);
  COPY(name)
  COPY(uuid)
  COPY(luid)
  COPY(luidDeviceNodeMask)
  COPY(totalGlobalMem)
  COPY(sharedMemPerBlock)
  COPY(regsPerBlock)
  COPY(warpSize)
  COPY(memPitch)
  COPY(maxThreadsPerBlock)
  COPY(maxThreadsDim)
  COPY(maxGridSize)
  COPY(totalConstMem)
  COPY(major)
  COPY(minor)
  COPY(textureAlignment)
  COPY(texturePitchAlignment)
  COPY(multiProcessorCount)
  COPY(integrated)
  COPY(canMapHostMemory)
  COPY(maxTexture1D)
  COPY(maxTexture1DMipmap)
  COPY(maxTexture2D)
  COPY(maxTexture2DMipmap)
  COPY(maxTexture2DLinear)
  COPY(maxTexture2DGather)
  COPY(maxTexture3D)
  COPY(maxTexture3DAlt)
  COPY(maxTextureCubemap)
  COPY(maxTexture1DLayered)
  COPY(maxTexture2DLayered)
  COPY(maxTextureCubemapLayered)
  COPY(maxSurface1D)
  COPY(maxSurface2D)
  COPY(maxSurface3D)
  COPY(maxSurface1DLayered)
  COPY(maxSurface2DLayered)
  COPY(maxSurfaceCubemap)
  COPY(maxSurfaceCubemapLayered)
  COPY(surfaceAlignment)
  COPY(concurrentKernels)
  COPY(ECCEnabled)
  COPY(pciBusID)
  COPY(pciDeviceID)
  COPY(pciDomainID)
  COPY(tccDriver)
  COPY(asyncEngineCount)
  COPY(unifiedAddressing)
  COPY(memoryBusWidth)
  COPY(l2CacheSize)
  COPY(persistingL2CacheMaxSize)
  COPY(maxThreadsPerMultiProcessor)
  COPY(streamPrioritiesSupported)
  COPY(globalL1CacheSupported)
  COPY(localL1CacheSupported)
  COPY(sharedMemPerMultiprocessor)
  COPY(regsPerMultiprocessor)
  COPY(managedMemory)
  COPY(isMultiGpuBoard)
  COPY(multiGpuBoardGroupID)
  COPY(hostNativeAtomicSupported)
  COPY(pageableMemoryAccess)
  COPY(concurrentManagedAccess)
  COPY(computePreemptionSupported)
  COPY(canUseHostPointerForRegisteredMem)
  COPY(cooperativeLaunch)
  COPY(sharedMemPerBlockOptin)
  COPY(pageableMemoryAccessUsesHostPageTables)
  COPY(directManagedMemAccessFromHost)
  COPY(maxBlocksPerMultiProcessor)
  COPY(accessPolicyMaxWindowSize)
  COPY(reservedSharedMemPerBlock)
  COPY(hostRegisterSupported)
  COPY(sparseCudaArraySupported)
  COPY(hostRegisterReadOnlySupported)
  COPY(timelineSemaphoreInteropSupported)
  COPY(memoryPoolsSupported)
  COPY(gpuDirectRDMASupported)
  COPY(gpuDirectRDMAFlushWritesOptions)
  COPY(gpuDirectRDMAWritesOrdering)
  COPY(memoryPoolSupportedHandleTypes)
  COPY(deferredMappingCudaArraySupported)
  COPY(ipcEventSupported)
  COPY(clusterLaunch)
  COPY(unifiedFunctionPointers)
#undef COPY
}

}  // namespace infinirt::nvidia
