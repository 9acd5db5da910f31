// What Sort, TopK and Kthvalue have in common on NVIDIA's GPUs: one text, select.cu, and the choice of its kernels.
#pragma once

#include "op/nvidia/written.h"

namespace infiniop::nvidia {

struct SelectCall {
  bool descending;
  bool only_last;  // of the elements that are wanted
  int64_t wanted;  // of each row
};

extern const char kSelectText[];

WrittenProgram select_program(const SelectCall& call, const WrittenPlan& plan);
std::vector<WrittenLaunch> select_launches(const SelectCall& call, const WrittenPlan& plan);

}  // namespace infiniop::nvidia
