// Compiled once for each instruction set, with INFINIOP_TILES naming the table.
#include "op/cpu/tiles.h"

#include "op/expression.h"

namespace infiniop::cpu {

namespace {

#include "infiniop/generated/maps.inc"

template <class Out, class In, Out (*convert)(In)>
void convert_tile(size_t count, void* out, const void* in) {
  auto* to = static_cast<Out*>(out);
  const auto* from = static_cast<const In*>(in);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) to[i] = convert(from[i]);
}

}  // namespace

extern const Tiles INFINIOP_TILES = {
    {INFINIOP_MAP_ROWS},
    convert_tile<float, uint8_t, from_float8>,
    convert_tile<float, uint16_t, from_float16>,
    convert_tile<float, uint16_t, from_bfloat16>,
    convert_tile<uint8_t, float, to_float8>,
    convert_tile<uint16_t, float, to_float16>,
    convert_tile<uint16_t, float, to_bfloat16>,
};

}  // namespace infiniop::cpu
