// The weights of attention as BF16, for products by tiles. Only to be called where multiplies_tiles() (machine.h).
#pragma once

#include <cstdint>

namespace infiniop::cpu {

// Of one row: the largest score so far, and the sum of the weights by it.
struct Weighed {
  float largest = -__builtin_huge_valf(), total = 0;
};

// Scores become weights: 2 to the power of `factor`, which is the scale times log2(e) and not negative, times what each is less than the largest. From
// the first `seen` on to `count`, a multiple of 32, they are 0. 32 at a time lie side by side, `step` elements between these. Returns what was summed up
// so far is worth then. A power is off by 2.8e-6 of itself before it is rounded.
float weigh(const float* score, int64_t seen, int64_t count, float factor, Weighed& row, uint16_t* to, int64_t step);

}  // namespace infiniop::cpu
