// Matrix products of BF16 on machines that multiply pairs of them at once (AVX512-BF16), only to be called where multiplies_pairs() (machine.h).
#pragma once

#include <cstdint>

namespace infiniop::cpu {

struct FewRows;

// As few_rows.h says, of a and b in BF16 whose rows all lie along memory.
void multiply_few_pairs(const FewRows& product);

// The innermost part of packed_product.cpp, which brings the pairs.
inline constexpr int kMostPairRows = 12, kPairColumns = 32;
inline constexpr int64_t kPairDepth = 256;  // lanes between rows of `a`

// sums[r, j], `row` from one to the next, = rows of `a` times a panel of `lines` lines of kPairColumns, or that is added to them. A lane, here as
// everywhere of 4 bytes, has two elements of the depth; sums are floats.
using MultiplyPairs = void (*)(const float* a, const float* panel, int64_t lines, float* sums, int64_t row, bool adds);
MultiplyPairs multiply_pairs_of(int64_t rows);  // 1 to kMostPairRows
// c[r, j], `row` from one to the next, = what stands in `sums`, whose rows are kPairColumns long, if there are some, and the same product, as BF16.
using RoundPairs = void (*)(const float* a, const float* panel, int64_t lines, const float* sums, uint16_t* c,
                            int64_t row);
RoundPairs round_pairs_of(int64_t rows);

}  // namespace infiniop::cpu
