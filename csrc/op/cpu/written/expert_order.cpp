// PrepareMoeInput and MoeAlign: pairs of tokens and experts in the order of experts. There are few of them, so one worker does it all.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

Split in_one(const WrittenPlan&, const double*, int) { return {1, 1}; }

struct Numbers {
  int32_t* at;
  const TensorView& view;

  int32_t& operator[](int64_t i) const { return at[offset_in(view, 0, view.ndim, i)]; }
};

Numbers numbers_of(const WrittenCall& call, int tensor) { return {call.at<int32_t>(tensor), call.plan.tensor[tensor]}; }

namespace prepare {

using namespace infiniop::prepare_moe_input;

constexpr int64_t kScaleRows = 128;  // that share scales of a block: offsets of these are multiples of it

size_t workspace(const WrittenPlan&, const double* attributes) {
  return sizeof(int32_t) * static_cast<size_t>(attributes[attribute::num_experts]);
}

infinirtError_t run(const WrittenCall& call, int64_t, int64_t) {
  const WrittenPlan& plan = call.plan;
  const auto experts = static_cast<int64_t>(call.attributes[attribute::num_experts]);
  const auto n = static_cast<int32_t>(call.attributes[attribute::n]),
             k = static_cast<int32_t>(call.attributes[attribute::k]);
  const int64_t topk = plan.size[size::c], pairs = plan.size[size::t] * topk;
  auto* next =
      static_cast<int32_t*>(call.workspace);  // of each expert how many there are, then where the next one goes
  const Numbers ids = numbers_of(call, tensor::topk_ids);
  std::fill(next, next + experts, 0);
  for (int64_t i = 0; i < pairs; ++i) {
    const int32_t expert = ids[i];
    if (expert >= 0 && expert < experts) ++next[expert];
  }
  const bool has_scales = plan.tensor[tensor::blockscale_offsets].is_given;
  const Numbers offsets = numbers_of(call, tensor::expert_offsets),
                scales = numbers_of(call, tensor::blockscale_offsets);
  const Numbers first = numbers_of(call, tensor::problem_sizes1), second = numbers_of(call, tensor::problem_sizes2);
  int64_t begin = 0, scale_begin = 0;
  for (int64_t expert = 0; expert < experts; ++expert) {
    const int32_t count = next[expert], sizes[2][3] = {{count, 2 * n, k}, {count, k, n}};
    for (int i = 0; i < 3; ++i) {
      first[3 * expert + i] = sizes[0][i];
      second[3 * expert + i] = sizes[1][i];
    }
    offsets[expert] = next[expert] = static_cast<int32_t>(begin);
    if (has_scales) scales[expert] = static_cast<int32_t>(scale_begin);
    begin += count;
    scale_begin += (count + kScaleRows - 1) / kScaleRows * kScaleRows;
  }
  offsets[experts] = static_cast<int32_t>(begin);
  if (has_scales) scales[experts] = static_cast<int32_t>(scale_begin);
  const Numbers sources = numbers_of(call, tensor::input_permutation),
                places = numbers_of(call, tensor::output_permutation);
  for (int64_t i = 0; i < pairs; ++i) {
    const int32_t expert = ids[i];
    if (expert < 0 || expert >= experts) continue;
    const int32_t row = next[expert]++;
    sources[row] = static_cast<int32_t>(i / topk);
    places[i] = row;
  }
  return infinirtSuccess;
}

}  // namespace prepare

namespace align {

using namespace infiniop::moe_align;

size_t workspace(const WrittenPlan&, const double* attributes) {
  return sizeof(int32_t) * (static_cast<size_t>(attributes[attribute::num_experts]) + 1);
}

infinirtError_t run(const WrittenCall& call, int64_t, int64_t) {
  const WrittenPlan& plan = call.plan;
  // Expert -1 is the first of them.
  const int64_t groups = static_cast<int64_t>(call.attributes[attribute::num_experts]) + 1;
  const auto block = static_cast<int64_t>(call.attributes[attribute::block_size]);
  const int64_t pairs = plan.size[size::t] * plan.size[size::c];
  const Numbers ids = numbers_of(call, tensor::topk_ids), tokens = numbers_of(call, tensor::sorted_token_ids),
                owners = numbers_of(call, tensor::expert_ids);
  const auto* map = call.at<const int32_t>(tensor::expert_map);
  // -1: it is left out.
  const auto group_of = [&](int64_t pair) -> int64_t {
    int64_t expert = ids[pair];
    if (map) {
      expert = expert < 0 ? -1 : map[expert];
      if (expert < 0) return -1;
    }
    return expert >= -1 && expert + 1 < groups ? expert + 1 : -1;
  };
  auto* next = static_cast<int32_t*>(call.workspace);
  std::fill(next, next + groups, 0);
  for (int64_t i = 0; i < pairs; ++i) {
    const int64_t group = group_of(i);
    if (group >= 0) ++next[group];
  }
  if (call.attributes[attribute::pad_sorted_token_ids] != 0) {
    for (int64_t i = 0; i < plan.size[size::s]; ++i) tokens[i] = static_cast<int32_t>(pairs);
  }
  int64_t begin = 0;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t blocks = (next[group] + block - 1) / block;
    for (int64_t i = 0; i < blocks; ++i) owners[begin / block + i] = static_cast<int32_t>(group - 1);
    next[group] = static_cast<int32_t>(begin);
    begin += blocks * block;
  }
  numbers_of(call, tensor::num_tokens_post_padded)[0] = static_cast<int32_t>(begin);
  for (int64_t i = 0; i < pairs; ++i) {
    const int64_t group = group_of(i);
    if (group >= 0) tokens[next[group]++] = static_cast<int32_t>(i);
  }
  return infinirtSuccess;
}

}  // namespace align

}  // namespace

extern const WrittenKernel prepare_moe_input = {in_one, prepare::run, 1, prepare::workspace};
extern const WrittenKernel moe_align = {in_one, align::run, 1, align::workspace};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
