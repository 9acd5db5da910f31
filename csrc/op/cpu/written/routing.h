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
    const float largest = in_lanes<float>(-__builtin_inff(), [](float a, float b) { return b > a ? b : a; });
    for (int64_t i = 0; i < experts; ++i) scores[i] = exp(scores[i] - largest);
    const auto total = in_lanes<double>(0, [](double a, double b) { return a + b; });
    const auto factor = static_cast<float>(1 / total);
    for (int64_t i = 0; i < experts; ++i) scores[i] *= factor;
  }

  // All scores, joined by `join` in a fixed order that vectors can keep.
  template <class C, class Join>
  C in_lanes(C start, Join join) const {
    constexpr int kLanes = 8;
    C lanes[kLanes];
    for (C& lane : lanes) lane = start;
    int64_t i = 0;
    for (; i + kLanes <= experts; i += kLanes) {
      for (int j = 0; j < kLanes; ++j) lanes[j] = join(lanes[j], static_cast<C>(scores[i + j]));
    }
    for (; i < experts; ++i) lanes[0] = join(lanes[0], static_cast<C>(scores[i]));
    for (int j = 1; j < kLanes; ++j) lanes[0] = join(lanes[0], lanes[j]);
    return lanes[0];
  }

  void sigmoids() const {
    for (int64_t i = 0; i < experts; ++i) scores[i] = sigmoid(scores[i]);
  }
};

// Places by their keys, the largest first and the first of equals before the others. Each word is a key with its place below
// it, so that one comparison decides; the largest of each of 16 columns is kept, and only that of the column that lost its
// largest is looked for again.
class BestFirst {
 public:
  static constexpr size_t words(int64_t places) {
    return static_cast<size_t>(places + kColumns - 1) / kColumns * kColumns;
  }

  BestFirst(int64_t* memory, const uint32_t* keys, int64_t places) : words_(memory), end_(words(places)) {
    for (int64_t i = 0; i < places; ++i) words_[i] = int64_t{keys[i]} << 31 | (kLastPlace - i);
    for (auto i = static_cast<size_t>(places); i < end_; ++i) words_[i] = kTaken;
    for (int64_t& top : tops_) top = kTaken;
    for (size_t i = 0; i < end_; i += kColumns) {
      for (size_t j = 0; j < kColumns; ++j) tops_[j] = words_[i + j] > tops_[j] ? words_[i + j] : tops_[j];
    }
  }

  int64_t take() {
    int64_t best = kTaken;
    for (const int64_t top : tops_) best = top > best ? top : best;
    const auto place = static_cast<size_t>(kLastPlace - (best & kLastPlace));
    words_[place] = kTaken;
    int64_t next = kTaken;
    for (size_t i = place % kColumns; i < end_; i += kColumns) next = words_[i] > next ? words_[i] : next;
    tops_[place % kColumns] = next;
    return static_cast<int64_t>(place);
  }

 private:
  static constexpr size_t kColumns = 16;
  static constexpr int64_t kLastPlace = 0x7fffffff, kTaken = -1;
  int64_t* words_;
  size_t end_;
  int64_t tops_[kColumns];
};

inline float of_key(uint32_t key) { return float_of(key & 0x80000000u ? key ^ 0x80000000u : ~key); }

// Keys of the groups that are not among those whose two best are best together become that of `routing.excluded`.
inline void mask_groups(const Routing& routing, const TokenScores& token, uint32_t* sums, int64_t* memory) {
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
  BestFirst groups(memory, sums, routing.groups);
  for (int64_t i = 0; i < routing.best_groups; ++i) sums[groups.take()] = 0;  // below all keys
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
  const size_t padded = BestFirst::words(tensors.experts);  // groups are no more than experts
  char* memory = worker_buffer(padded * (sizeof(int64_t) + sizeof(float) + 2 * sizeof(uint32_t)));
  if (!memory) return infinirtErrorMemoryAllocation;
  auto* words = reinterpret_cast<int64_t*>(memory);
  auto* scores = reinterpret_cast<float*>(words + padded);
  auto* keys = reinterpret_cast<uint32_t*>(scores + padded);
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
    if (routing.groups > 1) mask_groups(routing, token, keys + padded, words);
    // Outputs that are not described lie without gaps.
    const bool described = weights.is_given;
    float* to = call.at<float>(tensors.weights) + item * (described ? weights.stride[0] : all);
    int32_t* places = call.at<int32_t>(tensors.indices) + item * (described ? indices.stride[0] : all);
    const int64_t to_step = described ? weights.stride[1] : 1, place_step = described ? indices.stride[1] : 1;
    float sum = routing.least_sum;
    BestFirst best(words, keys, token.experts);
    for (int64_t i = 0; i < routing.chosen; ++i) {
      const int64_t expert = best.take();
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
