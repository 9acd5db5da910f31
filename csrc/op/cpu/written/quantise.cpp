// Numbers of 8 bits with a scale, of rows and of whole tensors, and back.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"
#include "op/cpu/written/runs.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

constexpr int64_t kTile = 2048;  // numbers that are brought into float at a time
constexpr int64_t kChunk = 16384;  // elements of a tensor that are worth a block
constexpr float kSmallestScale = 1e-8f;

// Comparisons of floats are made as integers, which become vectors whatever not-a-number would ask for.
constexpr int32_t kInfinity = 0x7F800000;

// What numbers reach from and to: of symmetric ranges the largest magnitude alone. In the order of integers.
struct Range {
  int32_t low = kHighest, high = -kHighest;
  static constexpr int32_t kHighest = 0x7FFFFFFF;

  void take_magnitudes(const float* x, int64_t count) {
    int32_t most = std::max(high, 0);
    for (int64_t i = 0; i < count; ++i) {
      const auto magnitude = static_cast<int32_t>(bits_of(x[i]) & 0x7FFFFFFFu);
      const int32_t number = magnitude > kInfinity ? 0 : magnitude;
      most = number > most ? number : most;
    }
    high = most;
  }

  void take(const float* x, int64_t count) {
    int32_t least = low, most = high;
    for (int64_t i = 0; i < count; ++i) {
      const auto bits = static_cast<int32_t>(bits_of(x[i]));
      const int32_t order = bits ^ ((bits >> 31) & 0x7FFFFFFF);
      const bool is_number = (bits & 0x7FFFFFFF) <= kInfinity;
      const int32_t above = is_number ? order : kHighest, below = is_number ? order : -kHighest;
      least = above < least ? above : least;
      most = below > most ? below : most;
    }
    low = least;
    high = most;
  }

  void join(const Range& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }

  static float number(int32_t order) { return float_of(static_cast<uint32_t>(order ^ ((order >> 31) & 0x7FFFFFFF))); }
};

struct Scale {
  float scale, zero;
  bool is_symmetric;

  static Scale of(const Range& range, bool is_symmetric) {
    const bool any = range.high >= range.low;
    if (is_symmetric) return {at_least(Range::number(std::max(range.high, 0)) / 127.0f), 0.0f, true};
    const float low = any ? Range::number(range.low) : 0.0f, high = any ? Range::number(range.high) : 0.0f;
    const float scale = at_least((high - low) / 255.0f);
    return {scale, -low * (1.0f / scale) - 128.0f, false};
  }

  static float at_least(float scale) { return scale > kSmallestScale ? scale : kSmallestScale; }
};

// Adding and taking away this number rounds to whole ones, ties to even; its last bits are the number then.
constexpr float kRounder = 12582912.0f;

void quantise(const float* x, int64_t count, const Scale& scale, int8_t* to) {
  const float inverse = 1.0f / scale.scale, zero = scale.zero, lowest = scale.is_symmetric ? -127.0f : -128.0f;
  for (int64_t i = 0; i < count; ++i) {
    float number = x[i] * inverse + zero;
    number = number == number ? number : 0.0f;
    number = number > lowest ? number : lowest;
    number = number < 127.0f ? number : 127.0f;
    to[i] = static_cast<int8_t>(static_cast<int32_t>(bits_of(number + kRounder)) - 0x4B400000);
  }
}

// Elements as floats: where they lie, or brought into `tile`.
template <class T>
const float* floats(const T* x, int64_t step, int64_t count, float* tile) {
  if constexpr (__is_same(T, float)) {
    if (step == 1) return x;
  }
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) tile[i] = widen(x[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) tile[i] = widen(x[i * step]);
  }
  return tile;
}

template <class T>
void take_range(const T* x, int64_t step, int64_t count, bool is_symmetric, Range* range) {
  float tile[kTile];
  for (int64_t at = 0; at < count; at += kTile) {
    const int64_t some = std::min(kTile, count - at);
    const float* numbers = floats(x + at * step, step, some, tile);
    is_symmetric ? range->take_magnitudes(numbers, some) : range->take(numbers, some);
  }
}

template <class T>
void quantise_run(const T* x, int64_t x_step, int64_t count, const Scale& scale, int8_t* to, int64_t to_step) {
  float tile[kTile];
  int8_t packed[kTile];
  for (int64_t at = 0; at < count; at += kTile) {
    const int64_t some = std::min(kTile, count - at);
    const float* numbers = floats(x + at * x_step, x_step, some, tile);
    if (to_step == 1) {
      quantise(numbers, some, scale, to + at);
      continue;
    }
    quantise(numbers, some, scale, packed);
    for (int64_t i = 0; i < some; ++i) to[(at + i) * to_step] = packed[i];
  }
}

