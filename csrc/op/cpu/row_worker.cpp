#include "op/cpu/row_worker.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "op/cpu/buffer.h"
#include "op/cpu/gather.h"
#include "op/cpu/machine.h"
#include "op/cpu/streaming.h"
#include "op/cpu/types.h"

namespace infiniop::cpu {

namespace {

constexpr int64_t kWidest = 8;  // bytes of an element, in memory or computed in
// While a row is computed with, its outputs and the next row's inputs are asked for, so that memory and arithmetic go on at once: so many
// elements at a time, which is as many lines as are under way together; and only of rows of which both stay in the second-level cache.
constexpr int64_t kAhead = 256, kLongestAhead = 128 * 1024;
constexpr int64_t kPageStart = 1024;  // bytes, after which machines foresee what follows
// Bytes of all rows, beyond which they come from memory. Asking for what is in the caches takes a tenth of the time of rows that exponentials are made of
// (64 x 4096 floats by two threads 46 us, without 42), and a third where two cores take turns at few rows.
constexpr int64_t kLargeRows = 1 << 20;

class RowWorker {
 public:
  RowWorker(const RowWork& work, void** tensors)
      : work_(work),
        info_(*work.info),
        rows_(*work.info->rows),
        columns_(work.rows.columns),
        loops_(tiles()),
        size_(size_of_computed(work)),
        length_(work.rows.length()),
        is_kept_(length_ <= kLongestKeptRow),
        is_large_(work.rows.rows.total * length_ * size_ > kLargeRows) {
    for (int t = 0; t < info_.tensors; ++t) memory_[t] = *static_cast<char**>(tensors[t]);
    for (int t = 0; t < info_.tensors; ++t) {
      side_by_side_[t] = is_staged(t) || (columns_.levels == 1 && columns_.stride[t][0] == work.route[t].element_size);
    }
    bool is_light = true;
    int reductions = 0;
    for (int step = 0; step < rows_.steps; ++step) {
      const RowStepKind kind = rows_.step[step].kind;
      is_light = is_light && rows_.step[step].is_light;
      if (kind == RowStepKind::Each) {
        step_of_value_[values_++] = step;
      } else {
        reduce_[step] =
            light_tiles().reduce[static_cast<int>(kind) - static_cast<int>(RowStepKind::Sum)][work.computed];
        of_nothing_[step] = reduce_[step](0, nullptr);
        ++reductions;
      }
    }
    if (is_light) shares_ = std::max(1, reductions);
    for (int t = 0; t < info_.outputs; ++t) {
      if (!work.rows.is_given[t] || rows_.place[t] != RowPlace::Element) continue;
      ++element_results_;
      const int64_t bytes = work.rows.rows.total * length_ * work.route[t].element_size;
      streams_[t] = side_by_side_[t] && !is_staged(t) && is_streamed(bytes);
      for (int other = 0; other < info_.tensors; ++other) {
        if (other != t && work.rows.is_given[other] && memory_[other] == memory_[t]) streams_[t] = false;
      }
    }
    is_short_ = has_short_rows();
    // The sum of the elements, and nothing else that would need them as floats.
    const int input = tensor_of(0);
    sums_bfloat_ = rows_.steps == 1 && rows_.step[0].kind == RowStepKind::Sum && rows_.step[0].loop < 0 &&
                   element_results_ == 0 && rows_.inputs == 1 && side_by_side_[input] &&
                   work.route[input].convert == loops_.from_bfloat16;
  }

  bool run(int64_t begin, int64_t end) {
    const bool done = compute_all(begin, end);
    end_streaming();
    return done;
  }

