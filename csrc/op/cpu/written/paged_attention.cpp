#include "infiniop/generated/written.h"
#include "op/cpu/written/attention.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::paged_attention;

HeadRows rows_of(const WrittenPlan& plan) { return {plan.size[size::h] / std::max<int64_t>(1, plan.size[size::g]), 1}; }

// Items are tiles of rows, of each head of keys of each sequence.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.size[size::s] * plan.size[size::g] * rows_of(plan).tiles(), 1};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &out = plan.tensor[tensor::out], &q = plan.tensor[tensor::q], &k = plan.tensor[tensor::k_cache],
                   &v = plan.tensor[tensor::v_cache], &tables = plan.tensor[tensor::block_tables],
                   &lengths = plan.tensor[tensor::seq_lens], &slopes = plan.tensor[tensor::alibi_slopes];
  const HeadRows heads = rows_of(plan);
  return with_float_type(q.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const int64_t tile = item % heads.tiles(), head = item / heads.tiles() % plan.size[size::g];
      const int64_t s = item / heads.tiles() / plan.size[size::g];
      const int64_t keys = integer_at(call.address[tensor::seq_lens], lengths.dtype, s * lengths.stride[0]);
      if (keys > plan.size[size::t] * plan.size[size::p]) return infinirtErrorInvalidValue;
      QueryRows rows;
      rows.count = static_cast<int>(std::min<int64_t>(kRows, heads.rows() - tile * kRows));
      rows.query_step = q.stride[2];
      rows.out_step = out.stride[2];
      for (int r = 0; r < rows.count; ++r) {
        const int64_t h = head * heads.group + tile * kRows + r;
        rows.query[r] = call.at<const T>(tensor::q) + s * q.stride[0] + h * q.stride[1];
        rows.out[r] = call.at<T>(tensor::out) + s * out.stride[0] + h * out.stride[1];
        rows.visible[r] = std::max<int64_t>(0, keys);
        rows.slope[r] = slopes.is_given ? double(call.at<const float>(tensor::alibi_slopes)[h * slopes.stride[0]]) : 0;
      }
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
      if (auto error = attend(q.dtype, pages_of(tensor::k_cache, k), pages_of(tensor::v_cache, v), plan.size[size::d],
                              plan.size[size::e], call.attributes[attribute::scale], rows))
        return error;
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel paged_attention = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
