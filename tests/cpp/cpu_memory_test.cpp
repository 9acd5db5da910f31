// The CPU device's memory: address spans, heaps, accounts, guards; and the modes that are chosen by the environment.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "backends/cpu/copy.h"
#include "backends/cpu/guarded.h"
#include "backends/cpu/heap.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/settings.h"
#include "child.h"
#include "core/error.h"
#include "infinirt.h"
#include "infinirt_ext.h"

using namespace infinirt;
using namespace infinirt::cpu;

namespace {

constexpr size_t KiB = 1024, MiB = 1024 * KiB;

// Whether the host may read the byte; the kernel answers, no signal is involved.
bool readable(const void* pointer) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool yes = write(ends[1], pointer, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return yes;
}

std::string message() { return thread_extra(thread_state()).pending_message; }
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

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
  REQUIRE(heap.open(size_t{1} << 32, false, 0));
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
  REQUIRE(heap.open(size_t{1} << 34, false, 64 * MiB));
  for (size_t size : {4 * KiB, 5000 * size_t{1}, 64 * KiB, 100 * KiB, MiB, 2 * MiB - 1}) {
    heap.take(512);  // shifts what follows
    CHECK_EQ(reinterpret_cast<uintptr_t>(heap.take(size)) % 4096, 0u);
  }
  for (size_t size : {2 * MiB, 2 * MiB + 1, 64 * MiB})
    CHECK_EQ(reinterpret_cast<uintptr_t>(heap.take(size)) % (2 * MiB), 0u);
}

TEST(freed_memory_stays_warm_up_to_the_bound) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 34, false, 32 * MiB));
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
  REQUIRE(heap.open(size_t{1} << 34, false, 64 * MiB));
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
  REQUIRE(heap.open(size_t{1} << 32, false, 0));
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
  REQUIRE(heap.open(64 * MiB, false, 16 * MiB));
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
  REQUIRE(heap.open(size_t{1} << 34, false, 8 * MiB));
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
  REQUIRE(heap.open(size_t{1} << 32, true, 8 * MiB));
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

TEST(sizes_are_parsed) {
  size_t bytes = 0;
  CHECK(parse_bytes("0", &bytes) && bytes == 0);
  CHECK(parse_bytes("4096", &bytes) && bytes == 4096);
  CHECK(parse_bytes("64K", &bytes) && bytes == 64 * KiB);
  CHECK(parse_bytes("3m", &bytes) && bytes == 3 * MiB);
  CHECK(parse_bytes("2GB", &bytes) && bytes == 2048 * MiB);
  CHECK(parse_bytes("12b", &bytes) && bytes == 12);
  for (const char* bad : {"", "K", "-1", "1.5G", "1X", "1Kx", "99999999999999999999", "99999999999T"})
    CHECK(!parse_bytes(bad, &bytes));
}

TEST(accounts_are_per_device_and_failures_leave_them_alone) {
  MemoryOptions options;
  options.limit = MiB;
  MemoryManager memory(2, options);
  REQUIRE(memory.problem().empty());
  void *a = nullptr, *b = nullptr, *c = nullptr;
  CHECK_EQ(memory.allocate(0, 700 * KiB, MemoryKind::Device, &a), infinirtSuccess);
  CHECK_EQ(memory.allocate(0, 400 * KiB, MemoryKind::Device, &b), infinirtErrorMemoryAllocation);
  for (const char* part : {"409600", "cpu:0", "1048576", "716800"}) CHECK(contains(message(), part));
  CHECK_EQ(memory.allocate(1, 400 * KiB, MemoryKind::Managed, &b), infinirtSuccess);
  CHECK(!memory.in_device_range(b));
  CHECK(memory.in_device_range(a));
  CHECK_EQ(memory.allocate(0, 10 * MiB, MemoryKind::Pinned, &c), infinirtSuccess);  // the host's, not the device's
  size_t free_bytes = 0, total = 0;
  memory.info(0, &free_bytes, &total);
  CHECK_EQ(free_bytes, 324 * KiB);
  CHECK_EQ(total, MiB);
  CHECK_EQ(memory.allocate(0, SIZE_MAX, MemoryKind::Device, &b), infinirtErrorMemoryAllocation);
  memory.release(0, a, 700 * KiB, MemoryKind::Device);
  memory.info(0, &free_bytes, &total);
  CHECK_EQ(free_bytes, MiB);
  CHECK_EQ(memory.set_limit(2, 5), infinirtErrorInvalidDevice);
  CHECK_EQ(memory.set_limit(0, 0), infinirtSuccess);
  memory.info(0, &free_bytes, &total);
  CHECK_EQ(total, usable_memory());
}