 private:
  bool compute_all(int64_t begin, int64_t end) {
    if (!find_memory()) return false;
    for (int i = 0; i < rows_.attributes; ++i) scalars_[i] = number(work_.attributes[i]);
    scalars_[rows_.attributes] = number(static_cast<double>(length_));
    fill_what_is_missing();
    const RowNest& outer = work_.rows.rows;
    Position position(outer, begin);
    for (int t = 0; t < info_.tensors; ++t) first_[t] = memory_[t] + position.offset(outer, outer.stride[t]);
    while (begin < end) {
      const int64_t side_by_side = std::min(end - begin, outer.size[0] - position.at[0]);
      const int64_t count = work_.staged ? std::min(kStagedRows, side_by_side) : side_by_side;
      run_some(begin, count);
      begin += count;
      // To the next one of them, and where there is none, along the outer levels.
      for (int t = 0; t < info_.tensors; ++t) first_[t] += count * outer.stride[t][0];
      position.at[0] += count;
      for (int level = 0; position.at[level] == outer.size[level] && level + 1 < outer.levels; ++level) {
        for (int t = 0; t < info_.tensors; ++t) {
          first_[t] += outer.stride[t][level + 1] - outer.size[level] * outer.stride[t][level];
        }
        position.at[level] = 0;
        ++position.at[level + 1];
      }
    }
    return true;
  }

  // A number of all rows, as expressions of the computed type take it.
  double number(double value) const {
    return work_.is_whole ? std::bit_cast<double>(static_cast<int64_t>(value)) : value;
  }

  // Whether rows are short, and those of the innermost level lie one after the other: all of them are one call.
  bool has_short_rows() const {
    if (work_.computed != F32 || length_ > static_cast<int64_t>(kShortRow) || length_ == 0 || work_.staged)
      return false;
    if (!loops_.short_rows[rows_.number]) return false;
    for (int t = 0; t < info_.tensors; ++t) {
      const int64_t row = length_ * work_.route[t].element_size;
      if (!side_by_side_[t] || work_.rows.rows.stride[t][0] != row) return false;
    }
    return true;
  }

  // One input and one output, through buffers where they are of a narrow type.
  void run_short(int64_t begin, int64_t count) {
    const ShortRows compute_rows = loops_.short_rows[rows_.number];
    const Route &to = work_.route[0], &from = work_.route[1];
    const int64_t most = to.convert || from.convert || streams_[0] ? kTile / length_ : count;
    for (int64_t row = 0; row < count; row += most) {
      const int64_t rows = std::min(most, count - row);
      const auto elements = static_cast<size_t>(rows * length_);
      char* target = first_[0] + row * length_ * to.element_size;
      const char* source = first_[1] + row * length_ * from.element_size;
      if (from.convert) {
        from.convert(elements, term_, source);
        source = term_;
      }
      char* result = to.convert || streams_[0] ? results_[0] : target;
      auto* computed = reinterpret_cast<float*>(result);
      const auto* elements_of = reinterpret_cast<const float*>(source);
      if (!rows_.reach) {
        compute_rows(static_cast<size_t>(rows), static_cast<size_t>(length_), computed, elements_of, scalars_);
      } else {
        for (int64_t i = 0; i < rows; ++i, computed += length_, elements_of += length_) {
          const int64_t reach = reach_of(begin + row + i);
          compute_rows(1, static_cast<size_t>(reach), computed, elements_of, scalars_);
          std::fill(computed + reach, computed + length_, 0.0f);
        }
      }
      if (streams_[0]) {
        stream(0, target, static_cast<int64_t>(elements), result);
      } else if (to.convert) {
        to.convert(elements, target, result);
      }
    }
  }

  int64_t reach_of(int64_t row) const {
    if (!rows_.reach) return length_;
    const int64_t matrix_rows = work_.rows.matrix_rows;
    return std::clamp<int64_t>(rows_.reach(length_, row % matrix_rows, matrix_rows), 0, length_);
  }

