/* A loop-back library with the XPU runtime's names and numbers, as xpu/runtime.h and xpu/defs.h have them: failures are negative.
 * Built as cuda_like.c is. */
#include "chip.h"

enum { XPU_DEVICE_TO_HOST, XPU_HOST_TO_DEVICE, XPU_DEVICE_TO_DEVICE };
enum { XPU_MEM_MAIN, XPU_MEM_L3 };
enum { XPUERR_UNINIT = 702, XPUERR_NOMEM = 705 };

#define FUNCTION(name, parameters) \
  EXPORT int name parameters;      \
  EXPORT int name parameters

FUNCTION(xpu_device_count, (int* count)) {
#ifdef FAILS
  return -XPUERR_UNINIT;
#endif
  return *count = CHIP_DEVICES, 0;
}
FUNCTION(xpu_set_device, (int device)) { return chip_set(device), 0; }
FUNCTION(xpu_wait, (void* stream)) {
  if (stream) chip_wait(stream);
  return 0;
}
#ifndef WITHOUT_MALLOC
FUNCTION(xpu_malloc, (void** pointer, uint64_t size, int kind)) {
  if (kind != XPU_MEM_MAIN) chip_complain("another memory than was meant");
  return chip_malloc(pointer, size) == CHIP_OK ? 0 : -XPUERR_NOMEM;
}
#endif
FUNCTION(xpu_free, (void* pointer)) { return chip_free(pointer), 0; }
FUNCTION(xpu_memcpy, (void* dst, const void* src, uint64_t size, int kind)) {
  if (kind < XPU_DEVICE_TO_HOST || kind > XPU_DEVICE_TO_DEVICE) chip_complain("a direction that is none");
  const struct chip_work work = chip_copy_work(dst, src, size,
                                               kind == XPU_HOST_TO_DEVICE   ? CHIP_TO_DEVICE
                                               : kind == XPU_DEVICE_TO_HOST ? CHIP_TO_HOST
                                                                            : CHIP_INSIDE);
  return chip_run(&work), 0;
}

#ifndef WITHOUT_MORE
FUNCTION(xpu_memcpy_peer, (int to, void* dst, int from, const void* src, uint64_t size)) {
  const struct chip_work work = chip_peer_work(to, dst, from, src, size);
  return chip_run(&work), 0;
}
FUNCTION(xpu_host_alloc, (void** pointer, uint64_t size, unsigned flags)) {
  if (flags) chip_complain("flags that must be 0");
  return *pointer = chip_host_malloc(size), 0;
}
FUNCTION(xpu_host_free, (void* pointer)) { return chip_host_free(pointer), 0; }
FUNCTION(xpu_stream_create, (void** stream)) { return *stream = chip_stream_create(), 0; }
FUNCTION(xpu_get_runtime_version, (uint32_t* major, uint32_t* minor)) { return *major = 5, *minor = 0, 0; }
#endif
