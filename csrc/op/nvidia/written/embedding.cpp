#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::embedding;

constexpr char kText[] =
#include "infiniop/generated/embedding.cu.inc"
    ;

// The widest piece that rows can be copied in: of bytes that lie side by side, at such addresses.
int64_t piece(const WrittenPlan& plan, int64_t address_bits) {
  const TensorView &output = plan.tensor[tensor::output], &weight = plan.tensor[tensor::weight];
  const auto size = static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(output.dtype)));
  if (output.stride[output.ndim - 1] != 1 || weight.stride[1] != 1) return size;
  int64_t bits = address_bits | plan.size[size::d] * size | weight.stride[0] * size | 16;
  for (int d = 0; d + 1 < output.ndim; ++d) bits |= output.stride[d] * size;
  return std::max(size, bits & -bits);
}

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("Index", plan.tensor[tensor::input].dtype),
          {"copy_rows_1", "copy_rows_2", "copy_rows_4", "copy_rows_8", "copy_rows_16"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const* addresses) {
  const auto bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(addresses[tensor::output]) |
                                         reinterpret_cast<uintptr_t>(addresses[tensor::weight]));
  const int64_t bytes = piece(plan, bits);
  const auto size = static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(plan.tensor[tensor::output].dtype)));
  const int64_t pieces = plan.size[size::d] * size / bytes;
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>((pieces + 31) / 32 * 32, 32, 256));
  return {{"copy_rows_" + std::to_string(bytes),
           {static_cast<unsigned>(std::min<int64_t>(plan.rest, 1 << 20)), 1, 1},
           {threads, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_embedding = {kText, program, launches};

}  // namespace infiniop::nvidia
