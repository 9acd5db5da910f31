#include "op/written.h"

#include <algorithm>
#include <string>

#include "op/operator.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop {

namespace {

static_assert(kMaxWrittenTensors == kMaxTensors && kMaxWrittenAttributes == kMaxAttributes);

constexpr int64_t kUnknown = -1;

// The tensors of one operator, while what their dimensions are called is being found out.
class Matching {
 public:
  Matching(const char* function, const OperatorInfo& info, const Tensor* const* tensors, const double* attributes,
           WrittenPlan* plan)
      : function_(function),
        info_(info),
        rules_(*info.written),
        tensors_(tensors),
        attributes_(attributes),
        plan_(*plan) {}

  infiniStatus_t run() {
    plan_ = {};
    plan_.rest = plan_.before = plan_.after = 1;
    for (int i = 0; i < rules_.sizes; ++i) {
      const int attribute = rules_.size_attributes[i];
      plan_.size[i] = attribute < 0 ? kUnknown : static_cast<int64_t>(attributes_[attribute]);
    }
    // Inputs first: what is wrong about an output is told in terms of them.
    for (int i = 0; i < info_.tensors; ++i) {
      const int t = (i + info_.outputs) % info_.tensors;
      if (!tensors_[t]) continue;
      if (auto status = match(t)) return status;
      if (t < info_.outputs) {
        if (auto status = check_written_strides(t)) return status;
      }
    }
    const char* broken = rules_.broken_rule ? rules_.broken_rule(plan_size(), attributes_, plan_) : nullptr;
    if (broken) return fail(function_, INFINI_STATUS_BAD_TENSOR_SHAPE, "%s%s", broken, known_sizes().c_str());
    return INFINI_STATUS_SUCCESS;
  }

 private:
  const int64_t* plan_size() {
    for (int i = 0; i < kMaxWrittenSizes; ++i) sizes_[i] = plan_.size[i];
    return sizes_;
  }

  std::string known_sizes() const {
    std::string text;
    for (int i = 0; i < rules_.sizes; ++i) {
      if (plan_.size[i] == kUnknown) continue;
      text += (text.empty() ? ": " : ", ") + std::string(rules_.size_names[i]) + " is " + std::to_string(plan_.size[i]);
    }
    return text;
  }

  infiniStatus_t has_shape(int t, const char* wrong) const {
    return fail(function_, INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has shape %s; (%s) was expected%s%s",
                info_.tensor_names[t], show(tensors_[t]->shape).c_str(), rules_.tensor[t].pattern, wrong,
                known_sizes().c_str());
  }

  bool is_kept(const DimRule& rule) const { return rule.kind == DimKind::Kept && attributes_[rule.name] != 0; }

