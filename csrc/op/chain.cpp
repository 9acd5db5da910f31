#include "op/chain.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "op/device.h"
#include "op/generation.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop {

namespace {

struct Chain final : Object {
  ChainPlan plan;
  const Device* device;
  const char* device_type;
  int device_id;
  std::unique_ptr<PreparedChain> prepared;
};

bool is_element_wise(const OperatorInfo& info) {
  return !info.halves && !info.rows && info.kind != OperatorKind::Gemm && info.kind != OperatorKind::Scale;
}

// Complex numbers are only ever copied, and have more bytes than a chain has room for.
bool is_computed_in(infiniDtype_t dtype) {
  return dtype != INFINI_DTYPE_C16 && dtype != INFINI_DTYPE_C32 && dtype != INFINI_DTYPE_C64 &&
         dtype != INFINI_DTYPE_C128;
}

// A chain's parts, while its descriptor is being made.
struct ChainRequest {
  const char* function;
  const infiniopTensorDescriptor_t* operands;
  const infiniopXChainStep* steps;
  int operand_count, step_count;
  const Tensor* tensors[kMaxChainOperands] = {};
  const Tensor* shape = nullptr;  // the first operand that is written

  infiniStatus_t check_counts(size_t operand_total, size_t step_total) const {
    if (!operands || !steps) {
      return fail(function, INFINI_STATUS_NULL_POINTER, "%s is null", operands ? "steps" : "operands");
    }
    if (operand_total < 1 || operand_total > kMaxChainOperands || step_total < 1 || step_total > kMaxChainSteps) {
      return fail(function, INFINI_STATUS_BAD_PARAM,
                  "%zu operands and %zu steps; 1 to %d operands and 1 to %d steps are possible", operand_total,
                  step_total, kMaxChainOperands, kMaxChainSteps);
    }
    return INFINI_STATUS_SUCCESS;
  }

  infiniStatus_t find_tensors(ChainPlan& plan) {
    for (int t = 0; t < operand_count; ++t) {
      tensors[t] = static_cast<const Tensor*>(find(Kind::Tensor, operands[t]));
      if (!tensors[t]) {
        return fail(function, operands[t] ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
                    "operand %d: %p is not a tensor descriptor, or was destroyed", t, static_cast<void*>(operands[t]));
      }
      plan.dtype[t] = tensors[t]->dtype;
      if (is_computed_in(plan.dtype[t])) continue;
      return fail(function, INFINI_STATUS_NOT_IMPLEMENTED, "operand %d has type %s, which chains do not take", t,
                  name_of(plan.dtype[t]));
    }
    return INFINI_STATUS_SUCCESS;
  }

  infiniStatus_t read_step(ChainPlan& plan, int number) {
    const infiniopXChainStep& given = steps[number];
    const auto* operation = static_cast<const Descriptor*>(find(Kind::Operator, given.operation));
    if (!operation) {
      return fail(function, given.operation ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
                  "step %d: operation %p is not an operator descriptor, or was destroyed", number,
                  static_cast<const void*>(given.operation));
    }
    const Plan& known = operation->plan;
    if (!is_element_wise(*known.info)) {
      return fail(function, INFINI_STATUS_NOT_IMPLEMENTED, "step %d: %s is not element-wise", number, known.info->name);
    }
    ChainStep& step = plan.step[number];
    step.info = known.info;
    step.out = known.dtype[0];
    step.in = known.dtype[known.info->model()];
    for (const infiniDtype_t dtype : {step.in, step.out}) {
      if (is_computed_in(dtype)) continue;
      return fail(function, INFINI_STATUS_NOT_IMPLEMENTED, "step %d: %s of type %s, which chains do not take", number,
                  known.info->name, name_of(dtype));
    }
    std::memcpy(step.attributes, known.info->early_attributes ? known.attributes : given.attributes,
                sizeof step.attributes);
    std::memcpy(step.element, known.info->kind == OperatorKind::Constant ? known.element : given.element,
                sizeof step.element);
    for (int i = 0; i < known.info->inputs; ++i) {
      const int value = given.inputs[i];
      if (value < 0 || value >= operand_count + number) {
        return fail(function, INFINI_STATUS_BAD_PARAM,
                    "step %d: input %d is value %d; operands and the results of earlier steps are 0 to %d", number, i,
                    value, operand_count + number - 1);
      }
      const infiniDtype_t dtype = value < operand_count ? plan.dtype[value] : plan.step[value - operand_count].out;
      const infiniDtype_t taken = known.dtype[known.info->outputs + i];
      if (dtype != taken) {
        return fail(function, INFINI_STATUS_BAD_TENSOR_DTYPE,
                    "step %d: input %d has type %s, but the operation takes %s", number, i, name_of(dtype),
                    name_of(taken));
      }
      step.inputs[i] = static_cast<int8_t>(value);
    }
    return read_output(plan, number);
  }

