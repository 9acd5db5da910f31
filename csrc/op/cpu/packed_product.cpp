// Compiled once for each instruction set, each time in a namespace of its own, INFINIOP_LEVEL, with products and sums contracted: how
// exact a matrix product is depends on who computes it in any case.
#include "op/cpu/packed_product.h"

#include "op/cpu/bfloat_pairs.h"
#include "op/cpu/buffer.h"
#include "op/cpu/machine.h"
#include "op/cpu/panels.h"
#include "op/cpu/tiled_product.h"
#include "op/cpu/turn.h"
#include "op/narrow.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

constexpr int kLanes = kPanelLanes, kPanel = kPanelColumns;
constexpr int64_t kDepth = kPanelDepth;  // lines of a and b that are brought at a time
// From one panel to the next: a little more than it has, so that lines of all of them are not in one place of the first-level cache.
constexpr int64_t kPanelStep = kDepth * kPanel + 4 * kPanel;
using Vector [[gnu::vector_size(kLanes * 4)]] = float;
using Order [[gnu::vector_size(kLanes * 4)]] = int32_t;

struct Single {
  using Element = float;
  static float widen(Element x) { return x; }
  static Element narrow(float x) { return x; }
};
struct Brain {
  using Element = uint16_t;
  static float widen(Element x) { return from_bfloat16(x); }
  static Element narrow(float x) { return to_bfloat16(x); }
};
struct Half {
  using Element = uint16_t;
  static float widen(Element x) { return from_float16(x); }
  static Element narrow(float x) { return to_float16(x); }
};

// Elements side by side, as floats.
template <class Type>
[[gnu::always_inline]] inline void widen(const typename Type::Element* __restrict from, float* __restrict to,
                                         int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = Type::widen(from[i]);
}

// One line of a panel. As vectors: compilers make a call of a loop that only copies.
template <class Type>
[[gnu::always_inline]] inline void widen_line(const typename Type::Element* __restrict from, float* __restrict to) {
  if constexpr (sizeof(typename Type::Element) == sizeof(float)) {
    Vector line[2];
    __builtin_memcpy(line, from, sizeof line);
    __builtin_memcpy(to, line, sizeof line);
  } else {
    widen<Type>(from, to, kPanel);
  }
}

// Always inline: gcc takes a function that only asks for memory for one without effect, and drops the call.
template <class Element>
[[gnu::always_inline]] inline void ask_for(const Element* from, int64_t count) {
  constexpr int64_t kLine = 64 / sizeof(Element);
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(from + i, 0, 2);
}

// A line of the cache of each of kLanes rows.
template <class Element>
[[gnu::always_inline]] inline void ask_for_rows(const Element* from, int64_t step) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) __builtin_prefetch(from + i * step, 0, 3);
}

// What is turned some lines of the cache later than element `done` of `depth` of these rows: theirs, or, behind their end, the next panel's.
template <class Element>
[[gnu::always_inline]] inline const Element* place_ahead(const Element* from, int64_t step, int64_t row, int64_t done,
                                                         int64_t depth) {
  constexpr int64_t kAhead = 4 * 64 / sizeof(Element);
  const int64_t later = done + kAhead;
  if (later < depth) return from + row * step + later;
  return from + (row + kPanel) * step + (later - depth < depth ? later - depth : 0);
}

// Rows of lanes as columns of `to`, whose rows are kPanel long.
[[gnu::always_inline]] inline void put_turned(Vector (&lines)[kLanes], float* to) {
  turn<Order>(lines);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) __builtin_memcpy(to + i * kPanel, &lines[i], sizeof(Vector));
}

// kLanes rows of as many elements, which begin at `row_at(i)`, as columns of `to`, whose rows are kPanel long.
template <class Type, class RowAt>
[[gnu::always_inline]] inline void transpose_rows(const RowAt& row_at, float* to) {
  Vector lines[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const typename Type::Element* from = row_at(i);
    float line[kLanes];
#pragma GCC unroll 16
    for (int lane = 0; lane < kLanes; ++lane) line[lane] = Type::widen(from[lane]);
    __builtin_memcpy(&lines[i], line, sizeof line);
  }
  put_turned(lines, to);
}

// Rows `stride` apart.
template <class Type>
void transpose(const typename Type::Element* from, int64_t stride, float* to) {
  transpose_rows<Type>([&](int i) { return from + i * stride; }, to);
}

