#include "op/cpu/kernel.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "op/cpu/gather.h"
#include "op/cpu/machine.h"
#include "op/cpu/streaming.h"

namespace infiniop::cpu {

namespace {

// Rows at least this long end a tile, so that a row without jumps is worked on where it lies.
constexpr int64_t kLongRow = 256;
// So many elements, about as many lines as are under way together, are asked for while those before them are computed with, where that helps
// (machine.h).
constexpr int64_t kAhead = 256;
// Of operands that have so many bytes together: less is in the caches, where asking only costs time.
constexpr int64_t kLargeOperands = 1 << 20;
// What is in the first-level cache needs no asking. Of the rest, the place of so many bytes of results is asked for at a time: sums of 32768 floats 3.57 us,
// so 3.36; with 4096 bytes 3.38, with 8192 4.0 (Intel's with AMX).
constexpr int64_t kSmallOperands = 64 << 10, kResultsAhead = 2048;

// Always inline: gcc takes a function that only asks for memory for one without effect, and drops the call.
[[gnu::always_inline]] inline void ask_to_read(const char* first, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(first + at, 0, 3);
}
[[gnu::always_inline]] inline void ask_to_write(const char* first, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(first + at, 1, 3);
}

// Fills memory with these 8 bytes by the processor's own instruction, as the C library does with a byte: on AMD's Zen 5 a sixth faster than stores
// where memory is what takes time. False where there is no such instruction, or where it would be slower: at any other than a multiple of 8.
bool store_again([[maybe_unused]] char* to, [[maybe_unused]] const char* pattern, [[maybe_unused]] size_t bytes) {
#ifdef __x86_64__
  uint64_t word;
  if (reinterpret_cast<uintptr_t>(to) % sizeof word != 0) return false;
  std::memcpy(&word, pattern, sizeof word);
  size_t words = bytes / sizeof word;
  asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(word) : "memory");
  std::memcpy(to, pattern, bytes % sizeof word);
  return true;
#else
  return false;
#endif
}

class Worker {
 public:
  Worker(const Work& work, void** operands) : work_(work), nest_(work.nest) {
    for (int t = 0; t < nest_.operands; ++t) memory_[t] = *static_cast<char**>(operands[t]);
    for (int t = 1; t < nest_.operands; ++t) {
      linear_[t] = nest_.is_linear(t, work.route[t].element_size);
      scalar_[t] = nest_.is_scalar(t);
    }
    linear_[0] = nest_.is_linear(0, work.route[0].element_size);
    int64_t bytes = 0;
    for (int t = 0; t < nest_.operands; ++t) bytes += work.route[t].element_size;
    is_large_ = nest_.total >= kLargeOperands / std::max<int64_t>(1, bytes);
    // A processor has few lines of memory under way at a time. Where computing takes longer than memory, those that are asked for only delay those that are
    // computed with: tanh took 2.0 ms instead of 1.4 on Intel's (2019).
    looks_ahead_ = is_large_ && !work.is_heavy && asks_ahead();
    // In the second-level cache only what is written is worth asking for, and not where narrow types are taken apart and rounded.
    asks_for_results_ = !is_large_ && !work.is_heavy && asks_ahead() && !converts() &&
                        nest_.total >= kSmallOperands / std::max<int64_t>(1, bytes);
    streams_ = linear_[0] && is_streamed(nest_.total * work.route[0].element_size) &&
               (is_constant(work.kind) || streams_results());
    // What is replaced is in the cache already.
    for (int t = 1; t < nest_.operands; ++t) streams_ = streams_ && memory_[t] != memory_[0];
  }

  void run(int64_t begin, int64_t end) {
    compute_all(begin, end);
    if (streams_) end_streaming();
  }

 private:
  void compute_all(int64_t begin, int64_t end) {
    for (int t = 1; t < nest_.operands; ++t) {
      if (scalar_[t]) fetch(t, Position(nest_, begin), begin, std::min<int64_t>(kTile, end - begin));
    }
    if (is_constant(work_.kind) && fill(begin, end)) return;
    if (work_.kind == OperatorKind::Copy && copy(begin, end)) return;
    if (work_.kind == OperatorKind::Map && is_linear()) {
      if (!converts()) return map_in_place(work_.map, begin, end);
      if (work_.direct) return map_in_place(work_.direct, begin, end);
    }
    while (begin < end) {
      const Position position(nest_, begin);
      int64_t count = std::min<int64_t>(kTile, end - begin);
      if (nest_.levels > 1 && nest_.size[0] >= kLongRow) count = std::min(count, nest_.size[0] - position.at[0]);
      compute(position, begin, count);
      begin += count;
    }
  }

