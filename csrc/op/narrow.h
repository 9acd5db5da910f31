// The narrow floating-point types, to and from float: branch-free, so that compilers turn loops of them into vectors.
// Rounding is to nearest, ties to even. No function of the standard library is used: these are compiled for several instruction
// sets, and the linker must not mix a shared copy of one into code that has to run everywhere.
#pragma once

#include <cstdint>

namespace infiniop {
namespace {  // NOLINT: one copy for each instruction set, see above

#ifdef __CUDACC__
inline uint32_t bits_of(float value) { return __float_as_uint(value); }
inline float float_of(uint32_t bits) { return __uint_as_float(bits); }
#else
inline uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }
inline float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
#endif

inline float from_bfloat16(uint16_t bits) { return float_of(uint32_t{bits} << 16); }

inline uint16_t to_bfloat16(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>(value != value ? (bits >> 16) | 0x40u : rounded);
}

// The same for what was computed from BF16 and quiet numbers alone: if that is not a number, it was not one before, or is the processor's own, and has zeros where
// rounding adds. Of others that are not numbers it could make 0. The upper half is what counts.
inline uint32_t round_bfloats(float value) {
  const uint32_t bits = bits_of(value);
  return bits + 0x7FFFu + ((bits >> 16) & 1u);
}
inline uint16_t bfloats_to_bfloat16(float value) { return static_cast<uint16_t>(round_bfloats(value) >> 16); }

inline float from_float16(uint16_t bits) {
  const uint32_t magnitude = uint32_t{bits} & 0x7FFFu;
  // The exponent's bias is put right by a multiplication, which also makes numbers of the fractions below the smallest exponent.
  const uint32_t finite = bits_of(float_of(magnitude << 13) * 0x1p112f);
  const uint32_t special = 0x7F800000u | (magnitude & 0x3FFu) << 13;
  return float_of((magnitude >= 0x7C00u ? special : finite) | (uint32_t{bits} & 0x8000u) << 16);
}

inline uint16_t to_float16(float value) {
  const uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFFu;
  const uint32_t normal = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // Below the smallest normal number: in a float of this size the last bit of the sum is worth 2^-24, which rounds.
  const uint32_t small = bits_of(float_of(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f) - 0x3F000000u;
  uint32_t result = magnitude < 0x38800000u ? small : normal;
  result = magnitude >= 0x477FF000u ? 0x7C00u : result;  // rounds to more than the largest
  result = magnitude > 0x7F800000u ? 0x7E00u : result;
  return static_cast<uint16_t>(result | (bits >> 16 & 0x8000u));
}

// 4 bits of exponent with bias 7, 3 of fraction; 0x7F is not a number and there are no infinities.
inline float from_float8(uint8_t bits) {
  const uint32_t magnitude = uint32_t{bits} & 0x7Fu;
  const uint32_t finite = bits_of(float_of(magnitude << 20) * 0x1p120f);
  return float_of((magnitude == 0x7Fu ? 0x7FC00000u : finite) | (uint32_t{bits} & 0x80u) << 24);
}

inline uint8_t to_float8(float value) {
  const uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFFu;
  const uint32_t normal = (magnitude + 0x7FFFFu + ((magnitude >> 20) & 1u) - 0x3C000000u) >> 20;
  // As above, where the smallest normal number is 2^-6 and the last bit of the sum is worth 2^-9.
  const uint32_t small = bits_of(float_of(magnitude < 0x3C800000u ? magnitude : 0u) + 0x1p14f) - 0x46800000u;
  uint32_t result = magnitude < 0x3C800000u ? small : normal;
  result = magnitude > 0x43E80000u ? 0x7Fu : result;  // above 464 there is nothing to round to
  return static_cast<uint8_t>(result | (bits >> 24 & 0x80u));
}

}  // namespace
}  // namespace infiniop
