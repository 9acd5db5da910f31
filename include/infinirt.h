/*
 * infinirt.h: the runtime API. C11 and C++.
 *
 * Replace `infinirt` by `cuda` and every function, enum, enumerator and struct is that of the CUDA Runtime API 12.9,
 * at the source level. What goes beyond it is in infinirt_ext.h.
 *
 * All functions may be called from any thread; graphs, nodes and executable graphs are not synchronised internally.
 * Except where noted, a function that fails changes nothing, leaves its error as the thread's last error, and a
 * message for people that infinirt_ext.h gives access to. Any call may also return the error of earlier asynchronous
 * work. A function that the current device cannot offer returns infinirtErrorNotSupported.
 *
 * To use this header together with CUDA's, include CUDA's first: both define dim3.
 *
 * Generated from the specification in src/infinirt/_spec; change that, then run generate.py.
 */
/* clang-format off */
#ifndef INFINIRT_H
#define INFINIRT_H

#include <stddef.h>

/** The version of the CUDA Runtime API that this header follows: 1000 * major + 10 * minor. */
#define INFINIRT_CUDART_VERSION 12090
#define INFINIRT_VERSION INFINIRT_CUDART_VERSION

#ifndef INFINIRT_API
#if defined(__GNUC__)
#define INFINIRT_API __attribute__((visibility("default")))
#else
#define INFINIRT_API
#endif
#endif

/* A default argument, which C does not have. */
#ifdef __cplusplus
#define INFINIRT_DEFAULT(value) = value
#else
#define INFINIRT_DEFAULT(value)
#endif

#if !defined(__VECTOR_TYPES_H__)
/** Size of a grid or block. In C++ what is left out is 1; in C set all three. */
struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
#endif
};
typedef struct dim3 dim3;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------------------------
 * Handles
 */

/** A stream; 0, 1 and 2 are the predefined ones. */
typedef struct infinirtStream_st* infinirtStream_t;
/** An event. */
typedef struct infinirtEvent_st* infinirtEvent_t;
/** A memory pool. */
typedef struct infinirtMemPool_st* infinirtMemPool_t;
/** A graph. */
typedef struct infinirtGraph_st* infinirtGraph_t;
/** A node; it lives as long as its graph. */
typedef struct infinirtGraphNode_st* infinirtGraphNode_t;
/** A graph made ready for launching. */
typedef struct infinirtGraphExec_st* infinirtGraphExec_t;
/** A node as device code sees it. */
typedef struct infinirtGraphDeviceNode_st* infinirtGraphDeviceNode_t;
/** A reference-counted resource of the user's. */
typedef struct infinirtUserObject_st* infinirtUserObject_t;
/** A loaded device function. */
typedef struct infinirtFunction_st* infinirtFunction_t;
/** A kernel of a library. */
typedef struct infinirtKernel_st* infinirtKernel_t;
/** A loaded library of kernels. */
typedef struct infinirtLibrary_st* infinirtLibrary_t;
/** An array in device memory; part of the copy structs only. */
typedef struct infinirtArray* infinirtArray_t;
/** A semaphore of another API. */
typedef struct infinirtExternalSemaphore_st* infinirtExternalSemaphore_t;

/* ----------------------------------------------------------------------------------------------------
 * Constants
 */

/** Flags of infinirtHostAlloc. */
#define infinirtHostAllocDefault       0x00
#define infinirtHostAllocPortable      0x01
#define infinirtHostAllocMapped        0x02
#define infinirtHostAllocWriteCombined 0x04

/** Flags of infinirtHostRegister. */
#define infinirtHostRegisterDefault  0x00
#define infinirtHostRegisterPortable 0x01
#define infinirtHostRegisterMapped   0x02
#define infinirtHostRegisterIoMemory 0x04
#define infinirtHostRegisterReadOnly 0x08

/** Flags of infinirtDeviceEnablePeerAccess. */
#define infinirtPeerAccessDefault 0x00

/** Flags of infinirtStreamCreateWithFlags. */
#define infinirtStreamDefault     0x00
#define infinirtStreamNonBlocking 0x01

/** Predefined streams: the legacy default stream, and the default stream of the calling thread. */
#define infinirtStreamLegacy    ((infinirtStream_t)0x1)
#define infinirtStreamPerThread ((infinirtStream_t)0x2)

/** Flags of infinirtEventCreateWithFlags. */
#define infinirtEventDefault       0x00
#define infinirtEventBlockingSync  0x01
#define infinirtEventDisableTiming 0x02
#define infinirtEventInterprocess  0x04

/** Flags of infinirtEventRecordWithFlags. */
#define infinirtEventRecordDefault  0x00
#define infinirtEventRecordExternal 0x01

/** Flags of infinirtStreamWaitEvent. */
#define infinirtEventWaitDefault  0x00
#define infinirtEventWaitExternal 0x01

/** Flags of infinirtSetDeviceFlags. */
#define infinirtDeviceScheduleAuto         0x00
#define infinirtDeviceScheduleSpin         0x01
#define infinirtDeviceScheduleYield        0x02
#define infinirtDeviceScheduleBlockingSync 0x04
#define infinirtDeviceBlockingSync         0x04
#define infinirtDeviceScheduleMask         0x07
#define infinirtDeviceMapHost              0x08
#define infinirtDeviceLmemResizeToMax      0x10
#define infinirtDeviceSyncMemops           0x80
#define infinirtDeviceMask                 0xff

/** Flags of infinirtInitDevice. */
#define infinirtInitDeviceFlagsAreValid 0x01

/** Flags of infinirtIpcOpenMemHandle. */
#define infinirtIpcMemLazyEnablePeerAccess 0x01

/** Size of the IPC handles. */
#define INFINIRT_IPC_HANDLE_SIZE 64

/** Flags of infinirtMallocManaged and infinirtStreamAttachMemAsync. */
#define infinirtMemAttachGlobal 0x01
#define infinirtMemAttachHost   0x02
#define infinirtMemAttachSingle 0x04

/** Usage flags of infinirtMemPoolProps. */
#define infinirtMemPoolCreateUsageHwDecompress 0x02

/** Flags of infinirtOccupancyMaxActiveBlocksPerMultiprocessorWithFlags. */
#define infinirtOccupancyDefault                0x00
#define infinirtOccupancyDisableCachingOverride 0x01

/** Device numbers that name no device: the host, and nothing. */
#define infinirtCpuDeviceId     ((int)-1)
#define infinirtInvalidDeviceId ((int)-2)

/** Ports of kernel nodes in infinirtGraphEdgeData. */
#define infinirtGraphKernelNodePortDefault          0
#define infinirtGraphKernelNodePortProgrammatic     1
#define infinirtGraphKernelNodePortLaunchCompletion 2

/** Stream attributes are launch attributes. */
#define infinirtStreamAttrID                         infinirtLaunchAttributeID
#define infinirtStreamAttrValue                      infinirtLaunchAttributeValue
#define infinirtStreamAttributeAccessPolicyWindow    infinirtLaunchAttributeAccessPolicyWindow
#define infinirtStreamAttributeSynchronizationPolicy infinirtLaunchAttributeSynchronizationPolicy
#define infinirtStreamAttributeMemSyncDomainMap      infinirtLaunchAttributeMemSyncDomainMap
#define infinirtStreamAttributeMemSyncDomain         infinirtLaunchAttributeMemSyncDomain
#define infinirtStreamAttributePriority              infinirtLaunchAttributePriority

/** So are kernel node attributes. */
#define infinirtKernelNodeAttrID                                     infinirtLaunchAttributeID
#define infinirtKernelNodeAttrValue                                  infinirtLaunchAttributeValue
#define infinirtKernelNodeAttributeAccessPolicyWindow                infinirtLaunchAttributeAccessPolicyWindow
#define infinirtKernelNodeAttributeCooperative                       infinirtLaunchAttributeCooperative
#define infinirtKernelNodeAttributePriority                          infinirtLaunchAttributePriority
#define infinirtKernelNodeAttributeClusterDimension                  infinirtLaunchAttributeClusterDimension
#define infinirtKernelNodeAttributeClusterSchedulingPolicyPreference infinirtLaunchAttributeClusterSchedulingPolicyPreference
#define infinirtKernelNodeAttributeMemSyncDomainMap                  infinirtLaunchAttributeMemSyncDomainMap
#define infinirtKernelNodeAttributeMemSyncDomain                     infinirtLaunchAttributeMemSyncDomain
#define infinirtKernelNodeAttributePreferredSharedMemoryCarveout     infinirtLaunchAttributePreferredSharedMemoryCarveout
#define infinirtKernelNodeAttributeDeviceUpdatableKernelNode         infinirtLaunchAttributeDeviceUpdatableKernelNode

/* ----------------------------------------------------------------------------------------------------
 * Enums
 */

/** Result of almost every function. The numbers are CUDA's. */
typedef enum infinirtError {
  infinirtSuccess = 0, /**< no error */
  infinirtErrorInvalidValue = 1, /**< an argument is null, out of range or inconsistent with the others */
  infinirtErrorMemoryAllocation = 2, /**< not enough memory */
  infinirtErrorInitializationError = 3, /**< the runtime or the device could not be initialised */
  infinirtErrorCudartUnloading = 4, /**< the process is exiting and the runtime can no longer be used */
  infinirtErrorProfilerDisabled = 5, /**< the profiler is not available for this run */
  infinirtErrorProfilerNotInitialized = 6, /**< profiling was started or stopped before it was initialised */
  infinirtErrorProfilerAlreadyStarted = 7, /**< profiling has already been started */
  infinirtErrorProfilerAlreadyStopped = 8, /**< profiling has already been stopped */
  infinirtErrorInvalidConfiguration = 9, /**< the launch asks for a grid, block or resource size that the device cannot offer */
  infinirtErrorInvalidPitchValue = 12, /**< a pitch is smaller than the row width or larger than the device allows */
  infinirtErrorInvalidSymbol = 13, /**< the symbol is not known to the device */
  infinirtErrorInvalidHostPointer = 16, /**< the host pointer is not valid for this call */
  infinirtErrorInvalidDevicePointer = 17, /**< the device pointer is not valid for this call */
  infinirtErrorInvalidTexture = 18, /**< the texture is not valid */
  infinirtErrorInvalidTextureBinding = 19, /**< the texture is not bound in a way that this call accepts */
  infinirtErrorInvalidChannelDescriptor = 20, /**< the channel descriptor is not a supported format */
  infinirtErrorInvalidMemcpyDirection = 21, /**< the copy kind is unknown or does not fit the pointers */
  infinirtErrorAddressOfConstant = 22, /**< the address of a constant was taken where that is not allowed */
  infinirtErrorTextureFetchFailed = 23, /**< a texture fetch failed */
  infinirtErrorTextureNotBound = 24, /**< a texture was used without being bound */
  infinirtErrorSynchronizationError = 25, /**< a synchronisation operation failed */
  infinirtErrorInvalidFilterSetting = 26, /**< linear filtering was asked for a format that has none */
  infinirtErrorInvalidNormSetting = 27, /**< normalised reads were asked for a format that has none */
  infinirtErrorMixedDeviceExecution = 28, /**< device code and emulated code were mixed in one process */
  infinirtErrorNotYetImplemented = 31, /**< the call is not implemented yet */
  infinirtErrorMemoryValueTooLarge = 32, /**< an emulated device pointer is beyond what the device can address */
  infinirtErrorStubLibrary = 34, /**< the loaded driver library is a stub for linking, not a real driver */
  infinirtErrorInsufficientDriver = 35, /**< the installed driver is older than the runtime needs */
  infinirtErrorCallRequiresNewerDriver = 36, /**< this call needs a newer driver than the installed one */
  infinirtErrorInvalidSurface = 37, /**< the surface is not valid */
  infinirtErrorDuplicateVariableName = 43, /**< two device variables have the same name */
  infinirtErrorDuplicateTextureName = 44, /**< two textures have the same name */
  infinirtErrorDuplicateSurfaceName = 45, /**< two surfaces have the same name */
  infinirtErrorDevicesUnavailable = 46, /**< all devices are busy or may not be used by this process */
  infinirtErrorIncompatibleDriverContext = 49, /**< the current driver context cannot be used by the runtime */
  infinirtErrorMissingConfiguration = 52, /**< a kernel was launched without a launch configuration */
  infinirtErrorPriorLaunchFailure = 53, /**< an earlier launch failed */
  infinirtErrorLaunchMaxDepthExceeded = 65, /**< a device-side launch is nested too deeply */
  infinirtErrorLaunchFileScopedTex = 66, /**< a device-side launch uses a file-scope texture, which is not supported */
  infinirtErrorLaunchFileScopedSurf = 67, /**< a device-side launch uses a file-scope surface, which is not supported */
  infinirtErrorSyncDepthExceeded = 68, /**< a device-side synchronisation is nested too deeply */
  infinirtErrorLaunchPendingCountExceeded = 69, /**< too many device-side launches are pending */
  infinirtErrorInvalidDeviceFunction = 98, /**< the function is not a kernel of this device */
  infinirtErrorNoDevice = 100, /**< no usable device was found */
  infinirtErrorInvalidDevice = 101, /**< the device number is out of range or the device cannot do what was asked */
  infinirtErrorDeviceNotLicensed = 102, /**< the device has no valid licence */
  infinirtErrorSoftwareValidityNotEstablished = 103, /**< the software could not be validated by the device */
  infinirtErrorStartupFailure = 127, /**< the runtime failed an internal check at start-up */
  infinirtErrorInvalidKernelImage = 200, /**< the kernel image is not valid */
  infinirtErrorDeviceUninitialized = 201, /**< the device has no context yet */
  infinirtErrorMapBufferObjectFailed = 205, /**< a buffer object could not be mapped */
  infinirtErrorUnmapBufferObjectFailed = 206, /**< a buffer object could not be unmapped */
  infinirtErrorArrayIsMapped = 207, /**< the array is mapped and cannot be destroyed */
  infinirtErrorAlreadyMapped = 208, /**< the resource is already mapped */
  infinirtErrorNoKernelImageForDevice = 209, /**< the kernel was not compiled for this device */
  infinirtErrorAlreadyAcquired = 210, /**< the resource is already acquired */
  infinirtErrorNotMapped = 211, /**< the resource is not mapped */
  infinirtErrorNotMappedAsArray = 212, /**< the resource is mapped, but not as an array */
  infinirtErrorNotMappedAsPointer = 213, /**< the resource is mapped, but not as a pointer */
  infinirtErrorECCUncorrectable = 214, /**< the device found a memory error that could not be corrected */
  infinirtErrorUnsupportedLimit = 215, /**< the device does not support this limit */
  infinirtErrorDeviceAlreadyInUse = 216, /**< another thread or process has exclusive use of the device */
  infinirtErrorPeerAccessUnsupported = 217, /**< peer access between these two devices is not possible */
  infinirtErrorInvalidPtx = 218, /**< the PTX code could not be compiled */
  infinirtErrorInvalidGraphicsContext = 219, /**< the graphics context is not valid */
  infinirtErrorNvlinkUncorrectable = 220, /**< an uncorrectable error happened on the link between devices */
  infinirtErrorJitCompilerNotFound = 221, /**< the just-in-time compiler library was not found */
  infinirtErrorUnsupportedPtxVersion = 222, /**< the PTX code was made by a newer toolchain than the driver supports */
  infinirtErrorJitCompilationDisabled = 223, /**< just-in-time compilation is switched off */
  infinirtErrorUnsupportedExecAffinity = 224, /**< the device does not support this execution affinity */
  infinirtErrorUnsupportedDevSideSync = 225, /**< the device code synchronises in a way that this device does not support */
  infinirtErrorContained = 226, /**< the device contained an error; the process must be restarted to use it again */
  infinirtErrorInvalidSource = 300, /**< the kernel source is not valid */
  infinirtErrorFileNotFound = 301, /**< the file was not found */
  infinirtErrorSharedObjectSymbolNotFound = 302, /**< a symbol of a shared library could not be resolved */
  infinirtErrorSharedObjectInitFailed = 303, /**< a shared library could not be initialised */
  infinirtErrorOperatingSystem = 304, /**< a call to the operating system failed */
  infinirtErrorInvalidResourceHandle = 400, /**< the handle was never created, was destroyed, or is of another kind or device */
  infinirtErrorIllegalState = 401, /**< the object is not in a state in which this call is allowed */
  infinirtErrorLossyQuery = 402, /**< the answer cannot be given without losing information */
  infinirtErrorSymbolNotFound = 500, /**< no symbol of that name was found */
  infinirtErrorNotReady = 600, /**< the work has not finished yet; this is an answer, not a failure */
  infinirtErrorIllegalAddress = 700, /**< device code touched memory that it may not access */
  infinirtErrorLaunchOutOfResources = 701, /**< the launch needs more registers, threads or memory than the device has */
  infinirtErrorLaunchTimeout = 702, /**< the kernel ran longer than the device allows */
  infinirtErrorLaunchIncompatibleTexturing = 703, /**< the kernel uses an incompatible texturing mode */
  infinirtErrorPeerAccessAlreadyEnabled = 704, /**< access to this peer is already enabled */
  infinirtErrorPeerAccessNotEnabled = 705, /**< access to this peer is not enabled */
  infinirtErrorSetOnActiveProcess = 708, /**< this setting must be made before the device is first used */
  infinirtErrorContextIsDestroyed = 709, /**< the context of this thread was destroyed or is not initialised */
  infinirtErrorAssert = 710, /**< an assertion in device code failed */
  infinirtErrorTooManyPeers = 711, /**< the device has no room for another peer */
  infinirtErrorHostMemoryAlreadyRegistered = 712, /**< the host memory is already registered */
  infinirtErrorHostMemoryNotRegistered = 713, /**< the host memory is not registered */
  infinirtErrorHardwareStackError = 714, /**< device code corrupted or overflowed its stack */
  infinirtErrorIllegalInstruction = 715, /**< device code contains an illegal instruction */
  infinirtErrorMisalignedAddress = 716, /**< device code used a misaligned address */
  infinirtErrorInvalidAddressSpace = 717, /**< device code used an address of the wrong address space */
  infinirtErrorInvalidPc = 718, /**< the program counter of the device left its code */
  infinirtErrorLaunchFailure = 719, /**< a kernel failed while it ran */
  infinirtErrorCooperativeLaunchTooLarge = 720, /**< the cooperative launch has more blocks than can run at the same time */
  infinirtErrorTensorMemoryLeak = 721, /**< a kernel ended without freeing the tensor memory it allocated */
  infinirtErrorNotPermitted = 800, /**< the call is not permitted here */
  infinirtErrorNotSupported = 801, /**< the device or backend does not support this call */
  infinirtErrorSystemNotReady = 802, /**< a system service that the device needs is not running */
  infinirtErrorSystemDriverMismatch = 803, /**< the parts of the driver have different versions */
  infinirtErrorCompatNotSupportedOnDevice = 804, /**< forward compatibility was asked for on a device that does not support it */
  infinirtErrorMpsConnectionFailed = 805, /**< the client could not connect to the multi-process service */
  infinirtErrorMpsRpcFailure = 806, /**< a call to the multi-process service failed */
  infinirtErrorMpsServerNotReady = 807, /**< the multi-process service cannot accept clients now */
  infinirtErrorMpsMaxClientsReached = 808, /**< the multi-process service has no room for another client */
  infinirtErrorMpsMaxConnectionsReached = 809, /**< the multi-process service has no room for another connection */
  infinirtErrorMpsClientTerminated = 810, /**< the multi-process service ended this client */
  infinirtErrorCdpNotSupported = 811, /**< the device does not support launches from device code */
  infinirtErrorCdpVersionMismatch = 812, /**< the program mixes versions of device-side launching that do not work together */
  infinirtErrorStreamCaptureUnsupported = 900, /**< the call cannot be made while a stream is being captured */
  infinirtErrorStreamCaptureInvalidated = 901, /**< an earlier error has invalidated the capture */
  infinirtErrorStreamCaptureMerge = 902, /**< the call would merge two separate captures */
  infinirtErrorStreamCaptureUnmatched = 903, /**< the capture was begun on another stream */
  infinirtErrorStreamCaptureUnjoined = 904, /**< a stream forked from the capture was not joined back */
  infinirtErrorStreamCaptureIsolation = 905, /**< a dependency crosses the border of the capture */
  infinirtErrorStreamCaptureImplicit = 906, /**< the call would depend implicitly on the capture through the legacy stream */
  infinirtErrorCapturedEvent = 907, /**< the event was recorded in a capture and cannot be used outside of it */
  infinirtErrorStreamCaptureWrongThread = 908, /**< the capture was begun by another thread */
  infinirtErrorTimeout = 909, /**< the wait ran out of time */
  infinirtErrorGraphExecUpdateFailure = 910, /**< the executable graph cannot be updated to match the new graph */
  infinirtErrorExternalDevice = 911, /**< a device outside of this runtime reported an error */
  infinirtErrorInvalidClusterSize = 912, /**< the cluster size is not valid for this kernel and device */
  infinirtErrorFunctionNotLoaded = 913, /**< the function is not loaded */
  infinirtErrorInvalidResourceType = 914, /**< the resource is of a type that this call does not accept */
  infinirtErrorInvalidResourceConfiguration = 915, /**< the resources are too few or not configured for this call */
  infinirtErrorUnknown = 999, /**< unknown error */
  infinirtErrorApiFailureBase = 10000 /**< base of an error range that is no longer used */
} infinirtError_t;

