// Compiled once for each instruction set, as INFINICCL_LEVEL. No inline function of the standard library is used here: the linker
// could take the copy of one level for all.
#include "ccl/loops/loops.h"

#include <cstdint>

#include "op/narrow.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace infiniccl {
namespace {

// As many elements at a time as stay in the first-level cache beside those they are combined with.
constexpr size_t kTile = 1024;

// ---- types: what is stored, what is computed in

template <class T>
struct Plain {
  using Stored = T;
  using Computed = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};

struct Half {
  using Stored = uint16_t;
  using Computed = float;
  static float load(uint16_t bits) { return infiniop::from_float16(bits); }
  static uint16_t store(float value) { return infiniop::to_float16(value); }
};

struct BFloat {
  using Stored = uint16_t;
  using Computed = float;
  static float load(uint16_t bits) { return infiniop::from_bfloat16(bits); }
  static uint16_t store(float value) { return infiniop::to_bfloat16(value); }
};

struct Float8 {
  using Stored = uint8_t;
  using Computed = float;
  static float load(uint8_t bits) { return infiniop::from_float8(bits); }
  static uint8_t store(float value) { return infiniop::to_float8(value); }
};

struct Truth {
  using Stored = uint8_t;
  using Computed = uint8_t;
  static uint8_t load(uint8_t value) { return value != 0; }
  static uint8_t store(uint8_t value) { return value; }
};

template <class Part>
struct Complex {
  struct Stored {
    typename Part::Stored real, imaginary;
  };
  struct Computed {
    typename Part::Computed real, imaginary;
  };
  static Computed load(Stored value) { return {Part::load(value.real), Part::load(value.imaginary)}; }
  static Stored store(Computed value) { return {Part::store(value.real), Part::store(value.imaginary)}; }
};

// ---- reductions

template <class T>
T plus(T a, T b) {
  return static_cast<T>(a + b);
}
template <class T>
T times(T a, T b) {
  return static_cast<T>(a * b);
}
// Of numbers that are not any, the result is one, too.
template <class T>
T larger(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}
template <class T>
T smaller(T a, T b) {
  return (a < b) | (a != a) ? a : b;
}
inline uint8_t either(uint8_t a, uint8_t b) { return a | b; }
inline uint8_t both(uint8_t a, uint8_t b) { return a & b; }

template <class C>
C complex_plus(C a, C b) {
  return {a.real + b.real, a.imaginary + b.imaginary};
}
template <class C>
C complex_times(C a, C b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

template <class T>
T same(T value, int) {
  return value;
}
template <class T>
T divided(T value, int ranks) {
  return static_cast<T>(value / static_cast<T>(ranks));
}
inline int8_t divided_small(int8_t value, int ranks) { return static_cast<int8_t>(value / ranks); }
inline uint8_t divided_small(uint8_t value, int ranks) { return static_cast<uint8_t>(value / ranks); }
template <class T>
T divided_integer(T value, int ranks) {
  if constexpr (sizeof(T) == 1) return divided_small(value, ranks);
  if constexpr (sizeof(T) > 1) return static_cast<T>(value / static_cast<T>(ranks));
}
template <class C>
C complex_divided(C value, int ranks) {
  return {value.real / static_cast<decltype(value.real)>(ranks),
          value.imaginary / static_cast<decltype(value.imaginary)>(ranks)};
}

void copy_bytes(void* out, const void* in, size_t bytes) { __builtin_memcpy(out, in, bytes); }

void copy_past_cache(void* out, const void* in, size_t bytes) {
#if defined(__SSE2__)
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(in);
  const size_t head = (16 - reinterpret_cast<uintptr_t>(to) % 16) % 16;
  if (bytes < head + 64) return copy_bytes(out, in, bytes);
  copy_bytes(to, from, head);
  size_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 16));
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 32));
    const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 48));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), a);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + 16), b);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + 32), c);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + 48), d);
  }
  copy_bytes(to + at, from + at, bytes - at);
  _mm_sfence();
#else
  copy_bytes(out, in, bytes);
#endif
}

