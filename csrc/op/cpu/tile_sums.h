// The four tiles of sums, whatever is summed up, for the files that are compiled for AMX: numbers of 32 bits, 32 rows of 32.
#pragma once

#ifdef INFINIOP_TILE_REGISTERS
#include <immintrin.h>

#include <cstdint>

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each file, as the linker must not share these

// Sums that stand there, `row` from one row to the next; null: none.
template <class Number>
inline void begin_sums(const Number* sums, int64_t row) {
  if (sums) {
    _tile_loadd(0, sums, 4 * row);
    _tile_loadd(1, sums + 16, 4 * row);
    _tile_loadd(2, sums + 16 * row, 4 * row);
    _tile_loadd(3, sums + 16 * row + 16, 4 * row);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
}

template <class Number>
inline void store_sums(Number* sums, int64_t row) {
  _tile_stored(0, sums, 4 * row);
  _tile_stored(1, sums + 16, 4 * row);
  _tile_stored(2, sums + 16 * row, 4 * row);
  _tile_stored(3, sums + 16 * row + 16, 4 * row);
}

}  // namespace
}  // namespace infiniop::cpu
#endif
