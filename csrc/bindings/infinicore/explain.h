// What is wrong with a call: the operator library says it in C's words, and here it is said with the names that the caller knows.
#pragma once

#include <string>

#include "bindings/infinicore/operators.h"

namespace infinicore {

/// Sets the exception for a status with which a descriptor was refused. `tensors` are outputs, then inputs.
void explain(infiniStatus_t status, const OperatorRow& row, TensorObject* const* tensors, const Dimensions& dimensions);

/// Instead of the interpreter's words for an argument that could not be converted: whose it was, and what was expected. An exception
/// must be set; one that an argument's own code raised for another reason stays. False.
bool explain_argument(const char* function, const char* parameter, const char* expected, PyObject* given);

/// Instead of the exception that an output's shape is not known: which input has too few dimensions, if there is one. False.
bool explain_dimensions(const OperatorRow& row, TensorObject* const* tensors, const double* attributes);

/// The shape, as Python shows it.
std::string text_of(const TensorObject& tensor);

/// What shape an output of an operator on rows has; true, as rules that can fail.
bool row_shape(const OperatorRow& row, int output, const TensorObject& input, const Dimensions& dimensions,
               Py_ssize_t* shape, int* ndim);

/// False, with a TypeError that says which parameters there are, of one that is none of them.
[[gnu::cold]] bool explain_unknown(const char* function, PyObject* const* parameters, int count, PyObject* name);

}  // namespace infinicore
