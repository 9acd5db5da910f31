// Caches of memory (infinirtXCache...): who gets a block again and when, on any device type.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cache_support.h"
#include "gate.h"

TEST(blocks_are_usable_and_counted) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t stream = make_stream();
  for (size_t size : {size_t{1}, size_t{512}, size_t{5000}, kMiB, 70 * kMiB}) {
    void* pointer = take(cache, size, stream);
    CHECK_EQ(reinterpret_cast<uintptr_t>(pointer) % 256, 0u);
    OK(infinirtMemsetAsync(pointer, 7, size, stream));
    char last = 0;
    OK(infinirtMemcpyAsync(&last, static_cast<char*>(pointer) + size - 1, 1, infinirtMemcpyDeviceToHost, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(int{last}, 7);
    const infinirtXCacheStats stats = stats_of(cache);
    CHECK_EQ(stats.liveBlocks, 1u);
    CHECK_EQ(stats.requestedCurrent, size);
    CHECK_GE(stats.usedCurrent, size);
    CHECK_GE(stats.reservedCurrent, stats.usedCurrent);
    OK(infinirtXCacheFree(pointer, cache, stream));
    CHECK_EQ(stats_of(cache).usedCurrent, 0u);
  }
  infinirtXCacheStats stats = stats_of(cache);
  CHECK_EQ(stats.allocations, 5u);
  CHECK_EQ(stats.frees, 5u);
  CHECK_GE(stats.usedHigh, 70 * kMiB);
  OK(infinirtXCacheResetPeaks(cache));
  CHECK_EQ(stats_of(cache).usedHigh, 0u);
  void* nothing = &cache;
  OK(infinirtXCacheAllocate(&nothing, 0, cache, stream));
  CHECK(nothing == nullptr);
  OK(infinirtXCacheFree(nullptr, cache, stream));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(stream));
}

TEST(an_own_block_is_had_again_at_once_another_streams_when_it_is_done) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t busy = make_stream(), other = make_stream();
  for (size_t size : {size_t{700}, size_t{100000}, 3 * kMiB}) {
    void* first = take(cache, size, busy);
    Gate gate;
    OK(gate.hold(busy));
    OK(infinirtXCacheFree(first, cache, busy));
    CHECK_EQ(take(cache, size, busy), first);
    OK(infinirtXCacheFree(first, cache, busy));
    void* second = take(cache, size, other);
    CHECK_NE(second, first);
    gate.open();
    OK(infinirtStreamSynchronize(busy));
    OK(infinirtXCacheFree(second, cache, other));
    OK(infinirtStreamSynchronize(other));
    OK(infinirtXCacheTrimTo(cache, 0));
    CHECK_EQ(stats_of(cache).reservedCurrent, 0u);
  }
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(a_full_cache_makes_the_stream_wait_instead_of_failing) {
  infinirtXCache_t cache = make_cache(infinirtXCacheMemoryDevice, 8 * kMiB);
  infinirtStream_t busy = make_stream(), other = make_stream();
  void* first = take(cache, 8 * kMiB, busy);
  Gate gate;
  OK(gate.hold(busy));
  OK(infinirtMemsetAsync(first, 1, 8 * kMiB, busy));
  OK(infinirtXCacheFree(first, cache, busy));
  void* second = take(cache, 8 * kMiB, other);
  CHECK_EQ(second, first);
  OK(infinirtMemsetAsync(second, 2, 8 * kMiB, other));
  CHECK_EQ(infinirtStreamQuery(other), infinirtErrorNotReady);  // it waits for the other one
  gate.open();
  char value = 0;
  OK(infinirtMemcpyAsync(&value, second, 1, infinirtMemcpyDeviceToHost, other));
  OK(infinirtStreamSynchronize(other));
  CHECK_EQ(int{value}, 2);
  void* third = nullptr;
  FAILS(infinirtXCacheAllocate(&third, 1, cache, busy), infinirtErrorMemoryAllocation);
  CHECK(third == nullptr);
  CHECK_EQ(stats_of(cache).outOfMemory, 1u);
  OK(infinirtXCacheSetMaxSize(cache, 0));
  OK(infinirtXCacheAllocate(&third, 1, cache, busy));
  OK(infinirtXCacheFree(third, cache, busy));
  OK(infinirtXCacheFree(second, cache, other));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(a_recorded_stream_is_waited_for) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t own = make_stream(), user = make_stream();
  for (bool destroyed : {false, true}) {
    void* block = take(cache, kMiB, own);
    OK(infinirtXCacheRecordStream(block, cache, user));
    OK(infinirtXCacheRecordStream(block, cache, user));
    Gate gate;
    OK(gate.hold(user));  // after it was recorded: what counts is the time of the free
    if (destroyed) OK(infinirtStreamDestroy(user));
    OK(infinirtXCacheFree(block, cache, own));
    CHECK_EQ(stats_of(cache).pendingBlocks, 1u);
    void* other = take(cache, kMiB, own);
    CHECK_NE(other, block);
    gate.open();
    OK(infinirtDeviceSynchronize());
    std::set<void*> later;
    std::vector<void*> taken;
    for (int i = 0; i < 8 && later.count(block) == 0; ++i) {
      taken.push_back(take(cache, kMiB, own));
      later.insert(taken.back());
    }
    CHECK_EQ(later.count(block), 1u);
    taken.push_back(other);
    for (void* pointer : taken) OK(infinirtXCacheFree(pointer, cache, own));
    if (destroyed) user = nullptr;
  }
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(own));
}

