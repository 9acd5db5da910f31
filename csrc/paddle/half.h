// The two 16-bit floating-point types: only what adding and filling need. Rounding is to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace infinirt::paddle {

struct Bfloat16 {
  uint16_t bits;

  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  static Bfloat16 from(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    if (value != value) return {static_cast<uint16_t>((u >> 16) | 0x40u)};
    return {static_cast<uint16_t>((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16)};
  }
};

struct Float16 {
  uint16_t bits;

  explicit operator float() const {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, fraction = bits & 0x3FFu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  static Float16 from(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
    const uint32_t magnitude = u & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return {static_cast<uint16_t>(sign | 0x7E00u)};
    if (magnitude >= 0x477FF000u) return {static_cast<uint16_t>(sign | 0x7C00u)};
    // Below the smallest normal number: in a float of this size the last bit of the sum is worth 2^-24, which rounds.
    if (magnitude < 0x38800000u) {
      const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
      return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3F000000u))};
    }
    const uint32_t even = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
    return {static_cast<uint16_t>(sign | ((even - 0x38000000u) >> 13))};
  }
};

}  // namespace infinirt::paddle
