// Pairs of elements turned by the angles of their positions: a thread takes Width pairs, 16 bytes of each half where they lie so,
// also of pairs of neighbours: pieces that lie side by side would be half a sector of memory each.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));
constexpr unsigned kHeads = 4;

template <int Width>
struct alignas(Width * sizeof(X)) Piece {
  X element[Width];
};

// Tensors that no cache holds pass by it (kStreams), which leaves it to the angles.
template <int Width>
__device__ __forceinline__ Piece<Width> read_piece(const X* from) {
  if constexpr (kStreams && sizeof(Piece<Width>) == sizeof(uint4)) {
    Piece<Width> piece;
    *reinterpret_cast<uint4*>(&piece) = __ldcs(reinterpret_cast<const uint4*>(from));
    return piece;
  } else {
    return *reinterpret_cast<const Piece<Width>*>(from);
  }
}

template <int Width>
__device__ __forceinline__ void write_piece(X* to, const Piece<Width>& piece) {
  if constexpr (kStreams && sizeof(Piece<Width>) == sizeof(uint4)) {
    __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(&piece));
  } else {
    *reinterpret_cast<Piece<Width>*>(to) = piece;
  }
}

// Of the angles of Width pairs; side by side as the schema has them mostly, so that 16 bytes are read at a time.
template <int Width, class T>
__device__ __forceinline__ void read_table(const void* table, const TensorView& view, long long position, unsigned pair, C* to) {
  const T* from = static_cast<const T*>(table) + position * view.stride[0] + pair * view.stride[1];
  constexpr int kBytes = Width * sizeof(T) < 16 ? Width * sizeof(T) : 16;
  if (Width > 1 && view.stride[1] == 1 && reinterpret_cast<uint64_t>(from) % kBytes == 0) {
    struct alignas(kBytes) Part {
      T element[kBytes / sizeof(T)];
    };
#pragma unroll
    for (int i = 0; i < Width; i += kBytes / sizeof(T)) {
      const Part part = *reinterpret_cast<const Part*>(from + i);
#pragma unroll
      for (int e = 0; e < static_cast<int>(kBytes / sizeof(T)); ++e) to[i + e] = C(widen(part.element[e]));
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < Width; ++i) to[i] = C(widen(from[i * view.stride[1]]));
}

template <int Width>
__device__ __forceinline__ void read_pieces(const X* from, unsigned first, unsigned second, long long step, X (&element)[2 * Width]) {
  if constexpr (Width == 1) {
    element[0] = from[first * step];
    element[1] = from[second * step];
  } else {
    const Piece<Width> low = read_piece<Width>(from + first), high = read_piece<Width>(from + second);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      element[i] = low.element[i];
      element[Width + i] = high.element[i];
    }
  }
}

template <int Width>
__device__ __forceinline__ void write_pieces(X* to, unsigned first, unsigned second, long long step, const X (&element)[2 * Width]) {
  if constexpr (Width == 1) {
    to[first * step] = element[0];
    to[second * step] = element[1];
  } else {
    Piece<Width> low, high;
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      low.element[i] = element[i];
      high.element[i] = element[Width + i];
    }
    write_piece<Width>(to + first, low);
    write_piece<Width>(to + second, high);
  }
}

template <int Width>
__device__ __forceinline__ void turn_pairs(const C (&cos)[Width], const C (&sin)[Width], X (&element)[2 * Width]) {
#pragma unroll
  for (int i = 0; i < Width; ++i) {
    const int one = kNeighbours ? 2 * i : i, other = kNeighbours ? 2 * i + 1 : Width + i;
    const C u = widen(element[one]), v = widen(element[other]);
    element[one] = Narrow<X>::of(u * cos[i] - v * sin[i]);
    element[other] = Narrow<X>::of(u * sin[i] + v * cos[i]);
  }
}

