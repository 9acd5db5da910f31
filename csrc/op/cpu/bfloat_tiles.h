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

// The innermost part of packed_product.cpp: 32 rows of `a` times a panel of `lines` lines of 32 columns. A lane, of 4 bytes, has two elements
// of the depth. `a` lies in pieces of 32 rows of 16 lanes. `lines` is a multiple of 16.
inline constexpr int kTileRows = 32, kTileColumns = 32, kTileLanes = 16;

// sums[r, j], `row` from one to the next, = the product, or that is added to them.
void multiply_tiles(const float* a, const float* panel, int64_t lines, float* sums, int64_t row, bool adds);
// The first `rows` rows of c[r, j], `row` from one to the next, = what stands in `sums`, whose rows are kTileColumns long, if there are some, and the
// product, as BF16.
void round_tiles(int64_t rows, const float* a, const float* panel, int64_t lines, const float* sums, uint16_t* c,
                 int64_t row);

}  // namespace infiniop::cpu
