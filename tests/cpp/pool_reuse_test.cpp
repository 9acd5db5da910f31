// Which stream may have a block of stream-ordered memory again, and when; and what happens when memory is short.
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "child.h"
#include "gate.h"
#include "pool_support.h"

TEST(an_own_block_is_reused_at_once_while_the_stream_is_busy) {
  infinirtStream_t stream = make_stream();
  for (size_t size : {size_t{700}, size_t{100000}, 3 * kMiB}) {
    void* first = allocate(stream, size);
    Gate gate;
    OK(gate.hold(stream));
    OK(infinirtFreeAsync(first, stream));
    CHECK_EQ(allocate(stream, size), first);
    OK(infinirtFreeAsync(first, stream));
    gate.open();
    OK(infinirtStreamSynchronize(stream));
  }
  OK(infinirtStreamDestroy(stream));
}

TEST(another_stream_does_not_get_a_block_before_its_free_has_run) {
  infinirtMemPool_t pool = make_pool();
  OK(set_attribute(pool, infinirtMemPoolAttrReleaseThreshold, ~uint64_t{0}));
  infinirtStream_t busy = make_stream(), other = make_stream();
  Gate gate;
  OK(gate.hold(busy));
  void* first = allocate(busy, kMiB, pool);
  OK(infinirtFreeAsync(first, busy));
  void* second = allocate(other, kMiB, pool);
  CHECK_NE(second, first);
  gate.open();
  OK(infinirtStreamSynchronize(busy));
  std::set<void*> later;
  std::vector<void*> taken;
  for (int i = 0; i < 64; ++i) {
    taken.push_back(allocate(other, kMiB, pool));
    later.insert(taken.back());
  }
  CHECK(later.count(first) == 1);  // the free has run: opportunistic reuse
  taken.push_back(second);
  for (void* pointer : taken) OK(infinirtFreeAsync(pointer, other));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(a_stream_that_waited_for_the_free_gets_the_block) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t busy = make_stream(), other = make_stream();
  infinirtEvent_t event = nullptr;
  OK(infinirtEventCreateWithFlags(&event, infinirtEventDisableTiming));
  for (bool follow : {true, false}) {
    int on = follow;
    OK(infinirtMemPoolSetAttribute(pool, infinirtMemPoolReuseFollowEventDependencies, &on));
    Gate gate;
    OK(gate.hold(busy));
    void* first = allocate(busy, 40 * kMiB, pool);
    OK(infinirtFreeAsync(first, busy));
    OK(infinirtEventRecord(event, busy));
    OK(infinirtStreamWaitEvent(other, event, 0));
    void* second = allocate(other, 40 * kMiB, pool);
    CHECK_EQ(second == first, follow);
    OK(infinirtFreeAsync(second, other));
    gate.open();
    OK(infinirtDeviceSynchronize());
  }
  OK(infinirtEventDestroy(event));
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(a_full_pool_makes_the_stream_wait_instead_of_failing) {
  const size_t maximum = whole_maximum(), most = maximum / 4 * 3;
  infinirtMemPool_t pool = make_pool(maximum);
  infinirtStream_t busy = make_stream(), other = make_stream();
  Gate gate;
  OK(gate.hold(busy));
  void* first = allocate(busy, most, pool);
  OK(infinirtFreeAsync(first, busy));
  void* second = allocate(other, most, pool);
  CHECK_EQ(second, first);
  OK(infinirtMemsetAsync(second, 1, most, other));
  CHECK_EQ(infinirtStreamQuery(other), infinirtErrorNotReady);  // its work comes after the free on the busy stream
  gate.open();
  OK(infinirtFreeAsync(second, other));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(without_opportunistic_reuse_a_finished_free_is_not_enough) {
  skip_on_native("a GPU was seen to reuse the memory of a finished free all the same");
  infinirtMemPool_t pool = make_pool();
  OK(set_attribute(pool, infinirtMemPoolAttrReleaseThreshold, ~uint64_t{0}));
  infinirtStream_t one = make_stream(), other = make_stream();
  for (int allowed : {0, 1}) {
    OK(infinirtMemPoolSetAttribute(pool, infinirtMemPoolReuseAllowOpportunistic, &allowed));
    void* first = allocate(one, 40 * kMiB, pool);
    OK(infinirtFreeAsync(first, one));
    Gate behind;  // entered when the free has run; a synchronise would tell the pool so
    OK(behind.hold(one));
    behind.wait_until_entered();
    void* second = allocate(other, 40 * kMiB, pool);
    CHECK_EQ(second == first, allowed == 1);
    behind.open();
    OK(infinirtFreeAsync(second, other));
    OK(infinirtDeviceSynchronize());
    OK(infinirtMemPoolTrimTo(pool, 0));
  }
  OK(infinirtMemPoolDestroy(pool));
  for (auto stream : {one, other}) OK(infinirtStreamDestroy(stream));
}

TEST(without_internal_dependencies_a_full_pool_is_out_of_memory) {
  const size_t maximum = whole_maximum(), most = maximum / 4 * 3;
  infinirtMemPool_t pool = make_pool(maximum);
  int off = 0;
  OK(infinirtMemPoolSetAttribute(pool, infinirtMemPoolReuseAllowInternalDependencies, &off));
  infinirtStream_t busy = make_stream(), other = make_stream();
  Gate gate;
  OK(gate.hold(busy));
  OK(infinirtFreeAsync(allocate(busy, most, pool), busy));
  void* second = nullptr;
  FAILS(infinirtMallocFromPoolAsync(&second, most, pool, other), infinirtErrorMemoryAllocation);
  OK(infinirtStreamQuery(other));  // nothing was made to wait
  gate.open();
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  for (auto stream : {busy, other}) OK(infinirtStreamDestroy(stream));
}

TEST(a_free_on_the_legacy_stream_waits_for_blocking_streams) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t blocking = make_stream(infinirtStreamDefault), free_standing = make_stream();
  Gate gate;
  void* first = allocate(nullptr, 40 * kMiB, pool);
  OK(gate.hold(blocking));
  OK(infinirtMemsetAsync(first, 1, 40 * kMiB, blocking));
  OK(infinirtFreeAsync(first, nullptr));  // ordered after the memset by the legacy stream's rules
  void* second = allocate(free_standing, 40 * kMiB, pool);
  CHECK_NE(second, first);
  gate.open();
  OK(infinirtFreeAsync(second, free_standing));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(blocking));
  OK(infinirtStreamDestroy(free_standing));
}

