// Elements in order, on the CPU: each becomes an unsigned number, its key, and is compared as that. Equal elements have one key (both
// zeros, too), and what is not a number has the largest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "op/cpu/buffer.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

enum class Order {
  Ascending,
  Descending,
  AscendingAfterNan,  // what is not a number comes first, then the smallest
};

// Of a floating-point number of `Bits` bits with all numbers up to `infinite`.
template <int Bits, class Key>
inline Key float_key(Key bits, Key infinite) {
  constexpr Key kSign = Key(1) << (Bits - 1), kAll = kSign | (kSign - 1);
  const Key magnitude = bits & (kSign - 1);
  const Key negative = magnitude == 0 ? kSign : kAll ^ bits;
  const Key ordered = bits & kSign ? negative : bits | kSign;
  return magnitude > infinite ? kAll : ordered;
}

inline uint32_t key_of(Float8 x) { return float_key<8, uint32_t>(x.bits, 0x7E); }
inline uint32_t key_of(Float16 x) { return float_key<16, uint32_t>(x.bits, 0x7C00); }
inline uint32_t key_of(BFloat16 x) { return float_key<16, uint32_t>(x.bits, 0x7F80); }
inline uint32_t key_of(float x) { return float_key<32, uint32_t>(bits_of(x), 0x7F800000u); }
inline uint64_t key_of(double x) {
  return float_key<64, uint64_t>(__builtin_bit_cast(uint64_t, x), 0x7FF0000000000000u);
}
inline uint32_t key_of(uint8_t x) { return x; }
inline uint32_t key_of(uint16_t x) { return x; }
inline uint32_t key_of(uint32_t x) { return x; }
inline uint64_t key_of(uint64_t x) { return x; }
inline uint32_t key_of(int8_t x) { return static_cast<uint8_t>(x) ^ 0x80u; }
inline uint32_t key_of(int16_t x) { return static_cast<uint16_t>(x) ^ 0x8000u; }
inline uint32_t key_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
inline uint64_t key_of(int64_t x) { return static_cast<uint64_t>(x) ^ 0x8000000000000000u; }

template <class T>
using KeyOf = decltype(key_of(T{}));

template <class T>
constexpr bool kIsFloat = __is_same(T, Float8) || __is_same(T, Float16) || __is_same(T, BFloat16) ||
                          __is_same(T, float) || __is_same(T, double);

template <class T>
constexpr KeyOf<T> kAllBits = static_cast<KeyOf<T>>(~KeyOf<T>{0}) >> (8 * (sizeof(KeyOf<T>) - sizeof(T)));

// So that the smaller key comes first.
template <Order How, class T>
inline KeyOf<T> ordered_key(T x) {
  const KeyOf<T> key = key_of(x);
  if constexpr (How == Order::Ascending) return key;
  if constexpr (How == Order::Descending) return key ^ kAllBits<T>;
  if constexpr (kIsFloat<T>) return key == kAllBits<T> ? 0 : key;
  return key;
}

// Calls `function` with TypeTag<T> of any real type.
template <class Function>
auto with_real_type(int dtype, Function function) {
  switch (dtype) {
    case INFINI_DTYPE_F8:
      return function(TypeTag<Float8>{});
    case INFINI_DTYPE_F16:
      return function(TypeTag<Float16>{});
    case INFINI_DTYPE_BF16:
      return function(TypeTag<BFloat16>{});
    case INFINI_DTYPE_F32:
      return function(TypeTag<float>{});
    case INFINI_DTYPE_F64:
      return function(TypeTag<double>{});
    case INFINI_DTYPE_I8:
      return function(TypeTag<int8_t>{});
    case INFINI_DTYPE_I16:
      return function(TypeTag<int16_t>{});
    case INFINI_DTYPE_I32:
      return function(TypeTag<int32_t>{});
    case INFINI_DTYPE_I64:
      return function(TypeTag<int64_t>{});
    case INFINI_DTYPE_U16:
      return function(TypeTag<uint16_t>{});
    case INFINI_DTYPE_U32:
      return function(TypeTag<uint32_t>{});
    case INFINI_DTYPE_U64:
      return function(TypeTag<uint64_t>{});
    default:
      return function(TypeTag<uint8_t>{});  // and BOOL
  }
}