/** What infinirtDeviceGetAttribute can be asked for. Names and numbers are those of CUDA 12.9. */
enum infinirtDeviceAttr {
  infinirtDevAttrMaxThreadsPerBlock = 1,
  infinirtDevAttrMaxBlockDimX = 2,
  infinirtDevAttrMaxBlockDimY = 3,
  infinirtDevAttrMaxBlockDimZ = 4,
  infinirtDevAttrMaxGridDimX = 5,
  infinirtDevAttrMaxGridDimY = 6,
  infinirtDevAttrMaxGridDimZ = 7,
  infinirtDevAttrMaxSharedMemoryPerBlock = 8,
  infinirtDevAttrTotalConstantMemory = 9,
  infinirtDevAttrWarpSize = 10,
  infinirtDevAttrMaxPitch = 11,
  infinirtDevAttrMaxRegistersPerBlock = 12,
  infinirtDevAttrClockRate = 13,
  infinirtDevAttrTextureAlignment = 14,
  infinirtDevAttrGpuOverlap = 15,
  infinirtDevAttrMultiProcessorCount = 16,
  infinirtDevAttrKernelExecTimeout = 17,
  infinirtDevAttrIntegrated = 18,
  infinirtDevAttrCanMapHostMemory = 19,
  infinirtDevAttrComputeMode = 20,
  infinirtDevAttrMaxTexture1DWidth = 21,
  infinirtDevAttrMaxTexture2DWidth = 22,
  infinirtDevAttrMaxTexture2DHeight = 23,
  infinirtDevAttrMaxTexture3DWidth = 24,
  infinirtDevAttrMaxTexture3DHeight = 25,
  infinirtDevAttrMaxTexture3DDepth = 26,
  infinirtDevAttrMaxTexture2DLayeredWidth = 27,
  infinirtDevAttrMaxTexture2DLayeredHeight = 28,
  infinirtDevAttrMaxTexture2DLayeredLayers = 29,
  infinirtDevAttrSurfaceAlignment = 30,
  infinirtDevAttrConcurrentKernels = 31,
  infinirtDevAttrEccEnabled = 32,
  infinirtDevAttrPciBusId = 33,
  infinirtDevAttrPciDeviceId = 34,
  infinirtDevAttrTccDriver = 35,
  infinirtDevAttrMemoryClockRate = 36,
  infinirtDevAttrGlobalMemoryBusWidth = 37,
  infinirtDevAttrL2CacheSize = 38,
  infinirtDevAttrMaxThreadsPerMultiProcessor = 39,
  infinirtDevAttrAsyncEngineCount = 40,
  infinirtDevAttrUnifiedAddressing = 41,
  infinirtDevAttrMaxTexture1DLayeredWidth = 42,
  infinirtDevAttrMaxTexture1DLayeredLayers = 43,
  infinirtDevAttrMaxTexture2DGatherWidth = 45,
  infinirtDevAttrMaxTexture2DGatherHeight = 46,
  infinirtDevAttrMaxTexture3DWidthAlt = 47,
  infinirtDevAttrMaxTexture3DHeightAlt = 48,
  infinirtDevAttrMaxTexture3DDepthAlt = 49,
  infinirtDevAttrPciDomainId = 50,
  infinirtDevAttrTexturePitchAlignment = 51,
  infinirtDevAttrMaxTextureCubemapWidth = 52,
  infinirtDevAttrMaxTextureCubemapLayeredWidth = 53,
  infinirtDevAttrMaxTextureCubemapLayeredLayers = 54,
  infinirtDevAttrMaxSurface1DWidth = 55,
  infinirtDevAttrMaxSurface2DWidth = 56,
  infinirtDevAttrMaxSurface2DHeight = 57,
  infinirtDevAttrMaxSurface3DWidth = 58,
  infinirtDevAttrMaxSurface3DHeight = 59,
  infinirtDevAttrMaxSurface3DDepth = 60,
  infinirtDevAttrMaxSurface1DLayeredWidth = 61,
  infinirtDevAttrMaxSurface1DLayeredLayers = 62,
  infinirtDevAttrMaxSurface2DLayeredWidth = 63,
  infinirtDevAttrMaxSurface2DLayeredHeight = 64,
  infinirtDevAttrMaxSurface2DLayeredLayers = 65,
  infinirtDevAttrMaxSurfaceCubemapWidth = 66,
  infinirtDevAttrMaxSurfaceCubemapLayeredWidth = 67,
  infinirtDevAttrMaxSurfaceCubemapLayeredLayers = 68,
  infinirtDevAttrMaxTexture1DLinearWidth = 69,
  infinirtDevAttrMaxTexture2DLinearWidth = 70,
  infinirtDevAttrMaxTexture2DLinearHeight = 71,
  infinirtDevAttrMaxTexture2DLinearPitch = 72,
  infinirtDevAttrMaxTexture2DMipmappedWidth = 73,
  infinirtDevAttrMaxTexture2DMipmappedHeight = 74,
  infinirtDevAttrComputeCapabilityMajor = 75,
  infinirtDevAttrComputeCapabilityMinor = 76,
  infinirtDevAttrMaxTexture1DMipmappedWidth = 77,
  infinirtDevAttrStreamPrioritiesSupported = 78,
  infinirtDevAttrGlobalL1CacheSupported = 79,
  infinirtDevAttrLocalL1CacheSupported = 80,
  infinirtDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  infinirtDevAttrMaxRegistersPerMultiprocessor = 82,
  infinirtDevAttrManagedMemory = 83,
  infinirtDevAttrIsMultiGpuBoard = 84,
  infinirtDevAttrMultiGpuBoardGroupID = 85,
  infinirtDevAttrHostNativeAtomicSupported = 86,
  infinirtDevAttrSingleToDoublePrecisionPerfRatio = 87,
  infinirtDevAttrPageableMemoryAccess = 88,
  infinirtDevAttrConcurrentManagedAccess = 89,
  infinirtDevAttrComputePreemptionSupported = 90,
  infinirtDevAttrCanUseHostPointerForRegisteredMem = 91,
  infinirtDevAttrReserved92 = 92,
  infinirtDevAttrReserved93 = 93,
  infinirtDevAttrReserved94 = 94,
  infinirtDevAttrCooperativeLaunch = 95,
  infinirtDevAttrCooperativeMultiDeviceLaunch = 96,
  infinirtDevAttrMaxSharedMemoryPerBlockOptin = 97,
  infinirtDevAttrCanFlushRemoteWrites = 98,
  infinirtDevAttrHostRegisterSupported = 99,
  infinirtDevAttrPageableMemoryAccessUsesHostPageTables = 100,
  infinirtDevAttrDirectManagedMemAccessFromHost = 101,
  infinirtDevAttrMaxBlocksPerMultiprocessor = 106,
  infinirtDevAttrMaxPersistingL2CacheSize = 108,
  infinirtDevAttrMaxAccessPolicyWindowSize = 109,
  infinirtDevAttrReservedSharedMemoryPerBlock = 111,
  infinirtDevAttrSparseCudaArraySupported = 112,
  infinirtDevAttrHostRegisterReadOnlySupported = 113,
  infinirtDevAttrTimelineSemaphoreInteropSupported = 114,
  infinirtDevAttrMaxTimelineSemaphoreInteropSupported = 114,
  infinirtDevAttrMemoryPoolsSupported = 115,
  infinirtDevAttrGPUDirectRDMASupported = 116,
  infinirtDevAttrGPUDirectRDMAFlushWritesOptions = 117,
  infinirtDevAttrGPUDirectRDMAWritesOrdering = 118,
  infinirtDevAttrMemoryPoolSupportedHandleTypes = 119,
  infinirtDevAttrClusterLaunch = 120,
  infinirtDevAttrDeferredMappingCudaArraySupported = 121,
  infinirtDevAttrReserved122 = 122,
  infinirtDevAttrReserved123 = 123,
  infinirtDevAttrReserved124 = 124,
  infinirtDevAttrIpcEventSupport = 125,
  infinirtDevAttrMemSyncDomainCount = 126,
  infinirtDevAttrReserved127 = 127,
  infinirtDevAttrReserved128 = 128,
  infinirtDevAttrReserved129 = 129,
  infinirtDevAttrNumaConfig = 130,
  infinirtDevAttrNumaId = 131,
  infinirtDevAttrReserved132 = 132,
  infinirtDevAttrMpsEnabled = 133,
  infinirtDevAttrHostNumaId = 134,
  infinirtDevAttrD3D12CigSupported = 135,
  infinirtDevAttrVulkanCigSupported = 138,
  infinirtDevAttrGpuPciDeviceId = 139,
  infinirtDevAttrGpuPciSubsystemId = 140,
  infinirtDevAttrReserved141 = 141,
  infinirtDevAttrHostNumaMemoryPoolsSupported = 142,
  infinirtDevAttrHostNumaMultinodeIpcSupported = 143,
  infinirtDevAttrMax = 144
};

/** What infinirtDeviceGetP2PAttribute can be asked for. */
enum infinirtDeviceP2PAttr {
  infinirtDevP2PAttrPerformanceRank = 1,
  infinirtDevP2PAttrAccessSupported = 2,
  infinirtDevP2PAttrNativeAtomicSupported = 3,
  infinirtDevP2PAttrCudaArrayAccessSupported = 4
};

/** Who may use a device (the value of infinirtDevAttrComputeMode). */
enum infinirtComputeMode {
  infinirtComputeModeDefault = 0,
  infinirtComputeModeExclusive = 1,
  infinirtComputeModeProhibited = 2,
  infinirtComputeModeExclusiveProcess = 3
};

/** Limits for infinirtDeviceGetLimit and infinirtDeviceSetLimit. */
enum infinirtLimit {
  infinirtLimitStackSize = 0,
  infinirtLimitPrintfFifoSize = 1,
  infinirtLimitMallocHeapSize = 2,
  infinirtLimitDevRuntimeSyncDepth = 3,
  infinirtLimitDevRuntimePendingLaunchCount = 4,
  infinirtLimitMaxL2FetchGranularity = 5,
  infinirtLimitPersistingL2CacheSize = 6
};

/** Preferred split between cache and shared memory; a hint. */
enum infinirtFuncCache {
  infinirtFuncCachePreferNone = 0,
  infinirtFuncCachePreferShared = 1,
  infinirtFuncCachePreferL1 = 2,
  infinirtFuncCachePreferEqual = 3
};

/** Bits of infinirtDevAttrGPUDirectRDMAFlushWritesOptions. */
enum infinirtFlushGPUDirectRDMAWritesOptions {
  infinirtFlushGPUDirectRDMAWritesOptionHost = 1,
  infinirtFlushGPUDirectRDMAWritesOptionMemOps = 2
};

/** Values of infinirtDevAttrGPUDirectRDMAWritesOrdering. */
enum infinirtGPUDirectRDMAWritesOrdering {
  infinirtGPUDirectRDMAWritesOrderingNone = 0,
  infinirtGPUDirectRDMAWritesOrderingOwner = 100,
  infinirtGPUDirectRDMAWritesOrderingAllDevices = 200
};

/** Values of infinirtDevAttrNumaConfig. */
enum infinirtDeviceNumaConfig {
  infinirtDeviceNumaConfigNone = 0,
  infinirtDeviceNumaConfigNumaNode = 1
};

/** Which default stream a driver entry point shall use. */
enum infinirtGetDriverEntryPointFlags {
  infinirtEnableDefault = 0,
  infinirtEnableLegacyStream = 1,
  infinirtEnablePerThreadDefaultStream = 2
};

/** Outcome of looking up a driver entry point. */
enum infinirtDriverEntryPointQueryResult {
  infinirtDriverEntryPointSuccess = 0,
  infinirtDriverEntryPointSymbolNotFound = 1,
  infinirtDriverEntryPointVersionNotSufficent = 2
};

