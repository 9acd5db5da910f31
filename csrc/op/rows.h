// Operators on rows: what the schema says about one, and what is left of its tensors when a descriptor is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "infinicore.h"
#include "op/nest.h"

namespace infiniop {

struct OperatorInfo;
struct Tensor;

inline constexpr int kMaxRowTensors = 6;
inline constexpr int kMaxRowOutputs = 3;
inline constexpr int kMaxRowSteps = 4;
inline constexpr int kMaxRowValues = 4;   // for each element: inputs, then steps of kind Each
inline constexpr int kMaxRowScalars = 6;  // for each row: attributes, the number of elements, then reductions

enum class RowsAlong : uint8_t {
  Last,  // the last dimension
  Axis,  // one that is named
  Dims,  // as many as are named, or all
};

enum class RowPlace : uint8_t {
  Element,  // one element for each of the rows
  Column,   // one for each column
  Row,      // one for each row
};

enum class RowStepKind : uint8_t { Each, Sum, Max, Min, Prod };
inline constexpr int kReductions = 4;

struct RowStep {
  RowStepKind kind;
  int loop;  // its expression, of those that there are loops for; -1: the only value of `reads` as it is
  uint32_t reads;  // bit n: value n is in it
  bool is_light;  // it waits for memory rather than for the arithmetic
};

struct RowResult {
  int loop;
  uint32_t reads;
};

// One entry of the schema; generated. Tensors come in OperatorInfo's order.
struct RowsInfo {
  int number;  // among the operators on rows
  RowsAlong along;
  const char* axis;  // what the parameter for it is called
  int inputs, attributes, steps;
  RowStep step[kMaxRowSteps];
  RowResult result[kMaxRowOutputs];  // one for each output
  RowPlace place[kMaxRowTensors];
  bool may_be_null[kMaxRowTensors];
  double missing[kMaxRowTensors];  // what the elements of an input are that is null
  bool needs_elements;
  // How many elements of a row take part; null: all of them.
  int64_t (*reach)(int64_t n, int64_t row, int64_t rows);
};

// Where rows lie, as a caller says it.
struct RowDimensions {
  int axis = -1;                 // of RowsAlong::Axis
  const size_t* dims = nullptr;  // of RowsAlong::Dims
  size_t count = 0;
  bool keeps = false;  // the output has those dimensions, too, with size 1
};

using RowNest = NestOf<kMaxRowTensors>;

// Tensors that are not given have stride 0 everywhere.
struct RowsPlan {
  RowNest rows;     // from row to row
  RowNest columns;  // from element to element of one row
  int64_t matrix_rows;  // the size of the dimension before the last; 1 where there is none
  bool is_given[kMaxRowTensors];

  int64_t length() const { return columns.total; }
};

// The type that rows of `input` are computed in, itself an element type or the next wider one: integers are reduced in 64 bits.
infiniDtype_t row_type(const OperatorInfo& info, infiniDtype_t input);

// `tensors` that are not given are null. Leaves the message of what does not fit.
infiniStatus_t make_rows(const char* function, const OperatorInfo& info, const Tensor* const* tensors,
                         const RowDimensions& dimensions, RowsPlan* plan);

}  // namespace infiniop
