// Elements that indices name are written over, added to or multiplied. First `copy_input` makes the output the input, then a thread for
// each update meets its element: by atomic operations where several may meet one, so that their order is nobody's. "variant.h" names
// the operator, X, Index, Count, and INFINIOP_STORE, INFINIOP_ADD or INFINIOP_MULTIPLY.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

__device__ __forceinline__ X combine(X old, C by) {
#if defined(INFINIOP_ADD)
  return Narrow<X>::of(static_cast<C>(widen(old) + by));
#else
  return Narrow<X>::of(static_cast<C>(widen(old) * by));
#endif
}

template <class To, class From>
__device__ __forceinline__ To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  memcpy(&result, &value, sizeof result);
  return result;
}

// By comparing and exchanging the word that the element is in.
template <class S>
__device__ __forceinline__ void exchange(S* place, C by) {
  if constexpr (sizeof(S) == 8) {
    auto* word = reinterpret_cast<unsigned long long*>(place);
    unsigned long long seen = *word, before;
    do {
      before = seen;
      seen = atomicCAS(word, before, bits_of<unsigned long long>(combine(bits_of<S>(before), by)));
    } while (seen != before);
  } else if constexpr (sizeof(S) == 4) {
    auto* word = reinterpret_cast<unsigned*>(place);
    unsigned seen = *word, before;
    do {
      before = seen;
      seen = atomicCAS(word, before, bits_of<unsigned>(combine(bits_of<S>(before), by)));
    } while (seen != before);
  } else {
    const auto address = reinterpret_cast<uint64_t>(place);
    auto* word = reinterpret_cast<unsigned*>(address & ~uint64_t{3});
    const unsigned shift = static_cast<unsigned>(address & 3) * 8;
    using Bits = Unsigned;  // as wide as X
    unsigned seen = *word, before;
    do {
      before = seen;
      const unsigned made = bits_of<Bits>(combine(bits_of<S>(static_cast<Bits>(before >> shift)), by));
      seen = atomicCAS(word, before, (before & ~(static_cast<unsigned>(static_cast<Bits>(~Bits{0})) << shift)) | made << shift);
    } while (seen != before);
  }
}

__device__ __forceinline__ void update(X* place, X by, C factor) {
#if defined(INFINIOP_STORE)
  *place = by;
#else
  const C value = static_cast<C>(widen(by) * factor);
#if defined(INFINIOP_ADD) && defined(INFINIOP_NATIVE_ADD)
  atomicAdd(reinterpret_cast<Native*>(place), static_cast<Native>(value));
#elif defined(INFINIOP_ADD) && defined(INFINIOP_ADD_F16) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(place), "h"(Narrow<X>::of(value).bits) : "memory");
#elif defined(INFINIOP_ADD) && defined(INFINIOP_ADD_BF16) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.noftz.bf16 [%0], %1;" ::"l"(place), "h"(Narrow<X>::of(value).bits) : "memory");
#else
  exchange(place, value);
#endif
#endif
}

__device__ __forceinline__ Count first_item() { return blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; }
__device__ __forceinline__ Count step() { return static_cast<Count>(gridDim.x) * blockDim.x; }

#if defined(INFINIOP_SCATTER)
namespace names = scatter;
constexpr int kSource = scatter::tensor::updates;