TEST(what_a_destroyed_stream_freed_waits_for_its_end) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t gone = make_stream(), other = make_stream();
  void* block = take(cache, kMiB, gone);
  Gate gate;
  OK(gate.hold(gone));
  OK(infinirtXCacheFree(block, cache, gone));
  OK(infinirtStreamDestroy(gone));
  // The handle may come back for another stream, which must not be taken for the first.
  std::vector<infinirtStream_t> streams;
  for (int i = 0; i < 16; ++i) {
    streams.push_back(make_stream());
    void* taken = take(cache, kMiB, streams.back());
    CHECK_NE(taken, block);
    OK(infinirtXCacheFree(taken, cache, streams.back()));
  }
  gate.open();
  OK(infinirtDeviceSynchronize());
  std::vector<void*> taken;
  std::set<void*> later;
  for (int i = 0; i < 64 && later.count(block) == 0; ++i) {
    taken.push_back(take(cache, kMiB, other));
    later.insert(taken.back());
  }
  CHECK_EQ(later.count(block), 1u);
  for (void* pointer : taken) OK(infinirtXCacheFree(pointer, cache, other));
  for (infinirtStream_t stream : streams) OK(infinirtStreamDestroy(stream));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(other));
}

TEST(the_predefined_streams) {
  infinirtXCache_t cache = make_cache();
  void* legacy = take(cache, 1000, nullptr);
  OK(infinirtXCacheFree(legacy, cache, infinirtStreamLegacy));
  CHECK_EQ(take(cache, 1000, nullptr), legacy);
  OK(infinirtXCacheFree(legacy, cache, nullptr));
  void* own = take(cache, 1000, infinirtStreamPerThread);
  OK(infinirtXCacheFree(own, cache, infinirtStreamPerThread));
  CHECK_EQ(take(cache, 1000, infinirtStreamPerThread), own);
  std::thread([&] {
    void* theirs = take(cache, 1000, infinirtStreamPerThread);
    CHECK_NE(theirs, own);
    OK(infinirtXCacheRecordStream(own, cache, infinirtStreamPerThread));
    OK(infinirtXCacheFree(theirs, cache, infinirtStreamPerThread));
  }).join();
  OK(infinirtXCacheFree(own, cache, infinirtStreamPerThread));
  OK(infinirtDeviceSynchronize());
  OK(infinirtXCacheTrimTo(cache, 0));
  CHECK_EQ(stats_of(cache).liveBlocks, 0u);
  OK(infinirtXCacheDestroy(cache));
}

