// Experts of tokens. Pairs of a token and an expert are put in the experts' order first, so that the weights of an expert are read once,
// for all its tokens; experts without tokens cost nothing.
#include <algorithm>
#include <cmath>

#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/packed_product.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"
#include "op/elementary.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

namespace fused {

using namespace infiniop::fused_moe;

constexpr int64_t kRowsOfItem = 64;  // of a matrix of weights
constexpr int kLanes = 32, kTokens = 4;
constexpr int64_t kMany = 6;  // tokens of an expert from which on tiles are quicker than rows one by one

// Parts of the workspace.
struct Parts {
  int32_t* first;  // of each expert: its first pair in order; one more at the end
  int32_t* order;  // pairs, sorted by expert
  int32_t* place;  // of each pair, in that order
  float* input;  // of each pair in order: its token
  float* hidden;  // of each pair in order, between the two products
  float* up;  // what is multiplied with it
  float* result;  // of each pair in order

  static size_t bytes(const WrittenPlan& plan) {
    const int64_t pairs = plan.size[size::t] * plan.size[size::k];
    const int64_t words = plan.size[size::e] + 1 + 2 * pairs + 2 * pairs * (plan.size[size::i] + plan.size[size::h]);
    return 4 * static_cast<size_t>(words);
  }
  explicit Parts(const WrittenCall& call) {
    const WrittenPlan& plan = call.plan;
    const int64_t pairs = plan.size[size::t] * plan.size[size::k];
    first = static_cast<int32_t*>(call.workspace);
    order = first + plan.size[size::e] + 1;
    place = order + pairs;
    input = reinterpret_cast<float*>(place + pairs);
    hidden = input + pairs * plan.size[size::h];
    up = hidden + pairs * plan.size[size::i];
    result = up + pairs * plan.size[size::i];
  }
};

int64_t expert_of(const WrittenCall& call, int64_t pair) {
  const TensorView& view = call.plan.tensor[tensor::token_selected_experts];
  const int64_t chosen = call.plan.size[size::k];
  return integer_at(call.address[tensor::token_selected_experts], view.dtype,
                    pair / chosen * view.stride[0] + pair % chosen * view.stride[1]);
}

void sort_pairs(const WrittenCall& call, const Parts& parts) {
  const int64_t experts = call.plan.size[size::e], pairs = call.plan.size[size::t] * call.plan.size[size::k];
  std::fill(parts.first, parts.first + experts + 1, 0);
  const auto is_here = [&](int64_t expert) { return expert >= 0 && expert < experts; };
  for (int64_t pair = 0; pair < pairs; ++pair) {
    if (const int64_t expert = expert_of(call, pair); is_here(expert)) ++parts.first[expert + 1];
  }
  for (int64_t e = 0; e < experts; ++e) parts.first[e + 1] += parts.first[e];
  for (int64_t pair = 0; pair < pairs; ++pair) {
    if (const int64_t expert = expert_of(call, pair); is_here(expert)) {
      parts.place[pair] = parts.first[expert];
      parts.order[parts.first[expert]++] = static_cast<int32_t>(pair);
    }
  }
  // Each beginning has become the next one's.
  for (int64_t e = experts; e > 0; --e) parts.first[e] = parts.first[e - 1];
  parts.first[0] = 0;
}

// Of one row of weights with up to kTokens rows of floats.
template <int Tokens>
void dot(const float* __restrict weights, const float* const* rows, int64_t length, float* sums) {
  float lanes[Tokens][kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
#pragma GCC unroll 4
    for (int t = 0; t < Tokens; ++t) {
      for (int l = 0; l < kLanes; ++l) lanes[t][l] = multiply_add(weights[i + l], rows[t][i + l], lanes[t][l]);
    }
  }
  for (int t = 0; t < Tokens; ++t) {
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) lanes[t][l] += lanes[t][l + half];
    }
    float sum = lanes[t][0];
    for (int64_t j = i; j < length; ++j) sum += weights[j] * rows[t][j];
    sums[t] = sum;
  }
}

// Calls store(pair in order, sum) with the products of one row of weights and the tokens of an expert.
template <class RowOf, class Store>
void multiply(const float* weights, int64_t length, int64_t from, int64_t to, RowOf row_of, Store store) {
  for (int64_t at = from; at < to;) {
    const float* rows[kTokens];
    float sums[kTokens];
    const int count = static_cast<int>(std::min<int64_t>(kTokens, to - at));
    for (int t = 0; t < kTokens; ++t) rows[t] = row_of(at + std::min(t, count - 1));
    if (count == 1) {
      dot<1>(weights, rows, length, sums);
    } else {
      dot<kTokens>(weights, rows, length, sums);
    }
    for (int t = 0; t < count; ++t) store(at + t, sums[t]);
    at += count;
  }
}

