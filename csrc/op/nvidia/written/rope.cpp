#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::rope;

constexpr char kText[] =
#include "infiniop/generated/rope.cu.inc"
    ;
constexpr int kThreads = 128;
constexpr int64_t kCachedBytes =
    32 << 20;  // of y and x together that a GPU's cache may still have for the next operator

// How many pairs a thread turns at once: elements of both halves lie side by side, in pieces of 16 bytes.
int width(const WrittenPlan& plan) {
  const auto size = static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(plan.tensor[tensor::x].dtype)));
  int64_t bits = 16 | plan.size[size::d] / 2 * size;
  for (const int t : {tensor::y, tensor::x}) {
    const TensorView& view = plan.tensor[t];
    if (view.stride[view.ndim - 1] != 1) return 1;
    for (int d = 0; d + 1 < view.ndim; ++d) bits |= view.stride[d] * size;
  }
  return static_cast<int>(std::max<int64_t>(1, (bits & -bits) / size));
}

bool streams(const WrittenPlan& plan) {
  const auto size = static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(plan.tensor[tensor::x].dtype)));
  return 2 * plan.rest * plan.size[size::s] * plan.size[size::h] * plan.size[size::d] * size > kCachedBytes;
}

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  std::string variant =
      alias("X", plan.tensor[tensor::x].dtype) + alias("Position", plan.tensor[tensor::pos_ids].dtype) +
      alias("Sin", plan.tensor[tensor::sin_table].dtype) + alias("Cos", plan.tensor[tensor::cos_table].dtype);
  variant += "constexpr int kWidth = " + std::to_string(width(plan)) + ";\n";
  variant += std::string("constexpr bool kStreams = ") + (streams(plan) ? "true" : "false") + ";\n";
  variant +=
      std::string("constexpr bool kNeighbours = ") + (attributes[attribute::algo] == 0 ? "true" : "false") + ";\n";
  return {variant, {"turn_vectors", "turn_elements"}, 0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const* addresses) {
  const auto bits =
      reinterpret_cast<uintptr_t>(addresses[tensor::y]) | reinterpret_cast<uintptr_t>(addresses[tensor::x]);
  const auto size = static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(plan.tensor[tensor::x].dtype)));
  const int wide = width(plan);
  const bool in_vectors = wide > 1 && bits % static_cast<uintptr_t>(wide * size) == 0;
  constexpr int64_t kHeads = 4;  // that a thread takes: as in rope.cu
  const int64_t parts = (plan.size[size::h] + kHeads - 1) / kHeads;
  const int64_t items = plan.rest * plan.size[size::s] * parts * (plan.size[size::d] / 2) / (in_vectors ? wide : 1);
  const int64_t blocks = std::min<int64_t>(blocks_for(items, kThreads), int64_t{1} << 30);
  return {{in_vectors ? "turn_vectors" : "turn_elements",
           {static_cast<unsigned>(std::max<int64_t>(1, blocks)), 1, 1},
           {kThreads, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_rope = {kText, program, launches};

}  // namespace infiniop::nvidia