TEST(guards_find_writes_outside_and_after_free) {
  for (bool isolated : {false, true}) {
    Heap heap;
    REQUIRE(heap.open(size_t{1} << 33, isolated, 0));
    GuardedMemory guard(heap);
    std::string finding;
    for (size_t size : {1 * size_t{1}, 1000 * size_t{1}, 4096 * size_t{1}, 300 * KiB}) {
      void* p = guard.take(size, 4096, 0);
      REQUIRE(p != nullptr);
      auto* bytes = static_cast<unsigned char*>(heap.backing(p));
      CHECK_EQ(bytes[0], kFreshByte);
      CHECK_EQ(bytes[size - 1], kFreshByte);
      std::memset(bytes, 0, size);
      CHECK(guard.intact(0, p, &finding));
      CHECK(guard.intact(0, nullptr, &finding));

      bytes[size + 3] = 1;
      CHECK(guard.intact(1, nullptr, &finding));  // another device's affair
      CHECK(!guard.intact(0, p, &finding));
      CHECK(contains(finding, "3 bytes past the end") && contains(finding, std::to_string(size) + " bytes, cpu:0"));
      CHECK(guard.intact(0, nullptr, &finding));  // told once
      bytes[size + 3] = kRedZoneByte;
      guard.give(p, 0);

      p = guard.take(size, 4096, 0);
      static_cast<unsigned char*>(heap.backing(p))[-2] = 7;
      guard.give(p, 0);  // nobody to tell; kept for the next look
      CHECK(!guard.intact(0, nullptr, &finding));
      CHECK(contains(finding, "2 bytes before the start"));
      CHECK(guard.intact(0, nullptr, &finding));
    }
    void* p = guard.take(4096, 4096, 0);
    auto* bytes = static_cast<unsigned char*>(heap.backing(p));
    guard.give(p, 0);
    CHECK_EQ(bytes[17], kFreedByte);
    bytes[17] = 0;
    CHECK(!guard.intact(0, nullptr, &finding));
    CHECK(contains(finding, "write after free") && contains(finding, "17 bytes after the start"));
    void* large = guard.take(MiB, 4096, 0);
    bytes = static_cast<unsigned char*>(heap.backing(large));
    guard.give(large, 0);
    CHECK(!readable(bytes));
  }
}

TEST(a_guarded_finding_is_told_at_free_and_at_synchronise) {
  MemoryOptions options;
  options.guarded = true;
  MemoryManager memory(2, options);
  REQUIRE(memory.problem().empty());
  for (MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned}) {
    void *a = nullptr, *b = nullptr;
    REQUIRE(memory.allocate(0, 100, kind, &a) == infinirtSuccess &&
            memory.allocate(0, 100, kind, &b) == infinirtSuccess);
    CHECK_EQ(memory.verify(0, nullptr), infinirtSuccess);
    static_cast<char*>(a)[100] = 1;
    static_cast<char*>(b)[101] = 1;
    CHECK_EQ(memory.verify(1, nullptr), infinirtSuccess);
    CHECK_EQ(memory.verify(0, a), infinirtErrorInvalidValue);
    CHECK(contains(message(), "0 bytes past the end"));
    CHECK_EQ(memory.verify(0, nullptr), infinirtErrorIllegalAddress);
    CHECK(contains(message(), "1 byte past the end"));
    CHECK_EQ(memory.verify(0, nullptr), infinirtSuccess);
    memory.release(0, a, 100, kind);
    memory.release(0, b, 100, kind);
  }
}

