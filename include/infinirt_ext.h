/* infinirt_ext.h: what InfiniRT offers beyond the CUDA Runtime API. Every name begins with infinirtX.
 *
 * Unless stated otherwise a function returns infinirtSuccess or a CUDA error code, sets the thread's last error on
 * failure, and may be called from any thread.
 */
#ifndef INFINIRT_EXT_H
#define INFINIRT_EXT_H

#include "infinirt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Device types -------------------------------------------------------------------------------------------------
 * Every thread has a current device type ("cpu", "nvidia", ...). Devices are numbered within their type. A thread that
 * has chosen none gets the type INFINIRT_DEVICE names, else the first accelerator that has a device, else the CPU. */

/* Makes `type` the calling thread's device type. InvalidDevice when there is no such type. The current device of the
 * type is the one the thread used last, 0 at first. */
INFINIRT_API infinirtError_t infinirtXSetDeviceType(const char* type);

/* The calling thread's device type; the string lives as long as the process. */
INFINIRT_API infinirtError_t infinirtXGetDeviceType(const char** type);

/* The same, or null for a thread that has chosen none: no default is looked for. */
INFINIRT_API const char* infinirtXGetChosenDeviceType(void);

/* For libraries that work on a device of their own, on whatever thread calls them: makes `type` the thread's until
 * infinirtXLeaveDeviceType is given what `*previous` became. That is null for a thread that has chosen none, and it has none again then:
 * no default is looked for meanwhile, and no driver started for it. */
INFINIRT_API infinirtError_t infinirtXEnterDeviceType(const char* type, const char** previous);
INFINIRT_API void infinirtXLeaveDeviceType(const char* previous);

/* 0 inside a host function, and in what a graph calls when it lets go of an object: there every call is NotPermitted. */
INFINIRT_API int infinirtXCallsArePermitted(void);

/* For what a library frees at a moment that nobody chose, as a garbage collector does: until infinirtXEndRelaxedCapture is given what this
 * returned, the thread's capture interaction mode is relaxed on that device type (null: on all; infinirtThreadExchangeStreamCaptureMode has
 * it so on the current one), so that no capture bars its calls, or is broken by them. Inside a host function it does nothing. */
INFINIRT_API unsigned int infinirtXBeginRelaxedCapture(const char* type);
INFINIRT_API void infinirtXEndRelaxedCapture(unsigned int state);

/* How many device types there are, and the name of one; names live as long as the process. Types without a usable device
 * are listed too: infinirtXGetDeviceTypeInfo says why. */
INFINIRT_API infinirtError_t infinirtXGetDeviceTypeCount(int* count);

typedef struct infinirtXDeviceTypeInfo {
  const char* name;    /* device type */
  const char*
      origin;  /* where the backend comes from: "built in", a library's path, ...; "" when no library was found */
  const char* problem; /* why there is no device; "" when there is one */
  int deviceCount;
  int isAccelerator;
} infinirtXDeviceTypeInfo;

INFINIRT_API infinirtError_t infinirtXGetDeviceTypeInfo(infinirtXDeviceTypeInfo* info, int index);

/* Only the name, and whether it is an accelerator's: no library is loaded and no driver started for the answer. */
INFINIRT_API infinirtError_t infinirtXGetDeviceTypeName(const char** name, int* isAccelerator, int index);

/* ---- Errors ------------------------------------------------------------------------------------------------------- */

/* The whole message of the calling thread's last error: which call, which argument, what it was, what to do. "" when the
 * last error is infinirtSuccess. Valid until the thread's next failing call. Does not reset the error. */
INFINIRT_API const char* infinirtXGetLastErrorMessage(void);

/* For libraries on top of this one, so that their failures are found where this runtime's are: makes `error` the calling thread's
 * last error with `message`, which is copied (null: the error's standard text), and returns `error`. infinirtSuccess and
 * infinirtErrorNotReady are no errors and change nothing. May be called in a host function; in a kernel of the CPU device it is why the
 * kernel fails, for the message of the stream's error. */
INFINIRT_API infinirtError_t infinirtXSetLastError(infinirtError_t error, const char* message);

/* ---- Capabilities ------------------------------------------------------------------------------------------------- */

