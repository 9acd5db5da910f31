#include "op/cpu/written/attention_rows.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

infinirtError_t attend(int dtype, const KeyRows& keys, const KeyRows& values, int64_t d, int64_t e, double scale,
                       const QueryRows& rows) {
  return with_float_type(
      dtype, [&](auto tag) { return Attention<typename decltype(tag)::type>(keys, values, d, e, scale).run(rows); });
}

}  // namespace infiniop::cpu::INFINIOP_LEVEL