namespace rows {

using namespace infiniop::per_channel_quant_int8;

Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.rest, std::max<int64_t>(1, kChunk / std::max<int64_t>(1, plan.size[size::k]))};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &packed = plan.tensor[tensor::x_packed], &scales = plan.tensor[tensor::x_scale],
                   &zeros = plan.tensor[tensor::x_zero], &x = plan.tensor[tensor::x];
  const int64_t columns = plan.size[size::k], step = x.stride[x.ndim - 1];
  return with_float_type(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = first; row < last; ++row) {
      const T* from = call.at<const T>(tensor::x) + offset_of_rest(x, row);
      Range range;
      if constexpr (sizeof(T) <= sizeof(float)) {
        take_range(from, step, columns, !zeros.is_given, &range);
        const Scale scale = Scale::of(range, !zeros.is_given);
        call.at<float>(tensor::x_scale)[offset_of_rest(scales, row)] = scale.scale;
        if (zeros.is_given) call.at<float>(tensor::x_zero)[offset_of_rest(zeros, row)] = scale.zero;
        quantise_run(from, step, columns, scale, call.at<int8_t>(tensor::x_packed) + offset_of_rest(packed, row),
                     packed.stride[packed.ndim - 1]);
      }
    }
    return infinirtSuccess;
  });
}

}  // namespace rows

namespace whole {

using namespace infiniop::per_tensor_quant_int8;

enum Phase { kRanges, kSettle, kQuantise };

int64_t chunks(const WrittenPlan& plan) { return (plan.rest + kChunk - 1) / kChunk; }

// What the numbers reach is found in chunks, put together, and used.
Split split(const WrittenPlan& plan, const double* attributes, int phase) {
  const bool is_static = attributes[attribute::is_static] != 0;
  if (phase != kQuantise && is_static) return {0, 1};
  return {phase == kSettle ? 1 : chunks(plan), 1};
}

size_t workspace(const WrittenPlan& plan, const double*) { return sizeof(Range) * static_cast<size_t>(chunks(plan)); }

void settle(const WrittenCall& call) {
  const bool is_symmetric = !call.plan.tensor[tensor::x_zero].is_given;
  Range range;
  const auto* ranges = static_cast<const Range*>(call.workspace);
  for (int64_t i = 0; i < chunks(call.plan); ++i) range.join(ranges[i]);
  const Scale scale = Scale::of(range, is_symmetric);
  *call.at<float>(tensor::x_scale) = scale.scale;
  if (!is_symmetric) *call.at<float>(tensor::x_zero) = scale.zero;
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &packed = plan.tensor[tensor::x_packed], &x = plan.tensor[tensor::x];
  const bool is_symmetric = !plan.tensor[tensor::x_zero].is_given;
  if (call.phase == kSettle) {
    settle(call);
    return infinirtSuccess;
  }
  const int64_t from = first * kChunk, to = std::min<int64_t>(last * kChunk, plan.rest);
  return with_float_type(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= sizeof(float)) {
      const T* numbers = call.at<const T>(tensor::x);
      if (call.phase == kRanges) {
        for (int64_t chunk = first; chunk < last; ++chunk) {
          Range range;
          each_run({&x}, chunk * kChunk, std::min<int64_t>((chunk + 1) * kChunk, plan.rest), [&](const Run<1>& run) {
            take_range(numbers + run.offset[0], run.step[0], run.count, is_symmetric, &range);
          });
          static_cast<Range*>(call.workspace)[chunk] = range;
        }
        return infinirtSuccess;
      }
      const Scale scale = {*call.at<float>(tensor::x_scale), is_symmetric ? 0.0f : *call.at<float>(tensor::x_zero),
                           is_symmetric};
      each_run({&packed, &x}, from, to, [&](const Run<2>& run) {
        quantise_run(numbers + run.offset[1], run.step[1], run.count, scale,
                     call.at<int8_t>(tensor::x_packed) + run.offset[0], run.step[0]);
      });
    }
    return infinirtSuccess;
  });
}

}  // namespace whole

namespace back {

using namespace infiniop::per_tensor_dequant_int8;

Split split(const WrittenPlan& plan, const double*, int) { return {(plan.rest + kChunk - 1) / kChunk, 1}; }

template <class T>
void widen_run(const int8_t* packed, int64_t packed_step, int64_t count, float scale, float zero, T* to,
               int64_t to_step) {
  if (packed_step == 1 && to_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = narrow<T>((static_cast<float>(packed[i]) - zero) * scale);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    to[i * to_step] = narrow<T>((static_cast<float>(packed[i * packed_step]) - zero) * scale);
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &x = plan.tensor[tensor::x], &packed = plan.tensor[tensor::x_packed];
  const float scale = *call.at<float>(tensor::x_scale);
  const float zero = plan.tensor[tensor::x_zero].is_given ? *call.at<float>(tensor::x_zero) : 0.0f;
  return with_float_type(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= sizeof(float)) {
      each_run({&x, &packed}, first * kChunk, std::min<int64_t>(last * kChunk, plan.rest), [&](const Run<2>& run) {
        widen_run(call.at<const int8_t>(tensor::x_packed) + run.offset[1], run.step[1], run.count, scale, zero,
                  call.at<T>(tensor::x) + run.offset[0], run.step[0]);
      });
    }
    return infinirtSuccess;
  });
}

}  // namespace back

}  // namespace

extern const WrittenKernel per_channel_quant_int8 = {rows::split, rows::run};
extern const WrittenKernel per_tensor_quant_int8 = {whole::split, whole::run, 3, whole::workspace};
extern const WrittenKernel per_tensor_dequant_int8 = {back::split, back::run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
