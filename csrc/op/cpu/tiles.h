// The innermost loops on the CPU, over at most kTile elements that lie side by side. They are compiled once for each
// instruction set; device.cpp takes the best that the machine has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "infiniop/generated/maps.h"
#include "infiniop/generated/rows.h"
#include "op/rows.h"

namespace infiniop::cpu {

inline constexpr int kTile = 1024;

// The types that are computed in. Narrow floating-point types are computed as F32, BOOL and BYTE as U8.
enum Computed : int8_t { F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, kComputed };

// out[i] = expression(in[0][i], ...); out may be one of the inputs.
using MapTile = void (*)(size_t count, void* out, const void* const* in, const double* attributes);
// sum[m, n] += a[m, k] * b[k, n], all in rows without gaps: for machines without a library of linear algebra.
using MultiplyTile = void (*)(int64_t m, int64_t n, int64_t k, const void* a, const void* b, void* sum);
// One number of all elements, any number of them: the sum and so on, or what a sum of nothing is. Floating-point numbers go through double
// as they are; of an integer it is the bits of 64, which are only carried.
using ReduceTile = double (*)(size_t count, const void* in);
// The sum of an expression over elements of `in`, see `row` of Tiles.
using SumTerms = double (*)(size_t count, const void* const* in, const double* scalars);
// Rows of at most kShortRow floats, one after the other in memory, as a whole. `scalars` are the attributes and the length.
using ShortRows = void (*)(size_t rows, size_t length, float* out, const float* in, const double* scalars);
inline constexpr size_t kShortRow = 256;
using ConvertTile = void (*)(size_t count, void* out, const void* in);
// So many bytes, of which every kFillLine, and as many as are left of the last ones, are those of `line`. With `asks` what comes next is asked for.
using FillLines = void (*)(size_t bytes, void* out, const void* line, bool asks);
inline constexpr size_t kFillLine = 64;  // a multiple of every element's size
// Rows so short that a call of memcpy costs something, in planes: steps are in bytes. In vectors of 32 bytes, which no machine is slow with (machine.h).
struct RowsToCopy {
  int64_t planes, rows, bytes;
  char* to;
  int64_t to_plane, to_step;
  const char* from;
  int64_t from_plane, from_step;
};
using CopyRows = void (*)(const RowsToCopy& rows);

// Squares of elements of 2 or 4 bytes, whose rows are a line of the cache each, and become columns. So many, one below the other where they are read and
// beside the other where they are written; rows are `from_step` and `to_step` bytes apart.
inline constexpr int64_t kSquareRow = 64;
using TurnSquares = void (*)(int64_t squares, char* to, int64_t to_step, const char* from, int64_t from_step);

struct Tiles {
  MapTile map[kMaps][kComputed];  // null where the operator has no such type
  MapTile float16[kMaps], bfloat16[kMaps];  // of these types, on floats; null where it is that of F32
  MapTile bfloat_pairs[kMaps];  // of BF16 as it lies in memory, any number of elements; null where there is none
  // A step or a result of an operator on rows. `attributes` are what there is one of for each row; of `in` are those that it reads.
  MapTile row[kRowLoops][kComputed];
  MapTile row_to_bfloat[kRowLoops];  // of results, from floats to BF16; null where there is none
  SumTerms row_sum[kRowLoops];  // of a step that adds up its expression, in floats; null where there is none
  ShortRows short_rows[kRowOperators];  // null where the operator has more than an input and an output
  ReduceTile reduce[kReductions][kComputed];  // in the order of RowStepKind, from Sum on
  ReduceTile sum_bfloat;  // of BF16 as it lies in memory
  // Between a narrow type and float.
  ConvertTile from_float8, from_float16, from_bfloat16;
  ConvertTile to_float8, to_float16, to_bfloat16;
  MultiplyTile multiply_f32, multiply_f64;
  FillLines fill;
  CopyRows copy_rows;
  TurnSquares turn_squares_of_2, turn_squares_of_4;  // bytes
};

const Tiles& tiles();  // the best, or those that INFINIOP_CPU_LEVEL names
bool asked_for_level();  // whether it names some

extern const Tiles tiles_plain;
#ifdef INFINIOP_X86_LEVELS
extern const Tiles tiles_v3, tiles_v4;  // x86-64-v3 (AVX2), x86-64-v4 (AVX-512)
#endif

// From one computed type to another; the last row is BOOL.
extern const ConvertTile casts[kComputed + 1][kComputed];

}  // namespace infiniop::cpu
