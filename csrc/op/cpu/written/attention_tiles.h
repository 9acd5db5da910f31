// Rows of queries against keys in BF16 where processors multiply whole tiles (AMX): scores and sums are products by tiles, and weights are
// rounded to BF16 between them.
#pragma once

#ifdef INFINIOP_TILE_REGISTERS
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "op/cpu/bfloat_tiles.h"
#include "op/cpu/bfloat_weights.h"
#include "op/cpu/buffer.h"
#include "op/cpu/pair_panels.h"
#include "op/cpu/written/attention.h"

namespace infiniop::cpu::INFINIOP_LEVEL {
namespace {

class TiledAttention {
 public:
  static constexpr int kFewestRows = 3;  // with less, bringing keys and values costs more than tiles save

  TiledAttention(const KeyRows& keys, const KeyRows& values, int64_t d, int64_t e, double scale)
      : keys_(keys), values_(values), d_(d), e_(e), scale_(static_cast<float>(scale < 0 ? -scale : scale)) {
    if (scale < 0) sign_ = INT16_MIN;
  }

  // False: a value is infinite or not a number, and nothing was written. Rows that do not see it have it times 0 here, and these are more rows than
  // where floats are multiplied.
  bool run(const QueryRows& rows, infinirtError_t* error) {
    *error = infinirtErrorMemoryAllocation;
    if (!take_memory(rows.count)) return true;
    *error = infinirtSuccess;
    int64_t most = 0;
    for (int r = 0; r < rows.count; ++r) most = std::max(most, rows.visible[r]);
    bring_queries(rows);
    std::fill(weight_, weight_ + kTileRows * kKeys / 2, 0.0f);
    std::fill(sum_, sum_ + strips_ * kTileRows * values_wide_, 0.0f);
    const TilesInUse in_use;
    for (int64_t first = 0; first < most; first += kKeys) {
      const auto count = static_cast<int>(std::min<int64_t>(kKeys, most - first));
      const BFloat16* place[kKeys];
      const auto at = [&place](int64_t i) { return reinterpret_cast<const uint16_t*>(place[i]); };
      if (!keys_.find(first, count, place)) return *error = infinirtErrorInvalidValue, true;
      columns_as_panels(at, count, keys_.column, d_, kTileColumns * lines_, key_);
      if (!values_.find(first, count, place)) return *error = infinirtErrorInvalidValue, true;
      if (!lines_as_panels(at, e_, values_.column, count, kTileColumns * kValueLines, value_)) return false;
      for (int strip = 0; strip < rows.count; strip += kTileRows) attend_strip(rows, strip, first, count);
    }
    for (int r = 0; r < rows.count; ++r) put(rows, r);
    return true;
  }

 private:
  static constexpr int kKeys = 256;  // of a block
  static constexpr int kScoreRow = kKeys + 16;  // floats; rows of 1 KiB would be in few sets of the first cache
  static constexpr int64_t kValueLines = kKeys / 2;  // lanes, of two elements each
  static constexpr float kLog2OfE = 1.44269504f;

  bool take_memory(int rows) {
    strips_ = (rows + kTileRows - 1) / kTileRows;
    lines_ = lines_for(d_);
    values_wide_ = whole(e_, kTileColumns);
    const int64_t query = strips_ * kTileRows * lines_, key = kKeys * lines_, value = kValueLines * values_wide_,
                  score = kTileRows * kScoreRow, weight = kTileRows * kKeys / 2,
                  sum = strips_ * kTileRows * values_wide_;
    query_ = reinterpret_cast<float*>(
        worker_buffer(static_cast<size_t>(query + key + value + score + weight + sum) * sizeof(float)));
    key_ = query_ + query;
    value_ = key_ + key;
    score_ = value_ + value;
    weight_ = score_ + score;
    sum_ = weight_ + weight;
    return query_ != nullptr;
  }

