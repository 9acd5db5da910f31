// Two vectors that are changed together, and the rotations that do it. "variant.h" names the operator, X and Count.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

#if defined(INFINIOP_SWAP)
namespace names = swap;
struct Change {
  __device__ __forceinline__ explicit Change(const WrittenArguments&) {}
  __device__ __forceinline__ void operator()(X& x, X& y) const {
    const X before = x;
    x = y;
    y = before;
  }
};
#elif defined(INFINIOP_ROT) || defined(INFINIOP_ROTM)
// x and y become h11 * x + h12 * y and h21 * x + h22 * y.
struct Change {
  C h11 = C(1), h12 = C(0), h21 = C(0), h22 = C(1);
#if defined(INFINIOP_ROT)
  __device__ __forceinline__ explicit Change(const WrittenArguments& a) {
    h11 = h22 = widen(*static_cast<const X*>(a.address[rot::tensor::c]));
    h12 = widen(*static_cast<const X*>(a.address[rot::tensor::s]));
    h21 = -h12;
  }
#else
  __device__ __forceinline__ explicit Change(const WrittenArguments& a) {
    const X* param = static_cast<const X*>(a.address[rotm::tensor::param]);
    const long long step = a.plan.tensor[rotm::tensor::param].stride[0];
    const C flag = widen(param[0]);
    if (flag == C(-2)) return;
    // Elements that the flag names are not read.
    if (flag != C(0)) {
      h11 = widen(param[step]);
      h22 = widen(param[4 * step]);
    }
    h21 = flag > C(0) ? C(-1) : widen(param[2 * step]);
    h12 = flag > C(0) ? C(1) : widen(param[3 * step]);
  }
#endif
  __device__ __forceinline__ void operator()(X& x, X& y) const {
    const C before = widen(x), other = widen(y);
    x = Narrow<X>::of(h11 * before + h12 * other);
    y = Narrow<X>::of(h21 * before + h22 * other);
  }
};
#if defined(INFINIOP_ROT)
namespace names = rot;
#else
namespace names = rotm;
#endif
#endif

#if defined(INFINIOP_SWAP) || defined(INFINIOP_ROT) || defined(INFINIOP_ROTM)
template <int Width>
struct alignas(Width * sizeof(X)) XPack {
  X element[Width];
};

__device__ __forceinline__ void run(const WrittenArguments& a) {
  const Change change(a);
  const TensorView &x_view = a.plan.tensor[names::tensor::x], &y_view = a.plan.tensor[names::tensor::y];
  X *x = static_cast<X*>(a.address[names::tensor::x]), *y = static_cast<X*>(a.address[names::tensor::y]);
  const Count total = static_cast<Count>(a.plan.rest), step = static_cast<Count>(gridDim.x) * blockDim.x;
  const Count first = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x;
  Count done = 0;
  if (kSideBySide && (reinterpret_cast<uint64_t>(x) | reinterpret_cast<uint64_t>(y)) % 16 == 0) {
    constexpr int kWidth = 16 / sizeof(X);
    auto *x_packs = reinterpret_cast<XPack<kWidth>*>(x), *y_packs = reinterpret_cast<XPack<kWidth>*>(y);
    for (Count item = first; item < total / kWidth; item += step) {
      XPack<kWidth> left = x_packs[item], right = y_packs[item];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) change(left.element[i], right.element[i]);
      x_packs[item] = left;
      y_packs[item] = right;
    }
    done = total / kWidth * kWidth;
  }
  for (Count item = done + first; item < total; item += step) {
    change(x[offset_as<Count>(x_view, 0, x_view.ndim, item)], y[offset_as<Count>(y_view, 0, y_view.ndim, item)]);
  }
}
#elif defined(INFINIOP_ROTG)
__device__ __forceinline__ C size_of(C value) { return value < C(0) ? -value : value; }

