// Pairs of elements turned by the angles of their positions: a thread takes Width pairs, 16 bytes of each half where they lie so.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

template <int Width>
struct alignas(Width * sizeof(X)) Piece {
  X element[Width];
};

template <int Width>
__device__ __forceinline__ void turn(const WrittenArguments& a) {
  using namespace rope;
  const WrittenPlan& plan = a.plan;
  const TensorView &y = plan.tensor[tensor::y], &x = plan.tensor[tensor::x], &ids = plan.tensor[tensor::pos_ids];
  const TensorView &sin_table = plan.tensor[tensor::sin_table], &cos_table = plan.tensor[tensor::cos_table];
  const long long half = plan.size[size::d] / 2, heads = plan.size[size::h], positions = plan.size[size::s];
  const unsigned items = static_cast<unsigned>(half / Width);
  const long long total = plan.rest * positions * heads * items;
  const long long y_last = y.stride[y.ndim - 1], x_last = x.stride[x.ndim - 1];
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < total;
       item += static_cast<long long>(gridDim.x) * blockDim.x) {
    const long long head = item / items;
    const long long pair = (item - head * items) * Width;
    const long long place = head / heads, h = head - place * heads;
    const long long rest = place / positions, s = place - rest * positions;
    const long long position =
        static_cast<long long>(static_cast<const Position*>(a.address[tensor::pos_ids])[offset_of_rest(ids, rest) + s * ids.stride[ids.ndim - 1]]);
    if (position < 0 || position >= plan.size[size::m]) __trap();
    const Sin* sin = static_cast<const Sin*>(a.address[tensor::sin_table]) + position * sin_table.stride[0] + pair * sin_table.stride[1];
    const Cos* cos = static_cast<const Cos*>(a.address[tensor::cos_table]) + position * cos_table.stride[0] + pair * cos_table.stride[1];
    X* to = static_cast<X*>(a.address[tensor::y]) + offset_of_rest(y, rest) + s * y.stride[y.ndim - 3] + h * y.stride[y.ndim - 2];
    const X* from = static_cast<const X*>(a.address[tensor::x]) + offset_of_rest(x, rest) + s * x.stride[x.ndim - 3] + h * x.stride[x.ndim - 2];
    // The two pieces: of the halves, or of neighbours, which are Width pairs in a row.
    Piece<Width> low, high;
    const long long first = kNeighbours ? 2 * pair : pair;
    const long long second = kNeighbours ? (Width == 1 ? first + 1 : first + Width) : pair + half;
    if constexpr (Width == 1) {
      low.element[0] = from[first * x_last];
      high.element[0] = from[second * x_last];
    } else {
      low = *reinterpret_cast<const Piece<Width>*>(from + first);
      high = *reinterpret_cast<const Piece<Width>*>(from + second);
    }
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      X *one = &low.element[i], *other = &high.element[i];
      if constexpr (kNeighbours && Width > 1) {
        one = 2 * i < Width ? &low.element[2 * i] : &high.element[2 * i - Width];
        other = one + 1;
      }
      const C turned_sin = C(widen(sin[i * sin_table.stride[1]])), turned_cos = C(widen(cos[i * cos_table.stride[1]]));
      const C u = widen(*one), v = widen(*other);
      *one = Narrow<X>::of(u * turned_cos - v * turned_sin);
      *other = Narrow<X>::of(u * turned_sin + v * turned_cos);
    }
    if constexpr (Width == 1) {
      to[first * y_last] = low.element[0];
      to[second * y_last] = high.element[0];
    } else {
      *reinterpret_cast<Piece<Width>*>(to + first) = low;
      *reinterpret_cast<Piece<Width>*>(to + second) = high;
    }
  }
}

}  // namespace infiniop

extern "C" __global__ void turn_vectors(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::turn<infiniop::kWidth>(a); }
extern "C" __global__ void turn_elements(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::turn<1>(a); }