  // Rows of the innermost level.
  void run_some(int64_t begin, int64_t count) {
    if (is_short_) return run_short(begin, count);
    const RowNest& outer = work_.rows.rows;
    for (int t = info_.outputs; t < info_.tensors; ++t) {
      if (is_staged(t)) bring(t, count);
    }
    for (int64_t i = 0; i < count; ++i) {
      has_next_ = i + 1 < count && !work_.staged;
      for (int t = 0; t < info_.tensors; ++t) {
        row_[t] =
            is_staged(t) ? stage_[t] + i * length_ * work_.route[t].element_size : first_[t] + i * outer.stride[t][0];
      }
      compute(begin + i);
    }
    for (int t = 0; t < info_.outputs; ++t) {
      if (is_staged(t)) take_back(t, count);
    }
  }

  bool is_staged(int tensor) const { return work_.staged >> tensor & 1; }

  // Between rows across memory and rows in the stage, sixteen columns at a time: as many lines as stay in the first-level cache.
  template <class Copy>
  void for_each_staged(int tensor, int64_t count, Copy copy) {
    const int64_t size = work_.route[tensor].element_size, step = columns_.stride[tensor][0];
    for (int64_t begin = 0; begin < length_; begin += 16) {
      const int64_t end = std::min(begin + 16, length_);
      for (int64_t row = 0; row < count; ++row) {
        char* staged = stage_[tensor] + row * length_ * size;
        char* memory = first_[tensor] + row * size;
        for (int64_t i = begin; i < end; ++i) copy(staged + i * size, memory + i * step);
      }
    }
  }

  template <class Copy>
  static void sized(int64_t size, Copy copy) {
    switch (size) {
      case 1:
        return copy(std::integral_constant<size_t, 1>());
      case 2:
        return copy(std::integral_constant<size_t, 2>());
      case 4:
        return copy(std::integral_constant<size_t, 4>());
      default:
        return copy(std::integral_constant<size_t, 8>());
    }
  }

  void bring(int tensor, int64_t count) {
    sized(work_.route[tensor].element_size, [&](auto size) {
      for_each_staged(tensor, count,
                      [](char* staged, const char* memory) { std::memcpy(staged, memory, decltype(size)::value); });
    });
  }

  void take_back(int tensor, int64_t count) {
    sized(work_.route[tensor].element_size, [&](auto size) {
      for_each_staged(tensor, count,
                      [](const char* staged, char* memory) { std::memcpy(memory, staged, decltype(size)::value); });
    });
  }

  static int64_t size_of_computed(const RowWork& work) { return work.route[work.info->outputs].computed_size; }

  // Buffers: rows of tensors that are staged, of each value a row or a tile, then tiles of results, a tile of a step, and elements as they are in memory.
  bool find_memory() {
    const int64_t tile = kTile * kWidest;
    const int64_t value = is_kept_ ? (std::max<int64_t>(length_, 1) * size_ + 63) / 64 * 64 : tile;
    int64_t stage[kMaxRowTensors] = {}, stages = 0;
    for (int t = 0; t < info_.tensors; ++t) {
      if (is_staged(t)) stages += stage[t] = kStagedRows * ((length_ * work_.route[t].element_size + 63) / 64 * 64);
    }
    char* memory = worker_buffer(static_cast<size_t>(values_ * value + (kMaxRowOutputs + 2) * tile + stages));
    if (!memory) return false;
    for (int t = 0; t < info_.tensors; ++t) stage_[t] = std::exchange(memory, memory + stage[t]);
    for (int v = 0; v < values_; ++v, memory += value) buffer_[v] = memory;
    for (char*& result : results_) result = std::exchange(memory, memory + tile);
    term_ = std::exchange(memory, memory + tile);
    raw_ = memory;
    return true;
  }

  int tensor_of(int value) const { return info_.outputs + value; }