TEST(guarded_memory_comes_back_after_the_quarantine) {
  Heap heap;
  REQUIRE(heap.open(size_t{1} << 30, false, 0));
  GuardedMemory guard(heap);
  // 100 times the quarantine's worth: without release the range would be full long before.
  for (int i = 0; i < 200; ++i) {
    void* p = guard.take(100 * MiB, 4096, 0);
    REQUIRE(p != nullptr);
    guard.give(p, 0);
  }
}

TEST(fills_write_every_element_and_nothing_else) {
  for (size_t bytes : {size_t{4}, size_t{12}, size_t{100}, 5000 * size_t{1}, 9 * MiB + 4}) {
    for (size_t shift : {0u, 4u, 60u, 64u}) {
      for (uint8_t element : {1, 2, 4}) {
        std::vector<unsigned char> memory(bytes + 256, 0xEE);
        FillWork work{};
        work.dst = memory.data() + shift;
        work.pitch = work.slice = work.width = bytes;
        work.height = work.depth = 1;
        work.value = 0x01020304;
        work.element_size = element;
        fill_memory(work, work.dst);
        bool good = true;
        for (size_t i = 0; i < memory.size(); ++i) {
          const bool inside = i >= shift && i < shift + bytes;
          const auto expected = static_cast<unsigned char>(inside ? 0x01020304u >> 8 * ((i - shift) % element) : 0xEEu);
          good &= memory[i] == expected;
        }
        CHECK(good);
      }
    }
  }
}

TEST(copies_of_three_dimensions_match_a_plain_loop) {
  struct Shape {
    size_t width, height, depth, dst_pitch, dst_rows, src_pitch, src_rows;
  };
  for (const Shape& s : {Shape{7, 5, 3, 11, 6, 9, 5}, Shape{8, 4, 2, 8, 4, 8, 4}, Shape{8, 4, 2, 8, 4, 16, 4},
                         Shape{MiB, 6, 2, MiB, 6, MiB + 64, 7}, Shape{64, 1, 9, 64, 1, 64, 1}}) {
    std::vector<unsigned char> src(s.src_pitch * s.src_rows * s.depth), dst(s.dst_pitch * s.dst_rows * s.depth, 9);
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<unsigned char>(i * 31 + i / 251);
    std::vector<unsigned char> expected = dst;
    for (size_t z = 0; z < s.depth; ++z) {
      for (size_t y = 0; y < s.height; ++y) {
        std::copy_n(&src[(z * s.src_rows + y) * s.src_pitch], s.width, &expected[(z * s.dst_rows + y) * s.dst_pitch]);
      }
    }
    CopyWork work{};
    work.dst_pitch = s.dst_pitch;
    work.src_pitch = s.src_pitch;
    work.dst_slice = s.dst_pitch * s.dst_rows;
    work.src_slice = s.src_pitch * s.src_rows;
    work.width = s.width;
    work.height = s.height;
    work.depth = s.depth;
    copy_memory(work, dst.data(), src.data());
    CHECK(dst == expected);
  }
}

TEST(overlapping_copies_behave_as_memmove) {
  for (size_t bytes : {size_t{1000}, 9 * MiB}) {
    std::vector<unsigned char> memory(bytes + 100), expected;
    std::iota(memory.begin(), memory.end(), 0);
    CopyWork work{};
    work.width = bytes;
    work.height = work.depth = 1;
    for (int direction : {0, 1}) {
      expected = memory;
      unsigned char* base = memory.data();
      std::memmove(expected.data() + (direction ? 33 : 0), expected.data() + (direction ? 0 : 33), bytes);
      copy_memory(work, base + (direction ? 33 : 0), base + (direction ? 0 : 33));
      CHECK(memory == expected);
    }
  }
}

