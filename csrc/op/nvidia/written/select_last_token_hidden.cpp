#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::select_last_token_hidden;

constexpr char kText[] =
#include "infiniop/generated/index_select.cu.inc"
    ;

bool lies_in_rows(const WrittenPlan& plan) {
  const TensorView &output = plan.tensor[tensor::output], &hidden = plan.tensor[tensor::hidden_states];
  return is_run(output, 2) && is_run(hidden, hidden.ndim - 1);
}

// The widest piece that rows can be copied in.
int64_t piece(const WrittenPlan& plan) {
  const TensorView &output = plan.tensor[tensor::output], &hidden = plan.tensor[tensor::hidden_states];
  const int64_t size = element_bytes(output);
  if (!lies_in_rows(plan)) return size;
  int64_t bits = 16 | plan.size[size::d] * size | output.stride[1] * size;
  for (int d = 0; d + 1 < hidden.ndim; ++d) bits |= hidden.stride[d] * size;
  return std::max(size, bits & -bits);
}

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const TensorView &output = plan.tensor[tensor::output], &hidden = plan.tensor[tensor::hidden_states];
  return {"#define INFINIOP_LAST_TOKENS\n" + alias("Index", plan.tensor[tensor::input_offsets].dtype) +
              count_type(std::max(elements_of(output), elements_of(hidden))) + "struct Piece16;\n" +
              moved_type("X", element_bytes(output)) + moved_type("Piece", piece(plan)),
          {"copy_pieces", "copy_elements"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const* addresses) {
  const TensorView& output = plan.tensor[tensor::output];
  const int64_t bytes = piece(plan), size = element_bytes(output);
  const bool in_pieces = lies_in_rows(plan) && lies_at_multiple(addresses[tensor::output], bytes) &&
                         lies_at_multiple(addresses[tensor::hidden_states], bytes);
  return {
      threads_for(in_pieces ? "copy_pieces" : "copy_elements", elements_of(output) / (in_pieces ? bytes / size : 1))};
}

}  // namespace

extern const WrittenKernel written_select_last_token_hidden = {kText, program, launches};

}  // namespace infiniop::nvidia
