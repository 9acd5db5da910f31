#include "op/footprint.h"

#include "infinirt_observe.h"

namespace infiniop {

namespace {

Footprint footprint_of(const Tensor& tensor) {
  Footprint result;
  if (tensor.is_empty()) return result;
  size_t elements = 1;       // that are apart from one another
  ptrdiff_t first = 0, last = 0;  // relative to the address, in elements
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const ptrdiff_t reach = tensor.strides[d] * static_cast<ptrdiff_t>(tensor.shape[d] - 1);
    (reach < 0 ? first : last) += reach;
    if (reach != 0) elements *= tensor.shape[d];
  }
  const auto each = size_of(tensor.dtype);
  const auto span = static_cast<size_t>(last - first + 1);
  result.offset = first * static_cast<ptrdiff_t>(each);
  result.bytes = span * each;
  result.has_gaps = span != elements;
  return result;
}

}  // namespace

void note_footprints(const Tensor* const* tensors, Descriptor* descriptor) {
  const OperatorInfo& info = *descriptor->plan.info;
  for (int t = 0; t < info.tensors; ++t) {
    if (tensors[t]) descriptor->footprint[t] = footprint_of(*tensors[t]);
    // Which elements a kernel of its own touches may be in its data: pages, indices.
    descriptor->footprint[t].has_gaps |= info.kind == OperatorKind::Written;
  }
}

void declare_footprints(const Descriptor& descriptor, void* const* addresses) {
  const OperatorInfo& info = *descriptor.plan.info;
  infinirtXAccess accesses[kMaxTensors];
  int count = 0;
  const int tensors = info.halves ? 2 : info.outputs + info.inputs;
  for (int t = 0; t < tensors; ++t) {
    const Footprint& footprint = descriptor.footprint[t];
    if (!addresses[t] || footprint.bytes == 0) continue;
    accesses[count++] = {static_cast<const char*>(addresses[t]) + footprint.offset, footprint.bytes,
                         t < info.outputs ? 1 : 0, footprint.has_gaps ? 1 : 0};
  }
  infinirtXDeclareAccess(accesses, count);
}

}  // namespace infiniop