  // Inputs that are not given are columns, and columns stay from row to row.
  void fill_what_is_missing() {
    for (int v = 0; v < rows_.inputs; ++v) {
      const int t = tensor_of(v);
      if (work_.rows.is_given[t]) continue;
      const int64_t count = std::min<int64_t>(length_, kTile);
      const double number = rows_.missing[t];
      const auto single = static_cast<float>(number);
      for (int64_t i = 0; i < count; ++i) {
        const void* element = size_ == 8 ? static_cast<const void*>(&number) : &single;
        std::memcpy(buffer_[v] + i * size_, element, static_cast<size_t>(size_));
      }
      filled_ |= 1u << v;
    }
  }

  void compute(int64_t row) {
    reach_ = reach_of(row);
    kept_ = columns_kept_;
    int reduction = rows_.attributes + 1;
    share_ = 0;
    for (int step = 0; step < rows_.steps; ++step) {
      // Short rows the machine foresees itself.
      looks_ahead_ = is_large_ && (shares_ > 1 || step + 1 == rows_.steps) && length_ >= kAhead &&
                     length_ * size_ <= kLongestAhead;
      asks_for_results_ = !rows_.step[step].is_light || asks_for_light_results();
      if (rows_.step[step].kind == RowStepKind::Each) continue;
      scalars_[reduction++] = reduce(step);
      ++share_;
    }
    looks_ahead_ = false;
    write_elements();
    for (int t = 0; t < info_.outputs; ++t) {
      if (work_.rows.is_given[t] && rows_.place[t] == RowPlace::Row) write_row_result(t);
    }
  }

  // Calls visit(begin, count) for each tile of the row. What of its values was brought into buffers is there for the next pass.
  template <class Visit>
  void for_each_tile(Visit visit) {
    touched_ = 0;
    for (int64_t begin = 0; begin < reach_; begin += kTile) visit(begin, std::min<int64_t>(kTile, reach_ - begin));
    if (!is_kept_) return;
    kept_ |= touched_;
    // Where rows are cut short, a column's buffer ends with this one.
    if (!rows_.reach) {
      for (int v = 0; v < rows_.inputs; ++v) {
        if (rows_.place[tensor_of(v)] == RowPlace::Column) columns_kept_ |= touched_ & 1u << v;
      }
    }
  }

  double reduce(int number) {
    const RowStep& step = rows_.step[number];
    const ReduceTile tile = reduce_[number];
    double all = of_nothing_[number];
    if (sums_bfloat_) {
      const char* row = row_[tensor_of(0)];
      for (int64_t begin = 0; begin < reach_; begin += kTile) {
        all += loops_.sum_bfloat(static_cast<size_t>(std::min<int64_t>(kTile, reach_ - begin)), row + 2 * begin);
      }
      return all;
    }
    const auto take_in = [&](double part) {
      all = work_.is_whole ? combine_whole(step.kind, all, part) : combine(step.kind, all, part);
    };
    if (step.loop < 0 && is_in_place(__builtin_ctz(step.reads))) {
      const char* row = row_[tensor_of(__builtin_ctz(step.reads))];
      for (int64_t begin = 0; begin < reach_; begin += kTile) {
        const int64_t count = std::min<int64_t>(kTile, reach_ - begin);
        if (looks_ahead_ && shares_ > 1) look_ahead(begin, count);
        take_in(tile(static_cast<size_t>(count), row + begin * size_));
      }
      return all;
    }
    if (step.loop >= 0 && step.kind == RowStepKind::Sum && work_.computed == F32 && loops_.row_sum[step.loop]) {
      for_each_tile([&](int64_t begin, int64_t count) {
        const void* in[kMaxRowValues] = {};
        for (int v = 0; v < values_; ++v) {
          if (step.reads >> v & 1) in[v] = value(v, begin, count);
        }
        if (looks_ahead_) look_ahead(begin, count);
        all += loops_.row_sum[step.loop](static_cast<size_t>(count), in, scalars_);
      });
      return all;
    }
    for_each_tile([&](int64_t begin, int64_t count) {
      const void* terms = term_;
      if (step.loop < 0) {
        if (looks_ahead_ && shares_ > 1) look_ahead(begin, count);
        terms = value(__builtin_ctz(step.reads), begin, count);
      } else {
        apply(loop_of(step.loop), step.reads, begin, count, term_);
      }
      take_in(tile(static_cast<size_t>(count), terms));
    });
    return all;
  }

