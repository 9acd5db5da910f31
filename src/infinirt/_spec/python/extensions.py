"""The functions of infinirt_ext.h, in the words of the specification, for those whose Python shape follows from them."""

from __future__ import annotations

from ..model import Enum, Function, enum, function, in_group

SUPPORT: Enum = enum(
    "infinirtXSupport",
    "How a device type implements a function.",
    "infinirtXSupport",
    infinirtXSupportNone=0,
    infinirtXSupportEmulated=1,
    infinirtXSupportNative=2,
)

FUNCTIONS: tuple[Function, ...] = in_group(
    "extension",
    function(
        "infinirtXSetDeviceType",
        "const char* type",
        route="core",
        doc='Makes `type` ("cpu", ...) the calling thread\'s device type.',
    ),
    function(
        "infinirtXGetDeviceType",
        "const char** type",
        route="core",
        doc="The calling thread's device type.",
    ),
    function(
        "infinirtXGetDeviceTypeCount",
        "int* count",
        route="core",
        doc="How many device types there are, those without a usable device included.",
    ),
    function(
        "infinirtXGetLastErrorMessage",
        "",
        route="core",
        doc="The whole message of the calling thread's last error; empty if the last error is success.",
        returns="const char*",
    ),
    function(
        "infinirtXGetSupport",
        "infinirtXSupport* support, const char* type, const char* function",
        route="current",
        doc="How a device type implements a function, named as in the header.",
    ),
    function(
        "infinirtXStreamGetDevice",
        "infinirtStream_t stream, const char** type, int* device",
        route="current",
        doc="The device type and number of a stream's device; may be asked while it captures.",
    ),
    function(
        "infinirtXStreamBeginNative",
        "infinirtStream_t stream, void** native",
        route="current",
        doc="A stream of the device's own runtime that stands in for `stream` until infinirtXStreamEndNative.",
    ),
    function(
        "infinirtXStreamEndNative",
        "infinirtStream_t stream, void* native",
        route="current",
        doc="Later work of `stream` comes after what was put on `native`, which may not be used any more.",
    ),
    function(
        "infinirtXPointerGetNative",
        "const void* pointer, void** native",
        route="current",
        doc="The address by which the device's own runtime knows memory.",
    ),
    function(
        "infinirtXPointerGetDevice",
        "const void* pointer, const char** type, int* device",
        route="current",
        doc="The device type and number of the device that memory belongs to.",
    ),
    function(
        "infinirtXCacheAllocate",
        "void** ptr, size_t size, infinirtXCache_t cache, infinirtStream_t stream",
        route="current",
        doc="Memory of a cache (`CachingPool.handle`), for work that `stream` is given from now on.",
    ),
    function(
        "infinirtXCacheFree",
        "void* ptr, infinirtXCache_t cache, infinirtStream_t stream",
        route="current",
        doc="The memory is not used after what `stream` has been given so far.",
    ),
    function(
        "infinirtXSetMemoryLimit",
        "int device, size_t bytes",
        route="current",
        doc="Limits the memory of a CPU device; 0 takes the limit away.",
    ),
    function(
        "infinirtXGetHostAddress",
        "void** hostPointer, const void* devicePointer",
        route="current",
        doc="Where the host can reach device memory.",
    ),
    function(
        "infinirtXSeedSchedule",
        "unsigned long long seed",
        route="current",
        doc="Starts the generator of the random schedule anew.",
    ),
    function(
        "infinirtXDrain",
        "unsigned int milliseconds",
        route="core",
        doc="Waits until all work of the devices that the runtime itself runs is finished, at most so long.",
    ),
)
