#include "infiniop/generated/written.h"
#include "op/cpu/written/attention.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::paged_attention_prefill;

int64_t group_of(const WrittenPlan& plan) { return plan.size[size::h] / std::max<int64_t>(1, plan.size[size::g]); }

// Which tokens belong together is known only when the kernel runs: items are tokens of each head of keys.
Split split(const WrittenPlan& plan, const double*, int) {
  const int64_t together = std::min<int64_t>(kRows / std::max<int64_t>(1, group_of(plan)), plan.size[size::t]);
  return {plan.size[size::t] * plan.size[size::g], std::max<int64_t>(1, together)};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &out = plan.tensor[tensor::out], &q = plan.tensor[tensor::q], &k = plan.tensor[tensor::k_cache],
                   &v = plan.tensor[tensor::v_cache], &tables = plan.tensor[tensor::block_tables],
                   &lengths = plan.tensor[tensor::seq_lens], &starts = plan.tensor[tensor::cum_seq_lens_q],
                   &slopes = plan.tensor[tensor::alibi_slopes];
  const int64_t group = group_of(plan), tokens = plan.size[size::t], sequences = plan.size[size::s];
  const auto start_of = [&](int64_t sequence) {
    return integer_at(call.address[tensor::cum_seq_lens_q], starts.dtype, sequence * starts.stride[0]);
  };
  return with_float_type(q.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t s = 0;
    // Tokens of one sequence and one head go together, as many as there is room for.
    for (int64_t item = first; item < last;) {
      const int64_t head = item / tokens, token = item % tokens;
      if (s >= sequences || token < start_of(s)) s = 0;
      while (s < sequences && token >= start_of(s + 1)) ++s;
      if (s >= sequences || token < start_of(s)) {  // of no sequence
        ++item;
        continue;
      }
      const int64_t begin = start_of(s), end = std::min(start_of(s + 1), tokens);
      const int64_t keys = integer_at(call.address[tensor::seq_lens], lengths.dtype, s * lengths.stride[0]);
      if (begin < 0 || keys > plan.size[size::u] * plan.size[size::p]) return infinirtErrorInvalidValue;
      const int64_t taken = std::min({last - item, end - token, std::max<int64_t>(1, kRows / group)});
      const auto* table = static_cast<const char*>(call.address[tensor::block_tables]) +
                          s * tables.stride[0] * static_cast<int64_t>(element_size(tables.dtype));
      const auto pages_of = [&](int cache, const TensorView& view) {
        return KeyRows{call.at<const T>(cache) + head * view.stride[1],
                       view.stride[2],
                       view.stride[3],
                       table,
                       tables.dtype,
                       tables.stride[1],
                       plan.size[size::p],
                       view.stride[0],
                       plan.size[size::n]};
      };
      for (int64_t row = 0; row < taken * group; row += kRows) {
        QueryRows rows;
        rows.count = static_cast<int>(std::min<int64_t>(kRows, taken * group - row));
        rows.query_step = q.stride[2];
        rows.out_step = out.stride[2];
        for (int r = 0; r < rows.count; ++r) {
          const int64_t i = token + (row + r) / group, h = head * group + (row + r) % group;
          rows.query[r] = call.at<const T>(tensor::q) + i * q.stride[0] + h * q.stride[1];
          rows.out[r] = call.at<T>(tensor::out) + i * out.stride[0] + h * out.stride[1];
          rows.visible[r] = std::max<int64_t>(0, keys - (start_of(s + 1) - i) + 1);
          rows.slope[r] =
              slopes.is_given ? double(call.at<const float>(tensor::alibi_slopes)[h * slopes.stride[0]]) : 0;
        }
        if (auto error = attend(q.dtype, pages_of(tensor::k_cache, k), pages_of(tensor::v_cache, v), plan.size[size::d],
                                plan.size[size::e], call.attributes[attribute::scale], rows))
          return error;
      }
      item += taken;
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel paged_attention_prefill = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
