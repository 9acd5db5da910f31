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
};

// `count` elements of an operand with these strides, from `position` on, to `packed`; and back. Elements have 1, 2, 4, 8 or 16
// bytes.
void gather(const Loops& loops, const int64_t* strides, int element_size, Position position, int64_t count,
            const char* memory, char* packed);
void scatter(const Loops& loops, const int64_t* strides, int element_size, Position position, int64_t count,
             const char* packed, char* memory);

}  // namespace infiniop::cpu
