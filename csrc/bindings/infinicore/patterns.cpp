#include "bindings/infinicore/patterns.h"

#include <algorithm>

namespace infinicore {

namespace {

bool is_single(const DimRule& rule) { return rule.kind == DimKind::Named || rule.kind == DimKind::Number; }

int singles(const Pattern& pattern) {
  return static_cast<int>(std::count_if(pattern.dim, pattern.dim + pattern.dims, is_single));
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
  const Py_ssize_t* group[6] = {};  // by DimKind
  int group_dims[6] = {};

  void take(const Pattern& pattern, const TensorObject& tensor, int dim) {
    const int spare = tensor.ndim() - singles(pattern);
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
      const int dims = rule.kind == DimKind::Before  ? dim
                       : rule.kind == DimKind::After ? std::max(0, tensor.ndim() - 1 - dim)
                                                     : spare;
      const auto kind = static_cast<int>(rule.kind == DimKind::MaybeRest ? DimKind::Rest : rule.kind);
      if (!group[kind] && (rule.kind != DimKind::MaybeRest || dims > 0)) {
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
    if (tensors[t]) known.take(patterns.tensor[t], *tensors[t], dim);
  }
  *ndim = 0;
  const Pattern& pattern = patterns.tensor[output];
  for (int i = 0; i < pattern.dims; ++i) {
    const DimRule& rule = pattern.dim[i];
    if (rule.kind == DimKind::MaybeNamed && known.is_missing[rule.name]) continue;
    if (is_single(rule) || rule.kind == DimKind::MaybeNamed) {
      shape[*ndim] = rule.kind == DimKind::Number ? rule.times : known.size[rule.name] * rule.times / rule.over;
      if (*ndim == kMaxDimensions || shape[(*ndim)++] < 0) break;
      continue;
    }
    const auto kind = static_cast<int>(rule.kind);
    for (int d = 0; d < known.group_dims[kind] && *ndim < kMaxDimensions; ++d) shape[(*ndim)++] = known.group[kind][d];
  }
  if (std::all_of(shape, shape + *ndim, [](Py_ssize_t size) { return size >= 0; })) return true;
  PyErr_Format(PyExc_ValueError, "%s(): the shapes of the tensors do not say what shape the result has", function);
  return false;
}

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