// Rows `r` of `a`, as floats, kDepth apart.
template <class Type>
void bring_rows(const PackedProduct& p, int64_t row, int64_t rows, int64_t k, int64_t depth, float* to) {
  const auto* from = static_cast<const typename Type::Element*>(p.a) + row * p.a_row + k * p.a_column;
  if (p.a_column == 1) {
    for (int64_t r = 0; r < rows; ++r) widen<Type>(from + r * p.a_row, to + r * kDepth, depth);
    return;
  }
  for (int64_t i = 0; i < depth; ++i) {
    for (int64_t r = 0; r < rows; ++r) to[r * kDepth + i] = Type::widen(from[r * p.a_row + i * p.a_column]);
  }
}

// A part of b as panels: each has `depth` lines of kPanel columns, behind the last column zeros, and begins kPanelStep after the last.
template <class Type>
void bring_panels(const PackedProduct& p, int64_t panels, int64_t k, int64_t depth, float* to) {
  const auto* from = static_cast<const typename Type::Element*>(p.b) + k * p.b_row;
  const int64_t whole = p.columns / kPanel;
  int64_t first = 0;
  if (p.b_column == 1) {
    // Line by line: each is another page of memory.
    for (int64_t i = 0; i < depth; ++i) {
      const auto* line = from + i * p.b_row;
      // Lines of large matrices are in pages of their own, and those of the next ones nobody foresees.
      constexpr int64_t kAhead = 6;
      if (k + i + kAhead < p.depth) ask_for(line + kAhead * p.b_row, p.columns);
      for (int64_t j = 0; j < whole; ++j) widen_line<Type>(line + j * kPanel, to + j * kPanelStep + i * kPanel);
    }
    first = whole;
  }
  for (int64_t j = first; j < panels; ++j) {
    const int64_t column = j * kPanel;
    float* panel = to + j * kPanelStep;
    int64_t done = 0;
    if (j < whole && p.b_row == 1) {
      for (; done + kLanes <= depth; done += kLanes) {
        for (int half = 0; half < 2; ++half) {
          const int64_t first_row = column + half * kLanes;
          ask_for_rows(place_ahead(from, p.b_column, first_row, done, depth), p.b_column);
          transpose<Type>(from + first_row * p.b_column + done, p.b_column, panel + done * kPanel + half * kLanes);
        }
      }
    }
    for (; done < depth; ++done) {
      for (int64_t c = 0; c < kPanel; ++c) {
        panel[done * kPanel + c] =
            column + c < p.columns ? Type::widen(from[done * p.b_row + (column + c) * p.b_column]) : 0.0f;
      }
    }
  }
}

// Memory that is asked for while something else is computed, now and then: much at once would keep what is computed with from coming.
struct Ahead {
  static constexpr int64_t kBetween = 16;  // lines of a panel from one time to the next
  const char* place;
  int64_t step;  // 0: nothing is wanted, and `place` is in the cache
};

// sums[r, j], `row` from one to the next, = rows of a times a panel, or that is added to them. What is held is only named, never copied as a whole:
// compilers keep arrays that they copy in memory.
template <int Rows>
[[gnu::noinline]] void multiply_panel(const float* a, const float* panel, int64_t depth, float* sums, int64_t row,
                                      bool adds, Ahead ahead) {
  constexpr int64_t kPiece = Ahead::kBetween * kPanel;

  using Anywhere [[gnu::vector_size(kLanes * 4), gnu::aligned(4), gnu::may_alias]] = float;
  const auto part = [&](int r, int half) -> Anywhere& {
    return *reinterpret_cast<Anywhere*>(sums + r * row + half * kLanes);
  };
  Vector held[Rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    held[r][0] = held[r][1] = Vector{};
  }
  int asked = 0;
  for (const float* const end = panel + depth * kPanel; panel != end;) {
    __builtin_prefetch(ahead.place, 0, 2);
    ahead.place += ahead.step;
    if (asked < Rows) {  // one by one: all of their place at once would keep the panel from coming
      __builtin_prefetch(sums + asked * row, 1);
      __builtin_prefetch(sums + asked * row + kPanel - 1, 1);
      ++asked;
    }
    const float* const stop = end - panel < kPiece ? end : panel + kPiece;
    for (; panel != stop; panel += kPanel, ++a) {
      const Vector first = *reinterpret_cast<const Anywhere*>(panel);
      const Vector second = *reinterpret_cast<const Anywhere*>(panel + kLanes);
      __builtin_prefetch(panel + 16 * kPanel);
      __builtin_prefetch(panel + 16 * kPanel + 16);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const float factor = a[r * kDepth];
        held[r][0] += factor * first;
        held[r][1] += factor * second;
      }
    }
  }
  if (adds) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      part(r, 0) = held[r][0] + part(r, 0);
      part(r, 1) = held[r][1] + part(r, 1);
    }
    return;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    part(r, 0) = held[r][0];
    part(r, 1) = held[r][1];
  }
}

