// The caching allocator alone: which stream gets a block again and when, streams that end, pins.
#include <set>
#include <thread>
#include <vector>

#include "allocator_world.h"

using namespace infinirt;

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

namespace {
// Stream 1 goes, and what has its id from then on is stream 3.
struct ReusedId : fake::Order {
  ReusedId() : fake::Order(4) {}
  bool again = false;
  StreamKey meant(StreamKey key) const { return again && key.id == 1 ? StreamKey{3} : key; }
  Fence now(StreamKey stream) noexcept override { return fake::Order::now(meant(stream)); }
  bool precedes(Fence fence, StreamKey stream) noexcept override { return fake::Order::precedes(fence, meant(stream)); }
  bool make_wait(StreamKey stream, Fence fence) noexcept override {
    return fake::Order::make_wait(meant(stream), fence);
  }
};
}  // namespace

TEST(an_id_that_comes_back_names_another_stream) {
  for (size_t size : {size_t{600}, size_t{8 * KiB}, size_t{300 * KiB}}) {
    for (bool in_pin : {false, true}) {
      fake::Source source;
      ReusedId order;
      {
        CachingAllocator allocator(source, order);
        const StreamKey id{1}, other{2};
        const PinToken pin = in_pin ? allocator.make_pin() : PinToken{};
        const auto get = [&](StreamKey stream) {
          void* ptr = nullptr;
          CHECK_EQ(in_pin ? allocator.allocate(size, stream, pin, &ptr) : allocator.allocate(size, stream, &ptr),
                   kStatusOk);
          return ptr;
        };
        void *freed = get(id), *live = get(id);
        order.enqueue(id);
        CHECK_EQ(allocator.free(freed, id), FreeResult::ok);
        allocator.retire_stream(id);
        order.again = true;
        void* next = get(id);
        CHECK_NE(next, freed);  // the first stream uses it
        order.advance(id);

        // A free counts for the second stream, also that of memory which the first had allocated.
        order.enqueue(StreamKey{3});
        CHECK_EQ(allocator.free(live, id), FreeResult::ok);
        CHECK_EQ(allocator.free(next, id), FreeResult::ok);
        if (in_pin) CHECK_EQ(allocator.release_pin(pin), kStatusOk);
        std::vector<void*> taken;
        for (int i = 0; i < 8; ++i) {
          void* ptr = nullptr;
          CHECK_EQ(allocator.allocate(size, other, &ptr), kStatusOk);
          CHECK(ptr != live && ptr != next);
          taken.push_back(ptr);
        }
        order.finish_everything();
        for (void* ptr : taken) CHECK_EQ(allocator.free(ptr, other), FreeResult::ok);
        allocator.trim_to(0);
        CHECK_EQ(allocator.stats().reserved_current, 0u);
      }
      CHECK(order.balanced());
    }
  }
}

TEST_MAIN()
