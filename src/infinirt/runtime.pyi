"""The flat API: every function of the C API, call-compatible with `cuda.bindings.runtime` 13.

Results are None after a failure; the annotations describe success.
"""

# Generated from the specification in src/infinirt/_spec; change that, then run generate.py.

from collections.abc import Callable, Iterator, Mapping
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    SupportsIndex,
    SupportsInt,
    TypeAlias,
    TypeVar,
    overload,
)

from typing_extensions import Buffer, Self

class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

_T = TypeVar("_T")
_Int: TypeAlias = SupportsIndex | SupportsInt
_Text: TypeAlias = bytes | bytearray | str
_Pointer: TypeAlias = _Int | Buffer | None
_Stream: TypeAlias = infinirtStream_t | _CudaStream | _Int | None
_Sequence: TypeAlias = list[_T] | tuple[_T, ...] | None
_HostFunction: TypeAlias = infinirtHostFn_t | _Int | Callable[[Any], object] | None
_StreamCallback: TypeAlias = infinirtStreamCallback_t | _Int | Callable[..., object] | None
_Dim3: TypeAlias = dim3 | int | tuple[int, ...] | list[int]
_KernelParams: TypeAlias = int | Buffer | tuple[tuple[Any, ...], tuple[Any, ...]] | None

class _EnumType(type):
    @property
    def __members__(cls: type[_T]) -> Mapping[str, _T]: ...
    def __iter__(cls: type[_T]) -> Iterator[_T]: ...
    def __len__(cls) -> int: ...
    def __contains__(cls, item: object) -> bool: ...
    def __getitem__(cls: type[_T], name: str) -> _T: ...

class _Enum(int, metaclass=_EnumType):
    def __new__(cls, value: int) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...

class _Handle:
    def __init__(self, init_value: _Int = 0, _ptr: int = 0) -> None: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def getPtr(self) -> int: ...

class _Struct:
    def __init__(self, _ptr: int = 0) -> None: ...
    def getPtr(self) -> int: ...

class infinirtXDeviceTypeInfo(NamedTuple):
    name: str
    origin: str
    problem: str
    deviceCount: int
    isAccelerator: bool

class infinirtError_t(_Enum):
    infinirtSuccess: ClassVar[Self]
    infinirtErrorInvalidValue: ClassVar[Self]
    infinirtErrorMemoryAllocation: ClassVar[Self]
    infinirtErrorInitializationError: ClassVar[Self]
    infinirtErrorCudartUnloading: ClassVar[Self]
    infinirtErrorProfilerDisabled: ClassVar[Self]
    infinirtErrorProfilerNotInitialized: ClassVar[Self]
    infinirtErrorProfilerAlreadyStarted: ClassVar[Self]
    infinirtErrorProfilerAlreadyStopped: ClassVar[Self]
    infinirtErrorInvalidConfiguration: ClassVar[Self]
    infinirtErrorInvalidPitchValue: ClassVar[Self]
    infinirtErrorInvalidSymbol: ClassVar[Self]
    infinirtErrorInvalidHostPointer: ClassVar[Self]
    infinirtErrorInvalidDevicePointer: ClassVar[Self]
    infinirtErrorInvalidTexture: ClassVar[Self]
    infinirtErrorInvalidTextureBinding: ClassVar[Self]
    infinirtErrorInvalidChannelDescriptor: ClassVar[Self]
    infinirtErrorInvalidMemcpyDirection: ClassVar[Self]
    infinirtErrorAddressOfConstant: ClassVar[Self]
    infinirtErrorTextureFetchFailed: ClassVar[Self]
    infinirtErrorTextureNotBound: ClassVar[Self]
    infinirtErrorSynchronizationError: ClassVar[Self]
    infinirtErrorInvalidFilterSetting: ClassVar[Self]
    infinirtErrorInvalidNormSetting: ClassVar[Self]
    infinirtErrorMixedDeviceExecution: ClassVar[Self]
    infinirtErrorNotYetImplemented: ClassVar[Self]
    infinirtErrorMemoryValueTooLarge: ClassVar[Self]
    infinirtErrorStubLibrary: ClassVar[Self]
    infinirtErrorInsufficientDriver: ClassVar[Self]
    infinirtErrorCallRequiresNewerDriver: ClassVar[Self]
    infinirtErrorInvalidSurface: ClassVar[Self]
    infinirtErrorDuplicateVariableName: ClassVar[Self]
    infinirtErrorDuplicateTextureName: ClassVar[Self]
    infinirtErrorDuplicateSurfaceName: ClassVar[Self]
    infinirtErrorDevicesUnavailable: ClassVar[Self]
    infinirtErrorIncompatibleDriverContext: ClassVar[Self]
    infinirtErrorMissingConfiguration: ClassVar[Self]
    infinirtErrorPriorLaunchFailure: ClassVar[Self]
    infinirtErrorLaunchMaxDepthExceeded: ClassVar[Self]
    infinirtErrorLaunchFileScopedTex: ClassVar[Self]
    infinirtErrorLaunchFileScopedSurf: ClassVar[Self]
    infinirtErrorSyncDepthExceeded: ClassVar[Self]
    infinirtErrorLaunchPendingCountExceeded: ClassVar[Self]
    infinirtErrorInvalidDeviceFunction: ClassVar[Self]
    infinirtErrorNoDevice: ClassVar[Self]
    infinirtErrorInvalidDevice: ClassVar[Self]
    infinirtErrorDeviceNotLicensed: ClassVar[Self]
    infinirtErrorSoftwareValidityNotEstablished: ClassVar[Self]
    infinirtErrorStartupFailure: ClassVar[Self]
    infinirtErrorInvalidKernelImage: ClassVar[Self]
    infinirtErrorDeviceUninitialized: ClassVar[Self]
    infinirtErrorMapBufferObjectFailed: ClassVar[Self]
    infinirtErrorUnmapBufferObjectFailed: ClassVar[Self]
    infinirtErrorArrayIsMapped: ClassVar[Self]
    infinirtErrorAlreadyMapped: ClassVar[Self]
    infinirtErrorNoKernelImageForDevice: ClassVar[Self]
    infinirtErrorAlreadyAcquired: ClassVar[Self]
    infinirtErrorNotMapped: ClassVar[Self]
    infinirtErrorNotMappedAsArray: ClassVar[Self]
    infinirtErrorNotMappedAsPointer: ClassVar[Self]
    infinirtErrorECCUncorrectable: ClassVar[Self]
    infinirtErrorUnsupportedLimit: ClassVar[Self]
    infinirtErrorDeviceAlreadyInUse: ClassVar[Self]
    infinirtErrorPeerAccessUnsupported: ClassVar[Self]
    infinirtErrorInvalidPtx: ClassVar[Self]
    infinirtErrorInvalidGraphicsContext: ClassVar[Self]
    infinirtErrorNvlinkUncorrectable: ClassVar[Self]
    infinirtErrorJitCompilerNotFound: ClassVar[Self]
    infinirtErrorUnsupportedPtxVersion: ClassVar[Self]
    infinirtErrorJitCompilationDisabled: ClassVar[Self]
    infinirtErrorUnsupportedExecAffinity: ClassVar[Self]
    infinirtErrorUnsupportedDevSideSync: ClassVar[Self]
    infinirtErrorContained: ClassVar[Self]
    infinirtErrorInvalidSource: ClassVar[Self]
    infinirtErrorFileNotFound: ClassVar[Self]
    infinirtErrorSharedObjectSymbolNotFound: ClassVar[Self]
    infinirtErrorSharedObjectInitFailed: ClassVar[Self]
    infinirtErrorOperatingSystem: ClassVar[Self]
    infinirtErrorInvalidResourceHandle: ClassVar[Self]
    infinirtErrorIllegalState: ClassVar[Self]
    infinirtErrorLossyQuery: ClassVar[Self]
    infinirtErrorSymbolNotFound: ClassVar[Self]
    infinirtErrorNotReady: ClassVar[Self]
    infinirtErrorIllegalAddress: ClassVar[Self]
    infinirtErrorLaunchOutOfResources: ClassVar[Self]
    infinirtErrorLaunchTimeout: ClassVar[Self]
    infinirtErrorLaunchIncompatibleTexturing: ClassVar[Self]
    infinirtErrorPeerAccessAlreadyEnabled: ClassVar[Self]
    infinirtErrorPeerAccessNotEnabled: ClassVar[Self]
    infinirtErrorSetOnActiveProcess: ClassVar[Self]
    infinirtErrorContextIsDestroyed: ClassVar[Self]
    infinirtErrorAssert: ClassVar[Self]
    infinirtErrorTooManyPeers: ClassVar[Self]
    infinirtErrorHostMemoryAlreadyRegistered: ClassVar[Self]
    infinirtErrorHostMemoryNotRegistered: ClassVar[Self]
    infinirtErrorHardwareStackError: ClassVar[Self]
    infinirtErrorIllegalInstruction: ClassVar[Self]
    infinirtErrorMisalignedAddress: ClassVar[Self]
    infinirtErrorInvalidAddressSpace: ClassVar[Self]
    infinirtErrorInvalidPc: ClassVar[Self]
    infinirtErrorLaunchFailure: ClassVar[Self]
    infinirtErrorCooperativeLaunchTooLarge: ClassVar[Self]
    infinirtErrorTensorMemoryLeak: ClassVar[Self]
    infinirtErrorNotPermitted: ClassVar[Self]
    infinirtErrorNotSupported: ClassVar[Self]
    infinirtErrorSystemNotReady: ClassVar[Self]
    infinirtErrorSystemDriverMismatch: ClassVar[Self]
    infinirtErrorCompatNotSupportedOnDevice: ClassVar[Self]
    infinirtErrorMpsConnectionFailed: ClassVar[Self]
    infinirtErrorMpsRpcFailure: ClassVar[Self]
    infinirtErrorMpsServerNotReady: ClassVar[Self]
    infinirtErrorMpsMaxClientsReached: ClassVar[Self]
    infinirtErrorMpsMaxConnectionsReached: ClassVar[Self]
    infinirtErrorMpsClientTerminated: ClassVar[Self]
    infinirtErrorCdpNotSupported: ClassVar[Self]
    infinirtErrorCdpVersionMismatch: ClassVar[Self]
    infinirtErrorStreamCaptureUnsupported: ClassVar[Self]
    infinirtErrorStreamCaptureInvalidated: ClassVar[Self]
    infinirtErrorStreamCaptureMerge: ClassVar[Self]
    infinirtErrorStreamCaptureUnmatched: ClassVar[Self]
    infinirtErrorStreamCaptureUnjoined: ClassVar[Self]
    infinirtErrorStreamCaptureIsolation: ClassVar[Self]
    infinirtErrorStreamCaptureImplicit: ClassVar[Self]
    infinirtErrorCapturedEvent: ClassVar[Self]
    infinirtErrorStreamCaptureWrongThread: ClassVar[Self]
    infinirtErrorTimeout: ClassVar[Self]
    infinirtErrorGraphExecUpdateFailure: ClassVar[Self]
    infinirtErrorExternalDevice: ClassVar[Self]
    infinirtErrorInvalidClusterSize: ClassVar[Self]
    infinirtErrorFunctionNotLoaded: ClassVar[Self]
    infinirtErrorInvalidResourceType: ClassVar[Self]
    infinirtErrorInvalidResourceConfiguration: ClassVar[Self]
    infinirtErrorUnknown: ClassVar[Self]
    infinirtErrorApiFailureBase: ClassVar[Self]
    infinirtErrorVersionTranslation: ClassVar[Self]
    infinirtErrorInsufficientLoaderVersion: ClassVar[Self]
    infinirtErrorStreamDetached: ClassVar[Self]
    infinirtErrorGraphRecaptureFailure: ClassVar[Self]
    infinirtErrorFabricNotReady: ClassVar[Self]