using Multiply = void (*)(const float*, const float*, int64_t, float*, int64_t, bool, Ahead);
Multiply multiply_of(int64_t rows) {
  static constexpr Multiply all[] = {
      multiply_panel<1>,  multiply_panel<2>,  multiply_panel<3>, multiply_panel<4>,
#if defined(__AVX2__)
      multiply_panel<5>,  multiply_panel<6>,
#endif
#if defined(__AVX512F__)
      multiply_panel<7>,  multiply_panel<8>,  multiply_panel<9>, multiply_panel<10>,
      multiply_panel<11>, multiply_panel<12>,
#endif
  };
  return all[rows - 1];
}

// Products of floats that bring nothing: rows of a and lines of b are used where they lie. A block of sums is wider than a strip's and has fewer rows, so that
// the addresses of all of them stay in registers.
constexpr int kBlockRows = kLanes >= 8 ? 6 : 4, kBlockVectors = kLanes == 16 ? 4 : 2;
constexpr int64_t kBlockColumns = kBlockVectors * kLanes;
// The most of b that stays in the second-level cache, beside what else is there, until all rows have been multiplied.
constexpr int64_t kMostInPlace = 128 << 10;

// Steps count floats. The first rows to be multiplied ask for b's next columns meanwhile.
template <int Rows, bool AsksForColumns = false>
[[gnu::noinline]] void multiply_block(const float* a, int64_t a_row, const float* b, int64_t b_row, int64_t depth,
                                      float* c, int64_t c_row, bool adds) {
  using Anywhere [[gnu::vector_size(kLanes * 4), gnu::aligned(4), gnu::may_alias]] = float;
  const auto part = [&](int r, int v) -> Anywhere& { return *reinterpret_cast<Anywhere*>(c + r * c_row + v * kLanes); };
  Vector held[Rows][kBlockVectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kBlockVectors; ++v) {
      held[r][v] = Vector{};
    }
  }
  const auto multiply_line = [&](int64_t k) __attribute__((always_inline)) {
    Vector line[kBlockVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kBlockVectors; ++v) line[v] = *reinterpret_cast<const Anywhere*>(b + v * kLanes);
    if constexpr (AsksForColumns) ask_for(b + kBlockColumns, kBlockColumns);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const float factor = a[r * a_row + k];
#pragma GCC unroll 4
      for (int v = 0; v < kBlockVectors; ++v) held[r][v] += factor * line[v];
    }
    b += b_row;
  };
  // The place of the sums is asked for line by line: all at once would keep b from coming.
  int64_t k = 0;
  for (int asked = 0; asked < Rows * kBlockVectors && k + 4 <= depth; ++asked) {
    __builtin_prefetch(&part(asked / kBlockVectors, asked % kBlockVectors), 1);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) multiply_line(k + i);
    k += 4;
  }
#pragma GCC unroll 4
  for (; k < depth; ++k) multiply_line(k);
  if (adds) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kBlockVectors; ++v) held[r][v] += part(r, v);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kBlockVectors; ++v) part(r, v) = held[r][v];
  }
}

using MultiplyBlock = decltype(&multiply_block<1>);

bool is_multiplied_in_place(const PackedProduct& p) {
  // Sums of more lines would end in other bits here than in panels, and which it is depends on the number of threads.
  if (p.depth > kDepth) return false;
  // A line of the cache from each row of b, all in the same few places: in panels they lie side by side.
  constexpr int64_t kPage = 4096 / sizeof(float);
  if (kLanes < 16 && p.b_row % kPage == 0) return false;
  return p.dtype == INFINI_DTYPE_F32 && p.a_column == 1 && p.b_column == 1 && p.c_column == 1 && p.alpha == 1 &&
         (p.beta == 0 || p.beta == 1) && p.columns % kBlockColumns == 0 &&
         p.columns * p.depth * int64_t{sizeof(float)} <= kMostInPlace;
}