  static double combine(RowStepKind kind, double a, double b) {
    switch (kind) {
      case RowStepKind::Max:
        return a > b || std::isnan(a) ? a : b;
      case RowStepKind::Min:
        return a < b || std::isnan(a) ? a : b;
      case RowStepKind::Prod:
        return a * b;
      default:
        return a + b;
    }
  }

  double combine_whole(RowStepKind kind, double a_bits, double b_bits) const {
    const auto a = std::bit_cast<uint64_t>(a_bits), b = std::bit_cast<uint64_t>(b_bits);
    const bool is_less = work_.computed == U64 ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
    switch (kind) {
      case RowStepKind::Max:
        return is_less ? b_bits : a_bits;
      case RowStepKind::Min:
        return is_less ? a_bits : b_bits;
      case RowStepKind::Prod:
        return std::bit_cast<double>(a * b);
      default:
        return std::bit_cast<double>(a + b);
    }
  }

  MapTile loop_of(int number) const { return loops_.row[number][work_.computed]; }

  void apply(MapTile compute_loop, uint32_t reads, int64_t begin, int64_t count, void* out) {
    const void* in[kMaxRowValues] = {};
    for (int v = 0; v < values_; ++v) {
      if (reads >> v & 1) in[v] = value(v, begin, count);
    }
    if (!looks_ahead_) return compute_loop(static_cast<size_t>(count), out, in, scalars_);
    for (int64_t done = 0; done < count; done += kAhead) {
      const int64_t now = std::min(kAhead, count - done);
      look_ahead(begin + done, now);
      const void* at[kMaxRowValues];
      for (int v = 0; v < values_; ++v) at[v] = in[v] ? static_cast<const char*>(in[v]) + done * size_ : nullptr;
      compute_loop(static_cast<size_t>(now), static_cast<char*>(out) + done * size_, at, scalars_);
    }
  }

  // Always inline: gcc takes a function that only asks for memory for one without effect, and drops the call.
  [[gnu::always_inline]] void look_ahead(int64_t begin, int64_t count) const {
    begin = (length_ * share_ + begin) / shares_;
    count /= shares_;
    for (int t = 0; t < info_.tensors; ++t) {
      if (!side_by_side_[t] || rows_.place[t] != RowPlace::Element || !work_.rows.is_given[t]) continue;
      const int64_t size = work_.route[t].element_size, first = begin * size, last = (begin + count) * size;
      if (t < info_.outputs) {
        if (streams_[t] || !asks_for_results_) continue;
        for (int64_t at = first; at < last; at += 64) __builtin_prefetch(row_[t] + at, 1, 2);
      } else if (has_next_) {
        const char* next = row_[t] + work_.rows.rows.stride[t][0];
        for (int64_t at = first; at < last; at += 64) __builtin_prefetch(next + at, 0, 2);
      }
    }
  }

  // The place of the next tile's first results, or of the next row's: machines foresee what comes next in a page, but not the next page. Tiles of narrow
  // types are half a page, and only lose by it.
  [[gnu::always_inline]] void ask_for_next_page(int tensor, int64_t begin) const {
    const int64_t size = work_.route[tensor].element_size;
    if (size * kTile < 4096) return;
    const char* next = row_[tensor] + (begin + kTile) * size;
    for (int64_t at = 0; at < kPageStart; at += 64) __builtin_prefetch(next + at, 1, 3);
  }

  // Whether an input's elements lie side by side, and in the type that is computed in, in memory.
  bool is_in_place(int v) const {
    return v < rows_.inputs && !(filled_ >> v & 1) && !work_.route[tensor_of(v)].convert && side_by_side_[tensor_of(v)];
  }

