// The kernel of all operators on rows, compiled when a descriptor needs it. "variant.h" is written for each case (rows_source.cpp): types,
// steps, how tensors lie, how many threads share a row, and how many items each of them holds in registers.
#include <cstdint>

#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/arguments.h"
#include "op/nvidia/elements.h"

namespace infiniop {

template <int Value>
struct Number {};

enum class Reduction { Sum, Max, Min, Prod };

// What of an output a row has.
enum class Writes { Nothing, Elements, Rows };

}  // namespace infiniop

#include "variant.h"

namespace infiniop {

template <class T>
constexpr bool kIsWhole = T(0.5) == T(0);

template <Reduction How, class T>
__device__ __forceinline__ T nothing() {
  if constexpr (How == Reduction::Sum) return T(0);
  if constexpr (How == Reduction::Prod) return T(1);
  if constexpr (kIsWhole<T>) return number_as<T>(How == Reduction::Max ? -1e30 : 1e30);  // the ends of the range
  return static_cast<T>(float_of(How == Reduction::Max ? 0xFF800000u : 0x7F800000u));
}

// What is not a number comes through.
template <Reduction How, class T>
__device__ __forceinline__ T combine(T a, T b) {
  if constexpr (How == Reduction::Sum) return static_cast<T>(a + b);
  if constexpr (How == Reduction::Prod) return static_cast<T>(a * b);
  if constexpr (How == Reduction::Max) return a > b || a != a ? a : b;
  return a < b || a != a ? a : b;
}

__device__ __forceinline__ float exchange(float value, int distance) {
  return __shfl_xor_sync(0xFFFFFFFFu, value, distance);
}
__device__ __forceinline__ double exchange(double value, int distance) {
  return __shfl_xor_sync(0xFFFFFFFFu, value, distance);
}
__device__ __forceinline__ int64_t exchange(int64_t value, int distance) {
  return static_cast<int64_t>(__shfl_xor_sync(0xFFFFFFFFu, static_cast<long long>(value), distance));
}
__device__ __forceinline__ uint64_t exchange(uint64_t value, int distance) {
  return static_cast<uint64_t>(__shfl_xor_sync(0xFFFFFFFFu, static_cast<unsigned long long>(value), distance));
}
__device__ __forceinline__ uint8_t exchange(uint8_t value, int distance) {
  return static_cast<uint8_t>(__shfl_xor_sync(0xFFFFFFFFu, static_cast<unsigned>(value), distance));
}

constexpr int kWarp = 32;

// Over all threads of a row; each gets the same number. All threads of the block come here together.
template <Reduction How, int Threads, class T>
__device__ __forceinline__ T over_row(T value, T* shared) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) value = combine<How>(value, exchange(value, distance));
  if constexpr (Threads > kWarp) {
    constexpr int kWarps = Threads / kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    __syncthreads();  // nobody reads an earlier reduction's numbers any more
    if (threadIdx.x % kWarp == 0) shared[warp] = value;
    __syncthreads();
    value = shared[threadIdx.x % kWarps];
#pragma unroll
    for (int distance = kWarps / 2; distance > 0; distance /= 2) value = combine<How>(value, exchange(value, distance));
  }
  return value;
}

// Where one element of a tensor lies: by its number in the row, from the row's beginning.
template <int Levels>
__device__ __forceinline__ long long column_offset(const RowArguments& args, int tensor, long long column) {
  if constexpr (Levels == 1) {
    return column * args.column_stride[tensor][0];
  } else {
    long long offset = 0;
#pragma unroll
    for (int level = 0; level < Levels; ++level) {
      const long long quotient = level + 1 < Levels ? column / args.column_size[level] : 0;
      offset += (column - quotient * args.column_size[level]) * args.column_stride[tensor][level];
      column = quotient;
    }
    return offset;
  }
}

// What one item needs of inputs with an element per column: weights. They are loaded in each pass that needs them, not held: other rows
// have them in the cache.
constexpr bool has_column(int input) { return input < kInputs && kIsColumn[input] && kIsGiven[input]; }
template <int Input, int Width, bool IsThere>
struct Column {};
template <int Input, int Width>
struct Column<Input, Width, true> {
  Pack<ColumnType<Input>, Width> pack;
};
template <int Width>
struct Columns : Column<0, Width, has_column(0)>, Column<1, Width, has_column(1)>, Column<2, Width, has_column(2)> {};

