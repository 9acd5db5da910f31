// The functions that expressions of the schema may call, for the types that are computed in. Compiled for several instruction sets of the
// CPU and, as text, by NVIDIA's compiler for its GPUs: like narrow.h free of functions of the standard library, which the linker could
// share between instruction sets and which a GPU lacks. Calls of the C library are free of that.
#pragma once

#include <cstdint>

#include "op/elementary.h"
#include "op/narrow.h"

namespace infiniop {
namespace {  // NOLINT: one copy for each instruction set

template <class T>
inline T rsqrt(T x) {
  return T(1) / sqrt(x);
}

template <class T>
inline T sigmoid(T x) {
  // Of a number that is not positive, so that it cannot overflow and small results keep their bits.
  const T e = exp_of_negative(-fabs(x));
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
inline float hypot(float a, float b) {
#ifdef __CUDACC__
  return ::hypotf(a, b);
#else
  // No square of a float is too large or too small for a double. Infinite is what has an infinite side, whatever the other is.
  const double x = a, y = b;
  const float length = static_cast<float>(__builtin_sqrt(x * x + y * y)), infinite = __builtin_inff();
  return (fabs(a) == infinite) | (fabs(b) == infinite) ? infinite : length;
#endif
}

template <class T>
inline T log_add_exp(T a, T b) {
  const T larger = a > b ? a : b, difference = fabs(a - b);
  // Equal infinities have no difference.
  return a == b ? a + T(0.693147180559945309417) : larger + log1p_of_part(exp_of_negative(-difference));
}

// log(1 + exp(x)): of large numbers the number itself, and nothing is lost of small ones.
template <class T>
inline T log1p_exp(T x) {
  return (x < T(0) ? T(0) : x) + log1p_of_part(exp_of_negative(-fabs(x)));
}

template <class T>
inline T log_add_exp2(T a, T b) {
  const T larger = a > b ? a : b, difference = fabs(a - b);
  return a == b ? a + T(1) : larger + log1p_of_part(exp2(-difference)) * T(1.44269504088896340736);
}

inline float power(float a, float b) { return pow(a, b); }
inline double power(double a, double b) { return pow(a, b); }
// Of an integer negative powers are 0, but of 1 and -1.
template <class T>
inline T power(T a, T b) {
  const bool is_odd = (b & T(1)) != T(0);
  if (b < T(0)) return a == T(1) ? T(1) : (a == T(-1) ? (is_odd ? T(-1) : T(1)) : T(0));
  uint64_t result = 1, factor = static_cast<uint64_t>(a);
  for (auto rest = static_cast<uint64_t>(b); rest != 0; rest >>= 1) {
    if (rest & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

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
  // Limits are the same for many elements: what is asked about them alone is asked once, and what is left are two instructions.
  T y = x < low ? low : x;
  y = y > high ? high : y;
  return low == low && high == high ? y : static_cast<T>(low + high);
}
template <class T>
inline T fmin(T a, T b) {
  return a < b || b != b ? a : b;
}

template <class T>
inline T fmax(T a, T b) {
  return a > b || b != b ? a : b;
}
template <class T>
inline T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
inline T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}

// x times the normal distribution function of x.
template <class T>
inline T gelu(T x) {
  return x * normal_share(x);
}

// x * tanh(log(1 + e)) with e = exp(x), and the tangent as a quotient: (e^2 + 2e) / (e^2 + 2e + 2). From 20 on that is 1.
template <class T>
inline T mish(T x) {
  const T e = exp(x > T(20) ? T(20) : x), part = e * (e + T(2));
  return x * (part / (part + T(2)));
}

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

// The sign is the divisor's.
template <class T>
inline T remainder(T a, T b) {
  const T rest = fmod(a, b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? static_cast<T>(rest + b) : rest;
}

template <class T>
inline uint64_t magnitude_of(T x) {
  return x < T(0) ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}
template <class T>
inline T gcd(T a, T b) {
  uint64_t larger = magnitude_of(a), smaller = magnitude_of(b);
  while (smaller != 0) {
    const uint64_t rest = larger % smaller;
    larger = smaller;
    smaller = rest;
  }
  return static_cast<T>(larger);
}
template <class T>
inline T lcm(T a, T b) {
  const uint64_t divisor = magnitude_of(gcd(a, b));
  return divisor == 0 ? T(0) : static_cast<T>(magnitude_of(a) / divisor * magnitude_of(b));
}

template <class T>
inline T shift_left(T a, T b) {
  const bool too_far = b < T(0) || b >= static_cast<T>(8 * sizeof(T));
  return too_far ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << b);
}

template <class T>
inline T shift_right(T a, T b) {
  const bool too_far = b < T(0) || b >= static_cast<T>(8 * sizeof(T));
  return too_far ? (a < T(0) ? T(-1) : T(0)) : static_cast<T>(a >> b);
}

// The nearest value of the type: a cut-off fraction, the ends of the range, 0 for what is not a number.
template <class T>
constexpr T number_as(double value) {
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
