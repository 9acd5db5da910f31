// Elementary functions of float and double, for expressions. Those of float that a C library would be called for, element by element, are
// written out without branches, so that loops of them become vectors. A GPU has its own. See expression.h for what is not used here, and why.
#pragma once

#include <cstdint>

#include "op/narrow.h"

namespace infiniop {
namespace {  // NOLINT: one copy for each instruction set

#ifdef __CUDACC__
#define INFINIOP_C(name) ::name
#else
#define INFINIOP_C(name) __builtin_##name
#endif
#define INFINIOP_LIBRARY_FUNCTION(name)                        \
  inline double name(double x) { return INFINIOP_C(name)(x); } \
  inline float name(float x) { return INFINIOP_C(name##f)(x); }
INFINIOP_LIBRARY_FUNCTION(acos)
INFINIOP_LIBRARY_FUNCTION(acosh)
INFINIOP_LIBRARY_FUNCTION(asin)
INFINIOP_LIBRARY_FUNCTION(asinh)
INFINIOP_LIBRARY_FUNCTION(atanh)
INFINIOP_LIBRARY_FUNCTION(ceil)
INFINIOP_LIBRARY_FUNCTION(cos)
INFINIOP_LIBRARY_FUNCTION(cosh)
INFINIOP_LIBRARY_FUNCTION(fabs)
INFINIOP_LIBRARY_FUNCTION(floor)
INFINIOP_LIBRARY_FUNCTION(rint)
INFINIOP_LIBRARY_FUNCTION(sin)
INFINIOP_LIBRARY_FUNCTION(sinh)
INFINIOP_LIBRARY_FUNCTION(sqrt)
INFINIOP_LIBRARY_FUNCTION(tan)
INFINIOP_LIBRARY_FUNCTION(trunc)

#ifdef __CUDACC__
// A GPU has instructions for the first steps of these.
INFINIOP_LIBRARY_FUNCTION(exp)
INFINIOP_LIBRARY_FUNCTION(tanh)
INFINIOP_LIBRARY_FUNCTION(erf)
INFINIOP_LIBRARY_FUNCTION(erfc)
INFINIOP_LIBRARY_FUNCTION(atan)
INFINIOP_LIBRARY_FUNCTION(exp2)
INFINIOP_LIBRARY_FUNCTION(expm1)
INFINIOP_LIBRARY_FUNCTION(log)
INFINIOP_LIBRARY_FUNCTION(log2)
INFINIOP_LIBRARY_FUNCTION(log10)
INFINIOP_LIBRARY_FUNCTION(log1p)
#else
// exp(r) - 1 for |r| <= log(2) / 2, by a minimax polynomial of (exp(r) - 1 - r) / r^2.
inline float exp_less_one(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * (r * r) + r;
}

// fraction * 2^n, where `shifted` is n + 1.5 * 2^23: in two factors, since 2^-150 and 2^128 are no floats. The last bits of `shifted` are n:
// here they are where the last but one of an exponent is. Of what is not a number they are nothing, and the product is not a number
// whatever they are.
inline float times_power(float fraction, float shifted) {
  const uint32_t doubled = bits_of(shifted) << 22, half = doubled & 0xFF800000u;
  return fraction * float_of(half + 0x3F800000u) * float_of(doubled + doubled - half + 0x3F800000u);
}

inline double exp(double x) { return __builtin_exp(x); }

// In vectors where the library's is a call for each element; off by at most 2 units of the last place.
inline float exp(float x) {
  // exp(x) = 2^n * exp(r) with |r| <= log(2) / 2. Beyond the limits the result is 0 or infinite anyway; comparisons are such that
  // what is not a number stays.
  float bounded = x < -104.0f ? -104.0f : x;
  bounded = bounded > 89.0f ? 89.0f : bounded;
  const float shifted = bounded * 1.44269504f + 0x1.8p23f, n = shifted - 0x1.8p23f;  // rounds
  // log(2) in two parts, the first of few bits: its product with n is exact.
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  return times_power(exp_less_one(r) + 1.0f, shifted);
}

inline double exp2(double x) { return __builtin_exp2(x); }

inline float exp2(float x) {
  float bounded = x < -151.0f ? -151.0f : x;
  bounded = bounded > 129.0f ? 129.0f : bounded;
  const float shifted = bounded + 0x1.8p23f, n = shifted - 0x1.8p23f;
  return times_power(exp_less_one((bounded - n) * 0.693147181f) + 1.0f, shifted);
}

inline double expm1(double x) { return __builtin_expm1(x); }

inline float expm1(float x) {
  // 2^n * (exp(r) - 1) + (2^n - 1), halved until the end, since 2^128 is no float.
  float bounded = x < -20.0f ? -20.0f : x;
  bounded = bounded > 89.0f ? 89.0f : bounded;
  const float shifted = bounded * 1.44269504f + 0x1.8p23f, n = shifted - 0x1.8p23f;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  const float half_power = float_of((bits_of(shifted) << 23) + 0x3F000000u);
  const float result = (half_power * exp_less_one(r) + (half_power - 0.5f)) * 2.0f;
  return fabs(x) < 0x1p-25f ? x : result;  // 0 keeps its sign, and the smallest numbers their bits
}

// A positive number is (1 + rest) * 2^exponent with 1 + rest between the root of 1/2 and that of 2. The logarithm of 1 + rest is
// rest + further; the two are not added up, so that what comes next loses nothing.
struct LogarithmParts {
  float rest, further, exponent;
};
inline LogarithmParts logarithm_parts(float x) {
  const bool is_tiny = x < 0x1p-126f;  // those have no exponent of their own
  const uint32_t bits = bits_of(is_tiny ? x * 0x1p23f : x);
  // From the root of 1/2 on: what is over it carries into the exponent.
  const uint32_t from_root = bits - 0x3F3504F3u;
  const float exponent = static_cast<float>(static_cast<int32_t>(from_root) >> 23) - (is_tiny ? 23.0f : 0.0f);
  const float rest = float_of((from_root & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f, square = rest * rest;
  float p = 7.0376836292e-2f;
  p = p * rest - 1.1514610310e-1f;
  p = p * rest + 1.1676998740e-1f;
  p = p * rest - 1.2420140846e-1f;
  p = p * rest + 1.4249322787e-1f;
  p = p * rest - 1.6668057665e-1f;
  p = p * rest + 2.0000714765e-1f;
  p = p * rest - 2.4999993993e-1f;
  p = p * rest + 3.3333331174e-1f;
  return {rest, p * rest * square - 0.5f * square, exponent};
}
// Of 0, of negative numbers, of infinity and of what is not a number.
inline float logarithm_or_limit(float x, float logarithm) {
  const float over = x > 0.0f ? x : float_of(0x7FC00000u);
  return x == 0.0f ? float_of(0xFF800000u) : (x > 0.0f && x <= 0x1.fffffep127f ? logarithm : over);
}

inline double log(double x) { return __builtin_log(x); }

inline float log(float x) {
  const LogarithmParts parts = logarithm_parts(x);
  // log(2) in two parts, the first of few bits: its product with the exponent is exact.
  const float low = parts.further - parts.exponent * 2.12194440e-4f;
  return logarithm_or_limit(x, (low + parts.rest) + parts.exponent * 0.693359375f);
}

inline double log2(double x) { return __builtin_log2(x); }

inline float log2(float x) {
  const LogarithmParts parts = logarithm_parts(x);
  // 1 / log(2) is 1 and a fraction.
  const float low = (parts.further * 0.442695041f + parts.rest * 0.442695041f) + parts.further;
  return logarithm_or_limit(x, (low + parts.rest) + parts.exponent);
}

inline double log10(double x) { return __builtin_log10(x); }

inline float log10(float x) {
  const LogarithmParts parts = logarithm_parts(x);
  const float low = (parts.rest + parts.further) * 7.00731903e-4f + parts.further * 4.3359375e-1f;
  const float sum = (low + parts.exponent * 2.48745664e-4f) + parts.rest * 4.3359375e-1f;
  return logarithm_or_limit(x, sum + parts.exponent * 3.0078125e-1f);
}

inline double log1p(double x) { return __builtin_log1p(x); }

inline float log1p(float x) {
  // What 1 + x loses by rounding comes back, divided by the sum, as the logarithm's slope says.
  const float sum = 1.0f + x, lost = x > 1.0f ? 1.0f - (sum - x) : x - (sum - 1.0f);
  const float correction = sum > 0.0f && sum <= 0x1.fffffep127f ? lost / sum : 0.0f;
  return sum == 1.0f ? x : log(sum) + correction;
}

inline double atan(double x) { return __builtin_atan(x); }

inline float atan(float x) {
  // The angle of x, of (x - 1) / (x + 1), or of -1 / x, and what it is turned by.
  const float magnitude = fabs(x);
  const bool is_large = magnitude > 2.41421356f, is_middle = magnitude > 0.414213562f;
  const float numerator = is_large ? -1.0f : (is_middle ? magnitude - 1.0f : magnitude);
  const float denominator = is_large ? magnitude : (is_middle ? magnitude + 1.0f : 1.0f);
  const float turned = is_large ? 1.57079637f : (is_middle ? 0.785398185f : 0.0f);
  const float tangent = numerator / denominator, square = tangent * tangent;
  float p = 8.05374449538e-2f;
  p = p * square - 1.38776856032e-1f;
  p = p * square + 1.99777106478e-1f;
  p = p * square - 3.33329491539e-1f;
  const float angle = turned + (p * square * tangent + tangent);
  return x < 0.0f ? -angle : angle;
}

inline double tanh(double x) { return __builtin_tanh(x); }

inline float tanh(float x) {
  const float magnitude = fabs(x);
  // Near 0 a polynomial of x^2, since the difference below would cancel.
  const float square = x * x;
  float p = -5.70498872745e-3f;
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const float near = p * square * x + x;
  const float far = 1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f);
  return magnitude < 0.625f ? near : (x < 0.0f ? -far : far);
}

inline double erfc(double x) { return __builtin_erfc(x); }

inline float erfc(float x) {
  const float magnitude = fabs(x), z = magnitude > 11.0f ? 11.0f : magnitude;  // from 10.1 on it is 0
  // erfc(z) = t * exp(-z^2 + p(t)) with t = 1 / (1 + z / 2); p is a Chebyshev fit, good to 1.2e-7 of the result everywhere.
  const float t = 1.0f / (1.0f + 0.5f * z);
  float p = 0.17087277f;
  p = p * t - 0.82215223f;
  p = p * t + 1.48851587f;
  p = p * t - 1.13520398f;
  p = p * t + 0.27886807f;
  p = p * t - 0.18628806f;
  p = p * t + 0.09678418f;
  p = p * t + 0.37409196f;
  p = p * t + 1.00002368f;
  p = p * t - 1.26551223f;
  // The square of z cut to 12 bits is exact; what is missing is small and goes with p. A rounded square would cost the tail its
  // last bits.
  const float cut = float_of(bits_of(z) & 0xFFFFF000u);
  const float positive = t * exp(-cut * cut) * exp((cut - z) * (cut + z) + p);
  return x < 0.0f ? 2.0f - positive : positive;
}

inline double erf(double x) { return __builtin_erf(x); }

inline float erf(float x) {
  const float magnitude = fabs(x), square = x * x;
  float p = 7.853861353153693e-5f;
  p = p * square - 8.010193625184903e-4f;
  p = p * square + 5.188327685732524e-3f;
  p = p * square - 2.685381193529856e-2f;
  p = p * square + 1.128358514861418e-1f;
  p = p * square - 3.761262582423300e-1f;
  p = p * square + 1.128379165726710f;
  const float far = 1.0f - erfc(magnitude);
  return magnitude < 1.0f ? p * x : (x < 0.0f ? -far : far);
}
#endif
#undef INFINIOP_LIBRARY_FUNCTION

#define INFINIOP_LIBRARY_FUNCTION(name)                                     \
  inline double name(double a, double b) { return INFINIOP_C(name)(a, b); } \
  inline float name(float a, float b) { return INFINIOP_C(name##f)(a, b); }
INFINIOP_LIBRARY_FUNCTION(atan2)
INFINIOP_LIBRARY_FUNCTION(copysign)
INFINIOP_LIBRARY_FUNCTION(fmod)
INFINIOP_LIBRARY_FUNCTION(pow)
#undef INFINIOP_LIBRARY_FUNCTION

// Computed as double for all types.
template <class T>
inline T lgamma(T x) {
#ifdef __CUDACC__
  return static_cast<T>(::lgamma(static_cast<double>(x)));
#else
  int sign;  // the function without it writes a variable that all threads share
  return static_cast<T>(__builtin_lgamma_r(static_cast<double>(x), &sign));
#endif
}

}  // namespace
}  // namespace infiniop
