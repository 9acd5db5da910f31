// One of the two matrices is read where it lies, row by row: tiles take rows that are apart. The other is brought into panels, which stay in the
// second-level cache for all of these rows. A product of a and b is also one of b and a, turned: which is which is a matter of cost.
#include "op/cpu/tiled_product.h"

#ifdef INFINIOP_TILE_REGISTERS
#include <algorithm>

#include "op/cpu/bfloat_tiles.h"
#include "op/cpu/buffer.h"
#include "op/cpu/pair_panels.h"
#include "op/narrow.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

constexpr int64_t kDepth =
    4096;  // elements that are multiplied at a time: how sums are made does not depend on threads
constexpr int64_t kPanelBytes = 1 << 20;  // of one block of panels: half of these processors' second-level cache
constexpr int64_t kBlock = kTileRows * kTileColumns;

// Rows of a or columns of b: `line` from one to the next, `step` along the depth, in elements.
struct Side {
  const void* at;
  int64_t line, step, count;
  bool is_float;

  bool lies() const { return step == 1 && !is_float; }
  const uint16_t* element(int64_t number, int64_t depth) const {
    return static_cast<const uint16_t*>(at) + number * line + depth * step;
  }
};

class TiledProduct {
 public:
  TiledProduct(const PackedProduct& p, bool turned)
      : p_(p),
        rows_{p.a, p.a_row, p.a_column, p.rows, p.only_b},
        columns_{p.b, p.b_column, p.b_row, p.columns, false},
        c_row_(p.c_row),
        c_column_(p.c_column) {
    if (turned) {
      std::swap(rows_, columns_);
      std::swap(c_row_, c_column_);
    }
    lines_ = lines_for(std::min(p.depth, kDepth));
    block_ = std::clamp<int64_t>(kPanelBytes / (4 * lines_) / kTileColumns * kTileColumns, kTileColumns,
                                 whole(columns_.count, kTileColumns));
  }

  // About what the product costs beside the multiplications, in exchanges of 16 vectors.
  double cost() const {
    const auto rows = static_cast<double>(rows_.count), columns = static_cast<double>(columns_.count),
               depth = static_cast<double>(p_.depth);
    const double bring = columns_.is_float ? 3 : columns_.step == 1 ? 1 : columns_.line == 1 ? 0.5 : 16;
    const double copy = rows_.lies() ? 0 : rows_.is_float ? 2 : 16;
    const double read = 0.5 * static_cast<double>((columns_.count + block_ - 1) / block_);
    const double put = c_column_ == 1 ? 0 : c_row_ == 1 ? 1 : 8;
    return (columns * bring + rows * (copy + read)) * depth / 512 + put * rows * columns / 256;
  }

  bool run() {
    const int64_t strips = (rows_.count + kTileRows - 1) / kTileRows;
    panel_step_ = lines_ * kTileColumns + 4 * kTileColumns;
    strip_row_ = lines_ + kTileLanes;  // rows of whole pages would be in few sets of the first cache
    const int64_t panels = block_ / kTileColumns, kept = p_.depth > kDepth ? strips * panels * kBlock : 0;
    const int64_t rounded = columns_.is_float ? block_ * lines_ : 0;
    const int64_t floats = panels * panel_step_ + kTileRows * (strip_row_ + kTileLanes) + 2 * kBlock + kept + rounded;
    panel_ = reinterpret_cast<float*>(worker_buffer(static_cast<size_t>(floats) * sizeof(float)));
    if (!panel_) return false;
    strip_ = panel_ + panels * panel_step_;
    tail_ = strip_ + kTileRows * strip_row_;
    turned_ = tail_ + kTileRows * kTileLanes;
    sums_ = turned_ + kBlock;
    kept_ = sums_ + kBlock;
    rounded_ = kept_ + kept;
    const TilesInUse in_use;
    for (int64_t column = 0; column < columns_.count; column += block_) {
      const int64_t count = std::min(block_, columns_.count - column);
      for (int64_t k = 0; k < p_.depth; k += kDepth) {
        const int64_t depth = std::min(kDepth, p_.depth - k);
        bring(column, count, k, depth);
        for (int64_t s = 0; s < strips; ++s) multiply(s, column, count, k, depth);
      }
    }
    return true;
  }

 private:
  void bring(int64_t column, int64_t count, int64_t k, int64_t depth) {
    Side from = columns_;
    if (from.is_float) {
      round_columns(column, count, k, depth);
      from = {rounded_, 2 * lines_, 1, count, false};
      column = k = 0;
    }
    if (from.step != 1 && from.line == 1) {
      lines_as_panels([&](int64_t i) { return from.element(column, k + i); }, count, 1, depth, panel_step_, panel_);
    } else {
      columns_as_panels([&](int64_t j) { return from.element(column + j, k); }, count, from.step, depth, panel_step_,
                        panel_);
    }
  }

  void round_columns(int64_t column, int64_t count, int64_t k, int64_t depth) {
    for (int64_t j = 0; j < count; ++j) {
      const float* from = static_cast<const float*>(columns_.at) + (column + j) * columns_.line + k * columns_.step;
      auto* to = reinterpret_cast<uint16_t*>(rounded_) + j * 2 * lines_;
      if (columns_.step == 1) {
        for (int64_t i = 0; i < depth; ++i) to[i] = to_bfloat16(from[i]);
      } else {
        for (int64_t i = 0; i < depth; ++i) to[i] = to_bfloat16(from[i * columns_.step]);
      }
    }
  }