/** What kind of memory a pointer refers to. */
enum infinirtMemoryType {
  infinirtMemoryTypeUnregistered = 0,
  infinirtMemoryTypeHost = 1,
  infinirtMemoryTypeDevice = 2,
  infinirtMemoryTypeManaged = 3
};

/** Direction of a copy; Default infers it from the two pointers. */
enum infinirtMemcpyKind {
  infinirtMemcpyHostToHost = 0,
  infinirtMemcpyHostToDevice = 1,
  infinirtMemcpyDeviceToHost = 2,
  infinirtMemcpyDeviceToDevice = 3,
  infinirtMemcpyDefault = 4
};

/** Advice about the use of managed memory. */
enum infinirtMemoryAdvise {
  infinirtMemAdviseSetReadMostly = 1,
  infinirtMemAdviseUnsetReadMostly = 2,
  infinirtMemAdviseSetPreferredLocation = 3,
  infinirtMemAdviseUnsetPreferredLocation = 4,
  infinirtMemAdviseSetAccessedBy = 5,
  infinirtMemAdviseUnsetAccessedBy = 6
};

/** What infinirtMemRangeGetAttribute can be asked for. */
enum infinirtMemRangeAttribute {
  infinirtMemRangeAttributeReadMostly = 1,
  infinirtMemRangeAttributePreferredLocation = 2,
  infinirtMemRangeAttributeAccessedBy = 3,
  infinirtMemRangeAttributeLastPrefetchLocation = 4,
  infinirtMemRangeAttributePreferredLocationType = 5,
  infinirtMemRangeAttributePreferredLocationId = 6,
  infinirtMemRangeAttributeLastPrefetchLocationType = 7,
  infinirtMemRangeAttributeLastPrefetchLocationId = 8
};

/** What a memory location names. */
enum infinirtMemLocationType {
  infinirtMemLocationTypeInvalid = 0,
  infinirtMemLocationTypeDevice = 1,
  infinirtMemLocationTypeHost = 2,
  infinirtMemLocationTypeHostNuma = 3,
  infinirtMemLocationTypeHostNumaCurrent = 4
};

/** Access that a location has to the memory of a pool. */
enum infinirtMemAccessFlags {
  infinirtMemAccessFlagsProtNone = 0,
  infinirtMemAccessFlagsProtRead = 1,
  infinirtMemAccessFlagsProtReadWrite = 3
};

/** Kind of memory that a pool gives out. */
enum infinirtMemAllocationType {
  infinirtMemAllocationTypeInvalid = 0,
  infinirtMemAllocationTypePinned = 1,
  infinirtMemAllocationTypeMax = 0x7FFFFFFF
};

/** Ways of sharing a pool between processes; the values combine as bits. */
enum infinirtMemAllocationHandleType {
  infinirtMemHandleTypeNone = 0,
  infinirtMemHandleTypePosixFileDescriptor = 1,
  infinirtMemHandleTypeWin32 = 2,
  infinirtMemHandleTypeWin32Kmt = 4,
  infinirtMemHandleTypeFabric = 8
};

/** Attributes of a memory pool: the reuse policies are int, all others uint64_t. */
enum infinirtMemPoolAttr {
  infinirtMemPoolReuseFollowEventDependencies = 1,
  infinirtMemPoolReuseAllowOpportunistic = 2,
  infinirtMemPoolReuseAllowInternalDependencies = 3,
  infinirtMemPoolAttrReleaseThreshold = 4,
  infinirtMemPoolAttrReservedMemCurrent = 5,
  infinirtMemPoolAttrReservedMemHigh = 6,
  infinirtMemPoolAttrUsedMemCurrent = 7,
  infinirtMemPoolAttrUsedMemHigh = 8
};

/** Accounting of the memory that graphs allocate; all are uint64_t. */
enum infinirtGraphMemAttributeType {
  infinirtGraphMemAttrUsedMemCurrent = 0,
  infinirtGraphMemAttrUsedMemHigh = 1,
  infinirtGraphMemAttrReservedMemCurrent = 2,
  infinirtGraphMemAttrReservedMemHigh = 3
};

/** Hints for a batched copy. */
enum infinirtMemcpyFlags {
  infinirtMemcpyFlagDefault = 0,
  infinirtMemcpyFlagPreferOverlapWithCompute = 1
};

/** When a batched copy may read its source. */
enum infinirtMemcpySrcAccessOrder {
  infinirtMemcpySrcAccessOrderInvalid = 0,
  infinirtMemcpySrcAccessOrderStream = 1,
  infinirtMemcpySrcAccessOrderDuringApiCall = 2,
  infinirtMemcpySrcAccessOrderAny = 3,
  infinirtMemcpySrcAccessOrderMax = 0x7FFFFFFF
};

/** What an operand of a batched 3D copy is. */
enum infinirtMemcpy3DOperandType {
  infinirtMemcpyOperandTypePointer = 1,
  infinirtMemcpyOperandTypeArray = 2,
  infinirtMemcpyOperandTypeMax = 0x7FFFFFFF
};

/** State of a stream with regard to capture. */
enum infinirtStreamCaptureStatus {
  infinirtStreamCaptureStatusNone = 0,
  infinirtStreamCaptureStatusActive = 1,
  infinirtStreamCaptureStatusInvalidated = 2
};

/** Which unsafe calls are barred during a capture: those of any thread, of this thread, or none. */
enum infinirtStreamCaptureMode {
  infinirtStreamCaptureModeGlobal = 0,
  infinirtStreamCaptureModeThreadLocal = 1,
  infinirtStreamCaptureModeRelaxed = 2
};

/** Whether dependencies are added to those of the capture or replace them. */
enum infinirtStreamUpdateCaptureDependenciesFlags {
  infinirtStreamAddCaptureDependencies = 0,
  infinirtStreamSetCaptureDependencies = 1
};

/** How a host thread waits for a stream. */
enum infinirtSynchronizationPolicy {
  infinirtSyncPolicyAuto = 1,
  infinirtSyncPolicySpin = 2,
  infinirtSyncPolicyYield = 3,
  infinirtSyncPolicyBlockingSync = 4
};

/** How the blocks of a cluster are spread. */
enum infinirtClusterSchedulingPolicy {
  infinirtClusterSchedulingPolicyDefault = 0,
  infinirtClusterSchedulingPolicySpread = 1,
  infinirtClusterSchedulingPolicyLoadBalancing = 2
};

/** Cache behaviour of accesses in an access policy window. */
enum infinirtAccessProperty {
  infinirtAccessPropertyNormal = 0,
  infinirtAccessPropertyStreaming = 1,
  infinirtAccessPropertyPersisting = 2
};

/** Memory synchronisation domain of a launch. */
typedef enum infinirtLaunchMemSyncDomain {
  infinirtLaunchMemSyncDomainDefault = 0,
  infinirtLaunchMemSyncDomainRemote = 1
} infinirtLaunchMemSyncDomain;

/**
 * Attributes of launches, streams and kernel nodes; each names the member of infinirtLaunchAttributeValue
 * that it uses.
 */
typedef enum infinirtLaunchAttributeID {
  infinirtLaunchAttributeIgnore = 0,
  infinirtLaunchAttributeAccessPolicyWindow = 1,
  infinirtLaunchAttributeCooperative = 2,
  infinirtLaunchAttributeSynchronizationPolicy = 3,
  infinirtLaunchAttributeClusterDimension = 4,
  infinirtLaunchAttributeClusterSchedulingPolicyPreference = 5,
  infinirtLaunchAttributeProgrammaticStreamSerialization = 6,
  infinirtLaunchAttributeProgrammaticEvent = 7,
  infinirtLaunchAttributePriority = 8,
  infinirtLaunchAttributeMemSyncDomainMap = 9,
  infinirtLaunchAttributeMemSyncDomain = 10,
  infinirtLaunchAttributePreferredClusterDimension = 11,
  infinirtLaunchAttributeLaunchCompletionEvent = 12,
  infinirtLaunchAttributeDeviceUpdatableKernelNode = 13,
  infinirtLaunchAttributePreferredSharedMemoryCarveout = 14
} infinirtLaunchAttributeID;

/** Attributes that infinirtFuncSetAttribute can change. */
enum infinirtFuncAttribute {
  infinirtFuncAttributeMaxDynamicSharedMemorySize = 8,
  infinirtFuncAttributePreferredSharedMemoryCarveout = 9,
  infinirtFuncAttributeClusterDimMustBeSet = 10,
  infinirtFuncAttributeRequiredClusterWidth = 11,
  infinirtFuncAttributeRequiredClusterHeight = 12,
  infinirtFuncAttributeRequiredClusterDepth = 13,
  infinirtFuncAttributeNonPortableClusterSizeAllowed = 14,
  infinirtFuncAttributeClusterSchedulingPolicyPreference = 15,
  infinirtFuncAttributeMax = 16
};

/** Special values of a shared memory carve-out; 0 to 100 are percentages. */
enum infinirtSharedCarveout {
  infinirtSharedmemCarveoutDefault = -1,
  infinirtSharedmemCarveoutMaxShared = 100,
  infinirtSharedmemCarveoutMaxL1 = 0
};

/** Options of just-in-time compilation when a library is loaded. */
enum infinirtJitOption {
  infinirtJitMaxRegisters = 0,
  infinirtJitThreadsPerBlock = 1,
  infinirtJitWallTime = 2,
  infinirtJitInfoLogBuffer = 3,
  infinirtJitInfoLogBufferSizeBytes = 4,
  infinirtJitErrorLogBuffer = 5,
  infinirtJitErrorLogBufferSizeBytes = 6,
  infinirtJitOptimizationLevel = 7,
  infinirtJitFallbackStrategy = 10,
  infinirtJitGenerateDebugInfo = 11,
  infinirtJitLogVerbose = 12,
  infinirtJitGenerateLineInfo = 13,
  infinirtJitCacheMode = 14,
  infinirtJitPositionIndependentCode = 30,
  infinirtJitMinCtaPerSm = 31,
  infinirtJitMaxThreadsPerBlock = 32,
  infinirtJitOverrideDirectiveValues = 33
};

/** Values of infinirtJitCacheMode. */
enum infinirtJit_CacheMode {
  infinirtJitCacheOptionNone = 0,
  infinirtJitCacheOptionCG = 1,
  infinirtJitCacheOptionCA = 2
};

/** Values of infinirtJitFallbackStrategy. */
enum infinirtJit_Fallback {
  infinirtPreferPtx = 0,
  infinirtPreferBinary = 1
};

/** Options of loading a library. */
enum infinirtLibraryOption {
  infinirtLibraryHostUniversalFunctionAndDataTable = 0,
  infinirtLibraryBinaryIsPreserved = 1
};

/** Kind of a graph node. */
enum infinirtGraphNodeType {
  infinirtGraphNodeTypeKernel = 0,
  infinirtGraphNodeTypeMemcpy = 1,
  infinirtGraphNodeTypeMemset = 2,
  infinirtGraphNodeTypeHost = 3,
  infinirtGraphNodeTypeGraph = 4,
  infinirtGraphNodeTypeEmpty = 5,
  infinirtGraphNodeTypeWaitEvent = 6,
  infinirtGraphNodeTypeEventRecord = 7,
  infinirtGraphNodeTypeExtSemaphoreSignal = 8,
  infinirtGraphNodeTypeExtSemaphoreWait = 9,
  infinirtGraphNodeTypeMemAlloc = 10,
  infinirtGraphNodeTypeMemFree = 11,
  infinirtGraphNodeTypeConditional = 13,
  infinirtGraphNodeTypeCount = 14
};

/** Kind of an edge of a graph. */
typedef enum infinirtGraphDependencyType_enum {
  infinirtGraphDependencyTypeDefault = 0,
  infinirtGraphDependencyTypeProgrammatic = 1
} infinirtGraphDependencyType;

/** Whether a child graph node gets a copy of the graph or takes it over. */
enum infinirtGraphChildGraphNodeOwnership {
  infinirtGraphChildGraphOwnershipClone = 0,
  infinirtGraphChildGraphOwnershipMove = 1
};

/** Flags of a conditional handle. */
enum infinirtGraphConditionalHandleFlags {
  infinirtGraphCondAssignDefault = 1
};

/** Kind of a conditional node. */
enum infinirtGraphConditionalNodeType {
  infinirtGraphCondTypeIf = 0,
  infinirtGraphCondTypeWhile = 1,
  infinirtGraphCondTypeSwitch = 2
};

/** Why an executable graph could or could not be updated. */
enum infinirtGraphExecUpdateResult {
  infinirtGraphExecUpdateSuccess = 0,
  infinirtGraphExecUpdateError = 1,
  infinirtGraphExecUpdateErrorTopologyChanged = 2,
  infinirtGraphExecUpdateErrorNodeTypeChanged = 3,
  infinirtGraphExecUpdateErrorFunctionChanged = 4,
  infinirtGraphExecUpdateErrorParametersChanged = 5,
  infinirtGraphExecUpdateErrorNotSupported = 6,
  infinirtGraphExecUpdateErrorUnsupportedFunctionChange = 7,
  infinirtGraphExecUpdateErrorAttributesChanged = 8
};

/** Why a graph could or could not be instantiated. */
typedef enum infinirtGraphInstantiateResult {
  infinirtGraphInstantiateSuccess = 0,
  infinirtGraphInstantiateError = 1,
  infinirtGraphInstantiateInvalidStructure = 2,
  infinirtGraphInstantiateNodeOperationNotSupported = 3,
  infinirtGraphInstantiateMultipleDevicesNotSupported = 4,
  infinirtGraphInstantiateConditionalHandleUnused = 5
} infinirtGraphInstantiateResult;

/** Flags of instantiation; they combine as bits. */
enum infinirtGraphInstantiateFlags {
  infinirtGraphInstantiateFlagAutoFreeOnLaunch = 1,
  infinirtGraphInstantiateFlagUpload = 2,
  infinirtGraphInstantiateFlagDeviceLaunch = 4,
  infinirtGraphInstantiateFlagUseNodePriority = 8
};

/** What infinirtGraphDebugDotPrint writes beyond the shape; the values combine as bits. */
enum infinirtGraphDebugDotFlags {
  infinirtGraphDebugDotFlagsVerbose = 1,
  infinirtGraphDebugDotFlagsKernelNodeParams = 4,
  infinirtGraphDebugDotFlagsMemcpyNodeParams = 8,
  infinirtGraphDebugDotFlagsMemsetNodeParams = 16,
  infinirtGraphDebugDotFlagsHostNodeParams = 32,
  infinirtGraphDebugDotFlagsEventNodeParams = 64,
  infinirtGraphDebugDotFlagsExtSemasSignalNodeParams = 128,
  infinirtGraphDebugDotFlagsExtSemasWaitNodeParams = 256,
  infinirtGraphDebugDotFlagsKernelNodeAttributes = 512,
  infinirtGraphDebugDotFlagsHandles = 1024,
  infinirtGraphDebugDotFlagsConditionalNodeParams = 32768
};

/** Flags of infinirtUserObjectCreate. */
enum infinirtUserObjectFlags {
  infinirtUserObjectNoDestructorSync = 1
};

/** Flags of infinirtGraphRetainUserObject. */
enum infinirtUserObjectRetainFlags {
  infinirtGraphUserObjectMove = 1
};

/* ----------------------------------------------------------------------------------------------------
 * Callbacks and plain types
 */

/** Names the value that a conditional node tests. */
typedef unsigned long long infinirtGraphConditionalHandle;
/** A host function in stream order. It may not call this API. */
typedef void (*infinirtHostFn_t)(void* userData);
/** A stream callback; status tells whether the work before it succeeded. */
typedef void (*infinirtStreamCallback_t)(infinirtStream_t stream, infinirtError_t status, void* userData);

/* ----------------------------------------------------------------------------------------------------
 * Structs
 */

/** A pointer to rows that lie pitch bytes apart. */
struct infinirtPitchedPtr {
  void* ptr;
  size_t pitch;
  size_t xsize;
  size_t ysize;
};

/** Size of a 3D region; width in bytes for linear memory. */
struct infinirtExtent {
  size_t width;
  size_t height;
  size_t depth;
};

/** Position in a 3D region; x in bytes for linear memory. */
struct infinirtPos {
  size_t x;
  size_t y;
  size_t z;
};

/** A 3D copy. Exactly one of array and pointer is set on each side. */
struct infinirtMemcpy3DParms {
  infinirtArray_t srcArray;
  struct infinirtPos srcPos;
  struct infinirtPitchedPtr srcPtr;
  infinirtArray_t dstArray;
  struct infinirtPos dstPos;
  struct infinirtPitchedPtr dstPtr;
  struct infinirtExtent extent;
  enum infinirtMemcpyKind kind;
};

