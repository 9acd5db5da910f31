#include "op/cpu/rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "op/cpu/machine.h"
#include "op/cpu/row_worker.h"
#include "op/cpu/types.h"
#include "op/tensor.h"

namespace infiniop::cpu {

namespace {

constexpr double kLittleOfRows_ns = 0.2;  // an element: rms_norm 0.15, layer_norm 0.2

class PreparedRows final : public Prepared {
 public:
  PreparedRows(const Plan& plan, infinirtXKernelFn kernel) : kernel_(kernel), work_{} {
    const OperatorInfo& info = *plan.info;
    work_.info = &info;
    work_.rows = *plan.rows;
    const infiniDtype_t type = row_type(info, plan.dtype[info.outputs]);
    work_.computed = computed_as(type);
    work_.is_whole = is_whole(type);
    for (int t = 0; t < info.tensors; ++t) work_.route[t] = route_of(plan, t);
    // Twice as many elements as blocks of element-wise operators have, but whole rows, since the first of them waits for memory; more
    // only where a grid could not have as many blocks, and less where there are few rows, for all threads to have some.
    const int64_t rows = plan.rows->rows.total, length = std::max<int64_t>(1, plan.rows->length());
    work_.staged = staged_tensors(info, *plan.rows, work_.route);
    const int64_t most = merely_reads(plan) ? 128 * kTile : 32 * kTile;
    if (merely_reads(plan)) {
      element_ns_ = kLightElement_ns;
    } else if (computes_little(plan)) {
      element_ns_ = kLittleOfRows_ns;
    }
    work_.block_rows = std::max(
        {int64_t{1}, std::min(most / length, std::max(8 * kTile / length, rows / std::max<int64_t>(8, processors()))),
         rows / kMostBlocks + 1});
    if (work_.staged) work_.block_rows = (work_.block_rows + kStagedRows - 1) / kStagedRows * kStagedRows;
  }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace&,
                         infinirtStream_t stream) const override {
    RowWork work = work_;
    std::memcpy(work.attributes, plan.attributes, sizeof work.attributes);
    void* addresses[kMaxRowTensors] = {};
    void* args[1 + kMaxRowTensors] = {&work};
    for (int t = 0; t < kMaxRowTensors; ++t) {
      if (t < work.info->tensors) addresses[t] = operands[t];
      args[1 + t] = &addresses[t];
    }
    const auto blocks = static_cast<unsigned>((work.rows.rows.total + work.block_rows - 1) / work.block_rows);
    const double elements = static_cast<double>(work.rows.rows.total) * static_cast<double>(work.rows.length() + 16);
    const auto cost = static_cast<unsigned long long>(element_ns_ * elements);
    return infinirtXLaunchComputation(reinterpret_cast<const void*>(kernel_), {blocks, 1, 1}, args, cost, stream);
  }

 private:
  // Whether rows are reduced as they lie in memory, and nothing is written but their numbers.
  bool merely_reads(const Plan& plan) const {
    const RowsInfo& rows = *plan.info->rows;
    const int input = plan.info->outputs;
    for (int t = 0; t < input; ++t) {
      if (rows.place[t] == RowPlace::Element) return false;
    }
    const bool is_computed_there = !work_.route[input].convert ||
                                   (plan.dtype[input] == INFINI_DTYPE_BF16 && rows.step[0].kind == RowStepKind::Sum);
    return rows.steps == 1 && rows.step[0].loop < 0 && is_computed_there && plan.rows->columns.levels == 1 &&
           plan.rows->columns.stride[input][0] == work_.route[input].element_size;
  }

  // Whether rows are floats where they lie, steps are sums and the like of little arithmetic, and one number is written for each: a norm.
  bool computes_little(const Plan& plan) const {
    const RowsInfo& rows = *plan.info->rows;
    int results = 0;
    for (int t = 0; t < plan.info->tensors; ++t) {
      if (rows.place[t] != RowPlace::Element || !plan.rows->is_given[t]) continue;
      if (t < plan.info->outputs) ++results;
      if (work_.route[t].convert) return false;
    }
    return results <= 1 && std::all_of(rows.step, rows.step + rows.steps, [](const RowStep& step) {
             return step.kind != RowStepKind::Each && step.is_light;
           });
  }

  Route route_of(const Plan& plan, int tensor) const {
    const infiniDtype_t dtype = plan.dtype[tensor];
    const bool is_output = tensor < plan.info->outputs;
    Route route{static_cast<int32_t>(size_of(dtype)), computed_size(dtype),
                is_output ? to_memory(dtype) : from_memory(dtype)};
    const Computed own = computed_as(dtype);
    // Integers that are reduced in a wider type. Truth is written as it is.
    if (work_.is_whole && own != work_.computed && !(is_output && plan.info->dtype_rule == DtypeRule::Truth)) {
      route.computed_size = computed_size(row_type(*plan.info, plan.dtype[plan.info->outputs]));
      route.convert = is_output ? casts[own][work_.computed] : casts[work_.computed][own];
    }
    return route;
  }

  infinirtXKernelFn kernel_;
  RowWork work_;
  double element_ns_ = kElement_ns;
};

// One for each operator, so that graphs and traces show its name.
template <int Number>
infinirtError_t kernel(const infinirtXBlock* block, void** args) {
  return run_rows(block, args);
}

template <int... Numbers>
infinirtXKernelFn kernel_of(int number, std::integer_sequence<int, Numbers...>) {
  static constexpr infinirtXKernelFn all[] = {kernel<Numbers>...};
  return all[number];
}

}  // namespace

std::unique_ptr<Prepared> prepare_rows(const Plan& plan, infinirtError_t* error) {
  const infinirtXKernelFn kernel = kernel_of(plan.info->rows->number, std::make_integer_sequence<int, kRowOperators>());
  size_t sizes[1 + kMaxRowTensors] = {sizeof(RowWork)};
  std::fill(sizes + 1, sizes + 1 + kMaxRowTensors, sizeof(void*));
  const infinirtXKernelInfo info{plan.info->name, kernel, sizes, 1 + kMaxRowTensors, 0};
  if ((*error = infinirtXRegisterKernel(&info))) return nullptr;
  return std::make_unique<PreparedRows>(plan, kernel);
}

}  // namespace infiniop::cpu
