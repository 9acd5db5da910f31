// The shapes of outputs that a caller does not give.
#pragma once

#include "bindings/infinicore/operators.h"

namespace infinicore {

/// Of output `output`; `tensors` has the inputs, behind the outputs. False with an exception.
bool output_shape(const OperatorRow& row, int output, TensorObject* const* tensors, const Dimensions& dimensions,
                  Py_ssize_t* shape, int* ndim);

}  // namespace infinicore