// The keys of a row's elements; fewer types than elements have, so that what is done with them is compiled twice only.
struct KeyRow {
  const char* address;
  int64_t step;  // in elements
  int dtype;
  bool descending;

  bool is_wide() const { return element_size(dtype) == 8; }
  int bits() const { return 8 * static_cast<int>(element_size(dtype)); }

  template <class Key>
  void read(int64_t first, int64_t count, Key* keys) const {
    with_real_type(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (__is_same(KeyOf<T>, Key)) {
        const T* from = reinterpret_cast<const T*>(address) + first * step;
        const Key flip = descending ? kAllBits<T> : Key{0};
        if (step == 1) {
          for (int64_t i = 0; i < count; ++i) keys[i] = key_of(from[i]) ^ flip;
        } else {
          for (int64_t i = 0; i < count; ++i) keys[i] = key_of(from[i * step]) ^ flip;
        }
      }
    });
  }
};

// A key and where its element is: all are different, and of equal elements the first is the smallest.
struct Ranked32 {
  using Key = uint32_t;
  uint64_t word;

  static Ranked32 of(uint32_t key, uint32_t index) { return {uint64_t{key} << 32 | index}; }
  uint32_t key() const { return static_cast<uint32_t>(word >> 32); }
  uint32_t index() const { return static_cast<uint32_t>(word); }
  bool operator<(Ranked32 other) const { return word < other.word; }
};
struct Ranked64 {
  using Key = uint64_t;
  uint64_t word;
  uint32_t place;

  static Ranked64 of(uint64_t key, uint32_t index) { return {key, index}; }
  uint64_t key() const { return word; }
  uint32_t index() const { return place; }
  bool operator<(Ranked64 other) const { return word != other.word ? word < other.word : place < other.place; }
};

template <class Ranked>
void swap_ranked(Ranked* a, Ranked* b) {
  const Ranked kept = *a;
  *a = *b;
  *b = kept;
}

template <class Ranked>
void sort_few(Ranked* ranked, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const Ranked moved = ranked[i];
    int64_t at = i;
    for (; at > 0 && moved < ranked[at - 1]; --at) ranked[at] = ranked[at - 1];
    ranked[at] = moved;
  }
}

// The `wanted` smallest come first, in any order.
template <class Ranked>
void select(Ranked* ranked, int64_t count, int64_t wanted) {
  int64_t first = 0, last = count;
  while (last - first > 16 && wanted > first && wanted < last) {
    Ranked *low = ranked + first, *middle = ranked + (first + last) / 2, *high = ranked + last - 1;
    if (*middle < *low) swap_ranked(middle, low);
    if (*high < *low) swap_ranked(high, low);
    if (*high < *middle) swap_ranked(high, middle);
    const Ranked pivot = *middle;
    int64_t i = first, j = last - 1;
    while (i <= j) {
      while (ranked[i] < pivot) ++i;
      while (pivot < ranked[j]) --j;
      if (i <= j) swap_ranked(ranked + i++, ranked + j--);
    }
    if (wanted <= j + 1) {
      last = j + 1;
    } else if (wanted > i) {
      first = i;
    } else {
      return;
    }
  }
  if (last - first <= 16) sort_few(ranked + first, last - first);
}

inline constexpr int64_t kFewRanked = 40;

