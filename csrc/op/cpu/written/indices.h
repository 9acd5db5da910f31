// What operators on indices share: types of indices and numbers by number, and walks over elements with any strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

template <class Function>
auto with_index_type(int dtype, Function function) {
  return dtype == INFINI_DTYPE_I32 ? function(TypeTag<int32_t>{}) : function(TypeTag<int64_t>{});
}

// Of types that there is arithmetic for.
template <class Function>
auto with_number_type(int dtype, Function function) {
  switch (dtype) {
    case INFINI_DTYPE_I8:
      return function(TypeTag<int8_t>{});
    case INFINI_DTYPE_I16:
      return function(TypeTag<int16_t>{});
    case INFINI_DTYPE_I32:
      return function(TypeTag<int32_t>{});
    case INFINI_DTYPE_I64:
      return function(TypeTag<int64_t>{});
    case INFINI_DTYPE_BOOL:
    case INFINI_DTYPE_U8:
      return function(TypeTag<uint8_t>{});
    case INFINI_DTYPE_U16:
      return function(TypeTag<uint16_t>{});
    case INFINI_DTYPE_U32:
      return function(TypeTag<uint32_t>{});
    case INFINI_DTYPE_U64:
      return function(TypeTag<uint64_t>{});
    case INFINI_DTYPE_F8:
      return function(TypeTag<Float8>{});
    default:
      return with_float_type(dtype, function);
  }
}

inline int64_t elements_of(const TensorView& view) {
  int64_t count = 1;
  for (int d = 0; d < view.ndim; ++d) count *= view.shape[d];
  return count;
}

// Whether the dimensions from `first` on lie side by side, in their order.
inline bool is_run(const TensorView& view, int first) {
  int64_t step = 1;
  for (int d = view.ndim - 1; d >= first; --d) {
    if (view.shape[d] != 1 && view.stride[d] != step) return false;
    step *= view.shape[d];
  }
  return true;
}

template <class T>
void copy_line(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t count) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, sizeof(T) * static_cast<size_t>(count));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

// Lines are along the last dimension; of tensors that lie side by side they are pieces of all elements.
constexpr int64_t kPiece = 8192;

inline Split split_copy(const WrittenPlan& plan, int to, int from) {
  const TensorView &target = plan.tensor[to], &source = plan.tensor[from];
  const int64_t count = elements_of(target);
  if (is_run(target, 0) && is_run(source, 0)) return {(count + kPiece - 1) / kPiece, 4};
  const int64_t line = std::max<int64_t>(1, target.shape[target.ndim - 1]);
  return {count / line, std::max<int64_t>(1, 16384 / line)};
}

// One tensor to another of the same shape; none where they are one.
inline void copy_some(const WrittenCall& call, int to, int from, int64_t first, int64_t last) {
  const TensorView &target = call.plan.tensor[to], &source = call.plan.tensor[from];
  if (call.address[to] == call.address[from]) return;
  with_size(element_size(target.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (is_run(target, 0) && is_run(source, 0)) {
      const int64_t begin = first * kPiece, end = std::min(last * kPiece, elements_of(target));
      copy_line(call.at<T>(to) + begin, 1, call.at<const T>(from) + begin, 1, end - begin);
      return;
    }
    const int outer = target.ndim - 1;
    for (int64_t item = first; item < last; ++item) {
      copy_line(call.at<T>(to) + offset_in(target, 0, outer, item), target.stride[outer],
                call.at<const T>(from) + offset_in(source, 0, outer, item), source.stride[outer], target.shape[outer]);
    }
  });
}

inline bool is_outside(int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) >= static_cast<uint64_t>(size);
}

// What becomes of an element that an update meets.
struct Store {
  template <class T>
  void operator()(T& to, T from) const {
    to = from;
  }
};
struct Multiply {
  template <class T>
  void operator()(T& to, T from) const {
    to = narrow<T>(widen(to) * widen(from));
  }
};
template <class C>
struct AddTimes {
  C factor;
  template <class T>
  void operator()(T& to, T from) const {
    to = narrow<T>(widen(to) + static_cast<Wide<T>>(factor * static_cast<C>(widen(from))));
  }
};
struct Add {
  template <class T>
  void operator()(T& to, T from) const {
    to = narrow<T>(widen(to) + widen(from));
  }
};

}  // namespace
}  // namespace infiniop::cpu
