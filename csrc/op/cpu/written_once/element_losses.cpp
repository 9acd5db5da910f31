// Losses of single elements, and their mean or sum. Of all of them tensor 0 is the result, and 1 to 4 are inputs.
#include "infiniop/generated/written.h"
#include "op/cpu/written/logarithm.h"
#include "op/cpu/written/losses.h"
#include "op/cpu/written/runs.h"
#include "op/expression.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

constexpr int64_t kChunk = 16384;
constexpr int kMostInputs = 4;

struct Huber {
  static constexpr int kInputs = 2, kReduction = huber_loss::attribute::reduction;
  template <class C>
  static void of(const C* const* in, const double* attributes, int64_t count, C* __restrict to) {
    const C *input = in[0], *target = in[1];
    const C delta = C(attributes[huber_loss::attribute::delta]);
    for (int64_t i = 0; i < count; ++i) {
      const C off = fabs(input[i] - target[i]);
      const C inside = C(0.5) * off * off, outside = delta * (off - C(0.5) * delta);
      to[i] = off <= delta ? inside : outside;
    }
  }
};

struct SmoothL1 {
  static constexpr int kInputs = 2, kReduction = smooth_l1_loss::attribute::reduction;
  template <class C>
  static void of(const C* const* in, const double* attributes, int64_t count, C* __restrict to) {
    const C *input = in[0], *target = in[1];
    const C beta = C(attributes[smooth_l1_loss::attribute::beta]), half = C(0.5) / (beta > 0 ? beta : C(1));
    for (int64_t i = 0; i < count; ++i) {
      const C off = fabs(input[i] - target[i]);
      const C inside = off * off * half, outside = off - C(0.5) * beta;
      to[i] = off < beta ? inside : outside;
    }
  }
};

struct BinaryCrossEntropy {
  static constexpr int kInputs = 4, kReduction = binary_cross_entropy_with_logits::attribute::reduction;
  template <class C>
  static void of(const C* const* in, const double*, int64_t count, C* __restrict to) {
    const C *logits = in[0], *target = in[1], *weight = in[2], *pos_weight = in[3];
    for (int64_t i = 0; i < count; ++i) {
      const C x = logits[i], below = x < 0 ? -x : C(0);
      const C softplus = logarithm_of_one_and(exp(-fabs(x))) + below;
      const C positive = C(1) + (pos_weight[i] - C(1)) * target[i];
      to[i] = ((C(1) - target[i]) * x + positive * softplus) * weight[i];
    }
  }
};

struct GaussianNll {
  static constexpr int kInputs = 3, kReduction = gaussian_nll_loss::attribute::reduction;
  template <class C>
  static void of(const C* const* in, const double* attributes, int64_t count, C* __restrict to) {
    const C *input = in[0], *target = in[1], *var = in[2];
    const C eps = C(attributes[gaussian_nll_loss::attribute::eps]);
    const C constant = C(attributes[gaussian_nll_loss::attribute::full] != 0 ? 0.91893853320467274178 : 0.0);
    for (int64_t i = 0; i < count; ++i) {
      const C spread = var[i] < eps ? eps : var[i], off = input[i] - target[i];
      to[i] = C(0.5) * (logarithm(spread) + off * off / spread) + constant;
    }
  }
};

struct HingeEmbedding {
  static constexpr int kInputs = 2, kReduction = hinge_embedding_loss::attribute::reduction;
  template <class C>
  static void of(const C* const* in, const double* attributes, int64_t count, C* __restrict to) {
    const C *input = in[0], *target = in[1];
    const C margin = C(attributes[hinge_embedding_loss::attribute::margin]);
    for (int64_t i = 0; i < count; ++i) {
      const C left = margin - input[i], apart = left < 0 ? C(0) : left;
      to[i] = (target[i] != C(-1) ? input[i] : C(0)) + (target[i] != C(1) ? apart : C(0));
    }
  }
};

template <class Loss>
struct Kernel {
  static int64_t elements(const WrittenPlan& plan) { return elements_of(plan.tensor[1]); }
  static int64_t chunks(const WrittenPlan& plan) { return (elements(plan) + kChunk - 1) / kChunk; }
  static int reduction(const double* attributes) { return static_cast<int>(attributes[Loss::kReduction]); }

