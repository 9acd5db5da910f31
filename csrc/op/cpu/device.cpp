// Operators on the CPU device.
#include "op/device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "infiniop/generated/maps.h"
#include "op/cpu/chain.h"
#include "op/cpu/gemm.h"
#include "op/cpu/kernel.h"
#include "op/cpu/rows.h"
#include "op/cpu/types.h"
#include "op/cpu/written.h"
#include "op/tensor.h"

namespace infiniop {

namespace cpu {

namespace {

// What INFINIOP_CPU_LEVEL asks for; null: nothing. For tests, which compare the levels; a level that the machine lacks is not taken.
const char* wanted_level() {
#ifdef INFINIOP_X86_LEVELS
  static const char* const level = []() -> const char* {
    const char* wanted = std::getenv("INFINIOP_CPU_LEVEL");
    const auto is = [&](const char* name) { return std::strcmp(wanted, name) == 0; };
    if (!wanted || is("plain") || is("v3") || is("v4")) return wanted;
    std::fprintf(stderr, "infiniop: INFINIOP_CPU_LEVEL is '%s'; plain, v3 or v4 was expected, so it is ignored\n",
                 wanted);
    return nullptr;
  }();
  return level;
#else
  return nullptr;
#endif
}

const Tiles& best_tiles() {
#ifdef INFINIOP_X86_LEVELS
  const auto asked = [wanted = wanted_level()](const char* level) {
    return !wanted || std::strcmp(wanted, level) == 0;
  };
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
                  __builtin_cpu_supports("movbe");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4 && asked("v4")) return tiles_v4;
  if (v3 && asked("v3")) return tiles_v3;
#endif
  return tiles_plain;
}

}  // namespace

const Tiles& tiles() {
  static const Tiles& best = best_tiles();
  return best;
}

bool asked_for_level() { return wanted_level() != nullptr; }

namespace {

Route route_of(const Plan& plan, int operand) {
  const infiniDtype_t dtype = plan.dtype[operand];
  const auto size = static_cast<int32_t>(size_of(dtype));
  Route route{size, size, nullptr};
  const bool bytes_only = plan.info->kind != OperatorKind::Map && plan.info->kind != OperatorKind::Cast;
  if (bytes_only) return route;
  route.computed_size = computed_size(dtype);
  route.convert = operand == 0 ? to_memory(dtype) : from_memory(dtype);
  return route;
}

class PreparedWork final : public Prepared {
 public:
  PreparedWork(const Plan& plan, infinirtXKernelFn kernel) : kernel_(kernel), work_{} {
    work_.kind = plan.info->kind;
    work_.nest = plan.nest;
    for (int t = 0; t < plan.nest.operands; ++t) work_.route[t] = route_of(plan, t);
    const int64_t size = work_.route[0].element_size;
    const bool moves = moves_runs(plan.nest, work_.kind, size);
    if (moves) element_ns_ = static_cast<double>(size) * (is_constant(work_.kind) ? kFilledByte_ns : kCopiedByte_ns);
    // Larger only where a grid could not have as many blocks.
    work_.block_elements =
        std::max(moves ? kMovedBlock / size : int64_t{16} * kTile, plan.nest.total / kMostBlocks + 1);
    if (work_.kind == OperatorKind::Copy) tile_transposed_rows(work_.nest, size);
    if (work_.kind == OperatorKind::Copy && plan.nest.total > 0 &&
        is_transposition(plan.nest, work_.route[0].element_size)) {
      // Whole rows, as many as a line of the cache has elements, or more.
      const int64_t row = plan.nest.size[0], rows = std::max<int64_t>(32, (work_.block_elements + row - 1) / row);
      work_.block_elements = rows * row;
    }
    if (work_.kind == OperatorKind::Map) {
      const infiniDtype_t dtype = plan.dtype[plan.info->model()];
      work_.map = map_tile(plan.info->map, dtype);
      work_.direct = dtype == INFINI_DTYPE_BF16 ? tiles().bfloat_pairs[plan.info->map] : nullptr;
      bool is_light = kIsLightMap[plan.info->map];
      work_.is_heavy = !is_light;
      for (int t = 0; t < plan.nest.operands; ++t) {
        is_light = is_light && (work_.direct || !work_.route[t].convert) &&
                   (plan.nest.is_linear(t, work_.route[t].element_size) || (t > 0 && plan.nest.is_scalar(t)));
      }
      if (is_light) {
        element_ns_ = kLightElement_ns;
        work_.block_elements = std::max<int64_t>(work_.block_elements, kLightBlock);
      }
    }
    if (work_.kind == OperatorKind::Cast) {
      const int to = plan.dtype[0] == INFINI_DTYPE_BOOL ? kComputed : computed_as(plan.dtype[0]);
      work_.cast = casts[to][computed_as(plan.dtype[1])];
    }
  }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace&,
                         infinirtStream_t stream) const override {
    Work work = work_;
    std::memcpy(work.attributes, plan.attributes, sizeof work.attributes);
    std::memcpy(work.element, plan.element, sizeof work.element);
    void* addresses[kMaxOperands] = {};
    void* args[1 + kMaxOperands] = {&work};
    for (int t = 0; t < kMaxOperands; ++t) {
      if (t < work.nest.operands) addresses[t] = operands[t];
      args[1 + t] = &addresses[t];
    }
    const auto blocks = static_cast<unsigned>((work.nest.total + work.block_elements - 1) / work.block_elements);
    const auto cost = static_cast<unsigned long long>(element_ns_ * static_cast<double>(work.nest.total));
    return infinirtXLaunchComputation(reinterpret_cast<const void*>(kernel_), {blocks, 1, 1}, args, cost, stream);
  }

