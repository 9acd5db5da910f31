// The caching allocator alone: rounding, errors, order, limits, pins, accounting. Random programs: allocator_stress_test.cpp.
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "allocator/size_classes.h"
#include "allocator_fakes.h"
#include "check.h"

using namespace infinirt;

namespace {

constexpr size_t KiB = 1024, MiB = 1024 * KiB;

struct World {
  explicit World(size_t capacity = SIZE_MAX, AllocatorOptions options = {}, size_t streams = 4)
      : source(capacity), order(streams), allocator(std::make_unique<CachingAllocator>(source, order, options)) {}
  ~World() {
    allocator.reset();
    CHECK_EQ(source.mapped, 0u);
    CHECK_EQ(source.bad_unmaps, 0);
    CHECK(order.balanced());
  }

  void* get(size_t size, StreamKey stream) {
    void* ptr = nullptr;
    CHECK_EQ(allocator->allocate(size, stream, &ptr), kStatusOk);
    CHECK(ptr != nullptr);
    return ptr;
  }
  Status status(size_t size, StreamKey stream) {
    void* ptr = &ptr;
    Status result = allocator->allocate(size, stream, &ptr);
    if (result != kStatusOk) CHECK(ptr == nullptr);
    if (ptr && result == kStatusOk) CHECK_EQ(allocator->free(ptr, stream), FreeResult::ok);
    return result;
  }
  // Frees on the stream after one more operation of it, so that the free is not already passed.
  void put(void* ptr, StreamKey stream) {
    CHECK_EQ(allocator->free(ptr, stream, order.enqueue(stream)), FreeResult::ok);
  }
  size_t reserved() { return allocator->stats().reserved_current; }

  fake::Source source;
  fake::Order order;
  std::unique_ptr<CachingAllocator> allocator;
  StreamKey a{1}, b{2}, c{3};
};

}  // namespace

TEST(blocks_are_aligned_and_large_enough) {
  World w;
  for (size_t size = 1; size < 300 * MiB; size += size / 7 + 1) {
    void* ptr = w.get(size, w.a);
    BlockInfo info;
    REQUIRE(w.allocator->block_info(ptr, &info));
    CHECK_EQ(info.base, ptr);
    CHECK_EQ(info.requested, size);
    CHECK_GE(info.size, size);
    CHECK(info.state == BlockState::live);
    CHECK_EQ(info.stream.id, w.a.id);
    CHECK_EQ(reinterpret_cast<uintptr_t>(ptr) % 256, 0u);
    size_t least = std::max<size_t>(512, (size + 255) / 256 * 256);
    CHECK_LE(info.size * 4, least * 5);
    w.put(ptr, w.a);
  }
}

TEST(rounding_of_every_small_size_and_around_every_step) {
  for (size_t size = 1; size <= caching::kMaxSmall; ++size) {
    size_t block = caching::kSizeClasses[caching::class_of(size)].block;
    CHECK_GE(block, size);
    CHECK_LE(block * 4, std::max<size_t>(512, (size + 255) / 256 * 256) * 5);
  }
  for (size_t power = 32 * KiB; power < (size_t{1} << 40); power *= 2)
    for (size_t size : {power + 1, power + power / 3, 2 * power - 1, 2 * power}) {
      CHECK_GE(caching::round_large(size), size);
      CHECK_LE(caching::round_large(size) * 4, size * 5);
    }
}

TEST(nothing_and_too_much) {
  World w;
  void* ptr = &w;
  CHECK_EQ(w.allocator->allocate(0, w.a, &ptr), kStatusOk);
  CHECK(ptr == nullptr);
  CHECK_EQ(w.allocator->free(nullptr, w.a), FreeResult::ok);
  CHECK_EQ(w.status(SIZE_MAX, w.a), kStatusOutOfMemory);
  CHECK_EQ(w.status(SIZE_MAX - 4096, w.a), kStatusOutOfMemory);
  CHECK_EQ(w.status((size_t{1} << 46) + 1, w.a), kStatusOutOfMemory);
  CHECK_EQ(w.status(1024, kNoStream), kStatusInvalidValue);
  CHECK_EQ(w.source.map_calls, 0u);
}

