/* infinirt.h of the earlier generation (v0): devices, streams, events, memory and graphs.
 *
 * Every function returns INFINI_STATUS_SUCCESS or says what went wrong; a null pointer where a result is to be written
 * is INFINI_STATUS_NULL_POINTER. Functions may be called from any thread. A null stream is the device's default stream.
 *
 * On INFINI_DEVICE_CPU every call is complete when it returns, whatever its name says, except while its stream is being
 * captured; and memory of the program's own (malloc, arrays) may be given wherever device memory is expected.
 */
#ifndef INFINI_V0_INFINIRT_H
#define INFINI_V0_INFINIRT_H

#include <stdint.h>

#include "infinicore.h"

typedef void* infinirtStream_t;
typedef void* infinirtEvent_t;
typedef void* infinirtGraph_t;
typedef void* infinirtGraphNode_t;
typedef void* infinirtGraphExec_t;

/* Optional; may be called any number of times. */
__INFINI_C __export infiniStatus_t infinirtInit(void);

/* ---- Devices: each thread has a current one, INFINI_DEVICE_CPU number 0 until it chooses ---- */

/* Writes one count per device type: `count_array` has INFINI_DEVICE_TYPE_COUNT elements. Types that this runtime does
 * not have count 0. */
__INFINI_C __export infiniStatus_t infinirtGetAllDeviceCount(int* count_array);
__INFINI_C __export infiniStatus_t infinirtGetDeviceCount(infiniDevice_t device, int* count);

/* On failure the current device stays as it was. */
__INFINI_C __export infiniStatus_t infinirtSetDevice(infiniDevice_t device, int device_id);

/* Either pointer may be null, but not both. */
__INFINI_C __export infiniStatus_t infinirtGetDevice(infiniDevice_t* device_ptr, int* device_id_ptr);

/* Waits for all work of the current device. */
__INFINI_C __export infiniStatus_t infinirtDeviceSynchronize(void);

/* Any device may be asked about; the current one does not change. */
__INFINI_C __export infiniStatus_t infinirtGetMemInfo(infiniDevice_t device, int device_id, size_t* free_bytes,
                                                      size_t* total_bytes);

/* Bits of `valid_fields` and `estimated_fields`. */
typedef enum {
  INFINIRT_RESOURCE_FIELD_NONE = 0,
  INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY = 1, /* free, total, used and reserved bytes */
  INFINIRT_RESOURCE_FIELD_COMPUTE_UTILIZATION = 2,
  INFINIRT_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION = 4,
  INFINIRT_RESOURCE_FIELD_KERNEL_TIME_RATIO = 8,
  INFINIRT_RESOURCE_FIELD_COMMUNICATION = 16 /* communication_time_ratio and communication_bytes */
} infinirtResourceField_t;

typedef struct {
  infiniDevice_t device_type;
  int device_id;
  uint64_t valid_fields;     /* only what is marked here was observed; everything else is 0 */
  uint64_t estimated_fields; /* valid, but not measured exactly */
  size_t free_bytes;
  size_t total_bytes;
  size_t used_bytes;
  size_t reserved_bytes; /* held by the device's default memory pool, in use or kept for reuse */
  float compute_utilization;
  float memory_bandwidth_utilization;
  float kernel_time_ratio;
  float communication_time_ratio;
  uint64_t communication_bytes;
} infinirtDeviceResourceSnapshot_t;

__INFINI_C __export infiniStatus_t infinirtGetDeviceResourceSnapshot(infiniDevice_t device, int device_id,
                                                                     infinirtDeviceResourceSnapshot_t* snapshot);

/* ---- Streams ---- */

__INFINI_C __export infiniStatus_t infinirtStreamCreate(infinirtStream_t* stream_ptr);
__INFINI_C __export infiniStatus_t infinirtStreamDestroy(infinirtStream_t stream);
__INFINI_C __export infiniStatus_t infinirtStreamSynchronize(infinirtStream_t stream);
__INFINI_C __export infiniStatus_t infinirtStreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event);

/* ---- Events ---- */

typedef enum { INFINIRT_EVENT_COMPLETE = 0, INFINIRT_EVENT_NOT_READY = 1 } infinirtEventStatus_t;

/* Flags of infinirtEventCreateWithFlags. CUDA numbers the same two flags the other way round. */
typedef enum {
  INFINIRT_EVENT_DEFAULT = 0,
  INFINIRT_EVENT_DISABLE_TIMING = 1,
  INFINIRT_EVENT_BLOCKING_SYNC = 2
} infinirtEventFlags_t;