  infiniStatus_t match(int t) {
    const TensorRule& rule = rules_.tensor[t];
    const Tensor& tensor = *tensors_[t];
    const auto ndim = static_cast<int>(tensor.shape.size());
    if (ndim > kMaxWrittenDims) {
      return fail(function_, INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has %d dimensions; at most %d are possible here",
                  info_.tensor_names[t], ndim, kMaxWrittenDims);
    }
    TensorView& view = plan_.tensor[t];
    view.is_given = true;
    view.dtype = static_cast<int>(tensor.dtype);
    view.ndim = ndim;
    std::copy(tensor.shape.begin(), tensor.shape.end(), view.shape);
    std::copy(tensor.strides.begin(), tensor.strides.end(), view.stride);
    if (rule.reduced_by >= 0 && attributes_[rule.reduced_by] != 0) {
      const bool is_one = std::all_of(view.shape, view.shape + ndim, [](long long size) { return size == 1; });
      return is_one ? INFINI_STATUS_SUCCESS
                    : fail(function_, INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has shape %s; one element was expected",
                           info_.tensor_names[t], show(tensor.shape).c_str());
    }
    const bool has_group = std::any_of(rule.dim, rule.dim + rule.dims, [](const DimRule& dim) {
      return dim.kind != DimKind::Named && dim.kind != DimKind::Number && dim.kind != DimKind::Kept &&
             dim.kind != DimKind::MaybeNamed;
    });
    const auto optional = static_cast<int>(std::count_if(
        rule.dim, rule.dim + rule.dims, [](const DimRule& dim) { return dim.kind == DimKind::MaybeNamed; }));
    const auto single = static_cast<int>(std::count_if(rule.dim, rule.dim + rule.dims, [this](const DimRule& dim) {
      return dim.kind == DimKind::Named || dim.kind == DimKind::Number || is_kept(dim);
    }));
    if (ndim < single || (!has_group && ndim > single + optional)) return has_shape(t, "");
    int at = 0;
    int missing = single + optional - ndim;
    if (optional > 0 && missing_ < 0) missing_ = missing;
    if (optional > 0 && missing_ != missing) return has_shape(t, ", with as many dimensions missing as in the others");
    for (int i = 0; i < rule.dims; ++i) {
      int taken = 1;
      if (rule.dim[i].kind == DimKind::MaybeNamed && missing-- > 0) {
        if (auto status = match_size(t, rule.dim[i], 1)) return status;
        continue;
      }
      if (auto status = match_one(t, rule.dim[i], at, ndim - single, &taken)) return status;
      at += taken;
    }
    return INFINI_STATUS_SUCCESS;
  }

  // `spare`: how many dimensions are left for groups.
  infiniStatus_t match_one(int t, const DimRule& rule, int at, int spare, int* taken) {
    TensorView& view = plan_.tensor[t];
    if (rule.kind == DimKind::Named || rule.kind == DimKind::Number || rule.kind == DimKind::MaybeNamed)
      return match_size(t, rule, view.shape[at]);
    if (rule.kind == DimKind::MaybeNumber) {
      *taken = spare;
      return spare == 0 || (spare == 1 && view.shape[at] == rule.times) ? INFINI_STATUS_SUCCESS : has_shape(t, "");
    }
    if (rule.kind == DimKind::Kept) {
      *taken = is_kept(rule) ? 1 : 0;
      return *taken == 0 || view.shape[at] == 1 ? INFINI_STATUS_SUCCESS : has_shape(t, "");
    }
    if (rule.kind == DimKind::Rest || rule.kind == DimKind::MaybeRest || rule.kind == DimKind::Any) {
      *taken = spare;
    } else {
      // The first tensor, which is an input, says what is meant; outputs may have fewer dimensions.
      if (!knows_dim_) {
        int dim = static_cast<int>(attributes_[rules_.dim_attribute]);
        if (dim < 0) dim += view.ndim;
        if (dim < 0 || dim >= std::max(1, view.ndim)) {
          return fail(function_, INFINI_STATUS_BAD_PARAM, "dim is %d, but %s has shape %s",
                      static_cast<int>(attributes_[rules_.dim_attribute]), info_.tensor_names[t],
                      show(tensors_[t]->shape).c_str());
        }
        plan_.dim = dim;
        knows_dim_ = true;
      }
      *taken = rule.kind == DimKind::Before ? plan_.dim : spare - plan_.dim;
      if (*taken < 0 || *taken > spare) return has_shape(t, "");
    }
    if (rule.kind == DimKind::After) {
      view.after_dims = *taken;
    } else {
      view.rest_first = at;
      view.rest_dims = *taken;
    }
    if (rule.kind == DimKind::Any || (rule.kind == DimKind::MaybeRest && *taken == 0)) return INFINI_STATUS_SUCCESS;
    return match_group(t, rule.kind == DimKind::MaybeRest ? DimKind::Rest : rule.kind, at, *taken);
  }

