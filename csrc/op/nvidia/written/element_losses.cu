// Losses of single elements, and their mean or sum. Of all of them tensor 0 is the result, and 1 to 4 are inputs.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

__device__ __forceinline__ long long elements_of(const TensorView& view) {
  long long count = 1;
  for (int d = 0; d < view.ndim; ++d) count *= view.shape[d];
  return count;
}

// Element `i` of an input: one that is not given is 1, and one of one dimension is repeated along the others.
__device__ __forceinline__ C input_at(const WrittenArguments& a, int t, long long i) {
  const TensorView& view = a.plan.tensor[t];
  if (!view.is_given) return C(1);
  const bool is_repeated = view.ndim < a.plan.tensor[1].ndim;
  const long long offset = is_repeated ? i % view.shape[0] * view.stride[0] : offset_in(view, 0, view.ndim, i);
  return widen(static_cast<const X*>(a.address[t])[offset]);
}

__device__ __forceinline__ C loss_of(const WrittenArguments& a, long long i) {
  const C input = input_at(a, 1, i), target = input_at(a, 2, i);
  if constexpr (kLoss == 0) {
    const C delta = C(a.attributes[huber_loss::attribute::delta]), off = fabs(input - target);
    return off <= delta ? C(0.5) * off * off : delta * (off - C(0.5) * delta);
  } else if constexpr (kLoss == 1) {
    const C beta = C(a.attributes[smooth_l1_loss::attribute::beta]), off = fabs(input - target);
    return off < beta ? off * off * (C(0.5) / beta) : off - C(0.5) * beta;
  } else if constexpr (kLoss == 2) {
    const C softplus = log1p(exp(-fabs(input))) + (input < C(0) ? -input : C(0));
    const C positive = C(1) + (input_at(a, 4, i) - C(1)) * target;
    return ((C(1) - target) * input + positive * softplus) * input_at(a, 3, i);
  } else if constexpr (kLoss == 3) {
    const C eps = C(a.attributes[gaussian_nll_loss::attribute::eps]), var = input_at(a, 3, i);
    const C spread = var < eps ? eps : var, off = input - target;
    const C constant = C(a.attributes[gaussian_nll_loss::attribute::full] != 0 ? 0.91893853320467274178 : 0.0);
    return C(0.5) * (log(spread) + off * off / spread) + constant;
  } else {
    const C left = C(a.attributes[hinge_embedding_loss::attribute::margin]) - input, apart = left < C(0) ? C(0) : left;
    return (target != C(-1) ? input : C(0)) + (target != C(1) ? apart : C(0));
  }
}

// The sum of what the threads of a block of kThreads have; thread 0 gets it.
__device__ __forceinline__ double summed(double mine) {
  __shared__ double shared[kThreads];
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  return shared[0];
}

}  // namespace infiniop

extern "C" __global__ void write_losses(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const TensorView& out = a.plan.tensor[0];
  const long long total = elements_of(a.plan.tensor[1]);
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < total;
       i += static_cast<long long>(gridDim.x) * kThreads) {
    static_cast<X*>(a.address[0])[offset_in(out, 0, out.ndim, i)] = Narrow<X>::of(loss_of(a, i));
  }
}

// Each block leaves its sum in the workspace.
extern "C" __global__ void sum_losses(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long total = elements_of(a.plan.tensor[1]);
  double sum = 0;
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < total;
       i += static_cast<long long>(gridDim.x) * kThreads) {
    sum += static_cast<double>(loss_of(a, i));
  }
  sum = summed(sum);
  if (threadIdx.x == 0) static_cast<double*>(a.workspace)[blockIdx.x] = sum;
}

// One block.
extern "C" __global__ void finish_losses(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < kSums; i += kThreads) sum += static_cast<const double*>(a.workspace)[i];
  sum = summed(sum);
  if (threadIdx.x != 0) return;
  if (kIsMean) sum /= static_cast<double>(elements_of(a.plan.tensor[1]));
  *static_cast<X*>(a.address[0]) = Narrow<X>::of(static_cast<C>(sum));
}
