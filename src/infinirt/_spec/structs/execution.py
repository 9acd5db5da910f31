"""Structs about launches, kernels and libraries. Bodies are C; `parse_fields` says how much of it."""

from __future__ import annotations

from ..model import struct

STRUCTS = (
    struct(
        "infinirtAccessPolicyWindow",
        "A range of addresses with a cache hint.",
        """
        void* base_ptr;
        size_t num_bytes;
        float hitRatio;
        enum infinirtAccessProperty hitProp;
        enum infinirtAccessProperty missProp;
        """,
    ),
    struct(
        "infinirtFuncAttributes",
        "What infinirtFuncGetAttributes found out about a kernel.",
        """
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
        """,
    ),
    struct(
        "infinirtLaunchMemSyncDomainMap_st",
        "Maps the logical memory synchronisation domains to physical ones.",
        """
        unsigned char default_;
        unsigned char remote;
        """,
        typedef="infinirtLaunchMemSyncDomainMap",
    ),
    struct(
        "infinirtLaunchAttributeValue",
        "Value of a launch attribute; the identifier says which member counts.",
        """
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
        """,
        typedef="infinirtLaunchAttributeValue",
        kind="union",
    ),
    struct(
        "infinirtLaunchAttribute_st",
        "One launch attribute.",
        """
        infinirtLaunchAttributeID id;
        char pad[4];
        infinirtLaunchAttributeValue val;
        """,
        typedef="infinirtLaunchAttribute",
    ),
    struct(
        "infinirtLaunchConfig_st",
        "Everything about a launch except the kernel and its arguments.",
        """
        dim3 gridDim;
        dim3 blockDim;
        size_t dynamicSmemBytes;
        infinirtStream_t stream;
        infinirtLaunchAttribute* attrs;
        unsigned int numAttrs;
        """,
        typedef="infinirtLaunchConfig_t",
    ),
    struct(
        "infinirtlibraryHostUniversalFunctionAndDataTable",
        "Value of infinirtLibraryHostUniversalFunctionAndDataTable.",
        """
        void* functionTable;
        size_t functionWindowSize;
        void* dataTable;
        size_t dataWindowSize;
        """,
    ),
)
