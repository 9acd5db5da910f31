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
INFINIOP_LIBRARY_FUNCTION(ceil)
INFINIOP_LIBRARY_FUNCTION(cos)
INFINIOP_LIBRARY_FUNCTION(fabs)
INFINIOP_LIBRARY_FUNCTION(floor)
INFINIOP_LIBRARY_FUNCTION(rint)
INFINIOP_LIBRARY_FUNCTION(sin)
INFINIOP_LIBRARY_FUNCTION(sqrt)
INFINIOP_LIBRARY_FUNCTION(tan)
INFINIOP_LIBRARY_FUNCTION(trunc)

// Where one of these stays a call, the loop is no vector, and expressions of several are long enough for a compiler to leave some.
#ifdef __CUDACC__
#define INFINIOP_INLINE inline
#else
#define INFINIOP_INLINE [[gnu::always_inline]] inline
#endif

// The magnitude of x, or the limit where that is smaller or x is no number. As whole numbers magnitudes have the same order, and processors compare those on
// more of their units.
INFINIOP_INLINE float magnitude_up_to(float limit, float x) {
  const uint32_t magnitude = bits_of(x) & 0x7FFFFFFFu, most = bits_of(limit);
  return float_of(magnitude < most ? magnitude : most);
}

INFINIOP_INLINE float rounded_once(float a, float b, float c);  // a * b + c

// The coefficients of the highest powers come first.
template <class... Coefficients>
INFINIOP_INLINE float polynomial(float x, float highest, Coefficients... others) {
  float sum = highest;
  ((sum = rounded_once(sum, x, others)), ...);
  return sum;
}

#ifdef __CUDACC__
// A GPU has instructions for the first steps of these.
INFINIOP_LIBRARY_FUNCTION(exp)
inline double exp_of_negative(double x) { return ::exp(x); }
inline float exp_of_negative(float x) { return ::expf(x); }
INFINIOP_LIBRARY_FUNCTION(tanh)
INFINIOP_LIBRARY_FUNCTION(erf)
INFINIOP_LIBRARY_FUNCTION(erfc)
inline double normal_share(double x) { return 0.5 * ::erfc(x * -0.7071067811865476); }
inline float normal_share(float x) { return 0.5f * ::erfcf(x * -0.707106781f); }
INFINIOP_LIBRARY_FUNCTION(atan)
INFINIOP_LIBRARY_FUNCTION(exp2)
INFINIOP_LIBRARY_FUNCTION(expm1)
INFINIOP_LIBRARY_FUNCTION(log)
INFINIOP_LIBRARY_FUNCTION(log2)
INFINIOP_LIBRARY_FUNCTION(log10)
INFINIOP_LIBRARY_FUNCTION(log1p)
inline double log1p_of_part(double x) { return ::log1p(x); }
inline float log1p_of_part(float x) { return ::log1pf(x); }
INFINIOP_LIBRARY_FUNCTION(acos)
INFINIOP_LIBRARY_FUNCTION(acosh)
INFINIOP_LIBRARY_FUNCTION(asin)
INFINIOP_LIBRARY_FUNCTION(asinh)
INFINIOP_LIBRARY_FUNCTION(atanh)
INFINIOP_LIBRARY_FUNCTION(cosh)
INFINIOP_LIBRARY_FUNCTION(sinh)
INFINIOP_INLINE float rounded_once(float a, float b, float c) { return ::fmaf(a, b, c); }
inline double atan2(double a, double b) { return ::atan2(a, b); }
inline float atan2(float a, float b) { return ::atan2f(a, b); }
#else
// On machines without such an instruction (x86-64 of before 2013) it is made from doubles, to the same bits: the
// product is exact, and a sum that is not gets an odd last bit, so that what rounds it to a float sees on which side it was.
INFINIOP_INLINE float rounded_once(float a, float b, float c) {
#if defined(__FP_FAST_FMAF)
  return __builtin_fmaf(a, b, c);
#elif defined(INFINIOP_COMPILED_ONCE)  // for all machines, so that there are no others' bits to agree with
  return a * b + c;
#else
  const double product = double(a) * double(b), sum = product + double(c);
  const double back = sum - product, lost = (product - (sum - back)) + (double(c) - back);
  const uint64_t bits = __builtin_bit_cast(uint64_t, sum), sign = (bits ^ __builtin_bit_cast(uint64_t, lost)) >> 63;
  const uint64_t odd = (bits - sign) | 1;
  return static_cast<float>(fabs(lost) > 0 ? __builtin_bit_cast(double, odd) : sum);  // not of what is no number
#endif
}