typedef enum infinirtXSupport {
  infinirtXSupportNone = 0,     /* returns infinirtErrorNotSupported */
  infinirtXSupportEmulated = 1, /* done by the runtime on top of what the backend has */
  infinirtXSupportNative = 2    /* done by the backend itself */
} infinirtXSupport;

/* How a device type implements a function, named as in the header ("infinirtMemcpyAsync"). InvalidValue for a name that
 * is not in the API, InvalidDevice for an unknown type. */
INFINIRT_API infinirtError_t infinirtXGetSupport(enum infinirtXSupport* support, const char* type,
                                                 const char* function);

/* ---- Kernels on the CPU -------------------------------------------------------------------------------------------
 * A CPU kernel is a C function that is called once per block of the grid, blocks in parallel and in any order. It finds
 * its arguments as CUDA passes them: args[i] points at a copy of the i-th argument, made at launch. */

typedef struct infinirtXBlock {
  dim3 gridDim;
  dim3 blockDim;
  dim3 blockIdx;
  void* sharedMem;       /* sharedMemBytes bytes, private to the block, uninitialised; null when 0 */
  size_t sharedMemBytes;
} infinirtXBlock;

/* Anything but infinirtSuccess is an asynchronous error of the device: sticky codes stay until infinirtDeviceReset, others
 * are returned by the next synchronising call. */
typedef infinirtError_t (*infinirtXKernelFn)(const infinirtXBlock* block, void** args);

typedef struct infinirtXKernelInfo {
  const char* name;
  infinirtXKernelFn function;
  const size_t* paramSizes;    /* in bytes; each parameter is aligned to its size, at most 16 */
  size_t paramCount;
  int maxThreadsPerBlock;      /* 0: the device's own limit */
} infinirtXKernelInfo;

/* After registration `function` itself may be given to infinirtLaunchKernel and wherever a kernel is expected. Registering
 * the same function again with the same parameters is no error; with others it is InvalidValue. */
INFINIRT_API infinirtError_t infinirtXRegisterKernel(const infinirtXKernelInfo* kernel);

/* As infinirtLaunchKernel with blocks of one thread, for a kernel that only computes: it waits for nobody, and all of its blocks
 * together take about `nanoseconds` on one thread. The CPU device runs a short one within the call when the stream is idle, where
 * handing it over would cost more than doing it: in the calling thread, and on workers that are awake. It shares a long one between
 * its threads from the first block on, which it otherwise has to see run before it knows what a block costs. Elsewhere it is
 * infinirtLaunchKernel. */
INFINIRT_API infinirtError_t infinirtXLaunchComputation(const void* func, dim3 gridDim, void** args,
                                                        unsigned long long nanoseconds, infinirtStream_t stream);

/* A shared object that infinirtLibraryLoadFromFile (or, as bytes, infinirtLibraryLoadData) can load exports this symbol: a
 * table of kernels that ends with an entry whose name is null. */
#define INFINIRTX_KERNEL_TABLE_SYMBOL "infinirtXKernelTable"

/* ---- Compiling kernels ---------------------------------------------------------------------------------------------
 * From source text to code that infinirtLibraryLoadData loads. Needs a compiler, not a device: code for a GPU can be compiled
 * on a machine without one. Device type "nvidia" compiles CUDA C++ with NVRTC (12 or 13), which is looked for when it is
 * first needed: INFINIRT_NVRTC_LIBRARY, a copy that the process has already, NVIDIA's wheels, a toolkit, the system.
 *
 * Results are kept in a folder of the user's ($INFINIRT_CACHE_DIR, else $XDG_CACHE_HOME/infinirt, else ~/.cache/infinirt;
 * INFINIRT_CACHE_DISABLE=1: none) and found there again while source, included files, options and compiler are the same. */

typedef struct infinirtXCompiled_st* infinirtXCompiled_t;

typedef enum infinirtXCodeType {
  infinirtXCodeCubin = 0, /* machine code of one architecture */
  infinirtXCodePtx = 1    /* text that a driver translates when it loads it */
} infinirtXCodeType;

