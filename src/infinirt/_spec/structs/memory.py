"""Structs about memory, copies and pools. Bodies are C; `parse_fields` says how much of it."""

from __future__ import annotations

from ..model import struct

STRUCTS = (
    struct(
        "infinirtPitchedPtr",
        "A pointer to rows that lie pitch bytes apart.",
        """
        void* ptr;
        size_t pitch;
        size_t xsize;
        size_t ysize;
        """,
    ),
    struct(
        "infinirtExtent",
        "Size of a 3D region; width in bytes for linear memory.",
        """
        size_t width;
        size_t height;
        size_t depth;
        """,
    ),
    struct(
        "infinirtPos",
        "Position in a 3D region; x in bytes for linear memory.",
        """
        size_t x;
        size_t y;
        size_t z;
        """,
    ),
    struct(
        "infinirtMemcpy3DParms",
        "A 3D copy. Exactly one of array and pointer is set on each side.",
        """
        infinirtArray_t srcArray;
        struct infinirtPos srcPos;
        struct infinirtPitchedPtr srcPtr;
        infinirtArray_t dstArray;
        struct infinirtPos dstPos;
        struct infinirtPitchedPtr dstPtr;
        struct infinirtExtent extent;
        enum infinirtMemcpyKind kind;
        """,
    ),
    struct(
        "infinirtMemcpy3DPeerParms",
        "A 3D copy between two devices.",
        """
        infinirtArray_t srcArray;
        struct infinirtPos srcPos;
        struct infinirtPitchedPtr srcPtr;
        int srcDevice;
        infinirtArray_t dstArray;
        struct infinirtPos dstPos;
        struct infinirtPitchedPtr dstPtr;
        int dstDevice;
        struct infinirtExtent extent;
        """,
    ),
    struct(
        "infinirtPointerAttributes",
        "What infinirtPointerGetAttributes found out.",
        """
        enum infinirtMemoryType type;
        int device;
        void* devicePointer;
        void* hostPointer;
        """,
    ),
    struct(
        "infinirtMemLocation",
        "A place where memory can live: a device by its number, or the host.",
        """
        enum infinirtMemLocationType type;
        int id;
        """,
    ),
    struct(
        "infinirtMemAccessDesc",
        "Access that one location has to the memory of a pool.",
        """
        struct infinirtMemLocation location;
        enum infinirtMemAccessFlags flags;
        """,
    ),
    struct(
        "infinirtMemPoolProps",
        "Properties of a memory pool. Clear it before filling it in.",
        """
        enum infinirtMemAllocationType allocType;
        enum infinirtMemAllocationHandleType handleTypes;
        struct infinirtMemLocation location;
        void* win32SecurityAttributes;
        size_t maxSize;
        unsigned short usage;
        unsigned char reserved[54];
        """,
    ),
    struct(
        "infinirtMemPoolPtrExportData",
        "Opaque data that carries one pool allocation to another process.",
        """
        unsigned char reserved[64];
        """,
    ),
    struct(
        "infinirtMemcpyAttributes",
        "Attributes shared by a run of copies of a batch.",
        """
        enum infinirtMemcpySrcAccessOrder srcAccessOrder;
        struct infinirtMemLocation srcLocHint;
        struct infinirtMemLocation dstLocHint;
        unsigned int flags;
        """,
    ),
    struct(
        "infinirtOffset3D",
        "Position in elements of an array.",
        """
        size_t x;
        size_t y;
        size_t z;
        """,
    ),
    struct(
        "infinirtMemcpy3DOperand",
        "One side of a batched 3D copy.",
        """
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
        """,
    ),
    struct(
        "infinirtMemcpy3DBatchOp",
        "One copy of a 3D batch.",
        """
        struct infinirtMemcpy3DOperand src;
        struct infinirtMemcpy3DOperand dst;
        struct infinirtExtent extent;
        enum infinirtMemcpySrcAccessOrder srcAccessOrder;
        unsigned int flags;
        """,
    ),
    struct(
        "infinirtIpcEventHandle_st",
        "Opaque data that carries an event to another process.",
        """
        char reserved[64];
        """,
        typedef="infinirtIpcEventHandle_t",
    ),
    struct(
        "infinirtIpcMemHandle_st",
        "Opaque data that carries an allocation to another process.",
        """
        char reserved[64];
        """,
        typedef="infinirtIpcMemHandle_t",
    ),
)