// A row of weights as floats: where it lies, or a copy.
template <class T>
const float* widened(const T* from, int64_t step, int64_t length, float* buffer) {
  if constexpr (__is_same(T, float)) {
    if (step == 1) return from;
  }
  if (step == 1) {
    for (int64_t i = 0; i < length; ++i) buffer[i] = static_cast<float>(widen(from[i]));
  } else {
    for (int64_t i = 0; i < length; ++i) buffer[i] = static_cast<float>(widen(from[i * step]));
  }
  return buffer;
}

float silu(float x) { return x / (1 + std::exp(-x)); }

float between(float gate, float up, int activation) {
  if (activation == 0) return silu(gate);
  if (activation == 1) return silu(gate) * up;
  return 4 * std::tanh(gate / 4) / (1 + std::exp(-gate)) * 25 * std::tanh(up / 25);
}

template <class T>
float bias_of(const WrittenCall& call, int tensor, int64_t expert, int64_t row) {
  const TensorView& view = call.plan.tensor[tensor];
  if (!view.is_given) return 0;
  return static_cast<float>(widen(call.at<const T>(tensor)[expert * view.stride[0] + row * view.stride[1]]));
}

// Rows `begin` to `end` of an expert's matrix times what its tokens have, from pair `from` in order on: `to` has a row for each pair.
template <class T>
bool multiply_many(const WrittenCall& call, int tensor, int64_t expert, int64_t begin, int64_t end, int64_t from,
                   int64_t pairs, const float* rows, int64_t depth, float* to, int64_t to_row, int64_t to_column) {
  const TensorView& view = call.plan.tensor[tensor];
  const T* weights = call.at<const T>(tensor) + expert * view.stride[0] + begin * view.stride[1];
  return multiply_packed({static_cast<infiniDtype_t>(view.dtype), true, pairs, end - begin, depth, rows + from * depth,
                          weights, to + from * to_row + to_column, depth, 1, view.stride[2], view.stride[1], to_row, 1,
                          1.0f, 0.0f});
}

template <class T>
bool first_of_many(const WrittenCall& call, const Parts& parts, int64_t expert, int64_t begin, int64_t end) {
  const int64_t inner = call.plan.size[size::i], width = call.plan.size[size::h];
  const int activation = static_cast<int>(call.attributes[attribute::activation]);
  const int64_t from = parts.first[expert], pairs = parts.first[expert + 1] - from;
  const auto product = [&](int64_t shift, float* to) {
    return multiply_many<T>(call, tensor::w1, expert, shift + begin, shift + end, from, pairs, parts.input, width, to,
                            inner, begin);
  };
  if (!product(0, parts.hidden) || (activation != 0 && !product(inner, parts.up))) return false;
  float added[kRowsOfItem], up_added[kRowsOfItem];
  for (int64_t j = begin; j < end; ++j) {
    added[j - begin] = bias_of<T>(call, tensor::b1, expert, j);
    up_added[j - begin] = activation ? bias_of<T>(call, tensor::b1, expert, inner + j) : 0;
  }
  for (int64_t at = from; at < from + pairs; ++at) {
    float *hidden = parts.hidden + at * inner + begin, *up = parts.up + at * inner + begin;
    if (activation == 1) {
      for (int64_t j = 0; j < end - begin; ++j) {
        const float gate = hidden[j] + added[j];
        hidden[j] = gate / (1 + infiniop::exp(-gate)) * (up[j] + up_added[j]);
      }
      continue;
    }
    for (int64_t j = 0; j < end - begin; ++j) {
      hidden[j] = between(hidden[j] + added[j], activation ? up[j] + up_added[j] : 0, activation);
    }
  }
  return true;
}

template <class T>
bool second_of_many(const WrittenCall& call, const Parts& parts, int64_t expert, int64_t begin, int64_t end) {
  const int64_t inner = call.plan.size[size::i], width = call.plan.size[size::h];
  const int64_t from = parts.first[expert], pairs = parts.first[expert + 1] - from;
  if (!multiply_many<T>(call, tensor::w2, expert, begin, end, from, pairs, parts.hidden, inner, parts.result, width,
                        begin))
    return false;
  for (int64_t j = begin; j < end && call.plan.tensor[tensor::b2].is_given; ++j) {
    const float added = bias_of<T>(call, tensor::b2, expert, j);
    for (int64_t at = from; at < from + pairs; ++at) parts.result[at * width + j] += added;
  }
  return true;
}

