// The CPU device's guarded memory: what finds writes outside allocations.
#include <cstring>

#include "backends/cpu/guarded.h"
#include "backends/cpu/heap.h"
#include "backends/cpu/memory.h"
#include "check.h"
#include "core/error.h"
#include "cpu_support.h"

using namespace infinirt;
using namespace infinirt::cpu;

namespace {

std::string message() { return thread_extra(thread_state()).pending_message; }

}  // namespace

TEST(guards_find_writes_outside_and_after_free) {
  for (bool isolated : {false, true}) {
    Heap heap;
    REQUIRE(heap.open(size_t{1} << 33, isolated ? HeapAccess::Isolated : HeapAccess::Plain, 0));
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
  REQUIRE(heap.open(size_t{1} << 30, HeapAccess::Plain, 0));
  GuardedMemory guard(heap);
  // 100 times the quarantine's worth: without release the range would be full long before.
  for (int i = 0; i < 200; ++i) {
    void* p = guard.take(100 * MiB, 4096, 0);
    REQUIRE(p != nullptr);
    guard.give(p, 0);
  }
}

TEST_MAIN()
