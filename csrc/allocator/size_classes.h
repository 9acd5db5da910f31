// How requests are rounded. Small ones to a size class (slabs), large ones to granules (best fit).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace infinirt::caching {

inline constexpr size_t kAlignment = 256;
inline constexpr size_t kMinBlock = 512;
inline constexpr size_t kMaxSmall = 32 << 10;
// Large blocks and slabs start at, and are multiples of, a granule.
inline constexpr unsigned kGranuleBits = 13;
inline constexpr size_t kGranule = size_t{1} << kGranuleBits;
// Segments start at, and are multiples of, a chunk.
inline constexpr unsigned kChunkBits = 21;
inline constexpr size_t kChunk = size_t{1} << kChunkBits;
inline constexpr size_t kMaxRequest = size_t{1} << 46;

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// 512, 768, 1024, then four classes per power of two. (Four between 512 and 1024 would break the alignment.)
constexpr unsigned class_of(size_t size) {
  if (size <= 1024) return size <= 512 ? 0 : size <= 768 ? 1 : 2;
  size_t below = size - 1;
  unsigned top = static_cast<unsigned>(std::bit_width(below)) - 1;
  return 3 + (top - 10) * 4 + ((below >> (top - 2)) & 3);
}
inline constexpr unsigned kClasses = class_of(kMaxSmall) + 1;

struct SizeClass {
  uint32_t block;       // bytes of a block
  uint32_t count;       // blocks of a slab
  uint32_t span;        // bytes of a slab
  uint64_t reciprocal;  // offset / block == offset * reciprocal >> 40, for offsets inside a slab
};

constexpr SizeClass make_class(unsigned index) {
  constexpr size_t kUsualSpan = 64 << 10;
  size_t block = index < 3 ? 512 + index * 256 : 0;
  if (index >= 3) {
    size_t base = size_t{1} << (10 + (index - 3) / 4);
    block = base + ((index - 3) % 4 + 1) * base / 4;
  }
  size_t count = kUsualSpan / block < 4 ? 4 : kUsualSpan / block;
  return {static_cast<uint32_t>(block), static_cast<uint32_t>(count),
          static_cast<uint32_t>(round_up(count * block, kGranule)), ((uint64_t{1} << 40) + block - 1) / block};
}

inline constexpr std::array<SizeClass, kClasses> kSizeClasses = [] {
  std::array<SizeClass, kClasses> classes{};
  for (unsigned i = 0; i < kClasses; ++i) classes[i] = make_class(i);
  return classes;
}();

// Coarser steps for larger blocks make equal sizes of nearly equal requests, at 1/64 of their size at most.
constexpr size_t round_large(size_t size) {
  size_t step = std::bit_floor(size) / 64;
  if (step < kGranule) step = kGranule;
  if (step > kChunk) step = kChunk;
  return round_up(size, step);
}

constexpr bool classes_are_sound() {
  for (unsigned i = 0; i < kClasses; ++i) {
    const SizeClass& c = kSizeClasses[i];
    if (c.block % kAlignment || class_of(c.block) != i || size_t{c.count} * c.block > c.span) return false;
    if (i > 0 && class_of(kSizeClasses[i - 1].block + 1) != i) return false;
    for (size_t k = 0; k < c.count; ++k) {
      if ((k * c.block * c.reciprocal >> 40) != k) return false;
      if (((k + 1) * c.block - 1) * c.reciprocal >> 40 != k) return false;
    }
  }
  return true;
}
static_assert(classes_are_sound());

}  // namespace infinirt::caching