TEST(wrong_frees_are_told_apart_and_change_nothing) {
  World w;
  for (size_t size : {size_t{600}, size_t{20 * KiB}, size_t{1 * MiB}}) {
    char* ptr = static_cast<char*>(w.get(size, w.a));
    char* neighbour = static_cast<char*>(w.get(size, w.a));
    int local;
    CHECK_EQ(w.allocator->free(&local, w.a), FreeResult::not_ours);
    CHECK_EQ(w.allocator->free(reinterpret_cast<void*>(~uintptr_t{0}), w.a), FreeResult::not_ours);
    CHECK_EQ(w.allocator->free(reinterpret_cast<void*>(uintptr_t{64}), w.a), FreeResult::not_ours);
    CHECK_EQ(w.allocator->free(ptr + 256, w.a), FreeResult::interior_pointer);
    CHECK_EQ(w.allocator->free(ptr + 1, w.a), FreeResult::interior_pointer);
    CHECK_EQ(w.allocator->free(ptr + size - 1, w.a), FreeResult::interior_pointer);
    if (size > 64 * KiB) CHECK_EQ(w.allocator->free(ptr + 64 * KiB, w.a), FreeResult::interior_pointer);
    size_t used = w.allocator->stats().used_current;
    CHECK_EQ(w.allocator->free(ptr, w.a), FreeResult::ok);
    CHECK_EQ(w.allocator->free(ptr, w.a), FreeResult::double_free);
    CHECK_EQ(w.allocator->free(ptr, w.b), FreeResult::double_free);
    CHECK_EQ(w.allocator->record_use(ptr, w.b, w.order.now(w.b)), kStatusInvalidValue);
    CHECK_LT(w.allocator->stats().used_current, used);
    w.put(neighbour, w.a);
    CHECK_EQ(w.allocator->stats().used_current, 0u);
  }
  // A block that has gone back to the heap and been joined with its neighbours is recognised as well.
  void* ptr = w.get(1 * MiB, w.a);
  w.put(ptr, w.a);
  w.order.finish_everything();
  w.allocator->trim_to(w.reserved() - 1);
  if (w.allocator->owns(ptr)) CHECK_NE(w.allocator->free(ptr, w.a), FreeResult::ok);
}

TEST(the_same_stream_gets_its_block_back_without_asking_anybody) {
  World w;
  for (size_t size : {size_t{512}, size_t{3000}, size_t{32 * KiB}, size_t{100 * KiB}, size_t{64 * MiB}}) {
    void* first = w.get(size, w.a);
    Fence point = w.order.enqueue(w.a);
    CHECK_EQ(w.allocator->free(first, w.a, point), FreeResult::ok);
    size_t queries = w.order.queries;
    for (int i = 0; i < 100; ++i) {
      void* again = nullptr;
      CHECK_EQ(w.allocator->allocate(size, w.a, &again), kStatusOk);
      CHECK_EQ(again, first);
      CHECK_EQ(w.allocator->free(again, w.a, point), FreeResult::ok);
    }
    CHECK_EQ(w.order.queries, queries);
  }
}

// ---- other streams

namespace {
// Stream a frees the whole (limited) memory; what does b get?
struct HandOver : World {
  explicit HandOver(size_t size, bool fence_known = true) : World(2 * MiB), size(size) {
    while (true) {
      void* ptr = nullptr;
      allocator->set_policy(ReusePolicy::allow_internal_dependencies, false);
      if (allocator->allocate(size, a, &ptr) != kStatusOk) break;
      blocks.insert(ptr);
    }
    CHECK(!blocks.empty());
    freed = order.enqueue(a);
    for (void* ptr : blocks)
      CHECK_EQ(fence_known ? allocator->free(ptr, a, freed) : allocator->free(ptr, a), FreeResult::ok);
  }
  size_t size;
  Fence freed;
  std::set<void*> blocks;
};
const size_t kHandOverSizes[] = {600, 8 * KiB, 300 * KiB, 2 * MiB};
}  // namespace