  infiniStatus_t read_output(ChainPlan& plan, int number) {
    ChainStep& step = plan.step[number];
    const int output = steps[number].output;
    if (output < -1 || output >= operand_count) {
      return fail(function, INFINI_STATUS_BAD_PARAM, "step %d: output is %d; -1 to %d is possible", number, output,
                  operand_count - 1);
    }
    step.output = static_cast<int8_t>(output);
    if (output < 0) return INFINI_STATUS_SUCCESS;
    if (plan.is_written[output]) {
      return fail(function, INFINI_STATUS_BAD_PARAM, "operand %d is written by two steps", output);
    }
    if (plan.dtype[output] != step.out) {
      return fail(function, INFINI_STATUS_BAD_TENSOR_DTYPE, "step %d: operand %d has type %s, but the result is %s",
                  number, output, name_of(plan.dtype[output]), name_of(step.out));
    }
    plan.is_written[output] = true;
    if (!shape) shape = tensors[output];
    return INFINI_STATUS_SUCCESS;
  }

  infiniStatus_t check_shapes(const ChainPlan& plan) const {
    if (!shape) return fail(function, INFINI_STATUS_BAD_PARAM, "no step writes its result");
    for (int t = 0; t < operand_count; ++t) {
      const auto& own = tensors[t]->shape;
      const size_t missing = shape->shape.size() - own.size();
      bool fits = plan.is_written[t] ? own == shape->shape : own.size() <= shape->shape.size();
      for (size_t d = 0; fits && d < own.size(); ++d) fits = own[d] == shape->shape[missing + d] || own[d] == 1;
      if (!fits) {
        return fail(function, INFINI_STATUS_BAD_TENSOR_SHAPE, "operand %d has shape %s, and what is written %s", t,
                    show(own).c_str(), show(shape->shape).c_str());
      }
      for (size_t d = 0; plan.is_written[t] && !tensors[t]->is_empty() && d < own.size(); ++d) {
        if (own[d] <= 1 || tensors[t]->strides[d] != 0) continue;
        return fail(function, INFINI_STATUS_BAD_TENSOR_STRIDES,
                    "operand %d is written, but has stride 0 in dimension %zu of size %zu", t, d, own[d]);
      }
    }
    return INFINI_STATUS_SUCCESS;
  }

