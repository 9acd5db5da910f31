// Products of matrices of 8 bits. Tiles of both are brought side by side as numbers of 16 bits, of which compilers make the instructions that
// multiply and add pairs; or, where a processor multiplies bytes and adds four products at once, as bytes (int8_vnni.h), or, where it multiplies whole
// tiles, as these (int8_tiles.h). Sums have 32 bits.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/machine.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"
#include "op/cpu/written/int8_tiles.h"
#include "op/cpu/written/int8_vnni.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::int8_gemm;

constexpr int64_t kTile = 64;  // rows and columns of the result that an item has
constexpr int64_t kDepth = 2048;  // of both matrices, that are brought side by side at a time
constexpr int64_t kLine = kDepth + 64;  // so that lines begin in different sets of the cache
constexpr int kRows = 4;
#ifdef __AVX512F__
constexpr int kColumns = 4;  // as many sums as there are registers for
#else
constexpr int kColumns = 2;
#endif

struct Buffers {
  int16_t x[kTile * kLine];
  int16_t weights[kTile * kLine];
  int32_t sums[kTile * kTile];
};

// How many rows and columns of the result an item has.
struct Shape {
  int64_t rows, columns;
};
int64_t parts(int64_t size, int64_t part) { return (size + part - 1) / part; }

Shape shape_of_items() {
#ifdef INFINIOP_TILE_REGISTERS
  if (multiplies_byte_tiles()) return {byte_tiles::kMostRows, byte_tiles::kMostColumns};
#endif
#ifdef INFINIOP_VNNI
  if (vnni::is_there()) return {vnni::kMostRows, vnni::kMostColumns};
#endif
  return {kTile, kTile};
}

Split split(const WrittenPlan& plan, const double*, int) {
  const Shape shape = shape_of_items();
  return {parts(plan.size[size::m], shape.rows) * parts(plan.size[size::n], shape.columns), 1};
}

// `lines` lines of `depth` numbers, each kLine from the next; missing ones up to a whole number of tiles are 0.
void pack(const int8_t* from, int64_t line_step, int64_t step, int64_t lines, int64_t depth, int16_t* to) {
  if (step == 1) {
    for (int64_t line = 0; line < lines; ++line) {
      const int8_t* source = from + line * line_step;
      int16_t* target = to + line * kLine;
#pragma GCC ivdep
      for (int64_t k = 0; k < depth; ++k) target[k] = source[k];
    }
  } else {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t line = 0; line < lines; ++line) {
        to[line * kLine + k] = from[line * line_step + k * step];
      }
    }
  }
  for (int64_t line = lines; line % kRows != 0; ++line) std::fill(to + line * kLine, to + line * kLine + depth, 0);
}

template <int Rows>
void add_rows(const int16_t* __restrict x, const int16_t* __restrict weights, int64_t depth, int32_t* __restrict sums) {
  int32_t sum[Rows][kColumns] = {};
  for (int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        sum[r][c] += static_cast<int32_t>(x[r * kLine + k]) * static_cast<int32_t>(weights[c * kLine + k]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < kColumns; ++c) sums[r * kTile + c] += sum[r][c];
  }
}

template <class T>
void finish(const WrittenCall& call, int64_t row, int64_t column, int64_t rows, int64_t columns, const int32_t* sums,
            int64_t line) {
  const TensorView &out = call.plan.tensor[tensor::out], &bias = call.plan.tensor[tensor::bias],
                   &weights_scale = call.plan.tensor[tensor::weights_scale];
  constexpr int64_t kMost = 512;  // columns of an item
  float scale[kMost], added[kMost] = {};
  for (int64_t c = 0; c < columns; ++c) {
    scale[c] = call.at<const float>(tensor::weights_scale)[(column + c) * weights_scale.stride[0]];
    if (bias.is_given) added[c] = widen(call.at<const T>(tensor::bias)[(column + c) * bias.stride[0]]);
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float x_scale =
        call.at<const float>(tensor::x_scale)[(row + r) * call.plan.tensor[tensor::x_scale].stride[0]];
    T* to = call.at<T>(tensor::out) + (row + r) * out.stride[0] + column * out.stride[1];
    const int32_t* from = sums + r * line;
    if (out.stride[1] == 1) {
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c)
        to[c] = narrow<T>(x_scale * scale[c] * static_cast<float>(from[c]) + added[c]);
      continue;
    }
    T numbers[kMost];
    for (int64_t c = 0; c < columns; ++c) {
      numbers[c] = narrow<T>(x_scale * scale[c] * static_cast<float>(from[c]) + added[c]);
    }
    for (int64_t c = 0; c < columns; ++c) to[c * out.stride[1]] = numbers[c];
  }
}

