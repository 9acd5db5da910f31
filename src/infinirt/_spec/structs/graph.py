"""Structs about graphs and their nodes. Bodies are C; `parse_fields` says how much of it."""

from __future__ import annotations

from ..model import struct

STRUCTS = (
    struct(
        "infinirtKernelNodeParams",
        "Parameters of a kernel node.",
        """
        void* func;
        dim3 gridDim;
        dim3 blockDim;
        unsigned int sharedMemBytes;
        void** kernelParams;
        void** extra;
        """,
    ),
    struct(
        "infinirtKernelNodeParamsV2",
        "Parameters of a kernel node, as infinirtGraphNodeParams holds them.",
        """
        void* func;
        dim3 gridDim;
        dim3 blockDim;
        unsigned int sharedMemBytes;
        void** kernelParams;
        void** extra;
        """,
    ),
    struct(
        "infinirtMemcpyNodeParams",
        "Parameters of a copy node; flags and reserved must be 0.",
        """
        int flags;
        int reserved[3];
        struct infinirtMemcpy3DParms copyParams;
        """,
    ),
    struct(
        "infinirtMemsetParams",
        "Parameters of a set node: height rows of width elements of elementSize (1, 2 or 4) bytes.",
        """
        void* dst;
        size_t pitch;
        unsigned int value;
        unsigned int elementSize;
        size_t width;
        size_t height;
        """,
    ),
    struct(
        "infinirtMemsetParamsV2",
        "Parameters of a set node, as infinirtGraphNodeParams holds them.",
        """
        void* dst;
        size_t pitch;
        unsigned int value;
        unsigned int elementSize;
        size_t width;
        size_t height;
        """,
    ),
    struct(
        "infinirtHostNodeParams",
        "Parameters of a host function node.",
        """
        infinirtHostFn_t fn;
        void* userData;
        """,
    ),
    struct(
        "infinirtHostNodeParamsV2",
        "Parameters of a host function node, as infinirtGraphNodeParams holds them.",
        """
        infinirtHostFn_t fn;
        void* userData;
        """,
    ),
    struct(
        "infinirtMemAllocNodeParams",
        "Parameters of an allocation node; dptr is written when the node is added.",
        """
        struct infinirtMemPoolProps poolProps;
        const struct infinirtMemAccessDesc* accessDescs;
        size_t accessDescCount;
        size_t bytesize;
        void* dptr;
        """,
    ),
    struct(
        "infinirtMemAllocNodeParamsV2",
        "Parameters of an allocation node, as infinirtGraphNodeParams holds them.",
        """
        struct infinirtMemPoolProps poolProps;
        const struct infinirtMemAccessDesc* accessDescs;
        size_t accessDescCount;
        size_t bytesize;
        void* dptr;
        """,
    ),
    struct(
        "infinirtMemFreeNodeParams",
        "Parameters of a free node.",
        """
        void* dptr;
        """,
    ),
    struct(
        "infinirtChildGraphNodeParams",
        "Parameters of a child graph node.",
        """
        infinirtGraph_t graph;
        enum infinirtGraphChildGraphNodeOwnership ownership;
        """,
    ),
    struct(
        "infinirtEventRecordNodeParams",
        "Parameters of an event record node.",
        """
        infinirtEvent_t event;
        """,
    ),
    struct(
        "infinirtEventWaitNodeParams",
        "Parameters of an event wait node.",
        """
        infinirtEvent_t event;
        """,
    ),
    struct(
        "infinirtExternalSemaphoreSignalParams",
        "Parameters of signalling one external semaphore.",
        """
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
        """,
    ),
    struct(
        "infinirtExternalSemaphoreWaitParams",
        "Parameters of waiting for one external semaphore.",
        """
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
        """,
    ),
    struct(
        "infinirtExternalSemaphoreSignalNodeParamsV2",
        "Parameters of a node that signals external semaphores.",
        """
        infinirtExternalSemaphore_t* extSemArray;
        const struct infinirtExternalSemaphoreSignalParams* paramsArray;
        unsigned int numExtSems;
        """,
    ),
    struct(
        "infinirtExternalSemaphoreWaitNodeParamsV2",
        "Parameters of a node that waits for external semaphores.",
        """
        infinirtExternalSemaphore_t* extSemArray;
        const struct infinirtExternalSemaphoreWaitParams* paramsArray;
        unsigned int numExtSems;
        """,
    ),
    struct(
        "infinirtConditionalNodeParams",
        "Parameters of a conditional node.",
        """
        infinirtGraphConditionalHandle handle;
        enum infinirtGraphConditionalNodeType type;
        unsigned int size;
        infinirtGraph_t* phGraph_out;
        """,
    ),
    struct(
        "infinirtGraphNodeParams",
        "Parameters of a node of any type. Clear it, set type, fill in the matching member.",
        """
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
        """,
    ),
    struct(
        "infinirtGraphEdgeData_st",
        "Annotation of an edge; all zero is a plain full dependency.",
        """
        unsigned char from_port;
        unsigned char to_port;
        unsigned char type;
        unsigned char reserved[5];
        """,
        typedef="infinirtGraphEdgeData",
    ),
    struct(
        "infinirtGraphInstantiateParams_st",
        "Arguments and results of infinirtGraphInstantiateWithParams.",
        """
        unsigned long long flags;
        infinirtStream_t uploadStream;
        infinirtGraphNode_t errNode_out;
        infinirtGraphInstantiateResult result_out;
        """,
        typedef="infinirtGraphInstantiateParams",
    ),
    struct(
        "infinirtGraphExecUpdateResultInfo_st",
        "Result of infinirtGraphExecUpdate.",
        """
        enum infinirtGraphExecUpdateResult result;
        infinirtGraphNode_t errorNode;
        infinirtGraphNode_t errorFromNode;
        """,
        typedef="infinirtGraphExecUpdateResultInfo",
    ),
)