void multiply_in_place(const PackedProduct& p) {
  static constexpr MultiplyBlock of_rows[] = {
      multiply_block<1>, multiply_block<2>, multiply_block<3>, multiply_block<4>,
#if defined(__AVX2__)
      multiply_block<5>, multiply_block<6>,
#endif
  };
  const auto *a = static_cast<const float*>(p.a), *b = static_cast<const float*>(p.b);
  auto* c = static_cast<float*>(p.c);
  const int64_t blocks = p.columns / kBlockColumns;
  for (int64_t row = 0; row < p.rows; row += kBlockRows) {
    const int64_t left = p.rows - row, rows = left < kBlockRows ? left : kBlockRows;
    const int64_t next = left - rows < kBlockRows ? left - rows : kBlockRows;
    const MultiplyBlock multiply = of_rows[rows - 1];
    for (int64_t j = 0; j < blocks; ++j) {
      const bool brings = row == 0 && rows == kBlockRows && j + 1 < blocks;
      // Of rows side by side a machine foresees what follows, and asking for all of it costs more than it saves (a twentieth, on Intel's with AMX).
      for (int64_t r = j * next / blocks; r < (j + 1) * next / blocks; ++r) {
        ask_for(a + (row + kBlockRows + r) * p.a_row, p.a_row == p.depth ? 1 : p.depth);
      }
      (brings ? multiply_block<kBlockRows, true> : multiply)(a + row * p.a_row, p.a_row, b + j * kBlockColumns, p.b_row,
                                                             p.depth, c + row * p.c_row + j * kBlockColumns, p.c_row,
                                                             p.beta == 1);
    }
  }
}

// How both matrices are brought: as floats, a line of the panel for each element of the depth.
template <class B, class A>
struct Floats {
  using Other = A;  // what a and c are
  static constexpr int64_t kRows = kStripRows, kTogether = 1;
  static constexpr bool kRounds = false;  // whether what multiplies can also round
  static constexpr bool kAsks = true;  // whether it asks for other memory meanwhile
  static constexpr auto bring_panels = &infiniop::cpu::INFINIOP_LEVEL::bring_panels<B>;
  static constexpr auto bring_rows = &infiniop::cpu::INFINIOP_LEVEL::bring_rows<A>;
  static Multiply multiply_of(int64_t rows) { return infiniop::cpu::INFINIOP_LEVEL::multiply_of(rows); }
};

#ifdef INFINIOP_PAIRS
// BF16 as it is, two of the depth in a lane, for machines that multiply such pairs at once (AVX512-BF16). A depth that is odd ends in a pair
// with zero.
struct Pairs {
  static_assert(kStripRows == kMostPairRows && kPanel == kPairColumns && kDepth == kPairDepth);
  using Other = Brain;
  static constexpr int64_t kRows = kStripRows, kTogether = 2;
  static constexpr bool kRounds = true, kAsks = false;

  static void bring_rows(const PackedProduct& p, int64_t row, int64_t rows, int64_t k, int64_t depth, float* lanes) {
    const auto* from = static_cast<const uint16_t*>(p.a) + row * p.a_row + k * p.a_column;
    for (int64_t r = 0; r < rows; ++r, from += p.a_row) {
      auto* to = reinterpret_cast<char*>(lanes + r * kDepth);
      if (p.a_column == 1) {
        __builtin_memcpy(to, from, static_cast<size_t>(depth) * 2);
      } else {
        for (int64_t i = 0; i < depth; ++i) __builtin_memcpy(to + i * 2, from + i * p.a_column, 2);
      }
      if (depth % 2) __builtin_memset(to + depth * 2, 0, 2);
    }
  }

