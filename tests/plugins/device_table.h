/* PaddlePaddle's custom-runtime interface as plugins of release LAYOUT (26, 30, 31, 32 or 33) see it: a rendition of the
 * tests' own, independent of the runtime's, for plugins that know nothing of this project. With PADDLE_HEADER it is
 * PaddlePaddle's own header instead, in C++. Entries that no test plugin fills in are plain pointers. */
#ifndef DEVICE_TABLE_H
#define DEVICE_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef PADDLE_HEADER
#include PADDLE_HEADER
#define EXPORTED extern "C" __attribute__((visibility("default")))
#else

#ifndef LAYOUT
#define LAYOUT 33
#endif
#define EXPORTED __attribute__((visibility("default")))

typedef enum { C_SUCCESS = 0, C_WARNING, C_FAILED, C_ERROR, C_INTERNAL_ERROR } C_Status;
typedef struct C_Device_st {
  int id;
}* C_Device;
typedef struct C_Stream_st* C_Stream;
typedef struct C_Event_st* C_Event;

typedef struct C_DeviceInterface {
  size_t size;
  C_Status (*initialize)(void);
  C_Status (*finalize)(void);
  C_Status (*init_device)(const C_Device);
  C_Status (*set_device)(const C_Device);
  C_Status (*get_device)(const C_Device);
  C_Status (*deinit_device)(const C_Device);
  C_Status (*create_stream)(const C_Device, C_Stream*);
  C_Status (*destroy_stream)(const C_Device, C_Stream);
  C_Status (*query_stream)(const C_Device, C_Stream);
  void* stream_add_callback;
  C_Status (*create_event)(const C_Device, C_Event*);
  C_Status (*record_event)(const C_Device, C_Stream, C_Event);
  C_Status (*destroy_event)(const C_Device, C_Event);
  void* query_event;
  C_Status (*synchronize_device)(const C_Device);
  C_Status (*synchronize_stream)(const C_Device, C_Stream);
  C_Status (*synchronize_event)(const C_Device, C_Event);
  C_Status (*stream_wait_event)(const C_Device, C_Stream, C_Event);
  void* reserved_dev_api[8];

  C_Status (*device_memory_allocate)(const C_Device, void**, size_t);
  C_Status (*device_memory_deallocate)(const C_Device, void*, size_t);
  C_Status (*device_memory_set)(const C_Device, void*, unsigned char, size_t);
  C_Status (*host_memory_allocate)(const C_Device, void**, size_t);
  C_Status (*host_memory_deallocate)(const C_Device, void*, size_t);
  C_Status (*unified_memory_allocate)(const C_Device, void**, size_t);
  C_Status (*unified_memory_deallocate)(const C_Device, void*, size_t);
  C_Status (*memory_copy_h2d)(const C_Device, void*, const void*, size_t);
  C_Status (*memory_copy_d2h)(const C_Device, void*, const void*, size_t);
  C_Status (*memory_copy_d2d)(const C_Device, void*, const void*, size_t);
  C_Status (*memory_copy_p2p)(const C_Device, const C_Device, void*, const void*, size_t);
  C_Status (*async_memory_copy_h2d)(const C_Device, C_Stream, void*, const void*, size_t);
  C_Status (*async_memory_copy_d2h)(const C_Device, C_Stream, void*, const void*, size_t);
  C_Status (*async_memory_copy_d2d)(const C_Device, C_Stream, void*, const void*, size_t);
  void* async_memory_copy_p2p;
  void* reserved_mem_api[8];

  C_Status (*get_device_count)(size_t*);
  C_Status (*get_device_list)(size_t*);
  C_Status (*device_memory_stats)(const C_Device, size_t*, size_t*);
  C_Status (*device_min_chunk_size)(const C_Device, size_t*);
  C_Status (*device_max_chunk_size)(const C_Device, size_t*);
  C_Status (*device_max_alloc_size)(const C_Device, size_t*);
  C_Status (*device_extra_padding_size)(const C_Device, size_t*);
  C_Status (*device_init_alloc_size)(const C_Device, size_t*);
  C_Status (*device_realloc_size)(const C_Device, size_t*);
#if LAYOUT >= 31
  C_Status (*get_compute_capability)(const C_Device, size_t*);
  void* get_device_properties;
  C_Status (*get_runtime_version)(const C_Device, size_t*);
  C_Status (*get_driver_version)(const C_Device, size_t*);
  C_Status (*get_multi_process)(const C_Device, size_t*);
  void *get_max_threads_per_mp, *get_max_threads_per_block, *get_max_grid_dim_size;
#if LAYOUT >= 32
  void *is_float16_supported, *is_bfloat16_supported;
#endif
#if LAYOUT >= 33
  void* is_dnn_supported;
#endif
  void *init_eigen_device, *destroy_eigen_device;
#else
  C_Status (*get_compute_capability)(size_t*);
  C_Status (*get_runtime_version)(size_t*);
  C_Status (*get_driver_version)(size_t*);
#endif
  void* reserved_info_api[8];

#if LAYOUT >= 30
  void* xccl_get_comm_name;
#endif
  void* xccl[14];
  void* reserved_ccl_api[8];
  void* profiler[6];
  void* reserved_profiler_api[8];
#if LAYOUT >= 32
  void* blas_handles[5];
#endif
#if LAYOUT >= 33
  void* graphs[11];
#endif
  void* blas_axpby;
  void* reserved_other_api[7];
} C_DeviceInterface;

typedef struct CustomRuntimeParams {
  size_t size;
  C_DeviceInterface* interface;
  struct {
    size_t major, minor, patch;
  } version;
  char *device_type, *sub_device_type;
#if LAYOUT >= 30
  void* pir_default_passes;
#endif
  char reserved[32];
} CustomRuntimeParams;

_Static_assert(sizeof(CustomRuntimeParams) == (LAYOUT >= 30 ? 96 : 88), "as measured");
_Static_assert(sizeof(C_DeviceInterface) == (LAYOUT == 26   ? 912
                                             : LAYOUT == 30 ? 920
                                             : LAYOUT == 31 ? 976
                                             : LAYOUT == 32 ? 1032
                                                            : 1128),
               "as measured");

/* What PaddlePaddle's own macro does: it gives up only when neither size fits. */
#define PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params)                                                                    \
  if ((params)->size != sizeof(CustomRuntimeParams) && (params)->interface->size != sizeof(C_DeviceInterface)) return; \
  (params)->version.major = 0;                                                                                         \
  (params)->version.minor = 1;                                                                                         \
  (params)->version.patch = 1
#endif

#endif