  // Where `count` elements lie side by side, or null.
  char* in_place(int operand, const Position& position, int64_t begin, int64_t count) const {
    return side_by_side(nest_, nest_.stride[operand], work_.route[operand].element_size, linear_[operand], position,
                        begin, count, memory_[operand]);
  }

  // The input's elements side by side in the type that is computed in.
  void fetch(int operand, const Position& position, int64_t begin, int64_t count) {
    const Route& route = work_.route[operand];
    char* packed = in_place(operand, position, begin, count);
    if (!packed) {
      packed = route.convert ? raw_ : computed_[operand];
      gather(nest_, nest_.stride[operand], route.element_size, position, count, memory_[operand], packed);
    }
    if (route.convert) {
      route.convert(static_cast<size_t>(count), computed_[operand], packed);
      // The next tile's, while this one is computed with. Behind the last element asking does no harm.
      if (looks_ahead_ && linear_[operand])
        ask_to_read(packed + count * route.element_size, count * route.element_size);
      packed = computed_[operand];
    }
    source_[operand] = packed;
  }

  // Whether all operands lie without jumps: then, in a type that is computed in, there is nothing to be done tile by tile.
  bool is_linear() const {
    return std::all_of(linear_, linear_ + nest_.operands, [](bool each) { return each; });
  }
  bool converts() const {
    return std::any_of(work_.route, work_.route + nest_.operands, [](const Route& each) { return each.convert; });
  }

  void map_in_place(MapTile map, int64_t begin, int64_t end) {
    // What goes past the caches is computed beside them.
    const int64_t size = work_.route[0].element_size;
    const int64_t most = looks_ahead_        ? kAhead
                         : streams_          ? kTile
                         : asks_for_results_ ? kResultsAhead / size
                                             : end - begin;
    while (begin < end) {
      const int64_t count = std::min(most, end - begin);
      const int64_t next = std::min(most, end - begin - count);
      for (int t = 0; t < nest_.operands; ++t) {
        const int64_t step = work_.route[t].element_size;
        const char* place = memory_[t] + begin * step;
        source_[t] = place;
        if (looks_ahead_ && t != 0) ask_to_read(place + count * step, next * step);
      }
      if (looks_ahead_ ? !streams_ : asks_for_results_) ask_to_write(memory_[0] + (begin + count) * size, next * size);
      char* const target = memory_[0] + begin * size;
      map(static_cast<size_t>(count), streams_ ? computed_[0] : target, source_ + 1, work_.attributes);
      if (streams_) stream_out(target, computed_[0], static_cast<size_t>(count * size));
      begin += count;
    }
  }

  // Straight from memory to memory, where rows of both lie along it, or one's rows lie where the other's columns do. False: not so.
  bool copy(int64_t begin, int64_t end) {
    const int64_t size = work_.route[0].element_size;
    if (nest_.stride[0][0] != size) return false;
    if (nest_.stride[1][0] == size) return copy_rows(begin, end, size), true;
    if (!is_transposition(nest_, size) || begin % nest_.size[0] != 0) return false;
    switch (size) {
      case 1:
        return transpose<1>(begin, end), true;
      case 2:
        return transpose<2>(begin, end), true;
      case 4:
        return transpose<4>(begin, end), true;
      case 8:
        return transpose<8>(begin, end), true;
      default:
        return transpose<16>(begin, end), true;
    }
  }

