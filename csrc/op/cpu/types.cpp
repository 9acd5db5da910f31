#include "op/cpu/types.h"

#include "op/cpu/machine.h"

namespace infiniop::cpu {

Computed computed_as(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F64:
      return F64;
    case INFINI_DTYPE_I8:
      return I8;
    case INFINI_DTYPE_I16:
      return I16;
    case INFINI_DTYPE_I32:
      return I32;
    case INFINI_DTYPE_I64:
      return I64;
    case INFINI_DTYPE_BYTE:
    case INFINI_DTYPE_BOOL:
    case INFINI_DTYPE_U8:
      return U8;
    case INFINI_DTYPE_U16:
      return U16;
    case INFINI_DTYPE_U32:
      return U32;
    case INFINI_DTYPE_U64:
      return U64;
    default:
      return F32;
  }
}

int computed_size(infiniDtype_t dtype) {
  constexpr int kSize[kComputed] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8};
  return kSize[computed_as(dtype)];
}

const Tiles& light_tiles() {
#ifdef INFINIOP_X86_LEVELS
  if (halves_vectors()) return tiles_v3;
#endif
  return tiles();
}

MapTile map_tile(int map, infiniDtype_t dtype) {
  const bool is_float16 = dtype == INFINI_DTYPE_F16, is_bfloat16 = dtype == INFINI_DTYPE_BF16;
  if (kIsLightMap[map] && !is_float16 && !is_bfloat16) return light_tiles().map[map][computed_as(dtype)];
  const MapTile own = is_float16 ? tiles().float16[map] : is_bfloat16 ? tiles().bfloat16[map] : nullptr;
  return own ? own : tiles().map[map][computed_as(dtype)];
}

ConvertTile from_memory(infiniDtype_t dtype) {
  if (dtype == INFINI_DTYPE_F8) return tiles().from_float8;
  if (dtype == INFINI_DTYPE_F16) return tiles().from_float16;
  return dtype == INFINI_DTYPE_BF16 ? tiles().from_bfloat16 : nullptr;
}

ConvertTile to_memory(infiniDtype_t dtype) {
  if (dtype == INFINI_DTYPE_F8) return tiles().to_float8;
  if (dtype == INFINI_DTYPE_F16) return tiles().to_float16;
  return dtype == INFINI_DTYPE_BF16 ? tiles().to_bfloat16 : nullptr;
}

}  // namespace infiniop::cpu
