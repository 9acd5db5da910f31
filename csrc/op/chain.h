// Chains: several element-wise operators in one pass over memory.
#pragma once

#include <memory>

#include "infiniop/chain.h"
#include "op/operator.h"

namespace infiniop {

inline constexpr int kMaxChainOperands = INFINIOPX_MAX_CHAIN_OPERANDS;
inline constexpr int kMaxChainSteps = INFINIOPX_MAX_CHAIN_STEPS;
using ChainNest = NestOf<kMaxChainOperands>;

struct ChainStep {
  const OperatorInfo* info;
  infiniDtype_t in, out;  // of the inputs, where there are some and they do not hold truth, and of the result
  int8_t inputs[3];       // values: operands, then the steps' results
  int8_t output;          // the operand that it is written to, or -1
  double attributes[kMaxMapAttributes];
  unsigned char element[16];  // of Constant and Fill
};

// What a chain computes; the same for every device.
struct ChainPlan {
  ChainNest nest;
  infiniDtype_t dtype[kMaxChainOperands];
  bool is_written[kMaxChainOperands];
  int steps;
  ChainStep step[kMaxChainSteps];
};

// What a device makes of it.
class PreparedChain {
 public:
  virtual ~PreparedChain() = default;
  virtual infinirtError_t launch(void* const* operands, infinirtStream_t stream) const = 0;
};

}  // namespace infiniop
