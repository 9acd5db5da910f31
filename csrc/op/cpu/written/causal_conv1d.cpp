#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::causal_conv1d;

constexpr int64_t kChannels = 256, kTaps = 8;  // that are computed at a time

// The tokens of a call in a row, and where their sequences begin and end.
class Sequences {
 public:
  explicit Sequences(const WrittenCall& call) : call_(call), ends_(call.plan.tensor[tensor::cu_seqlens]) {}

  int64_t tokens() const { return call_.plan.size[size::b] * call_.plan.size[size::t]; }
  int64_t count() const { return ends_.is_given ? call_.plan.size[size::q] - 1 : call_.plan.size[size::b]; }
  // The first token of sequence `i`; of `count()` what comes behind all.
  int64_t begin(int64_t i) const {
    if (!ends_.is_given) return i * call_.plan.size[size::t];
    return integer_at(call_.address[tensor::cu_seqlens], ends_.dtype, i * ends_.stride[0]);
  }
  // The last one that does not begin behind it; -1: none.
  int64_t of_token(int64_t token) const {
    int64_t low = 0, high = count();
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (begin(middle + 1) > token) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low < count() && begin(low) <= token ? low : -1;
  }
  // Which state; -1: there is none of that number.
  int64_t state(int tensor, int64_t sequence) const {
    const TensorView& view = call_.plan.tensor[tensor];
    if (!view.is_given) return sequence;
    const int64_t slot = integer_at(call_.address[tensor], view.dtype, sequence * view.stride[0]);
    return slot >= 0 && slot < call_.plan.size[size::pool] ? slot : -1;
  }

 private:
  const WrittenCall& call_;
  const TensorView& ends_;
};

bool keeps_states(const WrittenPlan& plan) {
  return plan.tensor[tensor::final_conv_state].is_given || plan.tensor[tensor::final_state_indices].is_given;
}

// First the results of each token, then the states of each sequence.
Split split(const WrittenPlan& plan, const double*, int phase) {
  const int64_t channels = std::max<int64_t>(1, plan.size[size::c]);
  if (phase == 0) return {plan.size[size::b] * plan.size[size::t], std::max<int64_t>(1, 8192 / channels)};
  const int64_t sequences = plan.tensor[tensor::cu_seqlens].is_given ? plan.size[size::q] - 1 : plan.size[size::b];
  return {keeps_states(plan) ? sequences : 0, std::max<int64_t>(1, 8192 / channels)};
}

// Some channels of what a token sees at `place` of its sequence, which begins with the state where that is negative.
template <class T>
struct Source {
  const T* at;
  int64_t step;
};

template <class T>
Source<T> source_of(const WrittenCall& call, int64_t begin, int64_t place, int64_t slot, int64_t channel) {
  const TensorView &qkv = call.plan.tensor[tensor::qkv], &state = call.plan.tensor[tensor::conv_state];
  if (place >= 0) {
    const T* from = call.at<const T>(tensor::qkv) + offset_in(qkv, 0, 2, begin + place);
    return {from + channel * qkv.stride[2], qkv.stride[2]};
  }
  const T* from = call.at<const T>(tensor::conv_state) + slot * state.stride[0];
  return {from + (place + call.plan.size[size::s]) * state.stride[2] + channel * state.stride[1], state.stride[1]};
}

template <class T>
infinirtError_t convolve(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &out = plan.tensor[tensor::out], &weight = plan.tensor[tensor::weight],
                   &bias = plan.tensor[tensor::bias];
  const Sequences sequences(call);
  const int64_t taps = plan.size[size::k];
  float weights[kTaps][kChannels], sums[kChannels];
  for (int64_t channel = 0; channel < plan.size[size::c]; channel += kChannels) {
    bool has_weights = false;
    const int64_t some = std::min<int64_t>(kChannels, plan.size[size::c] - channel);
    for (int64_t token = first; token < last; ++token) {
      const int64_t sequence = sequences.of_token(token);
      if (sequence < 0) continue;
      const int64_t begin = sequences.begin(sequence), slot = sequences.state(tensor::initial_state_indices, sequence);
      if (begin < 0 || slot < 0) return infinirtErrorInvalidValue;
      for (int64_t i = 0; i < some; ++i) {
        sums[i] = bias.is_given ? float(widen(call.at<const T>(tensor::bias)[(channel + i) * bias.stride[0]])) : 0.f;
      }
      for (int64_t tap = 0; tap < taps; tap += kTaps) {
        const int64_t group = std::min(kTaps, taps - tap);
        if (!has_weights || taps > kTaps) {
          for (int64_t j = 0; j < group; ++j) {
            const T* from =
                call.at<const T>(tensor::weight) + channel * weight.stride[0] + (tap + j) * weight.stride[2];
            for (int64_t i = 0; i < some; ++i) weights[j][i] = float(widen(from[i * weight.stride[0]]));
          }
        }
        has_weights = true;
        for (int64_t j = 0; j < group; ++j) {
          const auto [x, step] = source_of<T>(call, begin, token - begin - taps + 1 + tap + j, slot, channel);
          if (step == 1) {
            for (int64_t i = 0; i < some; ++i) sums[i] += weights[j][i] * float(widen(x[i]));
          } else {
            for (int64_t i = 0; i < some; ++i) sums[i] += weights[j][i] * float(widen(x[i * step]));
          }
        }
      }
      T* to = call.at<T>(tensor::out) + offset_in(out, 0, 2, token) + channel * out.stride[2];
      for (int64_t i = 0; i < some; ++i) to[i * out.stride[2]] = narrow<T>(sums[i]);
    }
  }
  return infinirtSuccess;
}

// The last of what a sequence saw. In the order of columns, so that a state may be the one that it comes from.
template <class T>
infinirtError_t keep(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const bool in_pool = plan.tensor[tensor::final_state_indices].is_given;
  const int target = in_pool ? tensor::conv_state : tensor::final_conv_state;
  const TensorView& states = plan.tensor[target];
  const Sequences sequences(call);
  for (int64_t sequence = first; sequence < last; ++sequence) {
    const int64_t begin = sequences.begin(sequence), length = sequences.begin(sequence + 1) - begin;
    const int64_t slot = sequences.state(tensor::initial_state_indices, sequence);
    const int64_t to_slot = in_pool ? sequences.state(tensor::final_state_indices, sequence) : sequence;
    if (begin < 0 || length < 0 || begin + length > sequences.tokens() || slot < 0 || to_slot < 0) {
      return infinirtErrorInvalidValue;
    }
    for (int64_t column = 0; column < plan.size[size::s]; ++column) {
      const auto [x, step] = source_of<T>(call, begin, length - plan.size[size::s] + column, slot, 0);
      T* to = call.at<T>(target) + to_slot * states.stride[0] + column * states.stride[2];
      for (int64_t i = 0; i < plan.size[size::c]; ++i) to[i * states.stride[1]] = x[i * step];
    }
  }
  return infinirtSuccess;
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return with_float_type(call.plan.tensor[tensor::qkv].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return call.phase == 0 ? convolve<T>(call, first, last) : keep<T>(call, first, last);
  });
}

}  // namespace

extern const WrittenKernel causal_conv1d = {split, run, 2};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
