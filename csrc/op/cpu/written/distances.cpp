// Cdist and Dist: norms of differences.
#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"
#include "op/cpu/written/losses.h"
#include "op/expression.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

constexpr int kLanes = 32;

template <class C, class Term>
double sum_of_terms(const C* u, const C* v, int64_t count, Term term) {
  C lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(fabs(u[i + lane] - v[i + lane]));
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += term(fabs(u[i] - v[i]));
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return double(lanes[0]);
}

// What is not a number is larger than all.
template <class C>
double most_of(const C* u, const C* v, int64_t count) {
  C lanes[kLanes] = {};
  const auto take = [&](int lane, int64_t i) {
    const C off = fabs(u[i] - v[i]);
    lanes[lane] = off > lanes[lane] || off != off ? off : lanes[lane];
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) take(lane, i + lane);
  }
  for (int lane = 0; i < count; ++i, ++lane) take(lane, i);
  double most = 0;
  for (const C lane : lanes) most = double(lane) > most || lane != lane ? double(lane) : most;
  return most;
}

// A norm of pieces: what a piece gives, how pieces go together, and what comes of all.
class Norm {
 public:
  explicit Norm(double p) : p_(p) {}

  template <class C>
  double of_piece(const C* u, const C* v, int64_t count) const {
    const C p = C(p_);
    if (p_ == 2) return sum_of_terms(u, v, count, [](C off) { return off * off; });
    if (p_ == 1) return sum_of_terms(u, v, count, [](C off) { return off; });
    if (p_ == 0) return sum_of_terms(u, v, count, [](C off) { return off != 0 ? C(1) : C(0); });
    if (is_largest()) return most_of(u, v, count);
    return sum_of_terms(u, v, count, [p](C off) { return pow(off, p); });
  }
  double joined(double a, double b) const { return !is_largest() ? a + b : b > a || b != b ? b : a; }
  double finished(double all) const {
    if (p_ == 2) return __builtin_sqrt(all);
    return p_ == 0 || p_ == 1 || is_largest() ? all : __builtin_pow(all, 1 / p_);
  }

 private:
  bool is_largest() const { return __builtin_isinf(p_) != 0; }

  double p_;
};

namespace pairs {

using namespace infiniop::cdist;

// Items are rows of x1.
Split split(const WrittenPlan& plan, const double*, int) {
  const int64_t work = plan.size[size::n] * std::max<int64_t>(1, plan.size[size::d]);
  return {plan.rest * plan.size[size::m], std::max<int64_t>(1, 32768 / std::max<int64_t>(1, work))};
}

template <class T>
void run_rows(const WrittenCall& call, int64_t first, int64_t last) {
  using C = Wide<T>;
  const WrittenPlan& plan = call.plan;
  const TensorView &y = plan.tensor[tensor::y], &x1 = plan.tensor[tensor::x1], &x2 = plan.tensor[tensor::x2];
  const int64_t rows = plan.size[size::m], columns = plan.size[size::n], length = plan.size[size::d];
  const int64_t step1 = x1.stride[x1.ndim - 1], step2 = x2.stride[x2.ndim - 1];
  const Norm norm(call.attributes[attribute::p]);
  C tiles[2][kLossTile];
  double sums[kLossTile];
  for (int64_t item = first; item < last; ++item) {
    const int64_t batch = item / rows, row = item % rows;
    const T* a = call.at<const T>(tensor::x1) + offset_of_rest(x1, batch) + row * x1.stride[x1.ndim - 2];
    const T* all = call.at<const T>(tensor::x2) + offset_of_rest(x2, batch);
    T* to = call.at<T>(tensor::y) + offset_of_rest(y, batch) + row * y.stride[y.ndim - 2];
    // A piece of the row is brought into the computed type once for as many columns as there are sums.
    for (int64_t begin = 0; begin < columns; begin += kLossTile) {
      const int64_t some = std::min(kLossTile, columns - begin);
      std::fill(sums, sums + some, 0.0);
      for (int64_t at = 0; at < length; at += kLossTile) {
        const int64_t count = std::min(kLossTile, length - at);
        const C* u = computed(a + at * step1, step1, count, tiles[0]);
        for (int64_t j = 0; j < some; ++j) {
          const T* b = all + (begin + j) * x2.stride[x2.ndim - 2] + at * step2;
          sums[j] = norm.joined(sums[j], norm.of_piece(u, computed(b, step2, count, tiles[1]), count));
        }
      }
      for (int64_t j = 0; j < some; ++j) to[(begin + j) * y.stride[y.ndim - 1]] = narrow<T>(C(norm.finished(sums[j])));
    }
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  with_float_type(call.plan.tensor[tensor::x1].dtype,
                  [&](auto tag) { run_rows<typename decltype(tag)::type>(call, first, last); });
  return infinirtSuccess;
}

}  // namespace pairs

namespace whole {

using namespace infiniop::dist;

// Items are pieces of all elements, each of which leaves a number in the workspace; the second phase joins them.
constexpr int64_t kPieceTiles = 16;

int64_t pieces_of(const WrittenPlan& plan) {
  return (plan.rest + kPieceTiles * kLossTile - 1) / (kPieceTiles * kLossTile);
}

Split split(const WrittenPlan& plan, const double*, int phase) {
  return phase == 0 ? Split{pieces_of(plan), 2} : Split{1, 1};
}

size_t workspace(const WrittenPlan& plan, const double*) {
  return sizeof(double) * static_cast<size_t>(pieces_of(plan));
}

template <class T>
const Wide<T>* piece_of(const WrittenCall& call, int tensor, int64_t begin, int64_t count, Wide<T>* tile) {
  const TensorView& view = call.plan.tensor[tensor];
  const T* from = call.at<const T>(tensor);
  if (is_run(view, 0)) return computed(from + begin, 1, count, tile);
  for (int64_t i = 0; i < count; ++i) tile[i] = widen(from[offset_in(view, 0, view.ndim, begin + i)]);
  return tile;
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const Norm norm(call.attributes[attribute::p]);
  auto* numbers = static_cast<double*>(call.workspace);
  with_float_type(plan.tensor[tensor::y].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    if (call.phase == 1) {
      double all = 0;
      for (int64_t piece = 0; piece < pieces_of(plan); ++piece) all = norm.joined(all, numbers[piece]);
      *call.at<T>(tensor::y) = narrow<T>(C(norm.finished(all)));
      return;
    }
    C tiles[2][kLossTile];
    for (int64_t piece = first; piece < last; ++piece) {
      double sum = 0;
      const int64_t end = std::min((piece + 1) * kPieceTiles * kLossTile, int64_t{plan.rest});
      for (int64_t at = piece * kPieceTiles * kLossTile; at < end; at += kLossTile) {
        const int64_t count = std::min(kLossTile, end - at);
        const C* u = piece_of<T>(call, tensor::x1, at, count, tiles[0]);
        const C* v = piece_of<T>(call, tensor::x2, at, count, tiles[1]);
        sum = norm.joined(sum, norm.of_piece(u, v, count));
      }
      numbers[piece] = sum;
    }
  });
  return infinirtSuccess;
}

}  // namespace whole

}  // namespace

extern const WrittenKernel cdist = {pairs::split, pairs::run};
extern const WrittenKernel dist = {whole::split, whole::run, 2, whole::workspace};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