  void copy_rows(int64_t begin, int64_t end, int64_t size) {
    for (Position position(nest_, begin); begin < end;) {
      const int64_t count = std::min(end - begin, nest_.size[0] - position.at[0]);
      char* to = memory_[0] + position.offset(nest_, nest_.stride[0]);
      const char* from = memory_[1] + position.offset(nest_, nest_.stride[1]);
      // Whole rows of the second level are the same distance apart, and whole levels of them, too.
      const bool is_whole = count == nest_.size[0] && nest_.levels > 1;
      const int64_t rows = is_whole ? std::min((end - begin) / count, nest_.size[1] - position.at[1]) : 1;
      const int64_t to_step = is_whole ? nest_.stride[0][1] : 0, from_step = is_whole ? nest_.stride[1][1] : 0;
      const bool in_planes = is_whole && rows == nest_.size[1] && nest_.levels > 2;
      const int64_t planes = in_planes ? std::min((end - begin) / (rows * count), nest_.size[2] - position.at[2]) : 1;
      // Of rows that lie apart the next ones, which may be in other pages; not where that only costs time (machine.h).
      constexpr int64_t kRowsAhead = 4, kLongRun = 4096;
      const int64_t bytes = count * size;
      const bool asks = looks_ahead_ && bytes <= kLongRun && (from_step != bytes || to_step != bytes);
      if (!asks && !streams_ && to != from && bytes <= kLongRun) {
        const int64_t to_plane = in_planes ? nest_.stride[0][2] : 0, from_plane = in_planes ? nest_.stride[1][2] : 0;
        tiles().copy_rows({planes, rows, bytes, to, to_plane, to_step, from, from_plane, from_step});
        begin += planes * rows * count;
        position.forward(nest_, planes * rows * count);
        continue;
      }
      for (int64_t plane = 0; plane < planes; ++plane) {
        if (plane > 0) to += nest_.stride[0][2], from += nest_.stride[1][2];
        for (int64_t row = 0; row < rows; ++row) {
          char* const target = to + row * to_step;
          const char* const source = from + row * from_step;
          if (asks && row + kRowsAhead < rows) {
            ask_to_read(source + kRowsAhead * from_step, bytes);
            if (!streams_) ask_to_write(target + kRowsAhead * to_step, bytes);
          }
          if (streams_) {
            stream_out(target, source, static_cast<size_t>(bytes));
          } else if (target != source) {
            std::memcpy(target, source, static_cast<size_t>(bytes));
          }
        }
      }
      begin += planes * rows * count;
      position.forward(nest_, planes * rows * count);
    }
  }

  // A square of kSide rows and as many columns at a time, along the rows that are written.
  template <int Size>
  void transpose(int64_t begin, int64_t end) {
    constexpr int64_t kSide = Size == 2 || Size == 4 ? kSquareRow / Size : 16;
    const int64_t rows = nest_.size[0], step = nest_.stride[1][0], line = nest_.stride[0][1];
    for (Position position(nest_, begin); begin < end;) {
      // The last block's last row may be cut off.
      const int64_t columns = std::min((end - begin + rows - 1) / rows, nest_.size[1] - position.at[1]);
      const int64_t last = std::min(columns * rows, end - begin) - (columns - 1) * rows;
      char* const to = memory_[0] + position.offset(nest_, nest_.stride[0]);
      const char* const from = memory_[1] + position.offset(nest_, nest_.stride[1]);
      for (int64_t j = 0; j < columns; j += kSide) {
        int64_t done = 0;
        if constexpr (Size == 2 || Size == 4) {
          if (j + kSide <= columns) {
            const int64_t squares = (j + kSide < columns ? rows : last) / kSide;
            const TurnSquares turn = Size == 2 ? tiles().turn_squares_of_2 : tiles().turn_squares_of_4;
            turn(squares, to + j * line, line, from + j * Size, step);
            done = squares * kSide;
          }
        }
        for (int64_t i = done; i < rows; i += kSide) {
          for (int64_t c = j; c < std::min(j + kSide, columns); ++c) {
            const int64_t until = std::min({i + kSide, rows, c + 1 == columns ? last : rows});
            for (int64_t r = i; r < until; ++r) std::memcpy(to + c * line + r * Size, from + r * step + c * Size, Size);
          }
        }
      }
      begin += std::min(columns * rows, end - begin);
      position.forward(nest_, columns * rows);
    }
  }

  // A tile of the element in `raw_`; or, true, all elements where they belong, if they lie without jumps.
  bool fill(int64_t begin, int64_t end) {
    const auto size = static_cast<size_t>(work_.route[0].element_size);
    char* to = memory_[0] + static_cast<size_t>(begin) * size;
    size_t left = size * static_cast<size_t>(end - begin);
    const bool is_even = std::all_of(work_.element, work_.element + size, [&](auto b) { return b == *work_.element; });
    // The C library's fill has the processor's own instruction for it, which is the fastest where memory is, and half as fast as stores on some where caches are.
    if (is_even && linear_[0] && !streams_ && is_large_) {
      std::memset(to, *work_.element, left);
      return true;
    }
    std::memcpy(raw_, work_.element, size);
    const size_t wanted = linear_[0] ? kFillLine : size * static_cast<size_t>(std::min<int64_t>(kTile, end - begin));
    for (size_t done = size; done < wanted; done *= 2) std::memcpy(raw_ + done, raw_, std::min(done, wanted - done));
    if (!linear_[0]) return false;
    if (streams_) return stream_pattern(to, raw_, left), true;
    if (is_large_ && !asks_ahead() && size <= sizeof(uint64_t) && store_again(to, raw_, left)) return true;
    tiles().fill(left, to, raw_, looks_ahead_);
    return true;
  }