// A row of one kernel: Width elements are an item.
template <int Width, int Threads, int Items, int Levels>
struct Row {
  static constexpr bool kHolds = Items > 0;  // the inputs of a thread stay in registers; otherwise each pass reads them anew
  static constexpr int kCount = kHolds ? Items : 1;
  static constexpr int kEach = RowSteps::kEach > 0 ? RowSteps::kEach : 1;

  const RowArguments& args;
  const char* in[kInputs];
  char* out[kOutputs];
  long long reach, lane;
  Computed* shared;
  RowSteps steps;
  Pack<In, Width> held[kCount][kInputs];
  Computed each[kCount][Width][kEach];

  __device__ __forceinline__ long long column_of(long long item) const { return (lane + item * Threads) * Width; }

  // Rows of whole items are cut only where the operator says so.
  __device__ __forceinline__ bool is_inside(long long column) const { return !kCuts || column < reach; }

  template <int Input>
  __device__ __forceinline__ void load(Pack<In, Width>& pack, long long column) const {
    if constexpr (!kIsColumn[Input]) {
      if (Width > 1 && is_inside(column + Width - 1)) {
        pack = *reinterpret_cast<const Pack<In, Width>*>(in[Input] + column * static_cast<int>(sizeof(In)));
        return;
      }
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        if (is_inside(column + i))
          pack.at[i] = *reinterpret_cast<const In*>(in[Input] + column_offset<Levels>(args, Input + kOutputs, column + i));
      }
    }
  }

  __device__ __forceinline__ void load_all(Pack<In, Width>* packs, long long column) const {
    load<0>(packs[0], column);
    if constexpr (kInputs > 1) load<1>(packs[1], column);
    if constexpr (kInputs > 2) load<2>(packs[2], column);
  }

  template <int Input>
  __device__ __forceinline__ void load_column(Columns<Width>& columns, long long column) const {
    if constexpr (has_column(Input)) {
      using Type = ColumnType<Input>;
      auto& pack = static_cast<Column<Input, Width, true>&>(columns).pack;
      const long long offset =
          Width > 1 ? column * static_cast<int>(sizeof(Type)) : column_offset<Levels>(args, Input + kOutputs, column);
      pack = *reinterpret_cast<const Pack<Type, Width>*>(in[Input] + offset);
    }
  }

  // Element `i` of an item.
  template <int Input>
  __device__ __forceinline__ Computed value(const Pack<In, Width>* packs, const Columns<Width>& columns, int i) const {
    if constexpr (!kIsColumn[Input]) {
      return static_cast<Computed>(widen(packs[Input].at[i]));
    } else if constexpr (has_column(Input)) {
      return static_cast<Computed>(widen(static_cast<const Column<Input, Width, true>&>(columns).pack.at[i]));
    } else {
      return Computed(kMissing[Input]);
    }
  }

  // Calls use(each, values...) with the inputs of one element.
  template <class Use>
  __device__ __forceinline__ auto with(const Pack<In, Width>* packs, const Columns<Width>& columns, Computed* own,
                                       int i, Use use) {
    if constexpr (kInputs == 1) {
      return use(own, value<0>(packs, columns, i));
    } else if constexpr (kInputs == 2) {
      return use(own, value<0>(packs, columns, i), value<1>(packs, columns, i));
    } else {
      return use(own, value<0>(packs, columns, i), value<1>(packs, columns, i), value<2>(packs, columns, i));
    }
  }

  // Calls visit(packs, columns, each, column) for the items of this thread.
  template <class Visit>
  __device__ __forceinline__ void for_each_item(Visit visit) {
    if constexpr (kHolds) {
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        if (column_of(u) < reach) visit(held[u], columns_at(column_of(u)), each[u], column_of(u));
      }
    } else {
      for (long long item = 0; column_of(item) < reach; ++item) {
        load_all(held[0], column_of(item));
        visit(held[0], columns_at(column_of(item)), each[0], column_of(item));
      }
    }
  }

  __device__ __forceinline__ Columns<Width> columns_at(long long column) const {
    Columns<Width> columns;
    load_column<0>(columns, column);
    load_column<1>(columns, column);
    load_column<2>(columns, column);
    return columns;
  }

  template <int Step>
  __device__ __forceinline__ void reduce() {
    constexpr Reduction kHow = RowSteps::how(Number<Step>());
    // Sums of long rows are kept with what rounding took from them.
    constexpr bool kKeepsLost = kHow == Reduction::Sum && !kHolds && !kIsWhole<Computed>;
    Computed all = nothing<kHow, Computed>(), lost = Computed(0);
    for_each_item([&](const Pack<In, Width>* packs, const Columns<Width>& columns, Computed(*own)[kEach], long long column) {
      const Computed before = all;
      if constexpr (kKeepsLost) all = Computed(0);
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        if (!is_inside(column + i)) continue;
        if constexpr (!kHolds && Step > 0) recompute(packs, columns, own[i], i);
        const Computed term = with(packs, columns, own[i], i, [&](Computed* e, auto... values) {
          return call_term(Number<Step>(), e, values...);
        });
        all = combine<kHow>(all, term);
      }
      if constexpr (kKeepsLost) {
        const Computed part = all;
        all = before + part;
        const bool is_finite = all - all == Computed(0);
        const bool is_smaller = (before < 0 ? -before : before) < (part < 0 ? -part : part);
        if (is_finite) lost += is_smaller ? (part - all) + before : (before - all) + part;
      }
    });
    if constexpr (kKeepsLost) all += lost;
    steps.set(Number<Step>(), over_row<kHow, Threads>(all, shared));
  }

  template <int Step, class... Values>
  __device__ __forceinline__ Computed call_term(Number<Step> step, Computed* e, Values... values) {
    if constexpr (RowSteps::kEach == 0) {
      return steps.term(step, values...);
    } else {
      return steps.term(step, values..., e[0]);
    }
  }

  // Values of steps that no register keeps.
  __device__ __forceinline__ void recompute(const Pack<In, Width>* packs, const Columns<Width>& columns, Computed* own, int i) {
    if constexpr (RowSteps::kEach > 0) {
      with(packs, columns, own, i, [&](Computed* e, auto... values) {
        steps.again(values..., e[0]);
        return 0;
      });
    }
  }

  template <int Output>
  __device__ __forceinline__ Out result(const Pack<In, Width>* packs, const Columns<Width>& columns, Computed* own, int i) {
    return with(packs, columns, own, i, [&](Computed* e, auto... values) {
      if constexpr (RowSteps::kEach == 0) {
        return Narrow<Out>::of(steps.result(Number<Output>(), values...));
      } else {
        return Narrow<Out>::of(steps.result(Number<Output>(), values..., e[0]));
      }
    });
  }

  template <int Output>
  __device__ __forceinline__ void compute(Pack<Out, Width>* results, const Pack<In, Width>* packs,
                                          const Columns<Width>& columns, Computed (*own)[kEach], long long column) {
    if constexpr (Output < kOutputs && kWrites[Output] == Writes::Elements) {
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        if (is_inside(column + i)) results[Output].at[i] = result<Output>(packs, columns, own[i], i);
      }
    }
  }

  template <int Output>
  __device__ __forceinline__ void store(const Pack<Out, Width>* results, long long column) {
    if constexpr (Output < kOutputs && kWrites[Output] == Writes::Elements) {
      if (Width > 1 && is_inside(column + Width - 1)) {
        *reinterpret_cast<Pack<Out, Width>*>(out[Output] + column * static_cast<int>(sizeof(Out))) = results[Output];
        return;
      }
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        if (is_inside(column + i))
          *reinterpret_cast<Out*>(out[Output] + column_offset<Levels>(args, Output, column + i)) = results[Output].at[i];
      }
    }
  }

  // `length` of the row; what is behind `reach` becomes 0.
  __device__ __forceinline__ void write(long long length) {
    for_each_item([&](const Pack<In, Width>* packs, const Columns<Width>& columns, Computed(*own)[kEach], long long column) {
      // An output may lie where an input does: everything is read before anything is written.
      Pack<Out, Width> results[kOutputs];
      if constexpr (!kHolds) {
#pragma unroll
        for (int i = 0; i < Width; ++i) {
          if (is_inside(column + i)) recompute(packs, columns, own[i], i);
        }
      }
      compute<0>(results, packs, columns, own, column);
      compute<1>(results, packs, columns, own, column);
      compute<2>(results, packs, columns, own, column);
      store<0>(results, column);
      store<1>(results, column);
      store<2>(results, column);
    });
    for (long long column = reach + lane; column < length; column += Threads) {
      clear<0>(column);
      clear<1>(column);
      clear<2>(column);
    }
  }

  template <int Output>
  __device__ __forceinline__ void clear(long long column) {
    if constexpr (Output < kOutputs && kWrites[Output] == Writes::Elements) {
      *reinterpret_cast<Out*>(out[Output] + column_offset<Levels>(args, Output, column)) = Narrow<Out>::of(Computed(0));
    }
  }

  template <int Output, class Given>
  __device__ __forceinline__ void write_number(const Given& given) {
    if constexpr (Output < kOutputs && kWrites[Output] == Writes::Rows) {
      *reinterpret_cast<Out*>(out[Output]) = Narrow<Out>::of(given.result(Number<Output>()));
    }
  }
};

