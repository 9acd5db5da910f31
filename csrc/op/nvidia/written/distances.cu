// Norms of differences. Cdist: a block has 16 * 16 pairs of rows, which it brings into shared memory 16 elements at a time. Dist: blocks have
// their share of all elements, and one block puts together what they leave in the workspace.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));
constexpr int kTile = 16;

struct Norm {
  double p;

  __device__ __forceinline__ bool is_largest() const { return p > 1.7976931348623157e308; }
  __device__ __forceinline__ C term(C off) const {
    return p == 2 ? off * off : p == 0 ? C(off != C(0)) : p == 1 || is_largest() ? off : infiniop::pow(off, C(p));
  }
  // What is not a number is larger than all.
  template <class T>
  __device__ __forceinline__ T joined(T a, T b) const {
    return !is_largest() ? a + b : b > a || b != b ? b : a;
  }
  __device__ __forceinline__ double finished(double all) const {
    return p == 2 ? infiniop::sqrt(all) : p == 0 || p == 1 || is_largest() ? all : infiniop::pow(all, 1 / p);
  }
};

// What the threads of a block of kThreads have, put together; all get it.
__device__ __forceinline__ double joined(const Norm& norm, double mine) {
  __shared__ double shared[kThreads];
  __syncthreads();
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] = norm.joined(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}

}  // namespace infiniop

extern "C" __global__ void distances_of_rows(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace cdist;
  __shared__ C first[kTile][kTile + 1], second[kTile][kTile + 1];
  const WrittenPlan& plan = a.plan;
  const TensorView &y = plan.tensor[tensor::y], &x1 = plan.tensor[tensor::x1], &x2 = plan.tensor[tensor::x2];
  const long long rows = plan.size[size::m], columns = plan.size[size::n], length = plan.size[size::d];
  const long long down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
  const int line = static_cast<int>(threadIdx.x) / kTile, place = static_cast<int>(threadIdx.x) % kTile;
  const Norm norm = {a.attributes[attribute::p]};
  for (long long tile = blockIdx.x; tile < plan.rest * down * across; tile += gridDim.x) {
    const long long batch = tile / (down * across), rest = tile - batch * down * across;
    const long long row = rest / across * kTile, column = rest % across * kTile;
    const X* from1 = static_cast<const X*>(a.address[tensor::x1]) + offset_of_rest(x1, batch);
    const X* from2 = static_cast<const X*>(a.address[tensor::x2]) + offset_of_rest(x2, batch);
    double sum = 0;
    for (long long at = 0; at < length; at += kTile) {
      const bool is_inside = at + place < length;
      const long long i = row + line, j = column + line;
      // Both are 0 behind the ends, where they do not differ.
      first[line][place] = is_inside && i < rows ? C(widen(from1[i * x1.stride[x1.ndim - 2] + (at + place) * x1.stride[x1.ndim - 1]])) : C(0);
      second[line][place] = is_inside && j < columns ? C(widen(from2[j * x2.stride[x2.ndim - 2] + (at + place) * x2.stride[x2.ndim - 1]])) : C(0);
      __syncthreads();
      C some = C(0);
#pragma unroll
      for (int e = 0; e < kTile; ++e) some = norm.joined(some, norm.term(infiniop::fabs(first[line][e] - second[place][e])));
      sum = norm.joined(sum, static_cast<double>(some));
      __syncthreads();
    }
    if (row + line < rows && column + place < columns) {
      X* to = static_cast<X*>(a.address[tensor::y]) + offset_of_rest(y, batch);
      to[(row + line) * y.stride[y.ndim - 2] + (column + place) * y.stride[y.ndim - 1]] = Narrow<X>::of(static_cast<C>(norm.finished(sum)));
    }
  }
}

extern "C" __global__ void distance_pieces(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace dist;
  const TensorView &x1 = a.plan.tensor[tensor::x1], &x2 = a.plan.tensor[tensor::x2];
  const X *from1 = static_cast<const X*>(a.address[tensor::x1]), *from2 = static_cast<const X*>(a.address[tensor::x2]);
  const Norm norm = {a.attributes[attribute::p]};
  double sum = 0;
  const long long threads = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < a.plan.rest; i += threads) {
    const C one = widen(from1[kSideBySide ? i : offset_of_rest(x1, i)]), other = widen(from2[kSideBySide ? i : offset_of_rest(x2, i)]);
    sum = norm.joined(sum, static_cast<double>(norm.term(infiniop::fabs(one - other))));
  }
  sum = joined(norm, sum);
  if (threadIdx.x == 0) static_cast<double*>(a.workspace)[blockIdx.x] = sum;
}

// One block, for kPieces numbers.
extern "C" __global__ void finish_distance(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace dist;
  const Norm norm = {a.attributes[attribute::p]};
  double sum = 0;
  for (long long i = threadIdx.x; i < kPieces; i += kThreads) sum = norm.joined(sum, static_cast<const double*>(a.workspace)[i]);
  sum = joined(norm, sum);
  if (threadIdx.x == 0) *static_cast<X*>(a.address[tensor::y]) = Narrow<X>::of(static_cast<C>(norm.finished(sum)));
}
