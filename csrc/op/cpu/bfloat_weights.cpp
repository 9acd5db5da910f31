// Compiled for AVX512-BF16, as bfloat_pairs.cpp is and for the same reasons.
#include "op/cpu/bfloat_weights.h"

#ifdef INFINIOP_PAIRS
#include <immintrin.h>

namespace infiniop::cpu {

namespace {

constexpr int64_t kLanes = 16;

// 2 to the power of what is at most 0. Of minus infinity it is 0, of what is not a number the same: maxima have the second operand then.
[[gnu::always_inline]] inline __m512 power_of_2(__m512 x) {
  x = _mm512_max_ps(_mm512_set1_ps(-200.0f), x);
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 rest = _mm512_sub_ps(x, whole);
  __m512 sum = _mm512_fmadd_ps(rest, _mm512_set1_ps(9.582852867e-3f), _mm512_set1_ps(5.590642492e-2f));
  sum = _mm512_fmadd_ps(rest, sum, _mm512_set1_ps(2.402409862e-1f));
  sum = _mm512_fmadd_ps(rest, sum, _mm512_set1_ps(6.931241934e-1f));
  sum = _mm512_fmadd_ps(rest, sum, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(sum, whole);
}

// The first `count` of kLanes lanes.
[[gnu::always_inline]] inline __mmask16 first_lanes(int64_t count) {
  return count >= kLanes ? 0xFFFF : count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}

[[gnu::always_inline]] inline float largest_lane(__m512 lanes) {
  lanes = _mm512_max_ps(lanes, _mm512_shuffle_f32x4(lanes, lanes, 0x4E));
  lanes = _mm512_max_ps(lanes, _mm512_shuffle_f32x4(lanes, lanes, 0xB1));
  lanes = _mm512_max_ps(lanes, _mm512_permute_ps(lanes, 0x4E));
  return _mm512_cvtss_f32(_mm512_max_ps(lanes, _mm512_permute_ps(lanes, 0xB1)));
}

[[gnu::always_inline]] inline float sum_of_lanes(__m512 lanes) {
  lanes = _mm512_add_ps(lanes, _mm512_shuffle_f32x4(lanes, lanes, 0x4E));
  lanes = _mm512_add_ps(lanes, _mm512_shuffle_f32x4(lanes, lanes, 0xB1));
  lanes = _mm512_add_ps(lanes, _mm512_permute_ps(lanes, 0x4E));
  return _mm512_cvtss_f32(_mm512_add_ps(lanes, _mm512_permute_ps(lanes, 0xB1)));
}

}  // namespace

float weigh(const float* score, int64_t seen, int64_t count, float factor, Weighed& row, uint16_t* to, int64_t step) {
  constexpr float kNothing = -__builtin_huge_valf();
  const __m512 times = _mm512_set1_ps(factor), nothing = _mm512_set1_ps(kNothing);
  // What is not a number is left out of the largest, and makes its own weight, and the total, not a number.
  __m512 most[2] = {nothing, nothing};
  int64_t j = 0;
  for (; j + 2 * kLanes <= seen; j += 2 * kLanes) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      most[half] = _mm512_max_ps(_mm512_loadu_ps(score + j + half * kLanes), most[half]);
    }
  }
  for (; j < seen; j += kLanes) {
    const __mmask16 there = first_lanes(seen - j);
    most[0] = _mm512_mask_max_ps(most[0], there, _mm512_maskz_loadu_ps(there, score + j), most[0]);
  }
  const float here = largest_lane(_mm512_max_ps(most[0], most[1]));
  const float largest = here > row.largest ? here : row.largest;
  const float from = largest == kNothing ? 0.0f : largest;  // all of them -inf: there is nothing to weigh by
  const __m512 shift = _mm512_set1_ps(from);
  __m512 total[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  for (j = 0; j < count; j += 2 * kLanes, to += step) {
    __m512 weight[2];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int64_t place = j + half * kLanes;
      // First the difference, which is exact for the largest, however large that is.
      weight[half] = power_of_2(_mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(score + place), shift), times));
      if (place + kLanes > seen) weight[half] = _mm512_maskz_mov_ps(first_lanes(seen - place), weight[half]);
      total[half] = _mm512_add_ps(total[half], weight[half]);
    }
    _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(weight[1], weight[0])));
  }
  float before = 1;
  if (row.largest == kNothing) {
    before = 0;
  } else if (row.largest != largest) {
    before = _mm512_cvtss_f32(power_of_2(_mm512_set1_ps((row.largest - from) * factor)));
  }
  row.total = row.total * before + sum_of_lanes(_mm512_add_ps(total[0], total[1]));
  row.largest = largest;
  return before;
}

}  // namespace infiniop::cpu
#endif
