#include "bindings/infinicore/patterns.h"

#include <algorithm>

namespace infinicore {

namespace {

bool is_single(const DimRule& rule) { return rule.kind == DimKind::Named || rule.kind == DimKind::Number; }

bool is_kept(const DimRule& rule, const double* attributes) {
  return rule.kind == DimKind::Kept && attributes[rule.name] != 0;
}

int singles(const Pattern& pattern, const double* attributes) {
  return static_cast<int>(std::count_if(pattern.dim, pattern.dim + pattern.dims, [&](const DimRule& rule) {
    return is_single(rule) || is_kept(rule, attributes);
  }));
}

bool is_reduced(const Pattern& pattern, const double* attributes) {
  return pattern.reduced_by >= 0 && attributes[pattern.reduced_by] != 0;
}

int optionals(const Pattern& pattern) {
  return static_cast<int>(std::count_if(pattern.dim, pattern.dim + pattern.dims,
                                        [](const DimRule& rule) { return rule.kind == DimKind::MaybeNamed; }));
}

bool names_dimension(const Pattern& pattern) {
  return std::any_of(pattern.dim, pattern.dim + pattern.dims,
                     [](const DimRule& rule) { return rule.kind == DimKind::Before || rule.kind == DimKind::After; });
}

// What names and groups stand for, as far as tensors say. Whether they fit is for the operator to say.
struct Known {
  Py_ssize_t size[16];
  bool is_missing[16] = {};         // of names that tensors need not have
  const Py_ssize_t* group[10] = {};  // by DimKind
  int group_dims[10] = {};

  void take(const Pattern& pattern, const TensorObject& tensor, int dim, const double* attributes) {
    const int spare = tensor.ndim() - singles(pattern, attributes);
    if (spare < 0) return;
    int at = 0;
    int missing = optionals(pattern) - spare;  // the first ones
    for (int i = 0; i < pattern.dims && at <= tensor.ndim(); ++i) {
      const DimRule& rule = pattern.dim[i];
      if (rule.kind == DimKind::MaybeNamed) {
        const bool is_missed = missing-- > 0;
        if (size[rule.name] < 0) {
          size[rule.name] = is_missed ? 1 : tensor.shape()[at];
          is_missing[rule.name] = is_missed;
        }
        at += is_missed ? 0 : 1;
        continue;
      }
      if (is_single(rule)) {
        if (at >= tensor.ndim()) return;
        if (rule.kind == DimKind::Named && size[rule.name] < 0)
          size[rule.name] = tensor.shape()[at] * rule.over / rule.times;
        ++at;
        continue;
      }
      if (rule.kind == DimKind::MaybeNumber) {
        at += spare;
        continue;
      }
      if (rule.kind == DimKind::Kept) {
        if (is_kept(rule, attributes)) ++at;
        continue;
      }
      const int dims = rule.kind == DimKind::Before  ? std::min(dim, spare)
                       : rule.kind == DimKind::After ? std::max(0, spare - dim)
                                                     : spare;
      const auto kind = static_cast<int>(rule.kind == DimKind::MaybeRest ? DimKind::Rest : rule.kind);
      if (rule.kind != DimKind::Any && !group[kind] && (rule.kind != DimKind::MaybeRest || dims > 0)) {
        group[kind] = tensor.shape() + at;
        group_dims[kind] = dims;
      }
      at += dims;
    }
  }
};

}  // namespace

bool pattern_shape(const char* function, const Patterns& patterns, int output, TensorObject* const* tensors, int count,
                   const double* attributes, Py_ssize_t* shape, int* ndim) {
  Known known;
  for (int i = 0; i < patterns.sizes; ++i) {
    const int attribute = patterns.size_attributes[i];
    known.size[i] = attribute < 0 ? -1 : static_cast<Py_ssize_t>(attributes[attribute]);
  }
  const int dim = patterns.dim_attribute < 0 ? 0 : static_cast<int>(attributes[patterns.dim_attribute]);
  for (int t = 0; t < count; ++t) {
    if (tensors[t] && !is_reduced(patterns.tensor[t], attributes)) {
      known.take(patterns.tensor[t], *tensors[t], dim, attributes);
    }
  }
  *ndim = 0;
  const Pattern& pattern = patterns.tensor[output];
  if (is_reduced(pattern, attributes)) return true;
  for (int i = 0; i < pattern.dims; ++i) {
    const DimRule& rule = pattern.dim[i];
    if (rule.kind == DimKind::MaybeNamed && known.is_missing[rule.name]) continue;
    if (is_single(rule) || rule.kind == DimKind::MaybeNamed) {
      shape[*ndim] = rule.kind == DimKind::Number ? rule.times : known.size[rule.name] * rule.times / rule.over;
      if (*ndim == kMaxDimensions || shape[(*ndim)++] < 0) break;
      continue;
    }
    if (rule.kind == DimKind::Kept) {
      if (is_kept(rule, attributes) && *ndim < kMaxDimensions) shape[(*ndim)++] = 1;
      continue;
    }
    const auto kind = static_cast<int>(rule.kind);
    for (int d = 0; d < known.group_dims[kind] && *ndim < kMaxDimensions; ++d) shape[(*ndim)++] = known.group[kind][d];
  }
  if (std::all_of(shape, shape + *ndim, [](Py_ssize_t size) { return size >= 0; })) return true;
  PyErr_Format(PyExc_ValueError, "%s(): the shapes of the tensors do not say what shape the result has", function);
  return false;
}

int least_dimensions(const Pattern& pattern, const double* attributes) { return singles(pattern, attributes); }

bool resolve_dim(const char* function, const Patterns& patterns, TensorObject* const* tensors, int count,
                 double* attributes) {
  double& dim = attributes[patterns.dim_attribute];
  for (int t = 0; t < count; ++t) {
    if (!tensors[t] || !names_dimension(patterns.tensor[t])) continue;
    const int ndim = std::max(1, tensors[t]->ndim());
    if (dim < -ndim || dim >= ndim) {
      PyErr_Format(PyExc_IndexError, "%s(): dim is %d, but must be from %d to %d", function, static_cast<int>(dim),
                   -ndim, ndim - 1);
      return false;
    }
    if (dim < 0) dim += ndim;
    return true;
  }
  return true;
}

}  // namespace infinicore