class infinirtDeviceAttr(_Enum):
    infinirtDevAttrMaxThreadsPerBlock: ClassVar[Self]
    infinirtDevAttrMaxBlockDimX: ClassVar[Self]
    infinirtDevAttrMaxBlockDimY: ClassVar[Self]
    infinirtDevAttrMaxBlockDimZ: ClassVar[Self]
    infinirtDevAttrMaxGridDimX: ClassVar[Self]
    infinirtDevAttrMaxGridDimY: ClassVar[Self]
    infinirtDevAttrMaxGridDimZ: ClassVar[Self]
    infinirtDevAttrMaxSharedMemoryPerBlock: ClassVar[Self]
    infinirtDevAttrTotalConstantMemory: ClassVar[Self]
    infinirtDevAttrWarpSize: ClassVar[Self]
    infinirtDevAttrMaxPitch: ClassVar[Self]
    infinirtDevAttrMaxRegistersPerBlock: ClassVar[Self]
    infinirtDevAttrClockRate: ClassVar[Self]
    infinirtDevAttrTextureAlignment: ClassVar[Self]
    infinirtDevAttrGpuOverlap: ClassVar[Self]
    infinirtDevAttrMultiProcessorCount: ClassVar[Self]
    infinirtDevAttrKernelExecTimeout: ClassVar[Self]
    infinirtDevAttrIntegrated: ClassVar[Self]
    infinirtDevAttrCanMapHostMemory: ClassVar[Self]
    infinirtDevAttrComputeMode: ClassVar[Self]
    infinirtDevAttrMaxTexture1DWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture2DWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture2DHeight: ClassVar[Self]
    infinirtDevAttrMaxTexture3DWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture3DHeight: ClassVar[Self]
    infinirtDevAttrMaxTexture3DDepth: ClassVar[Self]
    infinirtDevAttrMaxTexture2DLayeredWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture2DLayeredHeight: ClassVar[Self]
    infinirtDevAttrMaxTexture2DLayeredLayers: ClassVar[Self]
    infinirtDevAttrSurfaceAlignment: ClassVar[Self]
    infinirtDevAttrConcurrentKernels: ClassVar[Self]
    infinirtDevAttrEccEnabled: ClassVar[Self]
    infinirtDevAttrPciBusId: ClassVar[Self]
    infinirtDevAttrPciDeviceId: ClassVar[Self]
    infinirtDevAttrTccDriver: ClassVar[Self]
    infinirtDevAttrMemoryClockRate: ClassVar[Self]
    infinirtDevAttrGlobalMemoryBusWidth: ClassVar[Self]
    infinirtDevAttrL2CacheSize: ClassVar[Self]
    infinirtDevAttrMaxThreadsPerMultiProcessor: ClassVar[Self]
    infinirtDevAttrAsyncEngineCount: ClassVar[Self]
    infinirtDevAttrUnifiedAddressing: ClassVar[Self]
    infinirtDevAttrMaxTexture1DLayeredWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture1DLayeredLayers: ClassVar[Self]
    infinirtDevAttrMaxTexture2DGatherWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture2DGatherHeight: ClassVar[Self]
    infinirtDevAttrMaxTexture3DWidthAlt: ClassVar[Self]
    infinirtDevAttrMaxTexture3DHeightAlt: ClassVar[Self]
    infinirtDevAttrMaxTexture3DDepthAlt: ClassVar[Self]
    infinirtDevAttrPciDomainId: ClassVar[Self]
    infinirtDevAttrTexturePitchAlignment: ClassVar[Self]
    infinirtDevAttrMaxTextureCubemapWidth: ClassVar[Self]
    infinirtDevAttrMaxTextureCubemapLayeredWidth: ClassVar[Self]
    infinirtDevAttrMaxTextureCubemapLayeredLayers: ClassVar[Self]
    infinirtDevAttrMaxSurface1DWidth: ClassVar[Self]
    infinirtDevAttrMaxSurface2DWidth: ClassVar[Self]
    infinirtDevAttrMaxSurface2DHeight: ClassVar[Self]
    infinirtDevAttrMaxSurface3DWidth: ClassVar[Self]
    infinirtDevAttrMaxSurface3DHeight: ClassVar[Self]
    infinirtDevAttrMaxSurface3DDepth: ClassVar[Self]
    infinirtDevAttrMaxSurface1DLayeredWidth: ClassVar[Self]
    infinirtDevAttrMaxSurface1DLayeredLayers: ClassVar[Self]
    infinirtDevAttrMaxSurface2DLayeredWidth: ClassVar[Self]
    infinirtDevAttrMaxSurface2DLayeredHeight: ClassVar[Self]
    infinirtDevAttrMaxSurface2DLayeredLayers: ClassVar[Self]
    infinirtDevAttrMaxSurfaceCubemapWidth: ClassVar[Self]
    infinirtDevAttrMaxSurfaceCubemapLayeredWidth: ClassVar[Self]
    infinirtDevAttrMaxSurfaceCubemapLayeredLayers: ClassVar[Self]
    infinirtDevAttrMaxTexture1DLinearWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture2DLinearWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture2DLinearHeight: ClassVar[Self]
    infinirtDevAttrMaxTexture2DLinearPitch: ClassVar[Self]
    infinirtDevAttrMaxTexture2DMipmappedWidth: ClassVar[Self]
    infinirtDevAttrMaxTexture2DMipmappedHeight: ClassVar[Self]
    infinirtDevAttrComputeCapabilityMajor: ClassVar[Self]
    infinirtDevAttrComputeCapabilityMinor: ClassVar[Self]
    infinirtDevAttrMaxTexture1DMipmappedWidth: ClassVar[Self]
    infinirtDevAttrStreamPrioritiesSupported: ClassVar[Self]
    infinirtDevAttrGlobalL1CacheSupported: ClassVar[Self]
    infinirtDevAttrLocalL1CacheSupported: ClassVar[Self]
    infinirtDevAttrMaxSharedMemoryPerMultiprocessor: ClassVar[Self]
    infinirtDevAttrMaxRegistersPerMultiprocessor: ClassVar[Self]
    infinirtDevAttrManagedMemory: ClassVar[Self]
    infinirtDevAttrIsMultiGpuBoard: ClassVar[Self]
    infinirtDevAttrMultiGpuBoardGroupID: ClassVar[Self]
    infinirtDevAttrHostNativeAtomicSupported: ClassVar[Self]
    infinirtDevAttrSingleToDoublePrecisionPerfRatio: ClassVar[Self]
    infinirtDevAttrPageableMemoryAccess: ClassVar[Self]
    infinirtDevAttrConcurrentManagedAccess: ClassVar[Self]
    infinirtDevAttrComputePreemptionSupported: ClassVar[Self]
    infinirtDevAttrCanUseHostPointerForRegisteredMem: ClassVar[Self]
    infinirtDevAttrReserved92: ClassVar[Self]
    infinirtDevAttrReserved93: ClassVar[Self]
    infinirtDevAttrReserved94: ClassVar[Self]
    infinirtDevAttrCooperativeLaunch: ClassVar[Self]
    infinirtDevAttrCooperativeMultiDeviceLaunch: ClassVar[Self]
    infinirtDevAttrMaxSharedMemoryPerBlockOptin: ClassVar[Self]
    infinirtDevAttrCanFlushRemoteWrites: ClassVar[Self]
    infinirtDevAttrHostRegisterSupported: ClassVar[Self]
    infinirtDevAttrPageableMemoryAccessUsesHostPageTables: ClassVar[Self]
    infinirtDevAttrDirectManagedMemAccessFromHost: ClassVar[Self]
    infinirtDevAttrMaxBlocksPerMultiprocessor: ClassVar[Self]
    infinirtDevAttrMaxPersistingL2CacheSize: ClassVar[Self]
    infinirtDevAttrMaxAccessPolicyWindowSize: ClassVar[Self]
    infinirtDevAttrReservedSharedMemoryPerBlock: ClassVar[Self]
    infinirtDevAttrSparseCudaArraySupported: ClassVar[Self]
    infinirtDevAttrHostRegisterReadOnlySupported: ClassVar[Self]
    infinirtDevAttrTimelineSemaphoreInteropSupported: ClassVar[Self]
    infinirtDevAttrMaxTimelineSemaphoreInteropSupported: ClassVar[Self]
    infinirtDevAttrMemoryPoolsSupported: ClassVar[Self]
    infinirtDevAttrGPUDirectRDMASupported: ClassVar[Self]
    infinirtDevAttrGPUDirectRDMAFlushWritesOptions: ClassVar[Self]
    infinirtDevAttrGPUDirectRDMAWritesOrdering: ClassVar[Self]
    infinirtDevAttrMemoryPoolSupportedHandleTypes: ClassVar[Self]
    infinirtDevAttrClusterLaunch: ClassVar[Self]
    infinirtDevAttrDeferredMappingCudaArraySupported: ClassVar[Self]
    infinirtDevAttrReserved122: ClassVar[Self]
    infinirtDevAttrReserved123: ClassVar[Self]
    infinirtDevAttrReserved124: ClassVar[Self]
    infinirtDevAttrIpcEventSupport: ClassVar[Self]
    infinirtDevAttrMemSyncDomainCount: ClassVar[Self]
    infinirtDevAttrReserved127: ClassVar[Self]
    infinirtDevAttrReserved128: ClassVar[Self]
    infinirtDevAttrReserved129: ClassVar[Self]
    infinirtDevAttrNumaConfig: ClassVar[Self]
    infinirtDevAttrNumaId: ClassVar[Self]
    infinirtDevAttrReserved132: ClassVar[Self]
    infinirtDevAttrMpsEnabled: ClassVar[Self]
    infinirtDevAttrHostNumaId: ClassVar[Self]
    infinirtDevAttrD3D12CigSupported: ClassVar[Self]
    infinirtDevAttrVulkanCigSupported: ClassVar[Self]
    infinirtDevAttrGpuPciDeviceId: ClassVar[Self]
    infinirtDevAttrGpuPciSubsystemId: ClassVar[Self]
    infinirtDevAttrReserved141: ClassVar[Self]
    infinirtDevAttrHostNumaMemoryPoolsSupported: ClassVar[Self]
    infinirtDevAttrHostNumaMultinodeIpcSupported: ClassVar[Self]
    infinirtDevAttrReserved96: ClassVar[Self]
    infinirtDevAttrHostMemoryPoolsSupported: ClassVar[Self]
    infinirtDevAttrReserved145: ClassVar[Self]
    infinirtDevAttrOnlyPartialHostNativeAtomicSupported: ClassVar[Self]
    infinirtDevAttrAtomicReductionSupported: ClassVar[Self]
    infinirtDevAttrLocalityDomainCount: ClassVar[Self]
    infinirtDevAttrOversizedSharedMemoryPerBlock: ClassVar[Self]
    infinirtDevAttrCigStreamsSupported: ClassVar[Self]
    infinirtDevAttrLocalityDomainMultiprocessorCount: ClassVar[Self]
    infinirtDevAttrTensorMapLargeTensorMinSize: ClassVar[Self]
    infinirtDevAttrMax: ClassVar[Self]

class infinirtDeviceP2PAttr(_Enum):
    infinirtDevP2PAttrPerformanceRank: ClassVar[Self]
    infinirtDevP2PAttrAccessSupported: ClassVar[Self]
    infinirtDevP2PAttrNativeAtomicSupported: ClassVar[Self]
    infinirtDevP2PAttrCudaArrayAccessSupported: ClassVar[Self]
    infinirtDevP2PAttrOnlyPartialNativeAtomicSupported: ClassVar[Self]

class infinirtComputeMode(_Enum):
    infinirtComputeModeDefault: ClassVar[Self]
    infinirtComputeModeExclusive: ClassVar[Self]
    infinirtComputeModeProhibited: ClassVar[Self]
    infinirtComputeModeExclusiveProcess: ClassVar[Self]

class infinirtLimit(_Enum):
    infinirtLimitStackSize: ClassVar[Self]
    infinirtLimitPrintfFifoSize: ClassVar[Self]
    infinirtLimitMallocHeapSize: ClassVar[Self]
    infinirtLimitDevRuntimeSyncDepth: ClassVar[Self]
    infinirtLimitDevRuntimePendingLaunchCount: ClassVar[Self]
    infinirtLimitMaxL2FetchGranularity: ClassVar[Self]
    infinirtLimitPersistingL2CacheSize: ClassVar[Self]
    infinirtLimitPerBlockMemorySize: ClassVar[Self]

class infinirtFuncCache(_Enum):
    infinirtFuncCachePreferNone: ClassVar[Self]
    infinirtFuncCachePreferShared: ClassVar[Self]
    infinirtFuncCachePreferL1: ClassVar[Self]
    infinirtFuncCachePreferEqual: ClassVar[Self]

class infinirtFlushGPUDirectRDMAWritesOptions(_Enum):
    infinirtFlushGPUDirectRDMAWritesOptionHost: ClassVar[Self]
    infinirtFlushGPUDirectRDMAWritesOptionMemOps: ClassVar[Self]

class infinirtGPUDirectRDMAWritesOrdering(_Enum):
    infinirtGPUDirectRDMAWritesOrderingNone: ClassVar[Self]
    infinirtGPUDirectRDMAWritesOrderingOwner: ClassVar[Self]
    infinirtGPUDirectRDMAWritesOrderingAllDevices: ClassVar[Self]

class infinirtDeviceNumaConfig(_Enum):
    infinirtDeviceNumaConfigNone: ClassVar[Self]
    infinirtDeviceNumaConfigNumaNode: ClassVar[Self]

class infinirtGetDriverEntryPointFlags(_Enum):
    infinirtEnableDefault: ClassVar[Self]
    infinirtEnableLegacyStream: ClassVar[Self]
    infinirtEnablePerThreadDefaultStream: ClassVar[Self]

class infinirtDriverEntryPointQueryResult(_Enum):
    infinirtDriverEntryPointSuccess: ClassVar[Self]
    infinirtDriverEntryPointSymbolNotFound: ClassVar[Self]
    infinirtDriverEntryPointVersionNotSufficent: ClassVar[Self]

class infinirtMemoryType(_Enum):
    infinirtMemoryTypeUnregistered: ClassVar[Self]
    infinirtMemoryTypeHost: ClassVar[Self]
    infinirtMemoryTypeDevice: ClassVar[Self]
    infinirtMemoryTypeManaged: ClassVar[Self]

class infinirtMemcpyKind(_Enum):
    infinirtMemcpyHostToHost: ClassVar[Self]
    infinirtMemcpyHostToDevice: ClassVar[Self]
    infinirtMemcpyDeviceToHost: ClassVar[Self]
    infinirtMemcpyDeviceToDevice: ClassVar[Self]
    infinirtMemcpyDefault: ClassVar[Self]

class infinirtMemoryAdvise(_Enum):
    infinirtMemAdviseSetReadMostly: ClassVar[Self]
    infinirtMemAdviseUnsetReadMostly: ClassVar[Self]
    infinirtMemAdviseSetPreferredLocation: ClassVar[Self]
    infinirtMemAdviseUnsetPreferredLocation: ClassVar[Self]
    infinirtMemAdviseSetAccessedBy: ClassVar[Self]
    infinirtMemAdviseUnsetAccessedBy: ClassVar[Self]

class infinirtMemRangeAttribute(_Enum):
    infinirtMemRangeAttributeReadMostly: ClassVar[Self]
    infinirtMemRangeAttributePreferredLocation: ClassVar[Self]
    infinirtMemRangeAttributeAccessedBy: ClassVar[Self]
    infinirtMemRangeAttributeLastPrefetchLocation: ClassVar[Self]
    infinirtMemRangeAttributePreferredLocationType: ClassVar[Self]
    infinirtMemRangeAttributePreferredLocationId: ClassVar[Self]
    infinirtMemRangeAttributeLastPrefetchLocationType: ClassVar[Self]
    infinirtMemRangeAttributeLastPrefetchLocationId: ClassVar[Self]