  // The losses, or their sums of each chunk; then what these come to.
  static Split split(const WrittenPlan& plan, const double* attributes, int phase) {
    if (phase == 0) return {chunks(plan), 1};
    return {reduction(attributes) == kNone ? 0 : 1, 1};
  }

  static size_t workspace(const WrittenPlan& plan, const double* attributes) {
    return reduction(attributes) == kNone ? 0 : sizeof(double) * static_cast<size_t>(chunks(plan));
  }

  // One chunk; the sum of its losses where they are not written.
  template <class T>
  static double some(const WrittenCall& call, const TensorView (&views)[kMostInputs + 1], int64_t first, int64_t last) {
    using C = Wide<T>;
    const bool is_reduced = reduction(call.attributes) != kNone;
    C tiles[Loss::kInputs][kLossTile], losses[kLossTile];
    double sum = 0;
    each_run({&views[0], &views[1], &views[2], &views[3], &views[4]}, first, last,
             [&](const Run<kMostInputs + 1>& run) {
               for (int64_t at = 0; at < run.count; at += kLossTile) {
                 const int64_t count = std::min(kLossTile, run.count - at);
                 const C* in[Loss::kInputs];
                 for (int t = 0; t < Loss::kInputs; ++t) {
                   if (call.plan.tensor[1 + t].is_given) {
                     const T* from = call.at<const T>(1 + t) + run.offset[1 + t] + at * run.step[1 + t];
                     in[t] = computed(from, run.step[1 + t], count, tiles[t]);
                   } else {  // weights of 1
                     std::fill(tiles[t], tiles[t] + count, C(1));
                     in[t] = tiles[t];
                   }
                 }
                 if (is_reduced) {
                   Loss::of(in, call.attributes, count, losses);
                   sum += sum_of(losses, count);
                   continue;
                 }
                 T* to = call.at<T>(0) + run.offset[0] + at * run.step[0];
                 if constexpr (__is_same(T, C)) {
                   if (run.step[0] == 1) {
                     Loss::of(in, call.attributes, count, to);
                     continue;
                   }
                 }
                 Loss::of(in, call.attributes, count, losses);
                 if (run.step[0] == 1) {
                   for (int64_t i = 0; i < count; ++i) to[i] = narrow<T>(losses[i]);
                 } else {
                   for (int64_t i = 0; i < count; ++i) to[i * run.step[0]] = narrow<T>(losses[i]);
                 }
               }
             });
    return sum;
  }

  static infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
    const WrittenPlan& plan = call.plan;
    const int how = reduction(call.attributes);
    if (call.phase == 1) {
      finish_loss(call, chunks(plan), elements(plan), how);
      return infinirtSuccess;
    }
    TensorView views[kMostInputs + 1];
    for (int t = 0; t <= kMostInputs; ++t) {
      const bool is_there = t <= Loss::kInputs && plan.tensor[t].is_given && (t > 0 || how == kNone);
      views[t] = is_there ? repeated(plan.tensor[t], plan.tensor[1]) : plan.tensor[1];
    }
    with_float_type(plan.tensor[1].dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t chunk = first; chunk < last; ++chunk) {
        const double sum = some<T>(call, views, chunk * kChunk, std::min((chunk + 1) * kChunk, elements(plan)));
        if (how != kNone) static_cast<double*>(call.workspace)[chunk] = sum;
      }
    });
    return infinirtSuccess;
  }

  static constexpr WrittenKernel kernel() { return {split, run, 2, workspace}; }
};

}  // namespace

extern const WrittenKernel huber_loss = Kernel<Huber>::kernel();
extern const WrittenKernel smooth_l1_loss = Kernel<SmoothL1>::kernel();
extern const WrittenKernel binary_cross_entropy_with_logits = Kernel<BinaryCrossEntropy>::kernel();
extern const WrittenKernel gaussian_nll_loss = Kernel<GaussianNll>::kernel();
extern const WrittenKernel hinge_embedding_loss = Kernel<HingeEmbedding>::kernel();

}  // namespace infiniop::cpu::INFINIOP_LEVEL
