// Compiled once for each instruction set, each time in a namespace of its own, INFINIOP_LEVEL, with products and sums contracted: how
// exact a matrix product is depends on who computes it in any case.
#include "op/cpu/few_rows.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "op/cpu/buffer.h"
#include "op/narrow.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

constexpr int kLanes = 16;
using Vector [[gnu::vector_size(64)]] = float;  // compilers split it as the machine needs

// An element type: vectors and single elements of it, as float. Vectors go through references, which every instruction set agrees on.
struct Single {
  using Element = float;
  static void take(const Element* from, Vector& to) { __builtin_memcpy(&to, from, sizeof to); }
  static float widen(Element x) { return x; }
  static Element narrow(float x) { return x; }
};

struct Brain {
  using Element = uint16_t;
  static void take(const Element* from, Vector& to) {
    using Narrow [[gnu::vector_size(32)]] = uint16_t;
    using Wide [[gnu::vector_size(64)]] = uint32_t;
    Narrow bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    const Wide wide = __builtin_convertvector(bits, Wide) << 16;
    __builtin_memcpy(&to, &wide, sizeof to);
  }
  static float widen(Element x) { return from_bfloat16(x); }
  static Element narrow(float x) { return to_bfloat16(x); }
};

struct Half {
  using Element = uint16_t;
  static void take(const Element* from, Vector& to) {
#if defined(__AVX512F__)  // with a mask: of the form without one gcc warns that something is not initialised
    __m256i bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    const __m512 wide = _mm512_maskz_cvtph_ps(0xFFFF, bits);
    __builtin_memcpy(&to, &wide, sizeof to);
#elif defined(__F16C__)
    __m128i bits[2];
    __builtin_memcpy(bits, from, sizeof bits);
    const __m256 wide[] = {_mm256_cvtph_ps(bits[0]), _mm256_cvtph_ps(bits[1])};
    __builtin_memcpy(&to, wide, sizeof to);
#else
    for (int i = 0; i < kLanes; ++i) to[i] = from_float16(from[i]);
#endif
  }
  static float widen(Element x) { return from_float16(x); }
  static Element narrow(float x) { return to_float16(x); }
};

float sum_of(const Vector& lanes) {
  float held[kLanes];
  __builtin_memcpy(held, &lanes, sizeof held);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) held[i] += held[i + width];
  }
  return held[0];
}

// Some rows of `a`, as float without gaps, times some rows of b.
template <class Type, int Rows, int Columns>
void multiply_some(const FewRows& p, const float* a, int64_t column) {
  using Element = typename Type::Element;
  const Element* b = static_cast<const Element*>(p.b) + column * p.b_row;
  Vector held[Rows][Columns] = {};
  int64_t i = 0;
  for (; i + kLanes <= p.depth; i += kLanes) {
    Vector line[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) __builtin_memcpy(&line[r], a + r * p.depth + i, sizeof line[r]);
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
      Vector weights;
      Type::take(b + j * p.b_row + i, weights);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) held[r][j] += line[r] * weights;
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < Columns; ++j) {
      float sum = sum_of(held[r][j]);
      for (int64_t rest = i; rest < p.depth; ++rest) sum += a[r * p.depth + rest] * Type::widen(b[j * p.b_row + rest]);
      Element* c = static_cast<Element*>(p.c) + r * p.c_row + (column + j) * p.c_column;
      sum *= p.alpha;
      if (p.beta != 0) sum += p.beta * Type::widen(*c);
      *c = Type::narrow(sum);
    }
  }
}

// As many rows of b at a time as keep enough sums in registers to hide how long one takes.
template <class Type, int Rows>
void multiply_rows(const FewRows& p, const float* a) {
  constexpr int kColumns = Rows == 1 ? 8 : Rows <= 4 ? 4 : 2;
  int64_t column = 0;
  for (; column + kColumns <= p.columns; column += kColumns) multiply_some<Type, Rows, kColumns>(p, a, column);
  for (; column < p.columns; ++column) multiply_some<Type, Rows, 1>(p, a, column);
}

template <class Type>
bool multiply(const FewRows& p) {
  auto* a = reinterpret_cast<float*>(worker_buffer(sizeof(float) * static_cast<size_t>(p.rows * p.depth)));
  if (!a) return false;
  const auto* from = static_cast<const typename Type::Element*>(p.a);
  for (int64_t r = 0; r < p.rows; ++r) {
    int64_t i = 0;
    for (; i + kLanes <= p.depth; i += kLanes) {
      Vector taken;
      Type::take(from + r * p.a_row + i, taken);
      __builtin_memcpy(a + r * p.depth + i, &taken, sizeof taken);
    }
    for (; i < p.depth; ++i) a[r * p.depth + i] = Type::widen(from[r * p.a_row + i]);
  }
  switch (p.rows) {
    case 1:
      multiply_rows<Type, 1>(p, a);
      break;
    case 2:
      multiply_rows<Type, 2>(p, a);
      break;
    case 3:
      multiply_rows<Type, 3>(p, a);
      break;
    case 4:
      multiply_rows<Type, 4>(p, a);
      break;
    case 5:
      multiply_rows<Type, 5>(p, a);
      break;
    case 6:
      multiply_rows<Type, 6>(p, a);
      break;
    case 7:
      multiply_rows<Type, 7>(p, a);
      break;
    default:
      multiply_rows<Type, 8>(p, a);
  }
  return true;
}

}  // namespace

extern const MultiplyFewRows multiply_few_rows;
const MultiplyFewRows multiply_few_rows = [](const FewRows& p) {
  if (p.dtype == INFINI_DTYPE_F32) return multiply<Single>(p);
  return p.dtype == INFINI_DTYPE_BF16 ? multiply<Brain>(p) : multiply<Half>(p);
};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
