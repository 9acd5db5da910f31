// What CUPTI's activity records begin with. Newer versions of a record are longer and keep the beginning: these are the same in
// CUDA 12 and 13, which tests/abi/test_cupti.py compares with NVIDIA's header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infinirt::nvidia::cupti {

inline constexpr uint32_t kMemcpy = 1, kMemset = 2, kKernel = 3, kDriver = 4, kRuntime = 5, kConcurrentKernel = 10,
                          kMemcpyPeer = 22, kExternalCorrelation = 39;
inline constexpr uint32_t kCustomCorrelation = 3;  // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0

struct KernelRecord {
  uint32_t kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers;
  uint32_t cache_requested, cache_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, carveout_requested, carveout, padding;
  uint32_t shared_executed;
  uint64_t graph_node;
};

struct MemcpyRecord {
  uint32_t kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, padding;
  void* reserved;
  uint64_t graph_node;
};

struct MemcpyPeerRecord {
  uint32_t kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, source_device, source_context, target_device, target_context, correlation;
  void* reserved;
  uint64_t graph_node;
};

struct MemsetRecord {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void* reserved;
  uint64_t graph_node;
};

struct ExternalRecord {
  uint32_t kind, external_kind;
  uint64_t external;
  uint32_t correlation, reserved;
};

static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, stream) == 48 &&
              offsetof(KernelRecord, correlation) == 92 && offsetof(KernelRecord, name) == 104 &&
              offsetof(KernelRecord, graph_node) == 144);
static_assert(offsetof(MemcpyRecord, stream) == 40 && offsetof(MemcpyRecord, correlation) == 44 &&
              offsetof(MemcpyRecord, graph_node) == 64);
static_assert(offsetof(MemcpyPeerRecord, correlation) == 60 && offsetof(MemcpyPeerRecord, graph_node) == 72);
static_assert(offsetof(MemsetRecord, correlation) == 44 && offsetof(MemsetRecord, graph_node) == 64);
static_assert(offsetof(ExternalRecord, correlation) == 16);

}  // namespace infinirt::nvidia::cupti
