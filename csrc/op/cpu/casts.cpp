// Conversions between the types that are computed in.
#include <type_traits>

#include "op/cpu/tiles.h"
#include "op/expression.h"

namespace infiniop::cpu {

namespace {

template <class Out, class In>
void cast_tile(size_t count, void* out, const void* in) {
  auto* to = static_cast<Out*>(out);
  const auto* from = static_cast<const In*>(in);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<In> && !std::is_floating_point_v<Out>) {
      to[i] = number_as<Out>(from[i]);
    } else {
      to[i] = static_cast<Out>(from[i]);
    }
  }
}

template <class In>
void truth_tile(size_t count, void* out, const void* in) {
  auto* to = static_cast<uint8_t*>(out);
  const auto* from = static_cast<const In*>(in);
  for (size_t i = 0; i < count; ++i) to[i] = from[i] != In(0);
}

}  // namespace

#define INFINIOP_FROM_ALL(tile, ...)                                                                             \
  {tile<__VA_ARGS__ float>,    tile<__VA_ARGS__ double>,  tile<__VA_ARGS__ int8_t>,  tile<__VA_ARGS__ int16_t>,  \
   tile<__VA_ARGS__ int32_t>,  tile<__VA_ARGS__ int64_t>, tile<__VA_ARGS__ uint8_t>, tile<__VA_ARGS__ uint16_t>, \
   tile<__VA_ARGS__ uint32_t>, tile<__VA_ARGS__ uint64_t>}
#define INFINIOP_COMMA ,

extern const ConvertTile casts[kComputed + 1][kComputed] = {INFINIOP_FROM_ALL(cast_tile, float INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, double INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, int8_t INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, int16_t INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, int32_t INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, int64_t INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, uint8_t INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, uint16_t INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, uint32_t INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(cast_tile, uint64_t INFINIOP_COMMA),
                                                            INFINIOP_FROM_ALL(truth_tile, )};

}  // namespace infiniop::cpu
