#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::pad;

enum Mode { Constant, Reflect, Replicate, Circular };

// How many elements come before those of the input in dimension `d`; fewer than none are cut off.
int64_t before(const WrittenPlan& plan, const double* attributes, int d) {
  const int pairs = static_cast<int>(attributes[attribute::pad_size]) / 8, first = plan.tensor[tensor::y].ndim - pairs;
  return d < first ? 0 : static_cast<int64_t>(attributes[attribute::pad_0 + 2 * (d - first)]);
}

// Which element of a dimension of size `size` stands at `place`, counted from the input's first; -1: none.
int64_t source(int64_t place, int64_t size, Mode mode) {
  if (!is_outside(place, size)) return place;
  switch (mode) {
    case Reflect:
      return place < 0 ? -place : 2 * (size - 1) - place;
    case Replicate:
      return place < 0 ? 0 : size - 1;
    case Circular:
      return place < 0 ? place + size : place - size;
    default:
      return -1;
  }
}

int64_t line_of(const TensorView& y) { return y.ndim > 0 ? y.shape[y.ndim - 1] : 1; }

Split split(const WrittenPlan& plan, const double*, int) {
  const TensorView& y = plan.tensor[tensor::y];
  const int64_t line = std::max<int64_t>(1, line_of(y));
  return {elements_of(y) / line, std::max<int64_t>(1, 16384 / line)};
}

template <class T>
T value_of(double value) {
  if constexpr (__is_same(T, float) || __is_same(T, double)) return static_cast<T>(value);
  if constexpr (__is_same(T, Wide<T>)) return static_cast<T>(static_cast<int64_t>(value));
  return narrow<T>(static_cast<Wide<T>>(value));
}

template <class T>
void fill_line(const WrittenCall& call, int64_t item, Mode mode, T value) {
  const TensorView &y = call.plan.tensor[tensor::y], &x = call.plan.tensor[tensor::x];
  const int outer = std::max(0, y.ndim - 1);
  const int64_t length = line_of(y), step_y = y.ndim > 0 ? y.stride[outer] : 1,
                step_x = y.ndim > 0 ? x.stride[outer] : 1;
  T* to = call.at<T>(tensor::y) + offset_in(y, 0, outer, item);
  const T* from = call.at<const T>(tensor::x);
  bool is_inside = true;
  int64_t left = item;
  for (int d = outer - 1; d >= 0; --d) {
    const int64_t next = left / y.shape[d];
    const int64_t at = source(left - next * y.shape[d] - before(call.plan, call.attributes, d), x.shape[d], mode);
    left = next;
    is_inside = is_inside && at >= 0;
    from += at * x.stride[d];
  }
  if (!is_inside) {
    for (int64_t i = 0; i < length; ++i) to[i * step_y] = value;
    return;
  }
  const int64_t size = y.ndim > 0 ? x.shape[outer] : 1,
                ahead = y.ndim > 0 ? before(call.plan, call.attributes, outer) : 0;
  const int64_t begin = std::clamp<int64_t>(ahead, 0, length), end = std::clamp<int64_t>(ahead + size, begin, length);
  const auto around = [&](int64_t i) {
    const int64_t at = source(i - ahead, size, mode);
    to[i * step_y] = at < 0 ? value : from[at * step_x];
  };
  for (int64_t i = 0; i < begin; ++i) around(i);
  if (end > begin) copy_line(to + begin * step_y, step_y, from + (begin - ahead) * step_x, step_x, end - begin);
  for (int64_t i = end; i < length; ++i) around(i);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const auto mode = static_cast<Mode>(static_cast<int>(call.attributes[attribute::mode]));
  const int dtype = call.plan.tensor[tensor::y].dtype;
  const double given = call.attributes[attribute::value];
  with_number_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = value_of<T>(dtype == INFINI_DTYPE_BOOL ? given != 0 : given);
    for (int64_t item = first; item < last; ++item) fill_line<T>(call, item, mode, value);
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel pad = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
