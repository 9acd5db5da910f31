#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::unfold;

// Items are rows of the result: one element of the kernel, of one channel, for all of its places.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.size[size::b] * plan.size[size::r],
          std::max<int64_t>(1, 16384 / std::max<int64_t>(1, plan.size[size::l]))};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input];
  const auto number = [&](int which) { return static_cast<int64_t>(call.attributes[which]); };
  const int64_t kernel_w = number(attribute::kernel_width), kernel = number(attribute::kernel_height) * kernel_w;
  const int64_t height = plan.size[size::h], width = plan.size[size::w], rows = plan.size[size::r];
  const int64_t across = number(attribute::stride_width);
  const int64_t columns =
      (width + 2 * number(attribute::padding_width) - number(attribute::dilation_width) * (kernel_w - 1) - 1) / across +
      1;
  with_size(element_size(output.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const int64_t b = item / rows, row = item % rows, channel = row / kernel, in_kernel = row % kernel;
      T* to = call.at<T>(tensor::output) + b * output.stride[0] + row * output.stride[1];
      const T* plane = call.at<const T>(tensor::input) + b * input.stride[0] + channel * input.stride[1];
      const int64_t top = in_kernel / kernel_w * number(attribute::dilation_height) - number(attribute::padding_height);
      const int64_t left = in_kernel % kernel_w * number(attribute::dilation_width) - number(attribute::padding_width);
      // The places across whose element is one of the input's.
      const int64_t begin = std::clamp<int64_t>(left >= 0 ? 0 : (-left + across - 1) / across, 0, columns);
      const int64_t end = std::clamp<int64_t>(width <= left ? 0 : (width - 1 - left) / across + 1, begin, columns);
      for (int64_t place = 0; place < plan.size[size::l]; place += columns, to += columns * output.stride[2]) {
        const int64_t y = place / columns * number(attribute::stride_height) + top;
        const bool is_inside = !is_outside(y, height);
        const int64_t from = is_inside ? begin : columns, until = is_inside ? end : columns;
        for (int64_t i = 0; i < from; ++i) to[i * output.stride[2]] = T{};
        if (until > from) {
          copy_line(to + from * output.stride[2], output.stride[2],
                    plane + y * input.stride[2] + (from * across + left) * input.stride[3], across * input.stride[3],
                    until - from);
        }
        for (int64_t i = until; i < columns; ++i) to[i * output.stride[2]] = T{};
      }
    }
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel unfold = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