class infinirtMemLocationType(_Enum):
    infinirtMemLocationTypeInvalid: ClassVar[Self]
    infinirtMemLocationTypeDevice: ClassVar[Self]
    infinirtMemLocationTypeHost: ClassVar[Self]
    infinirtMemLocationTypeHostNuma: ClassVar[Self]
    infinirtMemLocationTypeHostNumaCurrent: ClassVar[Self]
    infinirtMemLocationTypeNone: ClassVar[Self]
    infinirtMemLocationTypeInvisible: ClassVar[Self]
    infinirtMemLocationTypeDeviceLocalityDomain: ClassVar[Self]

class infinirtMemAccessFlags(_Enum):
    infinirtMemAccessFlagsProtNone: ClassVar[Self]
    infinirtMemAccessFlagsProtRead: ClassVar[Self]
    infinirtMemAccessFlagsProtReadWrite: ClassVar[Self]

class infinirtMemAllocationType(_Enum):
    infinirtMemAllocationTypeInvalid: ClassVar[Self]
    infinirtMemAllocationTypePinned: ClassVar[Self]
    infinirtMemAllocationTypeMax: ClassVar[Self]
    infinirtMemAllocationTypeManaged: ClassVar[Self]

class infinirtMemAllocationHandleType(_Enum):
    infinirtMemHandleTypeNone: ClassVar[Self]
    infinirtMemHandleTypePosixFileDescriptor: ClassVar[Self]
    infinirtMemHandleTypeWin32: ClassVar[Self]
    infinirtMemHandleTypeWin32Kmt: ClassVar[Self]
    infinirtMemHandleTypeFabric: ClassVar[Self]

class infinirtMemPoolAttr(_Enum):
    infinirtMemPoolReuseFollowEventDependencies: ClassVar[Self]
    infinirtMemPoolReuseAllowOpportunistic: ClassVar[Self]
    infinirtMemPoolReuseAllowInternalDependencies: ClassVar[Self]
    infinirtMemPoolAttrReleaseThreshold: ClassVar[Self]
    infinirtMemPoolAttrReservedMemCurrent: ClassVar[Self]
    infinirtMemPoolAttrReservedMemHigh: ClassVar[Self]
    infinirtMemPoolAttrUsedMemCurrent: ClassVar[Self]
    infinirtMemPoolAttrUsedMemHigh: ClassVar[Self]
    infinirtMemPoolAttrAllocationType: ClassVar[Self]
    infinirtMemPoolAttrExportHandleTypes: ClassVar[Self]
    infinirtMemPoolAttrLocationId: ClassVar[Self]
    infinirtMemPoolAttrLocationType: ClassVar[Self]
    infinirtMemPoolAttrMaxPoolSize: ClassVar[Self]
    infinirtMemPoolAttrHwDecompressEnabled: ClassVar[Self]
    infinirtMemPoolAttrLocalityDomainId: ClassVar[Self]

class infinirtGraphMemAttributeType(_Enum):
    infinirtGraphMemAttrUsedMemCurrent: ClassVar[Self]
    infinirtGraphMemAttrUsedMemHigh: ClassVar[Self]
    infinirtGraphMemAttrReservedMemCurrent: ClassVar[Self]
    infinirtGraphMemAttrReservedMemHigh: ClassVar[Self]

class infinirtMemcpyFlags(_Enum):
    infinirtMemcpyFlagDefault: ClassVar[Self]
    infinirtMemcpyFlagPreferOverlapWithCompute: ClassVar[Self]

class infinirtMemcpySrcAccessOrder(_Enum):
    infinirtMemcpySrcAccessOrderInvalid: ClassVar[Self]
    infinirtMemcpySrcAccessOrderStream: ClassVar[Self]
    infinirtMemcpySrcAccessOrderDuringApiCall: ClassVar[Self]
    infinirtMemcpySrcAccessOrderAny: ClassVar[Self]
    infinirtMemcpySrcAccessOrderMax: ClassVar[Self]

class infinirtMemcpy3DOperandType(_Enum):
    infinirtMemcpyOperandTypePointer: ClassVar[Self]
    infinirtMemcpyOperandTypeArray: ClassVar[Self]
    infinirtMemcpyOperandTypeMax: ClassVar[Self]

class infinirtStreamCaptureStatus(_Enum):
    infinirtStreamCaptureStatusNone: ClassVar[Self]
    infinirtStreamCaptureStatusActive: ClassVar[Self]
    infinirtStreamCaptureStatusInvalidated: ClassVar[Self]

class infinirtStreamCaptureMode(_Enum):
    infinirtStreamCaptureModeGlobal: ClassVar[Self]
    infinirtStreamCaptureModeThreadLocal: ClassVar[Self]
    infinirtStreamCaptureModeRelaxed: ClassVar[Self]

class infinirtStreamUpdateCaptureDependenciesFlags(_Enum):
    infinirtStreamAddCaptureDependencies: ClassVar[Self]
    infinirtStreamSetCaptureDependencies: ClassVar[Self]

class infinirtSynchronizationPolicy(_Enum):
    infinirtSyncPolicyAuto: ClassVar[Self]
    infinirtSyncPolicySpin: ClassVar[Self]
    infinirtSyncPolicyYield: ClassVar[Self]
    infinirtSyncPolicyBlockingSync: ClassVar[Self]

class infinirtClusterSchedulingPolicy(_Enum):
    infinirtClusterSchedulingPolicyDefault: ClassVar[Self]
    infinirtClusterSchedulingPolicySpread: ClassVar[Self]
    infinirtClusterSchedulingPolicyLoadBalancing: ClassVar[Self]
    infinirtClusterSchedulingPolicyRubinDsmemLocality: ClassVar[Self]

class infinirtAccessProperty(_Enum):
    infinirtAccessPropertyNormal: ClassVar[Self]
    infinirtAccessPropertyStreaming: ClassVar[Self]
    infinirtAccessPropertyPersisting: ClassVar[Self]

class infinirtLaunchMemSyncDomain(_Enum):
    infinirtLaunchMemSyncDomainDefault: ClassVar[Self]
    infinirtLaunchMemSyncDomainRemote: ClassVar[Self]

class infinirtLaunchAttributeID(_Enum):
    infinirtLaunchAttributeIgnore: ClassVar[Self]
    infinirtLaunchAttributeAccessPolicyWindow: ClassVar[Self]
    infinirtLaunchAttributeCooperative: ClassVar[Self]
    infinirtLaunchAttributeSynchronizationPolicy: ClassVar[Self]
    infinirtLaunchAttributeClusterDimension: ClassVar[Self]
    infinirtLaunchAttributeClusterSchedulingPolicyPreference: ClassVar[Self]
    infinirtLaunchAttributeProgrammaticStreamSerialization: ClassVar[Self]
    infinirtLaunchAttributeProgrammaticEvent: ClassVar[Self]
    infinirtLaunchAttributePriority: ClassVar[Self]
    infinirtLaunchAttributeMemSyncDomainMap: ClassVar[Self]
    infinirtLaunchAttributeMemSyncDomain: ClassVar[Self]
    infinirtLaunchAttributePreferredClusterDimension: ClassVar[Self]
    infinirtLaunchAttributeLaunchCompletionEvent: ClassVar[Self]
    infinirtLaunchAttributeDeviceUpdatableKernelNode: ClassVar[Self]
    infinirtLaunchAttributePreferredSharedMemoryCarveout: ClassVar[Self]
    infinirtLaunchAttributeNvlinkUtilCentricScheduling: ClassVar[Self]
    infinirtLaunchAttributePortableClusterSizeMode: ClassVar[Self]
    infinirtLaunchAttributeSharedMemoryMode: ClassVar[Self]

class infinirtFuncAttribute(_Enum):
    infinirtFuncAttributeMaxDynamicSharedMemorySize: ClassVar[Self]
    infinirtFuncAttributePreferredSharedMemoryCarveout: ClassVar[Self]
    infinirtFuncAttributeClusterDimMustBeSet: ClassVar[Self]
    infinirtFuncAttributeRequiredClusterWidth: ClassVar[Self]
    infinirtFuncAttributeRequiredClusterHeight: ClassVar[Self]
    infinirtFuncAttributeRequiredClusterDepth: ClassVar[Self]
    infinirtFuncAttributeNonPortableClusterSizeAllowed: ClassVar[Self]
    infinirtFuncAttributeClusterSchedulingPolicyPreference: ClassVar[Self]
    infinirtFuncAttributeSharedMemoryMode: ClassVar[Self]
    infinirtFuncAttributeMax: ClassVar[Self]

class infinirtSharedCarveout(_Enum):
    infinirtSharedmemCarveoutDefault: ClassVar[Self]
    infinirtSharedmemCarveoutMaxShared: ClassVar[Self]
    infinirtSharedmemCarveoutMaxL1: ClassVar[Self]

class infinirtJitOption(_Enum):
    infinirtJitMaxRegisters: ClassVar[Self]
    infinirtJitThreadsPerBlock: ClassVar[Self]
    infinirtJitWallTime: ClassVar[Self]
    infinirtJitInfoLogBuffer: ClassVar[Self]
    infinirtJitInfoLogBufferSizeBytes: ClassVar[Self]
    infinirtJitErrorLogBuffer: ClassVar[Self]
    infinirtJitErrorLogBufferSizeBytes: ClassVar[Self]
    infinirtJitOptimizationLevel: ClassVar[Self]
    infinirtJitFallbackStrategy: ClassVar[Self]
    infinirtJitGenerateDebugInfo: ClassVar[Self]
    infinirtJitLogVerbose: ClassVar[Self]
    infinirtJitGenerateLineInfo: ClassVar[Self]
    infinirtJitCacheMode: ClassVar[Self]
    infinirtJitPositionIndependentCode: ClassVar[Self]
    infinirtJitMinCtaPerSm: ClassVar[Self]
    infinirtJitMaxThreadsPerBlock: ClassVar[Self]
    infinirtJitOverrideDirectiveValues: ClassVar[Self]

class infinirtJit_CacheMode(_Enum):
    infinirtJitCacheOptionNone: ClassVar[Self]
    infinirtJitCacheOptionCG: ClassVar[Self]
    infinirtJitCacheOptionCA: ClassVar[Self]

class infinirtJit_Fallback(_Enum):
    infinirtPreferPtx: ClassVar[Self]
    infinirtPreferBinary: ClassVar[Self]

class infinirtLibraryOption(_Enum):
    infinirtLibraryHostUniversalFunctionAndDataTable: ClassVar[Self]
    infinirtLibraryBinaryIsPreserved: ClassVar[Self]

class infinirtGraphNodeType(_Enum):
    infinirtGraphNodeTypeKernel: ClassVar[Self]
    infinirtGraphNodeTypeMemcpy: ClassVar[Self]
    infinirtGraphNodeTypeMemset: ClassVar[Self]
    infinirtGraphNodeTypeHost: ClassVar[Self]
    infinirtGraphNodeTypeGraph: ClassVar[Self]
    infinirtGraphNodeTypeEmpty: ClassVar[Self]
    infinirtGraphNodeTypeWaitEvent: ClassVar[Self]
    infinirtGraphNodeTypeEventRecord: ClassVar[Self]
    infinirtGraphNodeTypeExtSemaphoreSignal: ClassVar[Self]
    infinirtGraphNodeTypeExtSemaphoreWait: ClassVar[Self]
    infinirtGraphNodeTypeMemAlloc: ClassVar[Self]
    infinirtGraphNodeTypeMemFree: ClassVar[Self]
    infinirtGraphNodeTypeConditional: ClassVar[Self]
    infinirtGraphNodeTypeMemcpyBatch: ClassVar[Self]
    infinirtGraphNodeTypeReserved16: ClassVar[Self]
    infinirtGraphNodeTypeExternalEngine: ClassVar[Self]
    infinirtGraphNodeTypeCount: ClassVar[Self]

class infinirtGraphDependencyType(_Enum):
    infinirtGraphDependencyTypeDefault: ClassVar[Self]
    infinirtGraphDependencyTypeProgrammatic: ClassVar[Self]

class infinirtGraphChildGraphNodeOwnership(_Enum):
    infinirtGraphChildGraphOwnershipClone: ClassVar[Self]
    infinirtGraphChildGraphOwnershipMove: ClassVar[Self]
    infinirtGraphChildGraphOwnershipInvalid: ClassVar[Self]

class infinirtGraphConditionalHandleFlags(_Enum):
    infinirtGraphCondAssignDefault: ClassVar[Self]

class infinirtGraphConditionalNodeType(_Enum):
    infinirtGraphCondTypeIf: ClassVar[Self]
    infinirtGraphCondTypeWhile: ClassVar[Self]
    infinirtGraphCondTypeSwitch: ClassVar[Self]

class infinirtGraphExecUpdateResult(_Enum):
    infinirtGraphExecUpdateSuccess: ClassVar[Self]
    infinirtGraphExecUpdateError: ClassVar[Self]
    infinirtGraphExecUpdateErrorTopologyChanged: ClassVar[Self]
    infinirtGraphExecUpdateErrorNodeTypeChanged: ClassVar[Self]
    infinirtGraphExecUpdateErrorFunctionChanged: ClassVar[Self]
    infinirtGraphExecUpdateErrorParametersChanged: ClassVar[Self]
    infinirtGraphExecUpdateErrorNotSupported: ClassVar[Self]
    infinirtGraphExecUpdateErrorUnsupportedFunctionChange: ClassVar[Self]
    infinirtGraphExecUpdateErrorAttributesChanged: ClassVar[Self]

class infinirtGraphInstantiateResult(_Enum):
    infinirtGraphInstantiateSuccess: ClassVar[Self]
    infinirtGraphInstantiateError: ClassVar[Self]
    infinirtGraphInstantiateInvalidStructure: ClassVar[Self]
    infinirtGraphInstantiateNodeOperationNotSupported: ClassVar[Self]
    infinirtGraphInstantiateMultipleDevicesNotSupported: ClassVar[Self]
    infinirtGraphInstantiateConditionalHandleUnused: ClassVar[Self]

class infinirtGraphInstantiateFlags(_Enum):
    infinirtGraphInstantiateFlagAutoFreeOnLaunch: ClassVar[Self]
    infinirtGraphInstantiateFlagUpload: ClassVar[Self]
    infinirtGraphInstantiateFlagDeviceLaunch: ClassVar[Self]
    infinirtGraphInstantiateFlagUseNodePriority: ClassVar[Self]

