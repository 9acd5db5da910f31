#include "op/cpu/written/attention.h"

#include <cmath>

#include "infiniop/generated/written.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::attention;

HeadRows rows_of(const WrittenPlan& plan) {
  return {plan.size[size::h] / std::max<int64_t>(1, plan.size[size::g]), plan.size[size::q]};
}

// First new keys and values go into the caches, a row of a head each, then tiles of rows attend.
Split split(const WrittenPlan& plan, const double* attributes, int phase) {
  const auto keys = static_cast<int64_t>(attributes[attribute::pos]) + plan.size[size::q];
  if (phase == 0) return {plan.size[size::g] * plan.size[size::q], 64};
  return {plan.size[size::g] * rows_of(plan).tiles(), fewest_tiles(keys, plan.size[size::d], plan.size[size::d])};
}

template <class T>
void store(const WrittenCall& call, int to, int from, int64_t head, int64_t place, int64_t number) {
  const TensorView &cache = call.plan.tensor[to], &row = call.plan.tensor[from];
  T* target = call.at<T>(to) + head * cache.stride[0] + place * cache.stride[1];
  const T* source = call.at<const T>(from) + head * row.stride[0] + number * row.stride[1];
  for (int64_t i = 0; i < call.plan.size[size::d]; ++i) target[i * cache.stride[2]] = source[i * row.stride[2]];
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &out = plan.tensor[tensor::out], &q = plan.tensor[tensor::q], &k = plan.tensor[tensor::k_cache],
                   &v = plan.tensor[tensor::v_cache];
  const HeadRows heads = rows_of(plan);
  const auto pos = static_cast<int64_t>(call.attributes[attribute::pos]);
  const double scale = 1 / std::sqrt(static_cast<double>(plan.size[size::d]));
  return with_float_type(q.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      if (call.phase == 0) {
        const int64_t head = item / heads.queries, number = item % heads.queries;
        store<T>(call, tensor::k_cache, tensor::k, head, pos + number, number);
        store<T>(call, tensor::v_cache, tensor::v, head, pos + number, number);
        continue;
      }
      const int64_t tile = item % heads.tiles(), head = item / heads.tiles();
      QueryRows rows;
      rows.count = static_cast<int>(std::min<int64_t>(kRows, heads.rows() - tile * kRows));
      rows.query_step = q.stride[2];
      rows.out_step = out.stride[2];
      for (int r = 0; r < rows.count; ++r) {
        const int64_t row = tile * kRows + r, h = head * heads.group + row % heads.group, i = row / heads.group;
        rows.query[r] = call.at<const T>(tensor::q) + h * q.stride[0] + i * q.stride[1];
        rows.out[r] = call.at<T>(tensor::out) + i * out.stride[0] + h * out.stride[1];
        rows.visible[r] = pos + i + 1;
        rows.slope[r] = 0;
      }
      const KeyRows key{call.at<const T>(tensor::k_cache) + head * k.stride[0], k.stride[1], k.stride[2]};
      const KeyRows value{call.at<const T>(tensor::v_cache) + head * v.stride[0], v.stride[1], v.stride[2]};
      if (auto error = attend(q.dtype, key, value, plan.size[size::d], plan.size[size::d], scale, rows)) return error;
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel attention = {split, run, 2};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
