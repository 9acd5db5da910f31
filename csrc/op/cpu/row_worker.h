// The kernel of all operators on rows on the CPU device, and its arguments.
#pragma once

#include "infinirt_ext.h"
#include "op/cpu/kernel.h"
#include "op/rows.h"

namespace infiniop::cpu {

// Rows up to this many elements are read from memory once: what steps need of them stays in the worker's cache, in the type that is
// computed in. Of longer ones each pass reads them anew, and values of steps are computed again.
inline constexpr int64_t kLongestKeptRow = 64 * 1024;

// Of tensors whose rows lie across memory, but side by side, so many are brought into the cache at once, as rows, and back: line by line.
inline constexpr int64_t kStagedRows = 16, kLongestStagedRow = 32 * 1024;  // bytes
uint32_t staged_tensors(const OperatorInfo& info, const RowsPlan& rows, const Route* routes);  // as bits

// The first argument, by value. The others are the tensors' addresses.
struct RowWork {
  const OperatorInfo* info;
  Computed computed;
  bool is_whole;  // that is an integer, and the numbers of a row are the bits of integers of 64 bits
  int64_t block_rows;
  uint32_t staged;
  RowsPlan rows;
  Route route[kMaxRowTensors];
  double attributes[kMaxMapAttributes];
};

// Block i of the grid computes rows i * block_rows and on, each as a whole: how many workers there are changes no result.
infinirtError_t run_rows(const infinirtXBlock* block, void** args);

}  // namespace infiniop::cpu