  // Elements of the row side by side in the type that is computed in.
  const void* value(int v, int64_t begin, int64_t count) {
    if (filled_ >> v & 1) return buffer_[v];  // all the same
    if (is_in_place(v)) return row_[tensor_of(v)] + begin * size_;
    char* place = buffer_[v] + (is_kept_ ? begin * size_ : 0);
    if (kept_ >> v & 1) return place;
    touched_ |= 1u << v;
    if (v < rows_.inputs) {
      fetch(tensor_of(v), begin, count, place);
    } else {
      const RowStep& step = rows_.step[step_of_value_[v]];
      if (step.loop < 0) return value(__builtin_ctz(step.reads), begin, count);
      apply(loop_of(step.loop), step.reads, begin, count, place);
    }
    return place;
  }

  void fetch(int tensor, int64_t begin, int64_t count, char* place) {
    const Route& route = work_.route[tensor];
    const char* packed = row_[tensor] + begin * route.element_size;
    if (!side_by_side_[tensor]) {
      char* to = route.convert ? raw_ : place;
      gather(columns_, columns_.stride[tensor], route.element_size, Position(columns_, begin), count, row_[tensor], to);
      packed = to;
    }
    if (route.convert) route.convert(static_cast<size_t>(count), place, packed);
  }

  void write_elements() {
    if (element_results_ == 0) return;
    for_each_tile([&](int64_t begin, int64_t count) {
      // An output may lie where an input does: all results of a tile are computed before the first is written.
      for (int t = 0; t < info_.outputs; ++t) {
        if (!work_.rows.is_given[t] || rows_.place[t] != RowPlace::Element) continue;
        const RowResult& result = rows_.result[t];
        if (is_large_ && !asks_for_results_ && side_by_side_[t] && !streams_[t]) ask_for_next_page(t, begin);
        if (is_rounded(t)) {
          apply(loops_.row_to_bfloat[result.loop], result.reads, begin, count, row_[t] + begin * 2);
          continue;
        }
        const bool in_place = element_results_ == 1 && side_by_side_[t] && !work_.route[t].convert && !streams_[t];
        char* to = in_place ? row_[t] + begin * size_ : results_[t];
        apply(loop_of(result.loop), result.reads, begin, count, to);
        if (!in_place && element_results_ == 1) put(t, begin, count, to);
      }
      if (element_results_ == 1) return;
      for (int t = 0; t < info_.outputs; ++t) {
        if (work_.rows.is_given[t] && rows_.place[t] == RowPlace::Element) put(t, begin, count, results_[t]);
      }
    });
    if (reach_ == length_) return;
    std::memset(results_[0], 0, kTile * kWidest);
    for (int t = 0; t < info_.outputs; ++t) {
      if (!work_.rows.is_given[t] || rows_.place[t] != RowPlace::Element) continue;
      for (int64_t begin = reach_; begin < length_; begin += kTile) {
        put(t, begin, std::min<int64_t>(kTile, length_ - begin), results_[0]);
      }
    }
  }

  // Whether results are rounded to BF16 by the loop that computes them, and go to where they belong at once. What could lie there, too, is of the same type, and
  // BF16 is computed with in buffers; of F32 beside it are only columns.
  bool is_rounded(int output) const {
    return element_results_ == 1 && side_by_side_[output] && !streams_[output] && work_.computed == F32 &&
           work_.route[output].convert == loops_.to_bfloat16 && loops_.row_to_bfloat[rows_.result[output].loop];
  }

