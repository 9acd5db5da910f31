// Weights from 4 bits, eight of them in a word.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

// Items are rows.
Split split_rows(int64_t rows, int64_t columns) {
  return {rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, columns))};
}

inline float nibble(int32_t word, int shift) {
  return static_cast<float>((static_cast<uint32_t>(word) >> shift) & 15u);
}

namespace awq {

using namespace infiniop::dequantize_awq;

// Of each column of a word, where its number begins.
constexpr int kShift[8] = {0, 16, 4, 20, 8, 24, 12, 28};

Split split(const WrittenPlan& plan, const double*, int) {
  return split_rows(plan.size[size::k], 8 * plan.size[size::w]);
}

// Steps that are 1 are told at compile time.
template <class T, class Step>
void row(T* to, const int32_t* words, const T* scales, const int32_t* zeros, int64_t count, Step to_step,
         Step words_step, Step scales_step, Step zeros_step) {
  for (int64_t w = 0; w < count; ++w) {
    const int32_t word = words[w * words_step], zero = zeros[w * zeros_step];
    float numbers[8];
    for (int j = 0; j < 8; ++j) {
      numbers[j] = (nibble(word, kShift[j]) - nibble(zero, kShift[j])) *
                   static_cast<float>(widen(scales[(8 * w + j) * scales_step]));
    }
    for (int j = 0; j < 8; ++j) to[(8 * w + j) * to_step] = narrow<T>(numbers[j]);
  }
}

struct One {
  friend constexpr int64_t operator*(int64_t i, One) { return i; }
};

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &out = plan.tensor[tensor::out], &qweight = plan.tensor[tensor::qweight],
                   &scales = plan.tensor[tensor::scales], &zeros = plan.tensor[tensor::zeros];
  const int64_t words = plan.size[size::w], in_group = plan.size[size::k] / plan.size[size::g];
  const bool side_by_side =
      out.stride[1] == 1 && qweight.stride[1] == 1 && scales.stride[1] == 1 && zeros.stride[1] == 1;
  return with_float_type(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t k = first; k < last; ++k) {
      const int64_t group = k / in_group;
      T* to = call.at<T>(tensor::out) + k * out.stride[0];
      const auto* word = call.at<const int32_t>(tensor::qweight) + k * qweight.stride[0];
      const T* scale = call.at<const T>(tensor::scales) + group * scales.stride[0];
      const auto* zero = call.at<const int32_t>(tensor::zeros) + group * zeros.stride[0];
      if (side_by_side) {
        row(to, word, scale, zero, words, One{}, One{}, One{}, One{});
      } else {
        row<T, int64_t>(to, word, scale, zero, words, out.stride[1], qweight.stride[1], scales.stride[1],
                        zeros.stride[1]);
      }
    }
    return infinirtSuccess;
  });
}

}  // namespace awq

namespace gptq {

using namespace infiniop::dequantize_gptq;

Split split(const WrittenPlan& plan, const double*, int) { return split_rows(plan.size[size::k], plan.size[size::n]); }

constexpr int64_t kTile = 512;  // columns whose zero points are taken out of their words at a time

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &out = plan.tensor[tensor::out], &qweight = plan.tensor[tensor::qweight],
                   &scales = plan.tensor[tensor::scales], &zeros = plan.tensor[tensor::zeros],
                   &g_idx = plan.tensor[tensor::g_idx];
  const int64_t columns = plan.size[size::n];
  const bool side_by_side = out.stride[1] == 1 && qweight.stride[1] == 1 && scales.stride[1] == 1;
  return with_float_type(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t k = first; k < last; ++k) {
      const int64_t group = integer_at(call.address[tensor::g_idx], g_idx.dtype, k * g_idx.stride[0]);
      if (group < 0 || group >= plan.size[size::g]) return infinirtErrorInvalidValue;
      const int shift = static_cast<int>(k % 8) * 4;
      const auto* zero_words = call.at<const int32_t>(tensor::zeros) + group * zeros.stride[0];
      for (int64_t column = 0; column < columns; column += kTile) {
        const int64_t count = std::min(kTile, columns - column);
        float zero[kTile];
        for (int64_t w = 0; 8 * w < count; ++w) {
          const int32_t word = zero_words[(column / 8 + w) * zeros.stride[1]];
          for (int j = 0; j < 8; ++j) zero[8 * w + j] = nibble(word, 4 * j) + 1.0f;
        }
        T* to = call.at<T>(tensor::out) + k * out.stride[0] + column * out.stride[1];
        const auto* word =
            call.at<const int32_t>(tensor::qweight) + k / 8 * qweight.stride[0] + column * qweight.stride[1];
        const T* scale = call.at<const T>(tensor::scales) + group * scales.stride[0] + column * scales.stride[1];
        if (side_by_side) {
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) {
            to[i] = narrow<T>((nibble(word[i], shift) - zero[i]) * static_cast<float>(widen(scale[i])));
          }
          continue;
        }
        for (int64_t i = 0; i < count; ++i) {
          to[i * out.stride[1]] = narrow<T>((nibble(word[i * qweight.stride[1]], shift) - zero[i]) *
                                            static_cast<float>(widen(scale[i * scales.stride[1]])));
        }
      }
    }
    return infinirtSuccess;
  });
}

}  // namespace gptq

}  // namespace

extern const WrittenKernel dequantize_awq = {awq::split, awq::run};
extern const WrittenKernel dequantize_gptq = {gptq::split, gptq::run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
