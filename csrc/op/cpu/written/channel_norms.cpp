// Normalisations of channels. Elements are read in runs that lie along one dimension; the moments of a run are computed in the first-level
// cache and put together in double, so that memory is read twice: for the statistics, and for the results.
#include <algorithm>
#include <cmath>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

constexpr int64_t kRun = 1024;
constexpr int kLanes = 16;

// A tensor (batch, channels, rest): the rest as `lines` of `length` elements that are `step` apart.
struct Layout {
  int64_t batch_stride, channel_stride, lines, length, step;
  const TensorView* view;
  int line_dims;

  explicit Layout(const TensorView& of) : batch_stride(of.stride[0]), channel_stride(of.stride[1]), view(&of) {
    int d = of.ndim - 1;
    length = d >= 2 ? of.shape[d] : 1;
    step = d >= 2 ? of.stride[d] : 1;
    for (--d; d >= 2 && of.stride[d] == of.stride[d + 1] * of.shape[d + 1]; --d) length *= of.shape[d];
    keep(std::max(0, d - 1));
  }
  // With lines of the last dimension alone.
  void cut() {
    length = view->shape[view->ndim - 1];
    keep(view->ndim - 3);
  }
  void keep(int dims) {
    line_dims = dims;
    lines = 1;
    for (int i = 2; i < 2 + dims; ++i) lines *= view->shape[i];
  }
  int64_t line(int64_t number) const { return offset_in(*view, 2, line_dims, number); }
};

// Both in the same lines.
void agree(Layout* a, Layout* b) {
  if (a->length == b->length) return;
  a->cut();
  b->cut();
}

struct Moments {
  double count = 0, mean = 0, squares = 0;  // the sum of squared distances from the mean

  void add(double more, double mean_of_more, double squares_of_more) {
    if (more == 0) return;
    const double all = count + more, distance = mean_of_more - mean;
    mean += distance * more / all;
    squares += squares_of_more + distance * distance * count * more / all;
    count = all;
  }
  double variance() const { return squares / count; }
};

template <class S, class C>
double sum_of(const C* x, int64_t count) {
  S lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += S(x[i + l]);
  }
  double sum = 0;
  for (int l = 0; l < kLanes; ++l) sum += double(lanes[l]);
  for (; i < count; ++i) sum += double(x[i]);
  return sum;
}

template <class S, class C>
double squares_of(const C* x, int64_t count, S mean) {
  S lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += (S(x[i + l]) - mean) * (S(x[i + l]) - mean);
  }
  double sum = 0;
  for (int l = 0; l < kLanes; ++l) sum += double(lanes[l]);
  for (; i < count; ++i) sum += double((S(x[i]) - mean) * (S(x[i]) - mean));
  return sum;
}

// Brings elements together until there is a run of them. Sums of a run are in S: in double where they are results themselves.
template <class T, class S = Wide<T>>
class Statistics {
 public:
  using C = Wide<T>;

  void add(const T* x, int64_t step, int64_t count) {
    for (int64_t at = 0; at < count;) {
      const int64_t taken = std::min(count - at, kRun - held_);
      C* to = run_ + held_;
      if (step == 1) {
        for (int64_t i = 0; i < taken; ++i) to[i] = C(widen(x[at + i]));
      } else {
        for (int64_t i = 0; i < taken; ++i) to[i] = C(widen(x[(at + i) * step]));
      }
      at += taken;
      if ((held_ += taken) == kRun) finish();
    }
  }
  Moments result() {
    finish();
    return moments_;
  }

 private:
  void finish() {
    if (held_ == 0) return;
    const double exact = sum_of<S>(run_, held_) / double(held_);
    const S mean = S(exact);
    // The mean is rounded, and the sum of distances from it is not 0.
    const double correction = exact - double(mean);
    const double squares = squares_of<S>(run_, held_, mean) - double(held_) * correction * correction;
    moments_.add(double(held_), exact, squares);
    held_ = 0;
  }

  C run_[kRun];
  int64_t held_ = 0;
  Moments moments_;
};

// y = (x - mean) * scale + shift
template <class T, class C>
void apply(T* y, int64_t y_step, const T* x, int64_t x_step, int64_t count, C mean, C scale, C shift) {
  if (x_step == 1 && y_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = narrow<T>((C(widen(x[i])) - mean) * scale + shift);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i * y_step] = narrow<T>((C(widen(x[i * x_step])) - mean) * scale + shift);
  }
}

