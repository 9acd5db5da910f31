// Elements for written operators on the CPU: their types by number, and the way to the type that is computed in and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "infinicore.h"
#include "op/narrow.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

struct Float8 {
  uint8_t bits;
};
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

inline float widen(Float8 x) { return from_float8(x.bits); }
inline float widen(Float16 x) { return from_float16(x.bits); }
inline float widen(BFloat16 x) { return from_bfloat16(x.bits); }
template <class T>
T widen(T x) {
  return x;
}

template <class T, class C>
T narrow(C x) {
  if constexpr (__is_same(T, Float8)) {
    return {to_float8(x)};
  } else if constexpr (__is_same(T, Float16)) {
    return {to_float16(x)};
  } else if constexpr (__is_same(T, BFloat16)) {
    return {to_bfloat16(x)};
  } else {
    return static_cast<T>(x);
  }
}

// The type that elements of type T are computed in.
template <class T>
using Wide = decltype(widen(T{}));

template <class C>
inline C multiply_add(C a, C b, C c) {
#ifdef __FMA__
  if constexpr (sizeof(C) == 4) return __builtin_fmaf(a, b, c);
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

template <class T>
struct TypeTag {
  using type = T;
};

constexpr size_t element_size(int dtype) {
  switch (dtype) {
    case INFINI_DTYPE_I16:
    case INFINI_DTYPE_U16:
    case INFINI_DTYPE_F16:
    case INFINI_DTYPE_BF16:
    case INFINI_DTYPE_C16:
      return 2;
    case INFINI_DTYPE_I32:
    case INFINI_DTYPE_U32:
    case INFINI_DTYPE_F32:
    case INFINI_DTYPE_C32:
      return 4;
    case INFINI_DTYPE_I64:
    case INFINI_DTYPE_U64:
    case INFINI_DTYPE_F64:
    case INFINI_DTYPE_C64:
      return 8;
    case INFINI_DTYPE_C128:
      return 16;
    default:
      return 1;
  }
}

// Calls `function` with TypeTag<T>: decltype(tag)::type is the element type.
template <class Function>
auto with_float_type(int dtype, Function function) {
  switch (dtype) {
    case INFINI_DTYPE_F16:
      return function(TypeTag<Float16>{});
    case INFINI_DTYPE_BF16:
      return function(TypeTag<BFloat16>{});
    case INFINI_DTYPE_F64:
      return function(TypeTag<double>{});
    default:
      return function(TypeTag<float>{});
  }
}

// Of elements that are only moved: a type of the same size.
template <class Function>
auto with_size(size_t size, Function function) {
  struct Bytes16 {
    uint64_t low, high;
  };
  switch (size) {
    case 1:
      return function(TypeTag<uint8_t>{});
    case 2:
      return function(TypeTag<uint16_t>{});
    case 4:
      return function(TypeTag<uint32_t>{});
    case 8:
      return function(TypeTag<uint64_t>{});
    default:
      return function(TypeTag<Bytes16>{});
  }
}

// Rows that are copied and worth a block (Split::fewest). Side by side, a row goes at the speed of memory.
inline int64_t copied_rows_worth(int64_t columns, int dtype, bool side_by_side) {
  const int64_t row = std::max<int64_t>(1, columns), bytes = row * static_cast<int64_t>(element_size(dtype));
  return std::max<int64_t>(1, side_by_side && bytes >= 256 ? (int64_t{256} << 10) / bytes : 16384 / row);
}

// Of an integer of any type.
inline int64_t integer_at(const void* address, int dtype, int64_t index) {
  switch (dtype) {
    case INFINI_DTYPE_I8:
      return static_cast<const int8_t*>(address)[index];
    case INFINI_DTYPE_I16:
      return static_cast<const int16_t*>(address)[index];
    case INFINI_DTYPE_I32:
      return static_cast<const int32_t*>(address)[index];
    case INFINI_DTYPE_U8:
      return static_cast<const uint8_t*>(address)[index];
    case INFINI_DTYPE_U16:
      return static_cast<const uint16_t*>(address)[index];
    case INFINI_DTYPE_U32:
      return static_cast<const uint32_t*>(address)[index];
    default:
      return static_cast<const int64_t*>(address)[index];
  }
}

}  // namespace
}  // namespace infiniop::cpu
