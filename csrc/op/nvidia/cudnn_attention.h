// Attention by cuDNN: its graph of products, mask and softmax, which the library turns into one kernel.
#pragma once

#include <memory>

#include "op/nvidia/cudnn.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

// Heads of four tensors, all with shape (sequences, heads, rows, d) and elements of a row side by side.
struct CudnnAttentionShape {
  int dtype = 0;  // infiniDtype_t: F16 or BF16
  int64_t sequences = 0, heads = 0, groups = 0, queries = 0, keys = 0, d = 0;
  int64_t q_stride[4] = {}, k_stride[4] = {}, v_stride[4] = {}, out_stride[4] = {};
  bool is_causal = false;  // the last query sees all keys, and each before it one less
  float scale = 1;
};

// Null: the library is not installed, or has no kernel for it. Making one takes about a second, because the library compiles it.
std::unique_ptr<LibraryCall> make_cudnn_attention(const CudnnAttentionShape& shape, const int (&tensors)[4]);

}  // namespace infiniop::nvidia
