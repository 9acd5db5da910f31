// The innermost part of matrix products: some rows of floats times a panel of columns, all sums in registers. For packed_product.cpp, which
// has it, and for others that keep what they have brought. One for each instruction set.
#pragma once

#include <cstdint>

#include "infinicore.h"
#include "op/cpu/registers.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

// As many sums as registers hold beside what they are made of: a strip of rows of two vectors.
inline constexpr int kPanelLanes = VectorOf<float>::kLanes;
inline constexpr int kStripRows = kPanelLanes == 16 ? 12 : kPanelLanes == 8 ? 6 : 4;
inline constexpr int kPanelColumns = 2 * kPanelLanes;
// Elements between rows of a strip, and the most that one call multiplies.
inline constexpr int64_t kPanelDepth = 256;

// sums[r, j], rows of kPanelColumns = up to kStripRows rows of `a` times a panel, which has `depth` lines of kPanelColumns.
void multiply_strip(int64_t rows, const float* a, const float* panel, int64_t depth, float* sums);

// Vectors of F16, BF16 or F32 at these addresses, `step` between elements, as panels of floats; behind the last one zeros.
// Each vector is a column, and panels begin `depth` lines after each other.
void bring_columns(infiniDtype_t dtype, const void* const* vectors, int64_t count, int64_t step, int64_t depth,
                   float* to);
// Each vector is a line of `columns` elements, and panels begin `lines` lines after each other.
void bring_lines(infiniDtype_t dtype, const void* const* vectors, int64_t count, int64_t step, int64_t columns,
                 int64_t lines, float* to);

}  // namespace infiniop::cpu::INFINIOP_LEVEL