  infiniStatus_t match_size(int t, const DimRule& rule, int64_t size) {
    if (rule.kind == DimKind::Number) return size == rule.times ? INFINI_STATUS_SUCCESS : has_shape(t, "");
    const int64_t scaled = size * rule.over;
    if (scaled % rule.times != 0) return has_shape(t, "");
    long long& known = plan_.size[rule.name];
    if (known == kUnknown) known = scaled / rule.times;
    // Sizes such as d/2 of an odd d are nobody's.
    return known * rule.times == scaled ? INFINI_STATUS_SUCCESS : has_shape(t, "");
  }

  // A group is the same in every tensor that has it.
  infiniStatus_t match_group(int t, DimKind kind, int at, int count) {
    Group& group = groups_[static_cast<int>(kind)];
    const TensorView& view = plan_.tensor[t];
    if (group.tensor < 0) {
      group = {t, at, count};
      long long& total = kind == DimKind::Rest ? plan_.rest : kind == DimKind::Before ? plan_.before : plan_.after;
      for (int d = at; d < at + count; ++d) total *= view.shape[d];
      return INFINI_STATUS_SUCCESS;
    }
    const TensorView& first = plan_.tensor[group.tensor];
    const bool same =
        group.count == count && std::equal(view.shape + at, view.shape + at + count, first.shape + group.at);
    if (same) return INFINI_STATUS_SUCCESS;
    auto expected = tensors_[t]->shape;  // with the other's group in the place of its own
    expected.erase(expected.begin() + at, expected.begin() + at + count);
    expected.insert(expected.begin() + at, first.shape + group.at, first.shape + group.at + group.count);
    return fail(function_, INFINI_STATUS_BAD_TENSOR_SHAPE,
                "%s has shape %s; beside %s of shape %s it must be %s: of (%s) and (%s) `%s` is the same",
                info_.tensor_names[t], show(tensors_[t]->shape).c_str(), info_.tensor_names[group.tensor],
                show(tensors_[group.tensor]->shape).c_str(), show(expected).c_str(), rules_.tensor[t].pattern,
                rules_.tensor[group.tensor].pattern,
                kind == DimKind::Rest     ? "..."
                : kind == DimKind::Before ? "<"
                                          : ">");
  }

  infiniStatus_t check_written_strides(int t) const {
    const TensorView& view = plan_.tensor[t];
    for (int d = 0; d < view.ndim && !tensors_[t]->is_empty(); ++d) {
      if (view.shape[d] <= 1 || view.stride[d] != 0) continue;
      return fail(function_, INFINI_STATUS_BAD_TENSOR_STRIDES,
                  "%s has stride 0 in dimension %d of size %lld: its elements would be written over one another; only "
                  "inputs may have that",
                  info_.tensor_names[t], d, view.shape[d]);
    }
    return INFINI_STATUS_SUCCESS;
  }

  struct Group {
    int tensor = -1, at = 0, count = 0;
  };

  const char* function_;
  const OperatorInfo& info_;
  const WrittenInfo& rules_;
  const Tensor* const* tensors_;
  const double* attributes_;
  WrittenPlan& plan_;
  Group groups_[static_cast<int>(DimKind::After) + 1];
  bool knows_dim_ = false;
  int missing_ = -1;  // dimensions that may be, in all tensors alike
  int64_t sizes_[kMaxWrittenSizes] = {};
};

}  // namespace

infiniStatus_t make_written(const char* function, const OperatorInfo& info, const Tensor* const* tensors,
                            const double* attributes, WrittenPlan* plan) {
  return Matching(function, info, tensors, attributes, plan).run();
}

void written_sizes(const OperatorInfo& info, const WrittenPlan& plan, const double* attributes, int64_t* sizes) {
  for (int i = 0; i < info.written->sizes; ++i) {
    const int attribute = info.written->size_attributes[i];
    sizes[i] = attribute < 0 ? plan.size[i] : static_cast<int64_t>(attributes[attribute]);
  }
}

}  // namespace infiniop