  infiniStatus_t make_nest(ChainNest* nest) const {
    NestBuilder<kMaxChainOperands> builder(operand_count);
    const auto& whole = shape->shape;
    for (const size_t d : shape->dimensions_by_stride()) {
      int64_t strides[kMaxChainOperands] = {};
      for (int t = 0; t < operand_count; ++t) {
        const Tensor& tensor = *tensors[t];
        const size_t missing = whole.size() - tensor.shape.size();
        if (d < missing || (tensor.shape[d - missing] == 1 && whole[d] != 1)) continue;  // repeated
        strides[t] = tensor.strides[d - missing] * static_cast<int64_t>(size_of(tensor.dtype));
      }
      if (builder.add(static_cast<int64_t>(whole[d]), strides)) continue;
      return fail(function, INFINI_STATUS_BAD_TENSOR_STRIDES,
                  "the strides of the operands leave more than %d dimensions that cannot be merged", kMaxLevels);
    }
    *nest = builder.finish();
    if (shape->is_empty()) nest->total = 0;
    return INFINI_STATUS_SUCCESS;
  }
};

const Chain* find_chain(const char* function, const void* pointer, infiniStatus_t* status) {
  const auto* chain = static_cast<const Chain*>(find(Kind::Chain, pointer));
  if (!chain) {
    *status = fail(function, pointer ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
                   "desc %p is not a descriptor of a chain, or was destroyed", pointer);
  }
  return chain;
}

infiniStatus_t create(const char* function, const void* handle_pointer, void** result,
                      const infiniopTensorDescriptor_t* operands, size_t operand_count, const infiniopXChainStep* steps,
                      size_t step_count) {
  if (!result) return fail(function, INFINI_STATUS_NULL_POINTER, "desc_ptr is null; the descriptor goes there");
  const auto* handle = static_cast<const Handle*>(find(Kind::Handle, handle_pointer));
  if (!handle) {
    return fail(function, handle_pointer ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
                "handle %p is not a handle, or was destroyed", handle_pointer);
  }
  ChainRequest request{function, operands, steps, static_cast<int>(operand_count), static_cast<int>(step_count)};
  if (auto status = request.check_counts(operand_count, step_count)) return status;
  auto chain = std::make_unique<Chain>();
  ChainPlan& plan = chain->plan;
  plan = {};
  plan.steps = request.step_count;
  if (auto status = request.find_tensors(plan)) return status;
  for (int s = 0; s < plan.steps; ++s) {
    if (auto status = request.read_step(plan, s)) return status;
  }
  if (auto status = request.check_shapes(plan)) return status;
  if (auto status = request.make_nest(&plan.nest)) return status;
  const CallScope scope(function);
  if (scope.status()) return scope.status();
  if (auto status = check_current_device(function, *handle)) return status;
  chain->device = handle->device;
  chain->device_type = handle->device_type;
  chain->device_id = handle->device_id;
  infinirtError_t error = infinirtSuccess;
  chain->prepared = handle->device->prepare_chain(plan, &error);
  if (!chain->prepared) return fail_as_runtime(function, error);
  void* pointer = publish(Kind::Chain, std::move(chain));
  if (!pointer) return fail(function, INFINI_STATUS_INTERNAL_ERROR, "no room for another descriptor");
  *result = pointer;
  return INFINI_STATUS_SUCCESS;
}

}  // namespace

}  // namespace infiniop

using namespace infiniop;

infiniStatus_t infiniopXCreateChainDescriptor(infiniopHandle_t handle, infiniopXChainDescriptor_t* desc_ptr,
                                              const infiniopTensorDescriptor_t* operands, size_t operand_count,
                                              const infiniopXChainStep* steps, size_t step_count) try {
  return create(__func__, handle, reinterpret_cast<void**>(desc_ptr), operands, operand_count, steps, step_count);
} catch (const std::bad_alloc&) {
  return fail("infiniopXCreateChainDescriptor", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

infiniStatus_t infiniopXChain(infiniopXChainDescriptor_t desc, void* const* addresses, void* stream_pointer) {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  const Chain* chain = find_chain(__func__, desc, &status);
  if (!chain) return status;
  const CallScope scope(__func__);
  if (scope.status()) return scope.status();
  const auto stream = static_cast<infinirtStream_t>(stream_pointer);
  if ((status = check_stream(__func__, stream, chain->device_type, chain->device_id))) return status;
  if (chain->plan.nest.total == 0) return INFINI_STATUS_SUCCESS;
  if (!addresses) return fail(__func__, INFINI_STATUS_NULL_POINTER, "addresses is null");
  for (int t = 0; t < chain->plan.nest.operands; ++t) {
    if (!addresses[t]) {
      return fail(__func__, INFINI_STATUS_NULL_POINTER, "operand %d is null, but its tensor has elements", t);
    }
  }
  infinirtError_t error = chain->prepared->launch(addresses, stream);
  if (!error) error = after_work(*chain->device, stream);
  return error ? fail_as_runtime(__func__, error) : INFINI_STATUS_SUCCESS;
}

infiniStatus_t infiniopXDestroyChainDescriptor(infiniopXChainDescriptor_t desc) {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  if (find_chain(__func__, desc, &status)) withdraw(Kind::Chain, desc);
  return status;
}
