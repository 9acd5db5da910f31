// Matrix products of BF16 on machines with registers of whole tiles (AMX), only to be called where multiplies_tiles() (machine.h).
#pragma once

#include <cstdint>

namespace infiniop::cpu {

// Whether the instructions are there, and not only announced, as some virtual machines do: asks the system for leave to use them, which it
// gives to the whole process, and lets a child try.
bool can_use_tiles();

// As long as one lives, its thread can call the others.
class TilesInUse {
 public:
  TilesInUse();
  ~TilesInUse();
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;
};

// Sums have 32 rows and 32 columns, a lane of 4 bytes has two elements of the depth, and tiles are 16 lanes deep.
inline constexpr int kTileRows = 32, kTileColumns = 32, kTileLanes = 16;

// 32 rows of lanes, in bytes: from one row to the next, and from a tile's 16 lanes of a row to those of the next tile.
struct TileRows {
  const void* at;
  int64_t row, next = 64;
};

// sums[r, j], `row` floats from one to the next, = the rows times a panel of `lines` lines of 32 columns, a multiple of 16, or that is added to them.
void multiply_tiles(TileRows rows, const float* panel, int64_t lines, float* sums, int64_t row, bool adds);
// The first `rows` rows of c[r, j], `row` elements from one to the next, = sums, whose rows are 32 long, as BF16.
void round_sums(const float* sums, int64_t rows, uint16_t* c, int64_t row);

}  // namespace infiniop::cpu