TEST(captures_get_memory_from_reserves_only) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t stream = make_stream(), other = make_stream();
  void* before = take(cache, kMiB, stream);
  infinirtXCacheReserve_t reserve = 0;
  OK(infinirtXCacheReserveCreate(&reserve, cache));
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  void* refused = nullptr;
  FAILS(infinirtXCacheAllocate(&refused, kMiB, cache, stream), infinirtErrorStreamCaptureUnsupported);
  void* kept = nullptr;
  OK(infinirtXCacheReserveAllocate(&kept, kMiB, cache, reserve, stream));
  CHECK_NE(kept, before);
  OK(infinirtMemsetAsync(kept, 5, kMiB, stream));
  // The stream cannot be marked now: freed memory of it is nobody else's.
  OK(infinirtXCacheFree(before, cache, stream));
  void* elsewhere = take(cache, kMiB, other);
  CHECK_NE(elsewhere, before);
  void* again = nullptr;
  OK(infinirtXCacheFree(kept, cache, stream));
  OK(infinirtXCacheReserveAllocate(&again, kMiB, cache, reserve, stream));
  CHECK_EQ(again, kept);
  OK(infinirtXCacheFree(kept, cache, stream));
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(stream, &graph));
  infinirtGraphExec_t exec = nullptr;
  OK(infinirtGraphInstantiateWithFlags(&exec, graph, 0));

  // Nobody gets the graph's memory, although it is free.
  std::vector<void*> taken;
  for (int i = 0; i < 64; ++i) {
    taken.push_back(take(cache, kMiB, i % 2 ? other : stream));
    CHECK_NE(taken.back(), kept);
  }
  char value = 0;
  OK(infinirtGraphLaunch(exec, stream));
  OK(infinirtMemcpyAsync(&value, kept, 1, infinirtMemcpyDeviceToHost, stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(int{value}, 5);

  OK(infinirtXCacheReserveDestroy(cache, reserve, stream));
  FAILS(infinirtXCacheReserveDestroy(cache, reserve, stream), infinirtErrorInvalidValue);
  FAILS(infinirtXCacheReserveAllocate(&again, kMiB, cache, reserve, stream), infinirtErrorInvalidValue);
  FAILS(infinirtXCacheReserveAllocate(&again, kMiB, cache, 0, stream), infinirtErrorInvalidValue);
  std::set<void*> later;
  for (int i = 0; i < 64 && later.count(kept) == 0; ++i) {
    taken.push_back(take(cache, kMiB, stream));
    later.insert(taken.back());
  }
  CHECK_EQ(later.count(kept), 1u);
  taken.push_back(elsewhere);
  for (void* pointer : taken) OK(infinirtXCacheFree(pointer, cache, stream));
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(stream));
  OK(infinirtStreamDestroy(other));
}

TEST(a_capture_by_somebody_else_does_not_disturb) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t capturing = make_stream(), busy = make_stream(), other = make_stream();
  OK(infinirtStreamBeginCapture(capturing, infinirtStreamCaptureModeGlobal));
  // New segments, marks and questions, all of which are calls that such a capture forbids others.
  void* first = take(cache, 4 * kMiB, busy);
  OK(infinirtXCacheFree(first, cache, busy));
  void* second = take(cache, 4 * kMiB, other);
  OK(infinirtXCacheFree(second, cache, other));
  OK(infinirtXCacheTrimTo(cache, 0));
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(capturing, &graph));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtXCacheDestroy(cache));
  for (infinirtStream_t stream : {capturing, busy, other}) OK(infinirtStreamDestroy(stream));
}

TEST(page_locked_memory) {
  infinirtXCache_t cache = make_cache(infinirtXCacheMemoryHost);
  infinirtStream_t stream = make_stream();
  auto* text = static_cast<char*>(take(cache, 100, stream));
  std::strcpy(text, "by the host");
  infinirtPointerAttributes attributes = {};
  OK(infinirtPointerGetAttributes(&attributes, text));
  CHECK_EQ(attributes.type, infinirtMemoryTypeHost);
  OK(infinirtXCacheFree(text, cache, stream));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(stream));
}

