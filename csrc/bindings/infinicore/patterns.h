// The shapes of written operators: what the schema calls their sizes, and the outputs' shapes that follow from the inputs'.
#pragma once

#include "bindings/infinicore/tensor.h"

namespace infinicore {

/// One dimension of a pattern, or one group of them; as in csrc/op/written.h.
enum class DimKind : uint8_t { Named, Number, Rest, MaybeRest, Before, After, MaybeNumber, Any, Kept, MaybeNamed };

struct DimRule {
  DimKind kind;
  int8_t name;
  int16_t times, over;
};

struct Pattern {
  int dims;
  DimRule dim[8];
  int reduced_by;  // the attribute that makes one element of it where it is not 0; -1: none
};

/// Of one operator; generated. Tensors come in OperatorRow's order.
struct Patterns {
  int sizes;
  int8_t size_attributes[16];  // which attribute gives the size; -1: tensors do
  int dim_attribute;  // the one that names the dimension of Before and After; -1: none
  Pattern tensor[12];
  int made_as
      [6];  // the type of an output that the caller does not give: infiniDtype_t, or ~number of the tensor that has it
  bool is_parameter[6];  // the output is an argument: it is read as well
  bool may_be_none[6];  // the output is not made for a caller who does not give it
  bool in_place;  // outputs may be inputs
  int arguments;  // inputs, and outputs that are read as well
  int8_t argument[12];  // which tensors they are, in their order
};

/// The shape of an output. `tensors` are null where they are not known. False with an exception.
bool pattern_shape(const char* function, const Patterns& patterns, int output, TensorObject* const* tensors, int count,
                   const double* attributes, Py_ssize_t* shape, int* ndim);

/// How many dimensions a tensor has at least.
int least_dimensions(const Pattern& pattern, const double* attributes);

/// The attribute `dim` counts from the first dimension then. False with an exception.
bool resolve_dim(const char* function, const Patterns& patterns, TensorObject* const* tensors, int count,
                 double* attributes);

}  // namespace infinicore
