#include "infiniop/generated/written.h"
#include "op/cpu/written/attention.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::flash_attention;

HeadRows rows_of(const WrittenPlan& plan) {
  return {plan.size[size::h] / std::max<int64_t>(1, plan.size[size::g]), plan.size[size::q]};
}

// Items are tiles of rows, of each head of keys of each sequence.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.size[size::b] * plan.size[size::g] * rows_of(plan).tiles(),
          fewest_tiles(plan.size[size::s], plan.size[size::d], plan.size[size::e])};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &out = plan.tensor[tensor::out], &q = plan.tensor[tensor::q], &k = plan.tensor[tensor::k],
                   &v = plan.tensor[tensor::v], &lengths = plan.tensor[tensor::total_kv_len];
  const HeadRows heads = rows_of(plan);
  const bool is_causal = call.attributes[attribute::is_causal] != 0;
  return with_float_type(q.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const int64_t tile = item % heads.tiles(), head = item / heads.tiles() % plan.size[size::g];
      const int64_t b = item / heads.tiles() / plan.size[size::g];
      int64_t keys = plan.size[size::s];
      if (lengths.is_given) {
        const int64_t said = integer_at(call.address[tensor::total_kv_len], lengths.dtype, b * lengths.stride[0]);
        keys = std::clamp<int64_t>(said, 0, keys);
      }
      QueryRows rows;
      rows.count = static_cast<int>(std::min<int64_t>(kRows, heads.rows() - tile * kRows));
      rows.query_step = q.stride[3];
      rows.out_step = out.stride[3];
      for (int r = 0; r < rows.count; ++r) {
        const int64_t row = tile * kRows + r, h = head * heads.group + row % heads.group, i = row / heads.group;
        rows.query[r] = call.at<const T>(tensor::q) + b * q.stride[0] + h * q.stride[1] + i * q.stride[2];
        rows.out[r] = call.at<T>(tensor::out) + b * out.stride[0] + h * out.stride[1] + i * out.stride[2];
        rows.visible[r] = is_causal ? std::max<int64_t>(0, i + keys - heads.queries + 1) : keys;
        rows.slope[r] = 0;
      }
      const KeyRows key{call.at<const T>(tensor::k) + b * k.stride[0] + head * k.stride[1], k.stride[2], k.stride[3]};
      const KeyRows value{call.at<const T>(tensor::v) + b * v.stride[0] + head * v.stride[1], v.stride[2], v.stride[3]};
      if (auto error = attend(q.dtype, key, value, plan.size[size::d], plan.size[size::e],
                              call.attributes[attribute::scale], rows))
        return error;
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel flash_attention = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
