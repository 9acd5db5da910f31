// Operators whose computation is written out, for each device type in its folder `written`: what the schema says about one, and what
// is left of its tensors when a descriptor is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "infinicore.h"
#include "op/limits.h"
#include "op/nvidia/written_arguments.h"

namespace infiniop {

class Composer;
struct OperatorInfo;
struct Tensor;

enum class DimKind : uint8_t {
  Named,  // the size of that name, times `times`, over `over`
  Number,  // `times`
  Rest,  // as many dimensions as are left: the same in all tensors that have them
  MaybeRest,  // the same, or none
  Before,  // those before the dimension that the attribute `dim` names
  After,  // those after it
  MaybeNumber,  // `times`, or no dimension
  Any,  // any dimensions, whatever other tensors have
  Kept,  // size 1 where the attribute `name` is not 0, none otherwise
  MaybeNamed,  // the size of that name, or no dimension and size 1; the first ones are missing, in all tensors as many
};

struct DimRule {
  DimKind kind;
  int8_t name;
  int16_t times, over;
};

struct TensorRule {
  const char* pattern;  // as the schema writes it, for messages
  uint32_t dtypes;  // its own element types; 0: the operator's one type
  bool may_be_null;
  bool is_described;  // false: it has an address only, and lies without gaps
  int dims;
  DimRule dim[kMaxWrittenDims];
  int reduced_by;  // the attribute that makes one element of it where it is not 0; -1: none
};

// One entry of the schema; generated. Tensors come in OperatorInfo's order.
struct WrittenInfo {
  int number;  // among the written operators that have kernels; -1: it has none
  int dim_attribute;  // the one that names the dimension of Before and After; -1: none
  int sizes;
  const char* size_names[kMaxWrittenSizes];
  int8_t size_attributes[kMaxWrittenSizes];  // which attribute gives the size; -1: tensors do
  TensorRule tensor[kMaxTensors];
  // Null, or the sentence that does not hold of these sizes and attributes.
  const char* (*broken_rule)(const int64_t* size, const double* attributes, const WrittenPlan& plan);
  void (*compose)(Composer& composer);  // of those that are made of others; null: it has kernels of its own
};

// `tensors` that are not given are null. Checks element types and shapes, and leaves the message of what does not fit.
infiniStatus_t make_written(const char* function, const OperatorInfo& info, const Tensor* const* tensors,
                            const double* attributes, WrittenPlan* plan);

// The sizes of a plan, where those that attributes give are these of a call.
void written_sizes(const OperatorInfo& info, const WrittenPlan& plan, const double* attributes, int64_t* sizes);

}  // namespace infiniop