 private:
  infinirtXKernelFn kernel_;
  Work work_;
  double element_ns_ = kElement_ns;
};

class CpuDevice final : public Device {
 public:
  const char* type() const override { return "cpu"; }
  infiniDevice_t number() const override { return INFINI_DEVICE_CPU; }
  bool is_host() const override { return true; }

  std::unique_ptr<Prepared> prepare(const Plan& plan, infinirtError_t* error) const override {
    if (plan.info->kind == OperatorKind::Gemm) return prepare_gemm(plan, error);
    if (plan.info->kind == OperatorKind::Rows) return prepare_rows(plan, error);
    if (plan.info->kind == OperatorKind::Written) return prepare_written(plan, error);
    // A kernel of its own for each operator, so that graphs and traces show its name.
    const infinirtXKernelFn kernel = kernel_of(plan.info);
    const size_t sizes[] = {sizeof(Work), sizeof(void*), sizeof(void*), sizeof(void*), sizeof(void*)};
    static_assert(sizeof sizes / sizeof *sizes == 1 + kMaxOperands);
    const infinirtXKernelInfo info{plan.info->name, kernel, sizes, 1 + kMaxOperands, 0};
    if ((*error = infinirtXRegisterKernel(&info))) return nullptr;
    return std::make_unique<PreparedWork>(plan, kernel);
  }

  std::unique_ptr<PreparedChain> prepare_chain(const ChainPlan& plan, infinirtError_t* error) const override {
    return cpu::prepare_chain(plan, error);
  }

 private:
  static infinirtXKernelFn kernel_of(const OperatorInfo* info);
};

template <int Operator>
infinirtError_t kernel(const infinirtXBlock* block, void** args) {
  return run_element_wise(block, args);
}

#define INFINIOP_OPERATOR(name) kernel<k##name##Number>,
constexpr infinirtXKernelFn kKernels[] = {
#include "infiniop/generated/operators.inc"
};
#undef INFINIOP_OPERATOR

infinirtXKernelFn CpuDevice::kernel_of(const OperatorInfo* info) { return kKernels[info->number]; }

}  // namespace

}  // namespace cpu

const Device& cpu_device() {
  static const cpu::CpuDevice device;
  return device;
}

}  // namespace infiniop