__device__ __forceinline__ void update_elements(const WrittenArguments& a) {
  const WrittenPlan& plan = a.plan;
  const TensorView &output = plan.tensor[names::tensor::output], &indices = plan.tensor[names::tensor::indices], &updates = plan.tensor[kSource];
  const int ndim = indices.ndim, axis = static_cast<int>(a.attributes[names::attribute::axis]);
  const int dim = axis < 0 ? axis + ndim : axis;
  const long long size = ndim > 0 ? output.shape[dim] : 1, along = ndim > 0 ? output.stride[dim] : 1;
  Count total = 1;
  for (int d = 0; d < ndim; ++d) total *= static_cast<Count>(indices.shape[d]);
  for (Count item = first_item(); item < total; item += step()) {
    long long to = 0, at = 0, from = 0;
    Count left = item;
    for (int d = ndim - 1; d >= 0; --d) {
      const Count extent = static_cast<Count>(indices.shape[d]), next = left / extent;
      const long long place = static_cast<long long>(left - next * extent);
      left = next;
      if (d != dim) to += place * output.stride[d];
      at += place * indices.stride[d];
      from += place * updates.stride[d];
    }
    const long long number = static_cast<const Index*>(a.address[names::tensor::indices])[at];
    if (number < 0 || number >= size) __trap();
    update(static_cast<X*>(a.address[names::tensor::output]) + to + number * along, static_cast<const X*>(a.address[kSource])[from], C(1));
  }
}
#else
#if defined(INFINIOP_ADD)
namespace names = index_add;
#else
namespace names = index_copy;
#endif
constexpr int kSource = names::tensor::source;

__device__ __forceinline__ void update_elements(const WrittenArguments& a) {
  const WrittenPlan& plan = a.plan;
  const TensorView &output = plan.tensor[names::tensor::output], &source = plan.tensor[kSource], &index = plan.tensor[names::tensor::index];
  const Count after = static_cast<Count>(plan.after), indices = static_cast<Count>(plan.size[names::size::k]);
  const Count total = static_cast<Count>(plan.before) * indices * after;
#if defined(INFINIOP_ADD)
  const C factor = C(1) / C(2) != C(0) ? static_cast<C>(a.attributes[names::attribute::alpha])
                                       : static_cast<C>(static_cast<long long>(a.attributes[names::attribute::alpha]));
#else
  const C factor = C(1);
#endif
  for (Count item = first_item(); item < total; item += step()) {
    const Count slice = item / after, i = item - slice * after, before = slice / indices, j = slice - before * indices;
    const long long row = static_cast<const Index*>(a.address[names::tensor::index])[static_cast<long long>(j) * index.stride[0]];
    if (row < 0 || row >= plan.size[names::size::n]) __trap();
    const long long to = offset_as<Count>(output, output.rest_first, output.rest_dims, before) + row * output.stride[plan.dim] +
                         offset_as<Count>(output, output.ndim - output.after_dims, output.after_dims, i);
    const long long from = offset_as<Count>(source, source.rest_first, source.rest_dims, before) + static_cast<long long>(j) * source.stride[plan.dim] +
                           offset_as<Count>(source, source.ndim - source.after_dims, source.after_dims, i);
    update(static_cast<X*>(a.address[names::tensor::output]) + to, static_cast<const X*>(a.address[kSource])[from], factor);
  }
}
#endif

struct alignas(16) Piece16 {
  uint64_t low, high;
};

// Where both lie side by side, 16 bytes at a time.
__device__ __forceinline__ void copy_input(const WrittenArguments& a) {
  const TensorView &output = a.plan.tensor[names::tensor::output], &input = a.plan.tensor[names::tensor::input];
  Count total = 1;
  for (int d = 0; d < output.ndim; ++d) total *= static_cast<Count>(output.shape[d]);
  auto* to = static_cast<X*>(a.address[names::tensor::output]);
  const auto* from = static_cast<const X*>(a.address[names::tensor::input]);
  const auto bits = reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from);
  Count done = 0;
  if (kSideBySide && bits % 16 == 0) {
    constexpr Count kPer = 16 / sizeof(X);
    for (Count item = first_item(); item < total / kPer; item += step()) reinterpret_cast<Piece16*>(to)[item] = reinterpret_cast<const Piece16*>(from)[item];
    done = total / kPer * kPer;
  }
  for (Count item = done + first_item(); item < total; item += step()) {
    to[offset_as<Count>(output, 0, output.ndim, item)] = from[offset_as<Count>(input, 0, input.ndim, item)];
  }
}

}  // namespace infiniop

extern "C" __global__ void copy_input(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::copy_input(a); }
extern "C" __global__ void update_elements(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::update_elements(a); }
