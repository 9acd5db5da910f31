// Matrix products of 8 bits by registers of whole tiles (AMX), only to be called where multiplies_byte_tiles() (machine.h), while TilesInUse lives.
#pragma once

#include <cstdint>

#include "op/cpu/bfloat_tiles.h"

namespace infiniop::cpu {

// As multiply_tiles, with four elements of the depth in a lane, and sums of 32 bits.
void multiply_byte_tiles(TileRows rows, const int8_t* panel, int64_t lines, int32_t* sums, int64_t row, bool adds);

}  // namespace infiniop::cpu
