// Operators: what the schema says about one, the plan that a descriptor holds, and the calls that all of them share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "infinicore.h"
#include "infinirt_ext.h"
#include "op/limits.h"
#include "op/nest.h"
#include "op/object.h"
#include "op/product.h"
#include "op/rows.h"
#include "op/written.h"

namespace infiniop {

enum class OperatorKind : uint8_t {
  Map,       // an expression of the inputs
  Copy,      // the input's bytes
  Cast,      // the input in another type
  Constant,  // ones or zeros
  Fill,      // an element that the call names
  Gemm,      // a product of matrices
  Rows,      // steps over rows as a whole
  Written,   // a kernel of its own
  Scale,     // a part of Gemm, in no schema: the input times attribute 0, or 0 where that is 0
};

// The same element everywhere, from no input.
constexpr bool is_constant(OperatorKind kind) { return kind == OperatorKind::Constant || kind == OperatorKind::Fill; }

enum class DtypeRule : uint8_t {
  Same,   // all tensors have one type
  Truth,  // the output holds 0 and 1
  Cast,   // the output has any type
  Wide,   // of Rows: as Same, but of integers and BOOL the output is I64
};

// One entry of the schema; generated. Tensors come in the order outputs, inputs, unused ones.
struct OperatorInfo {
  const char* name;
  int number;            // of the operator, in the order of their names
  OperatorKind kind;
  DtypeRule dtype_rule;
  int map;               // which expression, of those that there are kernels for
  int inputs;
  int tensors;
  const char* tensor_names[kMaxTensors];
  uint32_t dtypes;       // bit n: type n is possible for inputs (and the output, where there is no input)
  double constant;       // of OperatorKind::Constant
  bool halves;           // tensors 1 and 2 are one: what is computed from are the halves of its last dimension
  const OperatorInfo* scalar;  // what it is when its last input is not given; null: it has to be
  bool early_attributes = false;   // the descriptor is made with them
  int outputs = 1;                       // more than one only of Rows and Written
  const RowsInfo* rows = nullptr;        // of Rows
  const WrittenInfo* written = nullptr;  // of Written
  uint32_t truths = 0;  // bit n: tensor n holds truth, whatever type the others have

  // The tensor whose type the others have, and which decides what is computed in: the first input that may have any, or the output.
  constexpr int model() const {
    int tensor = inputs > 0 ? outputs : 0;
    while (truths >> tensor & 1) ++tensor;
    return tensor;
  }
};

class Device;

// Everything that compute needs, checked and chosen when the descriptor is made. The same for every device.
struct Plan {
  const OperatorInfo* info;
  Nest nest;  // of Gemm, Rows and Written only the number of elements
  Product product;  // of Gemm
  const RowsPlan* rows;  // of Rows; the descriptor's. Prepared work keeps what it needs of it
  const WrittenPlan* written;  // of Written, likewise
  infiniDtype_t dtype[kMaxTensors];
  int64_t second_half;  // bytes from operand 1 to operand 2, where these are halves
  double attributes[kMaxAttributes];
  unsigned char element[16];  // what Constant and Fill write
};

// Memory of the device that a call may use until it has run.
struct Workspace {
  void* address = nullptr;
  size_t size = 0;
};

// What a device makes of a plan.
class Prepared {
 public:
  virtual ~Prepared() = default;
  virtual size_t workspace_size() const { return 0; }
  // Enqueues. `operands` are the addresses of output and inputs; `plan` may differ from what was prepared in attributes and
  // element only; the workspace is large enough. Allocates nothing on the device.
  virtual infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace& workspace,
                                 infinirtStream_t stream) const = 0;
};

struct Descriptor final : Object {
  Plan plan;
  std::unique_ptr<RowsPlan> rows;  // of Rows
  std::unique_ptr<WrittenPlan> written;  // of Written
  const Device* device;
  const char* device_type;  // the runtime's name of it
  int device_id;
  std::unique_ptr<Prepared> prepared;
};

// The operators by their numbers, k<Name>Number.
const OperatorInfo& info_of_operator(int number);

// The two halves of making a descriptor. What is asked for is checked, and planned; tensors that are not given are null.
infiniStatus_t plan_operator(const char* function, const OperatorInfo& info, const Tensor* const* tensors,
                             const double* attributes, const RowDimensions& dimensions, Descriptor* descriptor);
// Kernels are chosen, on the thread's current device.
infiniStatus_t prepare_operator(const char* function, const Device& device, Descriptor* descriptor);

// `tensors` are infiniopTensorDescriptor_t in OperatorInfo's order; `attributes` may be null; `dimensions` are of Rows.
infiniStatus_t create_operator(const char* function, const OperatorInfo& info, void* handle, void** result,
                               const void* const* tensors, const double* attributes,
                               const RowDimensions& dimensions = {});
infiniStatus_t get_workspace_size(const char* function, const OperatorInfo& info, const void* descriptor, size_t* size);
// What a call brings beside its tensors.
struct CallValues {
  const double* attributes = nullptr;  // null: those of the descriptor
  const void* element = nullptr;  // of OperatorKind::Fill
  Workspace workspace = {};
  uint32_t late = ~0u;  // bit n: attribute n is the call's; others are the descriptor's
};
// `addresses` of all tensors, in OperatorInfo's order.
infiniStatus_t compute(const char* function, const OperatorInfo& info, const void* descriptor, void* const* addresses,
                       void* stream, const CallValues& values = {});
infiniStatus_t destroy_operator(const char* function, const OperatorInfo& info, const void* descriptor);

}  // namespace infiniop
