#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::mxfp4_dequantize;

constexpr int64_t kGroup = 32;  // numbers that share a scale
constexpr float kNumbers[16] = {0.f,  0.5f,  1.f,  1.5f,  2.f,  3.f,  4.f,  6.f,
                                -0.f, -0.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f};

// Items are groups.
Split split(const WrittenPlan& plan, const double*, int) { return {plan.rest * plan.size[size::s], 512}; }

float scale_of(uint8_t exponent) {
  if (exponent == 255) return __builtin_nanf("");
  return exponent == 0 ? 0x1p-127f : float_of(uint32_t{exponent} << 23);
}

template <class T>
void run_groups(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &out = plan.tensor[tensor::out], &packed = plan.tensor[tensor::packed],
                   &scales = plan.tensor[tensor::scales];
  const int64_t groups = plan.size[size::s];
  const int64_t out_step = out.stride[out.ndim - 1], packed_step = packed.stride[packed.ndim - 1];
  for (int64_t item = first; item < last; ++item) {
    const int64_t row = item / groups, group = item % groups;
    const float scale = scale_of(
        call.at<const uint8_t>(tensor::scales)[offset_of_rest(scales, row) + group * scales.stride[scales.ndim - 1]]);
    const uint8_t* from =
        call.at<const uint8_t>(tensor::packed) + offset_of_rest(packed, row) + group * (kGroup / 2) * packed_step;
    T* to = call.at<T>(tensor::out) + offset_of_rest(out, row) + group * kGroup * out_step;
    float numbers[kGroup];
    for (int64_t i = 0; i < kGroup / 2; ++i) {
      const uint8_t both = from[i * packed_step];
      numbers[2 * i] = kNumbers[both & 15] * scale;
      numbers[2 * i + 1] = kNumbers[both >> 4] * scale;
    }
    if (out_step == 1) {
      for (int64_t i = 0; i < kGroup; ++i) to[i] = narrow<T>(numbers[i]);
    } else {
      for (int64_t i = 0; i < kGroup; ++i) to[i * out_step] = narrow<T>(numbers[i]);
    }
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  with_float_type(call.plan.tensor[tensor::out].dtype,
                  [&](auto tag) { run_groups<typename decltype(tag)::type>(call, first, last); });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel mxfp4_dequantize = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