  // In pieces of 32 rows of 16 lanes: a strip after the other.
  void bring_queries(const QueryRows& rows) {
    for (int64_t r = 0; r < strips_ * kTileRows; ++r) {
      float* to = query_ + r / kTileRows * kTileRows * lines_ + r % kTileRows * kTileLanes;
      for (int64_t i = 0; i < lines_; i += kTileLanes, to += kTileRows * kTileLanes) {
        const auto* from = r < rows.count ? static_cast<const uint16_t*>(rows.query[r]) : nullptr;
        const __m512i lanes =
            from ? lanes_at(from + 2 * i * rows.query_step, rows.query_step, d_ - 2 * i) : _mm512_setzero_si512();
        _mm512_storeu_si512(to, _mm512_xor_si512(lanes, _mm512_set1_epi16(sign_)));
      }
    }
  }

  static TileRows in_pieces(const float* rows) { return {rows, 4 * kTileLanes, 4 * kTileRows * kTileLanes}; }

  void attend_strip(const QueryRows& rows, int strip, int64_t first, int count) {
    const int strip_rows = std::min(kTileRows, rows.count - strip);
    int seen[kTileRows], most = 0;  // keys of the block; by any of these rows
    for (int r = 0; r < strip_rows; ++r) {
      seen[r] = static_cast<int>(std::clamp<int64_t>(rows.visible[strip + r] - first, 0, count));
      most = std::max(most, seen[r]);
    }
    if (most == 0) return;
    const TileRows query = in_pieces(query_ + strip * lines_), weights = in_pieces(weight_);
    for (int j = 0; j < most; j += kTileColumns) {
      multiply_tiles(query, key_ + j * lines_, lines_, score_ + j, kScoreRow, false);
    }
    const int64_t all = whole(most, 2 * kTileLanes);
    float* sums = sum_ + strip * values_wide_;
    for (int r = 0; r < strip_rows; ++r) {
      float* score = score_ + r * kScoreRow;
      auto* to = reinterpret_cast<uint16_t*>(weight_ + r * kTileLanes);
      const float before = weigh(score, seen[r], all, factor_for(rows, strip + r, first, seen[r], score),
                                 weighed_[strip + r], to, 2 * kTileRows * kTileLanes);
      if (before == 1) continue;
      for (int64_t i = 0; i < values_wide_; ++i) sums[r * values_wide_ + i] *= before;
    }
    for (int64_t column = 0; column < values_wide_; column += kTileColumns) {
      multiply_tiles(weights, value_ + column * kValueLines, all / 2, sums + column, values_wide_, true);
    }
  }

  // What scores are multiplied with. Where they also depend on how far a key is, they are scaled here.
  float factor_for(const QueryRows& rows, int r, int64_t first, int seen, float* score) const {
    if (rows.slope[r] == 0) return scale_ * kLog2OfE;
    for (int j = 0; j < seen; ++j) {
      score[j] = score[j] * scale_ + static_cast<float>(rows.slope[r] * double(first + j - rows.visible[r] + 1));
    }
    return kLog2OfE;
  }

  void put(const QueryRows& rows, int r) const {
    const float total = weighed_[r].total, *from = sum_ + r * values_wide_;
    const float factor = total > 0 ? 1 / total : total == 0 ? 0 : total;
    auto* to = static_cast<BFloat16*>(rows.out[r]);
    if (rows.out_step == 1) {
      for (int64_t i = 0; i < e_; ++i) to[i] = narrow<BFloat16>(from[i] * factor);
    } else {
      for (int64_t i = 0; i < e_; ++i) to[i * rows.out_step] = narrow<BFloat16>(from[i] * factor);
    }
  }

  KeyRows keys_, values_;
  int64_t d_, e_;
  float scale_;  // not negative
  int16_t sign_ = 0;  // the bit that queries change instead
  int64_t strips_ = 0, lines_ = 0, values_wide_ = 0;
  float *query_ = nullptr, *key_ = nullptr, *value_ = nullptr, *score_ = nullptr, *weight_ = nullptr, *sum_ = nullptr;
  Weighed weighed_[kRows];
};

}  // namespace
}  // namespace infiniop::cpu::INFINIOP_LEVEL
#endif