// A number of a channel, in whatever type; `otherwise` where there are none.
double channel_number(const WrittenCall& call, int tensor, int64_t channel, double otherwise) {
  const TensorView& view = call.plan.tensor[tensor];
  if (!view.is_given) return otherwise;
  return with_float_type(view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return double(widen(call.at<const T>(tensor)[channel * view.stride[0]]));
  });
}

void put_channel_number(const WrittenCall& call, int tensor, int64_t channel, double value) {
  const TensorView& view = call.plan.tensor[tensor];
  with_float_type(view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    call.at<T>(tensor)[channel * view.stride[0]] = narrow<T>(Wide<T>(value));
  });
}

int64_t worth(int64_t elements) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, elements)); }

// ---- batch_norm: an item is a channel of one batch.

Split split_batch_norm(const WrittenPlan& plan, const double*, int) {
  return {plan.size[batch_norm::size::b] * plan.size[batch_norm::size::c], worth(plan.rest)};
}

infinirtError_t run_batch_norm(const WrittenCall& call, int64_t first, int64_t last) {
  namespace at = batch_norm::tensor;
  Layout x(call.plan.tensor[at::x]), y(call.plan.tensor[at::y]);
  agree(&x, &y);
  const int64_t channels = call.plan.size[batch_norm::size::c];
  const double eps = call.attributes[batch_norm::attribute::eps];
  with_float_type(call.plan.tensor[at::x].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    for (int64_t item = first; item < last; ++item) {
      const int64_t batch = item / channels, c = item % channels;
      const double scale =
          channel_number(call, at::weight, c, 1) / std::sqrt(channel_number(call, at::var, c, 1) + eps);
      const C mean = C(channel_number(call, at::mean, c, 0)), shift = C(channel_number(call, at::bias, c, 0));
      const T* from = call.at<const T>(at::x) + batch * x.batch_stride + c * x.channel_stride;
      T* to = call.at<T>(at::y) + batch * y.batch_stride + c * y.channel_stride;
      for (int64_t line = 0; line < x.lines; ++line) {
        apply(to + y.line(line), y.step, from + x.line(line), x.step, x.length, mean, C(scale), shift);
      }
    }
  });
  return infinirtSuccess;
}

// ---- batch_norm_training: an item is a channel.

Split split_training(const WrittenPlan& plan, const double*, int) {
  const int64_t elements = plan.rest * plan.size[batch_norm_training::size::b];
  return {elements == 0 ? 0 : plan.size[batch_norm_training::size::c], worth(elements)};
}

template <class T, class S>
Moments moments_of(const T* from, const Layout& x, int64_t batches) {
  Statistics<T, S> statistics;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t line = 0; line < x.lines; ++line) {
      statistics.add(from + b * x.batch_stride + x.line(line), x.step, x.length);
    }
  }
  return statistics.result();
}

infinirtError_t run_training(const WrittenCall& call, int64_t first, int64_t last) {
  namespace at = batch_norm_training::tensor;
  namespace given = batch_norm_training::attribute;
  Layout x(call.plan.tensor[at::x]), y(call.plan.tensor[at::y]);
  agree(&x, &y);
  const int64_t batches = call.plan.size[batch_norm_training::size::b];
  const double eps = call.attributes[given::eps], momentum = call.attributes[given::momentum];
  const bool in_double = call.plan.tensor[at::running_mean].dtype == INFINI_DTYPE_F64 ||
                         call.plan.tensor[at::running_var].dtype == INFINI_DTYPE_F64;
  with_float_type(call.plan.tensor[at::x].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    for (int64_t c = first; c < last; ++c) {
      const T* from = call.at<const T>(at::x) + c * x.channel_stride;
      T* to = call.at<T>(at::y) + c * y.channel_stride;
      const Moments moments = in_double ? moments_of<T, double>(from, x, batches) : moments_of<T, C>(from, x, batches);
      const double scale = channel_number(call, at::weight, c, 1) / std::sqrt(moments.variance() + eps);
      const C shift = C(channel_number(call, at::bias, c, 0));
      for (int64_t b = 0; b < batches; ++b) {
        for (int64_t line = 0; line < x.lines; ++line) {
          apply(to + b * y.batch_stride + y.line(line), y.step, from + b * x.batch_stride + x.line(line), x.step,
                x.length, C(moments.mean), C(scale), shift);
        }
      }
      const double kept = 1 - momentum, unbiased = moments.squares / (moments.count - 1);
      put_channel_number(call, at::running_mean, c,
                         kept * channel_number(call, at::running_mean, c, 0) + momentum * moments.mean);
      put_channel_number(call, at::running_var, c,
                         kept * channel_number(call, at::running_var, c, 0) + momentum * unbiased);
    }
  });
  return infinirtSuccess;
}

// ---- group_norm: an item is a group of one batch.