TEST(another_stream_waits_for_the_free) {
  for (size_t size : kHandOverSizes)
    for (bool known : {true, false}) {
      HandOver w(size, known);
      CHECK_EQ(w.status(size, w.b), kStatusOutOfMemory);
      CHECK_EQ(w.order.waits_made, 0);
      CHECK_EQ(w.status(size, w.a), kStatusOk);
    }
}

TEST(opportunistic_reuse_after_the_free_has_been_passed) {
  for (size_t size : kHandOverSizes)
    for (bool known : {true, false}) {
      HandOver w(size, known);
      w.order.finish_everything();
      w.allocator->set_policy(ReusePolicy::allow_opportunistic, false);
      CHECK(!w.allocator->policy(ReusePolicy::allow_opportunistic));
      w.source.capacity = w.source.mapped;  // trimming would give the memory back and map it afresh
      w.source.fail_with = kStatusOutOfMemory;
      void* live = w.get(512, w.a);  // keeps the segment
      if (size < 2 * MiB) CHECK_EQ(w.status(size, w.b), kStatusOutOfMemory);
      w.allocator->set_policy(ReusePolicy::allow_opportunistic, true);
      if (size < 2 * MiB) CHECK_EQ(w.status(size, w.b), kStatusOk);
      w.put(live, w.a);
    }
}

TEST(reuse_follows_event_dependencies) {
  for (size_t size : kHandOverSizes) {
    HandOver w(size);
    w.order.enqueue(w.a);  // more work after the free does not matter: the event was recorded before
    w.order.wait(w.b, w.freed);
    w.allocator->set_policy(ReusePolicy::follow_event_dependencies, false);
    CHECK_EQ(w.status(size, w.b), kStatusOutOfMemory);
    w.allocator->set_policy(ReusePolicy::follow_event_dependencies, true);
    void* ptr = w.get(size, w.b);
    CHECK(w.blocks.count(ptr) || size < 32 * KiB);
    CHECK_EQ(w.status(2 * MiB, w.c), kStatusOutOfMemory);
    w.put(ptr, w.b);
    // What b freed again is still not c's: c has waited for nobody.
    CHECK_EQ(w.status(size, w.c), kStatusOutOfMemory);
  }
}

TEST(internal_dependencies_are_made_only_when_memory_is_out) {
  for (size_t size : kHandOverSizes) {
    HandOver w(size);
    w.allocator->set_policy(ReusePolicy::allow_internal_dependencies, true);
    w.source.capacity = 4 * MiB;
    void* roomy = w.get(size, w.b);
    CHECK_EQ(w.order.waits_made, 0);
    w.source.capacity = w.source.mapped;
    std::vector<void*> taken;
    while (w.order.waits_made == 0 && taken.size() < 10000) taken.push_back(w.get(size, w.c));
    CHECK_GT(w.order.waits_made, 0);
    CHECK(w.order.precedes(w.freed, w.c));
    CHECK_EQ(w.source.mapped, w.source.capacity);
    w.put(roomy, w.b);
    for (void* ptr : taken) w.put(ptr, w.c);
  }
}

TEST(a_refused_wait_leaves_everything_as_it_was) {
  for (size_t size : kHandOverSizes) {
    HandOver w(size);
    w.allocator->set_policy(ReusePolicy::allow_internal_dependencies, true);
    w.order.refuse_waits = true;
    CHECK_EQ(w.status(size, w.b), kStatusOutOfMemory);
    CHECK_EQ(w.allocator->stats().used_current, 0u);
    std::set<void*> again;
    for (size_t i = 0; i < w.blocks.size(); ++i) again.insert(w.get(size, w.a));
    CHECK(again == w.blocks);
    for (void* ptr : again) w.put(ptr, w.a);
  }
}