// Digits of 8 or 11 bits, from the lowest. Which of the two arrays has the result; the other is needed on the way. Elements are in the
// order of their indices before.
template <class Ranked>
Ranked* sort_ranked(Ranked* ranked, Ranked* other, int64_t count, int bits) {
  if (count <= kFewRanked) {
    sort_few(ranked, count);
    return ranked;
  }
  constexpr int kMostDigits = 8;
  const int width = count < 1500 || bits == 8 || bits == 16 ? 8 : 11;
  const int digits = (bits + width - 1) / width;
  const uint32_t mask = (1u << width) - 1;
  uint32_t counts[kMostDigits][2048];
  for (int d = 0; d < digits; ++d) std::memset(counts[d], 0, sizeof(uint32_t) << width);
  for (int64_t i = 0; i < count; ++i) {
    const auto key = ranked[i].key();
    for (int d = 0; d < digits; ++d) ++counts[d][static_cast<uint32_t>(key >> (d * width)) & mask];
  }
  for (int d = 0; d < digits; ++d) {
    const int shift = d * width;
    if (counts[d][static_cast<uint32_t>(ranked[0].key() >> shift) & mask] == count) continue;
    uint32_t before = 0;
    for (uint32_t value = 0; value <= mask; ++value) {
      const uint32_t here = counts[d][value];
      counts[d][value] = before;
      before += here;
    }
    for (int64_t i = 0; i < count; ++i) {
      const Ranked moved = ranked[i];
      other[counts[d][static_cast<uint32_t>(moved.key() >> shift) & mask]++] = moved;
    }
    Ranked* const next = other;
    other = ranked;
    ranked = next;
  }
  return ranked;
}

template <class Row, class Ranked>
void read_ranked(const Row& row, int64_t count, Ranked* ranked) {
  constexpr int64_t kChunk = 1024;
  typename Ranked::Key keys[kChunk];
  for (int64_t first = 0; first < count; first += kChunk) {
    const int64_t here = std::min(kChunk, count - first);
    row.read(first, here, keys);
    for (int64_t i = 0; i < here; ++i) ranked[first + i] = Ranked::of(keys[i], static_cast<uint32_t>(first + i));
  }
}

template <class Ranked>
Ranked* sort_selected(Ranked* ranked, Ranked* other, int64_t count, int bits);

// The `wanted` smallest of a row, in order; at one of the arrays, which have room for four times `wanted`, or all of the row, and 256 more.
// Most elements are only compared with the largest that is kept so far. `Row` is a KeyRow, or reads keys as one does.
template <class Row, class Ranked>
Ranked* smallest_of(const Row& row, int64_t count, int64_t wanted, Ranked* ranked, Ranked* other) {
  using Key = typename Ranked::Key;
  if (wanted * 4 >= count) {
    read_ranked(row, count, ranked);
    if (wanted < count && count > 64) {
      select(ranked, count, wanted);
      // Digits keep the order of what is equal in them: it has to be that of the indices.
      return sort_selected(ranked, other, wanted, row.bits());
    }
    return sort_ranked(ranked, other, count, row.bits());
  }
  constexpr int64_t kChunk = 1024, kGroup = 32;
  Key keys[kChunk];
  const int64_t room = 2 * wanted + 64;
  int64_t kept = 0;
  Key limit = 0;
  bool has_limit = false;
  for (int64_t first = 0; first < count; first += kChunk) {
    const int64_t here = std::min(kChunk, count - first);
    row.read(first, here, keys);
    for (int64_t group = 0; group < here; group += kGroup) {
      const int64_t end = std::min(group + kGroup, here);
      if (has_limit && end - group == kGroup) {
        int below = 0;
        for (int64_t i = 0; i < kGroup; ++i) below |= keys[group + i] < limit;
        if (!below) continue;
      }
      for (int64_t i = group; i < end; ++i) {
        if (has_limit && !(keys[i] < limit)) continue;
        ranked[kept++] = Ranked::of(keys[i], static_cast<uint32_t>(first + i));
      }
      if (kept >= room) {
        select(ranked, kept, wanted);
        kept = wanted;
        limit = 0;
        for (int64_t i = 0; i < kept; ++i) limit = std::max(limit, ranked[i].key());
        has_limit = true;
      }
    }
  }
  select(ranked, kept, wanted);
  return sort_selected(ranked, other, wanted, row.bits());
}

