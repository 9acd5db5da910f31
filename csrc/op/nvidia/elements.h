// How elements lie in memory and get from there to where they are computed, for kernels that NVIDIA's compiler reads as text.
#pragma once

namespace infiniop {

// Element types that are not computed in.
struct Float8 {
  uint8_t bits;
};
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
// Elements of 16 bytes, which are only copied; complex numbers may lie at multiples of 8.
struct Bytes16 {
  uint64_t low, high;
};

template <class T>
__device__ __forceinline__ T widen(T value) {
  return value;
}
__device__ __forceinline__ float widen(BFloat16 value) { return from_bfloat16(value.bits); }
__device__ __forceinline__ float widen(Float8 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  const uint16_t two = value.bits;  // it converts two at a time
  float result;
  asm("{\n.reg .b32 halves;\n.reg .b16 low, high;\ncvt.rn.f16x2.e4m3x2 halves, %1;\nmov.b32 {low, high}, halves;\n"
      "cvt.f32.f16 %0, low;\n}"
      : "=f"(result)
      : "h"(two));
  return result;
#else
  return from_float8(value.bits);
#endif
}
__device__ __forceinline__ float widen(Float16 value) {
#ifdef __CUDA_ARCH__
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#else
  return from_float16(value.bits);
#endif
}

template <class S>
struct Narrow {
  template <class T>
  static __device__ __forceinline__ S of(T value) {
    return static_cast<S>(value);
  }
};
template <>
struct Narrow<Bytes16> {
  static __device__ __forceinline__ Bytes16 of(Bytes16 value) { return value; }
};
template <>
struct Narrow<Float8> {
  static __device__ __forceinline__ Float8 of(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t two;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(value));
    // It gives the largest number where there is none to round to, which is what is not a number here.
    const uint32_t sign = __float_as_uint(value) >> 24 & 0x80u;
    return {static_cast<uint8_t>(fabsf(value) <= 464.0f ? two : sign | 0x7Fu)};
#else
    return {to_float8(value)};
#endif
  }
};
template <>
struct Narrow<Float16> {
  static __device__ __forceinline__ Float16 of(float value) {
#ifdef __CUDA_ARCH__
    Float16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
#else
    return {to_float16(value)};
#endif
  }
};
template <>
struct Narrow<BFloat16> {
  static __device__ __forceinline__ BFloat16 of(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    BFloat16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
#else
    return {to_bfloat16(value)};
#endif
  }
};

enum class Lie {
  SideBySide,  // the elements of an item follow one another
  Repeated,  // an item has one element
  Scalar,  // all items have the same one: it stays in a register
};

constexpr int kThreads = 256;

template <class S, int Width>
struct alignas(Width == 1 ? alignof(S) : Width * sizeof(S)) Pack {
  S at[Width];
};

// What one item needs of an input.
template <class S, int Width, Lie How>
struct Input {
  static constexpr int kCount = How == Lie::SideBySide ? Width : 1;
  Pack<S, kCount> pack;

  __device__ __forceinline__ void load(const char* address) {
    pack = *reinterpret_cast<const Pack<S, kCount>*>(address);
  }
  __device__ __forceinline__ auto operator[](int i) const { return widen(pack.at[kCount == 1 ? 0 : i]); }
};

// Of each operand, from its address to an item's.
template <class Offset, int Operands>
struct OffsetsOf {
  static constexpr int kOperands = Operands;
  using Type = Offset;
  Offset at[Operands];
};

template <class Index, class Args>
__device__ __forceinline__ Index quotient_of(const Args& args, Index number, int level) {
  if constexpr (sizeof(Index) == 4) {
    return (__umulhi(number, args.magic[level]) + number) >> args.shift[level];
  } else {
    return number / static_cast<Index>(args.size[level]);
  }
}

template <int Levels, class Index, class Offsets, class Args>
__device__ __forceinline__ Offsets locate(const Args& args, Index item) {
  using Offset = typename Offsets::Type;
  Offsets offsets{};
#pragma unroll
  for (int level = 0; level < Levels; ++level) {
    const Index quotient = level + 1 < Levels ? quotient_of<Index>(args, item, level) : 0;
    const Index rest = item - quotient * static_cast<Index>(args.size[level]);
#pragma unroll
    for (int t = 0; t < Offsets::kOperands; ++t) {
      offsets.at[t] += static_cast<Offset>(rest) * static_cast<Offset>(args.stride[t][level]);
    }
    item = quotient;
  }
  return offsets;
}

}  // namespace infiniop