/** A 3D copy between two devices. */
struct infinirtMemcpy3DPeerParms {
  infinirtArray_t srcArray;
  struct infinirtPos srcPos;
  struct infinirtPitchedPtr srcPtr;
  int srcDevice;
  infinirtArray_t dstArray;
  struct infinirtPos dstPos;
  struct infinirtPitchedPtr dstPtr;
  int dstDevice;
  struct infinirtExtent extent;
};

/** What infinirtPointerGetAttributes found out. */
struct infinirtPointerAttributes {
  enum infinirtMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

/** A place where memory can live: a device by its number, or the host. */
struct infinirtMemLocation {
  enum infinirtMemLocationType type;
  int id;
};

/** Access that one location has to the memory of a pool. */
struct infinirtMemAccessDesc {
  struct infinirtMemLocation location;
  enum infinirtMemAccessFlags flags;
};

/** Properties of a memory pool. Clear it before filling it in. */
struct infinirtMemPoolProps {
  enum infinirtMemAllocationType allocType;
  enum infinirtMemAllocationHandleType handleTypes;
  struct infinirtMemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

/** Opaque data that carries one pool allocation to another process. */
struct infinirtMemPoolPtrExportData {
  unsigned char reserved[64];
};

/** Attributes shared by a run of copies of a batch. */
struct infinirtMemcpyAttributes {
  enum infinirtMemcpySrcAccessOrder srcAccessOrder;
  struct infinirtMemLocation srcLocHint;
  struct infinirtMemLocation dstLocHint;
  unsigned int flags;
};

/** Position in elements of an array. */
struct infinirtOffset3D {
  size_t x;
  size_t y;
  size_t z;
};

/** One side of a batched 3D copy. */
struct infinirtMemcpy3DOperand {
  enum infinirtMemcpy3DOperandType type;
  union {
    struct {
      void* ptr;
      size_t rowLength;
      size_t layerHeight;
      struct infinirtMemLocation locHint;
    } ptr;
    struct {
      infinirtArray_t array;
      struct infinirtOffset3D offset;
    } array;
  } op;
};

/** One copy of a 3D batch. */
struct infinirtMemcpy3DBatchOp {
  struct infinirtMemcpy3DOperand src;
  struct infinirtMemcpy3DOperand dst;
  struct infinirtExtent extent;
  enum infinirtMemcpySrcAccessOrder srcAccessOrder;
  unsigned int flags;
};

/** Opaque data that carries an event to another process. */
typedef struct infinirtIpcEventHandle_st {
  char reserved[64];
} infinirtIpcEventHandle_t;

/** Opaque data that carries an allocation to another process. */
typedef struct infinirtIpcMemHandle_st {
  char reserved[64];
} infinirtIpcMemHandle_t;

/** Sixteen bytes that identify a device. */
typedef struct infinirtUUID_st {
  char bytes[16];
} infinirtUUID_t;

/** Properties of a device, in the layout of CUDA 12.9. What a device does not have is 0. */
struct infinirtDeviceProp {
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
};

/** A range of addresses with a cache hint. */
struct infinirtAccessPolicyWindow {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;
  enum infinirtAccessProperty hitProp;
  enum infinirtAccessProperty missProp;
};

/** What infinirtFuncGetAttributes found out about a kernel. */
struct infinirtFuncAttributes {
  size_t sharedSizeBytes;
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  int cacheModeCA;
  int maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
  int clusterDimMustBeSet;
  int requiredClusterWidth;
  int requiredClusterHeight;
  int requiredClusterDepth;
  int clusterSchedulingPolicyPreference;
  int nonPortableClusterSizeAllowed;
  int reserved[16];
};

/** Maps the logical memory synchronisation domains to physical ones. */
typedef struct infinirtLaunchMemSyncDomainMap_st {
  unsigned char default_;
  unsigned char remote;
} infinirtLaunchMemSyncDomainMap;

/** Value of a launch attribute; the identifier says which member counts. */
typedef union infinirtLaunchAttributeValue {
  char pad[64];
  struct infinirtAccessPolicyWindow accessPolicyWindow;
  int cooperative;
  enum infinirtSynchronizationPolicy syncPolicy;
  struct {
    unsigned int x;
    unsigned int y;
    unsigned int z;
  } clusterDim;
  enum infinirtClusterSchedulingPolicy clusterSchedulingPolicyPreference;
  int programmaticStreamSerializationAllowed;
  struct {
    infinirtEvent_t event;
    int flags;
    int triggerAtBlockStart;
  } programmaticEvent;
  int priority;
  infinirtLaunchMemSyncDomainMap memSyncDomainMap;
  infinirtLaunchMemSyncDomain memSyncDomain;
  struct {
    unsigned int x;
    unsigned int y;
    unsigned int z;
  } preferredClusterDim;
  struct {
    infinirtEvent_t event;
    int flags;
  } launchCompletionEvent;
  struct {
    int deviceUpdatable;
    infinirtGraphDeviceNode_t devNode;
  } deviceUpdatableKernelNode;
  unsigned int sharedMemCarveout;
} infinirtLaunchAttributeValue;

/** One launch attribute. */
typedef struct infinirtLaunchAttribute_st {
  infinirtLaunchAttributeID id;
  char pad[4];
  infinirtLaunchAttributeValue val;
} infinirtLaunchAttribute;

/** Everything about a launch except the kernel and its arguments. */
typedef struct infinirtLaunchConfig_st {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  infinirtStream_t stream;
  infinirtLaunchAttribute* attrs;
  unsigned int numAttrs;
} infinirtLaunchConfig_t;

/** Value of infinirtLibraryHostUniversalFunctionAndDataTable. */
struct infinirtlibraryHostUniversalFunctionAndDataTable {
  void* functionTable;
  size_t functionWindowSize;
  void* dataTable;
  size_t dataWindowSize;
};

/** Parameters of a kernel node. */
struct infinirtKernelNodeParams {
  void* func;
  dim3 gridDim;
  dim3 blockDim;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};

/** Parameters of a kernel node, as infinirtGraphNodeParams holds them. */
struct infinirtKernelNodeParamsV2 {
  void* func;
  dim3 gridDim;
  dim3 blockDim;
  unsigned int sharedMemBytes;
  void** kernelParams;
  void** extra;
};

/** Parameters of a copy node; flags and reserved must be 0. */
struct infinirtMemcpyNodeParams {
  int flags;
  int reserved[3];
  struct infinirtMemcpy3DParms copyParams;
};

/** Parameters of a set node: height rows of width elements of elementSize (1, 2 or 4) bytes. */
struct infinirtMemsetParams {
  void* dst;
  size_t pitch;
  unsigned int value;
  unsigned int elementSize;
  size_t width;
  size_t height;
};

/** Parameters of a set node, as infinirtGraphNodeParams holds them. */
struct infinirtMemsetParamsV2 {
  void* dst;
  size_t pitch;
  unsigned int value;
  unsigned int elementSize;
  size_t width;
  size_t height;
};

/** Parameters of a host function node. */
struct infinirtHostNodeParams {
  infinirtHostFn_t fn;
  void* userData;
};

/** Parameters of a host function node, as infinirtGraphNodeParams holds them. */
struct infinirtHostNodeParamsV2 {
  infinirtHostFn_t fn;
  void* userData;
};

/** Parameters of an allocation node; dptr is written when the node is added. */
struct infinirtMemAllocNodeParams {
  struct infinirtMemPoolProps poolProps;
  const struct infinirtMemAccessDesc* accessDescs;
  size_t accessDescCount;
  size_t bytesize;
  void* dptr;
};

/** Parameters of an allocation node, as infinirtGraphNodeParams holds them. */
struct infinirtMemAllocNodeParamsV2 {
  struct infinirtMemPoolProps poolProps;
  const struct infinirtMemAccessDesc* accessDescs;
  size_t accessDescCount;
  size_t bytesize;
  void* dptr;
};

/** Parameters of a free node. */
struct infinirtMemFreeNodeParams {
  void* dptr;
};

/** Parameters of a child graph node. */
struct infinirtChildGraphNodeParams {
  infinirtGraph_t graph;
  enum infinirtGraphChildGraphNodeOwnership ownership;
};

/** Parameters of an event record node. */
struct infinirtEventRecordNodeParams {
  infinirtEvent_t event;
};

/** Parameters of an event wait node. */
struct infinirtEventWaitNodeParams {
  infinirtEvent_t event;
};

/** Parameters of signalling one external semaphore. */
struct infinirtExternalSemaphoreSignalParams {
  struct {
    struct {
      unsigned long long value;
    } fence;
    union {
      void* fence;
      unsigned long long reserved;
    } nvSciSync;
    struct {
      unsigned long long key;
    } keyedMutex;
    unsigned int reserved[12];
  } params;
  unsigned int flags;
  unsigned int reserved[16];
};

/** Parameters of waiting for one external semaphore. */
struct infinirtExternalSemaphoreWaitParams {
  struct {
    struct {
      unsigned long long value;
    } fence;
    union {
      void* fence;
      unsigned long long reserved;
    } nvSciSync;
    struct {
      unsigned long long key;
      unsigned int timeoutMs;
    } keyedMutex;
    unsigned int reserved[10];
  } params;
  unsigned int flags;
  unsigned int reserved[16];
};

/** Parameters of a node that signals external semaphores. */
struct infinirtExternalSemaphoreSignalNodeParamsV2 {
  infinirtExternalSemaphore_t* extSemArray;
  const struct infinirtExternalSemaphoreSignalParams* paramsArray;
  unsigned int numExtSems;
};

/** Parameters of a node that waits for external semaphores. */
struct infinirtExternalSemaphoreWaitNodeParamsV2 {
  infinirtExternalSemaphore_t* extSemArray;
  const struct infinirtExternalSemaphoreWaitParams* paramsArray;
  unsigned int numExtSems;
};

/** Parameters of a conditional node. */
struct infinirtConditionalNodeParams {
  infinirtGraphConditionalHandle handle;
  enum infinirtGraphConditionalNodeType type;
  unsigned int size;
  infinirtGraph_t* phGraph_out;
};

/** Parameters of a node of any type. Clear it, set type, fill in the matching member. */
struct infinirtGraphNodeParams {
  enum infinirtGraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    struct infinirtKernelNodeParamsV2 kernel;
    struct infinirtMemcpyNodeParams memcpy;
    struct infinirtMemsetParamsV2 memset;
    struct infinirtHostNodeParamsV2 host;
    struct infinirtChildGraphNodeParams graph;
    struct infinirtEventWaitNodeParams eventWait;
    struct infinirtEventRecordNodeParams eventRecord;
    struct infinirtExternalSemaphoreSignalNodeParamsV2 extSemSignal;
    struct infinirtExternalSemaphoreWaitNodeParamsV2 extSemWait;
    struct infinirtMemAllocNodeParamsV2 alloc;
    struct infinirtMemFreeNodeParams free;
    struct infinirtConditionalNodeParams conditional;
  };
  long long reserved2;
};

/** Annotation of an edge; all zero is a plain full dependency. */
typedef struct infinirtGraphEdgeData_st {
  unsigned char from_port;
  unsigned char to_port;
  unsigned char type;
  unsigned char reserved[5];
} infinirtGraphEdgeData;

/** Arguments and results of infinirtGraphInstantiateWithParams. */
typedef struct infinirtGraphInstantiateParams_st {
  unsigned long long flags;
  infinirtStream_t uploadStream;
  infinirtGraphNode_t errNode_out;
  infinirtGraphInstantiateResult result_out;
} infinirtGraphInstantiateParams;

/** Result of infinirtGraphExecUpdate. */
typedef struct infinirtGraphExecUpdateResultInfo_st {
  enum infinirtGraphExecUpdateResult result;
  infinirtGraphNode_t errorNode;
  infinirtGraphNode_t errorFromNode;
} infinirtGraphExecUpdateResultInfo;

/* ----------------------------------------------------------------------------------------------------
 * Devices: which there are, which is current, what they can do.
 */

/**
 * Writes the number of devices of the calling thread's device type. Returns infinirtErrorNoDevice with a
 * count of 0 where there is none. Does not initialise a device.
 */
INFINIRT_API infinirtError_t infinirtGetDeviceCount(int* count);

/**
 * Makes `device` the current device of the calling thread. Does not synchronise, and affects no other thread.
 * infinirtErrorInvalidDevice if the number is out of range.
 */
INFINIRT_API infinirtError_t infinirtSetDevice(int device);

/** Writes the current device of the calling thread. */
INFINIRT_API infinirtError_t infinirtGetDevice(int* device);

/**
 * Blocks the host until all work submitted to the current device has finished. Returns the error of that work
 * if it failed. Not allowed during a capture.
 */
INFINIRT_API infinirtError_t infinirtDeviceSynchronize(void);

/**
 * Destroys the streams, events and allocations of the current device, stream-ordered memory excepted; their
 * handles and pointers are invalid afterwards. Waits for pending work. The next call initialises the device
 * again.
 */
INFINIRT_API infinirtError_t infinirtDeviceReset(void);

/**
 * Fills `prop` with the properties of `device`, in the layout of CUDA 12.9; prefer infinirtDeviceGetAttribute
 * for single values.
 */
INFINIRT_API infinirtError_t infinirtGetDeviceProperties(struct infinirtDeviceProp* prop, int device);

/** The name under which CUDA 12 exports infinirtGetDeviceProperties; same function. */
INFINIRT_API infinirtError_t infinirtGetDeviceProperties_v2(struct infinirtDeviceProp* prop, int device);

/**
 * Writes one attribute of `device`. infinirtErrorInvalidValue for an unknown attribute; 0 for one that the
 * device does not have.
 */
INFINIRT_API infinirtError_t infinirtDeviceGetAttribute(int* value, enum infinirtDeviceAttr attr, int device);

/**
 * Finds the device with the PCI address "domain:bus:device.function". infinirtErrorInvalidValue if there is
 * none.
 */
INFINIRT_API infinirtError_t infinirtDeviceGetByPCIBusId(int* device, const char* pciBusId);

/**
 * Writes the PCI address of `device` as text, zero-terminated; `len` is the size of the buffer, 13 bytes are
 * enough.
 */
INFINIRT_API infinirtError_t infinirtDeviceGetPCIBusId(char* pciBusId, int len, int device);

/**
 * Writes the range of stream priorities of the current device; a lower number is a higher priority. Either
 * pointer may be null. Both are 0 where there are no priorities.
 */
INFINIRT_API infinirtError_t infinirtDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority);

/** Writes 1 if `device` can reach the memory of `peerDevice` directly, else 0. */
INFINIRT_API infinirtError_t infinirtDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice);

/**
 * Lets the current device reach the memory of `peerDevice`; one direction only. `flags` must be 0.
 * infinirtErrorPeerAccessAlreadyEnabled if it was enabled before.
 */
INFINIRT_API infinirtError_t infinirtDeviceEnablePeerAccess(int peerDevice, unsigned int flags);

/** Takes back infinirtDeviceEnablePeerAccess. infinirtErrorPeerAccessNotEnabled if it was not enabled. */
INFINIRT_API infinirtError_t infinirtDeviceDisablePeerAccess(int peerDevice);

/** Writes one property of the link between two different devices. */
INFINIRT_API infinirtError_t infinirtDeviceGetP2PAttribute(
    int* value, enum infinirtDeviceP2PAttr attr, int srcDevice, int dstDevice);

/** Writes the default memory pool of `device`. The pool belongs to the device and must not be destroyed. */
INFINIRT_API infinirtError_t infinirtDeviceGetDefaultMemPool(infinirtMemPool_t* memPool, int device);

/** Writes the pool that infinirtMallocAsync uses on `device`: the one set last, or the default pool. */
INFINIRT_API infinirtError_t infinirtDeviceGetMemPool(infinirtMemPool_t* memPool, int device);

/**
 * Makes `memPool`, which must live on `device`, the pool that infinirtMallocAsync uses there. The caller
 * keeps its ownership.
 */
INFINIRT_API infinirtError_t infinirtDeviceSetMemPool(int device, infinirtMemPool_t memPool);

/** Writes a limit of the current device. infinirtErrorUnsupportedLimit if the device does not have it. */
INFINIRT_API infinirtError_t infinirtDeviceGetLimit(size_t* pValue, enum infinirtLimit limit);

/**
 * Asks for a limit of the current device; the device may round it. infinirtErrorUnsupportedLimit if the
 * device does not have it.
 */
