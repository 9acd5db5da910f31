// Losses of rows: CrossEntropy, MultiMarginLoss and TripletMarginLoss.
#include "infiniop/generated/written.h"
#include "op/cpu/written/losses.h"
#include "op/expression.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

int64_t rows_of_a_block(int64_t length) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length)); }

namespace classes {

using namespace infiniop::cross_entropy;

Split split(const WrittenPlan& plan, const double*, int) { return {plan.rest, rows_of_a_block(plan.size[size::v])}; }

template <class C>
C most_of(const C* x, int64_t count, C most) {
  C lanes[32];
  std::fill(lanes, lanes + 32, most);
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    for (int lane = 0; lane < 32; ++lane) lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] = x[i] > lanes[lane] ? x[i] : lanes[lane];
  for (const C lane : lanes) most = lane > most ? lane : most;
  return most;
}

// log(sum(exp(x))). What is not a number is no largest one, and comes through the sum.
template <class T>
double log_of_sum(const T* x, int64_t step, int64_t count) {
  using C = Wide<T>;
  C tile[kLossTile], powers[kLossTile];
  C most = -C(__builtin_inf());
  for (int64_t at = 0; at < count; at += kLossTile) {
    const int64_t some = std::min(kLossTile, count - at);
    most = most_of(computed(x + at * step, step, some, tile), some, most);
  }
  double sum = 0;
  for (int64_t at = 0; at < count; at += kLossTile) {
    const int64_t some = std::min(kLossTile, count - at);
    const C* numbers = computed(x + at * step, step, some, tile);
    for (int64_t i = 0; i < some; ++i) powers[i] = exp(numbers[i] - most);
    sum += sum_of(powers, some);
  }
  return log(sum) + double(most);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &y = plan.tensor[tensor::y], &x = plan.tensor[tensor::x], &target = plan.tensor[tensor::target];
  const int64_t step = x.stride[x.ndim - 1], length = plan.size[size::v];
  return with_float_type(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = first; row < last; ++row) {
      const T* from = call.at<const T>(tensor::x) + offset_of_rest(x, row);
      const int64_t place = integer_at(call.address[tensor::target], target.dtype, offset_of_rest(target, row));
      const bool is_class = place >= 0 && place < length;
      const double lost = is_class ? log_of_sum(from, step, length) - double(widen(from[place * step])) : 0.0;
      call.at<T>(tensor::y)[offset_of_rest(y, row)] = narrow<T>(Wide<T>(lost));
    }
    return infinirtSuccess;
  });
}

}  // namespace classes

namespace triplets {

using namespace infiniop::triplet_margin_loss;

int reduction(const double* attributes) { return static_cast<int>(attributes[attribute::reduction]); }

Split split(const WrittenPlan& plan, const double* attributes, int phase) {
  if (phase == 0) return {plan.rest, rows_of_a_block(plan.size[size::d])};
  return {reduction(attributes) == kNone ? 0 : 1, 1};
}

size_t workspace(const WrittenPlan& plan, const double* attributes) {
  return reduction(attributes) == kNone ? 0 : sizeof(double) * static_cast<size_t>(plan.rest);
}

template <class T>
double distance(const WrittenCall& call, int a, int b, int64_t row) {
  using C = Wide<T>;
  const TensorView &one = call.plan.tensor[a], &other = call.plan.tensor[b];
  const int64_t one_step = one.stride[one.ndim - 1], other_step = other.stride[other.ndim - 1];
  const T *x = call.at<const T>(a) + offset_of_rest(one, row), *y = call.at<const T>(b) + offset_of_rest(other, row);
  const C eps = C(call.attributes[attribute::eps]), p = C(call.attributes[attribute::p]);
  C tiles[2][kLossTile], powers[kLossTile];
  double sum = 0;
  for (int64_t at = 0; at < call.plan.size[size::d]; at += kLossTile) {
    const int64_t some = std::min<int64_t>(kLossTile, call.plan.size[size::d] - at);
    const C* u = computed(x + at * one_step, one_step, some, tiles[0]);
    const C* v = computed(y + at * other_step, other_step, some, tiles[1]);
    for (int64_t i = 0; i < some; ++i) powers[i] = fabs(u[i] - v[i] + eps);
    if (p == 2) {
      for (int64_t i = 0; i < some; ++i) powers[i] *= powers[i];
    } else if (p != 1) {
      for (int64_t i = 0; i < some; ++i) powers[i] = pow(powers[i], p);
    }
    sum += sum_of(powers, some);
  }
  return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1.0 / double(p));
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const int how = reduction(call.attributes);
  if (call.phase == 1) {
    finish_loss(call, plan.rest, plan.rest, how);
    return infinirtSuccess;
  }
  with_float_type(plan.tensor[tensor::anchor].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = first; row < last; ++row) {
      double far = distance<T>(call, tensor::anchor, tensor::negative, row);
      if (call.attributes[attribute::swap] != 0) {
        const double swapped = distance<T>(call, tensor::positive, tensor::negative, row);
        far = swapped < far || swapped != swapped ? swapped : far;
      }
      const double off =
          distance<T>(call, tensor::anchor, tensor::positive, row) - far + call.attributes[attribute::margin];
      const double lost = off < 0 ? 0 : off;
      if (how != kNone) {
        static_cast<double*>(call.workspace)[row] = lost;
      } else {
        call.at<T>(tensor::output)[offset_of_rest(plan.tensor[tensor::output], row)] = narrow<T>(Wide<T>(lost));
      }
    }
  });
  return infinirtSuccess;
}

}  // namespace triplets