typedef struct infinirtXCompileInfo {
  size_t structSize;        /* sizeof(infinirtXCompileInfo) */
  const char* deviceType;   /* null: the calling thread's if it has a compiler, else the first that has one */
  const char* source;
  const char* name;         /* of the source, in messages; null: "kernel.cu" */
  const char* architecture; /* "sm_90", "compute_90"; null: that of the calling thread's device */
  infinirtXCodeType codeType;
  /* As the compiler takes them, one string each: "-std=c++17", "-Iinclude", "-DN=4". The folder of CUDA's own headers is
   * added as the last include folder where it is found beside the compiler or in NVIDIA's wheels. */
  const char* const* options;
  size_t optionCount;
  /* C++ names whose symbols are wanted: "scale<float>", "&table". They also make the compiler instantiate templates. */
  const char* const* nameExpressions;
  size_t nameExpressionCount;
  /* Files that exist only here: #include "headerNames[i]" finds headers[i]. */
  const char* const* headers;
  const char* const* headerNames;
  size_t headerCount;
} infinirtXCompileInfo;

/* Compiles. infinirtErrorInvalidSource when the source is wrong: the message has the first lines of the compiler's log, and
 * `compiled` is an object with the whole log and no code, to be destroyed like any other. InvalidValue for an option that
 * the compiler does not know; NotSupported, with what was tried, when there is no compiler. */
INFINIRT_API infinirtError_t infinirtXCompile(infinirtXCompiled_t* compiled, const infinirtXCompileInfo* info);

typedef struct infinirtXCompiledInfo {
  const void* code;     /* a zero byte follows; null when compiling failed */
  size_t codeSize;
  const char* log;      /* "" when the compiler had nothing to say */
  const char* compiler; /* name and version */
  int fromCache;        /* not compiled now: found on disk */
} infinirtXCompiledInfo;

/* What came of it; the pointers are valid until the object is destroyed. */
INFINIRT_API infinirtError_t infinirtXCompiledGetInfo(infinirtXCompiledInfo* info, infinirtXCompiled_t compiled);

/* The symbol of a name expression, as infinirtLibraryGetKernel takes it. SymbolNotFound for an expression that was not
 * given to infinirtXCompile. */
INFINIRT_API infinirtError_t infinirtXCompiledGetLoweredName(const char** name, infinirtXCompiled_t compiled,
                                                             const char* nameExpression);

INFINIRT_API infinirtError_t infinirtXCompiledDestroy(infinirtXCompiled_t compiled);

/* ---- Caches of memory ---------------------------------------------------------------------------------------------
 * A cache holds memory of one device and hands it out in stream order, in tens of nanoseconds and without asking the device's
 * own library for more than whether the stream captures: the caching allocator of this runtime, on every device type. What is freed on a stream can be had
 * again at once on that stream, and on another one when it is known to be done there. The runtime asks with events, and only
 * when another stream could use the memory.
 *
 * All functions may be called by several threads at once. A stream that a library destroys without this runtime's knowledge
 * must be idle then. infinirtDeviceReset ends the caches of the device: they refuse to allocate, and can only be destroyed. */

typedef struct infinirtXCache_st* infinirtXCache_t;

typedef enum infinirtXCacheMemory {
  infinirtXCacheMemoryDevice = 0, /* of the device, as infinirtMalloc gives it */
  infinirtXCacheMemoryHost = 1    /* page-locked memory of the host, as infinirtHostAlloc gives it */
} infinirtXCacheMemory;

typedef struct infinirtXCacheProps {
  size_t structSize;           /* sizeof(infinirtXCacheProps) */
  infinirtXCacheMemory memory;
  int device;                  /* of the calling thread's device type */
  size_t maxSize;              /* most bytes that the cache holds; 0: as many as there are */
} infinirtXCacheProps;

INFINIRT_API infinirtError_t infinirtXCacheCreate(infinirtXCache_t* cache, const infinirtXCacheProps* props);

/* Waits until nothing uses the memory any more and gives all of it back. InvalidValue while blocks are in use. With reserves that
 * were not destroyed, or frees on a stream that captures, the whole device is waited for, which ends captures on it. */
INFINIRT_API infinirtError_t infinirtXCacheDestroy(infinirtXCache_t cache);

