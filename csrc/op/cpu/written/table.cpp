// The written operators of one instruction set, in the order of their numbers. Some are compiled only once, and the same for all.
#include "op/cpu/written.h"

namespace infiniop::cpu {

namespace plain {
#define INFINIOP_WRITTEN(name)
#define INFINIOP_WRITTEN_ONCE(name) extern const WrittenKernel name;
#include "infiniop/generated/written_list.inc"
#undef INFINIOP_WRITTEN
#undef INFINIOP_WRITTEN_ONCE
}  // namespace plain

namespace INFINIOP_LEVEL {

#define INFINIOP_WRITTEN(name) extern const WrittenKernel name;
#define INFINIOP_WRITTEN_ONCE(name)
#include "infiniop/generated/written_list.inc"
#undef INFINIOP_WRITTEN
#undef INFINIOP_WRITTEN_ONCE

extern const WrittenKernel* const written[];
#define INFINIOP_WRITTEN(name) &name,
#define INFINIOP_WRITTEN_ONCE(name) &plain::name,
const WrittenKernel* const written[] = {
#include "infiniop/generated/written_list.inc"
};
#undef INFINIOP_WRITTEN
#undef INFINIOP_WRITTEN_ONCE

}  // namespace INFINIOP_LEVEL

}  // namespace infiniop::cpu