// exp(r) - 1 for |r| <= log(2) / 2, by a minimax polynomial of (exp(r) - 1 - r) / r^2.
INFINIOP_INLINE float exp_less_one(float r) {
  float p = 1.9875691500e-4f;
  p = rounded_once(p, r, 1.3981999507e-3f);
  p = rounded_once(p, r, 8.3334519073e-3f);
  p = rounded_once(p, r, 4.1665795894e-2f);
  p = rounded_once(p, r, 1.6666665459e-1f);
  p = rounded_once(p, r, 5.0000001201e-1f);
  return rounded_once(p, r * r, r);
}

// fraction * 2^n, where `shifted` is n + 1.5 * 2^23: in two factors, since 2^-150 and 2^128 are no floats. The last bits of `shifted` are n:
// here they are where the last but one of an exponent is. Of what is not a number they are nothing, and the product is not a number
// whatever they are.
INFINIOP_INLINE float times_power(float fraction, float shifted) {
  const uint32_t doubled = bits_of(shifted) << 22, half = doubled & 0xFF800000u;
  return fraction * float_of(half + 0x3F800000u) * float_of(doubled + doubled - half + 0x3F800000u);
}

inline double exp(double x) { return __builtin_exp(x); }

// In vectors where the library's is a call for each element; off by at most 2 units of the last place.
INFINIOP_INLINE float exp(float x) {
  // exp(x) = 2^n * exp(r) with |r| <= log(2) / 2. Beyond the limits the result is 0 or infinite anyway; comparisons are such that
  // what is not a number stays.
  float bounded = x < -104.0f ? -104.0f : x;
  bounded = bounded > 89.0f ? 89.0f : bounded;
  const float shifted = rounded_once(bounded, 1.44269504f, 0x1.8p23f), n = shifted - 0x1.8p23f;  // rounds
  // log(2) in two parts, the first of few bits: its product with n is exact.
  const float r = rounded_once(n, 2.12194440e-4f, rounded_once(n, -0.693359375f, bounded));
  return times_power(exp_less_one(r) + 1.0f, shifted);
}