/* A block of at least `size` bytes, 256-byte aligned, for work that `stream` is given from now on. The predefined streams are
 * those of the cache's device. Size 0 gives a null pointer. A stream that captures is refused (StreamCaptureUnsupported): the
 * graph would go on using memory that the cache hands to others; see reserves below. When memory is short the cache waits for
 * what was freed, gives back what it does not use, and has the other caches of the same memory do so, before it gives up. */
INFINIRT_API infinirtError_t infinirtXCacheAllocate(void** ptr, size_t size, infinirtXCache_t cache,
                                                    infinirtStream_t stream);

/* The block is not used after what `stream` has been given so far. Null is a no-op. */
INFINIRT_API infinirtError_t infinirtXCacheFree(void* ptr, infinirtXCache_t cache, infinirtStream_t stream);

/* The block is also used by another stream: its free will wait for what that stream has been given by then. For the
 * per-thread stream (2): by now. */
INFINIRT_API infinirtError_t infinirtXCacheRecordStream(void* ptr, infinirtXCache_t cache, infinirtStream_t stream);

/* Gives unused memory back to the device while at least `minBytesToKeep` remain held. Memory whose last use is not over
 * stays. */
INFINIRT_API infinirtError_t infinirtXCacheTrimTo(infinirtXCache_t cache, size_t minBytesToKeep);

typedef struct infinirtXCacheStats {
  size_t reservedCurrent, reservedHigh; /* bytes held; the most ever */
  size_t usedCurrent, usedHigh;         /* bytes of blocks in use, rounding included */
  size_t requestedCurrent;              /* bytes asked for by those blocks */
  size_t segments;                      /* pieces of device memory */
  size_t liveBlocks;
  size_t pendingBlocks;                 /* freed, but waiting for other streams */
  size_t largestFreeBlock;
  unsigned long long allocations, frees, segmentsMapped, segmentsUnmapped, outOfMemory; /* since creation */
} infinirtXCacheStats;

INFINIRT_API infinirtError_t infinirtXCacheGetStats(infinirtXCacheStats* stats, infinirtXCache_t cache);

/* Changes the limit; 0: none. A limit below what is held takes nothing away. */
INFINIRT_API infinirtError_t infinirtXCacheSetMaxSize(infinirtXCache_t cache, size_t maxSize);

/* The piece of device memory that an address of the cache lies in, as the device gave it. InvalidValue for others' memory. */
INFINIRT_API infinirtError_t infinirtXCacheGetSegment(void** base, size_t* size, infinirtXCache_t cache,
                                                      const void* ptr);

typedef enum infinirtXCacheBlockState {
  infinirtXCacheBlockFree = 0,   /* for its stream at once, for others when its last use is over */
  infinirtXCacheBlockUsed = 1,   /* allocated */
  infinirtXCacheBlockPending = 2 /* freed, but waiting for other streams */
} infinirtXCacheBlockState;

typedef struct infinirtXCacheBlock {
  void* segment;      /* the piece of device memory that it lies in */
  size_t segmentSize;
  void* base;
  size_t size;        /* rounding included */
  size_t requested;   /* what was asked for; 0 unless it is used */
  infinirtXCacheBlockState state;
  int isReserved;     /* it belongs to a reserve */
  unsigned long long stream; /* names the stream whose it is, by its handle where it has one; ~0: any stream's */
} infinirtXCacheBlock;

/* Every block of the cache at one moment, segment by segment, by address within one: for people and tools, it stops the cache
 * meanwhile. `*count` is the room in `blocks` on entry and the number of blocks there were on return; those without room are left out.
 * `blocks` may be null when `*count` is 0. */
INFINIRT_API infinirtError_t infinirtXCacheGetBlocks(infinirtXCacheBlock* blocks, size_t* count,
                                                     infinirtXCache_t cache);

/* Recording what a cache is asked for, to look at or to replay. Recording costs memory of the host and a lock for each call; a cache
 * that does not record pays nothing for it. */
typedef enum infinirtXCacheEventKind {
  infinirtXCacheEventAllocate = 0,
  infinirtXCacheEventFree = 1,
  infinirtXCacheEventUse = 2 /* infinirtXCacheRecordStream */
} infinirtXCacheEventKind;