TEST(visible_devices_follow_the_environment) {
  struct Case {
    const char *count, *visible;
    std::vector<int> expected;
    bool problem;
  };
  for (const Case& c :
       {Case{nullptr, nullptr, {0}, false}, Case{"3", nullptr, {0, 1, 2}, false},
        Case{"3", "cpu:2,cpu:0", {2, 0}, false}, Case{"3", " 1 , cpu:1", {1}, false},
        Case{"3", "gpu:0", {0, 1, 2}, false}, Case{"3", "gpu:0,1", {1}, false}, Case{"3", "1,7,0", {1}, false},
        Case{"3", "7", {}, true}, Case{"3", "", {}, true}, Case{"2", "x", {}, true}, Case{"0", nullptr, {}, true},
        Case{"17", nullptr, {}, true}, Case{"two", nullptr, {}, true}}) {
    c.count ? setenv("INFINIRT_CPU_DEVICES", c.count, 1) : unsetenv("INFINIRT_CPU_DEVICES");
    c.visible ? setenv("INFINIRT_VISIBLE_DEVICES", c.visible, 1) : unsetenv("INFINIRT_VISIBLE_DEVICES");
    std::string problem;
    CHECK(visible_devices("cpu", &problem) == c.expected);
    CHECK_EQ(!problem.empty(), c.problem);
  }
  unsetenv("INFINIRT_CPU_DEVICES");
  unsetenv("INFINIRT_VISIBLE_DEVICES");
}

TEST(every_attribute_has_a_value_and_the_properties_hold_together) {
  REQUIRE(infinirtXSetDeviceType("cpu") == infinirtSuccess);
  struct infinirtDeviceProp p;
  REQUIRE(infinirtGetDeviceProperties(&p, 0) == infinirtSuccess);
  CHECK(contains(p.name, "(cpu:0)"));
  CHECK_GT(p.totalGlobalMem, size_t{0});
  CHECK_EQ(p.warpSize, 32);
  CHECK_EQ(p.maxThreadsPerBlock, 1024);
  CHECK_GE(p.multiProcessorCount, 1);
  CHECK_EQ(p.pciBusID, 0xC0);
  struct infinirtDeviceProp second;
  REQUIRE(infinirtGetDeviceProperties(&second, 0) == infinirtSuccess);
  CHECK_EQ(std::memcmp(&p.uuid, &second.uuid, sizeof p.uuid), 0);
  int known = 0, value = 0;
  for (int attribute = 0; attribute <= 200; ++attribute) {
    const auto error = infinirtDeviceGetAttribute(&value, static_cast<enum infinirtDeviceAttr>(attribute), 0);
    CHECK(error == infinirtSuccess || error == infinirtErrorInvalidValue);
    known += error == infinirtSuccess;
  }
  CHECK_EQ(known, 134);  // 136 enumerators: one number has two names, and one is the end mark
  infinirtDeviceGetAttribute(&value, infinirtDevAttrMaxGridDimX, 0);
  CHECK_EQ(value, p.maxGridSize[0]);
  infinirtDeviceGetAttribute(&value, infinirtDevAttrComputeCapabilityMajor, 0);
  CHECK_EQ(value, p.major);
}

// ---------------------------------------------------------------- modes, each in a process of its own

