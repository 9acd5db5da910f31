// Compiled for AMX with 8 bits, as the only file; otherwise as bfloat_tiles.cpp, and for the same reasons.
#include "op/cpu/byte_tiles.h"

#ifdef INFINIOP_TILE_REGISTERS
#include <immintrin.h>

#include "op/cpu/tile_sums.h"

namespace infiniop::cpu {

void multiply_byte_tiles(TileRows rows, const int8_t* panel, int64_t lines, int32_t* sums, int64_t row, bool adds) {
  constexpr int64_t kLine = 4 * kTileColumns;  // bytes
  begin_sums(adds ? sums : nullptr, row);
  const auto* upper = static_cast<const char*>(rows.at);
  const char* lower = upper + 16 * rows.row;
  for (int64_t i = 0; i < lines; i += kTileLanes, panel += kTileLanes * kLine) {
    _tile_loadd(4, upper, rows.row);
    _tile_loadd(6, panel, kLine);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(7, panel + 64, kLine);
    _tile_dpbssd(1, 4, 7);
    _tile_loadd(5, lower, rows.row);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
    upper += rows.next;
    lower += rows.next;
  }
  store_sums(sums, row);
}

}  // namespace infiniop::cpu
#endif
