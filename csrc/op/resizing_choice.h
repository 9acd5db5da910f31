// How the operators that give another size do so, from the numbers that they were made with.
#pragma once

#include "infiniop/generated/written.h"
#include "op/nvidia/written_arguments.h"

namespace infiniop {
namespace {  // NOLINT: one copy for each instruction set

inline Resizing resizing_of_interpolate(const WrittenPlan& plan, const double* attributes) {
  namespace at = interpolate::attribute;
  const double scale = attributes[at::size] != 0 ? 0 : attributes[at::scale_factor];
  Resizing resizing = {resampling_of(attributes[at::mode]), attributes[at::align_corners] != 0, {}};
  for (int d = 5 - plan.tensor[interpolate::tensor::x].ndim; d < 3; ++d) resizing.scale[d] = scale;
  return resizing;
}
inline Resizing resizing_of_resample(const WrittenPlan&, const double* attributes) {
  namespace at = resample::attribute;
  const double* scale = attributes + at::scale_factor_d;
  return {resampling_of(attributes[at::mode]), attributes[at::align_corners] != 0, {scale[0], scale[1], scale[2]}};
}
inline Resizing resizing_of_nearest(const WrittenPlan&, const double*) { return {Resampling::Nearest, false, {}}; }
inline Resizing resizing_of_bilinear(const WrittenPlan&, const double* attributes) {
  return {Resampling::Linear, attributes[upsample_bilinear::attribute::align_corners] != 0, {}};
}

}  // namespace
}  // namespace infiniop
