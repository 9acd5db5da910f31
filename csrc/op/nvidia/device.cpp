// Operators on NVIDIA's GPUs. Kernels are compiled when a descriptor needs them, by infinirtXCompile; nothing of CUDA is needed to build
// or to load this library.
#include "op/device.h"

#include "op/nvidia/chain.h"
#include "op/nvidia/element_wise.h"
#include "op/nvidia/gemm.h"
#include "op/nvidia/rows.h"
#include "op/nvidia/written.h"

namespace infiniop {

namespace nvidia {

namespace {

class NvidiaDevice final : public Device {
 public:
  const char* type() const override { return "nvidia"; }
  infiniDevice_t number() const override { return INFINI_DEVICE_NVIDIA; }

  std::unique_ptr<Prepared> prepare(const Plan& plan, infinirtError_t* error) const override {
    if (plan.info->kind == OperatorKind::Rows) return prepare_rows(plan, error);
    if (plan.info->kind == OperatorKind::Written) return prepare_written(plan, error);
    return plan.info->kind == OperatorKind::Gemm ? prepare_gemm(plan, error) : prepare_element_wise(plan, error);
  }

  std::unique_ptr<PreparedChain> prepare_chain(const ChainPlan& plan, infinirtError_t* error) const override {
    return nvidia::prepare_chain(plan, error);
  }
};

}  // namespace

}  // namespace nvidia

const Device& nvidia_device() {
  static const nvidia::NvidiaDevice device;
  return device;
}

}  // namespace infiniop
