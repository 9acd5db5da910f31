#include "backends/cpu/address_space.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>

namespace infinirt::cpu {

size_t generous_reservation() {
  // The thread sanitizer keeps four shadow bytes per byte and knows few places for mappings.
#if defined(__SANITIZE_THREAD__)
  size_t wanted = size_t{1} << 37;
#else
  size_t wanted = size_t{1} << 42;
#endif
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    // The program needs address space too: never more than a quarter of what it may have.
    wanted = std::min(wanted, std::bit_floor(static_cast<size_t>(limit.rlim_cur) / 4));
  }
  return wanted;
}

ReservedRange reserve_range(size_t wanted, size_t least) {
  for (size_t size = wanted; size >= least && size > 0; size /= 2) {
    void* mapped = mmap(nullptr, size + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) continue;
    const auto start = reinterpret_cast<uintptr_t>(mapped);
    return {round_up(start, kHugePage), size};
  }
  return {};
}

SpanAllocator::SpanAllocator(uintptr_t begin, uintptr_t end) : highest_(begin) {
  if (begin < end) add(begin, end - begin);
}

void SpanAllocator::add(uintptr_t base, size_t size) {
  by_address_.emplace(base, size);
  by_size_.emplace(size, base);
}

void SpanAllocator::remove(uintptr_t base, size_t size) {
  by_address_.erase(base);
  by_size_.erase({size, base});
}

uintptr_t SpanAllocator::cut(BySize::iterator block, size_t size, size_t alignment) {
  const auto [block_size, block_base] = *block;
  const uintptr_t base = round_up(block_base, alignment);
  if (base - block_base > block_size || block_size - (base - block_base) < size) return 0;
  remove(block_base, block_size);
  if (base > block_base) add(block_base, base - block_base);
  const uintptr_t rest = base + size, block_end = block_base + block_size;
  if (rest < block_end) add(rest, block_end - rest);
  highest_ = std::max(highest_, rest);
  return base;
}

uintptr_t SpanAllocator::take(size_t size, size_t alignment) {
  // The best few fits may happen to be aligned; a block with room for any alignment always is good enough.
  constexpr int kTries = 4;
  auto block = by_size_.lower_bound({size, 0});
  for (int i = 0; i < kTries && block != by_size_.end(); ++i) {
    auto next = std::next(block);
    if (const uintptr_t base = cut(block, size, alignment)) return base;
    block = next;
  }
  block = by_size_.lower_bound({size + alignment - 1, 0});
  return block == by_size_.end() ? 0 : cut(block, size, alignment);
}

void SpanAllocator::give(uintptr_t base, size_t size) {
  auto after = by_address_.lower_bound(base);
  if (after != by_address_.end() && base + size == after->first) {
    const auto [next_base, next_size] = *after;
    remove(next_base, next_size);
    size += next_size;
  }
  auto before = by_address_.lower_bound(base);
  if (before != by_address_.begin()) {
    --before;
    const auto [previous_base, previous_size] = *before;
    if (previous_base + previous_size == base) {
      remove(previous_base, previous_size);
      base = previous_base;
      size += previous_size;
    }
  }
  add(base, size);
}

}  // namespace infinirt::cpu
