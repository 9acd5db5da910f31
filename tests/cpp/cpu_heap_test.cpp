// The CPU device's address spans and heaps.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "backends/cpu/heap.h"
#include "check.h"
#include "cpu_support.h"

using namespace infinirt;
using namespace infinirt::cpu;

TEST(spans_never_overlap_and_coalesce) {
  constexpr uintptr_t kBegin = 1 << 20, kEnd = kBegin + (1 << 22);
  SpanAllocator spans(kBegin, kEnd);
  std::map<uintptr_t, size_t> live;
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    if (live.size() < 200 && random() % 2) {
      const size_t size = (1 + random() % 64) * 512, alignment = size_t{512} << random() % 4;
      const uintptr_t base = spans.take(size, alignment);
      if (!base) continue;
      REQUIRE(base % alignment == 0 && base >= kBegin && base + size <= kEnd);
      auto next = live.lower_bound(base);
      REQUIRE(next == live.end() || base + size <= next->first);
      REQUIRE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= base);
      live[base] = size;
    } else if (!live.empty()) {
      auto chosen = std::next(live.begin(), random() % live.size());
      spans.give(chosen->first, chosen->second);
      live.erase(chosen);
    }
  }
  for (auto [base, size] : live) spans.give(base, size);
  CHECK_EQ(spans.free_spans(), 1u);
  CHECK_EQ(spans.take(kEnd - kBegin, 512), kBegin);
  CHECK_EQ(spans.take(512, 512), 0u);
}

TEST(small_allocations_are_packed) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 32, HeapAccess::Plain, 0));
  uintptr_t low = UINTPTR_MAX, high = 0;
  for (int i = 0; i < 10000; ++i) {
    void* p = heap.take(100);
    REQUIRE(p != nullptr);
    std::memset(p, i, 100);
    const auto address = reinterpret_cast<uintptr_t>(p);
    CHECK_EQ(address % 512, 0u);
    low = std::min(low, address);
    high = std::max(high, address);
  }
  CHECK_LE(high - low, 10000u * 512);
}

TEST(alignment_follows_size) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 34, HeapAccess::Plain, 64 * MiB));
  for (size_t size : {4 * KiB, 5000 * size_t{1}, 64 * KiB, 100 * KiB, MiB, 2 * MiB - 1}) {
    heap.take(512);  // shifts what follows
    CHECK_EQ(reinterpret_cast<uintptr_t>(heap.take(size)) % 4096, 0u);
  }
  for (size_t size : {2 * MiB, 2 * MiB + 1, 64 * MiB})
    CHECK_EQ(reinterpret_cast<uintptr_t>(heap.take(size)) % (2 * MiB), 0u);
}

TEST(freed_memory_stays_warm_up_to_the_bound) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 34, HeapAccess::Plain, 32 * MiB));
  auto* first = static_cast<char*>(heap.take(16 * MiB));
  std::memset(first, 42, 16 * MiB);
  heap.give(first, 16 * MiB);
  CHECK_EQ(heap.cached_bytes(), 16 * MiB);
  auto* again = static_cast<char*>(heap.take(16 * MiB));
  CHECK_EQ(static_cast<void*>(again), static_cast<void*>(first));
  CHECK_EQ(again[5 * MiB], 42);  // the same pages: nothing was given back
  heap.give(again, 16 * MiB);
  for (int i = 0; i < 8; ++i) heap.give(heap.take(10 * MiB), 10 * MiB);
  void* too_large = heap.take(64 * MiB);
  heap.give(too_large, 64 * MiB);
  CHECK_LE(heap.cached_bytes(), 32 * MiB);
  heap.drop_cache();
  CHECK_EQ(heap.cached_bytes(), 0u);
  auto* cold = static_cast<char*>(heap.take(16 * MiB));
  CHECK_EQ(cold[5 * MiB], 0);  // its pages were given back, whichever address it is
}

TEST(a_warm_span_is_cut_to_size_and_the_rest_stays_usable) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 34, HeapAccess::Plain, 64 * MiB));
  void* whole = heap.take(12 * MiB);
  heap.give(whole, 12 * MiB);
  void* part = heap.take(8 * MiB);
  CHECK_EQ(part, whole);
  CHECK_EQ(heap.cached_bytes(), 4 * MiB);
  void* rest = heap.take(4 * MiB);
  CHECK_EQ(static_cast<char*>(rest), static_cast<char*>(whole) + 8 * MiB);
}

TEST(a_small_address_is_not_reused_at_once) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 32, HeapAccess::Plain, 0));
  void* freed = heap.take(1000);
  heap.give(freed, 1000);
  for (int i = 0; i < 500; ++i) {
    void* p = heap.take(1000);
    CHECK_NE(p, freed);
    heap.give(p, 1000);
  }
}

TEST(a_full_range_fails_and_recovers) {
  Heap heap;
  REQUIRE(heap.open(64 * MiB, HeapAccess::Plain, 16 * MiB));
  std::vector<void*> taken;
  while (void* p = heap.take(4 * MiB)) taken.push_back(p);
  CHECK_GE(taken.size(), 10u);
  CHECK_EQ(heap.take(size_t{1} << 40), nullptr);
  CHECK_EQ(heap.take(SIZE_MAX), nullptr);
  for (void* p : taken) heap.give(p, 4 * MiB);
  CHECK(heap.take(32 * MiB) != nullptr);  // needs what is cached, and what is coalesced
}

TEST(heaps_are_thread_safe) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 34, HeapAccess::Plain, 8 * MiB));
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<unsigned char*, size_t>> mine;
    for (int i = 0; i < 2000; ++i) {
      if (mine.size() < 16) {
        const size_t size = random() % 8 == 0 ? 3 * MiB : 1 + random() % (200 * KiB);
        auto* p = static_cast<unsigned char*>(heap.take(size));
        if (!p) continue;
        p[0] = p[size / 2] = p[size - 1] = static_cast<unsigned char>(seed);
        mine.emplace_back(p, size);
      } else {
        std::swap(mine[random() % mine.size()], mine.back());
        auto [p, size] = mine.back();
        CHECK(p[0] == seed && p[size / 2] == seed && p[size - 1] == seed);
        heap.give(p, size);
        mine.pop_back();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
}

TEST(isolated_addresses_are_inaccessible_and_their_memory_is_not) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 32, HeapAccess::Isolated, 8 * MiB));
  for (size_t size : {512 * size_t{1}, 100 * KiB, 4 * MiB}) {
    void* p = heap.take(size);
    REQUIRE(p != nullptr);
    CHECK(!readable(p));
    std::memset(heap.backing(p), 1, size);
    CHECK(!readable(p));
    int on_host = 0;
    CHECK_EQ(heap.backing(&on_host), static_cast<void*>(&on_host));
  }
}

TEST_MAIN()