  void compute(const Position& position, int64_t begin, int64_t count) {
    const Route& out = work_.route[0];
    char* target = in_place(0, position, begin, count);
    const auto put = [&](const char* packed) {
      if (target && streams_) {
        stream_out(target, packed, static_cast<size_t>(count * out.element_size));
      } else if (target) {
        std::memcpy(target, packed, static_cast<size_t>(count * out.element_size));
      } else {
        scatter(nest_, nest_.stride[0], out.element_size, position, count, packed, memory_[0]);
      }
    };
    if (nest_.operands == 1) return put(raw_);
    if (looks_ahead_ && target && out.convert && !streams_) ask_to_write(target, count * out.element_size);
    for (int t = 1; t < nest_.operands; ++t) {
      if (!scalar_[t]) fetch(t, position, begin, count);
    }
    if (work_.kind == OperatorKind::Copy) {
      // In place only where source and target are the same memory, and then there is nothing to do.
      if (target != source_[1]) put(static_cast<const char*>(source_[1]));
      return;
    }
    const bool writes_there = target && !streams_;
    char* result = writes_there && !out.convert ? target : computed_[0];
    if (work_.kind == OperatorKind::Cast) {
      work_.cast(static_cast<size_t>(count), result, source_[1]);
    } else {
      work_.map(static_cast<size_t>(count), result, source_ + 1, work_.attributes);
    }
    if (out.convert) {
      char* narrow = writes_there ? target : raw_;
      out.convert(static_cast<size_t>(count), narrow, result);
      result = narrow;
    }
    if (!writes_there) put(result);
  }

  const Work& work_;
  const Nest& nest_;
  char* memory_[kMaxOperands];
  bool linear_[kMaxOperands];
  bool scalar_[kMaxOperands];
  bool is_large_;
  bool looks_ahead_, asks_for_results_;
  bool streams_;  // the output goes past the caches
  const void* source_[kMaxOperands];
  alignas(64) char raw_[kTile * 16];  // elements as they are in memory
  alignas(64) char computed_[kMaxOperands][kTile * 16];
};

}  // namespace

bool moves_runs(const Nest& nest, OperatorKind kind, int64_t size) {
  constexpr int64_t kShortest = 256;
  if (!is_constant(kind) && kind != OperatorKind::Copy) return false;
  for (int t = 0; t < nest.operands; ++t) {
    if (nest.stride[t][0] != size) return false;
  }
  // Fills with gaps go element by element.
  return is_constant(kind) ? nest.is_linear(0, size) : nest.size[0] * size >= kShortest;
}

bool is_transposition(const Nest& nest, int64_t size) {
  return nest.levels > 1 && nest.stride[0][0] == size && nest.stride[1][1] == size && nest.stride[1][0] != size;
}

void tile_transposed_rows(Nest& nest, int64_t size) {
  constexpr int64_t kRows = 8, kShortest = 256, kLongest = 4096, kPiece = 512;
  const int64_t bytes = nest.size[0] * size;
  if (nest.levels < 3 || nest.levels == kMaxLevels || bytes < kShortest || bytes > kLongest) return;
  if (nest.stride[0][0] != size || nest.stride[1][0] != size) return;
  if (nest.is_linear(0, size) && is_streamed(nest.total * size)) return;
  const auto step = [&](int operand, int level) { return std::abs(nest.stride[operand][level]); };
  if (step(0, 1) >= step(0, 2) || step(1, 1) <= step(1, 2)) return;
  // As they are written, eight at a time; or side by side where they are read, until they are long enough.
  const int split = follows_rows() ? 2 : 1;
  const int64_t count = follows_rows() ? kPiece / bytes : kRows;
  if (count <= 1 || nest.size[split] <= count || nest.size[split] % count != 0) return;
  const int64_t other = 3 - split;
  const auto split_up = [&](int64_t* of, int64_t inner, int64_t outer) {
    for (int level = nest.levels; level > 3; --level) of[level] = of[level - 1];
    of[2] = of[other];
    of[1] = inner;
    of[3] = outer;
  };
  split_up(nest.size, count, nest.size[split] / count);
  for (int t = 0; t < 2; ++t) split_up(nest.stride[t], nest.stride[t][split], count * nest.stride[t][split]);
  ++nest.levels;
}

infinirtError_t run_element_wise(const infinirtXBlock* block, void** args) {
  const auto& work = *static_cast<const Work*>(args[0]);
  const int64_t begin = int64_t{block->blockIdx.x} * work.block_elements;
  Worker worker(work, args + 1);
  worker.run(begin, std::min(begin + work.block_elements, work.nest.total));
  return infinirtSuccess;
}

}  // namespace infiniop::cpu