template <class Type, auto Combine, auto Finish>
void reduce(const void* const* in, int inputs, void* const* out, int outputs, size_t count, bool past_cache) {
  using Stored = typename Type::Stored;
  using Computed = typename Type::Computed;
  constexpr bool kSame = __is_same(Stored, Computed);
  alignas(64) Computed sum[kTile];
  alignas(64) Stored rounded[kSame ? 1 : kTile];
  for (size_t begin = 0; begin < count; begin += kTile) {
    const size_t n = count - begin < kTile ? count - begin : kTile;
    const auto* first = static_cast<const Stored*>(in[0]) + begin;
    if (inputs == 1) {
#pragma GCC ivdep
      for (size_t i = 0; i < n; ++i) sum[i] = Type::load(first[i]);
    } else {
      const auto* second = static_cast<const Stored*>(in[1]) + begin;
#pragma GCC ivdep
      for (size_t i = 0; i < n; ++i) sum[i] = Combine(Type::load(first[i]), Type::load(second[i]));
    }
    for (int k = 2; k < inputs; ++k) {
      const auto* next = static_cast<const Stored*>(in[k]) + begin;
#pragma GCC ivdep
      for (size_t i = 0; i < n; ++i) sum[i] = Combine(sum[i], Type::load(next[i]));
    }
    const void* result = sum;
    if constexpr (kSame) {
#pragma GCC ivdep
      for (size_t i = 0; i < n; ++i) sum[i] = Finish(sum[i], inputs);
    } else {
#pragma GCC ivdep
      for (size_t i = 0; i < n; ++i) rounded[i] = Type::store(Finish(sum[i], inputs));
      result = rounded;
    }
    for (int j = 0; j < outputs; ++j) {
      auto* target = static_cast<Stored*>(out[j]) + begin;
      if (past_cache && target != first) {
        copy_past_cache(target, result, n * sizeof(Stored));
      } else {
        copy_bytes(target, result, n * sizeof(Stored));
      }
    }
  }
}

}  // namespace

namespace loops {

#define FLOATS(type)                                            \
  {reduce<type, plus<type::Computed>, same<type::Computed>>,    \
   reduce<type, times<type::Computed>, same<type::Computed>>,   \
   reduce<type, larger<type::Computed>, same<type::Computed>>,  \
   reduce<type, smaller<type::Computed>, same<type::Computed>>, \
   reduce<type, plus<type::Computed>, divided<type::Computed>>}
#define INTEGERS(type)                                                                            \
  {reduce<Plain<type>, plus<type>, same<type>>, reduce<Plain<type>, times<type>, same<type>>,     \
   reduce<Plain<type>, larger<type>, same<type>>, reduce<Plain<type>, smaller<type>, same<type>>, \
   reduce<Plain<type>, plus<type>, divided_integer<type>>}
#define COMPLEX(part)                                                                                              \
  {reduce<Complex<part>, complex_plus<Complex<part>::Computed>, same<Complex<part>::Computed>>,                    \
   reduce<Complex<part>, complex_times<Complex<part>::Computed>, same<Complex<part>::Computed>>, nullptr, nullptr, \
   reduce<Complex<part>, complex_plus<Complex<part>::Computed>, complex_divided<Complex<part>::Computed>>}

#define TABLE_NAME_(level) table_##level
#define TABLE_NAME(level) TABLE_NAME_(level)

const Table TABLE_NAME(INFINICCL_LEVEL) = {
    {
        {},  // INVALID
        INTEGERS(uint8_t),
        {reduce<Truth, either, same<uint8_t>>, reduce<Truth, both, same<uint8_t>>, reduce<Truth, either, same<uint8_t>>,
         reduce<Truth, both, same<uint8_t>>, nullptr},
        INTEGERS(int8_t),
        INTEGERS(int16_t),
        INTEGERS(int32_t),
        INTEGERS(int64_t),
        INTEGERS(uint8_t),
        INTEGERS(uint16_t),
        INTEGERS(uint32_t),
        INTEGERS(uint64_t),
        FLOATS(Float8),
        FLOATS(Half),
        FLOATS(Plain<float>),
        FLOATS(Plain<double>),
        COMPLEX(Float8),
        COMPLEX(Half),
        COMPLEX(Plain<float>),
        COMPLEX(Plain<double>),
        FLOATS(BFloat),
    },
    copy_past_cache,
};

}  // namespace loops
}  // namespace infiniccl