TEST(wrong_use_is_refused) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t stream = make_stream();
  void* block = take(cache, 1000, stream);
  FAILS(infinirtXCacheDestroy(cache), infinirtErrorInvalidValue);
  FAILS(infinirtXCacheFree(static_cast<char*>(block) + 256, cache, stream), infinirtErrorInvalidValue);
  FAILS(infinirtXCacheFree(&block, cache, stream), infinirtErrorInvalidValue);
  FAILS(infinirtXCacheRecordStream(&block, cache, stream), infinirtErrorInvalidValue);
  // Other ways of freeing would pull the ground from under the cache.
  void* base = nullptr;
  size_t size = 0;
  OK(infinirtXCacheGetSegment(&base, &size, cache, block));
  CHECK_LE(base, block);
  CHECK_GE(size, 1000u);
  FAILS(infinirtXCacheGetSegment(&base, &size, cache, &block), infinirtErrorInvalidValue);
  OK(infinirtXCacheGetSegment(&base, &size, cache, block));
  for (void* pointer : {block, base}) {
    FAILS(infinirtFree(pointer), infinirtErrorInvalidValue);
    FAILS(infinirtFreeAsync(pointer, stream), infinirtErrorInvalidValue);
    FAILS(infinirtFreeHost(pointer), infinirtErrorInvalidValue);
  }
  OK(infinirtXCacheFree(block, cache, stream));
  CHECK_EQ(infinirtXCacheFree(block, cache, stream), infinirtErrorInvalidValue);
  CHECK(names("freed already"));
  (void)infinirtGetLastError();
  infinirtXCacheProps props = cache_props();
  infinirtXCache_t none = cache;
  FAILS(infinirtXCacheCreate(nullptr, &props), infinirtErrorInvalidValue);
  FAILS(infinirtXCacheCreate(&none, nullptr), infinirtErrorInvalidValue);
  props.structSize = 3;
  FAILS(infinirtXCacheCreate(&none, &props), infinirtErrorInvalidValue);
  props = cache_props(static_cast<infinirtXCacheMemory>(7));
  FAILS(infinirtXCacheCreate(&none, &props), infinirtErrorInvalidValue);
  props = cache_props();
  props.device = 1000;
  FAILS(infinirtXCacheCreate(&none, &props), infinirtErrorInvalidDevice);
  CHECK(none == nullptr);
  FAILS(infinirtXCacheAllocate(nullptr, 1, cache, stream), infinirtErrorInvalidValue);
  OK(infinirtStreamDestroy(stream));
  FAILS(infinirtXCacheAllocate(&block, 1, cache, stream), infinirtErrorInvalidResourceHandle);
  OK(infinirtXCacheDestroy(cache));
  FAILS(infinirtXCacheDestroy(cache), infinirtErrorInvalidResourceHandle);
  FAILS(infinirtXCacheAllocate(&block, 1, cache, nullptr), infinirtErrorInvalidResourceHandle);
  FAILS(infinirtXCacheFree(block, cache, nullptr), infinirtErrorInvalidResourceHandle);
  FAILS(infinirtXCacheGetStats(nullptr, cache), infinirtErrorInvalidValue);
}

TEST(a_new_cache_counts_from_zero) {
  infinirtStream_t stream = make_stream();
  for (int i = 0; i < 3; ++i) {
    infinirtXCache_t cache = make_cache();
    const infinirtXCacheStats fresh = stats_of(cache);
    CHECK_EQ(fresh.allocations, 0u);
    CHECK_EQ(fresh.segmentsMapped, 0u);
    CHECK_EQ(fresh.usedHigh, 0u);
    CHECK_EQ(fresh.reservedCurrent, 0u);
    OK(infinirtXCacheFree(take(cache, kMiB, stream), cache, stream));
    OK(infinirtXCacheDestroy(cache));
  }
  OK(infinirtStreamDestroy(stream));
}