template <int Width, int Threads, int Items, int Levels>
__device__ __forceinline__ void run_rows(void* const* tensors, const RowArguments& args, Computed* shared) {
  constexpr int kRowsOfBlock = row_block(Threads) / Threads;
  const long long wanted = static_cast<long long>(blockIdx.x) * kRowsOfBlock + threadIdx.x / Threads;
  // Beyond the last row there are threads that others need for reductions: they compute the last one, and write nothing.
  const long long number = wanted < args.rows ? wanted : args.rows - 1;
  Row<Width, Threads, Items, Levels> row{args, {}, {}, args.length, threadIdx.x % Threads, shared,
                                         RowSteps(args.attributes, static_cast<double>(args.length))};
  row.reach = RowSteps::reach(args.length, number % args.matrix_rows, args.matrix_rows);
  row.reach = row.reach < 0 ? 0 : (row.reach > args.length ? args.length : row.reach);
#pragma unroll
  for (int t = 0; t < kOutputs + kInputs; ++t) {
    long long offset = 0, rest = number;
#pragma unroll
    for (int level = 0; level < kRowLevels; ++level) {
      const long long quotient = level + 1 < kRowLevels ? rest / args.row_size[level] : 0;
      offset += (rest - quotient * args.row_size[level]) * args.row_stride[t][level];
      rest = quotient;
    }
    char* begin = static_cast<char*>(tensors[t]) + offset;
    if (t < kOutputs) {
      row.out[t] = begin;
    } else {
      row.in[t - kOutputs] = begin;
    }
  }
  if constexpr (Items > 0) {
#pragma unroll
    for (int u = 0; u < Items; ++u) {
      if (row.column_of(u) < row.reach) row.load_all(row.held[u], row.column_of(u));
    }
  }
  if constexpr (RowSteps::kReductions > 0) row.template reduce<0>();
  if constexpr (RowSteps::kReductions > 1) row.template reduce<1>();
  if constexpr (RowSteps::kReductions > 2) row.template reduce<2>();
  static_assert(RowSteps::kReductions <= 3 && RowSteps::kEach <= 1);
  if (wanted >= args.rows) return;
  row.write(args.length);
  if (row.lane == 0) {
    row.template write_number<0>(row.steps);
    row.template write_number<1>(row.steps);
    row.template write_number<2>(row.steps);
  }
}

}  // namespace infiniop

// The parameters: outputs and inputs, then what they have in common.
#define INFINIOP_DEFINE_ROW_KERNEL(name, width, threads, items, levels)                        \
  extern "C" __global__ void __launch_bounds__(infiniop::row_block(threads))                   \
      name(void* t0, void* t1, void* t2, void* t3, void* t4, void* t5,                         \
           const __grid_constant__ infiniop::RowArguments args) {                              \
    __shared__ infiniop::Computed shared[32];                                                  \
    void* const tensors[] = {t0, t1, t2, t3, t4, t5};                                          \
    infiniop::run_rows<width, threads, items, levels>(tensors, args, shared);                  \
  }

INFINIOP_DEFINE_ROW_KERNEL(INFINIOP_ELEMENTS_KERNEL, 1, infiniop::kElementThreads, 0, infiniop::kColumnLevels)
#if INFINIOP_WIDTH > 1
INFINIOP_DEFINE_ROW_KERNEL(INFINIOP_VECTORS_KERNEL, INFINIOP_WIDTH, infiniop::kRowThreads, infiniop::kRowItems, 1)
#endif
