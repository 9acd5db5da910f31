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
constexpr int kThreads = 256;

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

bool neighbours(const double* attributes) { return attributes[attribute::algo] == 0; }

// Pairs that a thread turns of each head: those of 16 bytes.
int pairs(const WrittenPlan& plan, const double* attributes) {
  const int wide = width(plan);
  return neighbours(attributes) ? std::max(1, wide / 2) : wide;
}

// Heads that a thread takes, which have the same angles: 128 bytes of them.
int heads(const double* attributes) { return neighbours(attributes) ? 8 : 4; }

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  std::string variant =
      alias("X", plan.tensor[tensor::x].dtype) + alias("Position", plan.tensor[tensor::pos_ids].dtype) +
      alias("Sin", plan.tensor[tensor::sin_table].dtype) + alias("Cos", plan.tensor[tensor::cos_table].dtype);
  variant += "constexpr int kWidth = " + std::to_string(pairs(plan, attributes)) + ";\n";
  variant += "constexpr unsigned kHeads = " + std::to_string(heads(attributes)) + ";\n";
  variant += std::string("constexpr bool kNeighbours = ") + (neighbours(attributes) ? "true" : "false") + ";\n";
  return {variant, {"turn_vectors", "turn_elements"}, 0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const* addresses) {
  const auto bits =
      reinterpret_cast<uintptr_t>(addresses[tensor::y]) | reinterpret_cast<uintptr_t>(addresses[tensor::x]);
  const auto size = static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(plan.tensor[tensor::x].dtype)));
  const int wide = pairs(plan, attributes);
  const bool in_vectors = wide > 1 && bits % static_cast<uintptr_t>(width(plan) * size) == 0;
  const int64_t taken = heads(attributes), parts = (plan.size[size::h] + taken - 1) / taken;
  const int64_t items = plan.rest * plan.size[size::s] * parts * (plan.size[size::d] / 2) / (in_vectors ? wide : 1);
  const int64_t blocks = std::min<int64_t>(blocks_for(items, kThreads), int64_t{1} << 30);
  return {{in_vectors ? "turn_vectors" : "turn_elements",
           {static_cast<unsigned>(std::max<int64_t>(1, blocks)), 1, 1},
           {kThreads, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_rope = {kText, program, launches};

}  // namespace infiniop::nvidia