typedef struct infinirtXCacheEvent {
  infinirtXCacheEventKind kind;
  void* ptr;
  size_t size;               /* what was asked for; 0 unless it is an allocation */
  unsigned long long stream; /* as in infinirtXCacheBlock */
  unsigned long long time;   /* nanoseconds of the system's monotonic clock */
} infinirtXCacheEvent;

/* Calls that succeed are recorded from here on, `maxEvents` of them at most: later ones are counted as lost, so that what there is is whole
 * from its beginning. InvalidValue when the cache records already. */
INFINIRT_API infinirtError_t infinirtXCacheTraceBegin(infinirtXCache_t cache, size_t maxEvents);
/* Takes the oldest events out of the record. `*count` is the room on entry and the number on return; `*lost` (may be null) how many
 * found no room since the beginning. Also after the end, until the next beginning. */
INFINIRT_API infinirtError_t infinirtXCacheTraceRead(infinirtXCacheEvent* events, size_t* count, size_t* lost,
                                                     infinirtXCache_t cache);
/* Ends recording; what was recorded stays to be read. Without a beginning nothing happens. */
INFINIRT_API infinirtError_t infinirtXCacheTraceEnd(infinirtXCache_t cache);

/* `used*` and `reserved*` high-water marks start again from what is there now. */
INFINIRT_API infinirtError_t infinirtXCacheResetPeaks(infinirtXCache_t cache);

/* A reserve is memory of the cache that is set aside, usually for a graph: what is allocated from it and freed is handed out again
 * within the reserve only, and nobody else gets it until the reserve is destroyed. */
typedef unsigned long long infinirtXCacheReserve_t; /* 0: none */

INFINIRT_API infinirtError_t infinirtXCacheReserveCreate(infinirtXCacheReserve_t* reserve, infinirtXCache_t cache);

/* As infinirtXCacheAllocate; the stream may capture. Blocks are freed by infinirtXCacheFree. */
INFINIRT_API infinirtError_t infinirtXCacheReserveAllocate(void** ptr, size_t size, infinirtXCache_t cache,
                                                           infinirtXCacheReserve_t reserve, infinirtStream_t stream);

/* The memory is used by nothing that comes after what `stream` has been given so far: the last launch of the graph, say. Blocks in
 * use stay valid until they are freed, and are then for everybody: free none that a graph still uses. */
INFINIRT_API infinirtError_t infinirtXCacheReserveDestroy(infinirtXCache_t cache, infinirtXCacheReserve_t reserve,
                                                          infinirtStream_t stream);
/* ---- Device types of the program's own ----------------------------------------------------------------------------
 * For bring-up, simulators and languages other than C: a program registers a few functions, and has a device type with streams,
 * events, graphs, pools and everything else, made up for by the runtime. (A vendor's shared object is a plugin: see
 * infinirt_plugin.h.)
 *
 * A block of memory is whatever `allocate` says it is: the runtime gives it addresses that nobody can reach, and names it by block
 * and offset. All functions are called on threads of the runtime's and of the program's, with no lock of the runtime held, one at a time
 * unless threadSafe is set. They may not call this API. Whatever they return but infinirtSuccess is the error of the call, or of the
 * asynchronous work; lastError then adds words. */

typedef struct infinirtXBackendFacts {
  char name[256];          /* of the device, for people; "" is the type's name */
  size_t totalMemory;      /* 0: not known */
  int multiProcessorCount; /* 0: not known */
} infinirtXBackendFacts;

