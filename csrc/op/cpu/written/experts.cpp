// Experts of tokens. Pairs of a token and an expert are put in the experts' order first, so that the weights of an expert are read once,
// for all its tokens; experts without tokens cost nothing.
#include <algorithm>
#include <cmath>

#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/few_rows.h"
#include "op/cpu/packed_product.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"
#include "op/elementary.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

namespace fused {

using namespace infiniop::fused_moe;

// Of a matrix of weights, what one item multiplies. What the tokens have is brought anew for each, which costs more the more tokens there are.
constexpr int64_t kFewestRows = 64, kMostRows = 256;
int64_t rows_of_item(const WrittenPlan& plan) {
  const int64_t pairs = plan.size[size::t] * plan.size[size::k];
  return pairs > kMostFewRows * plan.size[size::e] ? kMostRows : kFewestRows;
}

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
bool multiply(const WrittenCall& call, int tensor, int64_t expert, int64_t begin, int64_t end, int64_t from,
              int64_t pairs, const float* rows, int64_t depth, float* to, int64_t to_row, int64_t to_column) {
  const TensorView& view = call.plan.tensor[tensor];
  const T* weights = call.at<const T>(tensor) + expert * view.stride[0] + begin * view.stride[1];
  const auto dtype = static_cast<infiniDtype_t>(view.dtype);
  const float* a = rows + from * depth;
  float* c = to + from * to_row + to_column;
  if (depth == 0) {
    for (int64_t pair = 0; pair < pairs; ++pair) std::fill_n(c + pair * to_row, end - begin, 0.0f);
    return true;
  }
  if (pairs <= kMostFewRows && view.stride[2] == 1) {
    return multiply_few_rows({dtype, pairs, end - begin, depth, a, weights, c, depth, view.stride[1], to_row, 1, 1.0f,
                              0.0f, false, true, true});
  }
  return multiply_packed({dtype, true, pairs, end - begin, depth, a, weights, c, depth, 1, view.stride[2],
                          view.stride[1], to_row, 1, 1.0f, 0.0f});
}

template <class T>
bool first_product(const WrittenCall& call, const Parts& parts, int64_t expert, int64_t begin, int64_t end) {
  const int64_t inner = call.plan.size[size::i], width = call.plan.size[size::h];
  const int activation = static_cast<int>(call.attributes[attribute::activation]);
  const int64_t from = parts.first[expert], pairs = parts.first[expert + 1] - from;
  const auto product = [&](int64_t shift, float* to) {
    return multiply<T>(call, tensor::w1, expert, shift + begin, shift + end, from, pairs, parts.input, width, to, inner,
                       begin);
  };
  if (!product(0, parts.hidden) || (activation != 0 && !product(inner, parts.up))) return false;
  float added[kMostRows], up_added[kMostRows];
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
bool second_product(const WrittenCall& call, const Parts& parts, int64_t expert, int64_t begin, int64_t end) {
  const int64_t inner = call.plan.size[size::i], width = call.plan.size[size::h];
  const int64_t from = parts.first[expert], pairs = parts.first[expert + 1] - from;
  if (!multiply<T>(call, tensor::w2, expert, begin, end, from, pairs, parts.hidden, inner, parts.result, width, begin))
    return false;
  for (int64_t j = begin; j < end && call.plan.tensor[tensor::b2].is_given; ++j) {
    const float added = bias_of<T>(call, tensor::b2, expert, j);
    for (int64_t at = from; at < from + pairs; ++at) parts.result[at * width + j] += added;
  }
  return true;
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

int64_t items_of(const WrittenPlan& plan, int64_t rows) { return (rows + rows_of_item(plan) - 1) / rows_of_item(plan); }

Split split(const WrittenPlan& plan, const double*, int phase) {
  const int64_t tokens = plan.size[size::t], width = std::max<int64_t>(1, plan.size[size::h]);
  // Of all experts only those that were chosen have something to do.
  const int64_t busy = std::min<int64_t>(plan.size[size::e], std::max<int64_t>(1, tokens * plan.size[size::k]));
  const int64_t some = std::max<int64_t>(1, plan.size[size::e] / std::max<int64_t>(1, busy) / 2);
  switch (phase) {
    case kPrepare:
      return {1, 1};
    case kFirst:
      return {plan.size[size::e] * items_of(plan, plan.size[size::i]), some};
    case kSecond:
      return {plan.size[size::e] * items_of(plan, plan.size[size::h]), some};
    default:
      return {tokens, std::max<int64_t>(1, 65536 / width)};
  }
}

template <class T>
infinirtError_t run_typed(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const Parts parts(call);
  const int64_t inner = plan.size[size::i], width = plan.size[size::h];
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
    auto* sums = reinterpret_cast<float*>(worker_buffer(sizeof(float) * static_cast<size_t>(width + 1)));
    if (!sums) return infinirtErrorMemoryAllocation;
    for (int64_t token = first; token < last; ++token) add_up<T>(call, parts, token, sums);
    return infinirtSuccess;
  }
  const int64_t rows = call.phase == kFirst ? inner : width, items = items_of(plan, rows);
  for (int64_t item = first; item < last; ++item) {
    const int64_t expert = item / items, begin = item % items * rows_of_item(plan);
    if (parts.first[expert] == parts.first[expert + 1]) continue;
    const int64_t end = std::min(rows, begin + rows_of_item(plan));
    const bool done = call.phase == kFirst ? first_product<T>(call, parts, expert, begin, end)
                                           : second_product<T>(call, parts, expert, begin, end);
    if (!done) return infinirtErrorMemoryAllocation;
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
