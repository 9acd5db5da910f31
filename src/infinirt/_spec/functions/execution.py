"""Kernels, host functions and libraries of kernels."""

from __future__ import annotations

from ..model import function, in_group

FUNCTIONS = in_group(
    "execution",
    function(
        "infinirtLaunchHostFunc",
        "infinirtStream_t stream, infinirtHostFn_t fn, void* userData",
        route="stream:stream",
        doc=(
            "Runs `fn` on a host thread in stream order; later work waits for it. It may not call this API, "
            "and is not run after an error of the device. Can be captured."
        ),
        ptsz=True,
    ),
    function(
        "infinirtLaunchKernel",
        (
            "const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, infinirtStream_t "
            "stream"
        ),
        route="stream:stream",
        doc=(
            "Launches a kernel in stream order. `args` holds one pointer per kernel argument; the arguments "
            "are copied before the call returns. The stream must belong to the current device."
        ),
        ptsz=True,
    ),
    function(
        "infinirtLaunchKernelExC",
        "const infinirtLaunchConfig_t* config, const void* func, void** args",
        route="stream:config->stream",
        doc="As infinirtLaunchKernel, with a configuration that can carry launch attributes.",
        ptsz=True,
    ),
    function(
        "infinirtLaunchCooperativeKernel",
        (
            "const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, infinirtStream_t "
            "stream"
        ),
        route="stream:stream",
        doc=(
            "As infinirtLaunchKernel; all blocks run at the same time and may synchronise. "
            "infinirtErrorCooperativeLaunchTooLarge if the device cannot hold them."
        ),
        ptsz=True,
    ),
    function(
        "infinirtFuncGetAttributes",
        "struct infinirtFuncAttributes* attr, const void* func",
        route="current",
        doc=(
            "Writes the resource needs and limits of a kernel. infinirtErrorInvalidDeviceFunction if it is not "
            "a kernel of the current device."
        ),
    ),
    function(
        "infinirtFuncSetAttribute",
        "const void* func, enum infinirtFuncAttribute attr, int value",
        route="current",
        doc="Changes one attribute of a kernel.",
    ),
    function(
        "infinirtFuncSetCacheConfig",
        "const void* func, enum infinirtFuncCache cacheConfig",
        route="current",
        doc="Sets a kernel's preferred split between cache and shared memory; a hint.",
    ),
    function(
        "infinirtFuncGetName",
        "const char** name, const void* func",
        route="current",
        doc="Writes the name of a kernel; the text belongs to the runtime.",
    ),
    function(
        "infinirtFuncGetParamInfo",
        "const void* func, size_t paramIndex, size_t* paramOffset, size_t* paramSize",
        route="current",
        doc=(
            "Writes offset and size of one kernel parameter. infinirtErrorInvalidValue if there is no such "
            "parameter. `paramSize` may be null."
        ),
    ),
    function(
        "infinirtGetKernel",
        "infinirtKernel_t* kernelPtr, const void* entryFuncAddr",
        route="current",
        doc="Writes the kernel handle that belongs to a kernel's entry function.",
    ),
    function(
        "infinirtLibraryLoadData",
        (
            "infinirtLibrary_t* library, const void* code, enum infinirtJitOption* jitOptions, void** "
            "jitOptionsValues, unsigned int numJitOptions, enum infinirtLibraryOption* libraryOptions, void** "
            "libraryOptionValues, unsigned int numLibraryOptions"
        ),
        route="current",
        doc=(
            "Loads a library of kernels from memory. The caller unloads it. The option arrays may be null if "
            "their counts are 0."
        ),
    ),
    function(
        "infinirtLibraryLoadFromFile",
        (
            "infinirtLibrary_t* library, const char* fileName, enum infinirtJitOption* jitOptions, void** "
            "jitOptionsValues, unsigned int numJitOptions, enum infinirtLibraryOption* libraryOptions, void** "
            "libraryOptionValues, unsigned int numLibraryOptions"
        ),
        route="current",
        doc="As infinirtLibraryLoadData, from a file. infinirtErrorFileNotFound if there is none.",
    ),
    function(
        "infinirtLibraryUnload",
        "infinirtLibrary_t library",
        route="handle:library",
        doc="Unloads a library; its kernels are invalid afterwards.",
    ),
    function(
        "infinirtLibraryGetKernel",
        "infinirtKernel_t* pKernel, infinirtLibrary_t library, const char* name",
        route="handle:library",
        doc=(
            "Writes the kernel with the given name. infinirtErrorSymbolNotFound if there is none. The handle "
            "belongs to the library."
        ),
    ),
    function(
        "infinirtLibraryGetKernelCount",
        "unsigned int* count, infinirtLibrary_t lib",
        route="handle:lib",
        doc="Writes how many kernels a library has.",
    ),
    function(
        "infinirtLibraryEnumerateKernels",
        "infinirtKernel_t* kernels, unsigned int numKernels, infinirtLibrary_t lib",
        route="handle:lib",
        doc="Writes up to `numKernels` kernels of a library.",
    ),
    function(
        "infinirtKernelSetAttributeForDevice",
        "infinirtKernel_t kernel, enum infinirtFuncAttribute attr, int value, int device",
        route="handle:kernel",
        doc="Changes one attribute of a kernel for one device.",
    ),
    function(
        "infinirtOccupancyMaxActiveBlocksPerMultiprocessor",
        "int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize",
        route="current",
        doc="Writes how many blocks of a kernel can run on one multiprocessor at the same time.",
    ),
    function(
        "infinirtOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        "int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize, unsigned int flags",
        route="current",
        doc="As infinirtOccupancyMaxActiveBlocksPerMultiprocessor, with infinirtOccupancy... flags.",
    ),
    function(
        "infinirtOccupancyAvailableDynamicSMemPerBlock",
        "size_t* dynamicSmemSize, const void* func, int numBlocks, int blockSize",
        route="current",
        doc=(
            "Writes how much dynamic shared memory a block can have if `numBlocks` blocks shall run on one "
            "multiprocessor."
        ),
    ),
)
