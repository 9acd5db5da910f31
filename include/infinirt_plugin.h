/* infinirt_plugin.h: for hardware vendors. A plugin is a shared object that exports InitPlugin, which fills in a table of
 * functions; the runtime then offers a device type of that name, with streams, events, graphs and pools.
 *
 * The binary interface is that of PaddlePaddle's custom runtime, release 3.3, so one plugin serves PaddlePaddle and
 * InfiniRT. Plugins built with PaddlePaddle's own header (2.6 to 3.3) load as well; this header needs no C++.
 *
 *     static enum infinirtPluginStatus set_device(infinirtPluginDevice_t device) { ... }
 *
 *     void InitPlugin(infinirtPluginParams* params) {
 *       INFINIRT_PLUGIN_START(params, "mychip", "rev-b");
 *       params->interface->set_device = set_device;
 *       ...
 *     }
 *
 * Required: set_device, get_device, get_device_count, get_device_list, device_memory_allocate, device_memory_deallocate,
 * memory_copy_h2d, memory_copy_d2h. Leave null what the device has not: the runtime makes up for it. PaddlePaddle also wants
 * synchronize_device and create_event, record_event, destroy_event, synchronize_event.
 *
 * Rules for all entries:
 *  - A `device` argument points at the device's id, one of those that get_device_list gave, or what init_device put there.
 *  - The runtime makes one call at a time, from any thread, with the device of the call made current on that thread before,
 *    unless the plugin was loaded as thread-safe.
 *  - infinirtPluginWarning counts as success. Messages cannot be passed; what a plugin has to say goes to standard error.
 *  - No entry may call back into the runtime. Exceptions must not leave an entry.
 */
#ifndef INFINIRT_PLUGIN_H
#define INFINIRT_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum infinirtPluginStatus {
  infinirtPluginSuccess = 0,
  infinirtPluginWarning = 1, /* done, though not quite as asked */
  infinirtPluginFailed = 2, /* no memory or other resource left; a query: not ready yet */
  infinirtPluginError = 3, /* an argument is wrong, or something was not initialised */
  infinirtPluginInternalError = 4 /* the plugin's own fault */
};

typedef struct infinirtPluginDevice_st {
  int id;
}* infinirtPluginDevice_t;

typedef struct infinirtPluginStream_st* infinirtPluginStream_t; /* null is a legal stream */
typedef struct infinirtPluginEvent_st* infinirtPluginEvent_t; /* null is a legal event */

typedef void (*infinirtPluginCallback)(infinirtPluginDevice_t device, infinirtPluginStream_t stream, void* user_data,
                                       enum infinirtPluginStatus* status);

/* Element types and reductions of the collective entries. */
enum infinirtPluginDataType {
  infinirtPluginUndefined = 0,
  infinirtPluginBool,
  infinirtPluginUint8,
  infinirtPluginUint16,
  infinirtPluginUint32,
  infinirtPluginUint64,
  infinirtPluginInt8,
  infinirtPluginInt16,
  infinirtPluginInt32,
  infinirtPluginInt64,
  infinirtPluginFloat16,
  infinirtPluginFloat32,
  infinirtPluginFloat64,
  infinirtPluginBfloat16,
  infinirtPluginComplex64,
  infinirtPluginComplex128
};

enum infinirtPluginReduction {
  infinirtPluginSum = 0,
  infinirtPluginAverage,
  infinirtPluginMaximum,
  infinirtPluginMinimum,
  infinirtPluginProduct
};

typedef struct infinirtPluginUniqueId {
  size_t size;
  void* data;
} infinirtPluginUniqueId;

typedef struct infinirtPluginComm_st* infinirtPluginComm_t;
typedef struct infinirtPluginProfiler_st* infinirtPluginProfiler_t;
typedef struct infinirtPluginGraph_st* infinirtPluginGraph_t;
typedef struct infinirtPluginGraphExec_st* infinirtPluginGraphExec_t;
typedef struct infinirtPluginGraphNode_st* infinirtPluginGraphNode_t;

enum infinirtPluginCaptureMode {
  infinirtPluginCaptureGlobal = 0,
  infinirtPluginCaptureThreadLocal,
  infinirtPluginCaptureRelaxed
};

enum infinirtPluginCaptureStatus {
  infinirtPluginCaptureNone = 0,
  infinirtPluginCaptureActive,
  infinirtPluginCaptureInvalidated
};

