#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::index_select;

constexpr char kText[] =
#include "infiniop/generated/index_select.cu.inc"
    ;

// The widest piece that slices can be copied in.
int64_t piece(const WrittenPlan& plan) {
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input];
  const int64_t size = element_bytes(output);
  if (!is_run(output, plan.dim + 1) || !is_run(input, plan.dim + 1)) return size;
  int64_t bits = 16 | plan.after * size;
  for (const TensorView* view : {&output, &input}) {
    for (int d = 0; d <= plan.dim; ++d) bits |= view->stride[d] * size;
  }
  return std::max(size, bits & -bits);
}

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input];
  return {alias("Index", plan.tensor[tensor::index].dtype) +
              count_type(std::max(elements_of(output), elements_of(input))) + "struct Piece16;\n" +
              moved_type("X", element_bytes(output)) + moved_type("Piece", piece(plan)),
          {"copy_pieces", "copy_elements"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const* addresses) {
  const TensorView& output = plan.tensor[tensor::output];
  const int64_t bytes = piece(plan), size = element_bytes(output);
  const bool in_pieces = is_run(output, plan.dim + 1) && is_run(plan.tensor[tensor::input], plan.dim + 1) &&
                         lies_at_multiple(addresses[tensor::output], bytes) &&
                         lies_at_multiple(addresses[tensor::input], bytes);
  return {
      threads_for(in_pieces ? "copy_pieces" : "copy_elements", elements_of(output) / (in_pieces ? bytes / size : 1))};
}

}  // namespace

extern const WrittenKernel written_index_select = {kText, program, launches};

}  // namespace infiniop::nvidia