TEST(out_of_memory_joins_what_several_streams_freed) {
  World w(2 * MiB);
  void* first = w.get(1 * MiB, w.a);
  void* second = w.get(1 * MiB, w.b);
  w.put(first, w.a);
  w.put(second, w.b);
  void* whole = w.get(2 * MiB, w.c);
  CHECK_EQ(whole, std::min(first, second));
  CHECK_EQ(w.order.waits_made, 2);
  w.put(whole, w.c);
}

TEST(a_recorded_use_delays_the_free) {
  for (size_t size : {size_t{700}, size_t{1 * MiB}}) {
    World w;
    void* ptr = w.get(size, w.a);
    Fence use = w.order.enqueue(w.b);
    CHECK_EQ(w.allocator->record_use(ptr, w.b, use), kStatusOk);
    Fence later = w.order.enqueue(w.b);
    CHECK_EQ(w.allocator->record_use(ptr, w.b, later), kStatusOk);
    CHECK_EQ(w.allocator->record_use(static_cast<char*>(ptr) + 1, w.b, use), kStatusInvalidValue);
    w.put(ptr, w.a);
    BlockInfo info;
    REQUIRE(w.allocator->block_info(ptr, &info));
    CHECK(info.state == BlockState::pending);
    CHECK_EQ(w.allocator->stats().pending_blocks, 1u);
    CHECK_EQ(w.allocator->stats().used_current, 0u);
    CHECK_EQ(w.allocator->free(ptr, w.a), FreeResult::double_free);
    void* other = w.get(size, w.a);
    CHECK_NE(other, ptr);
    w.put(other, w.a);
    w.order.advance(w.b, 1);  // the first use only
    CHECK_EQ(w.allocator->trim_to(0), 0u);
    CHECK_EQ(w.allocator->stats().pending_blocks, 1u);
    w.order.finish_everything();
    CHECK_EQ(w.allocator->trim_to(0), 2 * MiB);
    CHECK_EQ(w.allocator->stats().pending_blocks, 0u);
  }
}

TEST(a_free_on_another_stream_counts_from_there) {
  for (size_t size : {size_t{700}, size_t{1 * MiB}})
    for (bool known : {true, false}) {
      World w;
      void* ptr = w.get(size, w.a);
      Fence freed = w.order.enqueue(w.b);
      CHECK_EQ(known ? w.allocator->free(ptr, w.b, freed) : w.allocator->free(ptr, w.b), FreeResult::ok);
      void* other = w.get(size, w.a);
      CHECK_NE(other, ptr);
      w.put(other, w.a);
      w.order.wait(w.a, freed);
      std::set<void*> got;
      for (int i = 0; i < 200 && !got.count(ptr); ++i) got.insert(w.get(size, w.a));
      CHECK(got.count(ptr));
      for (void* p : got) w.put(p, w.a);
    }
}

// ---- limits, trimming, failures

TEST(limit_and_capacity) {
  AllocatorOptions options;
  options.limit = 8 * MiB;
  World w(SIZE_MAX, options);
  void* ptr = w.get(6 * MiB, w.a);
  CHECK_EQ(w.status(4 * MiB, w.a), kStatusOutOfMemory);
  CHECK_EQ(w.allocator->stats().out_of_memory, 1u);
  CHECK_EQ(w.reserved(), 6 * MiB);
  w.allocator->set_limit(12 * MiB);
  CHECK_EQ(w.allocator->limit(), 12 * MiB);
  CHECK_EQ(w.status(4 * MiB, w.a), kStatusOk);
  w.allocator->set_limit(1 * MiB);  // below what is held: no growth, nothing taken away
  CHECK_EQ(w.status(4 * MiB, w.a), kStatusOk);
  CHECK_EQ(w.status(8 * MiB, w.a), kStatusOutOfMemory);
  CHECK(w.allocator->owns(ptr));
  w.put(ptr, w.a);
  CHECK_LE(w.allocator->stats().reserved_high, 12 * MiB);
}

