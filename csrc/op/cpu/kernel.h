// The kernel of all element-wise operators on the CPU device, and its arguments.
#pragma once

#include "infinirt_ext.h"
#include "op/cpu/tiles.h"
#include "op/nest.h"
#include "op/operator.h"

namespace infiniop::cpu {

// Of one grid.
inline constexpr int64_t kMostBlocks = int64_t{1} << 30;

// What an element takes, in nanoseconds, in operators that do some arithmetic: only to tell short work from long.
inline constexpr double kElement_ns = 0.5;
// The same where memory takes longer than the arithmetic, and how many elements a block of those has at least.
inline constexpr double kLightElement_ns = 0.15;
inline constexpr int64_t kLightBlock = int64_t{64} * kTile;
// The same of fills and copies of long runs of bytes, for each byte of the result. Their blocks are larger, since a byte takes so little.
inline constexpr double kFilledByte_ns = 0.01, kCopiedByte_ns = 0.03;
inline constexpr int64_t kMovedBlock = 256 << 10;  // bytes

// How an operand gets from its memory to the type that is computed in, or back.
struct Route {
  int32_t element_size;
  int32_t computed_size;
  ConvertTile convert;  // null: the type itself is computed in
};

// The first argument, by value. The others are the operands' addresses, each an argument of its own, since the runtime may have to
// translate them.
struct Work {
  OperatorKind kind;
  MapTile map;       // of Map
  MapTile direct;    // of Map, from memory to memory as the elements are there; null: there is none
  ConvertTile cast;  // of Cast
  bool is_heavy;     // of Map: computing takes longer than memory does
  int64_t block_elements;
  Nest nest;
  Route route[kMaxOperands];
  double attributes[kMaxMapAttributes];
  unsigned char element[16];  // of Constant and Fill
};

// Whether it is a fill or a copy of runs of bytes that are long enough for their number not to matter.
bool moves_runs(const Nest& nest, OperatorKind kind, int64_t size);

// Whether a copy's rows are columns of what is copied, whose elements have so many bytes.
bool is_transposition(const Nest& nest, int64_t size);

// A copy whose rows lie in another order than they are read in (heads of attention before positions) goes through memory on one side with jumps. In tiles
// of eight rows it reads along, and writes what a few pages have: nearly as fast as the better of both orders, in the caches and from memory. Machines that
// follow rows (machine.h) write along, and of rows shorter than 512 bytes as many at a time as make these. What goes past the caches, and any other copy,
// stays as it is.
void tile_transposed_rows(Nest& nest, int64_t size);

// Block i of the grid computes elements i * block_elements and on.
infinirtError_t run_element_wise(const infinirtXBlock* block, void** args);

}  // namespace infiniop::cpu
