#include "op/rows.h"

#include <string>
#include <vector>

#include "op/operator.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop {

namespace {

class RowsMaker {
 public:
  RowsMaker(const char* function, const OperatorInfo& info, const Tensor* const* tensors)
      : function_(function), info_(info), tensors_(tensors), model_(*tensors[info.outputs]) {}

  infiniStatus_t make(const RowDimensions& dimensions, RowsPlan* plan) {
    if (auto status = find_dimensions(dimensions)) return status;
    if (auto status = check_shapes(dimensions)) return status;
    if (auto status = check_output_strides()) return status;
    for (int t = 0; t < info_.tensors; ++t) plan->is_given[t] = tensors_[t] != nullptr;
    plan->matrix_rows = 1;
    const auto& shape = model_.shape;
    if (info_.rows->reach) plan->matrix_rows = static_cast<int64_t>(shape[shape.size() - 2]);
    if (!make_nest(false, &plan->rows) || !make_nest(true, &plan->columns)) {
      return fail(
          function_, INFINI_STATUS_BAD_TENSOR_STRIDES,
          "%s has shape %s, and the strides of its tensors leave more than %d dimensions that cannot be merged; "
          "make one of the tensors contiguous first (Rearrange)",
          name(info_.outputs), show(shape).c_str(), kMaxLevels);
    }
    return INFINI_STATUS_SUCCESS;
  }

 private:
  const char* name(int tensor) const { return info_.tensor_names[tensor]; }

  // Which dimensions of the first input make up a row.
  infiniStatus_t find_dimensions(const RowDimensions& dimensions) {
    const RowsInfo& rows = *info_.rows;
    const auto ndim = static_cast<int64_t>(model_.shape.size());
    is_column_.assign(model_.shape.size(), false);
    const auto out_of_range = [&](const char* parameter, const std::string& given) {
      return fail(function_, INFINI_STATUS_BAD_PARAM, "%s is %s, but %s has %lld dimensions", parameter, given.c_str(),
                  name(info_.outputs), static_cast<long long>(ndim));
    };
    if (rows.along == RowsAlong::Dims) {
      if (dimensions.count > 0 && !dimensions.dims) {
        return fail(function_, INFINI_STATUS_NULL_POINTER, "dim is null, but dim_size is %zu", dimensions.count);
      }
      for (size_t i = 0; i < dimensions.count; ++i) {
        const size_t given = dimensions.dims[i];
        if (given >= model_.shape.size()) {
          return out_of_range(("dim[" + std::to_string(i) + "]").c_str(), std::to_string(given));
        }
        if (is_column_[given]) {
          return fail(function_, INFINI_STATUS_BAD_PARAM, "dim has %zu twice", given);
        }
        is_column_[given] = true;
      }
      if (dimensions.count == 0) is_column_.assign(model_.shape.size(), true);
      return INFINI_STATUS_SUCCESS;
    }
    const int64_t least = rows.reach ? 2 : 1;
    if (ndim < least) {
      return fail(function_, INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has shape %s; %s was expected", name(info_.outputs),
                  show(model_.shape).c_str(), least == 2 ? "a matrix or more" : "at least one dimension");
    }
    const int64_t axis = rows.along == RowsAlong::Axis ? dimensions.axis : -1;
    if (axis >= ndim || axis < -ndim) return out_of_range(rows.axis, std::to_string(axis));
    is_column_[static_cast<size_t>(axis < 0 ? axis + ndim : axis)] = true;
    return INFINI_STATUS_SUCCESS;
  }

  std::vector<size_t> shape_of(RowPlace place, bool keeps) const {
    if (place == RowPlace::Element) return model_.shape;
    std::vector<size_t> shape;
    for (size_t d = 0; d < model_.shape.size(); ++d) {
      if (is_column_[d] == (place == RowPlace::Column)) shape.push_back(model_.shape[d]);
      if (is_column_[d] && place == RowPlace::Row && keeps) shape.push_back(1);
    }
    return shape;
  }