template <class T>
void first_product(const WrittenCall& call, const Parts& parts, int64_t expert, int64_t begin, int64_t end,
                   float* buffer) {
  const WrittenPlan& plan = call.plan;
  const int64_t inner = plan.size[size::i], width = plan.size[size::h];
  const int activation = static_cast<int>(call.attributes[attribute::activation]);
  const int64_t from = parts.first[expert], to = parts.first[expert + 1];
  const TensorView& w1 = plan.tensor[tensor::w1];
  const auto token = [&](int64_t at) { return parts.input + at * width; };
  for (int64_t j = begin; j < end; ++j) {
    const auto row = [&](int64_t number) {
      const T* start = call.at<const T>(tensor::w1) + expert * w1.stride[0] + number * w1.stride[1];
      return widened(start, w1.stride[2], width, buffer);
    };
    const float added = bias_of<T>(call, tensor::b1, expert, j);
    if (activation == 0) {
      multiply(row(j), width, from, to, token,
               [&](int64_t at, float sum) { parts.hidden[at * inner + j] = silu(sum + added); });
      continue;
    }
    multiply(row(j), width, from, to, token,
             [&](int64_t at, float sum) { parts.hidden[at * inner + j] = sum + added; });
    const float up_added = bias_of<T>(call, tensor::b1, expert, inner + j);
    multiply(row(inner + j), width, from, to, token, [&](int64_t at, float sum) {
      float& place = parts.hidden[at * inner + j];
      place = between(place, sum + up_added, activation);
    });
  }
}

template <class T>
void second_product(const WrittenCall& call, const Parts& parts, int64_t expert, int64_t begin, int64_t end,
                    float* buffer) {
  const WrittenPlan& plan = call.plan;
  const int64_t inner = plan.size[size::i], width = plan.size[size::h];
  const TensorView& w2 = plan.tensor[tensor::w2];
  for (int64_t j = begin; j < end; ++j) {
    const T* start = call.at<const T>(tensor::w2) + expert * w2.stride[0] + j * w2.stride[1];
    const float added = bias_of<T>(call, tensor::b2, expert, j);
    multiply(
        widened(start, w2.stride[2], inner, buffer), inner, parts.first[expert], parts.first[expert + 1],
        [&](int64_t at) { return parts.hidden + at * inner; },
        [&](int64_t at, float sum) { parts.result[at * width + j] = sum + added; });
  }
}

// What the experts of a token gave, with their scales.
template <class T>
void add_up(const WrittenCall& call, const Parts& parts, int64_t token, float* sums) {
  const WrittenPlan& plan = call.plan;
  const int64_t width = plan.size[size::h], chosen = plan.size[size::k];
  const TensorView &scales = plan.tensor[tensor::token_final_scales], &out = plan.tensor[tensor::out];
  std::fill(sums, sums + width, 0.0f);
  for (int64_t k = 0; k < chosen; ++k) {
    const int64_t pair = token * chosen + k, expert = expert_of(call, pair);
    if (expert < 0 || expert >= plan.size[size::e]) continue;
    const float scale =
        call.at<const float>(tensor::token_final_scales)[token * scales.stride[0] + k * scales.stride[1]];
    const float* from = parts.result + parts.place[pair] * width;
    for (int64_t i = 0; i < width; ++i) sums[i] += scale * from[i];
  }
  T* to = call.at<T>(tensor::out) + token * out.stride[0];
  for (int64_t i = 0; i < width; ++i) to[i * out.stride[1]] = narrow<T>(sums[i]);
}

enum Phase { kPrepare, kFirst, kSecond, kAdd, kPhases };

int64_t parts_of(int64_t rows) { return (rows + kRowsOfItem - 1) / kRowsOfItem; }

Split split(const WrittenPlan& plan, const double*, int phase) {
  const int64_t tokens = plan.size[size::t], width = std::max<int64_t>(1, plan.size[size::h]);
  // Of all experts only those that were chosen have something to do.
  const int64_t busy = std::min<int64_t>(plan.size[size::e], std::max<int64_t>(1, tokens * plan.size[size::k]));
  const int64_t some = std::max<int64_t>(1, plan.size[size::e] / std::max<int64_t>(1, busy) / 2);
  switch (phase) {
    case kPrepare:
      return {1, 1};
    case kFirst:
      return {plan.size[size::e] * parts_of(plan.size[size::i]), some};
    case kSecond:
      return {plan.size[size::e] * parts_of(plan.size[size::h]), some};
    default:
      return {tokens, std::max<int64_t>(1, 65536 / width)};
  }
}

