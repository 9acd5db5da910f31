// The pointer registry: intervals, bounds, and readers that run beside changes.
#include "core/registry.h"

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "core/backend.h"

using namespace infinirt;

namespace {

const void* at(uintptr_t address) { return reinterpret_cast<const void*>(address); }

Backend& backend_a() {
  static Backend instance;
  return instance;
}

Backend& backend_b() {
  static Backend instance;
  return instance;
}

Allocation range(uintptr_t base, size_t size) {
  Allocation a;
  a.base = base;
  a.size = size;
  a.backend = &backend_a();
  return a;
}

std::vector<Allocation> all(const Backend* backend = nullptr) {
  std::vector<Allocation> result;
  registry_for_each(
      backend, [](const Allocation& a, void* list) { static_cast<std::vector<Allocation>*>(list)->push_back(a); },
      &result);
  return result;
}

// Every test leaves the registry as it found it.
struct Cleanup {
  ~Cleanup() {
    for (const Allocation& a : all()) registry_remove(at(a.base), nullptr);
  }
};

}  // namespace

TEST(an_empty_registry_knows_nothing) {
  Allocation found;
  CHECK(!registry_find(at(0), &found));
  CHECK(!registry_find(at(UINTPTR_MAX), &found));
  CHECK(registry_owner(at(4096)) == nullptr);
  CHECK(!registry_remove(at(4096), &found));
  CHECK(all().empty());
}

TEST(a_range_covers_its_first_to_its_last_byte) {
  Cleanup cleanup;
  REQUIRE(registry_insert(range(0x1000, 0x100)));
  Allocation found;
  CHECK(!registry_find(at(0xfff), &found));
  for (uintptr_t p : {0x1000, 0x1001, 0x10ff}) {
    REQUIRE(registry_find(at(p), &found));
    CHECK_EQ(found.base, uintptr_t{0x1000});
    CHECK_EQ(found.size, size_t{0x100});
  }
  CHECK(!registry_find(at(0x1100), &found));
  CHECK(!registry_find(at(0), &found));
  CHECK(!registry_find(at(UINTPTR_MAX), &found));
}

TEST(bounds_hold_everything_and_start_anew_when_empty) {
  const Cleanup cleanup;
  CHECK(!registry_may_hold(at(0x8000)));
  CHECK(registry_insert(range(0x8000, 0x100)));
  CHECK(registry_may_hold(at(0x8000)) && registry_may_hold(at(0x80ff)));
  CHECK(!registry_may_hold(at(0x7fff)) && !registry_may_hold(at(0x8100)));
  CHECK(registry_insert(range(0x2000, 0x10)));
  CHECK(registry_insert(range(0xa000, 0x10)));
  CHECK(registry_may_hold(at(0x2000)) && registry_may_hold(at(0xa00f)) && !registry_may_hold(at(0xa010)));
  for (uintptr_t base : {0x2000, 0x8000, 0xa000}) CHECK(registry_remove(at(base), nullptr));
  CHECK(!registry_may_hold(at(0x8000)));
  CHECK(registry_insert(range(0x9000, 0x10)));
  CHECK(registry_may_hold(at(0x9000)) && !registry_may_hold(at(0x8000)));
}

TEST(every_field_comes_back) {
  Cleanup cleanup;
  int owner = 0;
  for (int device : {0, 7, -1}) {
    Allocation a = range(0x5000, 64);
    a.kind = MemoryKind::Imported;
    a.device = device;
    a.flags = 0xdeadbeef;
    a.owner = &owner;
    REQUIRE(registry_insert(a));
    Allocation found;
    REQUIRE(registry_remove(at(0x5000), &found));
    CHECK(found.kind == MemoryKind::Imported);
    CHECK_EQ(found.device, device);
    CHECK_EQ(found.flags, 0xdeadbeefu);
    CHECK(found.backend == &backend_a());
    CHECK(found.owner == &owner);
  }
}