// Of elements in any order: few by comparing, many by their indices first.
template <class Ranked>
Ranked* sort_selected(Ranked* ranked, Ranked* other, int64_t count, int bits) {
  if (count <= kFewRanked) {
    sort_few(ranked, count);
    return ranked;
  }
  if (count <= 2048) {  // halves are merged, from the smallest on
    for (int64_t i = 0; i < count; i += 16) sort_few(ranked + i, std::min<int64_t>(16, count - i));
    for (int64_t run = 16; run < count; run *= 2) {
      for (int64_t start = 0; start < count; start += 2 * run) {
        const int64_t middle = std::min(start + run, count), end = std::min(start + 2 * run, count);
        int64_t a = start, b = middle;
        for (int64_t to = start; to < end; ++to) {
          other[to] = b >= end || (a < middle && ranked[a] < ranked[b]) ? ranked[a++] : ranked[b++];
        }
      }
      Ranked* const next = other;
      other = ranked;
      ranked = next;
    }
    return ranked;
  }
  // By index: its digits are the lowest.
  uint32_t counts[2048];
  for (int shift = 0; shift < 32; shift += 11) {
    std::memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < count; ++i) ++counts[ranked[i].index() >> shift & 2047];
    uint32_t before = 0;
    for (uint32_t& each : counts) {
      const uint32_t here = each;
      each = before;
      before += here;
    }
    for (int64_t i = 0; i < count; ++i) other[counts[ranked[i].index() >> shift & 2047]++] = ranked[i];
    Ranked* const next = other;
    other = ranked;
    ranked = next;
  }
  return sort_ranked(ranked, other, count, bits);
}

// Calls `function` with TypeTag<Ranked32> or TypeTag<Ranked64>.
template <class Function>
auto with_ranked(const KeyRow& row, Function function) {
  return row.is_wide() ? function(TypeTag<Ranked64>{}) : function(TypeTag<Ranked32>{});
}

// Two arrays of so many elements each, in the worker's memory; null: there is none.
template <class Ranked>
Ranked* ranked_memory(int64_t count) {
  return reinterpret_cast<Ranked*>(worker_buffer(static_cast<size_t>(2 * count) * sizeof(Ranked)));
}

// Rows of a tensor along the dimension that an attribute names.
inline int64_t row_offset(const TensorView& view, const WrittenPlan& plan, int64_t item) {
  return offset_of_rest(view, item / plan.after) + offset_of_after(view, item % plan.after);
}

inline int64_t rows_worth(int64_t elements, int64_t per_row) {
  return std::max<int64_t>(1, elements / std::max<int64_t>(1, per_row));
}

inline void write_index(void* address, int dtype, int64_t offset, int64_t index) {
  if (dtype == INFINI_DTYPE_I32) {
    static_cast<int32_t*>(address)[offset] = static_cast<int32_t>(index);
  } else {
    static_cast<int64_t*>(address)[offset] = index;
  }
}

// Elements of a row and their indices to where they belong, from the first on.
template <class Ranked>
void write_ranked(const WrittenCall& call, int values, int indices, int64_t item, const char* row, int64_t step,
                  const Ranked* ranked, int64_t count) {
  const WrittenPlan& plan = call.plan;
  const TensorView &to = plan.tensor[values], &places = plan.tensor[indices];
  const int64_t value_step = to.stride[plan.dim], index_step = places.stride[plan.dim];
  const int64_t place = row_offset(places, plan, item);
  with_size(element_size(to.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = call.at<T>(values) + row_offset(to, plan, item);
    const T* from = reinterpret_cast<const T*>(row);
    for (int64_t i = 0; i < count; ++i) out[i * value_step] = from[static_cast<int64_t>(ranked[i].index()) * step];
  });
  for (int64_t i = 0; i < count; ++i) {
    write_index(call.address[indices], places.dtype, place + i * index_step, ranked[i].index());
  }
}

inline KeyRow row_of(const WrittenCall& call, int tensor, int64_t item, bool descending) {
  const WrittenPlan& plan = call.plan;
  const TensorView& view = plan.tensor[tensor];
  const auto size = static_cast<int64_t>(element_size(view.dtype));
  const char* address = static_cast<const char*>(call.address[tensor]) + row_offset(view, plan, item) * size;
  return {address, view.stride[plan.dim], view.dtype, descending};
}

}  // namespace
}  // namespace infiniop::cpu
