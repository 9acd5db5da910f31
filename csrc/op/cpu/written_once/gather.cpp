#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::gather;

// Items are pieces of lines along the last dimension.
constexpr int64_t kLinePiece = 4096;

struct Lines {
  int64_t length, pieces, count;

  explicit Lines(const TensorView& index) {
    length = index.ndim > 0 ? index.shape[index.ndim - 1] : 1;
    pieces = (length + kLinePiece - 1) / kLinePiece;
    count = length > 0 ? elements_of(index) / length : 0;
  }
};

Split split(const WrittenPlan& plan, const double*, int) {
  const Lines lines(plan.tensor[tensor::index]);
  return {lines.count * lines.pieces, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, lines.length))};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input],
                   &index = plan.tensor[tensor::index];
  const Lines lines(index);
  const int ndim = index.ndim, outer = std::max(0, ndim - 1);
  const auto named = static_cast<int>(call.attributes[attribute::dim]);
  const int dim = named < 0 ? named + ndim : named;
  const int64_t rows = ndim > 0 ? input.shape[dim] : 1, step_rows = ndim > 0 ? input.stride[dim] : 1;
  const int64_t step_out = ndim > 0 ? output.stride[outer] : 1, step_index = ndim > 0 ? index.stride[outer] : 1;
  const int64_t step_in = ndim > 0 && dim != outer ? input.stride[outer] : 0;
  return with_size(element_size(output.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return with_index_type(index.dtype, [&](auto index_tag) {
      using Index = typename decltype(index_tag)::type;
      for (int64_t item = first; item < last; ++item) {
        int64_t line = item / lines.pieces;
        const int64_t begin = item % lines.pieces * kLinePiece, end = std::min(lines.length, begin + kLinePiece);
        T* to = call.at<T>(tensor::output) + offset_in(output, 0, outer, line);
        const Index* numbers = call.at<const Index>(tensor::index) + offset_in(index, 0, outer, line);
        const T* from = call.at<const T>(tensor::input);
        for (int d = outer - 1; d >= 0; line /= index.shape[d--]) {
          if (d != dim) from += line % index.shape[d] * input.stride[d];
        }
        for (int64_t j = begin; j < end; ++j) {
          const int64_t row = numbers[j * step_index];
          if (is_outside(row, rows)) return refuse_index("index", row, rows);
          to[j * step_out] = from[row * step_rows + j * step_in];
        }
      }
      return infinirtSuccess;
    });
  });
}

}  // namespace

extern const WrittenKernel gather = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
