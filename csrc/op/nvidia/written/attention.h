// What the four attentions have in common on NVIDIA's GPUs: one text, attention*.cuh and attention.cu, and the choice of its kernels.
#pragma once

#include "op/nvidia/written.h"

namespace infiniop::nvidia {

// Which tensors are which, where sizes stand, and how many there are of everything.
struct AttentionCall {
  const char* kind;  // FLASH, CACHED, PAGED or PREFILL
  int q, k, v, out;  // tensors
  int heads, groups, d, e;  // sizes
  int64_t sequences;
  int64_t queries;  // of each; of PREFILL those of all
  int64_t most_keys;  // of a sequence
  double scale;
};

extern const char kAttentionText[];

WrittenProgram attention_program(const AttentionCall& call, const WrittenPlan& plan);
std::vector<WrittenLaunch> attention_launches(const AttentionCall& call, const WrittenPlan& plan,
                                              void* const* addresses);

}  // namespace infiniop::nvidia
