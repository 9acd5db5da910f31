/* A loop-back library with CNRT's names and numbers, as cnrt.h of CNToolkit 3 has them. Built as cuda_like.c is. */
#include "chip.h"

enum { cnrtMemcpyHostToDev, cnrtMemcpyDevToDev, cnrtMemcpyDevToHost };
enum { cnrtErrorNoDevice = 100004, cnrtErrorNoMem = 100100 };

#define FUNCTION(name, parameters) \
  EXPORT int name parameters;      \
  EXPORT int name parameters

FUNCTION(cnrtGetDeviceCount, (unsigned* count)) {
#ifdef FAILS
  return cnrtErrorNoDevice;
#endif
  return *count = CHIP_DEVICES, 0;
}
FUNCTION(cnrtSetDevice, (int device)) { return chip_set(device), 0; }
FUNCTION(cnrtSyncDevice, (void)) { return chip_wait_all(), 0; }
#ifndef WITHOUT_MALLOC
FUNCTION(cnrtMalloc, (void** pointer, size_t size)) {
  return chip_malloc(pointer, size) == CHIP_OK ? 0 : cnrtErrorNoMem;
}
#endif
FUNCTION(cnrtFree, (void* pointer)) { return chip_free(pointer), 0; }
FUNCTION(cnrtMemcpy, (void* dst, void* src, size_t size, int direction)) {
  if (direction < cnrtMemcpyHostToDev || direction > cnrtMemcpyDevToHost) chip_complain("a direction that is none");
  const struct chip_work work = chip_copy_work(dst, src, size,
                                               direction == cnrtMemcpyHostToDev   ? CHIP_TO_DEVICE
                                               : direction == cnrtMemcpyDevToHost ? CHIP_TO_HOST
                                                                                  : CHIP_INSIDE);
  return chip_run(&work), 0;
}
EXPORT const char* cnrtGetErrorStr(int error);
EXPORT const char* cnrtGetErrorStr(int error) {
  return error == cnrtErrorNoMem ? "the chip is full" : "the chip does not wake up";
}

#ifndef WITHOUT_MORE
FUNCTION(cnrtMemcpyPeer, (void* dst, int to, void* src, int from, size_t size)) {
  const struct chip_work work = chip_peer_work(to, dst, from, src, size);
  return chip_run(&work), 0;
}
FUNCTION(cnrtMemset, (void* dst, int value, size_t size)) {
  const struct chip_work work = chip_fill_work(dst, value, size);
  return chip_run(&work), 0;
}
FUNCTION(cnrtMemGetInfo, (size_t* free_bytes, size_t* total_bytes)) {
  *total_bytes = CHIP_MEMORY;
  *free_bytes = CHIP_MEMORY - chip_units[chip_device].used;
  return 0;
}
FUNCTION(cnrtHostMalloc, (void** pointer, size_t size)) { return *pointer = chip_host_malloc(size), 0; }
FUNCTION(cnrtFreeHost, (void* pointer)) { return chip_host_free(pointer), 0; }
FUNCTION(cnrtQueueCreate, (void** queue)) { return *queue = chip_stream_create(), 0; }
FUNCTION(cnrtQueueSync, (void* queue)) { return chip_wait(queue), 0; }
FUNCTION(cnrtGetDeviceProperties, (char* properties, int device)) {
  return snprintf(properties, 256, "Loop-back %d", device), 0;
}
#endif