TEST(a_failing_source_is_reported_as_it_fails) {
  World w;
  w.source.fail_with = 999;
  CHECK_EQ(w.status(1000, w.a), 999);
  CHECK_EQ(w.status(10 * MiB, w.a), 999);
  w.source.fail_with = kStatusOutOfMemory;
  CHECK_EQ(w.status(1000, w.a), kStatusOutOfMemory);
  w.source.fail_with = kStatusOk;
  CHECK_EQ(w.status(1000, w.a), kStatusOk);
  CHECK_EQ(w.allocator->stats().reserved_current, 2 * MiB);
}

TEST(out_of_memory_gives_idle_segments_back_and_tries_again) {
  World w(64 * MiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(w.get(8 * MiB, w.a));
  for (void* ptr : blocks) w.put(ptr, w.a);
  w.order.finish_everything();
  void* whole = w.get(64 * MiB, w.a);  // not contiguous in what is held
  w.put(whole, w.a);
}

TEST(trim_keeps_what_it_is_told_to) {
  World w;
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(w.get(8 * MiB, w.a));
  CHECK_EQ(w.reserved(), 64 * MiB);
  CHECK_EQ(w.allocator->trim_to(0), 0u);
  for (int i = 0; i < 6; ++i) w.put(blocks[static_cast<size_t>(i)], w.a);
  CHECK_EQ(w.allocator->trim_to(0), 0u);  // not passed yet
  w.order.finish_everything();
  CHECK_EQ(w.allocator->trim_to(64 * MiB), 0u);
  CHECK_EQ(w.allocator->trim_to(42 * MiB), 16 * MiB);  // 48 is the least that is at least 42
  CHECK_EQ(w.reserved(), 48 * MiB);
  w.allocator->set_release_threshold(30 * MiB);
  CHECK_EQ(w.allocator->trim_to_threshold(), 16 * MiB);
  CHECK_EQ(w.allocator->trim_to(0), 16 * MiB);
  CHECK_EQ(w.reserved(), 16 * MiB);
  CHECK_EQ(w.source.mapped, 16 * MiB);
  CHECK(w.allocator->owns(blocks[7]));
  size_t gone = 0;
  for (int i = 0; i < 6; ++i) gone += !w.allocator->owns(blocks[static_cast<size_t>(i)]);
  CHECK_EQ(gone, 6u);
  w.put(blocks[6], w.a);
  w.put(blocks[7], w.a);
}

TEST(small_blocks_are_given_back_too) {
  World w;
  std::vector<void*> blocks;
  for (size_t i = 0; i < 20000; ++i) blocks.push_back(w.get(512 + i % 30000, w.a));
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(1));
  for (void* ptr : blocks) w.put(ptr, w.a);
  w.order.finish_everything();
  w.allocator->trim_to(0);
  CHECK_EQ(w.reserved(), 0u);
  CHECK_EQ(w.source.mapped, 0u);
}

// The classic complaints: memory is free, yet an allocation fails or the pool grows without end.
TEST(alternating_sizes_do_not_make_the_pool_grow) {
  World w(SIZE_MAX);
  size_t settled = 0;
  for (int round = 0; round < 200; ++round) {
    size_t big = (10 + static_cast<size_t>(round) % 7) * MiB + static_cast<size_t>(round) * 12345;
    void* x = w.get(big, w.a);
    void* y = w.get(big / 2, w.a);
    w.put(x, w.a);
    void* z = w.get(big + MiB, w.a);
    w.put(y, w.a);
    w.put(z, w.a);
    w.order.finish_everything();
    if (round == 20) settled = w.reserved();
  }
  // At most 16 + 8 + 17 MiB are live together.
  CHECK_LE(settled, 112 * MiB);
  CHECK_LE(w.allocator->stats().reserved_high, 112 * MiB);
}