  // Elements of some rows as rows of lanes, `row` lanes each, zeros behind them and in rows that are not there.
  void copy_rows(int64_t first, int64_t count, int64_t k, int64_t depth, float* to, int64_t row) const {
    for (int64_t r = 0; r < kTileRows; ++r) {
      float* lanes = to + r * row;
      const int64_t all = lines_for(depth);
      if (r >= count) {
        std::fill(lanes, lanes + all, 0.0f);
        continue;
      }
      if (rows_.is_float) {
        const float* from = static_cast<const float*>(rows_.at) + (first + r) * rows_.line + k * rows_.step;
        auto* elements = reinterpret_cast<uint16_t*>(lanes);
        for (int64_t i = 0; i < depth; ++i) elements[i] = to_bfloat16(from[i * rows_.step]);
        std::fill(elements + depth, elements + 2 * all, uint16_t{0});
        continue;
      }
      const uint16_t* from = rows_.element(first + r, k);
      for (int64_t i = 0; i < all; i += kTileLanes) {
        _mm512_storeu_si512(lanes + i, lanes_at(from + 2 * i * rows_.step, rows_.step, depth - 2 * i));
      }
    }
  }

  void multiply(int64_t strip, int64_t column, int64_t count, int64_t k, int64_t depth) {
    const int64_t row = strip * kTileRows, rows = std::min<int64_t>(kTileRows, rows_.count - row);
    // Where they lie, but for what ends inside of a tile: behind a row's end is another row, which times 0 need not be 0.
    TileRows from{strip_, 4 * strip_row_};
    int64_t lines = lines_for(depth), left = 0;
    if (rows_.lies() && rows == kTileRows) {
      from = {rows_.element(row, k), 2 * rows_.line};
      lines = depth / (2 * kTileLanes) * kTileLanes;
      left = depth - 2 * lines;
      if (left > 0) copy_rows(row, rows, k + 2 * lines, left, tail_, kTileLanes);
    } else {
      copy_rows(row, rows, k, depth, strip_, strip_row_);
    }
    const bool first = k == 0, last = k + depth == p_.depth;
    for (int64_t j = 0; j < count; j += kTileColumns) {
      const float* panel = panel_ + j / kTileColumns * panel_step_;
      float* to = p_.depth > kDepth ? kept_ + (strip * (block_ / kTileColumns) + j / kTileColumns) * kBlock : sums_;
      multiply_tiles(from, panel, lines, to, kTileColumns, !first);
      if (left > 0) {
        multiply_tiles({tail_, 4 * kTileLanes}, panel + lines * kTileColumns, kTileLanes, to, kTileColumns, true);
      }
      if (last) put(to, row, rows, column + j, std::min<int64_t>(kTileColumns, count - j));
    }
  }

  void put(const float* sums, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const int64_t place = row * c_row_ + column * c_column_;
    if (c_column_ != 1 && c_row_ == 1) {
      turn_sums(sums);
      return put_rows(turned_, place, columns, c_column_, rows, 1);
    }
    put_rows(sums, place, rows, c_row_, columns, c_column_);
  }

  void put_rows(const float* sums, int64_t place, int64_t rows, int64_t row, int64_t columns, int64_t column) const {
    if (p_.only_b) return put_elements(sums, static_cast<float*>(p_.c) + place, rows, row, columns, column);
    auto* c = static_cast<uint16_t*>(p_.c) + place;
    if (p_.alpha == 1 && p_.beta == 0 && column == 1 && columns == kTileColumns) return round_sums(sums, rows, c, row);
    put_elements(sums, c, rows, row, columns, column);
  }

  template <class Element>
  void put_elements(const float* sums, Element* c, int64_t rows, int64_t row, int64_t columns, int64_t column) const {
    const auto narrow = [](float x) {
      if constexpr (sizeof(Element) == sizeof(float)) return x;
      if constexpr (sizeof(Element) != sizeof(float)) return to_bfloat16(x);
    };
    const auto widen = [](Element x) {
      if constexpr (sizeof(Element) == sizeof(float)) return x;
      if constexpr (sizeof(Element) != sizeof(float)) return from_bfloat16(x);
    };
    const float alpha = p_.alpha, beta = p_.beta;
    for (int64_t r = 0; r < rows; ++r, c += row, sums += kTileColumns) {
      for (int64_t j = 0; j < columns; ++j) {
        Element& each = c[j * column];
        each = narrow(beta == 0 ? alpha * sums[j] : alpha * sums[j] + beta * widen(each));
      }
    }
  }

  void turn_sums(const float* sums) {
    using Floats [[gnu::vector_size(64)]] = float;
    using Order [[gnu::vector_size(64)]] = int32_t;
    for (int r = 0; r < kTileRows; r += kTileLanes) {
      for (int j = 0; j < kTileColumns; j += kTileLanes) {
        Floats lines[kTileLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kTileLanes; ++i)
          __builtin_memcpy(&lines[i], sums + (r + i) * kTileColumns + j, sizeof lines[i]);
        turn<Order>(lines);
#pragma GCC unroll 16
        for (int i = 0; i < kTileLanes; ++i)
          __builtin_memcpy(turned_ + (j + i) * kTileRows + r, &lines[i], sizeof lines[i]);
      }
    }
  }

  const PackedProduct& p_;
  Side rows_, columns_;
  int64_t c_row_, c_column_, lines_, block_, panel_step_ = 0, strip_row_ = 0;
  float *panel_ = nullptr, *strip_ = nullptr, *tail_ = nullptr, *turned_ = nullptr, *sums_ = nullptr, *kept_ = nullptr,
        *rounded_ = nullptr;
};

}  // namespace

bool multiply_tiled(const PackedProduct& p) {
  TiledProduct straight(p, false), turned(p, true);
  return (turned.cost() < straight.cost() ? turned : straight).run();
}

}  // namespace infiniop::cpu::INFINIOP_LEVEL
#endif
