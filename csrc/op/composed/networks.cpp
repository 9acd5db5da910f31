// FusedFFN: the second half of a layer; and TripletMarginWithDistanceLoss, whose distance is that of TripletMarginLoss.
#include "infiniop/generated/maps.h"
#include "infiniop/generated/written.h"
#include "op/composed.h"

namespace infiniop::composed {

void fused_ffn(Composer& composer) {
  using namespace infiniop::fused_ffn;
  const Part out = composer.tensor(tensor::out), in = composer.tensor(tensor::in);
  const Part residual = composer.tensor(tensor::residual);
  const infiniDtype_t dtype = in.view.dtype;
  const size_t tokens = in.size(0), inner = composer.tensor(tensor::down_weight).size(1);
  const Part normed = composer.room(dtype, in.view.shape);
  composer.call(kRMSNormNumber, {normed, in, composer.tensor(tensor::norm_weight)},
                {composer.attribute(attribute::epsilon)});
  const Part both = composer.room(dtype, {tokens, 2 * inner}), hidden = composer.room(dtype, {tokens, inner});
  composer.call(kGemmNumber, {both, normed, composer.tensor(tensor::gate_up_weight).transposed(0, 1)}, {1, 0});
  Part gate = both, up = both;
  gate.view.shape[1] = up.view.shape[1] = inner;
  up.offset += static_cast<int64_t>(inner * size_of(dtype));
  composer.call(kSwiGLUNumber, {hidden, up, gate});
  const bool adds = residual.base != Part::kNone;
  if (adds) composer.copy(out, residual);
  composer.call(kGemmNumber, {out, hidden, composer.tensor(tensor::down_weight).transposed(0, 1)},
                {1, adds ? 1.0 : 0.0});
}

void triplet_margin_with_distance_loss(Composer& composer) {
  using namespace infiniop::triplet_margin_with_distance_loss;
  constexpr double kSecondNorm = 2, kEps = 1e-6f;
  composer.call(kTripletMarginLossNumber,
                {composer.tensor(tensor::output), composer.tensor(tensor::anchor), composer.tensor(tensor::positive),
                 composer.tensor(tensor::negative)},
                {composer.attribute(attribute::margin), kSecondNorm, kEps, composer.attribute(attribute::swap),
                 composer.attribute(attribute::reduction)});
}

}  // namespace infiniop::composed
