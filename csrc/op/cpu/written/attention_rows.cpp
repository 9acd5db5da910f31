#include "op/cpu/written/attention_rows.h"

#include "op/cpu/machine.h"
#include "op/cpu/written/attention_tiles.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

infinirtError_t attend(int dtype, const KeyRows& keys, const KeyRows& values, int64_t d, int64_t e, double scale,
                       const QueryRows& rows) {
#ifdef INFINIOP_TILE_REGISTERS
  if (dtype == INFINI_DTYPE_BF16 && rows.count >= TiledAttention::kFewestRows && multiplies_tiles()) {
    infinirtError_t error = infinirtSuccess;
    if (TiledAttention(keys, values, d, e, scale).run(rows, &error)) return error;
  }
#endif
  return with_float_type(
      dtype, [&](auto tag) { return Attention<typename decltype(tag)::type>(keys, values, d, e, scale).run(rows); });
}

}  // namespace infiniop::cpu::INFINIOP_LEVEL