// The same bits for what is not positive, with less work: only small powers have to be made in two steps.
inline double exp_of_negative(double x) { return __builtin_exp(x); }
INFINIOP_INLINE float exp_of_negative(float x) {
  const float bounded = x < -104.0f ? -104.0f : x;
  const float shifted = rounded_once(bounded, 1.44269504f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  const float r = rounded_once(n, 2.12194440e-4f, rounded_once(n, -0.693359375f, bounded));
  const float power = float_of((bits_of(shifted) << 23) + (0x3F800000u + (64u << 23)));
  return (exp_less_one(r) + 1.0f) * power * 0x1p-64f;
}

// exp(a + b) where a, at most 0 and not below -128, has few enough bits for multiples of log(2) to be taken off exactly, and b is small.
INFINIOP_INLINE float exp_of_sum(float a, float b) {
  const float shifted = rounded_once(a + b, 1.44269504f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  const float r = rounded_once(n, 2.12194440e-4f, rounded_once(n, -0.693359375f, a)) + b;
  const float power = float_of((bits_of(shifted) << 23) + (0x3F800000u + (64u << 23)));
  return (exp_less_one(r) + 1.0f) * power * 0x1p-64f;
}

inline double exp2(double x) { return __builtin_exp2(x); }

INFINIOP_INLINE float exp2(float x) {
  float bounded = x < -151.0f ? -151.0f : x;
  bounded = bounded > 129.0f ? 129.0f : bounded;
  const float shifted = bounded + 0x1.8p23f, n = shifted - 0x1.8p23f;
  return times_power(exp_less_one((bounded - n) * 0.693147181f) + 1.0f, shifted);
}

inline double expm1(double x) { return __builtin_expm1(x); }

INFINIOP_INLINE float expm1(float x) {
  // 2^n * (exp(r) - 1) + (2^n - 1), halved until the end, since 2^128 is no float.
  float bounded = x < -20.0f ? -20.0f : x;
  bounded = bounded > 89.0f ? 89.0f : bounded;
  const float shifted = rounded_once(bounded, 1.44269504f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  const float r = rounded_once(n, 2.12194440e-4f, rounded_once(n, -0.693359375f, bounded));
  const float half_power = float_of((bits_of(shifted) << 23) + 0x3F000000u);
  const float result = (half_power * exp_less_one(r) + (half_power - 0.5f)) * 2.0f;
  return fabs(x) < 0x1p-25f ? x : result;  // 0 keeps its sign, and the smallest numbers their bits
}

// A positive number is (1 + rest) * 2^exponent with 1 + rest between the root of 1/2 and that of 2. The logarithm of 1 + rest is
// rest + further; the two are not added up, so that what comes next loses nothing.
struct LogarithmParts {
  float rest, further, exponent;
};
INFINIOP_INLINE LogarithmParts logarithm_parts(float x) {
  const bool is_tiny = x < 0x1p-126f;  // those have no exponent of their own
  const uint32_t bits = bits_of(is_tiny ? x * 0x1p23f : x);
  // From the root of 1/2 on: what is over it carries into the exponent.
  const uint32_t from_root = bits - 0x3F3504F3u;
  const float exponent = static_cast<float>(static_cast<int32_t>(from_root) >> 23) - (is_tiny ? 23.0f : 0.0f);
  const float rest = float_of((from_root & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f, square = rest * rest;
  float p = 7.0376836292e-2f;
  p = rounded_once(p, rest, -1.1514610310e-1f);
  p = rounded_once(p, rest, 1.1676998740e-1f);
  p = rounded_once(p, rest, -1.2420140846e-1f);
  p = rounded_once(p, rest, 1.4249322787e-1f);
  p = rounded_once(p, rest, -1.6668057665e-1f);
  p = rounded_once(p, rest, 2.0000714765e-1f);
  p = rounded_once(p, rest, -2.4999993993e-1f);
  p = rounded_once(p, rest, 3.3333331174e-1f);
  return {rest, p * rest * square - 0.5f * square, exponent};
}
// Of 0, of negative numbers, of infinity and of what is not a number.
INFINIOP_INLINE float logarithm_or_limit(float x, float logarithm) {
  const float over = x > 0.0f ? x : float_of(0x7FC00000u);
  return x == 0.0f ? float_of(0xFF800000u) : (x > 0.0f && x <= 0x1.fffffep127f ? logarithm : over);
}

inline double log(double x) { return __builtin_log(x); }

INFINIOP_INLINE float log(float x) {
  const LogarithmParts parts = logarithm_parts(x);
  // log(2) in two parts, the first of few bits: its product with the exponent is exact.
  const float low = parts.further - parts.exponent * 2.12194440e-4f;
  return logarithm_or_limit(x, (low + parts.rest) + parts.exponent * 0.693359375f);
}

inline double log2(double x) { return __builtin_log2(x); }

INFINIOP_INLINE float log2(float x) {
  const LogarithmParts parts = logarithm_parts(x);
  // 1 / log(2) is 1 and a fraction.
  const float low = (parts.further * 0.442695041f + parts.rest * 0.442695041f) + parts.further;
  return logarithm_or_limit(x, (low + parts.rest) + parts.exponent);
}

inline double log10(double x) { return __builtin_log10(x); }

INFINIOP_INLINE float log10(float x) {
  const LogarithmParts parts = logarithm_parts(x);
  const float low = (parts.rest + parts.further) * 7.00731903e-4f + parts.further * 4.3359375e-1f;
  const float sum = (low + parts.exponent * 2.48745664e-4f) + parts.rest * 4.3359375e-1f;
  return logarithm_or_limit(x, sum + parts.exponent * 3.0078125e-1f);
}

inline double log1p(double x) { return __builtin_log1p(x); }

INFINIOP_INLINE float log1p(float x) {
  // What 1 + x loses by rounding comes back, divided by the sum, as the logarithm's slope says.
  const float sum = 1.0f + x, lost = x > 1.0f ? 1.0f - (sum - x) : x - (sum - 1.0f);
  const float correction = sum > 0.0f && sum <= 0x1.fffffep127f ? lost / sum : 0.0f;
  return sum == 1.0f ? x : log(sum) + correction;
}

// Of 0 to 1, with less work: twice the area tangent of x / (2 + x), off by at most 2 units of the last place.
inline double log1p_of_part(double x) { return __builtin_log1p(x); }
INFINIOP_INLINE float log1p_of_part(float x) {
  const float s = x / (2.0f + x), square = s * s;
  float p = 2.81783104e-1f;
  p = rounded_once(p, square, 2.79606134e-1f);
  p = rounded_once(p, square, 4.00249094e-1f);
  p = rounded_once(p, square, 6.66663170e-1f);
  return rounded_once(p * square, s, s + s);
}

// Half of a right angle, and a right one, in two parts.
constexpr float kEighth = 0.785398185f, kEighthLow = -2.18556941e-8f, kQuarter = 1.57079637f,
                kQuarterLow = -4.37113883e-8f;

// The angle of a tangent that is not negative.
INFINIOP_INLINE float angle_of(float tangent) {
  // That of the tangent itself, of (x - 1) / (x + 1), or of -1 / x, and what it is turned by.
  const bool is_large = tangent > 2.41421356f, is_middle = tangent > 0.414213562f;
  const float numerator = is_large ? -1.0f : (is_middle ? tangent - 1.0f : tangent);
  const float denominator = is_large ? tangent : (is_middle ? tangent + 1.0f : 1.0f);
  const float turned = is_large ? kQuarter : (is_middle ? kEighth : 0.0f);
  const float low = is_large ? kQuarterLow : (is_middle ? kEighthLow : 0.0f);
  const float small = numerator / denominator, square = small * small;
  float p = 8.05374449538e-2f;
  p = rounded_once(p, square, -1.38776856032e-1f);
  p = rounded_once(p, square, 1.99777106478e-1f);
  p = rounded_once(p, square, -3.33329491539e-1f);
  return turned + ((p * square * small + low) + small);
}

// `magnitude` with the sign bit of `x`.
INFINIOP_INLINE float signed_as(float magnitude, float x) {
  return float_of(bits_of(magnitude) | (bits_of(x) & 0x80000000u));
}

inline double atan(double x) { return __builtin_atan(x); }

INFINIOP_INLINE float atan(float x) { return signed_as(angle_of(fabs(x)), x); }

inline double atan2(double a, double b) { return __builtin_atan2(a, b); }

INFINIOP_INLINE float atan2(float a, float b) {
  const float y = fabs(a), x = fabs(b), larger = x > y ? x : y;
  // Of two zeros and of two infinities the quotient is none.
  const float quotient = larger == 0.0f ? 0.0f : (x == y ? 1.0f : (x > y ? y / x : x / y));
  const float angle = angle_of(quotient);
  const float upper = y > x ? kQuarter + (kQuarterLow - angle) : angle;
  const float all = (bits_of(b) & 0x80000000u) != 0 ? 2.0f * kQuarter + (2.0f * kQuarterLow - upper) : upper;
  const float result = signed_as(all, a);
  return a != a || b != b ? a + b : result;
}

// The arc sine of a number that is not negative and at most 0.5, as a part of the number.
INFINIOP_INLINE float arc_sine_part(float square) {
  float p = 4.2163199048e-2f;
  p = rounded_once(p, square, 2.4181311049e-2f);
  p = rounded_once(p, square, 4.5470025998e-2f);
  p = rounded_once(p, square, 7.4953002686e-2f);
  p = rounded_once(p, square, 1.6666752422e-1f);
  return p * square;
}

inline double asin(double x) { return __builtin_asin(x); }

INFINIOP_INLINE float asin(float x) {
  // Of larger ones from the angle that is missing to a right one: its half has the sine sqrt((1 - x) / 2).
  const float magnitude = fabs(x);
  const bool is_large = magnitude > 0.5f;
  const float square = is_large ? 0.5f * (1.0f - magnitude) : x * x, sine = is_large ? sqrt(square) : magnitude;
  const float angle = sine * arc_sine_part(square) + sine;
  return signed_as(is_large ? kQuarter + (kQuarterLow - 2.0f * angle) : angle, x);
}

inline double acos(double x) { return __builtin_acos(x); }

INFINIOP_INLINE float acos(float x) {
  const float magnitude = fabs(x);
  const bool is_large = magnitude > 0.5f;
  const float square = is_large ? 0.5f * (1.0f - magnitude) : x * x, sine = is_large ? sqrt(square) : x;
  const float angle = sine * arc_sine_part(square) + sine;
  const float large = x < 0.0f ? 2.0f * kQuarter + (2.0f * kQuarterLow - 2.0f * angle) : 2.0f * angle;
  return is_large ? large : kQuarter + (kQuarterLow - angle);
}

inline double sinh(double x) { return __builtin_sinh(x); }

INFINIOP_INLINE float sinh(float x) {
  const float magnitude = fabs(x), less_one = expm1(magnitude), root = exp(0.5f * magnitude);
  const float usual = 0.5f * (less_one + less_one / (less_one + 1.0f)), large = (0.5f * root) * root;
  return signed_as(magnitude > 80.0f ? large : usual, x);
}

inline double cosh(double x) { return __builtin_cosh(x); }

INFINIOP_INLINE float cosh(float x) {
  const float magnitude = fabs(x), power = exp(magnitude), root = exp(0.5f * magnitude);
  return magnitude > 80.0f ? (0.5f * root) * root : 0.5f * power + 0.5f / power;
}

inline double asinh(double x) { return __builtin_asinh(x); }

INFINIOP_INLINE float asinh(float x) {
  // Where squares would leave the range, 2x stands for x + sqrt(x^2 + 1).
  const float magnitude = fabs(x), square = magnitude * magnitude;
  const bool is_large = magnitude > 1e8f;
  const float more = magnitude + square / (1.0f + sqrt(square + 1.0f));
  const float logarithm = log1p(is_large ? magnitude : more);
  return signed_as(is_large ? logarithm + 0.693147181f : logarithm, x);
}

inline double acosh(double x) { return __builtin_acosh(x); }

INFINIOP_INLINE float acosh(float x) {
  const float over = x - 1.0f;
  const bool is_large = x > 1e8f;
  const float logarithm = log1p(is_large ? x : over + sqrt(over * (over + 2.0f)));
  const float result = is_large ? logarithm + 0.693147181f : logarithm;
  return x < 1.0f ? float_of(0x7FC00000u) : result;
}

inline double atanh(double x) { return __builtin_atanh(x); }

INFINIOP_INLINE float atanh(float x) {
  const float magnitude = fabs(x);
  return signed_as(0.5f * log1p((magnitude + magnitude) / (1.0f - magnitude)), x);
}

inline double tanh(double x) { return __builtin_tanh(x); }

INFINIOP_INLINE float tanh(float x) {
  // exp(2|x|) = 2^n * (1 + t) / (1 - t) with t = tanh(r), |r| <= log(2) / 4, as a polynomial; near 0 nothing is lost. From 9.1 on the result is 1.
  const float magnitude = fabs(x), bounded = magnitude > 10.0f ? 10.0f : magnitude;
  const float shifted = rounded_once(bounded, 2 * 1.44269504f, 0x1.8p23f), n = shifted - 0x1.8p23f;
  const float r = rounded_once(n, -0.5f * 0.693147181f, bounded), square = r * r;
  const float power = float_of((bits_of(shifted) << 23) + 0x3F800000u);
  const float t = rounded_once(rounded_once(1.31108388e-1f, square, -3.33312780e-1f), square * r, r);
  const float less = power - 1.0f, more = power + 1.0f;
  return signed_as(rounded_once(more, t, less) / rounded_once(less, t, more), x);
}

inline double erfc(double x) { return __builtin_erfc(x); }

INFINIOP_INLINE float erfc(float x) {
  const float magnitude = fabs(x), z = magnitude > 11.0f ? 11.0f : magnitude;  // from 10.1 on it is 0
  // erfc(z) = t * exp(-z^2 + p(t)) with t = 1 / (1 + z / 2); p is a Chebyshev fit, good to 1.2e-7 of the result everywhere.
  const float t = 1.0f / (1.0f + 0.5f * z);
  float p = 0.17087277f;
  p = rounded_once(p, t, -0.82215223f);
  p = rounded_once(p, t, 1.48851587f);
  p = rounded_once(p, t, -1.13520398f);
  p = rounded_once(p, t, 0.27886807f);
  p = rounded_once(p, t, -0.18628806f);
  p = rounded_once(p, t, 0.09678418f);
  p = rounded_once(p, t, 0.37409196f);
  p = rounded_once(p, t, 1.00002368f);
  p = rounded_once(p, t, -1.26551223f);
  // The square of z cut to 12 bits is exact; what is missing is small and goes with p. A rounded square would cost the tail its
  // last bits.
  const float cut = float_of(bits_of(z) & 0xFFFFF000u);
  const float positive = t * exp_of_sum(-cut * cut, (cut - z) * (cut + z) + p);
  return x < 0.0f ? 2.0f - positive : positive;
}

// What of a normal distribution lies below x.
inline double normal_share(double x) { return 0.5 * __builtin_erfc(x * -0.7071067811865476); }

INFINIOP_INLINE float normal_share(float x) {
  // What lies between 0 and the magnitude, as the magnitude times a quotient of polynomials of its square, good to 1e-8: what is left is rounding, 2.2e-7
  // at most. From 5.5 on it is a half, so that nothing is negative, and 0 and 1 come out as they are.
  const float magnitude = magnitude_up_to(5.50000525f, x), square = magnitude * magnitude;
  const float p = polynomial(square, 2.27493491e-8f, 6.35211518e-6f, 1.68825980e-4f, 4.67726216e-3f, 3.38526815e-2f,
                             3.98942232e-1f);
  const float q =
      polynomial(square, 1.19750322e-6f, 7.36475704e-5f, 1.88444660e-3f, 2.86458917e-2f, 2.51522005e-1f, 1.0f);
  return 0.5f + signed_as(magnitude_up_to(0.5f, magnitude * p / q), x);
}

inline double erf(double x) { return __builtin_erf(x); }

INFINIOP_INLINE float erf(float x) {
  const float magnitude = fabs(x), square = x * x;
  float p = 7.853861353153693e-5f;
  p = rounded_once(p, square, -8.010193625184903e-4f);
  p = rounded_once(p, square, 5.188327685732524e-3f);
  p = rounded_once(p, square, -2.685381193529856e-2f);
  p = rounded_once(p, square, 1.128358514861418e-1f);
  p = rounded_once(p, square, -3.761262582423300e-1f);
  p = rounded_once(p, square, 1.128379165726710f);
  const float far = 1.0f - erfc(magnitude);
  return magnitude < 1.0f ? p * x : (x < 0.0f ? -far : far);
}
#endif
#undef INFINIOP_LIBRARY_FUNCTION

// gelu() for results of 16 bits. The 32nd root of the tail is a polynomial, and five squares make the tail of it: neither a power of 2 nor a quotient is to be
// computed. For F16 it is off by a hundred-thousandth of the result, for BF16, whose numbers are smaller, by 2e-4: a tenth of what rounding to it may change.
INFINIOP_INLINE float gelu_of_root(float x, float magnitude, float root) {
  float tail = root;
  for (int i = 0; i < 5; ++i) tail *= tail;
  // A product, so that of minus infinity it is no number, as in F32.
  return rounded_once(-magnitude, tail, x * (x < 0.0f ? 0.0f : 1.0f));
}
INFINIOP_INLINE float gelu_float16(float x) {
  // Where the polynomial ends in 0; F16 has results down to -5.8.
  const float magnitude = magnitude_up_to(13.869f, x);
  return gelu_of_root(x, magnitude,
                      polynomial(magnitude, 3.19359922e-7f, -1.62459619e-5f, 2.61644517e-4f, -9.17826099e-4f,
                                 -9.40188941e-3f, -2.4406373e-2f, 9.78572337e-1f));
}
INFINIOP_INLINE float gelu_bfloat16(float x) {
  const float magnitude = magnitude_up_to(14.6f, x), square = magnitude * magnitude;
  const float even =
      polynomial(square, -6.65261698e-10f, -1.94236344e-7f, 2.43118517e-4f, -9.4418309e-3f, 9.78575508e-1f);
  const float odd = polynomial(square, 3.05686823e-8f, -1.20068949e-5f, -8.76341974e-4f, -2.43991754e-2f);
  return gelu_of_root(x, magnitude, rounded_once(odd, magnitude, even));
}
#undef INFINIOP_INLINE

#define INFINIOP_LIBRARY_FUNCTION(name)                                     \
  inline double name(double a, double b) { return INFINIOP_C(name)(a, b); } \
  inline float name(float a, float b) { return INFINIOP_C(name##f)(a, b); }
INFINIOP_LIBRARY_FUNCTION(copysign)
INFINIOP_LIBRARY_FUNCTION(nextafter)
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
