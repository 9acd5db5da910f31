// Beside the aligned API, whose current device is the runtime's own, and whose work is asynchronous.
#include "op/generation.h"

namespace infiniop {

CallScope::CallScope(const char*) {}
CallScope::~CallScope() = default;

infinirtError_t after_work(const Device&, infinirtStream_t) { return infinirtSuccess; }

}  // namespace infiniop
