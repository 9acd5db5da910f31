// The functions that expressions of the schema may call, for the types that are computed in. Compiled for several instruction sets of the
// CPU and, as text, by NVIDIA's compiler for its GPUs: like narrow.h free of functions of the standard library, which the linker could
// share between instruction sets and which a GPU lacks. Calls of the C library are free of that.
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
INFINIOP_LIBRARY_FUNCTION(asin)
INFINIOP_LIBRARY_FUNCTION(asinh)
INFINIOP_LIBRARY_FUNCTION(atanh)
INFINIOP_LIBRARY_FUNCTION(sinh)
INFINIOP_LIBRARY_FUNCTION(tan)
INFINIOP_LIBRARY_FUNCTION(expm1)
INFINIOP_LIBRARY_FUNCTION(fabs)
INFINIOP_LIBRARY_FUNCTION(floor)
INFINIOP_LIBRARY_FUNCTION(exp2)
INFINIOP_LIBRARY_FUNCTION(log)
INFINIOP_LIBRARY_FUNCTION(log10)
INFINIOP_LIBRARY_FUNCTION(log1p)
INFINIOP_LIBRARY_FUNCTION(sqrt)

#ifdef __CUDACC__
// A GPU has instructions for the first steps of these.
INFINIOP_LIBRARY_FUNCTION(exp)
INFINIOP_LIBRARY_FUNCTION(tanh)
INFINIOP_LIBRARY_FUNCTION(erf)
INFINIOP_LIBRARY_FUNCTION(erfc)
#else
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
  // Minimax polynomial of (exp(r) - 1 - r) / r^2.
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float fraction = p * (r * r) + r + 1.0f;
  // 2^n in two factors, since 2^-150 and 2^128 are no floats. The last bits of `shifted` are n: here they are where the last but one of an
  // exponent is. Of what is not a number they are nothing, and the product is not a number whatever they are.
  const uint32_t doubled = bits_of(shifted) << 22, half = doubled & 0xFF800000u;
  return fraction * float_of(half + 0x3F800000u) * float_of(doubled + doubled - half + 0x3F800000u);
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

template <class T>
inline T rsqrt(T x) {
  return T(1) / sqrt(x);
}

