// What a launch passes to kernels beside the operands' addresses. This file is compiled into the library and, as text, by NVIDIA's
// compiler: plain types of the language only.
#pragma once

namespace infiniop {

template <int Operands>
struct Layout {
  static constexpr int kLevels = 8, kOperands = Operands;

  long long items;  // vectors of as many elements as the kernel is wide
  int tail;  // elements behind the last of them, where there is one level
  // Per level, the innermost first and counted in items. Division by `size` of what is less than 2^31 is
  // (high half of (n * magic) + n) >> shift.
  unsigned magic[kLevels];
  unsigned shift[kLevels];
  long long size[kLevels];
  long long stride[kOperands][kLevels];  // in bytes, of an item
};

// Of the element-wise kernel.
struct Arguments : Layout<4> {
  double attributes[2];
  alignas(16) unsigned char element[16];  // what Constant and Fill write
};

// Of a chain's kernel.
struct ChainArguments : Layout<8> {
  static constexpr int kSteps = 16;
  double attributes[kSteps][2];
  alignas(8) unsigned char element[kSteps][8];  // what steps of kind Constant and Fill give
};

// Of a kernel for operators on rows. Levels are innermost first, strides in bytes, tensors outputs and inputs.
struct RowArguments {
  static constexpr int kLevels = 8, kTensors = 6;

  long long rows, length;
  long long matrix_rows;  // the size of the dimension before the last
  long long row_size[kLevels], row_stride[kTensors][kLevels];
  long long column_size[kLevels], column_stride[kTensors][kLevels];
  double attributes[2];
};

// Threads of a block, where so many share a row: rows of one warp go four to a block.
constexpr int row_block(int threads) { return threads == 32 ? 128 : threads; }

}  // namespace infiniop