TEST(memory_of_one_size_serves_another_after_it_is_free) {
  World w(32 * MiB);
  for (size_t size :
       {size_t{512}, size_t{30 * KiB}, size_t{200 * KiB}, size_t{4 * MiB}, size_t{1000}, size_t{32 * MiB}}) {
    std::vector<void*> blocks;
    size_t count = 30 * MiB / std::max<size_t>(size + size / 4, 512);
    for (size_t i = 0; i < std::max<size_t>(count, 1); ++i) blocks.push_back(w.get(size, w.a));
    for (void* ptr : blocks) w.put(ptr, w.a);
    w.order.finish_everything();
  }
}

TEST(statistics_and_highs) {
  World w;
  void* x = w.get(1000, w.a);
  void* y = w.get(1 * MiB, w.b);
  AllocatorStats s = w.allocator->stats();
  CHECK_EQ(s.used_current, 1024 + 1 * MiB);
  CHECK_EQ(s.used_high, 1024 + 1 * MiB);
  CHECK_EQ(s.requested_current, 1000 + 1 * MiB);
  CHECK_EQ(s.live_blocks, 2u);
  CHECK_EQ(s.reserved_current, 2 * MiB);
  CHECK_GT(s.largest_free_block, 0u);
  w.put(y, w.b);
  w.put(x, w.a);
  // One block at a time, on three streams in turn: the high does not add up what was never live together.
  for (int i = 0; i < 30; ++i) {
    StreamKey stream{1 + static_cast<uint64_t>(i) % 3};
    w.put(w.get(1 * MiB, stream), stream);
  }
  CHECK_EQ(w.allocator->stats().used_high, 1024 + 1 * MiB);
  w.allocator->reset_used_high();
  CHECK_EQ(w.allocator->stats().used_high, 0u);
  void* z = w.get(2 * MiB, w.b);
  void* v = w.get(512, w.c);
  w.put(z, w.b);
  w.put(v, w.c);
  s = w.allocator->stats();
  CHECK_EQ(s.used_high, 2 * MiB + 512);
  CHECK_EQ(s.used_current, 0u);
  CHECK_EQ(s.allocations, 34u);
  CHECK_EQ(s.frees, 34u);
  w.order.finish_everything();
  w.allocator->trim_to(0);
  CHECK_GT(w.allocator->stats().reserved_high, 0u);
  w.allocator->reset_reserved_high();
  CHECK_EQ(w.allocator->stats().reserved_high, 0u);
  CHECK_EQ(w.allocator->stats().segment_maps, w.allocator->stats().segment_unmaps);
}

TEST(snapshot_and_report) {
  World w;
  void* small = w.get(100, w.a);
  void* large = w.get(3 * MiB, w.b);
  void* freed = w.get(100 * KiB, w.a);
  w.put(freed, w.a);
  size_t segments = 0, bytes = 0, live = 0, live_bytes = 0;
  w.allocator->for_each_segment([&](const SegmentInfo& segment) {
    ++segments;
    bytes += segment.bytes;
  });
  CHECK_EQ(segments, w.allocator->stats().segments);
  CHECK_EQ(bytes, w.reserved());
  char* end = nullptr;
  void* current = nullptr;
  w.allocator->for_each_block([&](const SegmentInfo& segment, const BlockInfo& block) {
    if (segment.base != current) end = static_cast<char*>(current = segment.base);
    CHECK_GE(static_cast<char*>(block.base), end);
    end = static_cast<char*>(block.base) + block.size;
    CHECK_LE(end, static_cast<char*>(segment.base) + segment.bytes);
    if (block.state == BlockState::live) {
      ++live;
      live_bytes += block.requested;
      CHECK(block.base == small || block.base == large);
      CHECK_EQ(block.stream.id, block.base == small ? w.a.id : w.b.id);
    }
  });
  CHECK_EQ(live, 2u);
  CHECK_EQ(live_bytes, 100 + 3 * MiB);
  BlockInfo info;
  REQUIRE(w.allocator->block_info(static_cast<char*>(large) + 2 * MiB + 17, &info));
  CHECK_EQ(info.base, large);
  CHECK(!w.allocator->block_info(&w, &info));
  std::string text = w.allocator->report();
  CHECK(text.find("2 live blocks") != std::string::npos);
  CHECK(text.find("6.0 MiB reserved in 2 segments, no limit") != std::string::npos);
  w.put(small, w.a);
  w.put(large, w.b);
}

