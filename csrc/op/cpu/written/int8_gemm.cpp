// Products of matrices of 8 bits. Tiles of both are brought side by side as numbers of 16 bits, of which compilers make the instructions that
// multiply and add pairs; or, where a processor multiplies bytes and adds four products at once, as bytes. Sums have 32 bits.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

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

// Numbers as they are.
struct Words {
  using X = int16_t;
  using Weight = int16_t;
  static constexpr int kShift = 0;
};

// The instructions for bytes take one of the two without a sign: 128 is added to it, and taken from the sums at the end.
struct Bytes {
  using X = uint8_t;
  using Weight = int8_t;
  static constexpr int kShift = 128;
};

template <class Kind>
struct Buffers {
  typename Kind::X x[kTile * kLine];
  typename Kind::Weight weights[kTile * kLine];
  int32_t sums[kTile * kTile];
};

int64_t tiles(int64_t size) { return (size + kTile - 1) / kTile; }

Split split(const WrittenPlan& plan, const double*, int) {
  return {tiles(plan.size[size::m]) * tiles(plan.size[size::n]), 1};
}

// `lines` lines of `depth` numbers, each kLine from the next; missing ones up to a whole number of tiles are 0.
template <class T>
void pack(const int8_t* from, int64_t line_step, int64_t step, int64_t lines, int64_t depth, int shift, T* to) {
  if (step == 1) {
    for (int64_t line = 0; line < lines; ++line) {
      const int8_t* source = from + line * line_step;
      T* target = to + line * kLine;
#pragma GCC ivdep
      for (int64_t k = 0; k < depth; ++k) target[k] = static_cast<T>(source[k] + shift);
    }
  } else {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t line = 0; line < lines; ++line) {
        to[line * kLine + k] = static_cast<T>(from[line * line_step + k * step] + shift);
      }
    }
  }
  for (int64_t line = lines; line % kRows != 0; ++line) std::fill(to + line * kLine, to + line * kLine + depth, T{0});
}

template <int Rows, int Columns, class X, class Weight>
__attribute__((always_inline)) inline void add_products(const X* __restrict x, const Weight* __restrict weights,
                                                        int64_t depth, int32_t* __restrict sums) {
  int32_t sum[Rows][Columns] = {};
  for (int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) {
        sum[r][c] += static_cast<int32_t>(x[r * kLine + k]) * static_cast<int32_t>(weights[c * kLine + k]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < Columns; ++c) sums[r * kTile + c] += sum[r][c];
  }
}

template <int Rows>
void add_rows(const int16_t* x, const int16_t* weights, int64_t depth, int32_t* sums) {
  add_products<Rows, kColumns>(x, weights, depth, sums);
}

#if defined(__AVX512F__) && defined(__x86_64__)
template <int Rows>
__attribute__((target("avx512vnni"))) void add_rows(const uint8_t* x, const int8_t* weights, int64_t depth,
                                                    int32_t* sums) {
  add_products<Rows, kColumns>(x, weights, depth, sums);
}

bool has_bytes() { return __builtin_cpu_supports("avx512vnni"); }
#endif

template <class T>
void finish(const WrittenCall& call, int64_t row, int64_t column, int64_t rows, int64_t columns, const int32_t* sums) {
  const TensorView &out = call.plan.tensor[tensor::out], &bias = call.plan.tensor[tensor::bias],
                   &weights_scale = call.plan.tensor[tensor::weights_scale];
  float scale[kTile], added[kTile] = {};
  for (int64_t c = 0; c < columns; ++c) {
    scale[c] = call.at<const float>(tensor::weights_scale)[(column + c) * weights_scale.stride[0]];
    if (bias.is_given) added[c] = widen(call.at<const T>(tensor::bias)[(column + c) * bias.stride[0]]);
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float x_scale =
        call.at<const float>(tensor::x_scale)[(row + r) * call.plan.tensor[tensor::x_scale].stride[0]];
    T* to = call.at<T>(tensor::out) + (row + r) * out.stride[0] + column * out.stride[1];
    const int32_t* from = sums + r * kTile;
    T numbers[kTile];
    for (int64_t c = 0; c < columns; ++c) {
      numbers[c] = narrow<T>(x_scale * scale[c] * static_cast<float>(from[c]) + added[c]);
    }
    for (int64_t c = 0; c < columns; ++c) to[c * out.stride[1]] = numbers[c];
  }
}

template <class Kind>
void multiply(const WrittenCall& call, int64_t row, int64_t column, int64_t rows, int64_t columns,
              Buffers<Kind>* buffers) {
  const TensorView &x = call.plan.tensor[tensor::x], &weights = call.plan.tensor[tensor::weights];
  std::fill(buffers->sums, buffers->sums + kTile * kTile, 0);
  int32_t too_much[kTile] = {};
  for (int64_t k = 0; k < call.plan.size[size::k]; k += kDepth) {
    const int64_t depth = std::min<int64_t>(kDepth, call.plan.size[size::k] - k);
    pack(call.at<const int8_t>(tensor::x) + row * x.stride[0] + k * x.stride[1], x.stride[0], x.stride[1], rows, depth,
         Kind::kShift, buffers->x);
    pack(call.at<const int8_t>(tensor::weights) + column * weights.stride[1] + k * weights.stride[0], weights.stride[1],
         weights.stride[0], columns, depth, 0, buffers->weights);
    for (int64_t c = 0; c < columns; c += kColumns) {
      const auto* line = buffers->weights + c * kLine;
      int64_t r = 0;
      for (; r + 1 < rows; r += kRows) {
        add_rows<kRows>(buffers->x + r * kLine, line, depth, buffers->sums + r * kTile + c);
      }
      // One row, as of a single token.
      if (r < rows) add_rows<1>(buffers->x + r * kLine, line, depth, buffers->sums + r * kTile + c);
    }
    for (int64_t c = 0; c < columns && Kind::kShift != 0; ++c) {
      int32_t sum = 0;
      for (int64_t i = 0; i < depth; ++i) sum += buffers->weights[c * kLine + i];
      too_much[c] += Kind::kShift * sum;
    }
  }
  // Sums on the way may have wrapped around; what is left fits.
  for (int64_t r = 0; r < rows && Kind::kShift != 0; ++r) {
    for (int64_t c = 0; c < columns; ++c) buffers->sums[r * kTile + c] -= too_much[c];
  }
}

template <class Kind>
infinirtError_t run_tiles(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  auto* buffers = reinterpret_cast<Buffers<Kind>*>(worker_buffer(sizeof(Buffers<Kind>)));
  if (!buffers) return infinirtErrorMemoryAllocation;
  const int64_t across = tiles(plan.size[size::n]);
  for (int64_t item = first; item < last; ++item) {
    const int64_t row = item / across * kTile, column = item % across * kTile;
    const int64_t rows = std::min<int64_t>(kTile, plan.size[size::m] - row);
    const int64_t columns = std::min<int64_t>(kTile, plan.size[size::n] - column);
    multiply<Kind>(call, row, column, rows, columns, buffers);
    with_float_type(plan.tensor[tensor::out].dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (sizeof(T) <= sizeof(float)) finish<T>(call, row, column, rows, columns, buffers->sums);
    });
  }
  return infinirtSuccess;
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
#if defined(__AVX512F__) && defined(__x86_64__)
  if (has_bytes()) return run_tiles<Bytes>(call, first, last);
#endif
  return run_tiles<Words>(call, first, last);
}

}  // namespace

extern const WrittenKernel int8_gemm = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
