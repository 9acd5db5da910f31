// RecurrentGatedDeltaRule and ChunkGatedDeltaRule: states that go from token to token.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

// What the two operators call their tensors and sizes.
struct Names {
  int out, initial_state, final_state, q, k, v, g, beta, ends, initial, final;
  int b, t, hk, hv, dk, dv, pool, requests;  // requests: the size of `ends`; -1: there is none
  int norm;  // the attribute
};

int64_t requests_of(const WrittenPlan& plan, const Names& names) {
  return names.ends >= 0 && plan.tensor[names.ends].is_given ? plan.size[names.requests] - 1 : plan.size[names.b];
}

int64_t begin_of(const WrittenCall& call, const Names& names, int64_t request) {
  if (names.ends < 0 || !call.plan.tensor[names.ends].is_given) return request * call.plan.size[names.t];
  const TensorView& ends = call.plan.tensor[names.ends];
  return integer_at(call.address[names.ends], ends.dtype, request * ends.stride[0]);
}

// Which state; -1: there is none of that number.
int64_t slot_of(const WrittenCall& call, const Names& names, int tensor, int64_t request) {
  const TensorView& view = call.plan.tensor[tensor];
  if (!view.is_given) return request;
  const int64_t slot = integer_at(call.address[tensor], view.dtype, request * view.stride[0]);
  return slot >= 0 && slot < call.plan.size[names.pool] ? slot : -1;
}

float number_at(const WrittenCall& call, int tensor, int64_t offset) {
  return with_float_type(call.plan.tensor[tensor].dtype, [&](auto tag) {
    return static_cast<float>(widen(call.at<const typename decltype(tag)::type>(tensor)[offset]));
  });
}

// A head of one token's queries or keys, with the norm 1 if that is wished.
template <class T>
void bring_head(const WrittenCall& call, int tensor, int64_t token, int64_t head, bool normal, float* to,
                int64_t count) {
  const TensorView& view = call.plan.tensor[tensor];
  const T* from = call.at<const T>(tensor) + offset_in(view, 0, 2, token) + head * view.stride[2];
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(widen(from[i * view.stride[3]]));
  if (!normal) return;
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += to[i] * to[i];
  const float factor = 1 / __builtin_sqrtf(sum + 1e-6f);
  for (int64_t i = 0; i < count; ++i) to[i] *= factor;
}

constexpr int kLanes = 16;

