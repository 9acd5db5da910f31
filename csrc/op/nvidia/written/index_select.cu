// Slices of a tensor that indices name: a thread for each piece of a slice. "variant.h" says what the indices are: Index, and
// INFINIOP_LAST_TOKENS where they are where sequences end.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

struct alignas(16) Piece16 {
  uint64_t low, high;
};

#if defined(INFINIOP_LAST_TOKENS)
namespace names = select_last_token_hidden;
__device__ __forceinline__ const void* input_of(const WrittenArguments& a) { return a.address[names::tensor::hidden_states]; }
#else
namespace names = index_select;
__device__ __forceinline__ const void* input_of(const WrittenArguments& a) { return a.address[names::tensor::input]; }
#endif

// Where slice `number` begins in the output, and in the input that it comes from.
__device__ __forceinline__ void find_slice(const WrittenArguments& a, Count number, long long* to, long long* from) {
  const WrittenPlan& plan = a.plan;
  const TensorView& output = plan.tensor[names::tensor::output];
#if defined(INFINIOP_LAST_TOKENS)
  const TensorView &hidden = plan.tensor[names::tensor::hidden_states], &offsets = plan.tensor[names::tensor::input_offsets];
  const long long next = static_cast<long long>(number) + 1;
  const long long row = static_cast<long long>(static_cast<const Index*>(a.address[names::tensor::input_offsets])[next * offsets.stride[0]]) - 1;
  if (row < 0 || row >= plan.rest) __trap();
  *to = static_cast<long long>(number) * output.stride[1];
  *from = offset_of_rest(hidden, row);
#else
  const TensorView &input = plan.tensor[names::tensor::input], &index = plan.tensor[names::tensor::index];
  const Count indices = static_cast<Count>(plan.size[names::size::k]);
  const Count before = number / indices, j = number - before * indices;
  const long long row = static_cast<const Index*>(a.address[names::tensor::index])[static_cast<long long>(j) * index.stride[0]];
  if (row < 0 || row >= plan.size[names::size::n]) __trap();
  *to = offset_as<Count>(output, output.rest_first, output.rest_dims, before) + static_cast<long long>(j) * output.stride[plan.dim];
  *from = offset_as<Count>(input, input.rest_first, input.rest_dims, before) + row * input.stride[plan.dim];
#endif
}

__device__ __forceinline__ Count slices_of(const WrittenPlan& plan) {
#if defined(INFINIOP_LAST_TOKENS)
  return static_cast<Count>(plan.size[names::size::n]);
#else
  return static_cast<Count>(plan.before * plan.size[names::size::k]);
#endif
}
// How many elements a slice has.
__device__ __forceinline__ Count length_of(const WrittenPlan& plan) {
#if defined(INFINIOP_LAST_TOKENS)
  return static_cast<Count>(plan.size[names::size::d]);
#else
  return static_cast<Count>(plan.after);
#endif
}

// The elements of a slice lie side by side.
template <class Piece>
__device__ __forceinline__ void copy_pieces(const WrittenArguments& a) {
  constexpr Count kPer = sizeof(Piece) / sizeof(X);
  const Count pieces = length_of(a.plan) / kPer, total = slices_of(a.plan) * pieces;
  for (Count item = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; item < total; item += static_cast<Count>(gridDim.x) * blockDim.x) {
    const Count slice = item / pieces, piece = item - slice * pieces;
    long long to, from;
    find_slice(a, slice, &to, &from);
    auto* target = reinterpret_cast<Piece*>(static_cast<X*>(a.address[names::tensor::output]) + to);
    target[piece] = reinterpret_cast<const Piece*>(static_cast<const X*>(input_of(a)) + from)[piece];
  }
}

__device__ __forceinline__ void copy_elements(const WrittenArguments& a) {
  const WrittenPlan& plan = a.plan;
  const TensorView& output = plan.tensor[names::tensor::output];
  const Count length = length_of(plan), total = slices_of(plan) * length;
  for (Count item = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; item < total; item += static_cast<Count>(gridDim.x) * blockDim.x) {
    const Count slice = item / length, i = item - slice * length;
    long long to, from;
    find_slice(a, slice, &to, &from);
#if defined(INFINIOP_LAST_TOKENS)
    const TensorView& hidden = plan.tensor[names::tensor::hidden_states];
    to += static_cast<long long>(i) * output.stride[2];
    from += static_cast<long long>(i) * hidden.stride[hidden.ndim - 1];
#else
    const TensorView& input = plan.tensor[names::tensor::input];
    to += offset_as<Count>(output, output.ndim - output.after_dims, output.after_dims, i);
    from += offset_as<Count>(input, input.ndim - input.after_dims, input.after_dims, i);
#endif
    static_cast<X*>(a.address[names::tensor::output])[to] = static_cast<const X*>(input_of(a))[from];
  }
}

}  // namespace infiniop

extern "C" __global__ void copy_pieces(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::copy_pieces<infiniop::Piece>(a); }
extern "C" __global__ void copy_elements(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::copy_elements(a); }