INFINIRT_API infinirtError_t infinirtDeviceSetLimit(enum infinirtLimit limit, size_t value);

/** Writes the preferred split between cache and shared memory of the current device. */
INFINIRT_API infinirtError_t infinirtDeviceGetCacheConfig(enum infinirtFuncCache* pCacheConfig);

/** Sets the preferred split between cache and shared memory of the current device; a hint. */
INFINIRT_API infinirtError_t infinirtDeviceSetCacheConfig(enum infinirtFuncCache cacheConfig);

/** Returns all lines of the L2 cache that were marked persisting to normal. */
INFINIRT_API infinirtError_t infinirtCtxResetPersistingL2Cache(void);

/**
 * Writes the newest runtime version that the driver supports (1000 × major + 10 × minor), or 0 if there is no
 * driver.
 */
INFINIRT_API infinirtError_t infinirtDriverGetVersion(int* driverVersion);

/** Writes the version of the runtime that serves the current device type (1000 × major + 10 × minor). */
INFINIRT_API infinirtError_t infinirtRuntimeGetVersion(int* runtimeVersion);

/**
 * Sets how host threads wait for the current device, and related flags (infinirtDeviceSchedule...,
 * infinirtDeviceMapHost).
 */
INFINIRT_API infinirtError_t infinirtSetDeviceFlags(unsigned int flags);

/** Writes the flags of the current device. */
INFINIRT_API infinirtError_t infinirtGetDeviceFlags(unsigned int* flags);

/** Writes the device that fits the wished properties best. */
INFINIRT_API infinirtError_t infinirtChooseDevice(int* device, const struct infinirtDeviceProp* prop);

/** Sets the devices, in order of preference, from which one is taken when the thread has not chosen one. */
INFINIRT_API infinirtError_t infinirtSetValidDevices(int* device_arr, int len);

/**
 * Initialises `device` without making it current. `deviceFlags` counts only if `flags` has
 * infinirtInitDeviceFlagsAreValid.
 */
INFINIRT_API infinirtError_t infinirtInitDevice(int device, unsigned int deviceFlags, unsigned int flags);

/**
 * Writes the address of a function of the driver below the current device type. infinirtErrorNotSupported
 * where there is no such driver.
 */
INFINIRT_API infinirtError_t infinirtGetDriverEntryPoint(
    const char* symbol, void** funcPtr, unsigned long long flags,
    enum infinirtDriverEntryPointQueryResult* driverStatus INFINIRT_DEFAULT(NULL));

/** As infinirtGetDriverEntryPoint, for the form that the function had in driver version `infinirtVersion`. */
INFINIRT_API infinirtError_t infinirtGetDriverEntryPointByVersion(
    const char* symbol, void** funcPtr, unsigned int infinirtVersion, unsigned long long flags,
    enum infinirtDriverEntryPointQueryResult* driverStatus INFINIRT_DEFAULT(NULL));

/** Returns memory that graphs of `device` have reserved but do not use. */
INFINIRT_API infinirtError_t infinirtDeviceGraphMemTrim(int device);

/** Writes a counter (uint64_t) of the memory that graphs have allocated on `device`. */
INFINIRT_API infinirtError_t infinirtDeviceGetGraphMemAttribute(
    int device, enum infinirtGraphMemAttributeType attr, void* value);

/** Resets one of the high-water marks of graph memory; the value must be 0. */
INFINIRT_API infinirtError_t infinirtDeviceSetGraphMemAttribute(
    int device, enum infinirtGraphMemAttributeType attr, void* value);

/* ----------------------------------------------------------------------------------------------------
 * Errors: the last error of the calling thread, and names for codes.
 */

/** Returns the last error of the calling thread and resets it to success. A sticky error stays. */
INFINIRT_API infinirtError_t infinirtGetLastError(void);

/** Returns the last error of the calling thread without resetting it. */
INFINIRT_API infinirtError_t infinirtPeekAtLastError(void);

/** Returns the enumerator's name as static text; "unrecognized error code" for an unknown code. */
INFINIRT_API const char* infinirtGetErrorName(infinirtError_t error);

/** Returns a short description as static text; "unrecognized error code" for an unknown code. */
INFINIRT_API const char* infinirtGetErrorString(infinirtError_t error);

/* ----------------------------------------------------------------------------------------------------
 * Streams: ordered queues of work, and their capture into graphs.
 */

/**
 * Creates a stream on the current device that synchronises with the legacy default stream. The caller
 * destroys it.
 */
INFINIRT_API infinirtError_t infinirtStreamCreate(infinirtStream_t* pStream);

/**
 * Creates a stream; with infinirtStreamNonBlocking it does not synchronise with the legacy default stream.
 */
INFINIRT_API infinirtError_t infinirtStreamCreateWithFlags(infinirtStream_t* pStream, unsigned int flags);

/** Creates a stream with a priority; a lower number is a higher priority, and one out of range is clamped. */
INFINIRT_API infinirtError_t infinirtStreamCreateWithPriority(
    infinirtStream_t* pStream, unsigned int flags, int priority);

/**
 * Destroys a stream. Returns at once even if work is pending; that work still completes. The handle is
 * invalid afterwards; the predefined streams cannot be destroyed.
 */
INFINIRT_API infinirtError_t infinirtStreamDestroy(infinirtStream_t stream);

/**
 * Returns infinirtSuccess if all work of the stream has finished, infinirtErrorNotReady if not. The latter
 * does not become the last error.
 */
INFINIRT_API infinirtError_t infinirtStreamQuery(infinirtStream_t stream);

/**
 * Blocks the host until all work of the stream has finished. Returns the error of that work if it failed. Not
 * allowed on a capturing stream.
 */
INFINIRT_API infinirtError_t infinirtStreamSynchronize(infinirtStream_t stream);

/**
 * Makes later work of the stream wait for the event's most recent record; recording it again later does not
 * matter. Does not block the host, except where a GPU waits for a copy that the CPU device makes to or from a
 * GPU. The event may belong to another device; one that was never recorded is no wait.
 */
INFINIRT_API infinirtError_t infinirtStreamWaitEvent(
    infinirtStream_t stream, infinirtEvent_t event, unsigned int flags INFINIRT_DEFAULT(0));

/**
 * Calls `callback` on a host thread after the work enqueued so far, with the error state of the stream; later
 * work waits for it. `flags` must be 0. Cannot be captured; infinirtLaunchHostFunc can.
 */
INFINIRT_API infinirtError_t infinirtStreamAddCallback(
    infinirtStream_t stream, infinirtStreamCallback_t callback, void* userData, unsigned int flags);

/** Writes the flags with which the stream was created. */
INFINIRT_API infinirtError_t infinirtStreamGetFlags(infinirtStream_t hStream, unsigned int* flags);

/** Writes the priority of the stream, after clamping. */
INFINIRT_API infinirtError_t infinirtStreamGetPriority(infinirtStream_t hStream, int* priority);

/** Writes a number that is unique to this stream for the life of the process, unlike its handle. */
INFINIRT_API infinirtError_t infinirtStreamGetId(infinirtStream_t hStream, unsigned long long* streamId);

/** Writes the device of the stream. */
INFINIRT_API infinirtError_t infinirtStreamGetDevice(infinirtStream_t hStream, int* device);

/**
 * Turns later calls on the stream into nodes of a graph instead of running them. Not possible on the legacy
 * default stream. infinirtErrorIllegalState if the stream is already capturing.
 */
INFINIRT_API infinirtError_t infinirtStreamBeginCapture(
    infinirtStream_t stream, enum infinirtStreamCaptureMode mode);

/**
 * As infinirtStreamBeginCapture, but the nodes are added to `graph`, the first ones after the given
 * dependencies. `graph` must outlive the capture and stays the caller's.
 */
INFINIRT_API infinirtError_t infinirtStreamBeginCaptureToGraph(
    infinirtStream_t stream, infinirtGraph_t graph, const infinirtGraphNode_t* dependencies,
    const infinirtGraphEdgeData* dependencyData, size_t numDependencies, enum infinirtStreamCaptureMode mode);

/**
 * Ends the capture that began on this stream and writes the graph, which the caller destroys. If the capture
 * was invalidated, the error says why and the graph is null; the stream is usable again either way.
 */
INFINIRT_API infinirtError_t infinirtStreamEndCapture(infinirtStream_t stream, infinirtGraph_t* pGraph);

/** Writes whether the stream is capturing, is not, or has a capture that was invalidated. */
INFINIRT_API infinirtError_t infinirtStreamIsCapturing(
    infinirtStream_t stream, enum infinirtStreamCaptureStatus* pCaptureStatus);

/**
 * Writes the state of the stream's capture and, if it is active, its number, graph and the nodes that the
 * next one will depend on. All outputs but the state may be null; the node array is valid until the next call
 * on the capture.
 */
INFINIRT_API infinirtError_t infinirtStreamGetCaptureInfo(
    infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
    unsigned long long* id_out INFINIRT_DEFAULT(0), infinirtGraph_t* graph_out INFINIRT_DEFAULT(0),
    const infinirtGraphNode_t** dependencies_out INFINIRT_DEFAULT(0),
    size_t* numDependencies_out INFINIRT_DEFAULT(0));

/** The name under which CUDA 12 exports infinirtStreamGetCaptureInfo; same function. */
INFINIRT_API infinirtError_t infinirtStreamGetCaptureInfo_v2(
    infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
    unsigned long long* id_out INFINIRT_DEFAULT(0), infinirtGraph_t* graph_out INFINIRT_DEFAULT(0),
    const infinirtGraphNode_t** dependencies_out INFINIRT_DEFAULT(0),
    size_t* numDependencies_out INFINIRT_DEFAULT(0));

/**
 * As infinirtStreamGetCaptureInfo, with the annotations of the edges. infinirtErrorLossyQuery if there are
 * annotations and `edgeData_out` is null.
 */
INFINIRT_API infinirtError_t infinirtStreamGetCaptureInfo_v3(
    infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
    unsigned long long* id_out INFINIRT_DEFAULT(0), infinirtGraph_t* graph_out INFINIRT_DEFAULT(0),
    const infinirtGraphNode_t** dependencies_out INFINIRT_DEFAULT(0),
    const infinirtGraphEdgeData** edgeData_out INFINIRT_DEFAULT(0),
    size_t* numDependencies_out INFINIRT_DEFAULT(0));

/** Adds to or replaces, as `flags` says, the nodes that the next captured node will depend on. */
INFINIRT_API infinirtError_t infinirtStreamUpdateCaptureDependencies(
    infinirtStream_t stream, infinirtGraphNode_t* dependencies, size_t numDependencies,
    unsigned int flags INFINIRT_DEFAULT(0));

/** As infinirtStreamUpdateCaptureDependencies, with annotations of the edges. */
INFINIRT_API infinirtError_t infinirtStreamUpdateCaptureDependencies_v2(
    infinirtStream_t stream, infinirtGraphNode_t* dependencies, const infinirtGraphEdgeData* dependencyData,
    size_t numDependencies, unsigned int flags INFINIRT_DEFAULT(0));

/**
 * Swaps the calling thread's capture interaction mode with `*mode`. Used in pairs around calls that are known
 * to be safe during a capture.
 */
INFINIRT_API infinirtError_t infinirtThreadExchangeStreamCaptureMode(enum infinirtStreamCaptureMode* mode);

/**
 * Changes, in stream order, which streams may use a range of managed memory. `length` must be 0 or the whole
 * allocation.
 */
INFINIRT_API infinirtError_t infinirtStreamAttachMemAsync(
    infinirtStream_t stream, void* devPtr, size_t length INFINIRT_DEFAULT(0),
    unsigned int flags INFINIRT_DEFAULT(infinirtMemAttachSingle));

/** Writes the value of one attribute of the stream. */
INFINIRT_API infinirtError_t infinirtStreamGetAttribute(
    infinirtStream_t hStream, infinirtStreamAttrID attr, infinirtStreamAttrValue* value_out);

/** Sets one attribute of the stream. */
INFINIRT_API infinirtError_t infinirtStreamSetAttribute(
    infinirtStream_t hStream, infinirtStreamAttrID attr, const infinirtStreamAttrValue* value);

/** Copies all attributes from `src` to `dst`; both must be on the same device. */
INFINIRT_API infinirtError_t infinirtStreamCopyAttributes(infinirtStream_t dst, infinirtStream_t src);

/* ----------------------------------------------------------------------------------------------------
 * Events: points in streams that can be waited for and timed.
 */

/** Creates an event with timing on the current device. The caller destroys it. */
INFINIRT_API infinirtError_t infinirtEventCreate(infinirtEvent_t* event);

/**
 * Creates an event. infinirtEventDisableTiming makes it cheaper; infinirtEventInterprocess needs that flag
 * too.
 */
INFINIRT_API infinirtError_t infinirtEventCreateWithFlags(infinirtEvent_t* event, unsigned int flags);

/** Destroys an event. Returns at once even if a record is pending; waits already issued still hold. */
INFINIRT_API infinirtError_t infinirtEventDestroy(infinirtEvent_t event);

/**
 * Returns infinirtSuccess if the work before the last record has finished or the event was never recorded,
 * infinirtErrorNotReady if not. The latter does not become the last error.
 */
INFINIRT_API infinirtError_t infinirtEventQuery(infinirtEvent_t event);

/**
 * Records the stream's work so far in the event, replacing what was recorded before. Does not block. Event
 * and stream must be on the same device.
 */
INFINIRT_API infinirtError_t infinirtEventRecord(
    infinirtEvent_t event, infinirtStream_t stream INFINIRT_DEFAULT(0));

/**
 * As infinirtEventRecord; with infinirtEventRecordExternal a capture gets an event record node instead of a
 * dependency.
 */
INFINIRT_API infinirtError_t infinirtEventRecordWithFlags(
    infinirtEvent_t event, infinirtStream_t stream INFINIRT_DEFAULT(0),
    unsigned int flags INFINIRT_DEFAULT(0));

/** Blocks the host until the work before the last record has finished; returns at once if there was none. */
INFINIRT_API infinirtError_t infinirtEventSynchronize(infinirtEvent_t event);

/**
 * Writes the milliseconds between two recorded and finished events. infinirtErrorNotReady if one has not
 * finished, infinirtErrorInvalidResourceHandle if one was not recorded or has no timing.
 */
INFINIRT_API infinirtError_t infinirtEventElapsedTime(float* ms, infinirtEvent_t start, infinirtEvent_t end);

/** As infinirtEventElapsedTime; does not report errors of unrelated earlier work. */
INFINIRT_API infinirtError_t infinirtEventElapsedTime_v2(
    float* ms, infinirtEvent_t start, infinirtEvent_t end);

/* ----------------------------------------------------------------------------------------------------
 * Memory: allocation, host memory, copies and sets.
 */

/**
 * Allocates memory on the current device, aligned for any type. Size 0 gives a null pointer.
 * infinirtErrorMemoryAllocation if there is not enough. May synchronise.
 */
INFINIRT_API infinirtError_t infinirtMalloc(void** devPtr, size_t size);

/** Allocates page-locked host memory that the device can reach. Free it with infinirtFreeHost. */
INFINIRT_API infinirtError_t infinirtMallocHost(void** ptr, size_t size);

/**
 * Allocates memory that host and device both reach under one address; `flags` is infinirtMemAttachGlobal or
 * infinirtMemAttachHost. Free it with infinirtFree.
 */
INFINIRT_API infinirtError_t infinirtMallocManaged(
    void** devPtr, size_t size, unsigned int flags INFINIRT_DEFAULT(infinirtMemAttachGlobal));

/**
 * Allocates rows of `width` bytes whose starts are aligned for fast access, and writes the distance between
 * rows.
 */
INFINIRT_API infinirtError_t infinirtMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height);

/** As infinirtMallocPitch for a 3D region. */
INFINIRT_API infinirtError_t infinirtMalloc3D(
    struct infinirtPitchedPtr* pitchedDevPtr, struct infinirtExtent extent);

/** Allocates page-locked host memory with flags (infinirtHostAlloc...). Free it with infinirtFreeHost. */
INFINIRT_API infinirtError_t infinirtHostAlloc(void** pHost, size_t size, unsigned int flags);

/**
 * Page-locks a range of host memory that the caller owns. infinirtErrorHostMemoryAlreadyRegistered if it
 * overlaps one that is registered. Unregister it before freeing it.
 */
INFINIRT_API infinirtError_t infinirtHostRegister(void* ptr, size_t size, unsigned int flags);

/** Takes back infinirtHostRegister; `ptr` is the address that was registered. */
INFINIRT_API infinirtError_t infinirtHostUnregister(void* ptr);