template <class T>
infinirtError_t run_typed(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const Parts parts(call);
  const int64_t inner = plan.size[size::i], width = plan.size[size::h];
  const size_t buffer_bytes = 4 * static_cast<size_t>(std::max(inner, width) + 1);
  auto* buffer = reinterpret_cast<float*>(worker_buffer(buffer_bytes));
  if (!buffer) return infinirtErrorMemoryAllocation;
  if (call.phase == kPrepare) {
    sort_pairs(call, parts);
    const TensorView& input = plan.tensor[tensor::input];
    for (int64_t at = 0; at < parts.first[plan.size[size::e]]; ++at) {
      const int64_t token = parts.order[at] / plan.size[size::k];
      const T* from = call.at<const T>(tensor::input) + token * input.stride[0];
      float* to = parts.input + at * width;
      for (int64_t i = 0; i < width; ++i) to[i] = static_cast<float>(widen(from[i * input.stride[1]]));
    }
    return infinirtSuccess;
  }
  if (call.phase == kAdd) {
    for (int64_t token = first; token < last; ++token) add_up<T>(call, parts, token, buffer);
    return infinirtSuccess;
  }
  const int64_t rows = call.phase == kFirst ? inner : width, items = parts_of(rows);
  for (int64_t item = first; item < last; ++item) {
    const int64_t expert = item / items, begin = item % items * kRowsOfItem;
    if (parts.first[expert] == parts.first[expert + 1]) continue;
    const int64_t end = std::min(rows, begin + kRowsOfItem);
    if (parts.first[expert + 1] - parts.first[expert] >= kMany) {
      const bool done = call.phase == kFirst ? first_of_many<T>(call, parts, expert, begin, end)
                                             : second_of_many<T>(call, parts, expert, begin, end);
      if (!done) return infinirtErrorMemoryAllocation;
      continue;
    }
    // What tiles need is the same memory.
    buffer = reinterpret_cast<float*>(worker_buffer(buffer_bytes));
    if (!buffer) return infinirtErrorMemoryAllocation;
    if (call.phase == kFirst) {
      first_product<T>(call, parts, expert, begin, end, buffer);
    } else {
      second_product<T>(call, parts, expert, begin, end, buffer);
    }
  }
  return infinirtSuccess;
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return with_float_type(call.plan.tensor[tensor::out].dtype, [&](auto tag) -> infinirtError_t {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= sizeof(float)) return run_typed<T>(call, first, last);
    return infinirtErrorNotSupported;
  });
}

size_t workspace(const WrittenPlan& plan, const double*) { return Parts::bytes(plan); }

}  // namespace fused

namespace summed {

using namespace infiniop::moe_sum;

Split split(const WrittenPlan& plan, const double*, int) {
  const int64_t work = std::max<int64_t>(1, plan.size[size::h] * std::max<int64_t>(1, plan.size[size::k]));
  return {plan.size[size::t], std::max<int64_t>(1, 65536 / work)};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const int64_t width = plan.size[size::h];
  auto* sums = reinterpret_cast<float*>(worker_buffer(4 * static_cast<size_t>(width + 1)));
  if (!sums) return infinirtErrorMemoryAllocation;
  const TensorView &input = plan.tensor[tensor::input], &output = plan.tensor[tensor::output];
  with_float_type(output.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t t = first; t < last; ++t) {
      std::fill(sums, sums + width, 0.0f);
      for (int64_t k = 0; k < plan.size[size::k]; ++k) {
        const T* from = call.at<const T>(tensor::input) + t * input.stride[0] + k * input.stride[1];
        for (int64_t i = 0; i < width; ++i) sums[i] += static_cast<float>(widen(from[i * input.stride[2]]));
      }
      T* to = call.at<T>(tensor::output) + t * output.stride[0];
      for (int64_t i = 0; i < width; ++i) to[i * output.stride[1]] = narrow<T>(sums[i]);
    }
  });
  return infinirtSuccess;
}

}  // namespace summed

}  // namespace

extern const WrittenKernel fused_moe = {fused::split, fused::run, fused::kPhases, fused::workspace};
extern const WrittenKernel moe_sum = {summed::split, summed::run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