typedef struct infinirtXBackend {
  size_t structSize;    /* sizeof(infinirtXBackend) */
  const char* type;     /* the new device type's name: letters, digits, '-' and '_', beginning with a letter */
  const char* origin;   /* where it comes from, for people; may be null */
  int deviceCount;
  int threadSafe;
  void* context;        /* the first argument of every function; both stay as long as the process */

  infinirtError_t (*allocate)(void* context, int device, size_t size, void** block);
  infinirtError_t (*release)(void* context, int device, void* block, size_t size);
  /* From and to memory of the host; complete on return, and after everything that earlier calls began. */
  infinirtError_t (*write)(void* context, int device, void* block, size_t offset, const void* host, size_t size);
  infinirtError_t (*read)(void* context, int device, void* block, size_t offset, void* host, size_t size);

  /* May be null, and are made of the others then. copy and fill may return early if there is synchronize. The two parts of a
   * copy may overlap. */
  infinirtError_t (*copy)(void* context, int device, void* dst, size_t dstOffset, void* src, size_t srcOffset,
                          size_t size);
  infinirtError_t (*fill)(void* context, int device, void* block, size_t offset, unsigned char value, size_t size);
  infinirtError_t (*synchronize)(void* context, int device);
  infinirtError_t (*describe)(void* context, int device, infinirtXBackendFacts* facts);
  const char* (*lastError)(void* context); /* what went wrong on the calling thread; null or "": nothing to say */
} infinirtXBackend;

/* Registers a device type for the life of the process. InvalidValue when something required is missing or the name is taken. */
INFINIRT_API infinirtError_t infinirtXRegisterBackend(const infinirtXBackend* backend);

/* ---- Whose a handle or an address is -------------------------------------------------------------------------------- */

/* The device type and the number of the device that a stream belongs to; for the predefined streams 0, 1 and 2 the current
 * ones. Unlike infinirtStreamGetDevice it may be asked while the stream captures. Either output may be null. */
INFINIRT_API infinirtError_t infinirtXStreamGetDevice(infinirtStream_t stream, const char** type, int* device);

/* A stream of the device's own runtime, for a library that launches on such streams: what is put on `native` comes after
 * everything that `stream` was given before infinirtXStreamBeginNative, which waits for that, and, after
 * infinirtXStreamEndNative, before everything that `stream` is given later. In between work on `stream` is not ordered with
 * work on `native`. Every Begin needs its End, on any thread; then `native` may not be used any more.
 * Where streams are the vendor's own (device type "nvidia") `native` is the stream itself and nothing waits.
 * NotSupported where the backend has no streams of its own; StreamCaptureUnsupported while the stream captures, since a capture
 * sees our own calls only. */
INFINIRT_API infinirtError_t infinirtXStreamBeginNative(infinirtStream_t stream, void** native);
INFINIRT_API infinirtError_t infinirtXStreamEndNative(infinirtStream_t stream, void* native);

/* The address by which the device's own runtime knows memory. That is the pointer itself, except where the vendor's addresses
 * are not unique in the process. InvalidValue for memory that no device type knows. */
INFINIRT_API infinirtError_t infinirtXPointerGetNative(const void* pointer, void** native);

/* The same for memory, whichever device type is current. InvalidValue for memory that no device type knows. */
INFINIRT_API infinirtError_t infinirtXPointerGetDevice(const void* pointer, const char** type, int* device);

/* ---- Host functions with an owner --------------------------------------------------------------------------------- */

/* As infinirtLaunchHostFunc; `destroy` is called exactly once with `userData`, after `fn` or instead of it: when this call
 * fails, when the device fails before `fn` ran, when the last graph that recorded it goes. In a capture the graph takes
 * ownership. Like `fn`, `destroy` may not call the API. It may be null. */
INFINIRT_API infinirtError_t infinirtXLaunchHostFunc(infinirtStream_t stream, infinirtHostFn_t fn, void* userData,
                                                     infinirtHostFn_t destroy);

/* Gives `object` to a graph: `destroy` is called exactly once with it, when the last graph that holds it goes, or at once if this
 * call fails. Like infinirtUserObjectCreate and infinirtGraphRetainUserObject together, for the graph's own device type. */
INFINIRT_API infinirtError_t infinirtXGraphKeep(infinirtGraph_t graph, void* object, infinirtHostFn_t destroy);

/* ---- Steps: work that waits for work of other streams -------------------------------------------------------------
 * For libraries whose operations have parts on several streams: collectives. A step is a place in a stream's order where the
 * library decides when the stream goes on. Its function is called once when the stream gets there and does not block: it is done
 * (the stream goes on), or parked until infinirtXStepFinish, which any thread may call, then or later. A parked stream occupies no
 * thread. On engine-run device types only ("cpu", and all whose streams are emulated); NotSupported elsewhere.
 * The functions of a step may not call the API, but for the infinirtXStep... functions. */