// One row of the state and one token: what it gives to the query, and how far it is from the value on the key.
inline float product(const float* row, const float* x, int64_t count) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += row[i + lane] * x[i + lane];
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += row[i] * x[i];
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// Items are heads of sequences.
template <class T>
infinirtError_t run_heads(const WrittenCall& call, const Names& names, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const int64_t heads = plan.size[names.hv], columns = plan.size[names.dk], rows = plan.size[names.dv];
  const int64_t shared = heads / plan.size[names.hk], tokens = plan.size[names.b] * plan.size[names.t];
  const bool normal = call.attributes[names.norm] != 0;
  const float scale = 1 / __builtin_sqrtf(static_cast<float>(columns));
  auto* memory = reinterpret_cast<float*>(worker_buffer(sizeof(float) * static_cast<size_t>((rows + 2) * columns + 1)));
  if (!memory) return infinirtErrorMemoryAllocation;
  float *state = memory, *query = memory + rows * columns, *key = query + columns;
  const TensorView &states = plan.tensor[names.initial_state], &v = plan.tensor[names.v], &out = plan.tensor[names.out];
  const TensorView &g = plan.tensor[names.g], &beta = plan.tensor[names.beta];
  for (int64_t item = first; item < last; ++item) {
    const int64_t request = item / heads, head = item % heads;
    const int64_t begin = begin_of(call, names, request), end = begin_of(call, names, request + 1);
    const int64_t slot = slot_of(call, names, names.initial, request);
    const bool in_pool = plan.tensor[names.final].is_given;
    const int64_t to_slot = in_pool ? slot_of(call, names, names.final, request) : request;
    if (begin < 0 || end < begin || end > tokens || slot < 0 || to_slot < 0) return infinirtErrorInvalidValue;
    const T* from = call.at<const T>(names.initial_state) + slot * states.stride[0] + head * states.stride[1];
    for (int64_t row = 0; row < rows; ++row) {
      const T* line = from + row * states.stride[2];
      for (int64_t i = 0; i < columns; ++i)
        state[row * columns + i] = static_cast<float>(widen(line[i * states.stride[3]]));
    }
    for (int64_t token = begin; token < end; ++token) {
      bring_head<T>(call, names.q, token, head / shared, normal, query, columns);
      bring_head<T>(call, names.k, token, head / shared, normal, key, columns);
      const float decay = __builtin_expf(number_at(call, names.g, offset_in(g, 0, 2, token) + head * g.stride[2]));
      const float share = number_at(call, names.beta, offset_in(beta, 0, 2, token) + head * beta.stride[2]);
      const T* value = call.at<const T>(names.v) + offset_in(v, 0, 2, token) + head * v.stride[2];
      T* to = call.at<T>(names.out) + offset_in(out, 0, 2, token) + head * out.stride[2];
      for (int64_t row = 0; row < rows; ++row) {
        float* line = state + row * columns;
        for (int64_t i = 0; i < columns; ++i) line[i] *= decay;
        const float off = (static_cast<float>(widen(value[row * v.stride[3]])) - product(line, key, columns)) * share;
        for (int64_t i = 0; i < columns; ++i) line[i] += off * key[i];
        to[row * out.stride[3]] = narrow<T>(product(line, query, columns) * scale);
      }
    }
    const int target = in_pool ? names.initial_state : names.final_state;
    if (!plan.tensor[target].is_given || (!in_pool && !plan.tensor[names.final_state].is_given)) continue;
    const TensorView& kept = plan.tensor[target];
    T* to = call.at<T>(target) + to_slot * kept.stride[0] + head * kept.stride[1];
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < columns; ++i) {
        to[row * kept.stride[2] + i * kept.stride[3]] = narrow<T>(state[row * columns + i]);
      }
    }
  }
  return infinirtSuccess;
}

infinirtError_t run_any(const WrittenCall& call, const Names& names, int64_t first, int64_t last) {
  return with_float_type(call.plan.tensor[names.q].dtype,
                         [&](auto tag) { return run_heads<typename decltype(tag)::type>(call, names, first, last); });
}

Split split_any(const WrittenPlan& plan, const Names& names) {
  return {requests_of(plan, names) * plan.size[names.hv], 1};
}

namespace recurrent {

using namespace infiniop::recurrent_gated_delta_rule;

constexpr Names kNames = {tensor::out,
                          tensor::initial_state,
                          tensor::final_state,
                          tensor::q,
                          tensor::k,
                          tensor::v,
                          tensor::g,
                          tensor::beta,
                          -1,
                          tensor::initial_state_indices,
                          tensor::final_state_indices,
                          size::b,
                          size::t,
                          size::hk,
                          size::hv,
                          size::dk,
                          size::dv,
                          size::pool,
                          -1,
                          attribute::use_qk_l2norm};

Split split(const WrittenPlan& plan, const double*, int) { return split_any(plan, kNames); }
infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) { return run_any(call, kNames, first, last); }

}  // namespace recurrent

namespace chunk {

using namespace infiniop::chunk_gated_delta_rule;

constexpr Names kNames = {tensor::out,
                          tensor::initial_state,
                          tensor::final_state,
                          tensor::q,
                          tensor::k,
                          tensor::v,
                          tensor::g,
                          tensor::beta,
                          tensor::cu_seqlens,
                          tensor::initial_state_indices,
                          tensor::final_state_indices,
                          size::b,
                          size::t,
                          size::hk,
                          size::hv,
                          size::dk,
                          size::dv,
                          size::pool,
                          size::c,
                          attribute::use_qk_l2norm};

Split split(const WrittenPlan& plan, const double*, int) { return split_any(plan, kNames); }
infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) { return run_any(call, kNames, first, last); }

}  // namespace chunk

}  // namespace

extern const WrittenKernel recurrent_gated_delta_rule = {recurrent::split, recurrent::run};
extern const WrittenKernel chunk_gated_delta_rule = {chunk::split, chunk::run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
