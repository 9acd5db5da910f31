"""Devices: which there are, which is current, what they can do."""

from __future__ import annotations

from ..model import cuda13, function, in_group

FUNCTIONS = in_group(
    "device",
    function(
        "infinirtGetDeviceCount",
        "int* count",
        route="current",
        doc=(
            "Writes the number of devices of the calling thread's device type. Returns infinirtErrorNoDevice "
            "with a count of 0 where there is none. Does not initialise a device."
        ),
    ),
    function(
        "infinirtSetDevice",
        "int device",
        route="current",
        doc=(
            "Makes `device` the current device of the calling thread. Does not synchronise, and affects no "
            "other thread. infinirtErrorInvalidDevice if the number is out of range."
        ),
    ),
    function(
        "infinirtGetDevice",
        "int* device",
        route="current",
        doc="Writes the current device of the calling thread.",
    ),
    function(
        "infinirtDeviceSynchronize",
        "",
        route="current",
        doc=(
            "Blocks the host until all work submitted to the current device has finished. Returns the error of "
            "that work if it failed. Not allowed during a capture."
        ),
    ),
    function(
        "infinirtDeviceReset",
        "",
        route="current",
        doc=(
            "Destroys the streams, events and allocations of the current device, stream-ordered memory "
            "excepted; their handles and pointers are invalid afterwards. Waits for pending work. The next "
            "call initialises the device again."
        ),
    ),
    function(
        "infinirtGetDeviceProperties",
        "struct infinirtDeviceProp* prop, int device",
        route="current",
        doc=(
            "Fills `prop` with the properties of `device`, in the layout of CUDA 12.9; prefer "
            "infinirtDeviceGetAttribute for single values."
        ),
        cuda13=cuda13(
            "cudaGetDeviceProperties",
            None,
            (
                "CUDA 13 has a shorter struct under the same symbol; fields that it dropped come from "
                "DeviceGetAttribute."
            ),
            reshaped=True,
        ),
    ),
    function(
        "infinirtGetDeviceProperties_v2",
        "struct infinirtDeviceProp* prop, int device",
        route="current",
        doc="The name under which CUDA 12 exports infinirtGetDeviceProperties; same function.",
        alias_of="infinirtGetDeviceProperties",
        cuda13=cuda13(
            "cudaGetDeviceProperties",
            None,
            "see GetDeviceProperties",
            reshaped=True,
        ),
    ),
    function(
        "infinirtDeviceGetAttribute",
        "int* value, enum infinirtDeviceAttr attr, int device",
        route="current",
        doc=(
            "Writes one attribute of `device`. infinirtErrorInvalidValue for an unknown attribute; 0 for one "
            "that the device does not have."
        ),
    ),
    function(
        "infinirtDeviceGetByPCIBusId",
        "int* device, const char* pciBusId",
        route="current",
        doc=(
            'Finds the device with the PCI address "domain:bus:device.function". infinirtErrorInvalidValue if '
            "there is none."
        ),
    ),
    function(
        "infinirtDeviceGetPCIBusId",
        "char* pciBusId, int len, int device",
        route="current",
        doc=(
            "Writes the PCI address of `device` as text, zero-terminated; `len` is the size of the buffer, 13 "
            "bytes are enough."
        ),
    ),
    function(
        "infinirtDeviceGetStreamPriorityRange",
        "int* leastPriority, int* greatestPriority",
        route="current",
        doc=(
            "Writes the range of stream priorities of the current device; a lower number is a higher priority. "
            "Either pointer may be null. Both are 0 where there are no priorities."
        ),
    ),
    function(
        "infinirtDeviceCanAccessPeer",
        "int* canAccessPeer, int device, int peerDevice",
        route="current",
        doc="Writes 1 if `device` can reach the memory of `peerDevice` directly, else 0.",
    ),
    function(
        "infinirtDeviceEnablePeerAccess",
        "int peerDevice, unsigned int flags",
        route="current",
        doc=(
            "Lets the current device reach the memory of `peerDevice`; one direction only. `flags` must be 0. "
            "infinirtErrorPeerAccessAlreadyEnabled if it was enabled before."
        ),
    ),
    function(
        "infinirtDeviceDisablePeerAccess",
        "int peerDevice",
        route="current",
        doc=(
            "Takes back infinirtDeviceEnablePeerAccess. infinirtErrorPeerAccessNotEnabled if it was not "
            "enabled."
        ),
    ),
    function(
        "infinirtDeviceGetP2PAttribute",
        "int* value, enum infinirtDeviceP2PAttr attr, int srcDevice, int dstDevice",
        route="current",
        doc="Writes one property of the link between two different devices.",
    ),
    function(
        "infinirtDeviceGetDefaultMemPool",
        "infinirtMemPool_t* memPool, int device",
        route="current",
        doc=(
            "Writes the default memory pool of `device`. The pool belongs to the device and must not be "
            "destroyed."
        ),
    ),
    function(
        "infinirtDeviceGetMemPool",
        "infinirtMemPool_t* memPool, int device",
        route="current",
        doc="Writes the pool that infinirtMallocAsync uses on `device`: the one set last, or the default pool.",
    ),
    function(
        "infinirtDeviceSetMemPool",
        "int device, infinirtMemPool_t memPool",
        route="handle:memPool",
        doc=(
            "Makes `memPool`, which must live on `device`, the pool that infinirtMallocAsync uses there. The "
            "caller keeps its ownership."
        ),
    ),
    function(
        "infinirtDeviceGetLimit",
        "size_t* pValue, enum infinirtLimit limit",
        route="current",
        doc=(
            "Writes a limit of the current device. infinirtErrorUnsupportedLimit if the device does not have "
            "it."
        ),
    ),
    function(
        "infinirtDeviceSetLimit",
        "enum infinirtLimit limit, size_t value",
        route="current",
        doc=(
            "Asks for a limit of the current device; the device may round it. infinirtErrorUnsupportedLimit if "
            "the device does not have it."
        ),
    ),
    function(
        "infinirtDeviceGetCacheConfig",
        "enum infinirtFuncCache* pCacheConfig",
        route="current",
        doc="Writes the preferred split between cache and shared memory of the current device.",
    ),
    function(
        "infinirtDeviceSetCacheConfig",
        "enum infinirtFuncCache cacheConfig",
        route="current",
        doc="Sets the preferred split between cache and shared memory of the current device; a hint.",
    ),
    function(
        "infinirtCtxResetPersistingL2Cache",
        "",
        route="current",
        doc="Returns all lines of the L2 cache that were marked persisting to normal.",
    ),
    function(
        "infinirtDriverGetVersion",
        "int* driverVersion",
        route="current",
        doc=(
            "Writes the newest runtime version that the driver supports (1000 × major + 10 × minor), or 0 if "
            "there is no driver."
        ),
    ),
    function(
        "infinirtRuntimeGetVersion",
        "int* runtimeVersion",
        route="current",
        doc=(
            "Writes the version of the runtime that serves the current device type (1000 × major + 10 × "
            "minor)."
        ),
    ),
    function(
        "infinirtSetDeviceFlags",
        "unsigned int flags",
        route="current",
        doc=(
            "Sets how host threads wait for the current device, and related flags (infinirtDeviceSchedule..., "
            "infinirtDeviceMapHost)."
        ),
    ),
    function(
        "infinirtGetDeviceFlags",
        "unsigned int* flags",
        route="current",
        doc="Writes the flags of the current device.",
    ),
    function(
        "infinirtChooseDevice",
        "int* device, const struct infinirtDeviceProp* prop",
        route="current",
        doc="Writes the device that fits the wished properties best.",
    ),
    function(
        "infinirtSetValidDevices",
        "int* device_arr, int len",
        route="current",
        doc=(
            "Sets the devices, in order of preference, from which one is taken when the thread has not chosen "
            "one."
        ),
    ),
    function(
        "infinirtInitDevice",
        "int device, unsigned int deviceFlags, unsigned int flags",
        route="current",
        doc=(
            "Initialises `device` without making it current. `deviceFlags` counts only if `flags` has "
            "infinirtInitDeviceFlagsAreValid."
        ),
    ),
    function(
        "infinirtGetDriverEntryPoint",
        (
            "const char* symbol, void** funcPtr, unsigned long long flags, enum "
            "infinirtDriverEntryPointQueryResult* driverStatus = NULL"
        ),
        route="current",
        doc=(
            "Writes the address of a function of the driver below the current device type. "
            "infinirtErrorNotSupported where there is no such driver."
        ),
        ptsz=True,
    ),
    function(
        "infinirtGetDriverEntryPointByVersion",
        (
            "const char* symbol, void** funcPtr, unsigned int infinirtVersion, unsigned long long flags, enum "
            "infinirtDriverEntryPointQueryResult* driverStatus = NULL"
        ),
        route="current",
        doc=(
            "As infinirtGetDriverEntryPoint, for the form that the function had in driver version "
            "`infinirtVersion`."
        ),
        ptsz=True,
    ),
    function(
        "infinirtDeviceGraphMemTrim",
        "int device",
        route="current",
        doc="Returns memory that graphs of `device` have reserved but do not use.",
    ),
    function(
        "infinirtDeviceGetGraphMemAttribute",
        "int device, enum infinirtGraphMemAttributeType attr, void* value",
        route="current",
        doc="Writes a counter (uint64_t) of the memory that graphs have allocated on `device`.",
    ),
    function(
        "infinirtDeviceSetGraphMemAttribute",
        "int device, enum infinirtGraphMemAttributeType attr, void* value",
        route="current",
        doc="Resets one of the high-water marks of graph memory; the value must be 0.",
    ),
)
