#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::scatter;

constexpr int64_t kColumns = 512;  // side by side, that an item has

// The elements of `indices`: along the dimension that they are places of one after the other, all others in any order. So indices that
// name one element twice are met in their order.
struct Walk {
  int ndim, dim;
  bool along_last;  // the dimension of places is the last one
  int64_t places, columns, pieces, items = 1;  // items are pieces of columns, for each position in the other dimensions

  Walk(const WrittenPlan& plan, const double* attributes) {
    const TensorView& indices = plan.tensor[tensor::indices];
    ndim = indices.ndim;
    const auto axis = static_cast<int>(attributes[attribute::axis]);
    dim = axis < 0 ? axis + ndim : axis;
    along_last = ndim == 0 || dim == ndim - 1;
    places = ndim > 0 ? indices.shape[dim] : 1;
    columns = along_last ? 1 : indices.shape[ndim - 1];
    pieces = (columns + kColumns - 1) / kColumns;
    for (int d = 0; d < ndim; ++d) {
      if (d != dim && (along_last || d != ndim - 1)) items *= indices.shape[d];
    }
    items *= pieces;
  }
};

Split split(const WrittenPlan& plan, const double* attributes, int phase) {
  if (phase == 0) return split_copy(plan, tensor::output, tensor::input);
  const Walk walk(plan, attributes);
  const int64_t elements = walk.places * std::min(kColumns, walk.columns);
  return {walk.items, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, elements))};
}

template <class T, class Index, class Update>
infinirtError_t update_some(const WrittenCall& call, int64_t first, int64_t last, Update update) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[tensor::output], &indices = plan.tensor[tensor::indices],
                   &updates = plan.tensor[tensor::updates];
  const Walk walk(plan, call.attributes);
  const auto step = [&](const TensorView& view, int dim) { return walk.ndim > 0 ? int64_t{view.stride[dim]} : 1; };
  const int64_t size = walk.ndim > 0 ? output.shape[walk.dim] : 1, step_out = step(output, walk.dim);
  const int64_t step_index = step(indices, walk.dim), step_update = step(updates, walk.dim);
  const int column = walk.along_last ? 0 : walk.ndim - 1;
  const int64_t next_out = step(output, column), next_index = step(indices, column);
  const int64_t next_update = step(updates, column);
  for (int64_t item = first; item < last; ++item) {
    T* to = call.at<T>(tensor::output);
    const Index* numbers = call.at<const Index>(tensor::indices);
    const T* from = call.at<const T>(tensor::updates);
    int64_t position = item / walk.pieces;
    for (int d = walk.ndim - 1; d >= 0; --d) {
      if (d == walk.dim || (!walk.along_last && d == walk.ndim - 1)) continue;
      const int64_t place = position % indices.shape[d];
      position /= indices.shape[d];
      to += place * output.stride[d];
      numbers += place * indices.stride[d];
      from += place * updates.stride[d];
    }
    const int64_t begin = item % walk.pieces * kColumns, end = std::min(walk.columns, begin + kColumns);
    if (walk.along_last) {
      for (int64_t place = 0; place < walk.places; ++place) {
        const int64_t number = numbers[place * step_index];
        if (is_outside(number, size)) return refuse_index("indices", number, size);
        update(to[number * step_out], from[place * step_update]);
      }
      continue;
    }
    for (int64_t place = 0; place < walk.places; ++place) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t number = numbers[place * step_index + i * next_index];
        if (is_outside(number, size)) return refuse_index("indices", number, size);
        update(to[number * step_out + i * next_out], from[place * step_update + i * next_update]);
      }
    }
  }
  return infinirtSuccess;
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  if (call.phase == 0) {
    copy_some(call, tensor::output, tensor::input, first, last);
    return infinirtSuccess;
  }
  const int dtype = call.plan.tensor[tensor::output].dtype;
  const double reduction = call.attributes[attribute::reduction];
  return with_index_type(call.plan.tensor[tensor::indices].dtype, [&](auto index_tag) {
    using Index = typename decltype(index_tag)::type;
    if (reduction == 0) {
      return with_size(element_size(dtype), [&](auto tag) {
        return update_some<typename decltype(tag)::type, Index>(call, first, last, Store{});
      });
    }
    return with_number_type(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      return reduction == 1 ? update_some<T, Index>(call, first, last, Add{})
                            : update_some<T, Index>(call, first, last, Multiply{});
    });
  });
}

}  // namespace

extern const WrittenKernel scatter = {split, run, 2};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
