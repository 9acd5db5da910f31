// Caches of memory: nobody gets a block whose last use is not over, whatever the block went through; and nothing piles up.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "cache_support.h"
#include "child.h"
#include "core/handle.h"
#include "gate.h"

namespace {

// The stream's work behind the gate has not begun, so whoever has to come after it is not done either.
bool waits(infinirtStream_t stream) { return infinirtStreamQuery(stream) == infinirtErrorNotReady; }

}  // namespace

// First in this program: the cache exists before the first capture, and the locks of captures are taken after the cache's.
TEST(a_fork_while_caches_ask_about_captures) {
  skip_on_native(kFork);
  infinirtXCache_t cache = make_cache();
  infinirtStream_t stream = make_stream();
  void* block = take(cache, kMiB, stream);
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  OK(infinirtXCacheFree(block, cache, stream));
  std::atomic<bool> stop{false};
  std::thread asking([&] {
    while (!stop.load()) OK(infinirtXCacheTrimTo(cache, 0));
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
  }
  stop.store(true);
  asking.join();
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(stream, &graph));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(stream));
}

// A vendor's library gives the same handle soon again; allocator_reuse_test asks the same of the allocator alone.
TEST(a_stream_with_the_handle_of_one_that_is_gone_is_another_stream) {
  if (!on_native()) check::skip("handles of ours come back after millions of streams");
  infinirtXCache_t cache = make_cache();
  infinirtStream_t gone = make_stream();
  void* freed = take(cache, kMiB, gone);
  void* live = take(cache, kMiB, gone);
  void* freed_small = take(cache, 700, gone);
  void* live_small = take(cache, 700, gone);
  Gate gate;
  OK(gate.hold(gone));
  OK(infinirtXCacheFree(freed, cache, gone));
  OK(infinirtXCacheFree(freed_small, cache, gone));
  OK(infinirtStreamDestroy(gone));
  infinirtStream_t next = nullptr;
  for (int i = 0; i < 64 && next != gone; ++i) {
    if (next) OK(infinirtStreamDestroy(next));
    next = make_stream();
  }
  void* other = take(cache, kMiB, next);
  void* other_small = take(cache, 700, next);
  CHECK_NE(other, freed);
  CHECK_NE(other_small, freed_small);
  gate.open();
  OK(infinirtDeviceSynchronize());

  // What is freed on the second stream waits for the second stream.
  infinirtStream_t third = make_stream();
  Gate second;
  OK(second.hold(next));
  for (void* pointer : {live, live_small, other, other_small}) OK(infinirtXCacheFree(pointer, cache, next));
  std::vector<void*> taken;
  for (int i = 0; i < 16; ++i) taken.push_back(take(cache, i % 2 ? kMiB : 700, third));
  for (void* pointer : taken)
    for (void* used : {live, live_small, other, other_small}) CHECK_NE(pointer, used);
  second.open();
  OK(infinirtDeviceSynchronize());
  for (void* pointer : taken) OK(infinirtXCacheFree(pointer, cache, third));
  OK(infinirtStreamSynchronize(third));
  OK(infinirtXCacheTrimTo(cache, 0));
  CHECK_EQ(stats_of(cache).reservedCurrent, 0u);  // and nothing is waited for that never comes
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(next));
  OK(infinirtStreamDestroy(third));
}

// The stream of the thread came by its memory by waiting; so whoever has it after that stream waits, too.
TEST(what_a_threads_own_stream_waited_for_is_waited_for) {
  infinirtXCache_t cache = make_cache(infinirtXCacheMemoryDevice, 8 * kMiB);
  infinirtStream_t busy = make_stream(), other = make_stream();
  void* first = take(cache, 8 * kMiB, busy);
  Gate gate;
  OK(gate.hold(busy));
  OK(infinirtXCacheFree(first, cache, busy));
  void* own = take(cache, 700, infinirtStreamPerThread);
  CHECK(waits(infinirtStreamPerThread));
  void* theirs = take(cache, 700, other);
  OK(infinirtMemsetAsync(theirs, 1, 1, other));
  CHECK(waits(other));
  gate.open();
  OK(infinirtDeviceSynchronize());
  OK(infinirtXCacheFree(own, cache, infinirtStreamPerThread));
  OK(infinirtXCacheFree(theirs, cache, other));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(a_recorded_stream_counts_when_it_is_the_one_of_the_allocation) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t own = make_stream(), other = make_stream();
  void* block = take(cache, kMiB, own);
  Gate gate;
  OK(gate.hold(own));
  OK(infinirtXCacheRecordStream(block, cache, own));
  OK(infinirtXCacheFree(block, cache, other));
  void* next = take(cache, kMiB, other);
  CHECK_NE(next, block);
  gate.open();
  OK(infinirtDeviceSynchronize());
  OK(infinirtXCacheFree(next, cache, other));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(own));
  OK(infinirtStreamDestroy(other));
}

// A graph runs on any stream, not after what the stream of its capture was given before.
TEST(a_capture_gets_no_memory_that_its_stream_still_uses) {
  for (size_t size : {size_t{700}, size_t{100000}, 8 * kMiB}) {
    infinirtXCache_t cache = make_cache();
    infinirtStream_t stream = make_stream();
    std::vector<void*> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(take(cache, size, stream));
    const std::set<void*> used(blocks.begin(), blocks.end());
    Gate gate;
    OK(gate.hold(stream));
    for (void* block : blocks) OK(infinirtXCacheFree(block, cache, stream));
    infinirtXCacheReserve_t reserve = 0;
    OK(infinirtXCacheReserveCreate(&reserve, cache));
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
    void* kept = nullptr;
    OK(infinirtXCacheReserveAllocate(&kept, size, cache, reserve, stream));
    CHECK_EQ(used.count(kept), 0u);
    infinirtGraph_t graph = nullptr;
    OK(infinirtStreamEndCapture(stream, &graph));
    gate.open();
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtXCacheFree(kept, cache, stream));
    OK(infinirtXCacheReserveDestroy(cache, reserve, stream));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtXCacheDestroy(cache));
    OK(infinirtStreamDestroy(stream));
  }
}