// The angles of the pairs that a thread turns: of neighbours, half of them are of the second piece.
template <int Width, class T>
__device__ __forceinline__ void read_angles(const void* table, const TensorView& view, long long position, unsigned at, unsigned half, C (&to)[Width]) {
  if constexpr (kNeighbours && Width > 1) {
    read_table<Width / 2, T>(table, view, position, at / 2, to);
    read_table<Width / 2, T>(table, view, position, (at + half) / 2, to + Width / 2);
  } else {
    read_table<Width, T>(table, view, position, at, to);
  }
}

// A thread takes one place of a head for kHeads heads, which have the same angles.
template <int Width>
__device__ __forceinline__ void turn(const WrittenArguments& a) {
  using namespace rope;
  const WrittenPlan& plan = a.plan;
  const TensorView &y = plan.tensor[tensor::y], &x = plan.tensor[tensor::x], &ids = plan.tensor[tensor::pos_ids];
  const unsigned half = static_cast<unsigned>(plan.size[size::d] / 2), heads = static_cast<unsigned>(plan.size[size::h]);
  const unsigned positions = static_cast<unsigned>(plan.size[size::s]);
  const unsigned items = half / Width, parts = (heads + kHeads - 1) / kHeads;
  const long long total = plan.rest * positions * parts * items;
  const long long y_last = y.stride[y.ndim - 1], x_last = x.stride[x.ndim - 1], y_head = y.stride[y.ndim - 2], x_head = x.stride[x.ndim - 2];
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < total;
       item += static_cast<long long>(gridDim.x) * blockDim.x) {
    unsigned place, part, at;  // at: the first element of the first piece; of neighbours one by one, the pair
    if (total < (1ll << 31)) {  // divisions of 64 bits take longer than all else
      const unsigned small = static_cast<unsigned>(item);
      const unsigned row = small / items;
      at = (small - row * items) * Width;
      place = row / parts;
      part = row - place * parts;
    } else {
      const long long row = item / items;
      at = static_cast<unsigned>(item - row * items) * Width;
      place = static_cast<unsigned>(row / parts);
      part = static_cast<unsigned>(row - place * static_cast<long long>(parts));
    }
    const unsigned rest = place / positions, s = place - rest * positions;
    const long long position = static_cast<long long>(
        static_cast<const Position*>(a.address[tensor::pos_ids])[offset_of_rest(ids, rest) + s * ids.stride[ids.ndim - 1]]);
    if (position < 0 || position >= plan.size[size::m]) __trap();
    C sin[Width], cos[Width];
    read_angles<Width, Sin>(a.address[tensor::sin_table], plan.tensor[tensor::sin_table], position, at, half, sin);
    read_angles<Width, Cos>(a.address[tensor::cos_table], plan.tensor[tensor::cos_table], position, at, half, cos);
    const unsigned first_head = part * kHeads;
    X* to = static_cast<X*>(a.address[tensor::y]) + offset_of_rest(y, rest) + s * y.stride[y.ndim - 3] + first_head * y_head;
    const X* from = static_cast<const X*>(a.address[tensor::x]) + offset_of_rest(x, rest) + s * x.stride[x.ndim - 3] + first_head * x_head;
    // One element of neighbours is half a pair, so that a thread has both.
    constexpr bool kTwo = kNeighbours && Width == 1;
    const unsigned first = kTwo ? 2 * at : at, second = kTwo ? first + 1 : at + half;
    const unsigned last = heads - first_head < kHeads ? heads - first_head : kHeads;
    // All is read before anything is written: y may be x, so the compiler cannot put the reads of the next head first.
    X element[kHeads][2 * Width];
#pragma unroll
    for (unsigned h = 0; h < kHeads; ++h) {
      if (h < last) read_pieces<Width>(from + h * x_head, first, second, x_last, element[h]);
    }
#pragma unroll
    for (unsigned h = 0; h < kHeads; ++h) {
      if (h < last) {
        turn_pairs<Width>(cos, sin, element[h]);
        write_pieces<Width>(to + h * y_head, first, second, y_last, element[h]);
      }
    }
  }
}

}  // namespace infiniop

extern "C" __global__ void turn_vectors(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::turn<infiniop::kWidth>(a); }
extern "C" __global__ void turn_elements(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::turn<1>(a); }
