// What the tests of caches share.
#pragma once

#include "support.h"

inline constexpr size_t kMiB = size_t{1} << 20;

inline infinirtXCacheProps cache_props(infinirtXCacheMemory memory = infinirtXCacheMemoryDevice, size_t max_size = 0) {
  infinirtXCacheProps props = {};
  props.structSize = sizeof props;
  props.memory = memory;
  props.maxSize = max_size;
  return props;
}

inline infinirtXCache_t make_cache(infinirtXCacheMemory memory = infinirtXCacheMemoryDevice, size_t max_size = 0) {
  const infinirtXCacheProps props = cache_props(memory, max_size);
  infinirtXCache_t cache = nullptr;
  OK(infinirtXCacheCreate(&cache, &props));
  return cache;
}

inline void* take(infinirtXCache_t cache, size_t size, infinirtStream_t stream) {
  void* pointer = nullptr;
  OK(infinirtXCacheAllocate(&pointer, size, cache, stream));
  CHECK(pointer != nullptr);
  return pointer;
}

inline infinirtXCacheStats stats_of(infinirtXCache_t cache) {
  infinirtXCacheStats stats = {};
  OK(infinirtXCacheGetStats(&stats, cache));
  return stats;
}