TEST(running_out_of_memory_leaves_captures_alone) {
  infinirtXCache_t cache = make_cache(infinirtXCacheMemoryDevice, 4 * kMiB);
  infinirtStream_t capturing = make_stream(), other = make_stream();
  infinirtXCacheReserve_t reserve = 0;
  OK(infinirtXCacheReserveCreate(&reserve, cache));
  void* held = take(cache, kMiB, other);
  for (bool by_itself : {false, true}) {
    OK(infinirtStreamBeginCapture(capturing, infinirtStreamCaptureModeRelaxed));
    void* none = nullptr;
    if (by_itself) {
      FAILS(infinirtXCacheReserveAllocate(&none, 4 * kMiB, cache, reserve, capturing), infinirtErrorMemoryAllocation);
    } else {
      FAILS(infinirtXCacheAllocate(&none, 4 * kMiB, cache, other), infinirtErrorMemoryAllocation);
    }
    infinirtGraph_t graph = nullptr;
    OK(infinirtStreamEndCapture(capturing, &graph));
    if (graph) OK(infinirtGraphDestroy(graph));
  }
  OK(infinirtXCacheFree(held, cache, other));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(capturing));
  OK(infinirtStreamDestroy(other));
}

CHILD(two_devices) {
  OK(infinirtSetDevice(1));
  infinirtXCacheProps props = cache_props();
  props.device = 1;
  infinirtXCache_t cache = nullptr;
  OK(infinirtXCacheCreate(&cache, &props));
  void* block = nullptr;
  // The thread's own stream of the cache's device captures, whichever device the thread is at.
  OK(infinirtStreamBeginCapture(infinirtStreamPerThread, infinirtStreamCaptureModeRelaxed));
  OK(infinirtSetDevice(0));
  FAILS(infinirtXCacheAllocate(&block, 1, cache, infinirtStreamPerThread), infinirtErrorStreamCaptureUnsupported);
  OK(infinirtSetDevice(1));
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(infinirtStreamPerThread, &graph));
  OK(infinirtGraphDestroy(graph));
  // A stream of another device, which is reset while the cache knows it.
  OK(infinirtSetDevice(0));
  infinirtStream_t elsewhere = make_stream();
  block = take(cache, kMiB, infinirtStreamLegacy);
  Gate gate;
  OK(gate.hold(elsewhere));
  OK(infinirtXCacheRecordStream(block, cache, elsewhere));
  OK(infinirtXCacheFree(block, cache, infinirtStreamLegacy));
  CHECK_EQ(stats_of(cache).pendingBlocks, 1u);
  gate.open();
  OK(infinirtDeviceReset());
  OK(infinirtXCacheTrimTo(cache, 0));
  CHECK_EQ(stats_of(cache).reservedCurrent, 0u);
  OK(infinirtXCacheDestroy(cache));
}

TEST(devices_of_one_type) {
  skip_on_native(kTwoDevices);
  CHECK_EQ(child::run("two_devices", {"INFINIRT_CPU_DEVICES=2"}), 0);
}

// ---- Nothing piles up

namespace {

size_t live_events() {
  using namespace infinirt;
  size_t count = 0;
  for (size_t i = 0; i < size_t{1} << 16; ++i)
    count += g_hot.handles.slots[i].tag.load() >> 16 == static_cast<uint32_t>(HandleKind::Event);
  return count;
}

// Frees on a stream that always has something left to do, whose work comes to an end nevertheless.
template <class Free>
size_t events_after_frees(infinirtStream_t stream, Free free_one) {
  std::unique_ptr<Gate> ahead;
  for (int i = 0; i < 500; ++i) {
    auto next = std::make_unique<Gate>();
    OK(next->hold(stream));
    if (ahead) {
      ahead->open();
      next->wait_until_entered();
    }
    free_one();
    ahead = std::move(next);
  }
  ahead->open();
  OK(infinirtStreamSynchronize(stream));
  return live_events();
}

}  // namespace

TEST(events_of_a_busy_stream_are_used_again) {
  skip_on_native("its events are no handles of ours");
  infinirtXCache_t cache = make_cache();
  infinirtStream_t own = make_stream(), user = make_stream();
  CHECK_LE(events_after_frees(own,
                              [&] {
                                void* block = take(cache, 1000, own);
                                OK(infinirtXCacheRecordStream(block, cache, user));
                                OK(infinirtXCacheFree(block, cache, own));
                              }),
           20u);
  CHECK_LE(
      events_after_frees(
          infinirtStreamPerThread,
          [&] { OK(infinirtXCacheFree(take(cache, 1000, infinirtStreamPerThread), cache, infinirtStreamPerThread)); }),
      20u);
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(own));
  OK(infinirtStreamDestroy(user));
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // which have heaps of their own
TEST(streams_that_outlive_a_cache_leave_nothing_behind) {
  const auto round = [] {
    infinirtStream_t stream = make_stream();
    infinirtXCache_t cache = make_cache();
    OK(infinirtXCacheFree(take(cache, 1000, stream), cache, stream));
    OK(infinirtXCacheDestroy(cache));
    OK(infinirtStreamDestroy(stream));
  };
  for (int i = 0; i < 300; ++i) round();
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 1000; ++i) round();
  CHECK_LE(mallinfo2().uordblks, before + 100 * 1000);
}
#endif

CHILD_MAIN()
