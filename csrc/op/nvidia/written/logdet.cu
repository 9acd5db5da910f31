// The logarithm of the determinant: a block has a matrix after the other, each of which becomes triangular in the block's part of the workspace.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using namespace logdet;

// The row from k on that has the largest element in column k, and of equal ones the first. All threads get it.
__device__ __forceinline__ long long pivot_row(const double* x, long long n, long long k) {
  __shared__ double sizes[kThreads];
  __shared__ long long rows[kThreads];
  double most = -1;
  long long best = k;
  for (long long i = k + threadIdx.x; i < n; i += kThreads) {
    const double size = infiniop::fabs(x[i * n + k]);
    if (size > most) {
      most = size;
      best = i;
    }
  }
  sizes[threadIdx.x] = most;
  rows[threadIdx.x] = best;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    const int mine = static_cast<int>(threadIdx.x), other = mine + half;
    if (mine < half && (sizes[other] > sizes[mine] || (sizes[other] == sizes[mine] && rows[other] < rows[mine]))) {
      sizes[mine] = sizes[other];
      rows[mine] = rows[other];
    }
    __syncthreads();
  }
  return rows[0];
}

__device__ __forceinline__ double logarithm_of_determinant(double* x, long long n) {
  double sum = 0;
  bool is_negative = false;
  for (long long k = 0; k < n; ++k) {
    const long long best = pivot_row(x, n, k);
    if (best != k) {
      is_negative = !is_negative;
      for (long long j = k + threadIdx.x; j < n; j += kThreads) {
        const double other = x[k * n + j];
        x[k * n + j] = x[best * n + j];
        x[best * n + j] = other;
      }
    }
    __syncthreads();
    const double pivot = x[k * n + k];
    if (pivot == 0) return -__longlong_as_double(0x7FF0000000000000ll);  // for all threads
    if (pivot < 0) is_negative = !is_negative;
    sum += infiniop::log(infiniop::fabs(pivot));
    for (long long i = k + 1 + threadIdx.x; i < n; i += kThreads) x[i * n + k] /= pivot;
    __syncthreads();
    const long long left = n - k - 1;
    for (long long e = threadIdx.x; e < left * left; e += kThreads) {
      const long long i = k + 1 + e / left, j = k + 1 + e % left;
      x[i * n + j] -= x[i * n + k] * x[k * n + j];
    }
    __syncthreads();
  }
  return is_negative ? __longlong_as_double(0x7FF8000000000000ll) : sum;
}

}  // namespace infiniop

extern "C" __global__ void logarithms_of_determinants(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const TensorView &y = a.plan.tensor[tensor::y], &x = a.plan.tensor[tensor::x];
  const long long n = a.plan.size[size::n];
  double* matrix = static_cast<double*>(a.workspace) + blockIdx.x * n * n;
  for (long long item = blockIdx.x; item < a.plan.rest; item += gridDim.x) {
    const X* from = static_cast<const X*>(a.address[tensor::x]) + offset_of_rest(x, item);
    for (long long e = threadIdx.x; e < n * n; e += kThreads) {
      matrix[e] = static_cast<double>(widen(from[e / n * x.stride[x.ndim - 2] + e % n * x.stride[x.ndim - 1]]));
    }
    __syncthreads();
    const double result = logarithm_of_determinant(matrix, n);
    if (threadIdx.x == 0) static_cast<X*>(a.address[tensor::y])[offset_of_rest(y, item)] = Narrow<X>::of(static_cast<X>(result));
    __syncthreads();
  }
}