class infinirtGraphDebugDotFlags(_Enum):
    infinirtGraphDebugDotFlagsVerbose: ClassVar[Self]
    infinirtGraphDebugDotFlagsKernelNodeParams: ClassVar[Self]
    infinirtGraphDebugDotFlagsMemcpyNodeParams: ClassVar[Self]
    infinirtGraphDebugDotFlagsMemsetNodeParams: ClassVar[Self]
    infinirtGraphDebugDotFlagsHostNodeParams: ClassVar[Self]
    infinirtGraphDebugDotFlagsEventNodeParams: ClassVar[Self]
    infinirtGraphDebugDotFlagsExtSemasSignalNodeParams: ClassVar[Self]
    infinirtGraphDebugDotFlagsExtSemasWaitNodeParams: ClassVar[Self]
    infinirtGraphDebugDotFlagsKernelNodeAttributes: ClassVar[Self]
    infinirtGraphDebugDotFlagsHandles: ClassVar[Self]
    infinirtGraphDebugDotFlagsConditionalNodeParams: ClassVar[Self]
    infinirtGraphDebugDotFlagsMemcpyBatchNodeParams: ClassVar[Self]

class infinirtUserObjectFlags(_Enum):
    infinirtUserObjectNoDestructorSync: ClassVar[Self]

class infinirtUserObjectRetainFlags(_Enum):
    infinirtGraphUserObjectMove: ClassVar[Self]

class infinirtXSupport(_Enum):
    infinirtXSupportNone: ClassVar[Self]
    infinirtXSupportEmulated: ClassVar[Self]
    infinirtXSupportNative: ClassVar[Self]

class infinirtStream_t(_Handle):
    def __cuda_stream__(self) -> tuple[int, int]: ...

class infinirtEvent_t(_Handle): ...
class infinirtMemPool_t(_Handle): ...
class infinirtGraph_t(_Handle): ...
class infinirtGraphNode_t(_Handle): ...
class infinirtGraphExec_t(_Handle): ...
class infinirtGraphDeviceNode_t(_Handle): ...
class infinirtUserObject_t(_Handle): ...
class infinirtFunction_t(_Handle): ...
class infinirtKernel_t(_Handle): ...
class infinirtLibrary_t(_Handle): ...
class infinirtArray_t(_Handle): ...
class infinirtExternalSemaphore_t(_Handle): ...
class infinirtGraphConditionalHandle(_Handle): ...
class infinirtHostFn_t(_Handle): ...
class infinirtStreamCallback_t(_Handle): ...
class infinirtXCache_t(_Handle): ...
class cuuint64_t(_Handle): ...

class dim3(_Struct):
    x: int
    y: int
    z: int

class infinirtPitchedPtr(_Struct):
    @property
    def ptr(self) -> int: ...
    @ptr.setter
    def ptr(self, value: _Pointer) -> None: ...
    pitch: int
    xsize: int
    ysize: int

class infinirtExtent(_Struct):
    width: int
    height: int
    depth: int

class infinirtPos(_Struct):
    x: int
    y: int
    z: int

class infinirtMemcpy3DParms(_Struct):
    @property
    def srcArray(self) -> infinirtArray_t: ...
    @srcArray.setter
    def srcArray(self, value: infinirtArray_t | _Int | None) -> None: ...
    srcPos: infinirtPos
    srcPtr: infinirtPitchedPtr
    @property
    def dstArray(self) -> infinirtArray_t: ...
    @dstArray.setter
    def dstArray(self, value: infinirtArray_t | _Int | None) -> None: ...
    dstPos: infinirtPos
    dstPtr: infinirtPitchedPtr
    extent: infinirtExtent
    @property
    def kind(self) -> infinirtMemcpyKind: ...
    @kind.setter
    def kind(self, value: infinirtMemcpyKind | _Int) -> None: ...

class infinirtMemcpy3DPeerParms(_Struct):
    @property
    def srcArray(self) -> infinirtArray_t: ...
    @srcArray.setter
    def srcArray(self, value: infinirtArray_t | _Int | None) -> None: ...
    srcPos: infinirtPos
    srcPtr: infinirtPitchedPtr
    srcDevice: int
    @property
    def dstArray(self) -> infinirtArray_t: ...
    @dstArray.setter
    def dstArray(self, value: infinirtArray_t | _Int | None) -> None: ...
    dstPos: infinirtPos
    dstPtr: infinirtPitchedPtr
    dstDevice: int
    extent: infinirtExtent

class infinirtPointerAttributes(_Struct):
    @property
    def type(self) -> infinirtMemoryType: ...
    @type.setter
    def type(self, value: infinirtMemoryType | _Int) -> None: ...
    device: int
    @property
    def devicePointer(self) -> int: ...
    @devicePointer.setter
    def devicePointer(self, value: _Pointer) -> None: ...
    @property
    def hostPointer(self) -> int: ...
    @hostPointer.setter
    def hostPointer(self, value: _Pointer) -> None: ...

class infinirtMemLocation(_Struct):
    @property
    def type(self) -> infinirtMemLocationType: ...
    @type.setter
    def type(self, value: infinirtMemLocationType | _Int) -> None: ...
    id: int

class infinirtMemAccessDesc(_Struct):
    location: infinirtMemLocation
    @property
    def flags(self) -> infinirtMemAccessFlags: ...
    @flags.setter
    def flags(self, value: infinirtMemAccessFlags | _Int) -> None: ...

class infinirtMemPoolProps(_Struct):
    @property
    def allocType(self) -> infinirtMemAllocationType: ...
    @allocType.setter
    def allocType(self, value: infinirtMemAllocationType | _Int) -> None: ...
    @property
    def handleTypes(self) -> infinirtMemAllocationHandleType: ...
    @handleTypes.setter
    def handleTypes(self, value: infinirtMemAllocationHandleType | _Int) -> None: ...
    location: infinirtMemLocation
    @property
    def win32SecurityAttributes(self) -> int: ...
    @win32SecurityAttributes.setter
    def win32SecurityAttributes(self, value: _Pointer) -> None: ...
    maxSize: int
    usage: int

class infinirtMemPoolPtrExportData(_Struct): ...

class infinirtMemcpyAttributes(_Struct):
    @property
    def srcAccessOrder(self) -> infinirtMemcpySrcAccessOrder: ...
    @srcAccessOrder.setter
    def srcAccessOrder(self, value: infinirtMemcpySrcAccessOrder | _Int) -> None: ...
    srcLocHint: infinirtMemLocation
    dstLocHint: infinirtMemLocation
    flags: int

class infinirtOffset3D(_Struct):
    x: int
    y: int
    z: int

class _infinirtMemcpy3DOperand_op_ptr(_Struct):
    @property
    def ptr(self) -> int: ...
    @ptr.setter
    def ptr(self, value: _Pointer) -> None: ...
    rowLength: int
    layerHeight: int
    locHint: infinirtMemLocation

class _infinirtMemcpy3DOperand_op_array(_Struct):
    @property
    def array(self) -> infinirtArray_t: ...
    @array.setter
    def array(self, value: infinirtArray_t | _Int | None) -> None: ...
    offset: infinirtOffset3D

class _infinirtMemcpy3DOperand_op(_Struct):
    ptr: _infinirtMemcpy3DOperand_op_ptr
    array: _infinirtMemcpy3DOperand_op_array

class infinirtMemcpy3DOperand(_Struct):
    @property
    def type(self) -> infinirtMemcpy3DOperandType: ...
    @type.setter
    def type(self, value: infinirtMemcpy3DOperandType | _Int) -> None: ...
    op: _infinirtMemcpy3DOperand_op

class infinirtMemcpy3DBatchOp(_Struct):
    src: infinirtMemcpy3DOperand
    dst: infinirtMemcpy3DOperand
    extent: infinirtExtent
    @property
    def srcAccessOrder(self) -> infinirtMemcpySrcAccessOrder: ...
    @srcAccessOrder.setter
    def srcAccessOrder(self, value: infinirtMemcpySrcAccessOrder | _Int) -> None: ...
    flags: int

class infinirtIpcEventHandle_t(_Struct): ...
class infinirtIpcMemHandle_t(_Struct): ...

class infinirtUUID_t(_Struct):
    @property
    def bytes(self) -> bytes: ...

class infinirtDeviceProp(_Struct):
    name: bytes
    uuid: infinirtUUID_t
    luid: bytes
    luidDeviceNodeMask: int
    totalGlobalMem: int
    sharedMemPerBlock: int
    regsPerBlock: int
    warpSize: int
    memPitch: int
    maxThreadsPerBlock: int
    maxThreadsDim: list[int]
    maxGridSize: list[int]
    clockRate: int
    totalConstMem: int
    major: int
    minor: int
    textureAlignment: int
    texturePitchAlignment: int
    deviceOverlap: int
    multiProcessorCount: int
    kernelExecTimeoutEnabled: int
    integrated: int
    canMapHostMemory: int
    computeMode: int
    maxTexture1D: int
    maxTexture1DMipmap: int
    maxTexture1DLinear: int
    maxTexture2D: list[int]
    maxTexture2DMipmap: list[int]
    maxTexture2DLinear: list[int]
    maxTexture2DGather: list[int]
    maxTexture3D: list[int]
    maxTexture3DAlt: list[int]
    maxTextureCubemap: int
    maxTexture1DLayered: list[int]
    maxTexture2DLayered: list[int]
    maxTextureCubemapLayered: list[int]
    maxSurface1D: int
    maxSurface2D: list[int]
    maxSurface3D: list[int]
    maxSurface1DLayered: list[int]
    maxSurface2DLayered: list[int]
    maxSurfaceCubemap: int
    maxSurfaceCubemapLayered: list[int]
    surfaceAlignment: int
    concurrentKernels: int
    ECCEnabled: int
    pciBusID: int
    pciDeviceID: int
    pciDomainID: int
    tccDriver: int
    asyncEngineCount: int
    unifiedAddressing: int
    memoryClockRate: int
    memoryBusWidth: int
    l2CacheSize: int
    persistingL2CacheMaxSize: int
    maxThreadsPerMultiProcessor: int
    streamPrioritiesSupported: int
    globalL1CacheSupported: int
    localL1CacheSupported: int
    sharedMemPerMultiprocessor: int
    regsPerMultiprocessor: int
    managedMemory: int
    isMultiGpuBoard: int
    multiGpuBoardGroupID: int
    hostNativeAtomicSupported: int
    singleToDoublePrecisionPerfRatio: int
    pageableMemoryAccess: int
    concurrentManagedAccess: int
    computePreemptionSupported: int
    canUseHostPointerForRegisteredMem: int
    cooperativeLaunch: int
    cooperativeMultiDeviceLaunch: int
    sharedMemPerBlockOptin: int
    pageableMemoryAccessUsesHostPageTables: int
    directManagedMemAccessFromHost: int
    maxBlocksPerMultiProcessor: int
    accessPolicyMaxWindowSize: int
    reservedSharedMemPerBlock: int
    hostRegisterSupported: int
    sparseCudaArraySupported: int
    hostRegisterReadOnlySupported: int
    timelineSemaphoreInteropSupported: int
    memoryPoolsSupported: int
    gpuDirectRDMASupported: int
    gpuDirectRDMAFlushWritesOptions: int
    gpuDirectRDMAWritesOrdering: int
    memoryPoolSupportedHandleTypes: int
    deferredMappingCudaArraySupported: int
    ipcEventSupported: int
    clusterLaunch: int
    unifiedFunctionPointers: int
    hostNumaId: int
    hostNumaMultinodeIpcSupported: int
    deviceNumaConfig: int
    deviceNumaId: int
    mpsEnabled: int
    gpuPciDeviceID: int
    gpuPciSubsystemID: int

class infinirtAccessPolicyWindow(_Struct):
    @property
    def base_ptr(self) -> int: ...
    @base_ptr.setter
    def base_ptr(self, value: _Pointer) -> None: ...
    num_bytes: int
    hitRatio: float
    @property
    def hitProp(self) -> infinirtAccessProperty: ...
    @hitProp.setter
    def hitProp(self, value: infinirtAccessProperty | _Int) -> None: ...
    @property
    def missProp(self) -> infinirtAccessProperty: ...
    @missProp.setter
    def missProp(self, value: infinirtAccessProperty | _Int) -> None: ...

class infinirtFuncAttributes(_Struct):
    sharedSizeBytes: int
    constSizeBytes: int
    localSizeBytes: int
    maxThreadsPerBlock: int
    numRegs: int
    ptxVersion: int
    binaryVersion: int
    cacheModeCA: int
    maxDynamicSharedSizeBytes: int
    preferredShmemCarveout: int
    clusterDimMustBeSet: int
    requiredClusterWidth: int
    requiredClusterHeight: int
    requiredClusterDepth: int
    clusterSchedulingPolicyPreference: int
    nonPortableClusterSizeAllowed: int

class infinirtLaunchMemSyncDomainMap(_Struct):
    default_: int
    remote: int

class _infinirtLaunchAttributeValue_clusterDim(_Struct):
    x: int
    y: int
    z: int

class _infinirtLaunchAttributeValue_programmaticEvent(_Struct):
    @property
    def event(self) -> infinirtEvent_t: ...
    @event.setter
    def event(self, value: infinirtEvent_t | _Int | None) -> None: ...
    flags: int
    triggerAtBlockStart: int

class _infinirtLaunchAttributeValue_preferredClusterDim(_Struct):
    x: int
    y: int
    z: int

class _infinirtLaunchAttributeValue_launchCompletionEvent(_Struct):
    @property
    def event(self) -> infinirtEvent_t: ...
    @event.setter
    def event(self, value: infinirtEvent_t | _Int | None) -> None: ...
    flags: int

class _infinirtLaunchAttributeValue_deviceUpdatableKernelNode(_Struct):
    deviceUpdatable: int
    @property
    def devNode(self) -> infinirtGraphDeviceNode_t: ...
    @devNode.setter
    def devNode(self, value: infinirtGraphDeviceNode_t | _Int | None) -> None: ...