TEST(a_free_on_a_blocking_stream_waits_for_the_legacy_stream) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t blocking = make_stream(infinirtStreamDefault), free_standing = make_stream();
  Gate gate;
  void* first = allocate(blocking, 40 * kMiB, pool);
  OK(infinirtStreamSynchronize(blocking));
  OK(gate.hold(nullptr));
  OK(infinirtMemsetAsync(first, 1, 40 * kMiB, nullptr));
  OK(infinirtFreeAsync(first, blocking));
  void* second = allocate(free_standing, 40 * kMiB, pool);
  CHECK_NE(second, first);
  gate.open();
  OK(infinirtFreeAsync(second, free_standing));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(blocking));
  OK(infinirtStreamDestroy(free_standing));
}

TEST(out_of_memory_says_what_is_held_and_changes_nothing) {
  infinirtMemPool_t pool = make_pool(8 * kMiB);
  infinirtStream_t stream = make_stream();
  void* block = allocate(stream, 4 * kMiB, pool);
  const uint64_t used = attribute(pool, infinirtMemPoolAttrUsedMemCurrent);
  void* more = &stream;
  CHECK_EQ(infinirtMallocFromPoolAsync(&more, 64 * kMiB, pool, stream), infinirtErrorMemoryAllocation);
  for (const char* part : {"67108864", "4194304", "maxSize", "largest free block"}) CHECK(says(part));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrUsedMemCurrent), used);
  CHECK_EQ(infinirtMallocAsync(&more, ~size_t{0}, stream), infinirtErrorMemoryAllocation);
  CHECK_EQ(infinirtMallocAsync(&more, size_t{1} << 46, stream), infinirtErrorMemoryAllocation);
  CHECK_EQ(more, on_native() ? nullptr : static_cast<void*>(&stream));
  OK(infinirtFreeAsync(block, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(stream));
}

CHILD(memory_limit) {
  if (on_library()) OK(infinirtXSetMemoryLimit(0, 64 * kMiB));  // others read the environment
  infinirtStream_t busy = make_stream(), stream = make_stream();
  infinirtMemPool_t hoarder = make_pool(), slow = make_pool(), pool = make_pool();
  for (auto any : {hoarder, slow, pool}) OK(set_attribute(any, infinirtMemPoolAttrReleaseThreshold, ~uint64_t{0}));
  // Another pool's cache is given back when memory is short …
  OK(infinirtFreeAsync(allocate(stream, 48 * kMiB, hoarder), stream));
  OK(infinirtStreamSynchronize(stream));
  void* first = allocate(stream, 48 * kMiB, pool);
  CHECK_EQ(attribute(hoarder, infinirtMemPoolAttrReservedMemCurrent), 0u);
  OK(infinirtFreeAsync(first, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtMemPoolTrimTo(pool, 0));
  // … and so is what another stream is about to free.
  OK(infinirtLaunchHostFunc(busy, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }, nullptr));
  OK(infinirtFreeAsync(allocate(busy, 48 * kMiB, slow), busy));
  void* second = allocate(stream, 48 * kMiB, pool);
  OK(infinirtStreamQuery(busy));
  void* third = nullptr;
  CHECK_EQ(infinirtMallocFromPoolAsync(&third, 48 * kMiB, slow, stream), infinirtErrorMemoryAllocation);
  OK(infinirtFreeAsync(second, stream));
  OK(infinirtDeviceSynchronize());
}

TEST(memory_is_found_elsewhere_before_giving_up) {
  skip_on_native(kTestingAid);
  CHECK_EQ(child::run("memory_limit", {"INFINIRT_CPU_MEMORY_LIMIT=64M"}), 0);
}

CHILD_MAIN()