typedef struct infinirtXStep_st*
    infinirtXStep_t; /* one execution of a step, from its call until it is done or finished */

typedef enum infinirtXStepResult {
  infinirtXStepDone = 0,
  infinirtXStepParked = 1, /* infinirtXStepFinish has been called, or will be; `data` may be gone already */
  infinirtXStepLater = 2   /* only if `inCaller`: too much for the calling thread; called again where work runs */
} infinirtXStepResult;

typedef struct infinirtXStepInfo {
  size_t structSize; /* sizeof(infinirtXStepInfo) */
  /* inCaller: the stream was idle, and the call is made by the thread that launches, before infinirtXLaunchStep returns. */
  infinirtXStepResult (*run)(void* data, infinirtXStep_t step, int inCaller);
  void* data;
  /* Called exactly once, after the step or instead of it; in a capture, when the last graph that recorded the step goes. Executions
   * of one captured step may run at the same time, if several executable graphs have it. May be null. */
  void (*destroy)(void* data);
  int mayRunInCaller; /* 0: `run` is never called by the launching thread */
} infinirtXStepInfo;

/* Puts a step on a stream. In a capture it becomes a node that shows itself as a host node. If this fails, `destroy` has been called. */
INFINIRT_API infinirtError_t infinirtXLaunchStep(infinirtStream_t stream, const infinirtXStepInfo* info);

/* For a step's memory: whether work on the stream may use `bytes` bytes from `pointer` on, and where threads of the host find them
 * (`hostPointer`; the pointer itself unless device memory is isolated). InvalidValue, with `argument` as the pointer's name in the
 * message, for memory that was freed, is too short, or cannot be reached; memory that the runtime does not know is taken for the
 * host's. Frees of the memory wait for the stream from now on, as for any work that uses it. */
INFINIRT_API infinirtError_t infinirtXStreamUse(infinirtStream_t stream, const void* pointer, size_t bytes,
                                                const char* argument, void** hostPointer);

/* Ends a parked step: its stream goes on. Exactly once for each execution that returns infinirtXStepParked; no lock may be held that
 * `destroy` or other steps need. */
INFINIRT_API void infinirtXStepFinish(infinirtXStep_t step);

/* Makes `error` an asynchronous error of the step's device, as a failed kernel does; before the step is done or finished. */
INFINIRT_API void infinirtXStepFail(infinirtXStep_t step, infinirtError_t error, const char* message);

/* Calls body(begin, end, context) over [0, count) in pieces of at least `grain`, on this thread and on idle workers, and returns when
 * all is done. Only in `run`. */
INFINIRT_API void infinirtXStepParallel(infinirtXStep_t step, long long count, long long grain,
                                        void (*body)(long long begin, long long end, void* context), void* context);

/* ---- Language runtimes with a global lock ------------------------------------------------------------------------- */

/* Some calls on the CPU device wait for device work only in rare cases: an allocation at the limit of memory. A language
 * runtime that makes such calls holding a lock which host functions need gives it away meanwhile: `begin` is called on the
 * thread that is about to wait, `end` on the same thread afterwards, with what `begin` returned. Both null: none. Neither
 * may call the API. */
INFINIRT_API infinirtError_t infinirtXSetWaitHooks(void* (*begin)(void), void (*end)(void* state));

/* Whether a call on the device type (null: the thread's current one, or whichever a vendor's handle leads to) that enqueues work
 * or asks a question might have to wait for a host function: a language runtime then gives its lock away first. 0 on the CPU
 * device; on a vendor's, whose queues are bounded, 1 while host functions are pending there or waits are expected (below); 1 for device
 * types whose calls run foreign code, and before a type was chosen. */
INFINIRT_API int infinirtXCallMayWait(const char* type);

/* Points at a number, to be read as an atomic one, that is 0 while infinirtXCallMayWait answers 0 on all threads that have chosen a
 * type: who finds 0 there need not ask. Never null, and always the same. */
INFINIRT_API const int* infinirtXSomeCallMayWait(void);