class infinirtLaunchAttributeValue(_Struct):
    pad: bytes
    accessPolicyWindow: infinirtAccessPolicyWindow
    cooperative: int
    @property
    def syncPolicy(self) -> infinirtSynchronizationPolicy: ...
    @syncPolicy.setter
    def syncPolicy(self, value: infinirtSynchronizationPolicy | _Int) -> None: ...
    clusterDim: _infinirtLaunchAttributeValue_clusterDim
    @property
    def clusterSchedulingPolicyPreference(self) -> infinirtClusterSchedulingPolicy: ...
    @clusterSchedulingPolicyPreference.setter
    def clusterSchedulingPolicyPreference(self, value: infinirtClusterSchedulingPolicy | _Int) -> None: ...
    programmaticStreamSerializationAllowed: int
    programmaticEvent: _infinirtLaunchAttributeValue_programmaticEvent
    priority: int
    memSyncDomainMap: infinirtLaunchMemSyncDomainMap
    @property
    def memSyncDomain(self) -> infinirtLaunchMemSyncDomain: ...
    @memSyncDomain.setter
    def memSyncDomain(self, value: infinirtLaunchMemSyncDomain | _Int) -> None: ...
    preferredClusterDim: _infinirtLaunchAttributeValue_preferredClusterDim
    launchCompletionEvent: _infinirtLaunchAttributeValue_launchCompletionEvent
    deviceUpdatableKernelNode: _infinirtLaunchAttributeValue_deviceUpdatableKernelNode
    sharedMemCarveout: int

class infinirtLaunchAttribute(_Struct):
    @property
    def id(self) -> infinirtLaunchAttributeID: ...
    @id.setter
    def id(self, value: infinirtLaunchAttributeID | _Int) -> None: ...
    val: infinirtLaunchAttributeValue

class infinirtLaunchConfig_t(_Struct):
    gridDim: dim3
    blockDim: dim3
    dynamicSmemBytes: int
    @property
    def stream(self) -> infinirtStream_t: ...
    @stream.setter
    def stream(self, value: _Stream) -> None: ...
    attrs: list[infinirtLaunchAttribute]
    numAttrs: int

class infinirtlibraryHostUniversalFunctionAndDataTable(_Struct):
    @property
    def functionTable(self) -> int: ...
    @functionTable.setter
    def functionTable(self, value: _Pointer) -> None: ...
    functionWindowSize: int
    @property
    def dataTable(self) -> int: ...
    @dataTable.setter
    def dataTable(self, value: _Pointer) -> None: ...
    dataWindowSize: int

class infinirtKernelNodeParams(_Struct):
    @property
    def func(self) -> int: ...
    @func.setter
    def func(self, value: _Pointer) -> None: ...
    gridDim: dim3
    blockDim: dim3
    sharedMemBytes: int
    @property
    def kernelParams(self) -> int: ...
    @kernelParams.setter
    def kernelParams(self, value: _KernelParams) -> None: ...
    extra: int

class infinirtKernelNodeParamsV2(_Struct):
    @property
    def func(self) -> int: ...
    @func.setter
    def func(self, value: _Pointer) -> None: ...
    gridDim: dim3
    blockDim: dim3
    sharedMemBytes: int
    @property
    def kernelParams(self) -> int: ...
    @kernelParams.setter
    def kernelParams(self, value: _KernelParams) -> None: ...
    extra: int

class infinirtMemcpyNodeParams(_Struct):
    flags: int
    copyParams: infinirtMemcpy3DParms

class infinirtMemsetParams(_Struct):
    @property
    def dst(self) -> int: ...
    @dst.setter
    def dst(self, value: _Pointer) -> None: ...
    pitch: int
    value: int
    elementSize: int
    width: int
    height: int

class infinirtMemsetParamsV2(_Struct):
    @property
    def dst(self) -> int: ...
    @dst.setter
    def dst(self, value: _Pointer) -> None: ...
    pitch: int
    value: int
    elementSize: int
    width: int
    height: int

class infinirtHostNodeParams(_Struct):
    @property
    def fn(self) -> infinirtHostFn_t: ...
    @fn.setter
    def fn(self, value: infinirtHostFn_t | _Int | Callable[[Any], object] | None) -> None: ...
    @property
    def userData(self) -> int: ...
    @userData.setter
    def userData(self, value: _Pointer) -> None: ...

class infinirtHostNodeParamsV2(_Struct):
    @property
    def fn(self) -> infinirtHostFn_t: ...
    @fn.setter
    def fn(self, value: infinirtHostFn_t | _Int | Callable[[Any], object] | None) -> None: ...
    @property
    def userData(self) -> int: ...
    @userData.setter
    def userData(self, value: _Pointer) -> None: ...

class infinirtMemAllocNodeParams(_Struct):
    poolProps: infinirtMemPoolProps
    accessDescs: list[infinirtMemAccessDesc]
    accessDescCount: int
    bytesize: int
    @property
    def dptr(self) -> int: ...
    @dptr.setter
    def dptr(self, value: _Pointer) -> None: ...

class infinirtMemAllocNodeParamsV2(_Struct):
    poolProps: infinirtMemPoolProps
    accessDescs: list[infinirtMemAccessDesc]
    accessDescCount: int
    bytesize: int
    @property
    def dptr(self) -> int: ...
    @dptr.setter
    def dptr(self, value: _Pointer) -> None: ...

class infinirtMemFreeNodeParams(_Struct):
    @property
    def dptr(self) -> int: ...
    @dptr.setter
    def dptr(self, value: _Pointer) -> None: ...

class infinirtChildGraphNodeParams(_Struct):
    @property
    def graph(self) -> infinirtGraph_t: ...
    @graph.setter
    def graph(self, value: infinirtGraph_t | _Int | None) -> None: ...
    @property
    def ownership(self) -> infinirtGraphChildGraphNodeOwnership: ...
    @ownership.setter
    def ownership(self, value: infinirtGraphChildGraphNodeOwnership | _Int) -> None: ...

class infinirtEventRecordNodeParams(_Struct):
    @property
    def event(self) -> infinirtEvent_t: ...
    @event.setter
    def event(self, value: infinirtEvent_t | _Int | None) -> None: ...

class infinirtEventWaitNodeParams(_Struct):
    @property
    def event(self) -> infinirtEvent_t: ...
    @event.setter
    def event(self, value: infinirtEvent_t | _Int | None) -> None: ...

class _infinirtExternalSemaphoreSignalParams_params_fence(_Struct):
    value: int

class _infinirtExternalSemaphoreSignalParams_params_nvSciSync(_Struct):
    @property
    def fence(self) -> int: ...
    @fence.setter
    def fence(self, value: _Pointer) -> None: ...

class _infinirtExternalSemaphoreSignalParams_params_keyedMutex(_Struct):
    key: int

class _infinirtExternalSemaphoreSignalParams_params(_Struct):
    fence: _infinirtExternalSemaphoreSignalParams_params_fence
    nvSciSync: _infinirtExternalSemaphoreSignalParams_params_nvSciSync
    keyedMutex: _infinirtExternalSemaphoreSignalParams_params_keyedMutex

class infinirtExternalSemaphoreSignalParams(_Struct):
    params: _infinirtExternalSemaphoreSignalParams_params
    flags: int

class _infinirtExternalSemaphoreWaitParams_params_fence(_Struct):
    value: int

class _infinirtExternalSemaphoreWaitParams_params_nvSciSync(_Struct):
    @property
    def fence(self) -> int: ...
    @fence.setter
    def fence(self, value: _Pointer) -> None: ...

class _infinirtExternalSemaphoreWaitParams_params_keyedMutex(_Struct):
    key: int
    timeoutMs: int

class _infinirtExternalSemaphoreWaitParams_params(_Struct):
    fence: _infinirtExternalSemaphoreWaitParams_params_fence
    nvSciSync: _infinirtExternalSemaphoreWaitParams_params_nvSciSync
    keyedMutex: _infinirtExternalSemaphoreWaitParams_params_keyedMutex

class infinirtExternalSemaphoreWaitParams(_Struct):
    params: _infinirtExternalSemaphoreWaitParams_params
    flags: int

class infinirtExternalSemaphoreSignalNodeParamsV2(_Struct):
    extSemArray: list[infinirtExternalSemaphore_t]
    paramsArray: list[infinirtExternalSemaphoreSignalParams]
    numExtSems: int

class infinirtExternalSemaphoreWaitNodeParamsV2(_Struct):
    extSemArray: list[infinirtExternalSemaphore_t]
    paramsArray: list[infinirtExternalSemaphoreWaitParams]
    numExtSems: int

class infinirtConditionalNodeParams(_Struct):
    @property
    def handle(self) -> infinirtGraphConditionalHandle: ...
    @handle.setter
    def handle(self, value: infinirtGraphConditionalHandle | _Int | None) -> None: ...
    @property
    def type(self) -> infinirtGraphConditionalNodeType: ...
    @type.setter
    def type(self, value: infinirtGraphConditionalNodeType | _Int) -> None: ...
    size: int
    @property
    def phGraph_out(self) -> list[infinirtGraph_t]: ...

class infinirtGraphNodeParams(_Struct):
    @property
    def type(self) -> infinirtGraphNodeType: ...
    @type.setter
    def type(self, value: infinirtGraphNodeType | _Int) -> None: ...
    kernel: infinirtKernelNodeParamsV2
    memcpy: infinirtMemcpyNodeParams
    memset: infinirtMemsetParamsV2
    host: infinirtHostNodeParamsV2
    graph: infinirtChildGraphNodeParams
    eventWait: infinirtEventWaitNodeParams
    eventRecord: infinirtEventRecordNodeParams
    extSemSignal: infinirtExternalSemaphoreSignalNodeParamsV2
    extSemWait: infinirtExternalSemaphoreWaitNodeParamsV2
    alloc: infinirtMemAllocNodeParamsV2
    free: infinirtMemFreeNodeParams
    conditional: infinirtConditionalNodeParams

class infinirtGraphEdgeData(_Struct):
    from_port: int
    to_port: int
    type: int

class infinirtGraphInstantiateParams(_Struct):
    flags: int
    @property
    def uploadStream(self) -> infinirtStream_t: ...
    @uploadStream.setter
    def uploadStream(self, value: _Stream) -> None: ...
    @property
    def errNode_out(self) -> infinirtGraphNode_t: ...
    @errNode_out.setter
    def errNode_out(self, value: infinirtGraphNode_t | _Int | None) -> None: ...
    @property
    def result_out(self) -> infinirtGraphInstantiateResult: ...
    @result_out.setter
    def result_out(self, value: infinirtGraphInstantiateResult | _Int) -> None: ...

class infinirtGraphExecUpdateResultInfo(_Struct):
    @property
    def result(self) -> infinirtGraphExecUpdateResult: ...
    @result.setter
    def result(self, value: infinirtGraphExecUpdateResult | _Int) -> None: ...
    @property
    def errorNode(self) -> infinirtGraphNode_t: ...
    @errorNode.setter
    def errorNode(self, value: infinirtGraphNode_t | _Int | None) -> None: ...
    @property
    def errorFromNode(self) -> infinirtGraphNode_t: ...
    @errorFromNode.setter
    def errorFromNode(self, value: infinirtGraphNode_t | _Int | None) -> None: ...

infinirtError = infinirtError_t
infinirtGraphDependencyType_enum = infinirtGraphDependencyType
infinirtIpcEventHandle_st = infinirtIpcEventHandle_t
infinirtIpcMemHandle_st = infinirtIpcMemHandle_t
infinirtUUID_st = infinirtUUID_t
infinirtLaunchMemSyncDomainMap_st = infinirtLaunchMemSyncDomainMap
infinirtLaunchAttribute_st = infinirtLaunchAttribute
infinirtLaunchConfig_st = infinirtLaunchConfig_t
infinirtGraphEdgeData_st = infinirtGraphEdgeData
infinirtGraphInstantiateParams_st = infinirtGraphInstantiateParams
infinirtGraphExecUpdateResultInfo_st = infinirtGraphExecUpdateResultInfo
infinirtStreamAttrID = infinirtLaunchAttributeID
infinirtKernelNodeAttrID = infinirtLaunchAttributeID
infinirtStreamAttrValue = infinirtLaunchAttributeValue
infinirtKernelNodeAttrValue = infinirtLaunchAttributeValue

infinirtHostAllocDefault: int
infinirtHostAllocPortable: int
infinirtHostAllocMapped: int
infinirtHostAllocWriteCombined: int
infinirtHostRegisterDefault: int
infinirtHostRegisterPortable: int
infinirtHostRegisterMapped: int
infinirtHostRegisterIoMemory: int
infinirtHostRegisterReadOnly: int
infinirtPeerAccessDefault: int
infinirtStreamDefault: int
infinirtStreamNonBlocking: int
infinirtStreamLegacy: int
infinirtStreamPerThread: int
infinirtEventDefault: int
infinirtEventBlockingSync: int
infinirtEventDisableTiming: int
infinirtEventInterprocess: int
infinirtEventRecordDefault: int
infinirtEventRecordExternal: int
infinirtEventWaitDefault: int
infinirtEventWaitExternal: int
infinirtDeviceScheduleAuto: int
infinirtDeviceScheduleSpin: int
infinirtDeviceScheduleYield: int
infinirtDeviceScheduleBlockingSync: int
infinirtDeviceBlockingSync: int
infinirtDeviceScheduleMask: int
infinirtDeviceMapHost: int
infinirtDeviceLmemResizeToMax: int
infinirtDeviceSyncMemops: int
infinirtDeviceMask: int
infinirtInitDeviceFlagsAreValid: int
infinirtIpcMemLazyEnablePeerAccess: int
INFINIRT_IPC_HANDLE_SIZE: int
infinirtMemAttachGlobal: int
infinirtMemAttachHost: int
infinirtMemAttachSingle: int
infinirtMemPoolCreateUsageHwDecompress: int
infinirtOccupancyDefault: int
infinirtOccupancyDisableCachingOverride: int
infinirtCpuDeviceId: int
infinirtInvalidDeviceId: int
infinirtGraphKernelNodePortDefault: int
infinirtGraphKernelNodePortProgrammatic: int
infinirtGraphKernelNodePortLaunchCompletion: int
infinirtStreamAttributeAccessPolicyWindow: int
infinirtStreamAttributeSynchronizationPolicy: int
infinirtStreamAttributeMemSyncDomainMap: int
infinirtStreamAttributeMemSyncDomain: int
infinirtStreamAttributePriority: int
infinirtKernelNodeAttributeAccessPolicyWindow: int
infinirtKernelNodeAttributeCooperative: int
infinirtKernelNodeAttributePriority: int
infinirtKernelNodeAttributeClusterDimension: int
infinirtKernelNodeAttributeClusterSchedulingPolicyPreference: int
infinirtKernelNodeAttributeMemSyncDomainMap: int
infinirtKernelNodeAttributeMemSyncDomain: int
infinirtKernelNodeAttributePreferredSharedMemoryCarveout: int
infinirtKernelNodeAttributeDeviceUpdatableKernelNode: int
infinirtKernelNodeAttributeNvlinkUtilCentricScheduling: int