/** Writes the address under which the device reaches page-locked host memory. `flags` must be 0. */
INFINIRT_API infinirtError_t infinirtHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags);

/** Writes the flags with which page-locked host memory was made. */
INFINIRT_API infinirtError_t infinirtHostGetFlags(unsigned int* pFlags, void* pHost);

/**
 * Frees device memory; null is no operation. May wait for the device, except for stream-ordered memory.
 * infinirtErrorInvalidValue if the pointer is not the start of a live allocation.
 */
INFINIRT_API infinirtError_t infinirtFree(void* devPtr);

/** Frees memory from infinirtMallocHost or infinirtHostAlloc; null is no operation. */
INFINIRT_API infinirtError_t infinirtFreeHost(void* ptr);

/** Writes the free and the total memory of the current device, in bytes. */
INFINIRT_API infinirtError_t infinirtMemGetInfo(size_t* free, size_t* total);

/**
 * Copies `count` bytes, ordered as work of the default stream. Host memory may be reused when it returns; a
 * copy within a device may still be running. infinirtErrorInvalidValue if a range leaves its allocation.
 */
INFINIRT_API infinirtError_t infinirtMemcpy(
    void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind);

/**
 * Copies in stream order. Returns at once if the host memory is page-locked; with pageable memory it may
 * wait.
 */
INFINIRT_API infinirtError_t infinirtMemcpyAsync(
    void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind,
    infinirtStream_t stream INFINIRT_DEFAULT(0));

/**
 * Copies `height` rows of `width` bytes between memory with different pitches; a pitch may not be smaller
 * than the width. Synchronises as infinirtMemcpy does.
 */
INFINIRT_API infinirtError_t infinirtMemcpy2D(
    void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
    enum infinirtMemcpyKind kind);

/** As infinirtMemcpy2D, in stream order. */
INFINIRT_API infinirtError_t infinirtMemcpy2DAsync(
    void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
    enum infinirtMemcpyKind kind, infinirtStream_t stream INFINIRT_DEFAULT(0));

/** Copies a 3D region. Synchronises as infinirtMemcpy does. */
INFINIRT_API infinirtError_t infinirtMemcpy3D(const struct infinirtMemcpy3DParms* p);

/** As infinirtMemcpy3D, in stream order. */
INFINIRT_API infinirtError_t infinirtMemcpy3DAsync(
    const struct infinirtMemcpy3DParms* p, infinirtStream_t stream INFINIRT_DEFAULT(0));

/**
 * Copies between the memory of two devices, directly if they can reach each other, else through the host.
 * Asynchronous to the host.
 */
INFINIRT_API infinirtError_t infinirtMemcpyPeer(
    void* dst, int dstDevice, const void* src, int srcDevice, size_t count);

/** As infinirtMemcpyPeer, in stream order. */
INFINIRT_API infinirtError_t infinirtMemcpyPeerAsync(
    void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
    infinirtStream_t stream INFINIRT_DEFAULT(0));

/** Copies a 3D region between two devices. */
INFINIRT_API infinirtError_t infinirtMemcpy3DPeer(const struct infinirtMemcpy3DPeerParms* p);

/** As infinirtMemcpy3DPeer, in stream order. */
INFINIRT_API infinirtError_t infinirtMemcpy3DPeerAsync(
    const struct infinirtMemcpy3DPeerParms* p, infinirtStream_t stream INFINIRT_DEFAULT(0));

/**
 * Makes many copies in stream order with one call; among themselves they have no order. `attrsIdxs` gives the
 * first copy that each attribute applies to and starts with 0. On failure `*failIdx` is the copy at fault, or
 * SIZE_MAX.
 */
INFINIRT_API infinirtError_t infinirtMemcpyBatchAsync(
    void** dsts, void** srcs, size_t* sizes, size_t count, struct infinirtMemcpyAttributes* attrs,
    size_t* attrsIdxs, size_t numAttrs, size_t* failIdx, infinirtStream_t stream);

/** As infinirtMemcpyBatchAsync for 3D copies. */
INFINIRT_API infinirtError_t infinirtMemcpy3DBatchAsync(
    size_t numOps, struct infinirtMemcpy3DBatchOp* opList, size_t* failIdx, unsigned long long flags,
    infinirtStream_t stream);

/**
 * Sets `count` bytes to the low byte of `value`. Asynchronous to the host, unless the target is page-locked
 * host memory.
 */
INFINIRT_API infinirtError_t infinirtMemset(void* devPtr, int value, size_t count);

/** As infinirtMemset, in stream order. */
INFINIRT_API infinirtError_t infinirtMemsetAsync(
    void* devPtr, int value, size_t count, infinirtStream_t stream INFINIRT_DEFAULT(0));

/** Sets `height` rows of `width` bytes that lie `pitch` bytes apart. */
INFINIRT_API infinirtError_t infinirtMemset2D(
    void* devPtr, size_t pitch, int value, size_t width, size_t height);

/** As infinirtMemset2D, in stream order. */
INFINIRT_API infinirtError_t infinirtMemset2DAsync(
    void* devPtr, size_t pitch, int value, size_t width, size_t height,
    infinirtStream_t stream INFINIRT_DEFAULT(0));

/** Sets a 3D region. */
INFINIRT_API infinirtError_t infinirtMemset3D(
    struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent);

/** As infinirtMemset3D, in stream order. */
INFINIRT_API infinirtError_t infinirtMemset3DAsync(
    struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent,
    infinirtStream_t stream INFINIRT_DEFAULT(0));

/**
 * Writes what kind of memory a pointer refers to and where it lives. A pointer unknown to the runtime is no
 * error: its type is infinirtMemoryTypeUnregistered.
 */
INFINIRT_API infinirtError_t infinirtPointerGetAttributes(
    struct infinirtPointerAttributes* attributes, const void* ptr);

/** Moves managed memory to a device, or with infinirtCpuDeviceId to the host, in stream order. */
INFINIRT_API infinirtError_t infinirtMemPrefetchAsync(
    const void* devPtr, size_t count, int dstDevice, infinirtStream_t stream INFINIRT_DEFAULT(0));

/** As infinirtMemPrefetchAsync, to a location, which may be a NUMA node of the host. `flags` must be 0. */
INFINIRT_API infinirtError_t infinirtMemPrefetchAsync_v2(
    const void* devPtr, size_t count, struct infinirtMemLocation location, unsigned int flags,
    infinirtStream_t stream INFINIRT_DEFAULT(0));

/** Tells how a range of managed memory will be used. Changes speed, never results. */
INFINIRT_API infinirtError_t infinirtMemAdvise(
    const void* devPtr, size_t count, enum infinirtMemoryAdvise advice, int device);

/** As infinirtMemAdvise, with a location, which may be a NUMA node of the host. */
INFINIRT_API infinirtError_t infinirtMemAdvise_v2(
    const void* devPtr, size_t count, enum infinirtMemoryAdvise advice, struct infinirtMemLocation location);

/** Writes one attribute of a range of managed memory. */
INFINIRT_API infinirtError_t infinirtMemRangeGetAttribute(
    void* data, size_t dataSize, enum infinirtMemRangeAttribute attribute, const void* devPtr, size_t count);

/** Writes several attributes of a range of managed memory. */
INFINIRT_API infinirtError_t infinirtMemRangeGetAttributes(
    void** data, size_t* dataSizes, enum infinirtMemRangeAttribute* attributes, size_t numAttributes,
    const void* devPtr, size_t count);

/* ----------------------------------------------------------------------------------------------------
 * Stream-ordered memory and its pools.
 */

/**
 * Allocates from the current pool of the stream's device, in stream order. The pointer is returned at once
 * and may be used by work that comes after this call in the stream.
 */
INFINIRT_API infinirtError_t infinirtMallocAsync(void** devPtr, size_t size, infinirtStream_t hStream);

/**
 * Frees memory in stream order; work enqueued later may not use it. Null is no operation. Does not
 * synchronise.
 */
INFINIRT_API infinirtError_t infinirtFreeAsync(void* devPtr, infinirtStream_t hStream);

/** As infinirtMallocAsync, from the given pool. */
INFINIRT_API infinirtError_t infinirtMallocFromPoolAsync(
    void** ptr, size_t size, infinirtMemPool_t memPool, infinirtStream_t stream);

/** Creates a pool on the location that `poolProps` names. The caller destroys it. */
INFINIRT_API infinirtError_t infinirtMemPoolCreate(
    infinirtMemPool_t* memPool, const struct infinirtMemPoolProps* poolProps);

/**
 * Destroys a pool. Returns at once; memory still in use is returned to the device when it is freed. If the
 * pool was current, the default pool becomes current. The default pool cannot be destroyed.
 */
INFINIRT_API infinirtError_t infinirtMemPoolDestroy(infinirtMemPool_t memPool);

/**
 * Returns unused memory to the device until the pool holds no more than `minBytesToKeep`, or nothing more can
 * be returned.
 */
INFINIRT_API infinirtError_t infinirtMemPoolTrimTo(infinirtMemPool_t memPool, size_t minBytesToKeep);

/**
 * Sets an attribute of a pool; high-water marks can only be set to 0. `value` points to an int or a uint64_t,
 * see infinirtMemPoolAttr.
 */
INFINIRT_API infinirtError_t infinirtMemPoolSetAttribute(
    infinirtMemPool_t memPool, enum infinirtMemPoolAttr attr, void* value);

/** Writes an attribute of a pool; `value` points to an int or a uint64_t, see infinirtMemPoolAttr. */
INFINIRT_API infinirtError_t infinirtMemPoolGetAttribute(
    infinirtMemPool_t memPool, enum infinirtMemPoolAttr attr, void* value);

/** Sets which locations can reach the memory of a pool. The pool's own device cannot lose its access. */
INFINIRT_API infinirtError_t infinirtMemPoolSetAccess(
    infinirtMemPool_t memPool, const struct infinirtMemAccessDesc* descList, size_t count);

/** Writes the access that a location has to the memory of a pool. */
INFINIRT_API infinirtError_t infinirtMemPoolGetAccess(
    enum infinirtMemAccessFlags* flags, infinirtMemPool_t memPool, struct infinirtMemLocation* location);

/**
 * Writes an operating system handle for a pool that was created with that handle type. `flags` must be 0. The
 * caller closes the handle.
 */
INFINIRT_API infinirtError_t infinirtMemPoolExportToShareableHandle(
    void* shareableHandle, infinirtMemPool_t memPool, enum infinirtMemAllocationHandleType handleType,
    unsigned int flags);

/**
 * Makes a pool out of a handle that another process exported. Memory cannot be allocated from it; its
 * pointers are imported.
 */
INFINIRT_API infinirtError_t infinirtMemPoolImportFromShareableHandle(
    infinirtMemPool_t* memPool, void* shareableHandle, enum infinirtMemAllocationHandleType handleType,
    unsigned int flags);

/** Writes the data that another process needs to import one allocation of a shareable pool. */
INFINIRT_API infinirtError_t infinirtMemPoolExportPointer(
    struct infinirtMemPoolPtrExportData* exportData, void* ptr);

/** Writes a pointer to an allocation that another process exported. Free it here before it is freed there. */
INFINIRT_API infinirtError_t infinirtMemPoolImportPointer(
    void** ptr, infinirtMemPool_t memPool, struct infinirtMemPoolPtrExportData* exportData);

/* ----------------------------------------------------------------------------------------------------
 * Kernels, host functions and libraries of kernels.
 */

/**
 * Runs `fn` on a host thread in stream order; later work waits for it. It may not call this API, and is not
 * run after an error of the device. Can be captured.
 */
INFINIRT_API infinirtError_t infinirtLaunchHostFunc(
    infinirtStream_t stream, infinirtHostFn_t fn, void* userData);

/**
 * Launches a kernel in stream order. `args` holds one pointer per kernel argument; the arguments are copied
 * before the call returns. The stream must belong to the current device.
 */
INFINIRT_API infinirtError_t infinirtLaunchKernel(
    const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, infinirtStream_t stream);

/** As infinirtLaunchKernel, with a configuration that can carry launch attributes. */
INFINIRT_API infinirtError_t infinirtLaunchKernelExC(
    const infinirtLaunchConfig_t* config, const void* func, void** args);

/**
 * As infinirtLaunchKernel; all blocks run at the same time and may synchronise.
 * infinirtErrorCooperativeLaunchTooLarge if the device cannot hold them.
 */
INFINIRT_API infinirtError_t infinirtLaunchCooperativeKernel(
    const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, infinirtStream_t stream);

/**
 * Writes the resource needs and limits of a kernel. infinirtErrorInvalidDeviceFunction if it is not a kernel
 * of the current device.
 */
INFINIRT_API infinirtError_t infinirtFuncGetAttributes(struct infinirtFuncAttributes* attr, const void* func);

/** Changes one attribute of a kernel. */
INFINIRT_API infinirtError_t infinirtFuncSetAttribute(
    const void* func, enum infinirtFuncAttribute attr, int value);

/** Sets a kernel's preferred split between cache and shared memory; a hint. */
INFINIRT_API infinirtError_t infinirtFuncSetCacheConfig(const void* func, enum infinirtFuncCache cacheConfig);

/** Writes the name of a kernel; the text belongs to the runtime. */
INFINIRT_API infinirtError_t infinirtFuncGetName(const char** name, const void* func);

/**
 * Writes offset and size of one kernel parameter. infinirtErrorInvalidValue if there is no such parameter.
 * `paramSize` may be null.
 */
INFINIRT_API infinirtError_t infinirtFuncGetParamInfo(
    const void* func, size_t paramIndex, size_t* paramOffset, size_t* paramSize);

/** Writes the kernel handle that belongs to a kernel's entry function. */
INFINIRT_API infinirtError_t infinirtGetKernel(infinirtKernel_t* kernelPtr, const void* entryFuncAddr);

/**
 * Loads a library of kernels from memory. The caller unloads it. The option arrays may be null if their
 * counts are 0.
 */
INFINIRT_API infinirtError_t infinirtLibraryLoadData(
    infinirtLibrary_t* library, const void* code, enum infinirtJitOption* jitOptions, void** jitOptionsValues,
    unsigned int numJitOptions, enum infinirtLibraryOption* libraryOptions, void** libraryOptionValues,
    unsigned int numLibraryOptions);

/** As infinirtLibraryLoadData, from a file. infinirtErrorFileNotFound if there is none. */
INFINIRT_API infinirtError_t infinirtLibraryLoadFromFile(
    infinirtLibrary_t* library, const char* fileName, enum infinirtJitOption* jitOptions,
    void** jitOptionsValues, unsigned int numJitOptions, enum infinirtLibraryOption* libraryOptions,
    void** libraryOptionValues, unsigned int numLibraryOptions);

/** Unloads a library; its kernels are invalid afterwards. */
INFINIRT_API infinirtError_t infinirtLibraryUnload(infinirtLibrary_t library);

/**
 * Writes the kernel with the given name. infinirtErrorSymbolNotFound if there is none. The handle belongs to
 * the library.
 */
INFINIRT_API infinirtError_t infinirtLibraryGetKernel(
    infinirtKernel_t* pKernel, infinirtLibrary_t library, const char* name);

/** Writes how many kernels a library has. */
INFINIRT_API infinirtError_t infinirtLibraryGetKernelCount(unsigned int* count, infinirtLibrary_t lib);

/** Writes up to `numKernels` kernels of a library. */
INFINIRT_API infinirtError_t infinirtLibraryEnumerateKernels(
    infinirtKernel_t* kernels, unsigned int numKernels, infinirtLibrary_t lib);

/** Changes one attribute of a kernel for one device. */
INFINIRT_API infinirtError_t infinirtKernelSetAttributeForDevice(
    infinirtKernel_t kernel, enum infinirtFuncAttribute attr, int value, int device);

/** Writes how many blocks of a kernel can run on one multiprocessor at the same time. */
INFINIRT_API infinirtError_t infinirtOccupancyMaxActiveBlocksPerMultiprocessor(
    int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize);

/** As infinirtOccupancyMaxActiveBlocksPerMultiprocessor, with infinirtOccupancy... flags. */
INFINIRT_API infinirtError_t infinirtOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize, unsigned int flags);

/**
 * Writes how much dynamic shared memory a block can have if `numBlocks` blocks shall run on one
 * multiprocessor.
 */
INFINIRT_API infinirtError_t infinirtOccupancyAvailableDynamicSMemPerBlock(
    size_t* dynamicSmemSize, const void* func, int numBlocks, int blockSize);

