#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"
#include "op/expression.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::rwkv5_wkv;

constexpr int64_t kMostSize = 256;  // as the schema says

// Items are heads of sequences.
Split split(const WrittenPlan& plan, const double*, int) { return {plan.size[size::b] * plan.size[size::h], 1}; }

template <class T>
void bring(float* to, const T* from, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(widen(from[i * step]));
}

template <class T>
infinirtError_t run_heads(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const int64_t heads = plan.size[size::h], n = plan.size[size::d];
  const TensorView &state = plan.tensor[tensor::state], &out = plan.tensor[tensor::out];
  auto* s = reinterpret_cast<float*>(worker_buffer(sizeof(float) * static_cast<size_t>(n * n + 1)));
  if (!s) return infinirtErrorMemoryAllocation;
  float r[kMostSize], k[kMostSize], v[kMostSize], decay[kMostSize], bonus[kMostSize], sums[kMostSize];
  for (int64_t item = first; item < last; ++item) {
    const int64_t sequence = item / heads, head = item % heads;
    const auto of_head = [&](int tensor, float* to) {
      const TensorView& view = plan.tensor[tensor];
      bring(to, call.at<const T>(tensor) + head * view.stride[0], view.stride[1], n);
    };
    const auto of_token = [&](int tensor, int64_t token, float* to) {
      const TensorView& view = plan.tensor[tensor];
      bring(to,
            call.at<const T>(tensor) + sequence * view.stride[0] + token * view.stride[1] + head * n * view.stride[2],
            view.stride[2], n);
    };
    of_head(tensor::time_decay, decay);
    of_head(tensor::time_faaaa, bonus);
    for (int64_t i = 0; i < n; ++i) decay[i] = exp(-exp(decay[i]));
    float* kept = call.at<float>(tensor::state) + sequence * state.stride[0] + head * state.stride[1];
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) s[i * n + j] = kept[i * state.stride[2] + j * state.stride[3]];
    }
    for (int64_t token = 0; token < plan.size[size::t]; ++token) {
      of_token(tensor::receptance, token, r);
      of_token(tensor::key, token, k);
      of_token(tensor::value, token, v);
      std::fill(sums, sums + n, 0.f);
      for (int64_t i = 0; i < n; ++i) {
        float* row = s + i * n;
        const float direct = bonus[i] * k[i];
        for (int64_t j = 0; j < n; ++j) {
          sums[j] += r[i] * (direct * v[j] + row[j]);
          row[j] = k[i] * v[j] + decay[i] * row[j];
        }
      }
      T* to = call.at<T>(tensor::out) + sequence * out.stride[0] + token * out.stride[1] + head * n * out.stride[2];
      for (int64_t j = 0; j < n; ++j) to[j * out.stride[2]] = narrow<T>(sums[j]);
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) kept[i * state.stride[2] + j * state.stride[3]] = s[i * n + j];
    }
  }
  return infinirtSuccess;
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return with_float_type(call.plan.tensor[tensor::key].dtype,
                         [&](auto tag) { return run_heads<typename decltype(tag)::type>(call, first, last); });
}

}  // namespace

extern const WrittenKernel rwkv5_wkv = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
