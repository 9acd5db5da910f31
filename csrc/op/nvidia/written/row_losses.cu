// Losses of rows: a block has a row after the other.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

// What the threads of a block of kThreads have, put together; all get it.
template <class Join>
__device__ __forceinline__ double joined(double mine, Join join) {
  __shared__ double shared[kThreads];
  __syncthreads();  // an earlier result may still be read
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}

struct Sum {
  __device__ __forceinline__ double operator()(double a, double b) const { return a + b; }
};
struct Most {
  __device__ __forceinline__ double operator()(double a, double b) const { return b > a ? b : a; }
};

// The mean or the sum of what rows left in the workspace.
__device__ __forceinline__ void finish(const WrittenArguments& a, bool is_mean, int output) {
  double sum = 0;
  for (long long i = threadIdx.x; i < a.plan.rest; i += kThreads) sum += static_cast<const double*>(a.workspace)[i];
  sum = joined(sum, Sum());
  if (threadIdx.x != 0) return;
  if (is_mean) sum /= static_cast<double>(a.plan.rest);
  *static_cast<X*>(a.address[output]) = Narrow<X>::of(static_cast<C>(sum));
}

// The distance of two rows. All threads get it.
__device__ __forceinline__ double distance(const WrittenArguments& a, int one, int other, long long row) {
  using namespace triplet_margin_loss;
  const TensorView &u = a.plan.tensor[one], &v = a.plan.tensor[other];
  const X *x = static_cast<const X*>(a.address[one]) + offset_of_rest(u, row), *y = static_cast<const X*>(a.address[other]) + offset_of_rest(v, row);
  const C eps = C(a.attributes[attribute::eps]), p = C(a.attributes[attribute::p]);
  double sum = 0;
  for (long long i = threadIdx.x; i < a.plan.size[size::d]; i += kThreads) {
    const C off = fabs(C(widen(x[i * u.stride[u.ndim - 1]])) - C(widen(y[i * v.stride[v.ndim - 1]])) + eps);
    sum += static_cast<double>(p == C(1) ? off : p == C(2) ? off * off : pow(off, p));
  }
  sum = joined(sum, Sum());
  return p == C(1) ? sum : p == C(2) ? sqrt(sum) : pow(sum, 1.0 / static_cast<double>(p));
}

}  // namespace infiniop

extern "C" __global__ void triplet_rows(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace triplet_margin_loss;
  const WrittenPlan& plan = a.plan;
  for (long long row = blockIdx.x; row < plan.rest; row += gridDim.x) {
    double far = distance(a, tensor::anchor, tensor::negative, row);
    if (a.attributes[attribute::swap] != 0) {
      const double swapped = distance(a, tensor::positive, tensor::negative, row);
      far = swapped < far || swapped != swapped ? swapped : far;
    }
    const double off = distance(a, tensor::anchor, tensor::positive, row) - far + a.attributes[attribute::margin];
    const double lost = off < 0 ? 0 : off;
    if (threadIdx.x != 0) continue;
    if (a.attributes[attribute::reduction] != 0) {
      static_cast<double*>(a.workspace)[row] = lost;
    } else {
      static_cast<X*>(a.address[tensor::output])[offset_of_rest(plan.tensor[tensor::output], row)] = Narrow<X>::of(static_cast<C>(lost));
    }
  }
}

// One block.
extern "C" __global__ void finish_triplets(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace triplet_margin_loss;
  finish(a, a.attributes[attribute::reduction] == 1, tensor::output);
}

extern "C" __global__ void margin_rows(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace multi_margin_loss;
  const WrittenPlan& plan = a.plan;
  const TensorView &input = plan.tensor[tensor::input], &target = plan.tensor[tensor::target], &weight = plan.tensor[tensor::weight];
  const long long classes = plan.size[size::c], step = input.stride[input.ndim - 1];
  const bool squares = a.attributes[attribute::p] == 2;
  for (long long row = blockIdx.x; row < plan.rest; row += gridDim.x) {
    const X* from = static_cast<const X*>(a.address[tensor::input]) + offset_of_rest(input, row);
    const long long place = static_cast<long long>(static_cast<const Index*>(a.address[tensor::target])[offset_of_rest(target, row)]);
    if (place < 0 || place >= classes) __trap();
    const C base = C(a.attributes[attribute::margin]) - C(widen(from[place * step]));
    double sum = 0;
    for (long long i = threadIdx.x; i < classes; i += kThreads) {
      const C over = base + C(widen(from[i * step])), term = over < C(0) ? C(0) : over;  // what is not a number stays
      if (i != place) sum += static_cast<double>(squares ? term * term : term);
    }
    double lost = joined(sum, Sum()) / static_cast<double>(classes);
    if (weight.is_given) lost *= static_cast<double>(widen(static_cast<const X*>(a.address[tensor::weight])[place * weight.stride[0]]));
    if (threadIdx.x != 0) continue;
    if (a.attributes[attribute::reduction] != 0) {
      static_cast<double*>(a.workspace)[row] = lost;
    } else {
      static_cast<X*>(a.address[tensor::output])[offset_of_rest(plan.tensor[tensor::output], row)] = Narrow<X>::of(static_cast<C>(lost));
    }
  }
}

// One block.
extern "C" __global__ void finish_margins(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace multi_margin_loss;
  finish(a, a.attributes[attribute::reduction] == 1, tensor::output);
}

extern "C" __global__ void cross_entropy_rows(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace cross_entropy;
  const WrittenPlan& plan = a.plan;
  const TensorView &y = plan.tensor[tensor::y], &x = plan.tensor[tensor::x], &target = plan.tensor[tensor::target];
  const long long length = plan.size[size::v], step = x.stride[x.ndim - 1];
  for (long long row = blockIdx.x; row < plan.rest; row += gridDim.x) {
    const X* from = static_cast<const X*>(a.address[tensor::x]) + offset_of_rest(x, row);
    const long long place = static_cast<long long>(static_cast<const Index*>(a.address[tensor::target])[offset_of_rest(target, row)]);
    const bool is_class = place >= 0 && place < length;
    double lost = 0;
    if (is_class) {  // for all threads of the block
      double mine = -__longlong_as_double(0x7FF0000000000000ll);
      for (long long i = threadIdx.x; i < length; i += kThreads) {
        const double number = static_cast<double>(widen(from[i * step]));
        mine = number > mine ? number : mine;
      }
      const C most = static_cast<C>(joined(mine, Most()));
      double sum = 0;
      for (long long i = threadIdx.x; i < length; i += kThreads) sum += static_cast<double>(infiniop::exp(C(widen(from[i * step])) - most));
      lost = infiniop::log(joined(sum, Sum())) + static_cast<double>(most) - static_cast<double>(widen(from[place * step]));
    }
    if (threadIdx.x == 0) static_cast<X*>(a.address[tensor::y])[offset_of_rest(y, row)] = Narrow<X>::of(static_cast<C>(lost));
  }
}
