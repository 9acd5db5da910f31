// From a nest to what kernels are told about it: how operands lie, how many elements an item has, and the arguments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "op/nest.h"
#include "op/nvidia/arguments.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

inline constexpr int kThreads = 256;  // of a block; elements.h has the same

enum class Lie : uint8_t { SideBySide, Repeated, Scalar };

inline const char* name_of(Lie lie) {
  static constexpr const char* kNames[] = {"Lie::SideBySide", "Lie::Repeated", "Lie::Scalar"};
  return kNames[static_cast<int>(lie)];
}

// Of an operand that is read.
template <int Operands>
Lie lie_of(const NestOf<Operands>& nest, int operand) {
  if (nest.is_scalar(operand)) return Lie::Scalar;
  return nest.stride[operand][0] == 0 ? Lie::Repeated : Lie::SideBySide;
}

// As many elements as 16 bytes hold of the widest type, or fewer where rows do not end with a whole item.
template <int Operands>
int width_of(const NestOf<Operands>& nest, const infiniDtype_t* dtypes, const Lie* lies) {
  size_t widest = 1;
  for (int t = 0; t < nest.operands; ++t) widest = std::max(widest, size_of(dtypes[t]));
  for (auto width = static_cast<int>(16 / widest); width > 1; width /= 2) {
    bool possible = nest.levels == 1 || nest.size[0] % width == 0;
    for (int t = 0; possible && t < nest.operands; ++t) {
      const auto size = static_cast<int64_t>(size_of(dtypes[t]));
      if (lies[t] != Lie::SideBySide) continue;
      possible = nest.stride[t][0] == size;
      for (int level = 1; level < nest.levels; ++level)
        possible = possible && nest.stride[t][level] % (size * width) == 0;
    }
    if (possible) return width;
  }
  return 1;
}

template <int Operands>
bool needs_wide_index(const NestOf<Operands>& nest, const infiniDtype_t* dtypes) {
  constexpr int64_t kLimit = (int64_t{1} << 31) - 1;
  if (nest.total > kLimit) return true;
  for (int t = 0; t < nest.operands; ++t) {
    int64_t reach = static_cast<int64_t>(size_of(dtypes[t]));
    for (int level = 0; level < nest.levels; ++level) {
      // Tensor descriptors keep these sums from overflowing.
      reach += (nest.size[level] - 1) * std::abs(nest.stride[t][level]);
    }
    if (reach > kLimit) return true;
  }
  return false;
}

// Inputs that lie across the output's rows: neighbours of theirs are a row of the output apart. A block of the kernel for tiles turns
// squares of them in shared memory.
struct Tiling {
  int edge = 0;  // elements; 0: no input lies so, or there are too few elements
  int along = 0, across = 0;  // the levels in which neighbours of the output and of these inputs are
  bool is_turned[kMaxOperands] = {};  // of the inputs, from 0
};

inline Tiling tiling_of(const Nest& nest, const infiniDtype_t* dtypes) {
  constexpr int64_t kFewest = 16;
  constexpr size_t kSharedMemory = 40 << 10;
  Tiling tiling;
  const auto level_of_neighbours = [&](int operand) {
    const auto size = static_cast<int64_t>(size_of(dtypes[operand]));
    const int64_t* strides = nest.stride[operand];
    const auto level = static_cast<int>(std::find(strides, strides + nest.levels, size) - strides);
    return level < nest.levels && nest.size[level] >= kFewest ? level : -1;
  };
  const int along = level_of_neighbours(0);
  if (along < 0) return tiling;
  int across = -1;
  size_t bytes = 0;
  for (int t = 1; t < nest.operands; ++t) {
    const int level = level_of_neighbours(t);
    if (level < 0 || level == along || (across >= 0 && level != across)) continue;
    if (nest.stride[t][along] == 0) continue;  // repeated: the same for neighbours of the output
    across = level;
    tiling.is_turned[t - 1] = true;
    bytes += 64 * 68 * size_of(dtypes[t]);
  }
  if (across < 0) return tiling;
  tiling.along = along;
  tiling.across = across;
  tiling.edge = bytes <= kSharedMemory ? 64 : 32;
  return tiling;
}

inline unsigned blocks_of(const Nest& nest, const Tiling& tiling) {
  const auto tiles = [&](int level) { return (nest.size[level] + tiling.edge - 1) / tiling.edge; };
  int64_t blocks = 1;
  for (int level = 0; level < nest.levels; ++level) {
    blocks *= level == tiling.along || level == tiling.across ? tiles(level) : nest.size[level];
  }
  return static_cast<unsigned>(blocks);
}

inline void prepare_division(uint64_t divisor, unsigned* magic, unsigned* shift) {
  *shift = 0;
  while (*shift < 32 && (uint64_t{1} << *shift) < divisor) ++*shift;
  *magic = static_cast<unsigned>(((uint64_t{1} << 32) * ((uint64_t{1} << *shift) - divisor)) / divisor + 1);
}

// For the kernel that takes `width` elements at a time.
template <int Operands, class Arguments>
void lay_out(const NestOf<Operands>& nest, int width, bool wide_index, Arguments* arguments) {
  static_assert(Operands == Arguments::kOperands);
  for (int level = 0; level < nest.levels; ++level) {
    arguments->size[level] = level == 0 ? nest.size[0] / width : nest.size[level];
    for (int t = 0; t < nest.operands; ++t) {
      arguments->stride[t][level] = nest.stride[t][level] * (level == 0 ? width : 1);
    }
    if (!wide_index && arguments->size[level] > 0) {
      prepare_division(static_cast<uint64_t>(arguments->size[level]), &arguments->magic[level],
                       &arguments->shift[level]);
    }
  }
  arguments->items = nest.total / width;
  arguments->tail = static_cast<int>(nest.total % width);
}

template <int Operands>
unsigned blocks_of(const Layout<Operands>& arguments, int width) {
  const int64_t per_block = int64_t{kThreads} * (width == 1 ? 4 : 2);  // as in the kernels
  return static_cast<unsigned>(std::max<int64_t>(1, (arguments.items + per_block - 1) / per_block));
}

}  // namespace infiniop::nvidia