def infinirtGetDeviceCount() -> tuple[infinirtError_t, int]: ...
def infinirtSetDevice(device: _Int) -> tuple[infinirtError_t]: ...
def infinirtGetDevice() -> tuple[infinirtError_t, int]: ...
def infinirtDeviceSynchronize() -> tuple[infinirtError_t]: ...
def infinirtDeviceReset() -> tuple[infinirtError_t]: ...
def infinirtDeviceGetAttribute(
    attr: infinirtDeviceAttr | _Int, device: _Int
) -> tuple[infinirtError_t, int]: ...
def infinirtDeviceGetByPCIBusId(pciBusId: _Text) -> tuple[infinirtError_t, int]: ...
def infinirtDeviceGetStreamPriorityRange() -> tuple[infinirtError_t, int, int]: ...
def infinirtDeviceCanAccessPeer(device: _Int, peerDevice: _Int) -> tuple[infinirtError_t, int]: ...
def infinirtDeviceEnablePeerAccess(peerDevice: _Int, flags: _Int) -> tuple[infinirtError_t]: ...
def infinirtDeviceDisablePeerAccess(peerDevice: _Int) -> tuple[infinirtError_t]: ...
def infinirtDeviceGetP2PAttribute(
    attr: infinirtDeviceP2PAttr | _Int, srcDevice: _Int, dstDevice: _Int
) -> tuple[infinirtError_t, int]: ...
def infinirtDeviceGetDefaultMemPool(device: _Int) -> tuple[infinirtError_t, infinirtMemPool_t]: ...
def infinirtDeviceGetMemPool(device: _Int) -> tuple[infinirtError_t, infinirtMemPool_t]: ...
def infinirtDeviceSetMemPool(
    device: _Int, memPool: infinirtMemPool_t | _Int | None
) -> tuple[infinirtError_t]: ...
def infinirtDeviceGetLimit(limit: infinirtLimit | _Int) -> tuple[infinirtError_t, int]: ...
def infinirtDeviceSetLimit(limit: infinirtLimit | _Int, value: _Int) -> tuple[infinirtError_t]: ...
def infinirtDeviceGetCacheConfig() -> tuple[infinirtError_t, infinirtFuncCache]: ...
def infinirtDeviceSetCacheConfig(cacheConfig: infinirtFuncCache | _Int) -> tuple[infinirtError_t]: ...
def infinirtCtxResetPersistingL2Cache() -> tuple[infinirtError_t]: ...
def infinirtDriverGetVersion() -> tuple[infinirtError_t, int]: ...
def infinirtRuntimeGetVersion() -> tuple[infinirtError_t, int]: ...
def infinirtSetDeviceFlags(flags: _Int) -> tuple[infinirtError_t]: ...
def infinirtGetDeviceFlags() -> tuple[infinirtError_t, int]: ...
def infinirtChooseDevice(prop: infinirtDeviceProp | None) -> tuple[infinirtError_t, int]: ...
def infinirtInitDevice(device: _Int, deviceFlags: _Int, flags: _Int) -> tuple[infinirtError_t]: ...
def infinirtGetDriverEntryPoint(
    symbol: _Text, flags: _Int
) -> tuple[infinirtError_t, int, infinirtDriverEntryPointQueryResult]: ...
def infinirtGetDriverEntryPointByVersion(
    symbol: _Text, infinirtVersion: _Int, flags: _Int
) -> tuple[infinirtError_t, int, infinirtDriverEntryPointQueryResult]: ...
def infinirtDeviceGraphMemTrim(device: _Int) -> tuple[infinirtError_t]: ...
def infinirtGetLastError() -> tuple[infinirtError_t]: ...
def infinirtPeekAtLastError() -> tuple[infinirtError_t]: ...
def infinirtGetErrorName(error: infinirtError_t | _Int) -> tuple[infinirtError_t, bytes]: ...
def infinirtGetErrorString(error: infinirtError_t | _Int) -> tuple[infinirtError_t, bytes]: ...
def infinirtStreamCreate() -> tuple[infinirtError_t, infinirtStream_t]: ...
def infinirtStreamCreateWithFlags(flags: _Int) -> tuple[infinirtError_t, infinirtStream_t]: ...
def infinirtStreamCreateWithPriority(
    flags: _Int, priority: _Int
) -> tuple[infinirtError_t, infinirtStream_t]: ...
def infinirtStreamDestroy(stream: _Stream) -> tuple[infinirtError_t]: ...
def infinirtStreamQuery(stream: _Stream) -> tuple[infinirtError_t]: ...
def infinirtStreamSynchronize(stream: _Stream) -> tuple[infinirtError_t]: ...
def infinirtStreamWaitEvent(
    stream: _Stream, event: infinirtEvent_t | _Int | None, flags: _Int
) -> tuple[infinirtError_t]: ...
def infinirtStreamGetFlags(hStream: _Stream) -> tuple[infinirtError_t, int]: ...
def infinirtStreamGetPriority(hStream: _Stream) -> tuple[infinirtError_t, int]: ...
def infinirtStreamGetId(hStream: _Stream) -> tuple[infinirtError_t, int]: ...
def infinirtStreamGetDevice(hStream: _Stream) -> tuple[infinirtError_t, int]: ...
def infinirtStreamBeginCapture(
    stream: _Stream, mode: infinirtStreamCaptureMode | _Int
) -> tuple[infinirtError_t]: ...
def infinirtStreamBeginCaptureToGraph(
    stream: _Stream,
    graph: infinirtGraph_t | _Int | None,
    dependencies: _Sequence[infinirtGraphNode_t],
    dependencyData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
    mode: infinirtStreamCaptureMode | _Int,
) -> tuple[infinirtError_t]: ...
def infinirtStreamEndCapture(stream: _Stream) -> tuple[infinirtError_t, infinirtGraph_t]: ...
def infinirtStreamIsCapturing(stream: _Stream) -> tuple[infinirtError_t, infinirtStreamCaptureStatus]: ...
@overload
def infinirtStreamUpdateCaptureDependencies(
    stream: _Stream,
    dependencies: _Sequence[infinirtGraphNode_t],
    dependencyData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
    flags: _Int,
) -> tuple[infinirtError_t]: ...
@overload
def infinirtStreamUpdateCaptureDependencies(
    stream: _Stream, dependencies: _Sequence[infinirtGraphNode_t], numDependencies: _Int, flags: _Int
) -> tuple[infinirtError_t]: ...
def infinirtStreamUpdateCaptureDependencies_v2(
    stream: _Stream,
    dependencies: _Sequence[infinirtGraphNode_t],
    dependencyData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
    flags: _Int,
) -> tuple[infinirtError_t]: ...
def infinirtStreamAttachMemAsync(
    stream: _Stream, devPtr: _Pointer, length: _Int, flags: _Int
) -> tuple[infinirtError_t]: ...
def infinirtStreamGetAttribute(
    hStream: _Stream, attr: infinirtLaunchAttributeID | _Int
) -> tuple[infinirtError_t, infinirtLaunchAttributeValue]: ...
def infinirtStreamSetAttribute(
    hStream: _Stream, attr: infinirtLaunchAttributeID | _Int, value: infinirtLaunchAttributeValue | None
) -> tuple[infinirtError_t]: ...
def infinirtStreamCopyAttributes(dst: _Stream, src: _Stream) -> tuple[infinirtError_t]: ...
def infinirtEventCreate() -> tuple[infinirtError_t, infinirtEvent_t]: ...
def infinirtEventCreateWithFlags(flags: _Int) -> tuple[infinirtError_t, infinirtEvent_t]: ...
def infinirtEventDestroy(event: infinirtEvent_t | _Int | None) -> tuple[infinirtError_t]: ...
def infinirtEventQuery(event: infinirtEvent_t | _Int | None) -> tuple[infinirtError_t]: ...
def infinirtEventRecord(event: infinirtEvent_t | _Int | None, stream: _Stream) -> tuple[infinirtError_t]: ...
def infinirtEventRecordWithFlags(
    event: infinirtEvent_t | _Int | None, stream: _Stream, flags: _Int
) -> tuple[infinirtError_t]: ...
def infinirtEventSynchronize(event: infinirtEvent_t | _Int | None) -> tuple[infinirtError_t]: ...
def infinirtEventElapsedTime(
    start: infinirtEvent_t | _Int | None, end: infinirtEvent_t | _Int | None
) -> tuple[infinirtError_t, float]: ...
def infinirtEventElapsedTime_v2(
    start: infinirtEvent_t | _Int | None, end: infinirtEvent_t | _Int | None
) -> tuple[infinirtError_t, float]: ...
def infinirtMalloc(size: _Int) -> tuple[infinirtError_t, int]: ...
def infinirtMallocHost(size: _Int) -> tuple[infinirtError_t, int]: ...
def infinirtMallocManaged(size: _Int, flags: _Int) -> tuple[infinirtError_t, int]: ...
def infinirtMallocPitch(width: _Int, height: _Int) -> tuple[infinirtError_t, int, int]: ...
def infinirtMalloc3D(extent: infinirtExtent) -> tuple[infinirtError_t, infinirtPitchedPtr]: ...
def infinirtHostAlloc(size: _Int, flags: _Int) -> tuple[infinirtError_t, int]: ...
def infinirtHostRegister(ptr: _Pointer, size: _Int, flags: _Int) -> tuple[infinirtError_t]: ...
def infinirtHostUnregister(ptr: _Pointer) -> tuple[infinirtError_t]: ...
def infinirtHostGetDevicePointer(pHost: _Pointer, flags: _Int) -> tuple[infinirtError_t, int]: ...
def infinirtHostGetFlags(pHost: _Pointer) -> tuple[infinirtError_t, int]: ...
def infinirtFree(devPtr: _Pointer) -> tuple[infinirtError_t]: ...
def infinirtFreeHost(ptr: _Pointer) -> tuple[infinirtError_t]: ...
def infinirtMemGetInfo() -> tuple[infinirtError_t, int, int]: ...
def infinirtMemcpy(
    dst: _Pointer, src: _Pointer, count: _Int, kind: infinirtMemcpyKind | _Int
) -> tuple[infinirtError_t]: ...
def infinirtMemcpyAsync(
    dst: _Pointer, src: _Pointer, count: _Int, kind: infinirtMemcpyKind | _Int, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtMemcpy2D(
    dst: _Pointer,
    dpitch: _Int,
    src: _Pointer,
    spitch: _Int,
    width: _Int,
    height: _Int,
    kind: infinirtMemcpyKind | _Int,
) -> tuple[infinirtError_t]: ...
def infinirtMemcpy2DAsync(
    dst: _Pointer,
    dpitch: _Int,
    src: _Pointer,
    spitch: _Int,
    width: _Int,
    height: _Int,
    kind: infinirtMemcpyKind | _Int,
    stream: _Stream,
) -> tuple[infinirtError_t]: ...
def infinirtMemcpy3D(p: infinirtMemcpy3DParms | None) -> tuple[infinirtError_t]: ...
def infinirtMemcpy3DAsync(p: infinirtMemcpy3DParms | None, stream: _Stream) -> tuple[infinirtError_t]: ...
def infinirtMemcpyPeer(
    dst: _Pointer, dstDevice: _Int, src: _Pointer, srcDevice: _Int, count: _Int
) -> tuple[infinirtError_t]: ...
def infinirtMemcpyPeerAsync(
    dst: _Pointer, dstDevice: _Int, src: _Pointer, srcDevice: _Int, count: _Int, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtMemcpy3DPeer(p: infinirtMemcpy3DPeerParms | None) -> tuple[infinirtError_t]: ...
def infinirtMemcpy3DPeerAsync(
    p: infinirtMemcpy3DPeerParms | None, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtMemset(devPtr: _Pointer, value: _Int, count: _Int) -> tuple[infinirtError_t]: ...
def infinirtMemsetAsync(
    devPtr: _Pointer, value: _Int, count: _Int, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtMemset2D(
    devPtr: _Pointer, pitch: _Int, value: _Int, width: _Int, height: _Int
) -> tuple[infinirtError_t]: ...
def infinirtMemset2DAsync(
    devPtr: _Pointer, pitch: _Int, value: _Int, width: _Int, height: _Int, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtMemset3D(
    pitchedDevPtr: infinirtPitchedPtr, value: _Int, extent: infinirtExtent
) -> tuple[infinirtError_t]: ...
def infinirtMemset3DAsync(
    pitchedDevPtr: infinirtPitchedPtr, value: _Int, extent: infinirtExtent, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtPointerGetAttributes(ptr: _Pointer) -> tuple[infinirtError_t, infinirtPointerAttributes]: ...
@overload
def infinirtMemPrefetchAsync(
    devPtr: _Pointer, count: _Int, location: infinirtMemLocation, flags: _Int, stream: _Stream
) -> tuple[infinirtError_t]: ...
@overload
def infinirtMemPrefetchAsync(
    devPtr: _Pointer, count: _Int, dstDevice: _Int, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtMemPrefetchAsync_v2(
    devPtr: _Pointer, count: _Int, location: infinirtMemLocation, flags: _Int, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtMemAdvise_v2(
    devPtr: _Pointer, count: _Int, advice: infinirtMemoryAdvise | _Int, location: infinirtMemLocation
) -> tuple[infinirtError_t]: ...
def infinirtMallocAsync(size: _Int, hStream: _Stream) -> tuple[infinirtError_t, int]: ...
def infinirtFreeAsync(devPtr: _Pointer, hStream: _Stream) -> tuple[infinirtError_t]: ...
def infinirtMallocFromPoolAsync(
    size: _Int, memPool: infinirtMemPool_t | _Int | None, stream: _Stream
) -> tuple[infinirtError_t, int]: ...
def infinirtMemPoolCreate(
    poolProps: infinirtMemPoolProps | None,
) -> tuple[infinirtError_t, infinirtMemPool_t]: ...
def infinirtMemPoolDestroy(memPool: infinirtMemPool_t | _Int | None) -> tuple[infinirtError_t]: ...
def infinirtMemPoolTrimTo(
    memPool: infinirtMemPool_t | _Int | None, minBytesToKeep: _Int
) -> tuple[infinirtError_t]: ...
def infinirtMemPoolSetAccess(
    memPool: infinirtMemPool_t | _Int | None, descList: _Sequence[infinirtMemAccessDesc], count: _Int
) -> tuple[infinirtError_t]: ...
def infinirtMemPoolGetAccess(
    memPool: infinirtMemPool_t | _Int | None, location: infinirtMemLocation | None
) -> tuple[infinirtError_t, infinirtMemAccessFlags]: ...
def infinirtMemPoolImportFromShareableHandle(
    shareableHandle: _Pointer, handleType: infinirtMemAllocationHandleType | _Int, flags: _Int
) -> tuple[infinirtError_t, infinirtMemPool_t]: ...
def infinirtMemPoolExportPointer(ptr: _Pointer) -> tuple[infinirtError_t, infinirtMemPoolPtrExportData]: ...
def infinirtMemPoolImportPointer(
    memPool: infinirtMemPool_t | _Int | None, exportData: infinirtMemPoolPtrExportData | None
) -> tuple[infinirtError_t, int]: ...
def infinirtFuncGetAttributes(func: _Pointer) -> tuple[infinirtError_t, infinirtFuncAttributes]: ...
def infinirtFuncSetAttribute(
    func: _Pointer, attr: infinirtFuncAttribute | _Int, value: _Int
) -> tuple[infinirtError_t]: ...
def infinirtFuncSetCacheConfig(
    func: _Pointer, cacheConfig: infinirtFuncCache | _Int
) -> tuple[infinirtError_t]: ...
def infinirtFuncGetName(func: _Pointer) -> tuple[infinirtError_t, bytes]: ...
def infinirtFuncGetParamInfo(func: _Pointer, paramIndex: _Int) -> tuple[infinirtError_t, int, int]: ...
def infinirtGetKernel(entryFuncAddr: _Pointer) -> tuple[infinirtError_t, infinirtKernel_t]: ...
def infinirtLibraryUnload(library: infinirtLibrary_t | _Int | None) -> tuple[infinirtError_t]: ...
def infinirtLibraryGetKernel(
    library: infinirtLibrary_t | _Int | None, name: _Text
) -> tuple[infinirtError_t, infinirtKernel_t]: ...
def infinirtLibraryGetKernelCount(lib: infinirtLibrary_t | _Int | None) -> tuple[infinirtError_t, int]: ...
def infinirtKernelSetAttributeForDevice(
    kernel: infinirtKernel_t | _Int | None, attr: infinirtFuncAttribute | _Int, value: _Int, device: _Int
) -> tuple[infinirtError_t]: ...
def infinirtOccupancyMaxActiveBlocksPerMultiprocessor(
    func: _Pointer, blockSize: _Int, dynamicSMemSize: _Int
) -> tuple[infinirtError_t, int]: ...
def infinirtOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    func: _Pointer, blockSize: _Int, dynamicSMemSize: _Int, flags: _Int
) -> tuple[infinirtError_t, int]: ...
def infinirtOccupancyAvailableDynamicSMemPerBlock(
    func: _Pointer, numBlocks: _Int, blockSize: _Int
) -> tuple[infinirtError_t, int]: ...
def infinirtIpcGetMemHandle(devPtr: _Pointer) -> tuple[infinirtError_t, infinirtIpcMemHandle_t]: ...
def infinirtIpcOpenMemHandle(handle: infinirtIpcMemHandle_t, flags: _Int) -> tuple[infinirtError_t, int]: ...
def infinirtIpcCloseMemHandle(devPtr: _Pointer) -> tuple[infinirtError_t]: ...
def infinirtIpcGetEventHandle(
    event: infinirtEvent_t | _Int | None,
) -> tuple[infinirtError_t, infinirtIpcEventHandle_t]: ...
def infinirtIpcOpenEventHandle(
    handle: infinirtIpcEventHandle_t,
) -> tuple[infinirtError_t, infinirtEvent_t]: ...
def infinirtGraphCreate(flags: _Int) -> tuple[infinirtError_t, infinirtGraph_t]: ...
def infinirtGraphDestroy(graph: infinirtGraph_t | _Int | None) -> tuple[infinirtError_t]: ...
def infinirtGraphClone(
    originalGraph: infinirtGraph_t | _Int | None,
) -> tuple[infinirtError_t, infinirtGraph_t]: ...
@overload
def infinirtGraphAddNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    dependencyData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
    nodeParams: infinirtGraphNodeParams | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
@overload
def infinirtGraphAddNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    nodeParams: infinirtGraphNodeParams | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddNode_v2(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    dependencyData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
    nodeParams: infinirtGraphNodeParams | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddEmptyNode(
    graph: infinirtGraph_t | _Int | None, pDependencies: _Sequence[infinirtGraphNode_t], numDependencies: _Int
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddMemcpyNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    pCopyParams: infinirtMemcpy3DParms | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddMemcpyNode1D(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    dst: _Pointer,
    src: _Pointer,
    count: _Int,
    kind: infinirtMemcpyKind | _Int,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddMemsetNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    pMemsetParams: infinirtMemsetParams | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddHostNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    pNodeParams: infinirtHostNodeParams | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddKernelNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    pNodeParams: infinirtKernelNodeParams | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddChildGraphNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    childGraph: infinirtGraph_t | _Int | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddEventRecordNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    event: infinirtEvent_t | _Int | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddEventWaitNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    event: infinirtEvent_t | _Int | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddMemAllocNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    nodeParams: infinirtMemAllocNodeParams | None,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphAddMemFreeNode(
    graph: infinirtGraph_t | _Int | None,
    pDependencies: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
    dptr: _Pointer,
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
@overload
def infinirtGraphAddDependencies(
    graph: infinirtGraph_t | _Int | None,
    from_: _Sequence[infinirtGraphNode_t],
    to: _Sequence[infinirtGraphNode_t],
    edgeData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
) -> tuple[infinirtError_t]: ...
@overload
def infinirtGraphAddDependencies(
    graph: infinirtGraph_t | _Int | None,
    from_: _Sequence[infinirtGraphNode_t],
    to: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
) -> tuple[infinirtError_t]: ...
def infinirtGraphAddDependencies_v2(
    graph: infinirtGraph_t | _Int | None,
    from_: _Sequence[infinirtGraphNode_t],
    to: _Sequence[infinirtGraphNode_t],
    edgeData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
) -> tuple[infinirtError_t]: ...
@overload
def infinirtGraphRemoveDependencies(
    graph: infinirtGraph_t | _Int | None,
    from_: _Sequence[infinirtGraphNode_t],
    to: _Sequence[infinirtGraphNode_t],
    edgeData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
) -> tuple[infinirtError_t]: ...
@overload
def infinirtGraphRemoveDependencies(
    graph: infinirtGraph_t | _Int | None,
    from_: _Sequence[infinirtGraphNode_t],
    to: _Sequence[infinirtGraphNode_t],
    numDependencies: _Int,
) -> tuple[infinirtError_t]: ...
def infinirtGraphRemoveDependencies_v2(
    graph: infinirtGraph_t | _Int | None,
    from_: _Sequence[infinirtGraphNode_t],
    to: _Sequence[infinirtGraphNode_t],
    edgeData: _Sequence[infinirtGraphEdgeData],
    numDependencies: _Int,
) -> tuple[infinirtError_t]: ...
def infinirtGraphNodeGetType(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtGraphNodeType]: ...
def infinirtGraphNodeFindInClone(
    originalNode: infinirtGraphNode_t | _Int | None, clonedGraph: infinirtGraph_t | _Int | None
) -> tuple[infinirtError_t, infinirtGraphNode_t]: ...
def infinirtGraphDestroyNode(node: infinirtGraphNode_t | _Int | None) -> tuple[infinirtError_t]: ...
def infinirtGraphKernelNodeGetParams(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtKernelNodeParams]: ...
def infinirtGraphKernelNodeSetParams(
    node: infinirtGraphNode_t | _Int | None, pNodeParams: infinirtKernelNodeParams | None
) -> tuple[infinirtError_t]: ...
def infinirtGraphKernelNodeCopyAttributes(
    hDst: infinirtGraphNode_t | _Int | None, hSrc: infinirtGraphNode_t | _Int | None
) -> tuple[infinirtError_t]: ...
def infinirtGraphKernelNodeGetAttribute(
    hNode: infinirtGraphNode_t | _Int | None, attr: infinirtLaunchAttributeID | _Int
) -> tuple[infinirtError_t, infinirtLaunchAttributeValue]: ...
def infinirtGraphKernelNodeSetAttribute(
    hNode: infinirtGraphNode_t | _Int | None,
    attr: infinirtLaunchAttributeID | _Int,
    value: infinirtLaunchAttributeValue | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphMemcpyNodeGetParams(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtMemcpy3DParms]: ...
def infinirtGraphMemcpyNodeSetParams(
    node: infinirtGraphNode_t | _Int | None, pNodeParams: infinirtMemcpy3DParms | None
) -> tuple[infinirtError_t]: ...
def infinirtGraphMemcpyNodeSetParams1D(
    node: infinirtGraphNode_t | _Int | None,
    dst: _Pointer,
    src: _Pointer,
    count: _Int,
    kind: infinirtMemcpyKind | _Int,
) -> tuple[infinirtError_t]: ...
def infinirtGraphMemsetNodeGetParams(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtMemsetParams]: ...
def infinirtGraphMemsetNodeSetParams(
    node: infinirtGraphNode_t | _Int | None, pNodeParams: infinirtMemsetParams | None
) -> tuple[infinirtError_t]: ...
def infinirtGraphHostNodeGetParams(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtHostNodeParams]: ...
def infinirtGraphHostNodeSetParams(
    node: infinirtGraphNode_t | _Int | None, pNodeParams: infinirtHostNodeParams | None
) -> tuple[infinirtError_t]: ...
def infinirtGraphChildGraphNodeGetGraph(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtGraph_t]: ...
def infinirtGraphEventRecordNodeGetEvent(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtEvent_t]: ...
def infinirtGraphEventRecordNodeSetEvent(
    node: infinirtGraphNode_t | _Int | None, event: infinirtEvent_t | _Int | None
) -> tuple[infinirtError_t]: ...
def infinirtGraphEventWaitNodeGetEvent(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtEvent_t]: ...
def infinirtGraphEventWaitNodeSetEvent(
    node: infinirtGraphNode_t | _Int | None, event: infinirtEvent_t | _Int | None
) -> tuple[infinirtError_t]: ...
def infinirtGraphMemAllocNodeGetParams(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, infinirtMemAllocNodeParams]: ...
def infinirtGraphMemFreeNodeGetParams(
    node: infinirtGraphNode_t | _Int | None,
) -> tuple[infinirtError_t, int]: ...
def infinirtGraphNodeSetParams(
    node: infinirtGraphNode_t | _Int | None, nodeParams: infinirtGraphNodeParams | None
) -> tuple[infinirtError_t]: ...
def infinirtGraphInstantiate(
    graph: infinirtGraph_t | _Int | None, flags: _Int
) -> tuple[infinirtError_t, infinirtGraphExec_t]: ...
def infinirtGraphInstantiateWithFlags(
    graph: infinirtGraph_t | _Int | None, flags: _Int
) -> tuple[infinirtError_t, infinirtGraphExec_t]: ...
def infinirtGraphInstantiateWithParams(
    graph: infinirtGraph_t | _Int | None, instantiateParams: infinirtGraphInstantiateParams | None
) -> tuple[infinirtError_t, infinirtGraphExec_t]: ...
def infinirtGraphExecGetFlags(
    graphExec: infinirtGraphExec_t | _Int | None,
) -> tuple[infinirtError_t, int]: ...
def infinirtGraphUpload(
    graphExec: infinirtGraphExec_t | _Int | None, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtGraphLaunch(
    graphExec: infinirtGraphExec_t | _Int | None, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecDestroy(graphExec: infinirtGraphExec_t | _Int | None) -> tuple[infinirtError_t]: ...
def infinirtGraphExecUpdate(
    hGraphExec: infinirtGraphExec_t | _Int | None, hGraph: infinirtGraph_t | _Int | None
) -> tuple[infinirtError_t, infinirtGraphExecUpdateResultInfo]: ...
def infinirtGraphExecNodeSetParams(
    graphExec: infinirtGraphExec_t | _Int | None,
    node: infinirtGraphNode_t | _Int | None,
    nodeParams: infinirtGraphNodeParams | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecKernelNodeSetParams(
    hGraphExec: infinirtGraphExec_t | _Int | None,
    node: infinirtGraphNode_t | _Int | None,
    pNodeParams: infinirtKernelNodeParams | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecMemcpyNodeSetParams(
    hGraphExec: infinirtGraphExec_t | _Int | None,
    node: infinirtGraphNode_t | _Int | None,
    pNodeParams: infinirtMemcpy3DParms | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecMemcpyNodeSetParams1D(
    hGraphExec: infinirtGraphExec_t | _Int | None,
    node: infinirtGraphNode_t | _Int | None,
    dst: _Pointer,
    src: _Pointer,
    count: _Int,
    kind: infinirtMemcpyKind | _Int,
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecMemsetNodeSetParams(
    hGraphExec: infinirtGraphExec_t | _Int | None,
    node: infinirtGraphNode_t | _Int | None,
    pNodeParams: infinirtMemsetParams | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecHostNodeSetParams(
    hGraphExec: infinirtGraphExec_t | _Int | None,
    node: infinirtGraphNode_t | _Int | None,
    pNodeParams: infinirtHostNodeParams | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecChildGraphNodeSetParams(
    hGraphExec: infinirtGraphExec_t | _Int | None,
    node: infinirtGraphNode_t | _Int | None,
    childGraph: infinirtGraph_t | _Int | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecEventRecordNodeSetEvent(
    hGraphExec: infinirtGraphExec_t | _Int | None,
    hNode: infinirtGraphNode_t | _Int | None,
    event: infinirtEvent_t | _Int | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphExecEventWaitNodeSetEvent(
    hGraphExec: infinirtGraphExec_t | _Int | None,
    hNode: infinirtGraphNode_t | _Int | None,
    event: infinirtEvent_t | _Int | None,
) -> tuple[infinirtError_t]: ...
def infinirtGraphNodeSetEnabled(
    hGraphExec: infinirtGraphExec_t | _Int | None, hNode: infinirtGraphNode_t | _Int | None, isEnabled: _Int
) -> tuple[infinirtError_t]: ...
def infinirtGraphNodeGetEnabled(
    hGraphExec: infinirtGraphExec_t | _Int | None, hNode: infinirtGraphNode_t | _Int | None
) -> tuple[infinirtError_t, int]: ...
def infinirtGraphDebugDotPrint(
    graph: infinirtGraph_t | _Int | None, path: _Text, flags: _Int
) -> tuple[infinirtError_t]: ...
def infinirtUserObjectRetain(
    object: infinirtUserObject_t | _Int | None, count: _Int
) -> tuple[infinirtError_t]: ...
def infinirtUserObjectRelease(
    object: infinirtUserObject_t | _Int | None, count: _Int
) -> tuple[infinirtError_t]: ...
def infinirtGraphRetainUserObject(
    graph: infinirtGraph_t | _Int | None, object: infinirtUserObject_t | _Int | None, count: _Int, flags: _Int
) -> tuple[infinirtError_t]: ...
def infinirtGraphReleaseUserObject(
    graph: infinirtGraph_t | _Int | None, object: infinirtUserObject_t | _Int | None, count: _Int
) -> tuple[infinirtError_t]: ...
def infinirtProfilerStart() -> tuple[infinirtError_t]: ...
def infinirtProfilerStop() -> tuple[infinirtError_t]: ...
def infinirtXSetDeviceType(type: _Text) -> tuple[infinirtError_t]: ...
def infinirtXGetDeviceType() -> tuple[infinirtError_t, str]: ...
def infinirtXGetDeviceTypeCount() -> tuple[infinirtError_t, int]: ...
def infinirtXGetLastErrorMessage() -> tuple[infinirtError_t, str]: ...
def infinirtXGetSupport(type: _Text, function: _Text) -> tuple[infinirtError_t, infinirtXSupport]: ...
def infinirtXStreamGetDevice(stream: _Stream) -> tuple[infinirtError_t, str, int]: ...
def infinirtXStreamBeginNative(stream: _Stream) -> tuple[infinirtError_t, int]: ...
def infinirtXStreamEndNative(stream: _Stream, native: _Pointer) -> tuple[infinirtError_t]: ...
def infinirtXPointerGetNative(pointer: _Pointer) -> tuple[infinirtError_t, int]: ...
def infinirtXPointerGetDevice(pointer: _Pointer) -> tuple[infinirtError_t, str, int]: ...
def infinirtXCacheAllocate(
    size: _Int, cache: infinirtXCache_t | _Int | None, stream: _Stream
) -> tuple[infinirtError_t, int]: ...
def infinirtXCacheFree(
    ptr: _Pointer, cache: infinirtXCache_t | _Int | None, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtXSetMemoryLimit(device: _Int, bytes: _Int) -> tuple[infinirtError_t]: ...
def infinirtXGetHostAddress(devicePointer: _Pointer) -> tuple[infinirtError_t, int]: ...
def infinirtXSeedSchedule(seed: _Int) -> tuple[infinirtError_t]: ...
def infinirtXDrain(milliseconds: _Int) -> tuple[infinirtError_t]: ...
def infinirtGetDeviceProperties(device: _Int) -> tuple[infinirtError_t, infinirtDeviceProp]: ...
def infinirtGetDeviceProperties_v2(device: _Int) -> tuple[infinirtError_t, infinirtDeviceProp]: ...
def infinirtDeviceGetPCIBusId(length: _Int, device: _Int) -> tuple[infinirtError_t, bytes]: ...
def infinirtSetValidDevices(device_arr: _Sequence[int], len: _Int) -> tuple[infinirtError_t]: ...
def infinirtDeviceGetGraphMemAttribute(
    device: _Int, attr: infinirtGraphMemAttributeType | _Int
) -> tuple[infinirtError_t, cuuint64_t]: ...
def infinirtDeviceSetGraphMemAttribute(
    device: _Int, attr: infinirtGraphMemAttributeType | _Int, value: _Int
) -> tuple[infinirtError_t]: ...
def infinirtStreamAddCallback(
    stream: _Stream, callback: _StreamCallback, userData: Any, flags: _Int
) -> tuple[infinirtError_t]: ...
def infinirtStreamGetCaptureInfo(
    stream: _Stream,
) -> tuple[
    infinirtError_t,
    infinirtStreamCaptureStatus,
    int,
    infinirtGraph_t,
    list[infinirtGraphNode_t],
    list[infinirtGraphEdgeData],
    int,
]: ...
def infinirtStreamGetCaptureInfo_v2(
    stream: _Stream,
) -> tuple[
    infinirtError_t, infinirtStreamCaptureStatus, int, infinirtGraph_t, list[infinirtGraphNode_t], int
]: ...
def infinirtStreamGetCaptureInfo_v3(
    stream: _Stream,
) -> tuple[
    infinirtError_t,
    infinirtStreamCaptureStatus,
    int,
    infinirtGraph_t,
    list[infinirtGraphNode_t],
    list[infinirtGraphEdgeData],
    int,
]: ...
def infinirtThreadExchangeStreamCaptureMode(
    mode: infinirtStreamCaptureMode | _Int,
) -> tuple[infinirtError_t, infinirtStreamCaptureMode]: ...
def infinirtMemAdvise(
    devPtr: _Pointer, count: _Int, advice: infinirtMemoryAdvise | _Int, location: infinirtMemLocation | _Int
) -> tuple[infinirtError_t]: ...
def infinirtMemcpyBatchAsync(
    dsts: _Sequence[Any],
    srcs: _Sequence[Any],
    sizes: _Sequence[int],
    count: _Int,
    attrs: _Sequence[infinirtMemcpyAttributes],
    attrsIdxs: _Sequence[int],
    numAttrs: _Int,
    stream: _Stream,
) -> tuple[infinirtError_t]: ...
def infinirtMemcpy3DBatchAsync(
    numOps: _Int, opList: _Sequence[infinirtMemcpy3DBatchOp], flags: _Int, stream: _Stream
) -> tuple[infinirtError_t]: ...
def infinirtMemRangeGetAttribute(
    dataSize: _Int, attribute: infinirtMemRangeAttribute | _Int, devPtr: _Pointer, count: _Int
) -> tuple[infinirtError_t, int | list[int]]: ...
def infinirtMemRangeGetAttributes(
    dataSizes: _Sequence[int],
    attributes: _Sequence[infinirtMemRangeAttribute],
    numAttributes: _Int,
    devPtr: _Pointer,
    count: _Int,
) -> tuple[infinirtError_t, list[int | list[int]]]: ...
def infinirtMemPoolSetAttribute(
    memPool: infinirtMemPool_t | _Int | None, attr: infinirtMemPoolAttr | _Int, value: _Int
) -> tuple[infinirtError_t]: ...
def infinirtMemPoolGetAttribute(
    memPool: infinirtMemPool_t | _Int | None, attr: infinirtMemPoolAttr | _Int
) -> tuple[infinirtError_t, int | cuuint64_t]: ...
def infinirtMemPoolExportToShareableHandle(
    memPool: infinirtMemPool_t | _Int | None, handleType: infinirtMemAllocationHandleType | _Int, flags: _Int
) -> tuple[infinirtError_t, int | bytes]: ...
def infinirtLaunchHostFunc(stream: _Stream, fn: _HostFunction, userData: Any) -> tuple[infinirtError_t]: ...
def infinirtLaunchKernel(
    func: _Pointer,
    gridDim: _Dim3,
    blockDim: _Dim3,
    args: _KernelParams,
    sharedMem: _Int = 0,
    stream: _Stream = None,
) -> tuple[infinirtError_t]: ...
def infinirtLaunchCooperativeKernel(
    func: _Pointer,
    gridDim: _Dim3,
    blockDim: _Dim3,
    args: _KernelParams,
    sharedMem: _Int = 0,
    stream: _Stream = None,
) -> tuple[infinirtError_t]: ...
def infinirtLaunchKernelExC(
    config: infinirtLaunchConfig_t | None, func: _Pointer, args: _KernelParams
) -> tuple[infinirtError_t]: ...
def infinirtLibraryLoadData(
    code: _Pointer,
    jitOptions: _Sequence[infinirtJitOption],
    jitOptionsValues: _Sequence[Any],
    numJitOptions: _Int,
    libraryOptions: _Sequence[infinirtLibraryOption],
    libraryOptionValues: _Sequence[Any],
    numLibraryOptions: _Int,
) -> tuple[infinirtError_t, infinirtLibrary_t]: ...
def infinirtLibraryLoadFromFile(
    fileName: _Text,
    jitOptions: _Sequence[infinirtJitOption],
    jitOptionsValues: _Sequence[Any],
    numJitOptions: _Int,
    libraryOptions: _Sequence[infinirtLibraryOption],
    libraryOptionValues: _Sequence[Any],
    numLibraryOptions: _Int,
) -> tuple[infinirtError_t, infinirtLibrary_t]: ...
def infinirtLibraryEnumerateKernels(
    numKernels: _Int, lib: infinirtLibrary_t | _Int | None
) -> tuple[infinirtError_t, list[infinirtKernel_t]]: ...
def infinirtGraphGetNodes(
    graph: infinirtGraph_t | _Int | None, numNodes: _Int = 0
) -> tuple[infinirtError_t, list[infinirtGraphNode_t], int]: ...
def infinirtGraphGetRootNodes(
    graph: infinirtGraph_t | _Int | None, pNumRootNodes: _Int = 0
) -> tuple[infinirtError_t, list[infinirtGraphNode_t], int]: ...
def infinirtGraphGetEdges(
    graph: infinirtGraph_t | _Int | None, numEdges: _Int = 0
) -> tuple[
    infinirtError_t, list[infinirtGraphNode_t], list[infinirtGraphNode_t], list[infinirtGraphEdgeData], int
]: ...
def infinirtGraphGetEdges_v2(
    graph: infinirtGraph_t | _Int | None, numEdges: _Int = 0
) -> tuple[
    infinirtError_t, list[infinirtGraphNode_t], list[infinirtGraphNode_t], list[infinirtGraphEdgeData], int
]: ...
def infinirtGraphNodeGetDependencies(
    node: infinirtGraphNode_t | _Int | None, pNumDependencies: _Int = 0
) -> tuple[infinirtError_t, list[infinirtGraphNode_t], list[infinirtGraphEdgeData], int]: ...
def infinirtGraphNodeGetDependencies_v2(
    node: infinirtGraphNode_t | _Int | None, pNumDependencies: _Int = 0
) -> tuple[infinirtError_t, list[infinirtGraphNode_t], list[infinirtGraphEdgeData], int]: ...
def infinirtGraphNodeGetDependentNodes(
    node: infinirtGraphNode_t | _Int | None, pNumDependentNodes: _Int = 0
) -> tuple[infinirtError_t, list[infinirtGraphNode_t], list[infinirtGraphEdgeData], int]: ...
def infinirtGraphNodeGetDependentNodes_v2(
    node: infinirtGraphNode_t | _Int | None, pNumDependentNodes: _Int = 0
) -> tuple[infinirtError_t, list[infinirtGraphNode_t], list[infinirtGraphEdgeData], int]: ...
def infinirtUserObjectCreate(
    ptr: Any, destroy: _HostFunction, initialRefcount: _Int, flags: _Int
) -> tuple[infinirtError_t, infinirtUserObject_t]: ...
def infinirtXGetDeviceTypeInfo(index: _Int) -> tuple[infinirtError_t, infinirtXDeviceTypeInfo]: ...
def infinirtXRegisterKernel(
    name: _Text, function: _HostFunction, paramSizes: _Sequence[int], maxThreadsPerBlock: _Int = 0
) -> tuple[infinirtError_t]: ...
def infinirtXLaunchHostFunc(
    stream: _Stream, fn: _HostFunction, userData: Any = None, destroy: _HostFunction = None
) -> tuple[infinirtError_t]: ...
def infinirtXGetProcAddress(name: _Text) -> tuple[infinirtError_t, int]: ...
def make_infinirtExtent(w: _Int, h: _Int, d: _Int) -> infinirtExtent: ...
def make_infinirtPos(x: _Int, y: _Int, z: _Int) -> infinirtPos: ...
def make_infinirtPitchedPtr(d: _Pointer, p: _Int, xsz: _Int, ysz: _Int) -> infinirtPitchedPtr: ...
def sizeof(objType: type) -> int: ...
def getLocalRuntimeVersion() -> tuple[infinirtError_t, int]: ...