// ---- streams that end

TEST(a_retired_streams_memory_becomes_everybodys) {
  World w(2 * MiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 2500; ++i) blocks.push_back(w.get(600, w.a));
  void* keep = blocks.back();
  blocks.pop_back();
  w.order.enqueue(w.a);
  for (void* ptr : blocks) CHECK_EQ(w.allocator->free(ptr, w.a), FreeResult::ok);
  w.allocator->retire_stream(w.a);
  w.allocator->set_policy(ReusePolicy::allow_opportunistic, false);
  w.allocator->set_policy(ReusePolicy::allow_internal_dependencies, false);
  CHECK_EQ(w.status(1 * MiB, w.b), kStatusOutOfMemory);
  w.order.finish_everything();
  CHECK_EQ(w.status(1 * MiB, w.b), kStatusOk);
  CHECK_EQ(w.status(600, w.b), kStatusOk);
  CHECK_EQ(w.allocator->free(keep, w.b), FreeResult::ok);
  w.order.finish_everything();
  w.allocator->trim_to(0);
  CHECK_EQ(w.reserved(), 0u);
}

TEST(many_short_lived_streams_leave_nothing_behind) {
  fake::Source source;
  struct Idle : StreamOrder {
    Fence now(StreamKey) noexcept override { return {this, 1}; }
    bool passed(Fence) noexcept override { return true; }
    bool precedes(Fence, StreamKey) noexcept override { return false; }
    bool make_wait(StreamKey, Fence) noexcept override { return false; }
    void retain(Fence) noexcept override { ++retained; }
    void release(Fence) noexcept override { --retained; }
    int retained = 0;
  } order;
  CachingAllocator allocator(source, order);
  for (uint64_t id = 1; id <= 20000; ++id) {
    void* ptr = nullptr;
    CHECK_EQ(allocator.allocate(600 + id % 100000, {id}, &ptr), kStatusOk);
    CHECK_EQ(allocator.free(ptr, {id}, {&order, 1}), FreeResult::ok);
    allocator.retire_stream({id});
  }
  CHECK_LE(allocator.stats().reserved_current, 8 * MiB);
  allocator.trim_to(0);
  CHECK_EQ(order.retained, 0);
}

// ---- pins

