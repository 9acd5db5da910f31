// Each element of one tensor times the whole other one: element-wise, in twice as many dimensions.
#include "infiniop/generated/maps.h"
#include "infiniop/generated/written.h"
#include "op/composed.h"

namespace infiniop::composed {

void kron(Composer& composer) {
  using namespace infiniop::kron;
  const Part y = composer.tensor(tensor::y);
  const size_t dims = y.view.shape.size();
  // Both with as many dimensions as the result, the first ones of size 1.
  Part factors[] = {composer.tensor(tensor::x1), composer.tensor(tensor::x2)};
  for (Part& factor : factors) {
    while (factor.view.shape.size() < dims) factor = factor.with_dimension(0);
  }
  Part made = y, parts[] = {factors[0], factors[1]};
  made.view.shape.clear();
  made.view.strides.clear();
  for (int f = 0; f < 2; ++f) {
    parts[f].view.shape.clear();
    parts[f].view.strides.clear();
  }
  for (size_t d = 0; d < dims; ++d) {
    const size_t sizes[] = {factors[0].size(d), factors[1].size(d)};
    for (int f = 0; f < 2; ++f) {
      made.view.shape.push_back(sizes[f]);
      made.view.strides.push_back(y.view.strides[d] * (f == 0 ? static_cast<ptrdiff_t>(sizes[1]) : 1));
      for (int other = 0; other < 2; ++other) {
        parts[other].view.shape.push_back(other == f ? sizes[f] : 1);
        parts[other].view.strides.push_back(other == f ? factors[f].view.strides[d] : 1);
      }
    }
  }
  composer.call(kMulNumber, {made, parts[0], parts[1]});
}

}  // namespace infiniop::composed
