#include <cmath>

#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::histc;

// Parts of the elements are counted on their own, and added up then. The workspace has for each part the smallest and largest of its
// elements and a number for each bin.
constexpr int64_t kParts = 16;

struct Part {
  double smallest, largest;
  int64_t counts[];
};

int64_t part_bytes(int64_t bins) { return static_cast<int64_t>(sizeof(Part)) + 8 * bins; }

Part& part_of(const WrittenCall& call, int64_t number) {
  return *reinterpret_cast<Part*>(static_cast<char*>(call.workspace) + number * part_bytes(call.plan.size[size::bins]));
}

size_t workspace(const WrittenPlan& plan, const double*) {
  return static_cast<size_t>(kParts * part_bytes(plan.size[size::bins]));
}

bool takes_range(const double* attributes) { return attributes[attribute::min_val] == attributes[attribute::max_val]; }

// Phases: the range of the elements, where none is given; counts of parts; their sums.
Split split(const WrittenPlan& plan, const double* attributes, int phase) {
  if (phase == 0) return {takes_range(attributes) ? kParts : 0, 1};
  if (phase == 1)
    return {kParts, std::clamp<int64_t>(16384 * kParts / (elements_of(plan.tensor[tensor::x]) + 1), 1, kParts)};
  return {plan.size[size::bins], 1024};
}

template <class T, class Function>
void for_part(const WrittenCall& call, int64_t part, Function function) {
  const TensorView& x = call.plan.tensor[tensor::x];
  const int64_t count = elements_of(x), each = (count + kParts - 1) / kParts;
  const int64_t begin = std::min(count, part * each), end = std::min(count, begin + each);
  const T* from = call.at<const T>(tensor::x);
  if (is_run(x, 0)) {
    for (int64_t i = begin; i < end; ++i) function(static_cast<double>(widen(from[i])));
  } else {
    for (int64_t i = begin; i < end; ++i) function(static_cast<double>(widen(from[offset_in(x, 0, x.ndim, i)])));
  }
}

struct Range {
  double low, high;
};

// What all elements lie in, or what was asked for. One number alone is the middle of a range of 2.
Range range_of(const WrittenCall& call) {
  Range range{call.attributes[attribute::min_val], call.attributes[attribute::max_val]};
  if (takes_range(call.attributes) && elements_of(call.plan.tensor[tensor::x]) > 0) {
    range = {part_of(call, 0).smallest, part_of(call, 0).largest};
    for (int64_t part = 1; part < kParts; ++part) {
      range.low = std::min(range.low, part_of(call, part).smallest);
      range.high = std::max(range.high, part_of(call, part).largest);
    }
  }
  if (range.low == range.high) return {range.low - 1, range.high + 1};
  return range;
}

template <class T>
void count_part(const WrittenCall& call, int64_t number) {
  const int64_t bins = call.plan.size[size::bins];
  const Range range = range_of(call);
  Part& part = part_of(call, number);
  std::memset(part.counts, 0, 8 * static_cast<size_t>(bins));
  const double scale = static_cast<double>(bins) / (range.high - range.low);
  for_part<T>(call, number, [&](double value) {
    if (!(value >= range.low && value <= range.high)) return;
    const auto bin = static_cast<int64_t>((value - range.low) * scale);
    ++part.counts[bin < bins ? bin : bins - 1];
  });
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const TensorView& y = call.plan.tensor[tensor::y];
  return with_float_type(y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      if (call.phase == 0) {
        Part& part = part_of(call, item);
        part.smallest = HUGE_VAL;
        part.largest = -HUGE_VAL;
        for_part<T>(call, item, [&](double value) {
          part.smallest = value < part.smallest ? value : part.smallest;
          part.largest = value > part.largest ? value : part.largest;
        });
      } else if (call.phase == 1) {
        count_part<T>(call, item);
      } else {
        int64_t sum = 0;
        for (int64_t part = 0; part < kParts; ++part) sum += part_of(call, part).counts[item];
        call.at<T>(tensor::y)[item * y.stride[0]] = narrow<T>(static_cast<Wide<T>>(sum));
      }
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel histc = {split, run, 3, workspace};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