/* ----------------------------------------------------------------------------------------------------
 * Sharing memory and events with other processes.
 */

/** Writes data with which another process can map an allocation of infinirtMalloc. */
INFINIRT_API infinirtError_t infinirtIpcGetMemHandle(infinirtIpcMemHandle_t* handle, void* devPtr);

/**
 * Maps memory that another process exported, on the current device. Close it with infinirtIpcCloseMemHandle.
 */
INFINIRT_API infinirtError_t infinirtIpcOpenMemHandle(
    void** devPtr, infinirtIpcMemHandle_t handle, unsigned int flags);

/** Unmaps memory from infinirtIpcOpenMemHandle. The exporting process keeps its allocation. */
INFINIRT_API infinirtError_t infinirtIpcCloseMemHandle(void* devPtr);

/**
 * Writes data with which another process can open an event that was created with infinirtEventInterprocess.
 */
INFINIRT_API infinirtError_t infinirtIpcGetEventHandle(
    infinirtIpcEventHandle_t* handle, infinirtEvent_t event);

/** Opens an event that another process exported. The caller destroys it. */
INFINIRT_API infinirtError_t infinirtIpcOpenEventHandle(
    infinirtEvent_t* event, infinirtIpcEventHandle_t handle);

/* ----------------------------------------------------------------------------------------------------
 * Graphs: work described once and launched many times. Graph objects are not synchronised internally.
 */

/** Creates an empty graph. `flags` must be 0. The caller destroys it. */
INFINIRT_API infinirtError_t infinirtGraphCreate(infinirtGraph_t* pGraph, unsigned int flags);

/** Destroys a graph and its nodes. Executable graphs made from it live on. */
INFINIRT_API infinirtError_t infinirtGraphDestroy(infinirtGraph_t graph);

/**
 * Makes a copy of a graph, child graphs included; the caller destroys it. Nodes are found again with
 * infinirtGraphNodeFindInClone.
 */
INFINIRT_API infinirtError_t infinirtGraphClone(infinirtGraph_t* pGraphClone, infinirtGraph_t originalGraph);

/**
 * Adds a node of the type that `nodeParams` names, after the given dependencies. Writes results, such as the
 * address of an allocation, into `nodeParams`.
 */
INFINIRT_API infinirtError_t infinirtGraphAddNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, struct infinirtGraphNodeParams* nodeParams);

/** As infinirtGraphAddNode, with annotations of the edges. */
INFINIRT_API infinirtError_t infinirtGraphAddNode_v2(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    const infinirtGraphEdgeData* dependencyData, size_t numDependencies,
    struct infinirtGraphNodeParams* nodeParams);

/** Adds a node that does nothing; it joins and forks dependencies. */
INFINIRT_API infinirtError_t infinirtGraphAddEmptyNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies);

/** Adds a 3D copy. */
INFINIRT_API infinirtError_t infinirtGraphAddMemcpyNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, const struct infinirtMemcpy3DParms* pCopyParams);

/** Adds a copy of `count` bytes. */
INFINIRT_API infinirtError_t infinirtGraphAddMemcpyNode1D(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind);

/** Adds a set. */
INFINIRT_API infinirtError_t infinirtGraphAddMemsetNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, const struct infinirtMemsetParams* pMemsetParams);

/** Adds a host function; it may not call this API. */
INFINIRT_API infinirtError_t infinirtGraphAddHostNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, const struct infinirtHostNodeParams* pNodeParams);

/** Adds a kernel launch. The arguments are copied. */
INFINIRT_API infinirtError_t infinirtGraphAddKernelNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, const struct infinirtKernelNodeParams* pNodeParams);

/** Adds a copy of another graph as one node. That graph may not contain allocation or free nodes. */
INFINIRT_API infinirtError_t infinirtGraphAddChildGraphNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, infinirtGraph_t childGraph);

/** Adds a record of an event at each launch. */
INFINIRT_API infinirtError_t infinirtGraphAddEventRecordNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, infinirtEvent_t event);

/** Adds a wait for an event at each launch. */
INFINIRT_API infinirtError_t infinirtGraphAddEventWaitNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, infinirtEvent_t event);

/**
 * Adds an allocation and writes its address, fixed for the life of the graph, into `nodeParams->dptr`. Use
 * the memory only between this node and the one that frees it.
 */
INFINIRT_API infinirtError_t infinirtGraphAddMemAllocNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, struct infinirtMemAllocNodeParams* nodeParams);

/** Adds the free of a graph allocation. */
INFINIRT_API infinirtError_t infinirtGraphAddMemFreeNode(
    infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies,
    size_t numDependencies, void* dptr);

/** Adds edges. infinirtErrorInvalidValue if an edge exists already or would close a cycle. */
INFINIRT_API infinirtError_t infinirtGraphAddDependencies(
    infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to,
    size_t numDependencies);

/** As infinirtGraphAddDependencies, with annotations of the edges. */
INFINIRT_API infinirtError_t infinirtGraphAddDependencies_v2(
    infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to,
    const infinirtGraphEdgeData* edgeData, size_t numDependencies);

/** Removes edges. infinirtErrorInvalidValue if an edge does not exist. */
INFINIRT_API infinirtError_t infinirtGraphRemoveDependencies(
    infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to,
    size_t numDependencies);

/** As infinirtGraphRemoveDependencies; the annotations must match. */
INFINIRT_API infinirtError_t infinirtGraphRemoveDependencies_v2(
    infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to,
    const infinirtGraphEdgeData* edgeData, size_t numDependencies);

/**
 * Writes the nodes of a graph. With a null array writes only their number; else fills up to `*numNodes`
 * entries, the rest with null, and writes how many there are.
 */
INFINIRT_API infinirtError_t infinirtGraphGetNodes(
    infinirtGraph_t graph, infinirtGraphNode_t* nodes, size_t* numNodes);

/** Writes the nodes that depend on nothing, as infinirtGraphGetNodes does. */
INFINIRT_API infinirtError_t infinirtGraphGetRootNodes(
    infinirtGraph_t graph, infinirtGraphNode_t* pRootNodes, size_t* pNumRootNodes);

/** Writes the edges, as infinirtGraphGetNodes does. infinirtErrorLossyQuery if an edge has an annotation. */
INFINIRT_API infinirtError_t infinirtGraphGetEdges(
    infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to, size_t* numEdges);

/**
 * As infinirtGraphGetEdges, with the annotations. infinirtErrorLossyQuery if there are some and `edgeData` is
 * null.
 */
INFINIRT_API infinirtError_t infinirtGraphGetEdges_v2(
    infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to,
    infinirtGraphEdgeData* edgeData, size_t* numEdges);

/** Writes the type of a node. */
INFINIRT_API infinirtError_t infinirtGraphNodeGetType(
    infinirtGraphNode_t node, enum infinirtGraphNodeType* pType);

/** Writes the nodes that a node depends on, as infinirtGraphGetNodes does. */
INFINIRT_API infinirtError_t infinirtGraphNodeGetDependencies(
    infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies, size_t* pNumDependencies);

/** As infinirtGraphNodeGetDependencies, with the annotations of the edges. */
INFINIRT_API infinirtError_t infinirtGraphNodeGetDependencies_v2(
    infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies, infinirtGraphEdgeData* edgeData,
    size_t* pNumDependencies);

/** Writes the nodes that depend on a node, as infinirtGraphGetNodes does. */
INFINIRT_API infinirtError_t infinirtGraphNodeGetDependentNodes(
    infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes, size_t* pNumDependentNodes);

/** As infinirtGraphNodeGetDependentNodes, with the annotations of the edges. */
INFINIRT_API infinirtError_t infinirtGraphNodeGetDependentNodes_v2(
    infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes, infinirtGraphEdgeData* edgeData,
    size_t* pNumDependentNodes);

/** Writes the node of a cloned graph that corresponds to a node of the original. */
INFINIRT_API infinirtError_t infinirtGraphNodeFindInClone(
    infinirtGraphNode_t* pNode, infinirtGraphNode_t originalNode, infinirtGraph_t clonedGraph);

/** Removes a node and its edges from its graph. */
INFINIRT_API infinirtError_t infinirtGraphDestroyNode(infinirtGraphNode_t node);

/** Writes the parameters of a kernel node; the arrays belong to the node. */
INFINIRT_API infinirtError_t infinirtGraphKernelNodeGetParams(
    infinirtGraphNode_t node, struct infinirtKernelNodeParams* pNodeParams);

/** Replaces the parameters of a kernel node. Executable graphs do not change. */
INFINIRT_API infinirtError_t infinirtGraphKernelNodeSetParams(
    infinirtGraphNode_t node, const struct infinirtKernelNodeParams* pNodeParams);

/** Copies the attributes of one kernel node to another. */
INFINIRT_API infinirtError_t infinirtGraphKernelNodeCopyAttributes(
    infinirtGraphNode_t hSrc, infinirtGraphNode_t hDst);

/** Writes one attribute of a kernel node. */
INFINIRT_API infinirtError_t infinirtGraphKernelNodeGetAttribute(
    infinirtGraphNode_t hNode, infinirtKernelNodeAttrID attr, infinirtKernelNodeAttrValue* value_out);

/** Sets one attribute of a kernel node. */
INFINIRT_API infinirtError_t infinirtGraphKernelNodeSetAttribute(
    infinirtGraphNode_t hNode, infinirtKernelNodeAttrID attr, const infinirtKernelNodeAttrValue* value);

/** Writes the parameters of a copy node. */
INFINIRT_API infinirtError_t infinirtGraphMemcpyNodeGetParams(
    infinirtGraphNode_t node, struct infinirtMemcpy3DParms* pNodeParams);

/** Replaces the parameters of a copy node. Executable graphs do not change. */
INFINIRT_API infinirtError_t infinirtGraphMemcpyNodeSetParams(
    infinirtGraphNode_t node, const struct infinirtMemcpy3DParms* pNodeParams);

/** As infinirtGraphMemcpyNodeSetParams, with a copy of `count` bytes. */
INFINIRT_API infinirtError_t infinirtGraphMemcpyNodeSetParams1D(
    infinirtGraphNode_t node, void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind);

/** Writes the parameters of a set node. */
INFINIRT_API infinirtError_t infinirtGraphMemsetNodeGetParams(
    infinirtGraphNode_t node, struct infinirtMemsetParams* pNodeParams);

/** Replaces the parameters of a set node. Executable graphs do not change. */
INFINIRT_API infinirtError_t infinirtGraphMemsetNodeSetParams(
    infinirtGraphNode_t node, const struct infinirtMemsetParams* pNodeParams);

/** Writes the parameters of a host function node. */
INFINIRT_API infinirtError_t infinirtGraphHostNodeGetParams(
    infinirtGraphNode_t node, struct infinirtHostNodeParams* pNodeParams);

/** Replaces the parameters of a host function node. Executable graphs do not change. */
INFINIRT_API infinirtError_t infinirtGraphHostNodeSetParams(
    infinirtGraphNode_t node, const struct infinirtHostNodeParams* pNodeParams);

/** Writes the graph inside a child graph node. It belongs to the node; changes to it change the node. */
INFINIRT_API infinirtError_t infinirtGraphChildGraphNodeGetGraph(
    infinirtGraphNode_t node, infinirtGraph_t* pGraph);

/** Writes the event of an event record node. */
INFINIRT_API infinirtError_t infinirtGraphEventRecordNodeGetEvent(
    infinirtGraphNode_t node, infinirtEvent_t* event_out);

/** Replaces the event of an event record node. */
INFINIRT_API infinirtError_t infinirtGraphEventRecordNodeSetEvent(
    infinirtGraphNode_t node, infinirtEvent_t event);

/** Writes the event of an event wait node. */
INFINIRT_API infinirtError_t infinirtGraphEventWaitNodeGetEvent(
    infinirtGraphNode_t node, infinirtEvent_t* event_out);

/** Replaces the event of an event wait node. */
INFINIRT_API infinirtError_t infinirtGraphEventWaitNodeSetEvent(
    infinirtGraphNode_t node, infinirtEvent_t event);

/** Writes the parameters of an allocation node, its address included. */
INFINIRT_API infinirtError_t infinirtGraphMemAllocNodeGetParams(
    infinirtGraphNode_t node, struct infinirtMemAllocNodeParams* params_out);

/** Writes the address that a free node frees; `dptr_out` points to a pointer. */
INFINIRT_API infinirtError_t infinirtGraphMemFreeNodeGetParams(infinirtGraphNode_t node, void* dptr_out);

/** Replaces the parameters of a node of any type; the type itself cannot change. */
INFINIRT_API infinirtError_t infinirtGraphNodeSetParams(
    infinirtGraphNode_t node, struct infinirtGraphNodeParams* nodeParams);

/**
 * Makes an executable graph out of a snapshot of `graph`; the caller destroys it. The launch order is checked
 * here, not at launch.
 */
INFINIRT_API infinirtError_t infinirtGraphInstantiate(
    infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph, unsigned long long flags INFINIRT_DEFAULT(0));

/** As infinirtGraphInstantiate. */
INFINIRT_API infinirtError_t infinirtGraphInstantiateWithFlags(
    infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph, unsigned long long flags INFINIRT_DEFAULT(0));

/**
 * As infinirtGraphInstantiate; `instantiateParams` also carries an upload stream, and receives the reason and
 * the node of a failure.
 */
INFINIRT_API infinirtError_t infinirtGraphInstantiateWithParams(
    infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph,
    infinirtGraphInstantiateParams* instantiateParams);

/** Writes the flags with which an executable graph was made. */
INFINIRT_API infinirtError_t infinirtGraphExecGetFlags(
    infinirtGraphExec_t graphExec, unsigned long long* flags);

/**
 * Prepares an executable graph on the device, in stream order, so that its first launch is as fast as later
 * ones.
 */
INFINIRT_API infinirtError_t infinirtGraphUpload(infinirtGraphExec_t graphExec, infinirtStream_t stream);

/**
 * Launches an executable graph in stream order. Launches of the same executable graph run one after the
 * other.
 */
INFINIRT_API infinirtError_t infinirtGraphLaunch(infinirtGraphExec_t graphExec, infinirtStream_t stream);

/** Destroys an executable graph. A launch that is running completes. */
INFINIRT_API infinirtError_t infinirtGraphExecDestroy(infinirtGraphExec_t graphExec);

/**
 * Replaces the parameters of all nodes by those of a graph with the same shape.
 * infinirtErrorGraphExecUpdateFailure, with the reason in `resultInfo`, if the shapes differ.
 */
INFINIRT_API infinirtError_t infinirtGraphExecUpdate(
    infinirtGraphExec_t hGraphExec, infinirtGraph_t hGraph, infinirtGraphExecUpdateResultInfo* resultInfo);

/**
 * Replaces the parameters of one node, of any type, in an executable graph; `node` is of the original graph.
 * Launches already issued do not change.
 */
INFINIRT_API infinirtError_t infinirtGraphExecNodeSetParams(
    infinirtGraphExec_t graphExec, infinirtGraphNode_t node, struct infinirtGraphNodeParams* nodeParams);

/** Replaces the parameters of a kernel node in an executable graph. */
INFINIRT_API infinirtError_t infinirtGraphExecKernelNodeSetParams(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
    const struct infinirtKernelNodeParams* pNodeParams);

/** Replaces the parameters of a copy node in an executable graph. */
INFINIRT_API infinirtError_t infinirtGraphExecMemcpyNodeSetParams(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
    const struct infinirtMemcpy3DParms* pNodeParams);

/** As infinirtGraphExecMemcpyNodeSetParams, with a copy of `count` bytes. */
INFINIRT_API infinirtError_t infinirtGraphExecMemcpyNodeSetParams1D(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, void* dst, const void* src, size_t count,
    enum infinirtMemcpyKind kind);

/** Replaces the parameters of a set node in an executable graph. */
INFINIRT_API infinirtError_t infinirtGraphExecMemsetNodeSetParams(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, const struct infinirtMemsetParams* pNodeParams);

/** Replaces the parameters of a host function node in an executable graph. */
INFINIRT_API infinirtError_t infinirtGraphExecHostNodeSetParams(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
    const struct infinirtHostNodeParams* pNodeParams);

/** Replaces the parameters inside a child graph node by those of a graph with the same shape. */
INFINIRT_API infinirtError_t infinirtGraphExecChildGraphNodeSetParams(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, infinirtGraph_t childGraph);

/** Replaces the event of an event record node in an executable graph. */
INFINIRT_API infinirtError_t infinirtGraphExecEventRecordNodeSetEvent(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, infinirtEvent_t event);