TEST(overlapping_ranges_are_refused) {
  Cleanup cleanup;
  REQUIRE(registry_insert(range(0x2000, 0x100)));
  CHECK(!registry_insert(range(0x2000, 0x100)));
  CHECK(!registry_insert(range(0x2000, 1)));
  CHECK(!registry_insert(range(0x20ff, 1)));
  CHECK(!registry_insert(range(0x1fff, 2)));
  CHECK(!registry_insert(range(0x1000, 0x10000)));
  CHECK(!registry_insert(range(0x3000, 0)));
  CHECK(!registry_insert(range(UINTPTR_MAX - 10, 100)));
  CHECK(registry_insert(range(0x1fff, 1)));
  CHECK(registry_insert(range(0x2100, 1)));
  CHECK_EQ(all().size(), size_t{3});
}

TEST(only_a_base_is_removed) {
  Cleanup cleanup;
  REQUIRE(registry_insert(range(0x2000, 0x100)));
  CHECK(!registry_remove(at(0x2001), nullptr));
  CHECK(!registry_remove(at(0x1fff), nullptr));
  CHECK(registry_remove(at(0x2000), nullptr));
  CHECK(!registry_remove(at(0x2000), nullptr));
}

TEST(an_update_changes_all_but_the_range) {
  Cleanup cleanup;
  REQUIRE(registry_insert(range(0x2000, 0x100)));
  auto change = [](Allocation& a, void* flags) {
    a.flags = *static_cast<unsigned*>(flags);
    a.kind = MemoryKind::Managed;
    a.size = 1;
    a.base = 1;
  };
  unsigned flags = 5;
  CHECK(!registry_update(at(0x2001), change, &flags));
  REQUIRE(registry_update(at(0x2000), change, &flags));
  Allocation found;
  REQUIRE(registry_find(at(0x20ff), &found));
  CHECK_EQ(found.flags, 5u);
  CHECK(found.kind == MemoryKind::Managed);
  CHECK_EQ(found.size, size_t{0x100});
}

TEST(a_visit_is_in_order_and_by_backend) {
  Cleanup cleanup;
  for (uintptr_t base : {0x9000, 0x1000, 0x5000}) {
    Allocation a = range(base, 16);
    if (base == 0x5000) a.backend = &backend_b();
    REQUIRE(registry_insert(a));
  }
  CHECK_EQ(all().size(), size_t{3});
  const auto of_a = all(&backend_a());
  REQUIRE(of_a.size() == 2);
  CHECK_EQ(of_a[0].base, uintptr_t{0x1000});
  CHECK_EQ(of_a[1].base, uintptr_t{0x9000});
  CHECK(registry_owner(at(0x5008)) == &backend_b());
}

// A new allocation may reach into the space that the first entry of the following chunk has left.
TEST(space_left_at_the_start_of_a_chunk_is_found_again) {
  Cleanup cleanup;
  constexpr uintptr_t kStart = 0x100000, kStep = 0x100;
  for (uintptr_t i = 0; i < 500; ++i) REQUIRE(registry_insert(range(kStart + i * kStep, kStep)));
  for (uintptr_t i = 1; i < 499; ++i) {
    REQUIRE(registry_remove(at(kStart + (i - 1) * kStep), nullptr));
    REQUIRE(registry_remove(at(kStart + i * kStep), nullptr));
    REQUIRE(registry_insert(range(kStart + (i - 1) * kStep + 1, 2 * kStep - 1)));
    Allocation found;
    CHECK(registry_find(at(kStart + i * kStep + 5), &found));
    CHECK_EQ(found.size, size_t{2 * kStep - 1});
    REQUIRE(registry_remove(at(kStart + (i - 1) * kStep + 1), nullptr));
    REQUIRE(registry_insert(range(kStart + (i - 1) * kStep, kStep)));
    REQUIRE(registry_insert(range(kStart + i * kStep, kStep)));
  }
}