template <class T>
inline T sigmoid(T x) {
  // Of a number that is not positive, so that it cannot overflow and small results keep their bits.
  const T e = exp(x < T(0) ? x : -x);
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

inline double hypot(double a, double b) {
#ifdef __CUDACC__
  // The GPU's is infinite for the largest number and a small one. What is this much smaller does not count.
  const double x = fabs(a), y = fabs(b), larger = x > y ? x : y, smaller = x > y ? y : x;
  if (smaller <= larger * 0x1p-27) return larger;
#endif
  return INFINIOP_C(hypot)(a, b);
}
inline float hypot(float a, float b) { return INFINIOP_C(hypotf)(a, b); }

template <class T>
inline T log_add_exp(T a, T b) {
  const T larger = a > b ? a : b, difference = fabs(a - b);
  // Equal infinities have no difference.
  return a == b ? a + T(0.693147180559945309417) : larger + log1p(exp(-difference));
}

template <class T>
inline T log_add_exp2(T a, T b) {
  const T larger = a > b ? a : b, difference = fabs(a - b);
  return a == b ? a + T(1) : larger + log1p(exp2(-difference)) * T(1.44269504088896340736);
}

inline double pow(double a, double b) { return INFINIOP_C(pow)(a, b); }
inline float pow(float a, float b) { return INFINIOP_C(powf)(a, b); }

// x * 2^e in two steps where the power itself could leave the type's range.
template <class T>
inline T ldexp(T x, T e) {
  const T half = e > T(2000) ? T(1000) : (e < T(-2000) ? T(-1000) : floor(e * T(0.5)));
  return fabs(e) > T(100) ? x * exp2(half) * exp2(e - half) : x * exp2(e);
}

// From the nearer end, so that `weight` 1 gives exactly `end`.
template <class T>
inline T lerp(T start, T end, T weight) {
  return fabs(weight) < T(0.5) ? start + weight * (end - start) : end - (end - start) * (T(1) - weight);
}

// Computed as double for all types.
template <class T>
inline T digamma(T value) {
  constexpr double kPi = 3.14159265358979323846;
  double x = static_cast<double>(value), result = 0;
  if (x == 0) return static_cast<T>(-1 / x);
  if (x < 0) {
    // Reflected to the positive side; at the poles it is not a number.
    const double fraction = x - floor(x + 0.5);
    result = fraction == 0 ? static_cast<double>(float_of(0x7FC00000u)) : -kPi / tan(kPi * fraction);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double y = 1 / (x * x);
  double series = 1.0 / 12;
  series = series * y - 691.0 / 32760;
  series = series * y + 1.0 / 132;
  series = series * y - 1.0 / 240;
  series = series * y + 1.0 / 252;
  series = series * y - 1.0 / 120;
  series = series * y + 1.0 / 12;
  return static_cast<T>(result + log(x) - 0.5 / x - series * y);
}

// Computed as double for all types: an estimate, good to 0.2 %, and two steps that each cube its error.
template <class T>
inline T erfinv(T value) {
  const double x = static_cast<double>(value), magnitude = fabs(x);
  if (!(magnitude < 1)) return static_cast<T>(magnitude == 1 ? x / (1 - magnitude) : double(float_of(0x7FC00000u)));
  const double logarithm = log1p(-x * x), term = 4.33074675 + 0.5 * logarithm;  // 2 / (pi * 0.147)
  const double root = term * term - logarithm * (1 / 0.147);
  double y = INFINIOP_C(sqrt)(INFINIOP_C(sqrt)(root) - term);
  for (int step = 0; step < 2; ++step) {
    // Of what is missing to 1, where the difference of two numbers near 1 would cancel.
    const double off = magnitude > 0.5 ? (1 - magnitude) - erfc(y) : erf(y) - magnitude;
    const double newton = off / (1.12837916709551257390 * exp(-y * y));
    y -= newton / (1 + y * newton);
  }
  return static_cast<T>(x < 0 ? -y : y);
}

// Comparisons are such that what is not a number comes through.
template <class T>
inline T relu(T x) {
  return x <= T(0) ? T(0) : x;
}
template <class T>
inline T clip(T x, T low, T high) {
  T y = x < low || low != low ? low : x;
  return y > high || high != high ? high : y;
}
template <class T>
inline T fmin(T a, T b) {
  return a < b || b != b ? a : b;
}

inline double fmod(double a, double b) { return INFINIOP_C(fmod)(a, b); }
inline float fmod(float a, float b) { return INFINIOP_C(fmodf)(a, b); }
// Machines trap on x / 0 and on the one quotient that does not fit.
template <class T>
inline T fmod(T a, T b) {
  // For unsigned types T(-1) is an ordinary divisor.
  return b == T(0) || (T(-1) < T(0) && b == T(-1)) ? T(0) : static_cast<T>(a % b);
}

template <class T>
inline T floor_divide_float(T a, T b) {
  const T rest = fmod(a, b);
  // From the rest, so that the quotient's own rounding cannot lift it to the next integer.
  T quotient = (a - rest) / b;
  if (rest != T(0) && (rest < T(0)) != (b < T(0))) quotient -= T(1);
  const T down = floor(quotient);
  const T nearest = quotient - down > T(0.5) ? down + T(1) : down;
  return b == T(0) ? a / b : nearest;
}
inline float floor_divide(float a, float b) { return floor_divide_float(a, b); }
inline double floor_divide(double a, double b) { return floor_divide_float(a, b); }
template <class T>
inline T floor_divide(T a, T b) {
  if (b == T(0)) return T(0);
  if (T(-1) < T(0) && b == T(-1)) return static_cast<T>(T(0) - a);
  const T quotient = static_cast<T>(a / b);
  return a % b != T(0) && (a < T(0)) != (b < T(0)) ? static_cast<T>(quotient - T(1)) : quotient;
}

template <class T>
inline T shift_right(T a, T b) {
  const bool too_far = b < T(0) || b >= static_cast<T>(8 * sizeof(T));
  return too_far ? (a < T(0) ? T(-1) : T(0)) : static_cast<T>(a >> b);
}

// The nearest value of the type: a cut-off fraction, the ends of the range, 0 for what is not a number.
template <class T>
inline T number_as(double value) {
  if constexpr (T(0.5) != T(0)) {
    return static_cast<T>(value);
  } else {
    constexpr T highest = T(-1) < T(0) ? T((uint64_t{1} << (8 * sizeof(T) - 1)) - 1) : T(-1);
    constexpr T lowest = T(-1) < T(0) ? T(-highest - 1) : T(0);
    // Rounded up to a double the highest 64-bit numbers are out of range: not less, but equal.
    return value != value                          ? T(0)
           : value <= static_cast<double>(lowest)  ? lowest
           : value >= static_cast<double>(highest) ? highest
                                                   : static_cast<T>(value);
  }
}

}  // namespace
}  // namespace infiniop
