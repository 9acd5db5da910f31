// Elements of a nest, between where they lie and side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "op/nest.h"

namespace infiniop::cpu {

// Where element `index` of the nest, counted in the order of its loops, stands in each loop.
struct Position {
  int64_t at[kMaxLevels];

  Position(const Loops& loops, int64_t index);
  int64_t offset(const Loops& loops, const int64_t* strides) const;  // in bytes
  void forward(const Loops& loops, int64_t count);                   // so many elements
};

// Where `count` elements of an operand lie side by side, from element `begin` on, which is at `position`; or null. `is_linear`: the
// operand has no jumps at all.
inline char* side_by_side(const Loops& loops, const int64_t* strides, int64_t size, bool is_linear,
                          const Position& position, int64_t begin, int64_t count, char* memory) {
  if (is_linear) return memory + begin * size;
  if (strides[0] != size || position.at[0] + count > loops.size[0]) return nullptr;
  return memory + position.offset(loops, strides);
}

// `count` elements of an operand with these strides, from `position` on, to `packed`; and back. Elements have 1, 2, 4, 8 or 16
// bytes.
void gather(const Loops& loops, const int64_t* strides, int element_size, Position position, int64_t count,
            const char* memory, char* packed);
void scatter(const Loops& loops, const int64_t* strides, int element_size, Position position, int64_t count,
             const char* packed, char* memory);

}  // namespace infiniop::cpu
