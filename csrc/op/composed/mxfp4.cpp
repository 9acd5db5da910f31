// LinearMxfp4, FusedMoeMxfp4 and MoeFusedDense: operators that exist for weights as they are, behind what makes such of them.
#include "infiniop/generated/maps.h"
#include "infiniop/generated/written.h"
#include "op/composed.h"

namespace infiniop::composed {

namespace {

// Weights of 4 bits as numbers of a type.
Part dequantized(Composer& composer, const Part& packed, const Part& scales, infiniDtype_t dtype) {
  std::vector<size_t> shape = packed.view.shape;
  shape.back() *= 2;
  const Part weights = composer.room(dtype, shape);
  composer.call(kMxfp4DequantizeNumber, {weights, packed, scales});
  return weights;
}

}  // namespace

void linear_mxfp4(Composer& composer) {
  using namespace infiniop::linear_mxfp4;
  const Part output = composer.tensor(tensor::output), input = composer.tensor(tensor::input);
  const Part bias = composer.tensor(tensor::bias);
  const Part weights = dequantized(composer, composer.tensor(tensor::packed_weight),
                                   composer.tensor(tensor::weight_scale), input.view.dtype);
  const size_t dims = input.view.shape.size() - 1;
  const bool adds = bias.base != Part::kNone;
  const Part rows = composer.flat(input, 0, dims);
  const std::optional<Part> direct = output.merged(0, dims);
  const Part made = direct ? *direct : *composer.room(output.view.dtype, output.view.shape).merged(0, dims);
  if (adds) composer.copy(made, bias);
  composer.call(kGemmNumber, {made, rows, weights.transposed(0, 1)},
                {composer.attribute(attribute::alpha), adds ? 1.0 : 0.0});
  if (direct) return;
  Part whole = made;  // with the dimensions that the output has
  whole.view.shape = output.view.shape;
  whole.view.strides.assign(dims + 1, 1);
  for (size_t d = dims; d-- > 0;) {
    whole.view.strides[d] = whole.view.strides[d + 1] * static_cast<ptrdiff_t>(whole.view.shape[d + 1]);
  }
  composer.copy(output, whole);
}

void fused_moe_mxfp4(Composer& composer) {
  using namespace infiniop::fused_moe_mxfp4;
  const Part input = composer.tensor(tensor::input);
  const Part first =
      dequantized(composer, composer.tensor(tensor::w13_packed), composer.tensor(tensor::w13_scale), input.view.dtype);
  const Part second =
      dequantized(composer, composer.tensor(tensor::w2_packed), composer.tensor(tensor::w2_scale), input.view.dtype);
  composer.call(kFusedMoeNumber,
                {composer.tensor(tensor::output), input, composer.tensor(tensor::selected_experts),
                 composer.tensor(tensor::routing_weights), first, second, Part(), Part()},
                {composer.attribute(attribute::activation)});
}

void moe_fused_dense(Composer& composer) {
  using namespace infiniop::moe_fused_dense;
  constexpr double kSwiGLU = 1;
  composer.call(kFusedMoeNumber,
                {composer.tensor(tensor::output), composer.tensor(tensor::hidden_states),
                 composer.tensor(tensor::topk_ids), composer.tensor(tensor::topk_weights), composer.tensor(tensor::w13),
                 composer.tensor(tensor::w2), Part(), Part()},
                {kSwiGLU});
}

}  // namespace infiniop::composed