/* An entry of the table, to be read as a function that returns a status. */
#define INFINIRT_PLUGIN_FN(name) enum infinirtPluginStatus(*name)

typedef struct infinirtPluginInterface {
  size_t size; /* written by the host: how large a table it knows */

  /* ---- Devices ---------------------------------------------------------------------------------------------------- */

  /* Starts and ends the plugin; once per process. Between them anything may be called. */
  INFINIRT_PLUGIN_FN(initialize)(void);
  INFINIRT_PLUGIN_FN(finalize)(void);
  /* Starts a device, once, before its first use. May replace device->id; the new id is used from then on. */
  INFINIRT_PLUGIN_FN(init_device)(infinirtPluginDevice_t device);
  /* Required. Makes the device current for the calling thread; get_device must then answer with its id. */
  INFINIRT_PLUGIN_FN(set_device)(infinirtPluginDevice_t device);
  INFINIRT_PLUGIN_FN(get_device)(infinirtPluginDevice_t device);
  INFINIRT_PLUGIN_FN(deinit_device)(infinirtPluginDevice_t device);

  /* ---- Streams and events. The runtime's streams are its own; it uses the plugin's for long copies and lends them to programs.
   * Events, callbacks and graphs are for PaddlePaddle. ------------------------------------------------------------------- */

  INFINIRT_PLUGIN_FN(create_stream)(infinirtPluginDevice_t device, infinirtPluginStream_t* stream);
  INFINIRT_PLUGIN_FN(destroy_stream)(infinirtPluginDevice_t device, infinirtPluginStream_t stream);
  /* A query: infinirtPluginSuccess when everything is done, anything else when it is not. */
  INFINIRT_PLUGIN_FN(query_stream)(infinirtPluginDevice_t device, infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(stream_add_callback)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, infinirtPluginCallback callback, void* user_data);
  INFINIRT_PLUGIN_FN(create_event)(infinirtPluginDevice_t device, infinirtPluginEvent_t* event);
  INFINIRT_PLUGIN_FN(record_event)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, infinirtPluginEvent_t event);
  INFINIRT_PLUGIN_FN(destroy_event)(infinirtPluginDevice_t device, infinirtPluginEvent_t event);
  INFINIRT_PLUGIN_FN(query_event)(infinirtPluginDevice_t device, infinirtPluginEvent_t event);
  /* Waits for all work of the device. Called after copies within the device and sets, which may return early. */
  INFINIRT_PLUGIN_FN(synchronize_device)(infinirtPluginDevice_t device);
  INFINIRT_PLUGIN_FN(synchronize_stream)(infinirtPluginDevice_t device, infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(synchronize_event)(infinirtPluginDevice_t device, infinirtPluginEvent_t event);
  INFINIRT_PLUGIN_FN(stream_wait_event)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, infinirtPluginEvent_t event);
  void* reserved_dev_api[8];

  /* ---- Memory --------------------------------------------------------------------------------------------------------
   * The host never touches device memory. Host memory is the host's, page-locked where that makes copies faster; unified
   * memory is reached by both at the same address. Deallocation gets the size that was allocated. Sizes are never 0. The two
   * sides of a copy overlap only if the program's do, which leaves the result open. */

  INFINIRT_PLUGIN_FN(device_memory_allocate)(infinirtPluginDevice_t device, void** ptr, size_t size);
  INFINIRT_PLUGIN_FN(device_memory_deallocate)(infinirtPluginDevice_t device, void* ptr, size_t size);
  INFINIRT_PLUGIN_FN(device_memory_set)(infinirtPluginDevice_t device, void* ptr, unsigned char value, size_t size);
  INFINIRT_PLUGIN_FN(host_memory_allocate)(infinirtPluginDevice_t device, void** ptr, size_t size);
  INFINIRT_PLUGIN_FN(host_memory_deallocate)(infinirtPluginDevice_t device, void* ptr, size_t size);
  INFINIRT_PLUGIN_FN(unified_memory_allocate)(infinirtPluginDevice_t device, void** ptr, size_t size);
  INFINIRT_PLUGIN_FN(unified_memory_deallocate)(infinirtPluginDevice_t device, void* ptr, size_t size);
  /* Complete on return. `h` is any host memory, page-locked or not. */
  INFINIRT_PLUGIN_FN(memory_copy_h2d)(infinirtPluginDevice_t device, void* dst, const void* src, size_t size);
  INFINIRT_PLUGIN_FN(memory_copy_d2h)(infinirtPluginDevice_t device, void* dst, const void* src, size_t size);
  INFINIRT_PLUGIN_FN(memory_copy_d2d)(infinirtPluginDevice_t device, void* dst, const void* src, size_t size);
  INFINIRT_PLUGIN_FN(memory_copy_p2p)
  (infinirtPluginDevice_t dst_device, infinirtPluginDevice_t src_device, void* dst, const void* src, size_t size);
  INFINIRT_PLUGIN_FN(async_memory_copy_h2d)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, void* dst, const void* src, size_t size);
  INFINIRT_PLUGIN_FN(async_memory_copy_d2h)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, void* dst, const void* src, size_t size);
  INFINIRT_PLUGIN_FN(async_memory_copy_d2d)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, void* dst, const void* src, size_t size);
  INFINIRT_PLUGIN_FN(async_memory_copy_p2p)
  (infinirtPluginDevice_t dst_device, infinirtPluginDevice_t src_device, infinirtPluginStream_t stream, void* dst,
   const void* src, size_t size);
  void* reserved_mem_api[8];

  /* ---- Facts ---------------------------------------------------------------------------------------------------------
   * Count and list are required and must agree: the list writes exactly as many ids as the count says, no two the same. */

  INFINIRT_PLUGIN_FN(get_device_count)(size_t* count);
  INFINIRT_PLUGIN_FN(get_device_list)(size_t* devices);
  INFINIRT_PLUGIN_FN(device_memory_stats)(infinirtPluginDevice_t device, size_t* total, size_t* free);
  /* Sizes in bytes; 0 or an absent entry means no wish. Allocations are rounded up to the minimum chunk and get the extra
   * padding; one that is larger than the maximum allocation fails. The first segment of a pool has the initial size, the
   * following ones the re-allocation size, none more than the maximum chunk unless a single block needs it. */
  INFINIRT_PLUGIN_FN(device_min_chunk_size)(infinirtPluginDevice_t device, size_t* size);
  INFINIRT_PLUGIN_FN(device_max_chunk_size)(infinirtPluginDevice_t device, size_t* size);
  INFINIRT_PLUGIN_FN(device_max_alloc_size)(infinirtPluginDevice_t device, size_t* size);
  INFINIRT_PLUGIN_FN(device_extra_padding_size)(infinirtPluginDevice_t device, size_t* size);
  INFINIRT_PLUGIN_FN(device_init_alloc_size)(infinirtPluginDevice_t device, size_t* size);
  INFINIRT_PLUGIN_FN(device_realloc_size)(infinirtPluginDevice_t device, size_t* size);
  /* 10 times the major number plus the minor one. */
  INFINIRT_PLUGIN_FN(get_compute_capability)(infinirtPluginDevice_t device, size_t* capability);
  INFINIRT_PLUGIN_FN(get_device_properties)(infinirtPluginDevice_t device,
                                            void* properties); /* a C++ class: not used */
  INFINIRT_PLUGIN_FN(get_runtime_version)(infinirtPluginDevice_t device, size_t* version);
  INFINIRT_PLUGIN_FN(get_driver_version)(infinirtPluginDevice_t device, size_t* version);
  INFINIRT_PLUGIN_FN(get_multi_process)(infinirtPluginDevice_t device, size_t* multiprocessors);
  INFINIRT_PLUGIN_FN(get_max_threads_per_mp)(infinirtPluginDevice_t device, size_t* threads);
  INFINIRT_PLUGIN_FN(get_max_threads_per_block)(infinirtPluginDevice_t device, size_t* threads);
  INFINIRT_PLUGIN_FN(get_max_grid_dim_size)(infinirtPluginDevice_t device, unsigned int (*sizes)[3]);
  INFINIRT_PLUGIN_FN(is_float16_supported)(infinirtPluginDevice_t device, bool* supported);
  INFINIRT_PLUGIN_FN(is_bfloat16_supported)(infinirtPluginDevice_t device, bool* supported);
  INFINIRT_PLUGIN_FN(is_dnn_supported)(infinirtPluginDevice_t device, bool* supported);
  INFINIRT_PLUGIN_FN(init_eigen_device)(void* place, void** eigen, infinirtPluginStream_t stream, void* allocator);
  INFINIRT_PLUGIN_FN(destroy_eigen_device)(infinirtPluginDevice_t device, void** eigen);
  void* reserved_info_api[8];

  /* ---- Collectives: infiniccl's, on this device type ------------------------------------------------------------------
   * The first five and the operations a program uses are needed; gather, scatter and what has counts are made of others. Operations
   * are work of the given stream, which infiniccl waits for (query_stream, synchronize_stream). Several ranks of one process are
   * made, and called, by one thread between group_start and group_end, each with its device current. Of ranks in several processes
   * each calls in the order in which its program issued. Entries are called one at a time as all others are, but for
   * xccl_comm_init_rank outside a group, which waits for the other ranks. `id` has at most 128 bytes. */

  INFINIRT_PLUGIN_FN(xccl_get_comm_name)(infinirtPluginComm_t comm, char* name);
  INFINIRT_PLUGIN_FN(xccl_get_unique_id_size)(size_t* size);
  INFINIRT_PLUGIN_FN(xccl_get_unique_id)(infinirtPluginUniqueId* id);
  INFINIRT_PLUGIN_FN(xccl_comm_init_rank)
  (size_t ranks, infinirtPluginUniqueId* id, size_t rank, infinirtPluginComm_t* comm);
  INFINIRT_PLUGIN_FN(xccl_destroy_comm)(infinirtPluginComm_t comm);
  INFINIRT_PLUGIN_FN(xccl_all_reduce)
  (void* send, void* receive, size_t count, enum infinirtPluginDataType type, enum infinirtPluginReduction reduction,
   infinirtPluginComm_t comm, infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(xccl_broadcast)
  (void* buffer, size_t count, enum infinirtPluginDataType type, size_t root, infinirtPluginComm_t comm,
   infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(xccl_reduce)
  (void* send, void* receive, size_t count, enum infinirtPluginDataType type, enum infinirtPluginReduction reduction,
   size_t root, infinirtPluginComm_t comm, infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(xccl_all_gather)
  (void* send, void* receive, size_t count, enum infinirtPluginDataType type, infinirtPluginComm_t comm,
   infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(xccl_reduce_scatter)
  (void* send, void* receive, size_t count, enum infinirtPluginDataType type, enum infinirtPluginReduction reduction,
   infinirtPluginComm_t comm, infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(xccl_group_start)(void);
  INFINIRT_PLUGIN_FN(xccl_group_end)(void);
  INFINIRT_PLUGIN_FN(xccl_send)
  (void* send, size_t count, enum infinirtPluginDataType type, size_t peer, infinirtPluginComm_t comm,
   infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(xccl_recv)
  (void* receive, size_t count, enum infinirtPluginDataType type, size_t peer, infinirtPluginComm_t comm,
   infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(xccl_all_to_all)
  (const void** send, const size_t* send_counts, const enum infinirtPluginDataType* send_types, void** receive,
   const size_t* receive_counts, const enum infinirtPluginDataType* receive_types, size_t rank, size_t ranks,
   infinirtPluginComm_t comm, infinirtPluginStream_t stream);
  void* reserved_ccl_api[8];

  /* ---- For PaddlePaddle only: the runtime does not use what follows ------------------------------------------------- */

  INFINIRT_PLUGIN_FN(profiler_initialize)(infinirtPluginProfiler_t profiler, void** user_data);
  INFINIRT_PLUGIN_FN(profiler_finalize)(infinirtPluginProfiler_t profiler, void* user_data);
  INFINIRT_PLUGIN_FN(profiler_prepare_tracing)(infinirtPluginProfiler_t profiler, void* user_data);
  INFINIRT_PLUGIN_FN(profiler_start_tracing)(infinirtPluginProfiler_t profiler, void* user_data);
  INFINIRT_PLUGIN_FN(profiler_stop_tracing)(infinirtPluginProfiler_t profiler, void* user_data);
  INFINIRT_PLUGIN_FN(profiler_collect_trace_data)
  (infinirtPluginProfiler_t profiler, uint64_t start_ns, void* user_data);
  void* reserved_profiler_api[8];

  INFINIRT_PLUGIN_FN(init_blas_handle)(infinirtPluginDevice_t device, void** handle, infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(blas_set_math_mode)(infinirtPluginDevice_t device, void* handle, int mode);
  INFINIRT_PLUGIN_FN(init_blaslt_handle)(infinirtPluginDevice_t device, void** handle);
  INFINIRT_PLUGIN_FN(destroy_blas_handle)(infinirtPluginDevice_t device, void* handle);
  INFINIRT_PLUGIN_FN(destroy_blaslt_handle)(infinirtPluginDevice_t device, void* handle);

  INFINIRT_PLUGIN_FN(cuda_stream_begin_capture)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, enum infinirtPluginCaptureMode mode);
  INFINIRT_PLUGIN_FN(cuda_stream_end_captrue) /* spelt so in the interface */
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, infinirtPluginGraph_t* graph);
  INFINIRT_PLUGIN_FN(cuda_graph_launch)
  (infinirtPluginDevice_t device, infinirtPluginGraphExec_t exec, infinirtPluginStream_t stream);
  INFINIRT_PLUGIN_FN(cuda_graph_destroy)(infinirtPluginGraph_t graph);
  INFINIRT_PLUGIN_FN(cuda_graph_exec_destroy)(infinirtPluginGraphExec_t exec);
  INFINIRT_PLUGIN_FN(cuda_graph_instantiate)
  (infinirtPluginGraphExec_t* exec, infinirtPluginGraph_t* graph, void** error_node, char* log, size_t log_size);
  INFINIRT_PLUGIN_FN(cuda_graph_get_nodes)
  (infinirtPluginGraph_t graph, infinirtPluginGraphNode_t* nodes, size_t* count);
  INFINIRT_PLUGIN_FN(cuda_stream_capture_info)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, enum infinirtPluginCaptureStatus* status,
   unsigned long long* id, infinirtPluginGraph_t* graph, infinirtPluginGraphNode_t* dependencies, void** edges,
   size_t* dependency_count);
  INFINIRT_PLUGIN_FN(get_parameter_setter_for_exec_graph)(infinirtPluginGraph_t graph, void* hooks);
  INFINIRT_PLUGIN_FN(cuda_graph_debug_dot_print)
  (infinirtPluginGraph_t graph, const char* path, unsigned int flags);
  INFINIRT_PLUGIN_FN(cuda_thread_exchange_stream_capthure_mode) /* likewise */
  (enum infinirtPluginCaptureMode* mode);

  INFINIRT_PLUGIN_FN(blas_axpby)
  (infinirtPluginDevice_t device, infinirtPluginStream_t stream, enum infinirtPluginDataType type, size_t count,
   float alpha, void* x, float beta, void* y);
  void* reserved_other_api[7];
} infinirtPluginInterface;

typedef struct infinirtPluginVersion {
  size_t major, minor, patch;
} infinirtPluginVersion;

typedef struct infinirtPluginParams {
  size_t size; /* written by the host: sizeof of what it knows */
  infinirtPluginInterface* interface; /* the host's table, to be cleared and filled in */
  infinirtPluginVersion version; /* written by the plugin: INFINIRT_PLUGIN_VERSION_* */
  char* device_type; /* likewise: the device type's name, in memory that stays */
  char* sub_device_type; /* likewise: a model or revision, for people; may be null */
  void* pir_default_passes; /* PaddlePaddle's; null */
  char reserved[32];
} infinirtPluginParams;

#define INFINIRT_PLUGIN_VERSION_MAJOR 0
#define INFINIRT_PLUGIN_VERSION_MINOR 1
#define INFINIRT_PLUGIN_VERSION_PATCH 1

/* The beginning of InitPlugin. Clears the whole table: by how much is cleared the runtime knows with which header a plugin
 * was built. Both names must be texts that stay. */
#define INFINIRT_PLUGIN_START(params, type, sub_type)                       \
  do {                                                                      \
    (params)->version.major = INFINIRT_PLUGIN_VERSION_MAJOR;                \
    (params)->version.minor = INFINIRT_PLUGIN_VERSION_MINOR;                \
    (params)->version.patch = INFINIRT_PLUGIN_VERSION_PATCH;                \
    (params)->device_type = (char*)(type);                                  \
    (params)->sub_device_type = (char*)(sub_type);                          \
    memset((void*)(params)->interface, 0, sizeof(infinirtPluginInterface)); \
  } while (0)

/* What a plugin exports. Returning with the version untouched refuses the host. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void InitPlugin(infinirtPluginParams* params);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INFINIRT_PLUGIN_H */
