// One caching allocator with stand-ins for memory and streams, checked for leaks when it goes.
#pragma once

#include <memory>

#include "allocator_fakes.h"
#include "check.h"

inline constexpr size_t KiB = 1024, MiB = 1024 * KiB;

struct World {
  explicit World(size_t capacity = SIZE_MAX, infinirt::AllocatorOptions options = {}, size_t streams = 4)
      : source(capacity),
        order(streams),
        allocator(std::make_unique<infinirt::CachingAllocator>(source, order, options)) {}
  ~World() {
    allocator.reset();
    CHECK_EQ(source.mapped, 0u);
    CHECK_EQ(source.bad_unmaps, 0);
    CHECK(order.balanced());
  }

  void* get(size_t size, infinirt::StreamKey stream) {
    void* ptr = nullptr;
    CHECK_EQ(allocator->allocate(size, stream, &ptr), infinirt::kStatusOk);
    CHECK(ptr != nullptr);
    return ptr;
  }
  infinirt::Status status(size_t size, infinirt::StreamKey stream) {
    void* ptr = &ptr;
    infinirt::Status result = allocator->allocate(size, stream, &ptr);
    if (result != infinirt::kStatusOk) CHECK(ptr == nullptr);
    if (ptr && result == infinirt::kStatusOk) CHECK_EQ(allocator->free(ptr, stream), infinirt::FreeResult::ok);
    return result;
  }
  // Frees on the stream after one more operation of it, so that the free is not already passed.
  void put(void* ptr, infinirt::StreamKey stream) {
    CHECK_EQ(allocator->free(ptr, stream, order.enqueue(stream)), infinirt::FreeResult::ok);
  }
  size_t reserved() { return allocator->stats().reserved_current; }

  fake::Source source;
  fake::Order order;
  std::unique_ptr<infinirt::CachingAllocator> allocator;
  infinirt::StreamKey a{1}, b{2}, c{3};
};