/** Replaces the event of an event wait node in an executable graph. */
INFINIRT_API infinirtError_t infinirtGraphExecEventWaitNodeSetEvent(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, infinirtEvent_t event);

/**
 * Switches a kernel, copy or set node of an executable graph on or off; one that is off acts as an empty
 * node.
 */
INFINIRT_API infinirtError_t infinirtGraphNodeSetEnabled(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, unsigned int isEnabled);

/** Writes whether a node of an executable graph is on. */
INFINIRT_API infinirtError_t infinirtGraphNodeGetEnabled(
    infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, unsigned int* isEnabled);

/** Writes the graph as a DOT file; `flags` says in how much detail. */
INFINIRT_API infinirtError_t infinirtGraphDebugDotPrint(
    infinirtGraph_t graph, const char* path, unsigned int flags);

/**
 * Wraps a resource of the user's; `destroy` is called with `ptr` when the last reference goes. `flags` must
 * be infinirtUserObjectNoDestructorSync. `destroy` may not call this API.
 */
INFINIRT_API infinirtError_t infinirtUserObjectCreate(
    infinirtUserObject_t* object_out, void* ptr, infinirtHostFn_t destroy, unsigned int initialRefcount,
    unsigned int flags);

/** Adds references that the caller owns. */
INFINIRT_API infinirtError_t infinirtUserObjectRetain(
    infinirtUserObject_t object, unsigned int count INFINIRT_DEFAULT(1));

/** Gives back references that the caller owns. */
INFINIRT_API infinirtError_t infinirtUserObjectRelease(
    infinirtUserObject_t object, unsigned int count INFINIRT_DEFAULT(1));

/**
 * Gives references to a graph; with infinirtGraphUserObjectMove they are taken from the caller. They go when
 * the graph and its executable graphs have gone.
 */
INFINIRT_API infinirtError_t infinirtGraphRetainUserObject(
    infinirtGraph_t graph, infinirtUserObject_t object, unsigned int count INFINIRT_DEFAULT(1),
    unsigned int flags INFINIRT_DEFAULT(0));

/** Gives back references that a graph owns. */
INFINIRT_API infinirtError_t infinirtGraphReleaseUserObject(
    infinirtGraph_t graph, infinirtUserObject_t object, unsigned int count INFINIRT_DEFAULT(1));

/* ----------------------------------------------------------------------------------------------------
 * Marking what a profiler shall look at.
 */

/** Starts collection by a profiler that is attached; without one it does nothing. */
INFINIRT_API infinirtError_t infinirtProfilerStart(void);

/** Stops collection by a profiler that is attached; without one it does nothing. */
INFINIRT_API infinirtError_t infinirtProfilerStop(void);

/* ----------------------------------------------------------------------------------------------------
 * With INFINIRT_API_PER_THREAD_DEFAULT_STREAM defined, stream 0 and calls without a stream argument mean
 * the default stream of the calling thread instead of the legacy default stream.
 */
#ifdef INFINIRT_API_PER_THREAD_DEFAULT_STREAM
INFINIRT_API infinirtError_t infinirtGetDriverEntryPoint_ptsz(
    const char* symbol, void** funcPtr, unsigned long long flags,
    enum infinirtDriverEntryPointQueryResult* driverStatus INFINIRT_DEFAULT(NULL));
INFINIRT_API infinirtError_t infinirtGetDriverEntryPointByVersion_ptsz(
    const char* symbol, void** funcPtr, unsigned int infinirtVersion, unsigned long long flags,
    enum infinirtDriverEntryPointQueryResult* driverStatus INFINIRT_DEFAULT(NULL));
INFINIRT_API infinirtError_t infinirtStreamQuery_ptsz(infinirtStream_t stream);
INFINIRT_API infinirtError_t infinirtStreamSynchronize_ptsz(infinirtStream_t stream);
INFINIRT_API infinirtError_t infinirtStreamWaitEvent_ptsz(
    infinirtStream_t stream, infinirtEvent_t event, unsigned int flags INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtStreamAddCallback_ptsz(
    infinirtStream_t stream, infinirtStreamCallback_t callback, void* userData, unsigned int flags);
INFINIRT_API infinirtError_t infinirtStreamGetFlags_ptsz(infinirtStream_t hStream, unsigned int* flags);
INFINIRT_API infinirtError_t infinirtStreamGetPriority_ptsz(infinirtStream_t hStream, int* priority);
INFINIRT_API infinirtError_t infinirtStreamGetId_ptsz(infinirtStream_t hStream, unsigned long long* streamId);
INFINIRT_API infinirtError_t infinirtStreamGetDevice_ptsz(infinirtStream_t hStream, int* device);
INFINIRT_API infinirtError_t infinirtStreamBeginCapture_ptsz(
    infinirtStream_t stream, enum infinirtStreamCaptureMode mode);
INFINIRT_API infinirtError_t infinirtStreamBeginCaptureToGraph_ptsz(
    infinirtStream_t stream, infinirtGraph_t graph, const infinirtGraphNode_t* dependencies,
    const infinirtGraphEdgeData* dependencyData, size_t numDependencies, enum infinirtStreamCaptureMode mode);
INFINIRT_API infinirtError_t infinirtStreamEndCapture_ptsz(infinirtStream_t stream, infinirtGraph_t* pGraph);
INFINIRT_API infinirtError_t infinirtStreamIsCapturing_ptsz(
    infinirtStream_t stream, enum infinirtStreamCaptureStatus* pCaptureStatus);
INFINIRT_API infinirtError_t infinirtStreamGetCaptureInfo_ptsz(
    infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
    unsigned long long* id_out INFINIRT_DEFAULT(0), infinirtGraph_t* graph_out INFINIRT_DEFAULT(0),
    const infinirtGraphNode_t** dependencies_out INFINIRT_DEFAULT(0),
    size_t* numDependencies_out INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtStreamGetCaptureInfo_v2_ptsz(
    infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
    unsigned long long* id_out INFINIRT_DEFAULT(0), infinirtGraph_t* graph_out INFINIRT_DEFAULT(0),
    const infinirtGraphNode_t** dependencies_out INFINIRT_DEFAULT(0),
    size_t* numDependencies_out INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtStreamGetCaptureInfo_v3_ptsz(
    infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out,
    unsigned long long* id_out INFINIRT_DEFAULT(0), infinirtGraph_t* graph_out INFINIRT_DEFAULT(0),
    const infinirtGraphNode_t** dependencies_out INFINIRT_DEFAULT(0),
    const infinirtGraphEdgeData** edgeData_out INFINIRT_DEFAULT(0),
    size_t* numDependencies_out INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtStreamUpdateCaptureDependencies_ptsz(
    infinirtStream_t stream, infinirtGraphNode_t* dependencies, size_t numDependencies,
    unsigned int flags INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtStreamUpdateCaptureDependencies_v2_ptsz(
    infinirtStream_t stream, infinirtGraphNode_t* dependencies, const infinirtGraphEdgeData* dependencyData,
    size_t numDependencies, unsigned int flags INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtStreamAttachMemAsync_ptsz(
    infinirtStream_t stream, void* devPtr, size_t length INFINIRT_DEFAULT(0),
    unsigned int flags INFINIRT_DEFAULT(infinirtMemAttachSingle));
INFINIRT_API infinirtError_t infinirtStreamGetAttribute_ptsz(
    infinirtStream_t hStream, infinirtStreamAttrID attr, infinirtStreamAttrValue* value_out);
INFINIRT_API infinirtError_t infinirtStreamSetAttribute_ptsz(
    infinirtStream_t hStream, infinirtStreamAttrID attr, const infinirtStreamAttrValue* value);
INFINIRT_API infinirtError_t infinirtStreamCopyAttributes_ptsz(infinirtStream_t dst, infinirtStream_t src);
INFINIRT_API infinirtError_t infinirtEventRecord_ptsz(
    infinirtEvent_t event, infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtEventRecordWithFlags_ptsz(
    infinirtEvent_t event, infinirtStream_t stream INFINIRT_DEFAULT(0),
    unsigned int flags INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemcpy_ptds(
    void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind);
INFINIRT_API infinirtError_t infinirtMemcpyAsync_ptsz(
    void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind,
    infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemcpy2D_ptds(
    void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
    enum infinirtMemcpyKind kind);
INFINIRT_API infinirtError_t infinirtMemcpy2DAsync_ptsz(
    void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
    enum infinirtMemcpyKind kind, infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemcpy3D_ptds(const struct infinirtMemcpy3DParms* p);
INFINIRT_API infinirtError_t infinirtMemcpy3DAsync_ptsz(
    const struct infinirtMemcpy3DParms* p, infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemcpy3DPeer_ptds(const struct infinirtMemcpy3DPeerParms* p);
INFINIRT_API infinirtError_t infinirtMemcpy3DPeerAsync_ptsz(
    const struct infinirtMemcpy3DPeerParms* p, infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemcpyBatchAsync_ptsz(
    void** dsts, void** srcs, size_t* sizes, size_t count, struct infinirtMemcpyAttributes* attrs,
    size_t* attrsIdxs, size_t numAttrs, size_t* failIdx, infinirtStream_t stream);
INFINIRT_API infinirtError_t infinirtMemcpy3DBatchAsync_ptsz(
    size_t numOps, struct infinirtMemcpy3DBatchOp* opList, size_t* failIdx, unsigned long long flags,
    infinirtStream_t stream);
INFINIRT_API infinirtError_t infinirtMemset_ptds(void* devPtr, int value, size_t count);
INFINIRT_API infinirtError_t infinirtMemsetAsync_ptsz(
    void* devPtr, int value, size_t count, infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemset2D_ptds(
    void* devPtr, size_t pitch, int value, size_t width, size_t height);
INFINIRT_API infinirtError_t infinirtMemset2DAsync_ptsz(
    void* devPtr, size_t pitch, int value, size_t width, size_t height,
    infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemset3D_ptds(
    struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent);
INFINIRT_API infinirtError_t infinirtMemset3DAsync_ptsz(
    struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent,
    infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemPrefetchAsync_ptsz(
    const void* devPtr, size_t count, int dstDevice, infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMemPrefetchAsync_v2_ptsz(
    const void* devPtr, size_t count, struct infinirtMemLocation location, unsigned int flags,
    infinirtStream_t stream INFINIRT_DEFAULT(0));
INFINIRT_API infinirtError_t infinirtMallocAsync_ptsz(void** devPtr, size_t size, infinirtStream_t hStream);
INFINIRT_API infinirtError_t infinirtFreeAsync_ptsz(void* devPtr, infinirtStream_t hStream);
INFINIRT_API infinirtError_t infinirtMallocFromPoolAsync_ptsz(
    void** ptr, size_t size, infinirtMemPool_t memPool, infinirtStream_t stream);
INFINIRT_API infinirtError_t infinirtLaunchHostFunc_ptsz(
    infinirtStream_t stream, infinirtHostFn_t fn, void* userData);
INFINIRT_API infinirtError_t infinirtLaunchKernel_ptsz(
    const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, infinirtStream_t stream);
INFINIRT_API infinirtError_t infinirtLaunchKernelExC_ptsz(
    const infinirtLaunchConfig_t* config, const void* func, void** args);
INFINIRT_API infinirtError_t infinirtLaunchCooperativeKernel_ptsz(
    const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, infinirtStream_t stream);
INFINIRT_API infinirtError_t infinirtGraphInstantiateWithParams_ptsz(
    infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph,
    infinirtGraphInstantiateParams* instantiateParams);
INFINIRT_API infinirtError_t infinirtGraphUpload_ptsz(infinirtGraphExec_t graphExec, infinirtStream_t stream);
INFINIRT_API infinirtError_t infinirtGraphLaunch_ptsz(infinirtGraphExec_t graphExec, infinirtStream_t stream);

#define infinirtGetDriverEntryPoint                infinirtGetDriverEntryPoint_ptsz
#define infinirtGetDriverEntryPointByVersion       infinirtGetDriverEntryPointByVersion_ptsz
#define infinirtStreamQuery                        infinirtStreamQuery_ptsz
#define infinirtStreamSynchronize                  infinirtStreamSynchronize_ptsz
#define infinirtStreamWaitEvent                    infinirtStreamWaitEvent_ptsz
#define infinirtStreamAddCallback                  infinirtStreamAddCallback_ptsz
#define infinirtStreamGetFlags                     infinirtStreamGetFlags_ptsz
#define infinirtStreamGetPriority                  infinirtStreamGetPriority_ptsz
#define infinirtStreamGetId                        infinirtStreamGetId_ptsz
#define infinirtStreamGetDevice                    infinirtStreamGetDevice_ptsz
#define infinirtStreamBeginCapture                 infinirtStreamBeginCapture_ptsz
#define infinirtStreamBeginCaptureToGraph          infinirtStreamBeginCaptureToGraph_ptsz
#define infinirtStreamEndCapture                   infinirtStreamEndCapture_ptsz
#define infinirtStreamIsCapturing                  infinirtStreamIsCapturing_ptsz
#define infinirtStreamGetCaptureInfo               infinirtStreamGetCaptureInfo_ptsz
#define infinirtStreamGetCaptureInfo_v2            infinirtStreamGetCaptureInfo_v2_ptsz
#define infinirtStreamGetCaptureInfo_v3            infinirtStreamGetCaptureInfo_v3_ptsz
#define infinirtStreamUpdateCaptureDependencies    infinirtStreamUpdateCaptureDependencies_ptsz
#define infinirtStreamUpdateCaptureDependencies_v2 infinirtStreamUpdateCaptureDependencies_v2_ptsz
#define infinirtStreamAttachMemAsync               infinirtStreamAttachMemAsync_ptsz
#define infinirtStreamGetAttribute                 infinirtStreamGetAttribute_ptsz
#define infinirtStreamSetAttribute                 infinirtStreamSetAttribute_ptsz
#define infinirtStreamCopyAttributes               infinirtStreamCopyAttributes_ptsz
#define infinirtEventRecord                        infinirtEventRecord_ptsz
#define infinirtEventRecordWithFlags               infinirtEventRecordWithFlags_ptsz
#define infinirtMemcpy                             infinirtMemcpy_ptds
#define infinirtMemcpyAsync                        infinirtMemcpyAsync_ptsz
#define infinirtMemcpy2D                           infinirtMemcpy2D_ptds
#define infinirtMemcpy2DAsync                      infinirtMemcpy2DAsync_ptsz
#define infinirtMemcpy3D                           infinirtMemcpy3D_ptds
#define infinirtMemcpy3DAsync                      infinirtMemcpy3DAsync_ptsz
#define infinirtMemcpy3DPeer                       infinirtMemcpy3DPeer_ptds
#define infinirtMemcpy3DPeerAsync                  infinirtMemcpy3DPeerAsync_ptsz
#define infinirtMemcpyBatchAsync                   infinirtMemcpyBatchAsync_ptsz
#define infinirtMemcpy3DBatchAsync                 infinirtMemcpy3DBatchAsync_ptsz
#define infinirtMemset                             infinirtMemset_ptds
#define infinirtMemsetAsync                        infinirtMemsetAsync_ptsz
#define infinirtMemset2D                           infinirtMemset2D_ptds
#define infinirtMemset2DAsync                      infinirtMemset2DAsync_ptsz
#define infinirtMemset3D                           infinirtMemset3D_ptds
#define infinirtMemset3DAsync                      infinirtMemset3DAsync_ptsz
#define infinirtMemPrefetchAsync                   infinirtMemPrefetchAsync_ptsz
#define infinirtMemPrefetchAsync_v2                infinirtMemPrefetchAsync_v2_ptsz
#define infinirtMallocAsync                        infinirtMallocAsync_ptsz
#define infinirtFreeAsync                          infinirtFreeAsync_ptsz
#define infinirtMallocFromPoolAsync                infinirtMallocFromPoolAsync_ptsz
#define infinirtLaunchHostFunc                     infinirtLaunchHostFunc_ptsz
#define infinirtLaunchKernel                       infinirtLaunchKernel_ptsz
#define infinirtLaunchKernelExC                    infinirtLaunchKernelExC_ptsz
#define infinirtLaunchCooperativeKernel            infinirtLaunchCooperativeKernel_ptsz
#define infinirtGraphInstantiateWithParams         infinirtGraphInstantiateWithParams_ptsz
#define infinirtGraphUpload                        infinirtGraphUpload_ptsz
#define infinirtGraphLaunch                        infinirtGraphLaunch_ptsz
#endif

#ifdef __cplusplus
}
#endif

#undef INFINIRT_DEFAULT

#endif /* INFINIRT_H */
