// Logarithms of floats in vectors, where the library's are a call for each element; doubles are the library's.
#pragma once

#include <cstdint>

#include "op/narrow.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

inline double logarithm(double x) { return __builtin_log(x); }

// Off by at most 2 units of the last place.
inline float logarithm(float x) {
  // Below the smallest normal number there are leading zeros, which a factor takes away.
  const bool is_small = x < 0x1p-126f;
  const uint32_t bits = bits_of(is_small ? x * 0x1p23f : x);
  // x = 2^n * (1 + f), with 1 + f from sqrt(1/2) to sqrt(2).
  const uint32_t shifted = bits - 0x3F3504F3u;
  const auto n = static_cast<float>((static_cast<int32_t>(shifted) >> 23) - (is_small ? 23 : 0));
  const float f = float_of((shifted & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f, square = f * f;
  // Minimax polynomial of (log(1 + f) - f + f^2 / 2) / f^3.
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  // log(2) in two parts, the first of few bits: its product with n is exact.
  float result = f + (f * square * p - n * 2.12194440e-4f - 0.5f * square) + n * 0.693359375f;
  result = x > 0x1.fffffep127f ? x : result;
  result = x == 0.0f ? -__builtin_inff() : result;
  return x >= 0.0f ? result : __builtin_nanf("");
}

inline double logarithm_of_one_and(double x) { return __builtin_log1p(x); }

// log(1 + x) of an x from 0 to 1. What 1 + x loses of x comes back by the derivative.
inline float logarithm_of_one_and(float x) {
  const float whole = 1.0f + x;
  return logarithm(whole) + (x - (whole - 1.0f)) / whole;
}

}  // namespace
}  // namespace infiniop::cpu
