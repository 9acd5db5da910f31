// Five operators share one text, in which they have numbers.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/element_losses.cu.inc"
    ;
constexpr int kThreads = 256;  // as elements.h
constexpr int kSums = 1024;  // blocks that sum up

template <int Loss, int Reduction>
WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  const bool is_mean = attributes[Reduction] == 1;
  std::string variant = alias("X", plan.tensor[1].dtype);
  variant += "constexpr int kLoss = " + std::to_string(Loss) + ", kSums = " + std::to_string(kSums) + ";\n";
  variant += std::string("constexpr bool kIsMean = ") + (is_mean ? "true" : "false") + ";\n";
  return {variant,
          {"write_losses", "sum_losses", "finish_losses"},
          attributes[Reduction] == 0 ? size_t{0} : size_t{8} * kSums};
}

template <int Reduction>
std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  int64_t elements = 1;
  for (int d = 0; d < plan.tensor[1].ndim; ++d) elements *= plan.tensor[1].shape[d];
  if (attributes[Reduction] == 0) {
    const int64_t blocks = std::clamp<int64_t>((elements + kThreads - 1) / kThreads, 1, 1 << 20);
    return {{"write_losses", {static_cast<unsigned>(blocks), 1, 1}, {kThreads, 1, 1}}};
  }
  // All blocks, so that none of the sums is left as it was.
  return {{"sum_losses", {kSums, 1, 1}, {kThreads, 1, 1}}, {"finish_losses", {1, 1, 1}, {kThreads, 1, 1}}};
}

template <int Loss, int Reduction>
constexpr WrittenKernel kernel() {
  return {kText, program<Loss, Reduction>, launches<Reduction>};
}

}  // namespace

extern const WrittenKernel written_huber_loss = kernel<0, huber_loss::attribute::reduction>();
extern const WrittenKernel written_smooth_l1_loss = kernel<1, smooth_l1_loss::attribute::reduction>();
extern const WrittenKernel written_binary_cross_entropy_with_logits =
    kernel<2, binary_cross_entropy_with_logits::attribute::reduction>();
extern const WrittenKernel written_gaussian_nll_loss = kernel<3, gaussian_nll_loss::attribute::reduction>();
extern const WrittenKernel written_hinge_embedding_loss = kernel<4, hinge_embedding_loss::attribute::reduction>();

}  // namespace infiniop::nvidia
