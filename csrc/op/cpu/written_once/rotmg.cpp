#include <cmath>

#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::rotmg;

constexpr double kGamma = 4096;  // weights are kept between one over its square and its square

// BLAS's modified Givens rotation: `param` makes the second component of (sqrt(d1) * x1, sqrt(d2) * y1) zero.
template <class C>
struct Rotation {
  C d1, d2, x1, y1;
  C flag = -1, h11 = 0, h21 = 0, h12 = 0, h22 = 0;

  void clear() {
    flag = -1;
    h11 = h21 = h12 = h22 = d1 = d2 = x1 = 0;
  }

  void make() {
    if (d1 < 0) return clear();
    const C p2 = d2 * y1;
    if (p2 == 0) {
      flag = -2;
      return;
    }
    const C p1 = d1 * x1, q2 = p2 * y1, q1 = p1 * x1;
    if (std::fabs(q1) > std::fabs(q2)) {
      h21 = -y1 / x1;
      h12 = p2 / p1;
      const C u = 1 - h12 * h21;
      if (!(u > 0)) return clear();
      flag = 0;
      d1 /= u;
      d2 /= u;
      x1 *= u;
    } else {
      if (q2 < 0) return clear();
      flag = 1;
      h11 = p1 / p2;
      h22 = x1 / y1;
      const C u = 1 + h11 * h22, before = d2 / u;
      d2 = d1 / u;
      d1 = before;
      x1 = y1 * u;
    }
    rescale(d1, h11, h12, &x1);
    rescale(d2, h21, h22, nullptr);
  }

  // All elements of the matrix are written down once it is no longer one of the two short forms.
  void write_out() {
    if (flag == 0) {
      h11 = h22 = 1;
    } else if (flag == 1) {
      h21 = -1;
      h12 = 1;
    }
    flag = -1;
  }

  void rescale(C& weight, C& first, C& second, C* x) {
    const C gamma = C(kGamma), square = gamma * gamma;
    while (weight != 0 && std::fabs(weight) <= 1 / square) {
      write_out();
      weight *= square;
      first /= gamma;
      second /= gamma;
      if (x) *x /= gamma;
    }
    while (std::isfinite(weight) && std::fabs(weight) >= square) {
      write_out();
      weight /= square;
      first *= gamma;
      second *= gamma;
      if (x) *x *= gamma;
    }
  }
};

Split split(const WrittenPlan&, const double*, int) { return {1, 1}; }

infinirtError_t run(const WrittenCall& call, int64_t, int64_t) {
  const int64_t step = call.plan.tensor[tensor::param].stride[0];
  with_float_type(call.plan.tensor[tensor::d1].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    const auto given = [&](int t) { return C(widen(*call.at<const T>(t))); };
    Rotation<C> rotation{given(tensor::d1), given(tensor::d2), given(tensor::x1), given(tensor::y1)};
    rotation.make();
    *call.at<T>(tensor::d1) = narrow<T>(rotation.d1);
    *call.at<T>(tensor::d2) = narrow<T>(rotation.d2);
    *call.at<T>(tensor::x1) = narrow<T>(rotation.x1);
    const C param[] = {rotation.flag, rotation.h11, rotation.h21, rotation.h12, rotation.h22};
    for (int i = 0; i < 5; ++i) call.at<T>(tensor::param)[i * step] = narrow<T>(param[i]);
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel rotmg = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