  static void bring_panels(const PackedProduct& p, int64_t panels, int64_t k, int64_t depth, float* lanes) {
    const auto* from = static_cast<const uint16_t*>(p.b) + k * p.b_row;
    const int64_t whole = p.columns / kPanel, pairs = depth / 2;
    const auto put_pair = [](float* to, uint16_t first, uint16_t second) {
      const uint32_t pair = first | static_cast<uint32_t>(second) << 16;
      __builtin_memcpy(to, &pair, sizeof pair);
    };
    int64_t first = 0;
    if (p.b_column == 1) {
      for (int64_t i = 0; i < pairs; ++i) {
        const auto *upper = from + 2 * i * p.b_row, *lower = upper + p.b_row;
        constexpr int64_t kAhead = 6;
        if (k + 2 * i + kAhead + 1 < p.depth) {
          ask_for(upper + kAhead * p.b_row, p.columns);
          ask_for(lower + kAhead * p.b_row, p.columns);
        }
        for (int64_t j = 0; j < whole; ++j) {
          uint32_t line[kPanel];
          for (int c = 0; c < kPanel; ++c) {
            line[c] = upper[j * kPanel + c] | static_cast<uint32_t>(lower[j * kPanel + c]) << 16;
          }
          __builtin_memcpy(lanes + j * kPanelStep + i * kPanel, line, sizeof line);
        }
      }
      first = whole;
    }
    for (int64_t j = 0; j < panels; ++j) {
      const int64_t column = j * kPanel;
      float* panel = lanes + j * kPanelStep;
      int64_t done = j < first ? pairs : 0;
      if (j < whole && p.b_row == 1) {
        for (; done + kLanes <= pairs; done += kLanes) {
          for (int half = 0; half < 2; ++half) {
            const int64_t first_row = column + half * kLanes;
            const auto* rows = from + first_row * p.b_column + 2 * done;
            ask_for_rows(place_ahead(from, p.b_column, first_row, 2 * done, depth), p.b_column);
            Vector lines[kLanes];
#pragma GCC unroll 16
            for (int i = 0; i < kLanes; ++i) __builtin_memcpy(&lines[i], rows + i * p.b_column, sizeof lines[i]);
            put_turned(lines, panel + done * kPanel + half * kLanes);
          }
        }
      }
      for (; 2 * done < depth; ++done) {
        for (int64_t c = 0; c < kPanel; ++c) {
          const auto* pair = from + 2 * done * p.b_row + (column + c) * p.b_column;
          const bool is_there = column + c < p.columns, has_second = is_there && 2 * done + 1 < depth;
          put_pair(panel + done * kPanel + c, is_there ? pair[0] : 0, has_second ? pair[p.b_row] : 0);
        }
      }
    }
  }

  static MultiplyPairs multiply_of(int64_t rows) { return multiply_pairs_of(rows); }
  static void round(int64_t rows, const float* a, const float* panel, int64_t lines, const float* sums, uint16_t* c,
                    int64_t row) {
    round_pairs_of(rows)(a, panel, lines, sums, c, row);
  }
};

// The same where a and c are floats: a is rounded.
struct RoundedPairs : Pairs {
  using Other = Single;
  static constexpr bool kRounds = false;

  static void bring_rows(const PackedProduct& p, int64_t row, int64_t rows, int64_t k, int64_t depth, float* lanes) {
    const auto* from = static_cast<const float*>(p.a) + row * p.a_row + k * p.a_column;
    for (int64_t r = 0; r < rows; ++r, from += p.a_row) {
      uint16_t line[2 * kDepth];
      if (p.a_column == 1) {
        for (int64_t i = 0; i < depth; ++i) line[i] = to_bfloat16(from[i]);
      } else {
        for (int64_t i = 0; i < depth; ++i) line[i] = to_bfloat16(from[i * p.a_column]);
      }
      if (depth % 2) line[depth] = 0;
      __builtin_memcpy(lanes + r * kDepth, line, static_cast<size_t>(depth + depth % 2) * 2);
    }
  }
};
#endif

// See panels.h.
template <class Type>
void columns_of(const void* const* vectors, int64_t count, int64_t step, int64_t depth, float* to) {
  using Element = typename Type::Element;
  for (int64_t j = 0; j < count; j += kPanel, to += depth * kPanel) {
    const auto* at = reinterpret_cast<const Element* const*>(vectors + j);
    const int64_t here = count - j < kPanel ? count - j : kPanel;
    int64_t done = 0;
    if (here == kPanel && step == 1) {
      for (; done + kLanes <= depth; done += kLanes) {
        for (int half = 0; half < 2; ++half) {
          transpose_rows<Type>([&](int i) { return at[half * kLanes + i] + done; }, to + done * kPanel + half * kLanes);
        }
      }
    }
    for (; done < depth; ++done) {
      float* line = to + done * kPanel;
      for (int64_t c = 0; c < kPanel; ++c) line[c] = c < here ? Type::widen(at[c][done * step]) : 0.0f;
    }
  }
}

