// Experts of tokens, on the CPU: scores, what is added to them for the choice, and the weights that are left of them.
#pragma once

#include "op/cpu/written/ordering.h"
#include "op/expression.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

struct Routing {
  bool by_softmax = false;  // scores are softmaxes, or else sigmoids
  double cap = 0;  // c * tanh(x / c) is taken in place of x; 0: x is
  int64_t groups = 1, best_groups = 1;
  float excluded = 0;  // what elements of other groups count as
  int64_t chosen = 0, shared = 0;
  bool renormalize = false;
  float least_sum = 0;  // is added to the sum that weights are divided by
  float factor = 1;  // of all weights
  float shared_weight = 0;
};

struct RoutedTensors {
  int x, bias, weights, indices;  // tensors; bias may be one that is not given
  int64_t experts;
};

inline Split split_tokens(int64_t tokens, int64_t experts) { return {tokens, rows_worth(4096, experts)}; }

// What one token's experts are chosen with: scores, and the keys of what they are chosen by.
struct TokenScores {
  float* scores;
  uint32_t* keys;
  int64_t experts;

  template <class T>
  void read(const T* x, int64_t step, double cap) const {
    for (int64_t i = 0; i < experts; ++i) scores[i] = widen(x[i * step]);
    if (cap == 0) return;
    const auto c = static_cast<float>(cap);
    for (int64_t i = 0; i < experts; ++i) scores[i] = tanh(scores[i] / c) * c;
  }

  void softmax() const {
    float largest = -__builtin_inff();
    for (int64_t i = 0; i < experts; ++i) largest = scores[i] > largest ? scores[i] : largest;
    for (int64_t i = 0; i < experts; ++i) scores[i] = exp(scores[i] - largest);
    double total = 0;
    for (int64_t i = 0; i < experts; ++i) total += double(scores[i]);
    const auto factor = static_cast<float>(1 / total);
    for (int64_t i = 0; i < experts; ++i) scores[i] *= factor;
  }

  void sigmoids() const {
    for (int64_t i = 0; i < experts; ++i) scores[i] = sigmoid(scores[i]);
  }

  // The first of the largest; its key becomes 0, which is below all others.
  int64_t take_best() const {
    uint32_t best = 0;
    for (int64_t i = 0; i < experts; ++i) best = keys[i] > best ? keys[i] : best;
    int64_t at = 0;
    while (keys[at] != best) ++at;
    keys[at] = 0;
    return at;
  }
};

inline float of_key(uint32_t key) { return float_of(key & 0x80000000u ? key ^ 0x80000000u : ~key); }

// Keys of the groups that are not among those whose two best are best together become that of `routing.excluded`.
inline void mask_groups(const Routing& routing, const TokenScores& token, uint32_t* sums) {
  const int64_t per_group = token.experts / routing.groups;
  for (int64_t g = 0; g < routing.groups; ++g) {
    const uint32_t* keys = token.keys + g * per_group;
    uint32_t best = 0, second = 0;
    for (int64_t i = 0; i < per_group; ++i) {
      const uint32_t smaller = keys[i] < best ? keys[i] : best;
      second = smaller > second ? smaller : second;
      best = keys[i] > best ? keys[i] : best;
    }
    sums[g] = key_of(of_key(best) + (per_group > 1 ? of_key(second) : 0.0f));
  }
  const TokenScores groups{nullptr, sums, routing.groups};
  for (int64_t i = 0; i < routing.best_groups; ++i) groups.take_best();
  const uint32_t excluded = key_of(routing.excluded);
  for (int64_t g = 0; g < routing.groups; ++g) {
    if (sums[g] == 0) continue;
    for (int64_t i = 0; i < per_group; ++i) token.keys[g * per_group + i] = excluded;
  }
}

inline infinirtError_t route(const WrittenCall& call, const RoutedTensors& tensors, const Routing& routing,
                             int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &x = plan.tensor[tensors.x], &weights = plan.tensor[tensors.weights],
                   &indices = plan.tensor[tensors.indices];
  const int64_t all = routing.chosen + routing.shared;
  char* memory = worker_buffer(static_cast<size_t>(tensors.experts + 16) * 3 * sizeof(float));
  if (!memory) return infinirtErrorMemoryAllocation;
  auto* scores = reinterpret_cast<float*>(memory);
  auto* keys = reinterpret_cast<uint32_t*>(scores + tensors.experts + 16);
  const TokenScores token{scores, keys, tensors.experts};
  for (int64_t item = first; item < last; ++item) {
    with_float_type(x.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (sizeof(T) <= 4)
        token.read(call.at<const T>(tensors.x) + item * x.stride[0], x.stride[1], routing.cap);
    });
    routing.by_softmax ? token.softmax() : token.sigmoids();
    if (tensors.bias >= 0 && plan.tensor[tensors.bias].is_given) {
      const auto* bias = call.at<const float>(tensors.bias);
      const int64_t step = plan.tensor[tensors.bias].stride[0];
      for (int64_t i = 0; i < token.experts; ++i) keys[i] = key_of(scores[i] + bias[i * step]);
    } else {
      for (int64_t i = 0; i < token.experts; ++i) keys[i] = key_of(scores[i]);
    }
    if (routing.groups > 1) mask_groups(routing, token, keys + token.experts + 16);
    // Outputs that are not described lie without gaps.
    const bool described = weights.is_given;
    float* to = call.at<float>(tensors.weights) + item * (described ? weights.stride[0] : all);
    int32_t* places = call.at<int32_t>(tensors.indices) + item * (described ? indices.stride[0] : all);
    const int64_t to_step = described ? weights.stride[1] : 1, place_step = described ? indices.stride[1] : 1;
    float sum = routing.least_sum;
    for (int64_t i = 0; i < routing.chosen; ++i) {
      const int64_t expert = token.take_best();
      places[i * place_step] = static_cast<int32_t>(expert);
      to[i * to_step] = scores[expert];
      sum += scores[expert];
    }
    if (routing.renormalize) {
      for (int64_t i = 0; i < routing.chosen; ++i) to[i * to_step] = to[i * to_step] / sum * routing.factor;
    }
    for (int64_t i = routing.chosen; i < all; ++i) {
      places[i * place_step] = static_cast<int32_t>(token.experts + i - routing.chosen);
      to[i * to_step] = routing.shared_weight * routing.factor;
    }
  }
  return infinirtSuccess;
}

}  // namespace
}  // namespace infiniop::cpu
