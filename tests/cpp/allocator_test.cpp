// The caching allocator alone: rounding, errors, limits, trimming, accounting. Which stream gets what: allocator_reuse_test.cpp.
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "allocator/size_classes.h"
#include "allocator_world.h"

using namespace infinirt;

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