template <class Type>
void lines_of(const void* const* vectors, int64_t count, int64_t step, int64_t columns, int64_t lines, float* to) {
  using Element = typename Type::Element;
  const int64_t whole = step == 1 ? columns / kPanel : 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto* from = static_cast<const Element*>(vectors[i]);
    for (int64_t j = 0; j < whole; ++j) widen_line<Type>(from + j * kPanel, to + (j * lines + i) * kPanel);
    for (int64_t column = whole * kPanel; column < columns; column += kPanel) {
      float* line = to + (column / kPanel * lines + i) * kPanel;
      for (int64_t c = 0; c < kPanel; ++c) {
        line[c] = column + c < columns ? Type::widen(from[(column + c) * step]) : 0.0f;
      }
    }
  }
}

// Sums of rows and a panel to where they belong: the first part of the depth begins what the others add to.
template <class Type>
void put(const PackedProduct& p, int64_t row, int64_t rows, int64_t column, int64_t columns, bool first,
         const float* sums) {
  using Element = typename Type::Element;
  auto* c = static_cast<Element*>(p.c) + row * p.c_row + column * p.c_column;
  const float before = first ? p.beta : 1.0f;
  if (columns == kPanel && p.c_column == 1) {
    const float alpha = p.alpha;
    for (int64_t r = 0; r < rows; ++r, c += p.c_row, sums += kPanel) {
      Element* __restrict to = c;
      if (before == 0) {
        for (int j = 0; j < kPanel; ++j) to[j] = Type::narrow(alpha * sums[j]);
      } else {
        for (int j = 0; j < kPanel; ++j) to[j] = Type::narrow(alpha * sums[j] + before * Type::widen(to[j]));
      }
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) {
      Element& each = c[r * p.c_row + j * p.c_column];
      const float sum = p.alpha * sums[r * kPanel + j];
      each = Type::narrow(before == 0 ? sum : sum + before * Type::widen(each));
    }
  }
}