/* Adds to the number of reasons, beyond those that the runtime sees, why a vendor's queue may stand still until another thread of the
 * process has made a call: 1 to begin with one, -1 to end it. For libraries on top whose work on one device waits for work that another
 * thread enqueues, as collectives among GPUs of one process do. */
INFINIRT_API void infinirtXExpectWaits(int change);

/* Adds a folder in which vendors' packages may lie, as Python's site-packages: a device type that needs its vendor's library
 * looks there, after libraries that the process has already and before the system's. Takes effect for libraries that have
 * not been looked for yet. */
INFINIRT_API infinirtError_t infinirtXAddLibraryFolder(const char* folder);
/* These folders, from index 0 on, for libraries on top that look for a package of their own; null behind the last one. The text lives as
 * long as the process. */
INFINIRT_API const char* infinirtXGetLibraryFolder(int index);

/* ---- Plugins -------------------------------------------------------------------------------------------------------
 * A shared object with PaddlePaddle's custom-runtime interface (infinirt_plugin.h, or PaddlePaddle's own header of 2.6 to
 * 3.3) becomes a device type. Files and folders in INFINIRT_PLUGIN_PATH, separated by ':', are looked at when device types are
 * first asked for. Each file is tried out in a process of its own before it is loaded into this one: a plugin that fails or
 * crashes there is refused, and everything else works on. */

typedef struct infinirtXPluginOptions {
  size_t structSize; /* sizeof(infinirtXPluginOptions) */
  const char* deviceType; /* the name it is to have here; null: its own */
  const char* layout; /* the PaddlePaddle release it was built for, "2.6" to "3.3"; null: found out */
  int threadSafe; /* 1: its entries may be called by several threads at a time, each with a device of its own current */
} infinirtXPluginOptions;

/* Loads a plugin for the life of the process; `options` and `type` may be null. A file that is loaded already is no error.
 * SharedObjectInitFailed, with the reason, when the plugin is refused; FileNotFound; InvalidValue for a device type's name
 * that is taken or an unknown layout. */
INFINIRT_API infinirtError_t infinirtXLoadPlugin(const char* path, const infinirtXPluginOptions* options,
                                                 const char** type);

typedef struct infinirtXPluginInfo {
  const char* path;
  const char* deviceType; /* "" when it was refused */
  const char* layout; /* likewise */
  const char* problem; /* why it was refused; "" when it was not */
} infinirtXPluginInfo;

/* The plugins that were tried, in that order, and what came of each; the texts live as long as the process. */
INFINIRT_API infinirtError_t infinirtXGetPluginCount(int* count);
INFINIRT_API infinirtError_t infinirtXGetPluginInfo(infinirtXPluginInfo* info, int index);

/* ---- Testing aids (CPU device) ------------------------------------------------------------------------------------ */

/* Limits the memory of a device: allocations beyond `bytes` fail as out of memory. 0 takes the limit away. The initial
 * limit is INFINIRT_CPU_MEMORY_LIMIT. */
INFINIRT_API infinirtError_t infinirtXSetMemoryLimit(int device, size_t bytes);

/* Where the host can reach device memory: the pointer itself on the CPU device, its host-accessible alias with isolated
 * memory. NotSupported where there is no such address, InvalidValue for memory that is not of this runtime. */
INFINIRT_API infinirtError_t infinirtXGetHostAddress(void** hostPointer, const void* devicePointer);

/* Starts the random schedule's generator anew, so that one process can try many seeds. InvalidValue unless the process runs
 * with INFINIRT_CPU_SCHEDULE=random. The same seed repeats the same schedule while API calls come in the same order. */
INFINIRT_API infinirtError_t infinirtXSeedSchedule(unsigned long long seed);

/* Waits until all work of the engine-run devices is finished, at most `milliseconds`; NotReady when work is left. */
INFINIRT_API infinirtError_t infinirtXDrain(unsigned int milliseconds);

/* ---- The function table -------------------------------------------------------------------------------------------
 * For libraries that must not import the aligned names (two generations of this API share names). */

/* The address of the public function `name`, or null. Covers infinirt.h and this header. */
INFINIRT_API void* infinirtXGetProcAddress(const char* name);

#ifdef __cplusplus
}
#endif

#endif /* INFINIRT_EXT_H */