// Sums of a tile, without a sign to be minded.
void multiply(const WrittenCall& call, int64_t row, int64_t column, int64_t rows, int64_t columns, Buffers* buffers) {
  const TensorView &x = call.plan.tensor[tensor::x], &weights = call.plan.tensor[tensor::weights];
  std::fill(buffers->sums, buffers->sums + kTile * kTile, 0);
  for (int64_t k = 0; k < call.plan.size[size::k]; k += kDepth) {
    const int64_t depth = std::min<int64_t>(kDepth, call.plan.size[size::k] - k);
    pack(call.at<const int8_t>(tensor::x) + row * x.stride[0] + k * x.stride[1], x.stride[0], x.stride[1], rows, depth,
         buffers->x);
    pack(call.at<const int8_t>(tensor::weights) + column * weights.stride[1] + k * weights.stride[0], weights.stride[1],
         weights.stride[0], columns, depth, buffers->weights);
    for (int64_t c = 0; c < columns; c += kColumns) {
      const auto* line = buffers->weights + c * kLine;
      int64_t r = 0;
      for (; r + 1 < rows; r += kRows) {
        add_rows<kRows>(buffers->x + r * kLine, line, depth, buffers->sums + r * kTile + c);
      }
      // One row, as of a single token.
      if (r < rows) add_rows<1>(buffers->x + r * kLine, line, depth, buffers->sums + r * kTile + c);
    }
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const Shape shape = shape_of_items();
  const int64_t across = parts(plan.size[size::n], shape.columns);
  for (int64_t item = first; item < last; ++item) {
    const int64_t row = item / across * shape.rows, column = item % across * shape.columns;
    const int64_t rows = std::min<int64_t>(shape.rows, plan.size[size::m] - row);
    const int64_t columns = std::min<int64_t>(shape.columns, plan.size[size::n] - column);
    const int32_t* sums = nullptr;
    int64_t line = kTile;
#ifdef INFINIOP_VNNI
    if (vnni::is_there()) {
      const TensorView &x = plan.tensor[tensor::x], &weights = plan.tensor[tensor::weights];
      const vnni::Lines x_rows{call.at<const int8_t>(tensor::x) + row * x.stride[0], x.stride[0], x.stride[1], rows};
      const vnni::Lines w_rows{call.at<const int8_t>(tensor::weights) + column * weights.stride[1], weights.stride[1],
                               weights.stride[0], columns};
      line = vnni::line_of(columns);
#ifdef INFINIOP_TILE_REGISTERS
      if (multiplies_byte_tiles() && (rows > vnni::kFewRows || weights.stride[0] != 1)) {
        sums = byte_tiles::multiply(x_rows, w_rows, plan.size[size::k]);
      } else
#endif
        sums = vnni::multiply(x_rows, w_rows, plan.size[size::k]);
    } else
#endif
        if (auto* buffers = reinterpret_cast<Buffers*>(worker_buffer(sizeof(Buffers)))) {
      multiply(call, row, column, rows, columns, buffers);
      sums = buffers->sums;
    }
    if (!sums) return infinirtErrorMemoryAllocation;
    with_float_type(plan.tensor[tensor::out].dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (sizeof(T) <= sizeof(float)) finish<T>(call, row, column, rows, columns, sums, line);
    });
  }
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel int8_gemm = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