namespace {

infinirtError_t add_one(const infinirtXBlock*, void** args) {
  auto* data = *static_cast<int**>(args[0]);
  const int count = *static_cast<int*>(args[1]);
  for (int i = 0; i < count; ++i) ++data[i];
  return infinirtSuccess;
}

infinirtError_t add_one_to(void* data, int count) {
  const size_t sizes[] = {8, 4};
  const infinirtXKernelInfo info{"add_one", add_one, sizes, 2, 0};
  if (auto error = infinirtXRegisterKernel(&info)) return error;
  void* args[] = {&data, &count};
  return infinirtLaunchKernel(reinterpret_cast<const void*>(add_one), dim3{1, 1, 1}, dim3{1, 1, 1}, args, 0, nullptr);
}

// What every device has to do, whatever its memory is like.
void use_device(const char* type) {
  REQUIRE(infinirtXSetDeviceType(type) == infinirtSuccess);
  int host[1000], back[1000];
  std::iota(host, host + 1000, 0);
  void* device = nullptr;
  REQUIRE(infinirtMalloc(&device, sizeof host) == infinirtSuccess);
  CHECK_EQ(infinirtMemcpy(device, host, sizeof host, infinirtMemcpyHostToDevice), infinirtSuccess);
  CHECK_EQ(add_one_to(device, 1000), infinirtSuccess);
  CHECK_EQ(infinirtMemcpy(back, device, sizeof host, infinirtMemcpyDeviceToHost), infinirtSuccess);
  for (int i = 0; i < 1000; ++i) CHECK_EQ(back[i], i + 1);
  CHECK_EQ(infinirtMemset2D(device, 40, 7, 8, 100), infinirtSuccess);
  CHECK_EQ(infinirtMemcpy(back, device, sizeof host, infinirtMemcpyDeviceToHost), infinirtSuccess);
  CHECK_EQ(back[0], 0x07070707);
  CHECK_EQ(back[2], 3);
  CHECK_EQ(back[991], 0x07070707);
  CHECK_EQ(infinirtFree(device), infinirtSuccess);
}

}  // namespace