__device__ __forceinline__ void run(const WrittenArguments& a) {
  using namespace rotg;
  const C x = widen(*static_cast<X*>(a.address[tensor::x])), y = widen(*static_cast<X*>(a.address[tensor::y]));
  const C scale = size_of(x) + size_of(y);
  C r = C(0), z = C(0), c = C(1), s = C(0);
  if (scale != C(0)) {
    const bool x_is_larger = size_of(x) > size_of(y);
    r = scale * C(sqrt((x / scale) * (x / scale) + (y / scale) * (y / scale)));
    if ((x_is_larger ? x : y) < C(0)) r = -r;
    c = x / r;
    s = y / r;
    z = x_is_larger ? s : c != C(0) ? C(1) / c : C(1);
  }
  *static_cast<X*>(a.address[tensor::x]) = Narrow<X>::of(r);
  *static_cast<X*>(a.address[tensor::y]) = Narrow<X>::of(z);
  *static_cast<X*>(a.address[tensor::c]) = Narrow<X>::of(c);
  *static_cast<X*>(a.address[tensor::s]) = Narrow<X>::of(s);
}
#elif defined(INFINIOP_ROTMG)
// BLAS's modified Givens rotation: `param` makes the second component of (sqrt(d1) * x1, sqrt(d2) * y1) zero.
struct Rotation {
  C d1, d2, x1, y1;
  C flag = C(-1), h11 = C(0), h21 = C(0), h12 = C(0), h22 = C(0);

  static __device__ __forceinline__ C size_of(C value) { return value < C(0) ? -value : value; }

  __device__ void clear() {
    flag = C(-1);
    h11 = h21 = h12 = h22 = d1 = d2 = x1 = C(0);
  }

  __device__ void make() {
    if (d1 < C(0)) return clear();
    const C p2 = d2 * y1;
    if (p2 == C(0)) {
      flag = C(-2);
      return;
    }
    const C p1 = d1 * x1, q2 = p2 * y1, q1 = p1 * x1;
    if (size_of(q1) > size_of(q2)) {
      h21 = -y1 / x1;
      h12 = p2 / p1;
      const C u = C(1) - h12 * h21;
      if (!(u > C(0))) return clear();
      flag = C(0);
      d1 /= u;
      d2 /= u;
      x1 *= u;
    } else {
      if (q2 < C(0)) return clear();
      flag = C(1);
      h11 = p1 / p2;
      h22 = x1 / y1;
      const C u = C(1) + h11 * h22, before = d2 / u;
      d2 = d1 / u;
      d1 = before;
      x1 = y1 * u;
    }
    rescale(d1, h11, h12, &x1);
    rescale(d2, h21, h22, nullptr);
  }

  // All elements of the matrix are written down once it is no longer one of the two short forms.
  __device__ void write_out() {
    if (flag == C(0)) {
      h11 = h22 = C(1);
    } else if (flag == C(1)) {
      h21 = C(-1);
      h12 = C(1);
    }
    flag = C(-1);
  }

  __device__ void rescale(C& weight, C& first, C& second, C* x) {
    const C gamma = C(4096), square = gamma * gamma;
    while (weight != C(0) && size_of(weight) <= C(1) / square) {
      write_out();
      weight *= square;
      first /= gamma;
      second /= gamma;
      if (x) *x /= gamma;
    }
    while (weight - weight == C(0) && size_of(weight) >= square) {
      write_out();
      weight /= square;
      first *= gamma;
      second *= gamma;
      if (x) *x *= gamma;
    }
  }
};

__device__ __forceinline__ void run(const WrittenArguments& a) {
  using namespace rotmg;
  const long long step = a.plan.tensor[tensor::param].stride[0];
  const auto given = [&](int t) { return C(widen(*static_cast<const X*>(a.address[t]))); };
  Rotation rotation{given(tensor::d1), given(tensor::d2), given(tensor::x1), given(tensor::y1)};
  rotation.make();
  *static_cast<X*>(a.address[tensor::d1]) = Narrow<X>::of(rotation.d1);
  *static_cast<X*>(a.address[tensor::d2]) = Narrow<X>::of(rotation.d2);
  *static_cast<X*>(a.address[tensor::x1]) = Narrow<X>::of(rotation.x1);
  const C param[] = {rotation.flag, rotation.h11, rotation.h21, rotation.h12, rotation.h22};
  for (int i = 0; i < 5; ++i) static_cast<X*>(a.address[tensor::param])[i * step] = Narrow<X>::of(param[i]);
}
#endif

}  // namespace infiniop

extern "C" __global__ void run(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::run(a); }
