/* A loop-back library with AscendCL's names and numbers, as acl/acl_rt.h and acl/acl_base.h have them. STARTED: somebody else
 * has called aclInit before. Others as in cuda_like.c. */
#include "chip.h"

enum { ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE };
enum { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };
enum { ACL_DDR_MEM, ACL_HBM_MEM };
enum {
  ACL_ERROR_REPEAT_INITIALIZE = 100002,
  ACL_ERROR_RT_MEMORY_ALLOCATION = 207001,
  ACL_ERROR_INTERNAL_ERROR = 500000
};

#define FUNCTION(name, parameters) \
  EXPORT int name parameters;      \
  EXPORT int name parameters

static int started;

FUNCTION(aclInit, (const char* configuration)) {
  if (configuration) chip_complain("a configuration that nobody wrote");
#ifdef FAILS
  return ACL_ERROR_INTERNAL_ERROR;
#endif
  if (started++) return ACL_ERROR_REPEAT_INITIALIZE;
#ifdef STARTED
  return ACL_ERROR_REPEAT_INITIALIZE;
#endif
  return 0;
}
FUNCTION(aclrtGetDeviceCount, (uint32_t* count)) {
  if (!started) chip_complain("aclInit was not called");
  return *count = CHIP_DEVICES, 0;
}
FUNCTION(aclrtSetDevice, (int32_t device)) { return chip_set(device), 0; }
FUNCTION(aclrtSynchronizeDevice, (void)) { return chip_wait_all(), 0; }
#ifndef WITHOUT_MALLOC
FUNCTION(aclrtMalloc, (void** pointer, size_t size, int policy)) {
  if (policy != ACL_MEM_MALLOC_HUGE_FIRST) chip_complain("another policy than was meant");
  return chip_malloc(pointer, size) == CHIP_OK ? 0 : ACL_ERROR_RT_MEMORY_ALLOCATION;
}
#endif
FUNCTION(aclrtFree, (void* pointer)) { return chip_free(pointer), 0; }
FUNCTION(aclrtMemcpy, (void* dst, size_t room, const void* src, size_t size, int kind)) {
  if (room < size) chip_complain("more than there is room for");
  if (kind < ACL_MEMCPY_HOST_TO_DEVICE || kind > ACL_MEMCPY_DEVICE_TO_DEVICE) chip_complain("a direction that is none");
  const struct chip_work work = chip_copy_work(dst, src, size,
                                               kind == ACL_MEMCPY_HOST_TO_DEVICE   ? CHIP_TO_DEVICE
                                               : kind == ACL_MEMCPY_DEVICE_TO_HOST ? CHIP_TO_HOST
                                                                                   : CHIP_INSIDE);
  return chip_run(&work), 0;
}
EXPORT const char* aclGetRecentErrMsg(void);
EXPORT const char* aclGetRecentErrMsg(void) { return "the chip does not wake up, or is full"; }

#ifndef WITHOUT_MORE
FUNCTION(aclrtMemset, (void* dst, size_t room, int32_t value, size_t size)) {
  if (room < size) chip_complain("more than there is room for");
  const struct chip_work work = chip_fill_work(dst, value, size);
  return chip_run(&work), 0;
}
FUNCTION(aclrtGetMemInfo, (int attribute, size_t* free_bytes, size_t* total_bytes)) {
  if (attribute != ACL_HBM_MEM) chip_complain("another memory than was meant");
  *total_bytes = CHIP_MEMORY;
  *free_bytes = CHIP_MEMORY - chip_units[chip_device].used;
  return 0;
}
FUNCTION(aclrtMallocHost, (void** pointer, size_t size)) { return *pointer = chip_host_malloc(size), 0; }
FUNCTION(aclrtFreeHost, (void* pointer)) { return chip_host_free(pointer), 0; }
FUNCTION(aclrtCreateStream, (void** stream)) { return *stream = chip_stream_create(), 0; }
FUNCTION(aclrtSynchronizeStream, (void* stream)) { return chip_wait(stream), 0; }
EXPORT const char* aclrtGetSocName(void);
EXPORT const char* aclrtGetSocName(void) { return "Loop-back"; }
#endif