CHILD(isolated) {
  use_device("cpu");
  void *device = nullptr, *alias = nullptr, *pinned = nullptr, *managed = nullptr;
  REQUIRE(infinirtMalloc(&device, 4096) == infinirtSuccess);
  CHECK(!readable(device));
  CHECK_EQ(infinirtMemset(device, 5, 4096), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  REQUIRE(infinirtXGetHostAddress(&alias, device) == infinirtSuccess);
  CHECK_EQ(static_cast<char*>(alias)[4095], 5);
  CHECK_EQ(infinirtMallocHost(&pinned, 4096), infinirtSuccess);
  CHECK_EQ(infinirtMallocManaged(&managed, 4096, infinirtMemAttachGlobal), infinirtSuccess);
  CHECK(readable(pinned) && readable(managed));
}

CHILD(guarded) {
  REQUIRE(infinirtXSetDeviceType("cpu") == infinirtSuccess);
  use_device("cpu");
  void* device = nullptr;
  REQUIRE(infinirtMalloc(&device, 100) == infinirtSuccess);
  CHECK_EQ(add_one_to(device, 26), infinirtSuccess);  // one int too many
  infinirtStreamSynchronize(nullptr);
  CHECK_EQ(infinirtFree(device), infinirtErrorInvalidValue);
  CHECK(contains(infinirtXGetLastErrorMessage(), "0 bytes past the end"));
  REQUIRE(infinirtMalloc(&device, 100) == infinirtSuccess);
  CHECK_EQ(add_one_to(device, 26), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorIllegalAddress);
  CHECK(contains(infinirtXGetLastErrorMessage(), "0 bytes past the end"));
}

CHILD(minimal) {
  use_device("cpu-min");
  void* managed = nullptr;
  CHECK_EQ(infinirtMallocManaged(&managed, 4096, infinirtMemAttachGlobal), infinirtErrorNotSupported);
  enum infinirtXSupport support = infinirtXSupportNone;
  CHECK_EQ(infinirtXGetSupport(&support, "cpu-min", "infinirtMemcpy"), infinirtSuccess);
  CHECK_EQ(support, infinirtXSupportNative);
  CHECK_EQ(infinirtXGetSupport(&support, "cpu-min", "infinirtMemset2D"), infinirtSuccess);
  CHECK_EQ(support, infinirtXSupportEmulated);
  CHECK_EQ(infinirtXSetMemoryLimit(0, MiB), infinirtSuccess);
  void* p = nullptr;
  CHECK_EQ(infinirtMalloc(&p, 2 * MiB), infinirtErrorMemoryAllocation);
  CHECK_EQ(infinirtMalloc(&p, MiB), infinirtSuccess);
  CHECK_EQ(infinirtFree(p), infinirtSuccess);
  void *a = nullptr, *b = nullptr;
  CHECK_EQ(infinirtXSetMemoryLimit(0, 0), infinirtSuccess);
  REQUIRE(infinirtMalloc(&a, 3 * MiB) == infinirtSuccess);
  REQUIRE(infinirtSetDevice(1) == infinirtSuccess);
  REQUIRE(infinirtMalloc(&b, 3 * MiB) == infinirtSuccess);
  CHECK_EQ(infinirtMemset(a, 9, 3 * MiB), infinirtSuccess);
  CHECK_EQ(infinirtMemcpyPeer(b, 1, a, 0, 3 * MiB), infinirtSuccess);
  std::vector<char> host(3 * MiB);
  CHECK_EQ(infinirtMemcpy(host.data(), b, host.size(), infinirtMemcpyDefault), infinirtSuccess);
  CHECK(std::all_of(host.begin(), host.end(), [](char c) { return c == 9; }));
}

CHILD(three_devices) {
  int count = 0;
  REQUIRE(infinirtXSetDeviceType("cpu") == infinirtSuccess);
  CHECK_EQ(infinirtGetDeviceCount(&count), infinirtSuccess);
  CHECK_EQ(count, 2);
  struct infinirtDeviceProp p;
  REQUIRE(infinirtGetDeviceProperties(&p, 0) == infinirtSuccess);
  CHECK(contains(p.name, "(cpu:2)"));
  size_t free_bytes = 0, total = 0;
  CHECK_EQ(infinirtMemGetInfo(&free_bytes, &total), infinirtSuccess);
  CHECK_EQ(total, 3 * MiB);
}

CHILD(bad_settings) {
  infinirtXDeviceTypeInfo info;
  REQUIRE(infinirtXGetDeviceTypeInfo(&info, 0) == infinirtSuccess);
  CHECK_EQ(std::string(info.name), "cpu");
  CHECK_EQ(info.deviceCount, 0);
  CHECK(contains(info.problem, std::getenv("EXPECTED")));
  CHECK_EQ(infinirtXSetDeviceType("cpu"), infinirtErrorNoDevice);
}

TEST(isolated_mode) {
  CHECK_EQ(child::run("isolated", {"INFINIRT_CPU_MEMORY=isolated"}), 0);
  CHECK_EQ(child::run("isolated", {"INFINIRT_CPU_MEMORY=isolated,guarded"}), 0);
}

TEST(guarded_mode) {
  CHECK_EQ(child::run("guarded", {"INFINIRT_CPU_MEMORY=guarded"}), 0);
  CHECK_EQ(child::run("guarded", {"INFINIRT_CPU_MEMORY=guarded,isolated"}), 0);
}

TEST(minimal_backend) {
  CHECK_EQ(child::run("minimal", {"INFINIRT_CPU_MIN=1", "INFINIRT_CPU_DEVICES=2"}), 0);
  CHECK_EQ(child::run("minimal", {"INFINIRT_CPU_MIN=1", "INFINIRT_CPU_DEVICES=2", "INFINIRT_CPU_MEMORY=isolated"}), 0);
}

TEST(devices_and_limits_from_the_environment) {
  CHECK_EQ(child::run("three_devices", {"INFINIRT_CPU_DEVICES=3", "INFINIRT_VISIBLE_DEVICES=cpu:2,cpu:0",
                                        "INFINIRT_CPU_MEMORY_LIMIT=3M"}),
           0);
}

TEST(bad_settings_are_told_and_harmless) {
  for (const char* setting : {"INFINIRT_CPU_DEVICES=99", "INFINIRT_CPU_MEMORY=sealed", "INFINIRT_CPU_MEMORY_LIMIT=lots",
                              "INFINIRT_CPU_CACHE=-1", "INFINIRT_VISIBLE_DEVICES=cpu:5"}) {
    CHECK_EQ(child::run("bad_settings", {setting, std::string("EXPECTED=") + setting}), 0);
  }
}

CHILD_MAIN()
