// The written operators of one instruction set, in the order of their numbers.
#include "op/cpu/written.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

#define INFINIOP_WRITTEN(name) extern const WrittenKernel name;
#include "infiniop/generated/written_list.inc"
#undef INFINIOP_WRITTEN

extern const WrittenKernel* const written[];
#define INFINIOP_WRITTEN(name) &name,
const WrittenKernel* const written[] = {
#include "infiniop/generated/written_list.inc"
};
#undef INFINIOP_WRITTEN

}  // namespace infiniop::cpu::INFINIOP_LEVEL
