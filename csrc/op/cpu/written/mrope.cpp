#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::mrope;

constexpr int64_t kMostPairs = 512;  // whose angles are brought into the computed type at a time

// Items are tokens: all heads of one share their angles.
Split split(const WrittenPlan& plan, const double*, int) {
  const int64_t elements = plan.size[size::a] + plan.size[size::b];
  return {plan.size[size::t], std::max<int64_t>(1, 16384 / std::max<int64_t>(1, elements))};
}

// Which of the three coordinates turns a pair.
struct Sections {
  int64_t t, h, w;
  bool interleaved;

  int axis(int64_t pair) const {
    if (!interleaved) return pair < t ? 0 : pair < t + h ? 1 : 2;
    if (pair % 3 == 1 && pair < 3 * h) return 1;
    return pair % 3 == 2 && pair < 3 * w ? 2 : 0;
  }
};

template <class T, class C>
void turn(T* y, const T* x, int64_t y_step, int64_t x_step, int64_t half, const C* cos, const C* sin, int64_t pairs) {
  if (x_step == 1 && y_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; ++i) {
      const C first = C(widen(x[i])), second = C(widen(x[i + half]));
      y[i] = narrow<T>(first * cos[i] - second * sin[i]);
      y[i + half] = narrow<T>(second * cos[i] + first * sin[i]);
    }
    return;
  }
  for (int64_t i = 0; i < pairs; ++i) {
    const C first = C(widen(x[i * x_step])), second = C(widen(x[(i + half) * x_step]));
    y[i * y_step] = narrow<T>(first * cos[i] - second * sin[i]);
    y[(i + half) * y_step] = narrow<T>(second * cos[i] + first * sin[i]);
  }
}

template <class T, class C>
void turn_heads(const WrittenCall& call, int to, int from, int64_t elements, int64_t token, int64_t pair, int64_t pairs,
                const C* cos, const C* sin) {
  const TensorView &y = call.plan.tensor[to], &x = call.plan.tensor[from];
  const auto head = static_cast<int64_t>(call.attributes[attribute::head_size]);
  for (int64_t first = pair; first < elements; first += head) {
    turn(call.at<T>(to) + token * y.stride[0] + first * y.stride[1],
         call.at<const T>(from) + token * x.stride[0] + first * x.stride[1], y.stride[1], x.stride[1],
         call.plan.size[size::rotary_dim] / 2, cos, sin, pairs);
  }
}

template <class T>
infinirtError_t one_token(const WrittenCall& call, int64_t token, const Sections& sections) {
  using C = Wide<T>;
  const WrittenPlan& plan = call.plan;
  const TensorView &cos = plan.tensor[tensor::cos], &sin = plan.tensor[tensor::sin],
                   &positions = plan.tensor[tensor::positions];
  const int64_t half = plan.size[size::rotary_dim] / 2;
  int64_t row[3];
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t at =
        (positions.ndim == 2 ? axis * positions.stride[0] : 0) + token * positions.stride[positions.ndim - 1];
    row[axis] = integer_at(call.address[tensor::positions], positions.dtype, at);
    if (row[axis] < 0 || row[axis] >= plan.size[size::m])
      return refuse_index("positions", row[axis], plan.size[size::m]);
  }
  for (int64_t pair = 0; pair < half; pair += kMostPairs) {
    const int64_t pairs = std::min(kMostPairs, half - pair);
    C c[kMostPairs], s[kMostPairs];
    for (int64_t i = 0; i < pairs; ++i) {
      const int64_t place = row[sections.axis(pair + i)];
      c[i] = widen(call.at<const T>(tensor::cos)[place * cos.stride[0] + (pair + i) * cos.stride[1]]);
      s[i] = widen(call.at<const T>(tensor::sin)[place * sin.stride[0] + (pair + i) * sin.stride[1]]);
    }
    turn_heads<T>(call, tensor::q_out, tensor::q, plan.size[size::a], token, pair, pairs, c, s);
    turn_heads<T>(call, tensor::k_out, tensor::k, plan.size[size::b], token, pair, pairs, c, s);
  }
  return infinirtSuccess;
}

// The elements of heads that are not turned.
template <class T>
void keep(const WrittenCall& call, int to, int from, int64_t elements, int64_t token) {
  const TensorView &y = call.plan.tensor[to], &x = call.plan.tensor[from];
  const auto head = static_cast<int64_t>(call.attributes[attribute::head_size]);
  for (int64_t first = 0; first < elements; first += head) {
    for (int64_t i = first + call.plan.size[size::rotary_dim]; i < first + head; ++i) {
      call.at<T>(to)[token * y.stride[0] + i * y.stride[1]] =
          call.at<const T>(from)[token * x.stride[0] + i * x.stride[1]];
    }
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const Sections sections = {static_cast<int64_t>(call.attributes[attribute::section_t]),
                             static_cast<int64_t>(call.attributes[attribute::section_h]),
                             static_cast<int64_t>(call.attributes[attribute::section_w]),
                             call.attributes[attribute::interleaved] != 0};
  return with_float_type(plan.tensor[tensor::q].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t token = first; token < last; ++token) {
      if (auto error = one_token<T>(call, token, sections)) return error;
      keep<T>(call, tensor::q_out, tensor::q, plan.size[size::a], token);
      keep<T>(call, tensor::k_out, tensor::k, plan.size[size::b], token);
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel mrope = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
