// Rows that become columns, in registers. For code that is compiled once for each instruction set, too.
#pragma once

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

// Exchanges, in each pair of vectors that are Step apart, the second half of the first's groups of 2 * Step lanes with the first half of the
// second's. Order is a vector of integers as wide as a lane.
template <int Step, class Order, class Vector, int Count>
[[gnu::always_inline]] inline void exchange(Vector (&rows)[Count]) {
  Order low{}, high{};
#pragma GCC unroll 16
  for (int lane = 0; lane < Count; ++lane) {
    low[lane] = lane & Step ? lane - Step + Count : lane;
    high[lane] = lane & Step ? lane + Count : lane + Step;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Count; ++i) {
    if (i & Step) continue;
    const Vector first = rows[i], second = rows[i + Step];
    rows[i] = __builtin_shuffle(first, second, low);
    rows[i + Step] = __builtin_shuffle(first, second, high);
  }
}

// As many vectors as each has lanes, 4, 8 or 16: done for each power of two, rows have become columns.
template <class Order, class Vector, int Count>
[[gnu::always_inline]] inline void turn(Vector (&rows)[Count]) {
  static_assert(sizeof(Vector) / sizeof(rows[0][0]) == Count);
  exchange<1, Order>(rows);
  exchange<2, Order>(rows);
  if constexpr (Count > 4) exchange<4, Order>(rows);
  if constexpr (Count > 8) exchange<8, Order>(rows);
}

}  // namespace
}  // namespace infiniop::cpu
