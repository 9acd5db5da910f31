#include "op/declared.h"

#include <utility>

#include "infinirt_observe.h"
#include "op/tensor.h"

namespace infiniop {

namespace {

// From the first byte to the last, counted from the tensor's address.
struct Extent {
  int64_t first = 0;
  size_t bytes = 0;  // 0: nothing is used
  bool partly = false;
};

Extent extent_of(const Tensor& tensor) {
  if (tensor.is_empty()) return {};
  int64_t lowest = 0, highest = 0, elements = 1;  // those that are apart from one another
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const int64_t reach = static_cast<int64_t>(tensor.shape[i] - 1) * tensor.strides[i];
    (reach < 0 ? lowest : highest) += reach;
    if (reach != 0) elements *= static_cast<int64_t>(tensor.shape[i]);
  }
  const auto size = static_cast<int64_t>(size_of(tensor.dtype));
  return {lowest * size, static_cast<size_t>((highest - lowest + 1) * size), highest - lowest + 1 != elements};
}

class Declared final : public Prepared {
 public:
  Declared(std::unique_ptr<Prepared> prepared, const OperatorInfo& info, const Tensor* const* tensors)
      : prepared_(std::move(prepared)), outputs_(info.outputs), operands_(info.outputs + info.inputs) {
    for (int t = 0; t < operands_; ++t) {
      const bool is_second_half = info.halves && t == 2;  // of tensor 1, which has both
      if (tensors[t] && !is_second_half) extents_[t] = extent_of(*tensors[t]);
      // Which elements a kernel of its own touches may be in its data: pages, indices.
      extents_[t].partly |= info.kind == OperatorKind::Written;
    }
  }

  size_t workspace_size() const override { return prepared_->workspace_size(); }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace& workspace,
                         infinirtStream_t stream) const override {
    if (infinirtXObserved()) [[unlikely]]
      declare(operands, workspace);
    return prepared_->launch(plan, operands, workspace, stream);
  }

 private:
  void declare(void* const* operands, const Workspace& workspace) const {
    infinirtXAccess accesses[kMaxTensors + 1];
    int count = 0;
    for (int t = 0; t < operands_; ++t) {
      if (extents_[t].bytes == 0 || !operands[t]) continue;
      accesses[count++] = {static_cast<const char*>(operands[t]) + extents_[t].first, extents_[t].bytes, t < outputs_,
                           extents_[t].partly};
    }
    if (workspace.address && prepared_->workspace_size() > 0)
      accesses[count++] = {workspace.address, prepared_->workspace_size(), 1, 0};
    infinirtXDeclareAccess(accesses, count);
  }

  std::unique_ptr<Prepared> prepared_;
  int outputs_, operands_;
  Extent extents_[kMaxTensors];
};

}  // namespace

std::unique_ptr<Prepared> declared(std::unique_ptr<Prepared> prepared, const OperatorInfo& info,
                                   const Tensor* const* tensors) {
  return std::make_unique<Declared>(std::move(prepared), info, tensors);
}

}  // namespace infiniop
