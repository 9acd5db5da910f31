/* Loop-back libraries with the names and numbers of the CUDA-shaped runtimes. They stand here as the vendors' headers and the
 * programs that use them spell them, and independently of the table under test. Built with one of VENDOR_HIP, VENDOR_MUSA,
 * VENDOR_MC and VENDOR_CUDA; FAILS: the first call fails; WITHOUT_MALLOC: a needed function is missing; WITHOUT_MORE: so are
 * functions that can be done without. */
#include "chip.h"

#if defined(VENDOR_HIP) /* hip/hip_runtime_api.h */
#define NAME(name) hip##name
#define HOST_ALLOC hipHostMalloc
#define HOST_FREE hipHostFree
enum { InvalidValue = 1, OutOfMemory = 2, NoDevice = 100, NotInitialized = 3, ToDevice = 1, ToHost = 2, Inside = 3 };
enum { NonBlocking = 1 };
#elif defined(VENDOR_MUSA) /* musa_runtime_api.h */
#define NAME(name) musa##name
#define HOST_ALLOC musaHostAlloc
#define HOST_FREE musaFreeHost
enum { InvalidValue = 1, OutOfMemory = 2, NoDevice = 100, NotInitialized = 3, ToDevice = 1, ToHost = 2, Inside = 3 };
enum { NonBlocking = -1 }; /* not known to the author */
#elif defined(VENDOR_MC) /* mcr/mc_runtime_api.h */
#define NAME(name) mc##name
#define HOST_ALLOC mcMallocHost
#define HOST_FREE mcFreeHost
enum { InvalidValue = 1, OutOfMemory = 2, NoDevice = 100, NotInitialized = 3, ToDevice = 1, ToHost = 2, Inside = 3 };
enum { NonBlocking = 1 };
#elif defined(VENDOR_CUDA) /* cuda_runtime_api.h */
#define NAME(name) cuda##name
#define HOST_ALLOC cudaHostAlloc
#define HOST_FREE cudaFreeHost
enum { InvalidValue = 1, OutOfMemory = 2, NoDevice = 100, NotInitialized = 3, ToDevice = 1, ToHost = 2, Inside = 3 };
enum { NonBlocking = 1 };
#endif

#define FUNCTION(name, parameters)  \
  EXPORT int NAME(name) parameters; \
  EXPORT int NAME(name)             \
  parameters

static _Thread_local int last_error;
static int failed(int error) { return last_error = error; }

static enum chip_direction direction_of(int kind) {
  if (kind != ToDevice && kind != ToHost && kind != Inside) chip_complain("a direction that is none");
  return kind == ToDevice ? CHIP_TO_DEVICE : kind == ToHost ? CHIP_TO_HOST : CHIP_INSIDE;
}

FUNCTION(GetDeviceCount, (int* count)) {
#ifdef FAILS
  return failed(NotInitialized);
#endif
  *count = CHIP_DEVICES;
  return CHIP_DEVICES ? 0 : failed(NoDevice);
}
FUNCTION(SetDevice, (int device)) { return chip_set(device), 0; }
FUNCTION(DeviceSynchronize, (void)) { return chip_wait_all(), 0; }
FUNCTION(GetLastError, (void)) {
  const int error = last_error;
  last_error = 0;
  return error;
}
EXPORT const char* NAME(GetErrorString)(int error);
EXPORT const char* NAME(GetErrorString)(int error) {
  return error == OutOfMemory      ? "the chip is full"
         : error == NoDevice       ? "there is no chip"
         : error == NotInitialized ? "the chip does not wake up"
                                   : "something else";
}

#ifndef WITHOUT_MALLOC
FUNCTION(Malloc, (void** pointer, size_t size)) {
  if (last_error) chip_complain("an error was left behind by the call before");
  return chip_malloc(pointer, size) == CHIP_OK ? 0 : failed(OutOfMemory);
}
#endif
FUNCTION(Free, (void* pointer)) { return chip_free(pointer), 0; }
FUNCTION(MemcpyAsync, (void* dst, const void* src, size_t size, int kind, void* stream)) {
  return chip_enqueue(stream, chip_copy_work(dst, src, size, direction_of(kind))), 0;
}
FUNCTION(StreamCreate, (void** stream)) { return *stream = chip_stream_create(), 0; }
FUNCTION(StreamSynchronize, (void* stream)) { return chip_wait(stream), 0; }

#ifndef WITHOUT_MORE
FUNCTION(StreamCreateWithFlags, (void** stream, unsigned flags)) {
  if ((int)flags != NonBlocking) chip_complain("a stream with flags that are not what was meant");
  return *stream = chip_stream_create(), 0;
}
FUNCTION(MemcpyPeerAsync, (void* dst, int to, const void* src, int from, size_t size, void* stream)) {
  return chip_enqueue(stream, chip_peer_work(to, dst, from, src, size)), 0;
}
FUNCTION(MemsetAsync, (void* dst, int value, size_t size, void* stream)) {
  return chip_enqueue(stream, chip_fill_work(dst, value, size)), 0;
}
FUNCTION(MemGetInfo, (size_t* free_bytes, size_t* total_bytes)) {
  *total_bytes = CHIP_MEMORY;
  *free_bytes = CHIP_MEMORY - chip_units[chip_device].used;
  return 0;
}
FUNCTION(GetDeviceProperties, (char* properties, int device)) {
  memset(properties, 0xAB, 4096); /* more than any of the structures has */
  snprintf(properties, 256, "Loop-back %d", device);
  return 0;
}
FUNCTION(RuntimeGetVersion, (int* version)) { return *version = 50221153, 0; }
EXPORT int HOST_ALLOC(void** pointer, size_t size, unsigned flags);
EXPORT int HOST_ALLOC(void** pointer, size_t size, unsigned flags) {
  if (flags) chip_complain("flags that nobody asked for");
  return *pointer = chip_host_malloc(size), 0;
}
EXPORT int HOST_FREE(void* pointer);
EXPORT int HOST_FREE(void* pointer) { return chip_host_free(pointer), 0; }
#endif