namespace margins {

using namespace infiniop::multi_margin_loss;

int reduction(const double* attributes) { return static_cast<int>(attributes[attribute::reduction]); }

Split split(const WrittenPlan& plan, const double* attributes, int phase) {
  if (phase == 0) return {plan.rest, rows_of_a_block(plan.size[size::c])};
  return {reduction(attributes) == kNone ? 0 : 1, 1};
}

size_t workspace(const WrittenPlan& plan, const double* attributes) {
  return reduction(attributes) == kNone ? 0 : sizeof(double) * static_cast<size_t>(plan.rest);
}

// Of one row, of which the target's own term does not count.
template <class T>
double lost_by(const T* x, int64_t step, int64_t classes, int64_t target, double margin, bool squares) {
  using C = Wide<T>;
  C tile[kLossTile], terms[kLossTile];
  const C base = C(margin) - widen(x[target * step]);
  double sum = 0;
  for (int64_t at = 0; at < classes; at += kLossTile) {
    const int64_t some = std::min(kLossTile, classes - at);
    const C* numbers = computed(x + at * step, step, some, tile);
    for (int64_t i = 0; i < some; ++i) {
      const C over = base + numbers[i];
      terms[i] = over < 0 ? C(0) : over;  // what is not a number stays
    }
    if (target >= at && target < at + some) terms[target - at] = 0;
    if (squares) {
      for (int64_t i = 0; i < some; ++i) terms[i] *= terms[i];
    }
    sum += sum_of(terms, some);
  }
  return sum / static_cast<double>(classes);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const int how = reduction(call.attributes);
  if (call.phase == 1) {
    finish_loss(call, plan.rest, plan.rest, how);
    return infinirtSuccess;
  }
  const TensorView &input = plan.tensor[tensor::input], &target = plan.tensor[tensor::target],
                   &weight = plan.tensor[tensor::weight];
  const int64_t step = input.stride[input.ndim - 1], classes = plan.size[size::c];
  return with_float_type(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = first; row < last; ++row) {
      const T* from = call.at<const T>(tensor::input) + offset_of_rest(input, row);
      const int64_t place = integer_at(call.address[tensor::target], target.dtype, offset_of_rest(target, row));
      if (place < 0 || place >= classes) return refuse_index("target", place, classes);
      double lost =
          lost_by(from, step, classes, place, call.attributes[attribute::margin], call.attributes[attribute::p] == 2);
      if (weight.is_given) lost *= double(widen(call.at<const T>(tensor::weight)[place * weight.stride[0]]));
      if (how != kNone) {
        static_cast<double*>(call.workspace)[row] = lost;
      } else {
        call.at<T>(tensor::output)[offset_of_rest(plan.tensor[tensor::output], row)] = narrow<T>(Wide<T>(lost));
      }
    }
    return infinirtSuccess;
  });
}

}  // namespace margins

}  // namespace

extern const WrittenKernel cross_entropy = {classes::split, classes::run};
extern const WrittenKernel multi_margin_loss = {margins::split, margins::run, 2, margins::workspace};
extern const WrittenKernel triplet_margin_loss = {triplets::split, triplets::run, 2, triplets::workspace};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
