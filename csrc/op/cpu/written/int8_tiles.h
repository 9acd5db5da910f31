// Products of matrices of 8 bits by registers of whole tiles (AMX), signs included.
#pragma once

#ifdef INFINIOP_TILE_REGISTERS
#include <algorithm>
#include <cstdint>

#include "op/cpu/buffer.h"
#include "op/cpu/byte_tiles.h"
#include "op/cpu/written/int8_vnni.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace byte_tiles {

namespace {

using vnni::Lines;

constexpr int64_t kMostRows = 256, kMostColumns = 128;  // of one call
constexpr int64_t kFewRows = 64;  // up to so many, it is the weights that are read where they lie
constexpr int64_t kDepth = 2048;  // of panels that are brought at a time
constexpr int64_t kTileBytes = 4 * kTileLanes;  // of the depth
constexpr int64_t kPanelBytes = kDepth * kTileColumns, kStripRow = kDepth + kTileBytes;

int64_t whole(int64_t count, int64_t part) { return (count + part - 1) / part * part; }

// Lines of some rows, zeros behind them and in rows that are not there.
void copy_rows(const Lines& rows, int64_t first, int64_t k, int64_t depth, int8_t* to, int64_t row) {
  for (int64_t r = 0; r < kTileRows; ++r, to += row) {
    const int64_t there = first + r < rows.count ? depth : 0;
    const int8_t* from = rows.at + (first + r) * rows.line + k * rows.step;
    if (rows.step == 1) {
      std::copy_n(from, there, to);
    } else {
      for (int64_t i = 0; i < there; ++i) to[i] = from[i * rows.step];
    }
    std::fill(to + there, to + whole(depth, kTileBytes), int8_t{0});
  }
}

struct Memory {
  int8_t *panels, *strip, *tail;
};

// sums[r, j], `line` from one to the next, for whole tiles of rows and columns. Rows are read where they lie, but for what ends inside of a tile.
void multiply_sides(const Lines& rows, const Lines& columns, int64_t depth, const Memory& memory, int32_t* sums,
                    int64_t line) {
  for (int64_t k = 0; k < depth; k += kDepth) {
    const int64_t some = std::min(kDepth, depth - k), all = whole(some, kTileBytes);
    for (int64_t j = 0; j < columns.count; j += kTileColumns) {
      int8_t* panel = memory.panels + j / kTileColumns * kPanelBytes;
      vnni::bring_panel(columns, j, k, some, panel);
      const int64_t brought = whole(some, 4) * kTileColumns;
      std::fill(panel + brought, panel + all * kTileColumns, int8_t{0});
    }
    for (int64_t row = 0; row < rows.count; row += kTileRows) {
      TileRows from{memory.strip, kStripRow};
      int64_t bytes = all, left = 0;
      if (rows.step == 1 && rows.count - row >= kTileRows) {
        from = {rows.at + row * rows.line + k, rows.line};
        bytes = some / kTileBytes * kTileBytes;
        left = some - bytes;
        if (left > 0) copy_rows(rows, row, k + bytes, left, memory.tail, kTileBytes);
      } else {
        copy_rows(rows, row, k, some, memory.strip, kStripRow);
      }
      for (int64_t j = 0; j < columns.count; j += kTileColumns) {
        const int8_t* panel = memory.panels + j / kTileColumns * kPanelBytes;
        int32_t* to = sums + row * line + j;
        multiply_byte_tiles(from, panel, bytes / 4, to, line, k > 0);
        if (left > 0) {
          multiply_byte_tiles({memory.tail, kTileBytes}, panel + bytes * kTileColumns, kTileLanes, to, line, true);
        }
      }
    }
  }
}

// As vnni::multiply, and with rows of as many sums.
const int32_t* multiply(const Lines& x, const Lines& w, int64_t depth) {
  const bool turned = x.count <= kFewRows;
  const Lines &rows = turned ? w : x, &columns = turned ? x : w;
  const int64_t sums_rows = whole(rows.count, kTileRows), line = whole(columns.count, kTileColumns);
  const int64_t sums_bytes = 4 * sums_rows * line;
  const int64_t bytes =
      (turned ? 2 : 1) * sums_bytes + line / kTileColumns * kPanelBytes + kTileRows * (kStripRow + kTileBytes);
  char* memory = worker_buffer(static_cast<size_t>(bytes));
  if (!memory) return nullptr;
  auto* sums = reinterpret_cast<int32_t*>(memory);
  auto* panels = reinterpret_cast<int8_t*>(memory) + (turned ? 2 : 1) * sums_bytes;
  int8_t* strip = panels + line / kTileColumns * kPanelBytes;
  {
    const TilesInUse in_use;
    multiply_sides(rows, columns, depth, {panels, strip, strip + kTileRows * kStripRow}, sums, line);
  }
  if (depth == 0) std::fill(sums, sums + sums_rows * line, 0);
  if (!turned) return sums;
  int32_t* result = sums + sums_rows * line;
  for (int64_t r = 0; r < x.count; ++r) {
    for (int64_t c = 0; c < w.count; ++c) result[r * sums_rows + c] = sums[c * line + r];
  }
  return result;
}

}  // namespace

}  // namespace byte_tiles

}  // namespace infiniop::cpu::INFINIOP_LEVEL
#endif