Split split_group_norm(const WrittenPlan& plan, const double* attributes, int) {
  const auto groups = static_cast<int64_t>(attributes[group_norm::attribute::num_groups]);
  return {plan.size[group_norm::size::b] * groups, worth(plan.rest * plan.size[group_norm::size::c] / groups)};
}

infinirtError_t run_group_norm(const WrittenCall& call, int64_t first, int64_t last) {
  namespace at = group_norm::tensor;
  Layout x(call.plan.tensor[at::x]), y(call.plan.tensor[at::y]);
  agree(&x, &y);
  const auto groups = static_cast<int64_t>(call.attributes[group_norm::attribute::num_groups]);
  const int64_t channels = call.plan.size[group_norm::size::c] / groups;
  const double eps = call.attributes[group_norm::attribute::eps];
  with_float_type(call.plan.tensor[at::x].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    for (int64_t item = first; item < last; ++item) {
      const int64_t batch = item / groups, from_channel = item % groups * channels;
      const T* from = call.at<const T>(at::x) + batch * x.batch_stride;
      T* to = call.at<T>(at::y) + batch * y.batch_stride;
      Statistics<T> statistics;
      for (int64_t c = from_channel; c < from_channel + channels; ++c) {
        for (int64_t line = 0; line < x.lines; ++line) {
          statistics.add(from + c * x.channel_stride + x.line(line), x.step, x.length);
        }
      }
      const Moments moments = statistics.result();
      const double scale = 1 / std::sqrt(moments.variance() + eps);
      for (int64_t c = from_channel; c < from_channel + channels; ++c) {
        const C factor = C(scale * channel_number(call, at::weight, c, 1)),
                shift = C(channel_number(call, at::bias, c, 0));
        for (int64_t line = 0; line < x.lines; ++line) {
          apply(to + c * y.channel_stride + y.line(line), y.step, from + c * x.channel_stride + x.line(line), x.step,
                x.length, C(moments.mean), factor, shift);
        }
      }
    }
  });
  return infinirtSuccess;
}

// ---- local_response_norm: an item is a channel of one batch.

Split split_response(const WrittenPlan& plan, const double*, int) {
  return {plan.size[local_response_norm::size::b] * plan.size[local_response_norm::size::c], worth(16 * plan.rest)};
}

infinirtError_t run_response(const WrittenCall& call, int64_t first, int64_t last) {
  namespace at = local_response_norm::tensor;
  namespace given = local_response_norm::attribute;
  Layout x(call.plan.tensor[at::x]), y(call.plan.tensor[at::y]);
  agree(&x, &y);
  const int64_t channels = call.plan.size[local_response_norm::size::c];
  const auto size = static_cast<int64_t>(call.attributes[given::size]);
  const double alpha = call.attributes[given::alpha], beta = call.attributes[given::beta],
               k = call.attributes[given::k];
  with_float_type(call.plan.tensor[at::x].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    C sum[kRun];
    const C factor = C(alpha / double(size)), power = C(-beta), constant = C(k);
    for (int64_t item = first; item < last; ++item) {
      const int64_t batch = item / channels, c = item % channels;
      const int64_t begin = std::max<int64_t>(0, c - size / 2), end = std::min(channels, c + (size - 1) / 2 + 1);
      const T* from = call.at<const T>(at::x) + batch * x.batch_stride;
      T* to = call.at<T>(at::y) + batch * y.batch_stride + c * y.channel_stride;
      for (int64_t line = 0; line < x.lines; ++line) {
        for (int64_t piece = 0; piece < x.length; piece += kRun) {
          const int64_t count = std::min(kRun, x.length - piece);
          const int64_t offset = x.line(line) + piece * x.step;
          std::fill_n(sum, count, C(0));
          for (int64_t other = begin; other < end; ++other) {
            const T* row = from + other * x.channel_stride + offset;
            for (int64_t i = 0; i < count; ++i) sum[i] += C(widen(row[i * x.step])) * C(widen(row[i * x.step]));
          }
          const T* row = from + c * x.channel_stride + offset;
          T* result = to + y.line(line) + piece * y.step;
          for (int64_t i = 0; i < count; ++i) {
            result[i * y.step] = narrow<T>(C(widen(row[i * x.step])) * std::pow(sum[i] * factor + constant, power));
          }
        }
      }
    }
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel batch_norm = {split_batch_norm, run_batch_norm};
extern const WrittenKernel batch_norm_training = {split_training, run_training};
extern const WrittenKernel group_norm = {split_group_norm, run_group_norm};
extern const WrittenKernel local_response_norm = {split_response, run_response};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