TEST(pinned_blocks_keep_their_addresses_until_released) {
  for (size_t size : {size_t{900}, size_t{1 * MiB}}) {
    World w;
    PinToken token = w.allocator->begin_pin();
    REQUIRE(bool(token));
    void* first = w.get(size, w.a);
    w.put(first, w.a);
    void* second = w.get(size, w.a);
    CHECK_EQ(second, first);  // within the pin memory is reused
    void* third = w.get(size, w.a);
    w.put(second, w.a);
    CHECK_EQ(w.allocator->end_pin(token), kStatusOk);
    CHECK_EQ(w.allocator->end_pin(token), kStatusInvalidValue);
    BlockInfo info;
    REQUIRE(w.allocator->block_info(first, &info));
    CHECK(info.pinned);
    w.put(third, w.a);  // outside, but it belongs to the pin
    w.order.finish_everything();
    CHECK_EQ(w.allocator->trim_to(0), 0u);
    std::set<void*> others;
    for (int i = 0; i < 300; ++i) others.insert(w.get(size, i % 2 ? w.a : w.b));
    CHECK(!others.count(first));
    CHECK(!others.count(third));
    Fence replay = w.order.enqueue(w.c);
    CHECK_EQ(w.allocator->release_pin(token, replay), kStatusOk);
    CHECK_EQ(w.allocator->release_pin(token), kStatusInvalidValue);
    w.allocator->trim_to(0);
    REQUIRE(w.allocator->block_info(first, &info));
    CHECK(info.pinned);  // the last replay is not over
    for (void* ptr : others) w.put(ptr, w.a);
    w.order.finish_everything();
    w.allocator->trim_to(0);
    CHECK_EQ(w.reserved(), 0u);
  }
}

TEST(pins_are_for_their_thread_or_their_stream) {
  World w;
  auto pinned = [&](void* ptr) {
    BlockInfo info;
    CHECK(w.allocator->block_info(ptr, &info));
    return info.pinned;
  };
  PinToken mine = w.allocator->begin_pin();
  void *other_thread = nullptr, *here = w.get(600, w.a);
  std::thread([&] { other_thread = w.get(600, w.a); }).join();
  CHECK(pinned(here));
  CHECK(!pinned(other_thread));
  CHECK_EQ(w.allocator->end_pin(mine), kStatusOk);
  PinToken streams = w.allocator->begin_pin(w.b);
  void *on_b = nullptr, *on_a = w.get(600, w.a);
  std::thread([&] { on_b = w.get(600, w.b); }).join();
  CHECK(pinned(on_b));
  CHECK(!pinned(on_a));
  // Released while open and with live blocks: those are ordinary blocks from then on.
  CHECK_EQ(w.allocator->release_pin(streams), kStatusOk);
  CHECK(!pinned(on_b));
  CHECK_EQ(w.allocator->release_pin(mine), kStatusOk);
  for (void* ptr : {here, other_thread, on_a}) w.put(ptr, w.a);
  w.put(on_b, w.b);
  w.order.finish_everything();
  w.allocator->trim_to(0);
  CHECK_EQ(w.reserved(), 0u);
}

TEST(a_pin_takes_memory_its_stream_freed_before) {
  World w(4 * MiB);
  void* ptr = w.get(4 * MiB, w.a);
  w.put(ptr, w.a);
  PinToken token = w.allocator->begin_pin();
  void* pinned = w.get(4 * MiB, w.a);
  CHECK_EQ(pinned, ptr);
  CHECK_EQ(w.order.waits_made, 0);
  w.put(pinned, w.a);
  w.allocator->end_pin(token);
  CHECK_EQ(w.status(1 * MiB, w.a), kStatusOutOfMemory);
  w.allocator->release_pin(token);
  CHECK_EQ(w.status(1 * MiB, w.a), kStatusOk);
}

// ---- fork

TEST(a_forked_child_can_go_on) {
  World w;
  void* ptr = w.get(600, w.a);
  w.allocator->prepare_fork();
  pid_t child = fork();
  if (child == 0) {
    w.allocator->after_fork_child();
    void* mine = nullptr;
    bool good = w.allocator->allocate(600, {1}, &mine) == kStatusOk && mine != ptr &&
                w.allocator->free(ptr, {1}) == FreeResult::ok && w.allocator->free(mine, {1}) == FreeResult::ok &&
                w.allocator->stats().live_blocks == 0;
    _exit(good ? 0 : 1);
  }
  w.allocator->after_fork_parent();
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_EQ(w.allocator->stats().live_blocks, 1u);
  w.put(ptr, w.a);
}

TEST_MAIN()
