// What PyTorch's pluggable CUDA allocator calls (torch.cuda.memory.CUDAPluggableAllocator): functions of one library, found by
// name. Nothing of PyTorch is needed to build it: the types in its signatures are the C++ library's own.
//
// All memory comes from one cache per device. What PyTorch asks to be "allocated to a pool" comes from a reserve of that cache: the
// memory of a CUDA graph, which must stay at its addresses as long as the graph can be launched.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "infinirt_ext.h"

extern "C" {

#define INFINIRT_TORCH_API __attribute__((visibility("default")))

// Throws std::runtime_error with a message, which PyTorch turns into a RuntimeError: it takes any pointer for memory.
INFINIRT_TORCH_API void* infinirt_torch_allocate(size_t size, int device, infinirtStream_t stream);
INFINIRT_TORCH_API void infinirt_torch_free(void* pointer, size_t size, int device, infinirtStream_t stream);
INFINIRT_TORCH_API void infinirt_torch_record_stream(void* pointer, infinirtStream_t stream);
INFINIRT_TORCH_API void* infinirt_torch_base_allocation(void* pointer, size_t* size);
INFINIRT_TORCH_API void infinirt_torch_empty_cache();
INFINIRT_TORCH_API void infinirt_torch_set_memory_fraction(double fraction, int device);

// The graph's pool, by PyTorch's id, and which streams allocate from it between begin and end. A pool that several graphs share
// begins and is released once for each.
using InfinirtTorchPool = std::pair<unsigned long long, unsigned long long>;
INFINIRT_TORCH_API void infinirt_torch_begin_pool(int device, InfinirtTorchPool pool,
                                                  std::function<bool(infinirtStream_t)> takes_part);
INFINIRT_TORCH_API void infinirt_torch_end_pool(int device, InfinirtTorchPool pool);
INFINIRT_TORCH_API void infinirt_torch_release_pool(int device, InfinirtTorchPool pool);

// For infinirt.torch: the cache of a device, made on first use; null when it cannot be made.
INFINIRT_TORCH_API infinirtXCache_t infinirt_torch_cache(int device);
// For tests: the device type whose devices PyTorch's numbers mean; "nvidia" unless this is called first.
INFINIRT_TORCH_API void infinirt_torch_use_device_type(const char* type);
}
