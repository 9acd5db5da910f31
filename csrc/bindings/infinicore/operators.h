// Operators as Python functions: one engine, and one generated row of a table for each operator.
#pragma once

#include "bindings/infinicore/dimensions.h"
#include "bindings/infinicore/patterns.h"
#include "bindings/infinicore/tensor.h"

namespace infinicore {

inline constexpr int kMaxTensors = 12;
inline constexpr int kMaxOutputs = 6;
inline constexpr int kMaxInputs = 10;
inline constexpr int kMaxNumbers = 3;  // inputs that may be numbers
inline constexpr int kMaxAttributes = 20;

/// What shape an output has that the caller does not give.
enum class ShapeRule : uint8_t {
  Broadcast,  // the inputs', each repeated where another one is larger
  Product,  // that of matrices: the rows of the first, the columns of the second; a dimension before them counts matrices
  Half,  // the input's, with half of its last dimension
  Rows,  // the first input's, or what is left of it without the dimensions that rows are made of
  Written,  // as patterns say
  Given,  // there is no input to tell: the output must be given
};

enum class DtypeRule : uint8_t {
  Same,  // the inputs'
  Truth,  // bool
  Cast,  // the output must be given
  Wide,  // the inputs', and int64 where these are integers or bool
};

/// One operator. Tensors come in the order outputs, inputs, and those that Python does not give.
struct OperatorRow {
  const char* name;  // in Python
  const char* symbol;  // between two tensors; "": none
  const char* output;  // what C calls it, in messages
  const char* doc;
  const char* functional_doc;  // where it stands in nn.functional
  ShapeRule shape_rule;
  DtypeRule dtype_rule;
  int outputs, inputs, tensors, attributes;
  int written;  // the input that is the output as well, counted from 0; -1: none
  bool attributes_are_early;  // part of the descriptor
  bool is_public;  // offered by the package under its own name
  bool is_functional, takes_inplace;
  bool takes_element;  // the first argument is the bytes of an element
  bool copies;  // the elements as they are, from any strides to any
  RowsAlong along;
  bool is_reduced[kMaxOutputs];  // one element for each row
  bool may_be_none[kMaxInputs];
  bool holds_truth[kMaxInputs];  // bool, whatever type the others have
  const char* shape_parameter;  // behind the first input: has to be the shape of the second; "": there is none
  const char* output_parameters[kMaxOutputs];
  const char* parameters[kMaxTensors + kMaxAttributes];
  double defaults[kMaxAttributes];
  bool is_required[kMaxAttributes];
  bool is_whole[kMaxAttributes];  // no fractions
  const char* choices[kMaxAttributes];  // the words for 0, 1, ..., with | between them; null: it is a number

  const Patterns* patterns;  // of written operators; null: it is none
  bool reads_outputs;  // what an output holds is part of the computation

  infiniStatus_t (*create)(infiniopHandle_t handle, void** result, const infiniopTensorDescriptor_t* tensors,
                           const double* attributes, const Dimensions& dimensions);
  infiniStatus_t (*workspace_size)(void* descriptor, size_t* size);
  infiniStatus_t (*compute)(void* descriptor, void* workspace, size_t workspace_size, void* const* addresses,
                            const double* attributes, const void* element, void* stream);
  infiniStatus_t (*destroy)(void* descriptor);
};

/// Everything that one launch needs beside the stream.
struct Launch {
  const OperatorRow* row;
  void* descriptor;
  void* addresses[kMaxTensors];
  double attributes[kMaxAttributes];
  unsigned char element[16];
  void* workspace;
  size_t workspace_size;

  infiniStatus_t operator()(infinirtStream_t stream) const {
    return row->compute(descriptor, workspace, workspace_size, addresses, attributes, element, stream);
  }
};

/// What calls operators of Python's: the number of the operator in Python's order of them, or of the comparison.
enum class Symbol : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Remainder,
  Power,
  And,
  Or,
  Xor,
  LeftShift,
  RightShift,
  Lt,
  Le,
  Eq,
  Ne,
  Gt,
  Ge,
  MulNumber,
  Negative,
  Absolute,
  Invert,
  InvertTruth,
  Count
};

/// `first` symbol `second`, one of which is a tensor; into `first` if `in_place`. A new reference, NotImplemented where the other
/// one is no operand, or null with an exception.
PyObject* apply(Symbol symbol, PyObject* first, PyObject* second, bool in_place);

/// The operator before `tensor`; a new reference or null with an exception.
PyObject* apply(Symbol symbol, PyObject* tensor);

/// Every element of the tensor becomes the one of these bytes. False with an exception.
bool fill(PyObject* element, PyObject* tensor);

/// Adds `operators` and `functional`, dicts of functions, `building_blocks` and set_encoder to the module. False with an exception.
bool add_operators(PyObject* module);

}  // namespace infinicore
