// What the tests of stream-ordered memory share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support.h"

inline constexpr size_t kMiB = size_t{1} << 20;

inline struct infinirtMemPoolProps device_properties(int device = 0) {
  struct infinirtMemPoolProps properties = {};
  properties.allocType = infinirtMemAllocationTypePinned;
  properties.location = {infinirtMemLocationTypeDevice, device};
  return properties;
}

// A maximum that is not rounded up.
inline size_t whole_maximum() { return (on_native() ? 32 : 4) * kMiB; }

inline infinirtMemPool_t make_pool(size_t max_size = 0) {
  struct infinirtMemPoolProps properties = device_properties();
  properties.maxSize = max_size;
  infinirtMemPool_t pool = nullptr;
  OK(infinirtMemPoolCreate(&pool, &properties));
  return pool;
}

inline infinirtMemPool_t default_pool() {
  infinirtMemPool_t pool = nullptr;
  OK(infinirtDeviceGetDefaultMemPool(&pool, 0));
  return pool;
}

inline uint64_t attribute(infinirtMemPool_t pool, enum infinirtMemPoolAttr which) {
  uint64_t value = 77;
  OK(infinirtMemPoolGetAttribute(pool, which, &value));
  return value;
}

inline infinirtError_t set_attribute(infinirtMemPool_t pool, enum infinirtMemPoolAttr which, uint64_t value) {
  return infinirtMemPoolSetAttribute(pool, which, &value);
}

inline void* allocate(infinirtStream_t stream, size_t size, infinirtMemPool_t pool = nullptr) {
  void* pointer = nullptr;
  OK(pool ? infinirtMallocFromPoolAsync(&pointer, size, pool, stream) : infinirtMallocAsync(&pointer, size, stream));
  CHECK(pointer != nullptr);
  return pointer;
}