__INFINI_C __export infiniStatus_t infinirtEventCreate(infinirtEvent_t* event_ptr);
__INFINI_C __export infiniStatus_t infinirtEventCreateWithFlags(infinirtEvent_t* event_ptr, uint32_t flags);
__INFINI_C __export infiniStatus_t infinirtEventRecord(infinirtEvent_t event, infinirtStream_t stream);

/* An event that is not complete is no failure: the answer stands in `status_ptr`. */
__INFINI_C __export infiniStatus_t infinirtEventQuery(infinirtEvent_t event, infinirtEventStatus_t* status_ptr);
__INFINI_C __export infiniStatus_t infinirtEventSynchronize(infinirtEvent_t event);
__INFINI_C __export infiniStatus_t infinirtEventDestroy(infinirtEvent_t event);

/* Milliseconds between two recorded, completed events. */
__INFINI_C __export infiniStatus_t infinirtEventElapsedTime(float* ms_ptr, infinirtEvent_t start, infinirtEvent_t end);

/* ---- Memory ---- */

typedef enum {
  INFINIRT_MEMCPY_H2H = 0,
  INFINIRT_MEMCPY_H2D = 1,
  INFINIRT_MEMCPY_D2H = 2,
  INFINIRT_MEMCPY_D2D = 3
} infinirtMemcpyKind_t;

/* Freeing null is no operation. On INFINI_DEVICE_CPU each of the three frees takes what any of the three allocations
 * gave. */
__INFINI_C __export infiniStatus_t infinirtMalloc(void** p_ptr, size_t size);
__INFINI_C __export infiniStatus_t infinirtMallocHost(void** p_ptr, size_t size);
__INFINI_C __export infiniStatus_t infinirtFree(void* ptr);
__INFINI_C __export infiniStatus_t infinirtFreeHost(void* ptr);

__INFINI_C __export infiniStatus_t infinirtMemcpy(void* dst, const void* src, size_t size, infinirtMemcpyKind_t kind);
__INFINI_C __export infiniStatus_t infinirtMemcpyAsync(void* dst, const void* src, size_t size,
                                                       infinirtMemcpyKind_t kind, infinirtStream_t stream);

__INFINI_C __export infiniStatus_t infinirtMallocAsync(void** p_ptr, size_t size, infinirtStream_t stream);
__INFINI_C __export infiniStatus_t infinirtFreeAsync(void* ptr, infinirtStream_t stream);

/* Sets `count` bytes to the low byte of `value`. */
__INFINI_C __export infiniStatus_t infinirtMemset(void* ptr, int value, size_t count);
__INFINI_C __export infiniStatus_t infinirtMemsetAsync(void* ptr, int value, size_t count, infinirtStream_t stream);

/* ---- Graphs ---- */

typedef enum {
  INFINIRT_STREAM_CAPTURE_MODE_GLOBAL = 0,
  INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  INFINIRT_STREAM_CAPTURE_MODE_RELAXED = 2
} infinirtStreamCaptureMode_t;

/* Between the two, asynchronous calls on `stream` are recorded, not run. The default stream cannot be captured. */
__INFINI_C __export infiniStatus_t infinirtStreamBeginCapture(infinirtStream_t stream,
                                                              infinirtStreamCaptureMode_t mode);
__INFINI_C __export infiniStatus_t infinirtStreamEndCapture(infinirtStream_t stream, infinirtGraph_t* graph_ptr);

__INFINI_C __export infiniStatus_t infinirtGraphDestroy(infinirtGraph_t graph);

/* When it fails, the node at fault (or null) is written to `node_ptr` and the reason, cut to `buffer_size` bytes and
 * always terminated, to `log_buffer`; either may be null. On success they receive null and an empty text. */
__INFINI_C __export infiniStatus_t infinirtGraphInstantiate(infinirtGraphExec_t* graph_exec_ptr, infinirtGraph_t graph,
                                                            infinirtGraphNode_t* node_ptr, char* log_buffer,
                                                            size_t buffer_size);
__INFINI_C __export infiniStatus_t infinirtGraphExecDestroy(infinirtGraphExec_t graph_exec);

/* The name is published with this spelling. */
__INFINI_C __export infiniStatus_t infinirtGraphLuanch(infinirtGraphExec_t graph_exec, infinirtStream_t stream);

#endif /* INFINI_V0_INFINIRT_H */
