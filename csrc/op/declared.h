// Tells observers (infinirt_observe.h) which memory an operator reads and writes: its launches alone do not say.
#pragma once

#include <memory>

#include "op/operator.h"

namespace infiniop {

// `prepared`, and before each of its launches what the tensors' memory is, while something observes. Tensors that are not given are null.
std::unique_ptr<Prepared> declared(std::unique_ptr<Prepared> prepared, const OperatorInfo& info,
                                   const Tensor* const* tensors);

}  // namespace infiniop