TEST(random_changes_agree_with_a_map) {
  Cleanup cleanup;
  std::map<uintptr_t, size_t> model;
  std::mt19937_64 random(7);
  auto overlaps = [&](uintptr_t base, size_t size) {
    auto next = model.upper_bound(base);
    if (next != model.end() && next->first < base + size) return true;
    return next != model.begin() && (--next, base - next->first < next->second);
  };
  for (int step = 0; step < 60000; ++step) {
    const bool growing = step / 10000 % 2 == 0;  // swells and shrinks, so that chunks split and join
    const uintptr_t base = 0x10000 + random() % 40000 * 16;
    if (random() % 8 < (growing ? 6u : 2u)) {
      const size_t size = 1 + random() % 64;
      const bool expected = !overlaps(base, size);
      REQUIRE(registry_insert(range(base, size)) == expected);
      if (expected) model[base] = size;
    } else if (!model.empty()) {
      auto victim = model.lower_bound(base);
      if (victim == model.end()) victim = model.begin();
      Allocation removed;
      REQUIRE(registry_remove(at(victim->first), &removed));
      REQUIRE(removed.size == victim->second);
      model.erase(victim);
    }
    const uintptr_t probe = 0x10000 + random() % (40000 * 16);
    auto next = model.upper_bound(probe);
    const bool inside = next != model.begin() && probe - std::prev(next)->first < std::prev(next)->second;
    Allocation found;
    REQUIRE(registry_find(at(probe), &found) == inside);
    if (inside) REQUIRE(found.base == std::prev(next)->first);
  }
  const auto left = all();
  REQUIRE(left.size() == model.size());
  size_t i = 0;
  for (const auto& [base, size] : model) {
    CHECK_EQ(left[i].base, base);
    CHECK_EQ(left[i].size, size);
    ++i;
  }
}

// Ranges that never go away are found at every moment, with fields that belong together, whatever comes and goes between.
TEST(readers_see_whole_entries_beside_changes) {
  Cleanup cleanup;
  constexpr uintptr_t kStart = 0x40000000, kStep = 0x1000;
  constexpr uintptr_t kStable = 400;
  auto coherent = [](const Allocation& a) {
    return a.flags == static_cast<unsigned>(a.base >> 8) && reinterpret_cast<uintptr_t>(a.owner) == a.base + a.size;
  };
  auto make = [](uintptr_t base, size_t size) {
    Allocation a = range(base, size);
    a.flags = static_cast<unsigned>(base >> 8);
    a.owner = reinterpret_cast<void*>(base + size);
    return a;
  };
  for (uintptr_t i = 0; i < kStable; ++i) REQUIRE(registry_insert(make(kStart + i * kStep, 256)));

  std::atomic<bool> stop{false};
  std::atomic<long> lookups{0}, lost{0}, torn{0};
  auto reader = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!stop.load(std::memory_order_relaxed)) {
      Allocation found;
      const uintptr_t i = random() % kStable;
      if (!registry_find(at(kStart + i * kStep + random() % 256), &found)) {
        ++lost;
      } else if (found.base != kStart + i * kStep || !coherent(found)) {
        ++torn;
      }
      if (registry_find(at(kStart + random() % (kStable * kStep)), &found) && !coherent(found)) ++torn;
      ++lookups;
    }
  };
  std::thread readers[] = {std::thread(reader, 1), std::thread(reader, 2)};
  std::mt19937_64 random(3);
  std::vector<uintptr_t> live;
  bool good = true;
  for (int step = 0; step < 40000 || lookups.load() < 20000; ++step) {
    const bool growing = step / 2000 % 2 == 0;
    if (random() % 8 < (growing ? 6u : 2u)) {
      const uintptr_t base = kStart + random() % kStable * kStep + 256 + random() % 15 * 256;
      const size_t size = 1 + random() % 256;
      if (registry_insert(make(base, size))) live.push_back(base);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      good &= registry_remove(at(live.back()), nullptr);
      live.pop_back();
    }
  }
  stop = true;
  for (std::thread& thread : readers) thread.join();
  CHECK(good);
  CHECK_EQ(lost.load(), 0L);
  CHECK_EQ(torn.load(), 0L);
}

TEST_MAIN()