template <class Format>
bool multiply(const PackedProduct& p) {
  using Other = typename Format::Other;
  constexpr int64_t kRows = Format::kRows;
  constexpr int64_t kElements = kDepth * Format::kTogether;
  const int64_t panels = (p.columns + kPanel - 1) / kPanel, strips = (p.rows + kRows - 1) / kRows;
  const bool keeps_sums = sizeof(typename Other::Element) < sizeof(float) && p.depth > kElements;
  const int64_t strip = kRows * kDepth, tile = kRows * kPanel;
  const int64_t kept = keeps_sums ? strips * panels * tile : 0;
  const int64_t floats = panels * kPanelStep + strip + tile + kept;
  auto* memory = reinterpret_cast<float*>(worker_buffer(sizeof(float) * static_cast<size_t>(floats)));
  if (!memory) return false;
  float *rows_of_a = memory, *sums = rows_of_a + strip, *panels_of_b = sums + tile,
        *all = panels_of_b + panels * kPanelStep;
  // Sums of floats are made where they belong, and of narrow types that have several parts of depth stay floats until the last.
  const bool are_floats = sizeof(typename Other::Element) == sizeof(float);
  const bool in_place = are_floats && p.c_column == 1 && p.alpha == 1 && (p.beta == 0 || p.beta == 1);
  [[maybe_unused]] const bool rounds = Format::kRounds && p.c_column == 1 && p.alpha == 1 && p.beta == 0;
  for (int64_t k = 0; k < p.depth; k += kElements) {
    const int64_t depth = p.depth - k < kElements ? p.depth - k : kElements;
    const int64_t lines = (depth + Format::kTogether - 1) / Format::kTogether;
    const bool first = k == 0, last = k + depth == p.depth;
    Format::bring_panels(p, panels, k, depth, panels_of_b);
    for (int64_t s = 0; s < strips; ++s) {
      const int64_t row = s * kRows, rows = p.rows - row < kRows ? p.rows - row : kRows;
      Format::bring_rows(p, row, rows, k, depth, rows_of_a);
      const auto multiply_some = Format::multiply_of(rows);
      const auto multiply_with = [&](int64_t j, Ahead ahead) {
        const auto some = [&](auto... given) {
          if constexpr (Format::kAsks) {
            multiply_some(given..., ahead);
          } else {
            multiply_some(given...);
          }
        };
        const int64_t column = j * kPanel, columns = p.columns - column < kPanel ? p.columns - column : kPanel;
        const float* panel = panels_of_b + j * kPanelStep;
        float* place = all + (s * panels + j) * tile;  // where sums are kept
        if constexpr (Format::kRounds) {
          if (rounds && last && columns == kPanel) {
            auto* c = static_cast<uint16_t*>(p.c) + row * p.c_row + column;
            return Format::round(rows, rows_of_a, panel, lines, first ? nullptr : place, c, p.c_row);
          }
        }
        if (in_place && columns == kPanel) {
          auto* c = static_cast<float*>(p.c) + row * p.c_row + column;
          return some(rows_of_a, panel, lines, c, p.c_row, !first || p.beta == 1);
        }
        if (keeps_sums) {
          some(rows_of_a, panel, lines, place, kPanel, !first);
          if (last) put<Other>(p, row, rows, column, columns, true, place);
        } else {
          some(rows_of_a, panel, lines, sums, kPanel, false);
          put<Other>(p, row, rows, column, columns, first, sums);
        }
      };
      for (int64_t j = 0; j < panels; ++j) {
        Ahead ahead{reinterpret_cast<const char*>(rows_of_a), 0};
        if (p.a_column == 1) {  // some of the rows that come next
          const auto* a = static_cast<const typename Other::Element*>(p.a) + k;
          const int64_t next = row + kRows, left = p.rows - next < kRows ? p.rows - next : kRows;
          for (int64_t r = j * left / panels; r < (j + 1) * left / panels; ++r) {
            const auto* place = a + (next + r) * p.a_row;
            if (Format::kAsks && ahead.step == 0) {
              ahead = {reinterpret_cast<const char*>(place), Ahead::kBetween * int64_t{sizeof *place}};
            } else {
              ask_for(place, depth);
            }
          }
        }
        multiply_with(j, ahead);
      }
    }
  }
  return true;
}

}  // namespace

void multiply_strip(int64_t rows, const float* a, const float* panel, int64_t depth, float* sums) {
  multiply_of(rows)(a, panel, depth, sums, kPanel, false, {reinterpret_cast<const char*>(a), 0});
}

void bring_columns(infiniDtype_t dtype, const void* const* vectors, int64_t count, int64_t step, int64_t depth,
                   float* to) {
  if (dtype == INFINI_DTYPE_F32) return columns_of<Single>(vectors, count, step, depth, to);
  if (dtype == INFINI_DTYPE_BF16) return columns_of<Brain>(vectors, count, step, depth, to);
  columns_of<Half>(vectors, count, step, depth, to);
}

void bring_lines(infiniDtype_t dtype, const void* const* vectors, int64_t count, int64_t step, int64_t columns,
                 int64_t lines, float* to) {
  if (dtype == INFINI_DTYPE_F32) return lines_of<Single>(vectors, count, step, columns, lines, to);
  if (dtype == INFINI_DTYPE_BF16) return lines_of<Brain>(vectors, count, step, columns, lines, to);
  lines_of<Half>(vectors, count, step, columns, lines, to);
}

const MultiplyPacked multiply_packed = [](const PackedProduct& p) {
  const bool is_brain = p.dtype == INFINI_DTYPE_BF16;
  if (is_multiplied_in_place(p)) return multiply_in_place(p), true;
  if (p.dtype == INFINI_DTYPE_F32) return multiply<Floats<Single, Single>>(p);
#ifdef INFINIOP_PAIRS
#ifdef INFINIOP_TILE_REGISTERS
  if (is_brain && multiplies_tiles()) return multiply_tiled(p);
#endif
  if (is_brain && multiplies_pairs()) return p.only_b ? multiply<RoundedPairs>(p) : multiply<Pairs>(p);
#endif
  if (p.only_b) return is_brain ? multiply<Floats<Brain, Single>>(p) : multiply<Floats<Half, Single>>(p);
  return is_brain ? multiply<Floats<Brain, Brain>>(p) : multiply<Floats<Half, Half>>(p);
};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