  // Operators of linear algebra take any shape of one element for the result of one row.
  bool is_one_number(int tensor, const std::vector<size_t>& expected) const {
    if (info_.rows->along != RowsAlong::Last || info_.rows->place[tensor] != RowPlace::Row || !expected.empty())
      return false;
    for (const size_t size : tensors_[tensor]->shape) {
      if (size != 1) return false;
    }
    return true;
  }

  infiniStatus_t check_shapes(const RowDimensions& dimensions) {
    for (int t = 0; t < info_.tensors; ++t) {
      if (!tensors_[t]) continue;
      const std::vector<size_t> expected = shape_of(info_.rows->place[t], dimensions.keeps);
      if (tensors_[t]->shape == expected || is_one_number(t, expected)) continue;
      return fail(function_, INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has shape %s; with %s of shape %s it must have %s",
                  name(t), show(tensors_[t]->shape).c_str(), name(info_.outputs), show(model_.shape).c_str(),
                  show(expected).c_str());
    }
    keeps_ = dimensions.keeps;
    for (size_t d = 0; info_.rows->needs_elements && d < model_.shape.size(); ++d) {
      if (!is_column_[d] || model_.shape[d] != 0) continue;
      return fail(function_, INFINI_STATUS_BAD_TENSOR_SHAPE,
                  "%s has shape %s: its rows have no elements, of which there is no result", name(info_.outputs),
                  show(model_.shape).c_str());
    }
    return INFINI_STATUS_SUCCESS;
  }

  infiniStatus_t check_output_strides() const {
    for (int t = 0; t < info_.outputs; ++t) {
      if (!tensors_[t] || tensors_[t]->is_empty()) continue;
      for (size_t d = 0; d < tensors_[t]->shape.size(); ++d) {
        if (tensors_[t]->shape[d] <= 1 || tensors_[t]->strides[d] != 0) continue;
        return fail(function_, INFINI_STATUS_BAD_TENSOR_STRIDES,
                    "%s has stride 0 in dimension %zu of size %zu: its elements would be written over one another; "
                    "only inputs may have that",
                    name(t), d, tensors_[t]->shape[d]);
      }
    }
    return INFINI_STATUS_SUCCESS;
  }

  // Of the dimensions that make up a row, or of the others.
  bool make_nest(bool columns, RowNest* nest) const {
    NestBuilder<kMaxRowTensors> builder(info_.tensors);
    size_t row_dimension = 0, column_dimension = 0;  // of tensors that have only such
    for (size_t d = 0; d < model_.shape.size(); ++d) {
      if (is_column_[d] == columns) {
        int64_t strides[kMaxRowTensors] = {};
        for (int t = 0; t < info_.tensors; ++t) {
          if (!tensors_[t]) continue;
          const RowPlace place = info_.rows->place[t];
          if (place == (columns ? RowPlace::Row : RowPlace::Column)) continue;
          const size_t own = place == RowPlace::Element ? d : columns ? column_dimension : keeps_ ? d : row_dimension;
          strides[t] = tensors_[t]->strides[own] * static_cast<int64_t>(size_of(tensors_[t]->dtype));
        }
        if (!builder.add(static_cast<int64_t>(model_.shape[d]), strides)) return false;
      }
      (is_column_[d] ? column_dimension : row_dimension) += 1;
    }
    *nest = builder.finish();
    return true;
  }

  const char* function_;
  const OperatorInfo& info_;
  const Tensor* const* tensors_;
  const Tensor& model_;  // the first input: its shape is that of all elements
  std::vector<bool> is_column_;
  bool keeps_ = false;
};

}  // namespace

infiniDtype_t row_type(const OperatorInfo& info, infiniDtype_t input) {
  if (!is_whole(input)) return input;
  const bool has_no_sign = input == INFINI_DTYPE_BOOL || input == INFINI_DTYPE_U8 || input == INFINI_DTYPE_U64;
  return has_no_sign && info.dtype_rule != DtypeRule::Wide ? input : INFINI_DTYPE_I64;
}

infiniStatus_t make_rows(const char* function, const OperatorInfo& info, const Tensor* const* tensors,
                         const RowDimensions& dimensions, RowsPlan* plan) {
  return RowsMaker(function, info, tensors).make(dimensions, plan);
}

}  // namespace infiniop
