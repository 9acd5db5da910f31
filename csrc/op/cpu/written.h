// Written operators on the CPU device: what a file of `written/` defines for one. These files are compiled once for each instruction
// set, each time in a namespace of its own, INFINIOP_LEVEL; they use no function that is shared between them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "infinirt_ext.h"
#include "op/operator.h"

namespace infiniop::cpu {

// Work that blocks of a grid share: items that do not depend on one another.
struct Split {
  int64_t items;
  int64_t fewest;  // that are worth a block; about 20 microseconds of work
};

// One phase of one launch, as a block sees it.
struct WrittenCall {
  const WrittenPlan& plan;
  const double* attributes;
  void* const* address;  // null of tensors that are not given
  void* workspace;
  int phase;

  template <class T>
  T* at(int tensor) const {
    return static_cast<T*>(address[tensor]);
  }
};

struct WrittenKernel {
  // Phases run one after the other.
  Split (*split)(const WrittenPlan& plan, const double* attributes, int phase);
  // Items `first` to `last`. What is not success is the stream's error, as a failing kernel's.
  infinirtError_t (*run)(const WrittenCall& call, int64_t first, int64_t last);
  int phases = 1;
  size_t (*workspace)(const WrittenPlan& plan, const double* attributes) = nullptr;  // bytes; null: none
};

// What a kernel returns that found `index` in the tensor of this name where only 0 to `count` - 1 can be; says so.
infinirtError_t refuse_index(const char* tensor, int64_t index, int64_t count);

// By WrittenInfo::number, for the best instruction set of the machine.
const WrittenKernel& written_kernel(int number);

std::unique_ptr<Prepared> prepare_written(const Plan& plan, infinirtError_t* error);

}  // namespace infiniop::cpu