TEST(threads_with_streams_of_their_own) {
  infinirtXCache_t cache = make_cache();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([cache, t] {
      infinirtStream_t mine = make_stream(), second = make_stream();
      unsigned random = 12345u + static_cast<unsigned>(t);
      std::vector<std::pair<unsigned char*, unsigned char>> blocks;
      for (int i = 0; i < 400; ++i) {
        random = random * 1664525u + 1013904223u;
        if (blocks.size() < 8 && random % 3) {
          auto* block = static_cast<unsigned char*>(take(cache, 1 + (random >> 8) % 200000, mine));
          const auto value = static_cast<unsigned char>(random >> 24);
          OK(infinirtMemsetAsync(block, value, 1, mine));
          blocks.emplace_back(block, value);
        } else if (!blocks.empty()) {
          const auto [block, value] = blocks.back();
          blocks.pop_back();
          unsigned char found = 0;
          OK(infinirtMemcpyAsync(&found, block, 1, infinirtMemcpyDeviceToHost, mine));
          OK(infinirtStreamSynchronize(mine));
          CHECK_EQ(int{found}, int{value});
          if (random % 5 == 0) OK(infinirtXCacheRecordStream(block, cache, second));
          OK(infinirtXCacheFree(block, cache, mine));
        }
        if (i % 100 == 99) {
          OK(infinirtStreamDestroy(second));
          second = make_stream();
          OK(infinirtXCacheTrimTo(cache, 0));
        }
      }
      for (auto [block, value] : blocks) OK(infinirtXCacheFree(block, cache, mine));
      OK(infinirtStreamDestroy(mine));
      OK(infinirtStreamDestroy(second));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(stats_of(cache).liveBlocks, 0u);
  OK(infinirtXCacheDestroy(cache));
}

TEST(blocks_can_be_listed) {
  infinirtXCache_t cache = make_cache();
  void* large = take(cache, 3 * kMiB, nullptr);
  void* small = take(cache, 1000, nullptr);
  infinirtXCacheReserve_t reserve = 0;
  OK(infinirtXCacheReserveCreate(&reserve, cache));
  void* reserved = nullptr;
  OK(infinirtXCacheReserveAllocate(&reserved, kMiB, cache, reserve, nullptr));
  size_t count = 0;
  OK(infinirtXCacheGetBlocks(nullptr, &count, cache));
  CHECK(count >= 3);
  std::vector<infinirtXCacheBlock> blocks(count);
  OK(infinirtXCacheGetBlocks(blocks.data(), &count, cache));
  CHECK_EQ(count, blocks.size());
  size_t used = 0;
  for (const auto& block : blocks) {
    CHECK(block.base >= block.segment);
    CHECK(static_cast<char*>(block.base) + block.size <= static_cast<char*>(block.segment) + block.segmentSize);
    if (block.state != infinirtXCacheBlockUsed) continue;
    ++used;
    const size_t expected = block.base == large ? 3 * kMiB : block.base == small ? 1000 : kMiB;
    CHECK_EQ(block.requested, expected);
    CHECK_EQ(block.isReserved != 0, block.base == reserved);
  }
  CHECK_EQ(used, 3u);
  size_t one = 1;
  infinirtXCacheBlock first{};
  OK(infinirtXCacheGetBlocks(&first, &one, cache));
  CHECK_EQ(one, count);
  CHECK(first.base == blocks[0].base);
  FAILS(infinirtXCacheGetBlocks(nullptr, &one, cache), infinirtErrorInvalidValue);
  FAILS(infinirtXCacheGetBlocks(&first, nullptr, cache), infinirtErrorInvalidValue);
  for (void* block : {large, small, reserved}) OK(infinirtXCacheFree(block, cache, nullptr));
  OK(infinirtXCacheReserveDestroy(cache, reserve, nullptr));
  OK(infinirtXCacheDestroy(cache));
}

TEST(calls_are_recorded) {
  infinirtXCache_t cache = make_cache();
  infinirtStream_t stream = make_stream();
  void* before = take(cache, 100, stream);
  OK(infinirtXCacheTraceBegin(cache, 4));
  FAILS(infinirtXCacheTraceBegin(cache, 4), infinirtErrorInvalidValue);
  void* block = take(cache, kMiB, stream);
  OK(infinirtXCacheRecordStream(block, cache, infinirtStreamLegacy));
  OK(infinirtXCacheFree(block, cache, stream));
  FAILS(infinirtXCacheFree(block, cache, stream), infinirtErrorInvalidValue);  // and is no event
  OK(infinirtXCacheFree(before, cache, stream));
  OK(infinirtXCacheFree(take(cache, 100, stream), cache, stream));  // no room for these two
  infinirtXCacheEvent events[8];
  size_t count = 3, lost = 99;
  OK(infinirtXCacheTraceRead(events, &count, &lost, cache));
  CHECK_EQ(count, 3u);
  CHECK_EQ(lost, 2u);
  const infinirtXCacheEventKind kinds[] = {infinirtXCacheEventAllocate, infinirtXCacheEventUse,
                                           infinirtXCacheEventFree};
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(events[i].kind, kinds[i]);
    CHECK(events[i].ptr == block);
    CHECK(i == 0 || events[i].time >= events[i - 1].time);
  }
  CHECK_EQ(events[0].size, kMiB);
  CHECK(events[0].stream == events[2].stream && events[0].stream != events[1].stream);
  OK(infinirtXCacheTraceEnd(cache));
  OK(infinirtXCacheTraceEnd(cache));
  count = 8;
  OK(infinirtXCacheTraceRead(events, &count, nullptr, cache));
  CHECK_EQ(count, 1u);
  CHECK(events[0].ptr == before);
  FAILS(infinirtXCacheTraceRead(nullptr, &count, nullptr, cache), infinirtErrorInvalidValue);
  OK(infinirtXCacheDestroy(cache));
  FAILS(infinirtXCacheTraceEnd(cache), infinirtErrorInvalidResourceHandle);
  OK(infinirtStreamDestroy(stream));
}

TEST(a_cache_in_want_gets_what_others_do_not_use) {
  skip_on_native("the memory of the device is not ours to limit");
  const char* memory = std::getenv("INFINIRT_CPU_MEMORY");
  if (memory && std::strstr(memory, "guarded")) check::skip("what is given back stays in quarantine, and counts");
  OK(infinirtXSetMemoryLimit(0, 100 * kMiB));
  infinirtXCache_t first = make_cache(), second = make_cache();
  OK(infinirtXCacheFree(take(first, 64 * kMiB, nullptr), first, nullptr));
  CHECK(stats_of(first).reservedCurrent >= 64 * kMiB);
  void* block = take(second, 80 * kMiB, nullptr);
  CHECK_EQ(stats_of(first).reservedCurrent, 0u);
  void* none = nullptr;
  CHECK_EQ(infinirtXCacheAllocate(&none, 64 * kMiB, first, nullptr), infinirtErrorMemoryAllocation);
  CHECK(std::string(infinirtXGetLastErrorMessage()).find("1 other cache of the process holds") != std::string::npos);
  CHECK_EQ(infinirtGetLastError(), infinirtErrorMemoryAllocation);
  CHECK_EQ(stats_of(second).liveBlocks, 1u);
  OK(infinirtXCacheFree(block, second, nullptr));
  OK(infinirtXCacheDestroy(second));
  OK(infinirtXCacheDestroy(first));
  OK(infinirtXSetMemoryLimit(0, 0));
}

TEST(a_reset_ends_the_caches_of_the_device) {
  skip_on_native("a reset of a real device ends what others of the process have on it");
  infinirtXCache_t cache = make_cache();
  infinirtStream_t stream = make_stream();
  void* block = take(cache, kMiB, stream);
  OK(infinirtDeviceReset());
  void* other = nullptr;
  FAILS(infinirtXCacheAllocate(&other, 1, cache, nullptr), infinirtErrorContextIsDestroyed);
  OK(infinirtXCacheFree(block, cache, nullptr));
  OK(infinirtXCacheDestroy(cache));
  infinirtXCache_t next = make_cache();
  OK(infinirtXCacheFree(take(next, kMiB, nullptr), next, nullptr));
  OK(infinirtXCacheDestroy(next));
}

TEST(a_forked_child_goes_on_with_its_copy) {
  skip_on_native(kFork);
  infinirtXCache_t cache = make_cache();
  infinirtStream_t stream = make_stream();
  void* before = take(cache, kMiB, stream);
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtXCacheFree(before, cache, stream));
  const pid_t child = fork();
  if (child == 0) {
    infinirtStream_t fresh = make_stream();
    void* block = take(cache, kMiB, fresh);
#ifndef __SANITIZE_THREAD__  // which allows no new threads here
    OK(infinirtMemsetAsync(block, 1, kMiB, fresh));
    OK(infinirtStreamSynchronize(fresh));
#endif
    OK(infinirtXCacheFree(block, cache, fresh));
    OK(infinirtXCacheTrimTo(cache, 0));
    _exit(check::failures() == 0 ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtXCacheDestroy(cache));
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
