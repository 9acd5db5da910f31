"""The description of a device. Bodies are C; `parse_fields` says how much of it."""

from __future__ import annotations

from ..model import struct

STRUCTS = (
    struct(
        "infinirtUUID_st",
        "Sixteen bytes that identify a device.",
        """
        char bytes[16];
        """,
        typedef="infinirtUUID_t",
    ),
    struct(
        "infinirtDeviceProp",
        "Properties of a device, in the layout of CUDA 12.9. What a device does not have is 0.",
        """
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
        int clockRate;
        size_t totalConstMem;
        int major;
        int minor;
        size_t textureAlignment;
        size_t texturePitchAlignment;
        int deviceOverlap;
        int multiProcessorCount;
        int kernelExecTimeoutEnabled;
        int integrated;
        int canMapHostMemory;
        int computeMode;
        int maxTexture1D;
        int maxTexture1DMipmap;
        int maxTexture1DLinear;
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
        int memoryClockRate;
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
        int singleToDoublePrecisionPerfRatio;
        int pageableMemoryAccess;
        int concurrentManagedAccess;
        int computePreemptionSupported;
        int canUseHostPointerForRegisteredMem;
        int cooperativeLaunch;
        int cooperativeMultiDeviceLaunch;
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
        int reserved[63];
        """,
    ),
)
