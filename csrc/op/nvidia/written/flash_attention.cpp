#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/cudnn_attention.h"
#include "op/nvidia/written/attention.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::flash_attention;

AttentionCall call_of(const WrittenPlan& plan, const double* attributes) {
  return {"FLASH",
          tensor::q,
          tensor::k,
          tensor::v,
          tensor::out,
          size::h,
          size::g,
          size::d,
          size::e,
          plan.size[size::b],
          plan.size[size::q],
          plan.size[size::s],
          attributes[attribute::scale]};
}

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return attention_program(call_of(plan, attributes), plan);
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const* addresses) {
  return attention_launches(call_of(plan, attributes), plan, addresses);
}

// Scores of a head from which on the second that cuDNN takes to compile is worth it.
constexpr int64_t kFewestForCudnn = 1024 * 1024;

// Rows without gaps, each at an address that 16 divides.
bool lies_well(const TensorView& view) {
  return view.stride[3] == 1 && std::all_of(view.stride, view.stride + 3, [](int64_t s) { return s % 8 == 0; });
}

std::unique_ptr<LibraryCall> library(const WrittenPlan& plan, const double* attributes) {
  const TensorView &q = plan.tensor[tensor::q], &k = plan.tensor[tensor::k], &v = plan.tensor[tensor::v],
                   &out = plan.tensor[tensor::out];
  CudnnAttentionShape shape;
  shape.dtype = q.dtype;
  shape.sequences = plan.size[size::b];
  shape.heads = plan.size[size::h];
  shape.groups = plan.size[size::g];
  shape.queries = plan.size[size::q];
  shape.keys = plan.size[size::s];
  shape.d = plan.size[size::d];
  shape.is_causal = attributes[attribute::is_causal] != 0;
  shape.scale = static_cast<float>(attributes[attribute::scale]);
  const bool is_narrow = q.dtype == INFINI_DTYPE_F16 || q.dtype == INFINI_DTYPE_BF16;
  // Rows that see no key are 0, which is not what the library makes of them.
  const bool sees_none = shape.is_causal && shape.queries > shape.keys;
  if (!is_narrow || plan.tensor[tensor::total_kv_len].is_given || sees_none || shape.scale <= 0 ||
      (shape.d != 64 && shape.d != 128) || plan.size[size::e] != shape.d ||
      shape.queries * shape.keys < kFewestForCudnn || std::max(shape.queries, shape.keys) > INT32_MAX ||
      !lies_well(q) || !lies_well(k) || !lies_well(v) || !lies_well(out)) {
    return nullptr;
  }
  std::copy(q.stride, q.stride + 4, shape.q_stride);
  std::copy(k.stride, k.stride + 4, shape.k_stride);
  std::copy(v.stride, v.stride + 4, shape.v_stride);
  std::copy(out.stride, out.stride + 4, shape.out_stride);
  return make_cudnn_attention(shape, {tensor::q, tensor::k, tensor::v, tensor::out});
}

}  // namespace

extern const WrittenKernel written_flash_attention = {kAttentionText, program, launches, library};

}  // namespace infiniop::nvidia
