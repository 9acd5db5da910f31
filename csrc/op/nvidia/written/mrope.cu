// Heads turned by positions of three coordinates: a thread has a pair, or an element that stays, after the other.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

// Which of the three coordinates turns a pair.
__device__ __forceinline__ int axis_of(const WrittenArguments& a, long long pair) {
  using namespace mrope;
  const long long t = static_cast<long long>(a.attributes[attribute::section_t]), h = static_cast<long long>(a.attributes[attribute::section_h]),
                  w = static_cast<long long>(a.attributes[attribute::section_w]);
  if (a.attributes[attribute::interleaved] == 0) return pair < t ? 0 : pair < t + h ? 1 : 2;
  if (pair % 3 == 1 && pair < 3 * h) return 1;
  return pair % 3 == 2 && pair < 3 * w ? 2 : 0;
}

}  // namespace infiniop

extern "C" __global__ void turn_heads(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace mrope;
  const WrittenPlan& plan = a.plan;
  const long long head_size = static_cast<long long>(a.attributes[attribute::head_size]), half = plan.size[size::rotary_dim] / 2;
  // Of a head: its pairs, then the elements that stay.
  const long long per_head = head_size - half;
  const long long q_heads = plan.size[size::a] / head_size, heads = q_heads + plan.size[size::b] / head_size;
  const long long total = plan.size[size::t] * heads * per_head;
  const TensorView &cos = plan.tensor[tensor::cos], &sin = plan.tensor[tensor::sin], &positions = plan.tensor[tensor::positions];
  for (long long item = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; item < total;
       item += static_cast<long long>(gridDim.x) * kThreads) {
    const long long head = item / per_head, i = item - head * per_head, token = head / heads, h = head - token * heads;
    const bool is_q = h < q_heads;
    const int to = is_q ? tensor::q_out : tensor::k_out, from = is_q ? tensor::q : tensor::k;
    const TensorView &y = plan.tensor[to], &x = plan.tensor[from];
    const long long first = (is_q ? h : h - q_heads) * head_size;
    X* target = static_cast<X*>(a.address[to]) + token * y.stride[0] + first * y.stride[1];
    const X* source = static_cast<const X*>(a.address[from]) + token * x.stride[0] + first * x.stride[1];
    if (i >= half) {
      target[(i + half) * y.stride[1]] = source[(i + half) * x.stride[1]];
      continue;
    }
    const long long place = (positions.ndim == 2 ? axis_of(a, i) * positions.stride[0] : 0) + token * positions.stride[positions.ndim - 1];
    const long long row = static_cast<long long>(static_cast<const Index*>(a.address[tensor::positions])[place]);
    if (row < 0 || row >= plan.size[size::m]) __trap();
    const C c = widen(static_cast<const X*>(a.address[tensor::cos])[row * cos.stride[0] + i * cos.stride[1]]);
    const C s = widen(static_cast<const X*>(a.address[tensor::sin])[row * sin.stride[0] + i * sin.stride[1]]);
    const C u = widen(source[i * x.stride[1]]), v = widen(source[(i + half) * x.stride[1]]);
    target[i * y.stride[1]] = Narrow<X>::of(u * c - v * s);
    target[(i + half) * y.stride[1]] = Narrow<X>::of(v * c + u * s);
  }
}