  void put(int tensor, int64_t begin, int64_t count, const char* computed) {
    const Route& route = work_.route[tensor];
    char* target = row_[tensor] + begin * route.element_size;
    if (streams_[tensor]) return stream(tensor, target, count, computed);
    if (side_by_side_[tensor]) {
      if (route.convert) return route.convert(static_cast<size_t>(count), target, computed);
      std::memcpy(target, computed, static_cast<size_t>(count * route.element_size));
      return;
    }
    if (route.convert) {
      route.convert(static_cast<size_t>(count), raw_, computed);
      computed = raw_;
    }
    scatter(columns_, columns_.stride[tensor], route.element_size, Position(columns_, begin), count, computed,
            row_[tensor]);
  }

  void stream(int tensor, char* target, int64_t count, const char* computed) {
    const Route& route = work_.route[tensor];
    if (route.convert) {
      route.convert(static_cast<size_t>(count), raw_, computed);
      computed = raw_;
    }
    stream_out(target, computed, static_cast<size_t>(count * route.element_size));
  }

  void write_row_result(int tensor) {
    const Route& route = work_.route[tensor];
    alignas(8) char computed[kWidest], element[kWidest];
    loop_of(rows_.result[tensor].loop)(1, computed, nullptr, scalars_);
    if (route.convert) route.convert(1, element, computed);
    std::memcpy(row_[tensor], route.convert ? element : computed, static_cast<size_t>(route.element_size));
  }

  const RowWork& work_;
  const OperatorInfo& info_;
  const RowsInfo& rows_;
  const RowNest& columns_;
  const Tiles& loops_;
  const int64_t size_;  // of an element that is computed with
  const int64_t length_;  // of a row
  const bool is_kept_, is_large_;
  bool has_next_ = false, looks_ahead_ = false, asks_for_results_ = false, is_short_ = false, sums_bfloat_ = false;
  int values_ = rows_.inputs;
  int step_of_value_[kMaxRowValues] = {};
  int element_results_ = 0;
  bool side_by_side_[kMaxRowTensors];
  bool streams_[kMaxRowTensors] = {};  // the output goes past the caches
  ReduceTile reduce_[kMaxRowSteps] = {};
  double of_nothing_[kMaxRowSteps] = {};
  char* memory_[kMaxRowTensors];
  char* first_[kMaxRowTensors];  // where the next row begins
  char* stage_[kMaxRowTensors];
  char* row_[kMaxRowTensors];  // where the row begins
  int64_t reach_ = 0;  // how many of its elements take part
  // What comes next is asked for in the last step; or, if all of them compute little, in equal shares in each pass that reduces the row.
  int shares_ = 1, share_ = 0;
  // Values, as bits: in their buffers for all of this row, or for all rows; brought there in this pass; the same everywhere.
  uint32_t kept_ = 0, columns_kept_ = 0, touched_ = 0, filled_ = 0;
  double scalars_[kMaxRowScalars] = {};
  char* buffer_[kMaxRowValues];
  char* results_[kMaxRowOutputs];
  char *term_, *raw_;
};

}  // namespace

uint32_t staged_tensors(const OperatorInfo& info, const RowsPlan& rows, const Route* routes) {
  uint32_t staged = 0;
  for (int t = 0; t < info.tensors; ++t) {
    const int64_t size = routes[t].element_size;
    if (info.rows->place[t] != RowPlace::Element || !rows.is_given[t]) continue;
    if (rows.columns.levels != 1 || rows.columns.stride[t][0] == size || rows.rows.stride[t][0] != size) continue;
    if (rows.rows.size[0] < kStagedRows || rows.length() < 16 || rows.length() * size > kLongestStagedRow) continue;
    staged |= 1u << t;
  }
  return staged;
}

infinirtError_t run_rows(const infinirtXBlock* block, void** args) {
  const auto& work = *static_cast<const RowWork*>(args[0]);
  const int64_t begin = int64_t{block->blockIdx.x} * work.block_rows;
  RowWorker worker(work, args + 1);
  const bool done = worker.run(begin, std::min(begin + work.block_rows, work.rows.rows.total));
  return done ? infinirtSuccess : infinirtErrorMemoryAllocation;
}

}  // namespace infiniop::cpu
