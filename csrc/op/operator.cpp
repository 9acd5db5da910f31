#include "op/operator.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "infiniop/operator_descriptor.h"
#include "op/composed.h"
#include "op/declared.h"
#include "op/device.h"
#include "op/encode.h"
#include "op/generation.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop {

namespace {

std::string list_of_dtypes(uint32_t dtypes) {
  std::string text;
  for (int number = 0; number <= INFINI_DTYPE_BF16; ++number) {
    if (dtypes >> number & 1) text += (text.empty() ? "" : ", ") + std::string(name_of(infiniDtype_t(number)));
  }
  return text;
}

constexpr uint32_t bit(infiniDtype_t dtype) { return uint32_t{1} << static_cast<unsigned>(dtype); }
constexpr uint32_t kTruthTypes = bit(INFINI_DTYPE_BOOL) | bit(INFINI_DTYPE_I8) | bit(INFINI_DTYPE_U8);

// One operator's tensors, while its descriptor is being made.
struct Request {
  const char* function;
  const OperatorInfo& info;
  const Tensor* tensors[kMaxTensors] = {};

  infiniStatus_t must_be_one_of(int tensor, uint32_t dtypes) const {
    if (dtypes & bit(tensors[tensor]->dtype)) return INFINI_STATUS_SUCCESS;
    return fail(function, INFINI_STATUS_BAD_TENSOR_DTYPE, "%s has type %s; possible are %s", info.tensor_names[tensor],
                name_of(tensors[tensor]->dtype), list_of_dtypes(dtypes).c_str());
  }

  // Weights may be wider than what they are weights of.
  bool may_differ(int tensor, infiniDtype_t type) const {
    const bool narrow = type == INFINI_DTYPE_F16 || type == INFINI_DTYPE_BF16;
    return narrow && info.rows->place[tensor] == RowPlace::Column && tensors[tensor]->dtype == INFINI_DTYPE_F32;
  }

  infiniStatus_t check_row_dtypes() const {
    const int first = info.outputs;
    if (auto status = must_be_one_of(first, info.dtypes)) return status;
    const infiniDtype_t type = tensors[first]->dtype;
    for (int t = 0; t < info.tensors; ++t) {
      if (!tensors[t] || tensors[t]->dtype == type || may_differ(t, type)) continue;
      if (t < info.outputs && (info.dtype_rule == DtypeRule::Truth || is_widened(type))) continue;
      return fail(function, INFINI_STATUS_BAD_TENSOR_DTYPE, "%s has type %s, %s has %s; they must be the same%s",
                  info.tensor_names[t], name_of(tensors[t]->dtype), info.tensor_names[first], name_of(type),
                  info.rows->place[t] == RowPlace::Column ? ", or F32 beside F16 and BF16" : "");
    }
    if (is_widened(type)) return must_be_one_of(0, bit(INFINI_DTYPE_I64));
    return info.dtype_rule == DtypeRule::Truth ? must_be_one_of(0, kTruthTypes) : INFINI_STATUS_SUCCESS;
  }

  bool is_widened(infiniDtype_t input) const { return info.dtype_rule == DtypeRule::Wide && is_whole(input); }

  // Tensors with types of their own may have any of these; all others have one type.
  infiniStatus_t check_written_dtypes() const {
    int first = -1;
    for (int i = 0; i < info.tensors; ++i) {
      const int t = (i + info.outputs) % info.tensors;
      if (!tensors[t]) continue;
      const uint32_t own = info.written->tensor[t].dtypes;
      if (auto status = must_be_one_of(t, own ? own : info.dtypes)) return status;
      if (own) continue;
      if (first < 0) first = t;
      if (tensors[t]->dtype == tensors[first]->dtype) continue;
      return fail(function, INFINI_STATUS_BAD_TENSOR_DTYPE, "%s has type %s, %s has %s; they must be the same",
                  info.tensor_names[t], name_of(tensors[t]->dtype), info.tensor_names[first],
                  name_of(tensors[first]->dtype));
    }
    return INFINI_STATUS_SUCCESS;
  }

  infiniStatus_t check_dtypes() const {
    if (info.rows) return check_row_dtypes();
    if (info.written) return check_written_dtypes();
    const int first = info.model();
    if (auto status = must_be_one_of(first, info.dtypes)) return status;
    for (int t = 0; t <= info.inputs; ++t) {
      if (t == 0 && info.dtype_rule != DtypeRule::Same) continue;
      if (info.truths >> t & 1) {
        if (auto status = must_be_one_of(t, kTruthTypes)) return status;
        continue;
      }
      if (tensors[t]->dtype == tensors[first]->dtype) continue;
      return fail(function, INFINI_STATUS_BAD_TENSOR_DTYPE, "%s has type %s, %s has %s; they must be the same",
                  info.tensor_names[t], name_of(tensors[t]->dtype), info.tensor_names[first],
                  name_of(tensors[first]->dtype));
    }
    if (info.dtype_rule == DtypeRule::Truth) return must_be_one_of(0, kTruthTypes);
    return info.dtype_rule == DtypeRule::Cast ? must_be_one_of(0, info.dtypes) : INFINI_STATUS_SUCCESS;
  }

  // Inputs are broadcast to the output's shape: aligned at the last dimension, each size is the output's or 1.
  infiniStatus_t check_shapes() const {
    const auto& out = tensors[0]->shape;
    for (int t = 1; t < info.tensors; ++t) {
      const auto& shape = tensors[t]->shape;
      if (shape.size() > out.size()) {
        return fail(function, INFINI_STATUS_BAD_TENSOR_SHAPE,
                    "%s has shape %s, which is more dimensions than %s has: %s", info.tensor_names[t],
                    show(shape).c_str(), info.tensor_names[0], show(out).c_str());
      }
      const size_t missing = out.size() - shape.size();
      for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == out[missing + d] || shape[d] == 1) continue;
        return fail(
            function, INFINI_STATUS_BAD_TENSOR_SHAPE,
            "%s has shape %s: dimension %zu has size %zu, but in %s, of shape %s, it has %zu; the same or 1 was "
            "expected",
            info.tensor_names[t], show(shape).c_str(), d, shape[d], info.tensor_names[0], show(out).c_str(),
            out[missing + d]);
      }
    }
    return check_output_strides();
  }

  infiniStatus_t check_output_strides() const {
    const auto& out = tensors[0]->shape;
    for (size_t d = 0; d < out.size() && !tensors[0]->is_empty(); ++d) {
      if (out[d] <= 1 || tensors[0]->strides[d] != 0) continue;
      return fail(function, INFINI_STATUS_BAD_TENSOR_STRIDES,
                  "%s has stride 0 in dimension %zu of size %zu: its elements would be written over one another; only "
                  "inputs may have that",
                  info.tensor_names[0], d, out[d]);
    }
    return INFINI_STATUS_SUCCESS;
  }

  // The first of the two halves that tensor 1 has along its last dimension.
  infiniStatus_t take_half(Tensor* half) const {
    const auto &out = tensors[0]->shape, &whole = tensors[1]->shape;
    if (out.empty() || whole.empty() || whole.back() % 2 != 0 || whole.back() / 2 != out.back()) {
      return fail(function, INFINI_STATUS_BAD_TENSOR_SHAPE,
                  "%s has shape %s, and %s has %s; the last dimension of %s must be twice that of %s",
                  info.tensor_names[1], show(whole).c_str(), info.tensor_names[0], show(out).c_str(),
                  info.tensor_names[1], info.tensor_names[0]);
    }
    *half = *tensors[1];
    half->shape.back() /= 2;
    return INFINI_STATUS_SUCCESS;
  }

  infiniStatus_t make_nest(Nest* nest) const {
    const auto& out = tensors[0]->shape;
    const int operands = 1 + info.inputs;
    NestBuilder<kMaxOperands> builder(operands);
    for (const size_t d : tensors[0]->dimensions_by_stride()) {
      int64_t strides[kMaxOperands] = {};
      for (int t = 0; t < operands; ++t) {
        const Tensor& tensor = *tensors[t];
        const size_t missing = out.size() - tensor.shape.size();
        if (d < missing || (tensor.shape[d - missing] == 1 && out[d] != 1)) continue;  // repeated
        strides[t] = tensor.strides[d - missing] * static_cast<int64_t>(size_of(tensor.dtype));
      }
      if (builder.add(static_cast<int64_t>(out[d]), strides)) continue;
      return fail(
          function, INFINI_STATUS_BAD_TENSOR_STRIDES,
          "%s has shape %s, and the strides of its tensors leave more than %d dimensions that cannot be merged; "
          "make one of the tensors contiguous first (Rearrange)",
          info.tensor_names[0], show(out).c_str(), kMaxLevels);
    }
    *nest = builder.finish();
    if (tensors[0]->is_empty()) nest->total = 0;
    return INFINI_STATUS_SUCCESS;
  }
};

const Descriptor* find_descriptor(const char* function, const OperatorInfo& info, const void* pointer,
                                  infiniStatus_t* status) {
  const auto* descriptor = static_cast<const Descriptor*>(find(Kind::Operator, pointer));
  if (!descriptor) {
    *status = fail(function, pointer ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
                   "desc %p is not an operator descriptor, or was destroyed", pointer);
  } else if (descriptor->plan.info != &info && descriptor->plan.info != info.scalar) {
    *status = fail(function, INFINI_STATUS_BAD_PARAM, "desc %p is a descriptor of %s, not of %s", pointer,
                   descriptor->plan.info->name, info.name);
    return nullptr;
  }
  return descriptor;
}

bool may_be_null(const OperatorInfo& info, int tensor) {
  if (info.written) return info.written->tensor[tensor].may_be_null || !info.written->tensor[tensor].is_described;
  return info.rows && info.rows->may_be_null[tensor];
}

// How many elements the outputs have that are described; one, where none is.
int64_t count_results(const OperatorInfo& info, const WrittenPlan& plan) {
  int64_t count = 0;
  bool any = false;
  for (int t = 0; t < info.outputs; ++t) {
    const TensorView& view = plan.tensor[t];
    if (!view.is_given) continue;
    int64_t elements = 1;
    for (int d = 0; d < view.ndim; ++d) elements *= view.shape[d];
    count += elements;
    any = true;
  }
  return any ? count : 1;
}

// How many elements there are to compute: none where all outputs are empty.
int64_t count_results(const OperatorInfo& info, const RowsPlan& rows) {
  bool any = rows.length() > 0;
  for (int t = 0; t < info.outputs; ++t) any = any || (rows.is_given[t] && info.rows->place[t] == RowPlace::Row);
  return any ? rows.rows.total : 0;
}

}  // namespace

infiniStatus_t plan_operator(const char* function, const OperatorInfo& info, const Tensor* const* tensors,
                             const double* attributes, const RowDimensions& dimensions, Descriptor* descriptor) {
  Request request{function, info};
  std::copy(tensors, tensors + info.tensors, request.tensors);
  Plan& plan = descriptor->plan;
  plan = {};
  plan.info = &info;
  if (auto status = request.check_dtypes()) return status;
  Tensor half;
  if (info.halves) {
    if (auto status = request.take_half(&half)) return status;
    request.tensors[1] = request.tensors[2] = &half;
    plan.second_half =
        static_cast<int64_t>(half.shape.back()) * half.strides.back() * static_cast<int64_t>(size_of(half.dtype));
  }
  if (info.kind == OperatorKind::Gemm) {
    if (auto status = request.check_output_strides()) return status;
    if (auto status = make_product(function, info, request.tensors, &plan.product)) return status;
    plan.nest.total = plan.product.batch * plan.product.m * plan.product.n;
  } else if (info.kind == OperatorKind::Rows) {
    descriptor->rows = std::make_unique<RowsPlan>();
    if (auto status = make_rows(function, info, request.tensors, dimensions, descriptor->rows.get())) return status;
    plan.rows = descriptor->rows.get();
    plan.nest.total = count_results(info, *plan.rows);
  } else if (info.kind == OperatorKind::Written) {
    static constexpr double kNone[kMaxAttributes] = {};
    descriptor->written = std::make_unique<WrittenPlan>();
    if (auto status =
            make_written(function, info, request.tensors, attributes ? attributes : kNone, descriptor->written.get()))
      return status;
    plan.written = descriptor->written.get();
    plan.nest.total = count_results(info, *plan.written);
  } else {
    if (auto status = request.check_shapes()) return status;
    if (auto status = request.make_nest(&plan.nest)) return status;
  }
  for (int t = 0; t < info.outputs + info.inputs && !info.written; ++t) {
    plan.dtype[t] = request.tensors[t] ? request.tensors[t]->dtype : request.tensors[info.outputs]->dtype;
  }
  if (attributes) std::memcpy(plan.attributes, attributes, sizeof plan.attributes);
  if (info.kind == OperatorKind::Constant) encode(info.constant, plan.dtype[0], plan.element);
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t prepare_operator(const char* function, const Device& device, Descriptor* descriptor) {
  const Plan& plan = descriptor->plan;
  if (plan.info->written && plan.info->written->compose) {
    Composer composer(function, device, plan);
    plan.info->written->compose(composer);
    return composer.finish(&descriptor->prepared);
  }
  infinirtError_t error = infinirtSuccess;
  descriptor->prepared = device.prepare(plan, &error);
  return descriptor->prepared ? INFINI_STATUS_SUCCESS : fail_as_runtime(function, error);
}

namespace {

infiniStatus_t create(const char* function, const OperatorInfo& full, void* handle_pointer, void** result,
                      const void* const* pointers, const double* attributes, const RowDimensions& dimensions) {
  const OperatorInfo& info = full.scalar && !pointers[full.inputs] ? *full.scalar : full;
  if (!result) return fail(function, INFINI_STATUS_NULL_POINTER, "desc_ptr is null; the descriptor goes there");
  const auto* handle = static_cast<const Handle*>(find(Kind::Handle, handle_pointer));
  if (!handle) {
    return fail(function, handle_pointer ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
                "handle %p is not a handle, or was destroyed", handle_pointer);
  }
  const Tensor* tensors[kMaxTensors] = {};
  for (int t = 0; t < info.tensors; ++t) {
    tensors[t] = static_cast<const Tensor*>(find(Kind::Tensor, pointers[t]));
    if (tensors[t] || (!pointers[t] && may_be_null(info, t))) continue;
    return fail(function, pointers[t] ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
                "%s: %p is not a tensor descriptor, or was destroyed", info.tensor_names[t], pointers[t]);
  }
  const CallScope scope(function);
  if (scope.status()) return scope.status();
  auto descriptor = std::make_unique<Descriptor>();
  if (auto status = plan_operator(function, info, tensors, attributes, dimensions, descriptor.get())) return status;
  if (auto status = check_current_device(function, *handle)) return status;
  descriptor->device = handle->device;
  descriptor->device_type = handle->device_type;
  descriptor->device_id = handle->device_id;
  if (auto status = prepare_operator(function, *handle->device, descriptor.get())) return status;
  descriptor->prepared = declared(std::move(descriptor->prepared), info, tensors);
  void* pointer = publish(Kind::Operator, std::move(descriptor));
  if (!pointer) return fail(function, INFINI_STATUS_INTERNAL_ERROR, "no room for another descriptor");
  *result = pointer;
  return INFINI_STATUS_SUCCESS;
}

}  // namespace

infiniStatus_t create_operator(const char* function, const OperatorInfo& info, void* handle, void** result,
                               const void* const* tensors, const double* attributes,
                               const RowDimensions& dimensions) try {
  return create(function, info, handle, result, tensors, attributes, dimensions);
} catch (const std::bad_alloc&) {
  return fail(function, INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

namespace {

bool has_no_elements(const TensorView& view) {
  return std::any_of(view.shape, view.shape + view.ndim, [](long long size) { return size == 0; });
}

// Of a plan that has something to compute.
bool needs_no_address(const Plan& plan, int tensor) {
  const OperatorInfo& info = *plan.info;
  if (info.kind == OperatorKind::Gemm) return tensor > 0 && plan.product.k == 0;
  if (info.written) {
    const TensorView& view = plan.written->tensor[tensor];
    const TensorRule& rule = info.written->tensor[tensor];
    return rule.is_described ? !view.is_given || has_no_elements(view) : rule.may_be_null;
  }
  if (!info.rows) return false;
  return !plan.rows->is_given[tensor] || (info.rows->place[tensor] != RowPlace::Row && plan.rows->length() == 0);
}

}  // namespace

infiniStatus_t get_workspace_size(const char* function, const OperatorInfo& info, const void* pointer, size_t* size) {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  const Descriptor* descriptor = find_descriptor(function, info, pointer, &status);
  if (!descriptor) return status;
  if (!size) return fail(function, INFINI_STATUS_NULL_POINTER, "size is null; the number of bytes goes there");
  *size = descriptor->prepared->workspace_size();
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t compute(const char* function, const OperatorInfo& full, const void* pointer, void* const* addresses,
                       void* stream_pointer, const CallValues& values) {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  const Descriptor* descriptor = find_descriptor(function, full, pointer, &status);
  if (!descriptor) return status;
  const CallScope scope(function);
  if (scope.status()) return scope.status();
  const OperatorInfo& info = *descriptor->plan.info;
  const auto stream = static_cast<infinirtStream_t>(stream_pointer);
  if ((status = check_stream(function, stream, descriptor->device_type, descriptor->device_id))) return status;
  if (info.kind == OperatorKind::Fill && !values.element) {
    return fail(function, INFINI_STATUS_NULL_POINTER,
                "value is null; it must point at an element in memory of the host");
  }
  if (descriptor->plan.nest.total == 0) return INFINI_STATUS_SUCCESS;
  double attributes[kMaxAttributes];
  if (values.attributes) {
    for (int i = 0; i < kMaxAttributes; ++i) {
      attributes[i] = (values.late >> i & 1 ? values.attributes : descriptor->plan.attributes)[i];
    }
  }
  if (values.attributes && info.written && info.written->broken_rule) {
    int64_t sizes[kMaxWrittenSizes];
    written_sizes(info, *descriptor->plan.written, attributes, sizes);
    const char* broken = info.written->broken_rule(sizes, attributes, *descriptor->plan.written);
    if (broken) return fail(function, INFINI_STATUS_BAD_PARAM, "%s", broken);
  }
  for (int t = 0; t < info.outputs + info.inputs; ++t) {
    if (addresses[t] || needs_no_address(descriptor->plan, t)) continue;
    return fail(function, INFINI_STATUS_NULL_POINTER, "%s is null, but its tensor has elements", info.tensor_names[t]);
  }
  const size_t needed = descriptor->prepared->workspace_size();
  if (values.workspace.size < needed) {
    return fail(function, INFINI_STATUS_INSUFFICIENT_WORKSPACE,
                "workspace_size is %zu, but this descriptor needs %zu bytes: as many as the function for its "
                "workspace's size says",
                values.workspace.size, needed);
  }
  if (needed > 0 && !values.workspace.address) {
    return fail(function, INFINI_STATUS_NULL_POINTER, "workspace is null, but this descriptor needs %zu bytes", needed);
  }
  void* halves[kMaxTensors];
  if (info.halves) {
    for (int t = 0; t <= info.inputs; ++t) halves[t] = addresses[t];
    halves[2] = static_cast<char*>(halves[2]) + descriptor->plan.second_half;
    addresses = halves;
  }
  infinirtError_t error;
  if (values.attributes || values.element) {
    Plan plan = descriptor->plan;
    if (values.attributes) std::memcpy(plan.attributes, attributes, sizeof plan.attributes);
    if (values.element) std::memcpy(plan.element, values.element, size_of(plan.dtype[0]));
    error = descriptor->prepared->launch(plan, addresses, values.workspace, stream);
  } else {
    error = descriptor->prepared->launch(descriptor->plan, addresses, values.workspace, stream);
  }
  if (!error) error = after_work(*descriptor->device, stream);
  return error ? fail_as_runtime(function, error) : INFINI_STATUS_SUCCESS;
}

infiniStatus_t destroy_operator(const char* function, const OperatorInfo& info, const void* pointer) {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  if (!find_descriptor(function, info, pointer, &status)) return status;
  withdraw(Kind::Operator, pointer);
  return INFINI_STATUS_SUCCESS;
}

}  // namespace infiniop

using namespace infiniop;

namespace {

template <class Result>
infiniStatus_t ask(const char* function, const void* pointer, Result* result, const char* name,
                   Result (*answer)(const Descriptor&)) {
  const auto* descriptor = static_cast<const Descriptor*>(find(Kind::Operator, pointer));
  if (!descriptor) {
    return fail(function, pointer ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
                "desc_ptr %p is not an operator descriptor, or was destroyed", pointer);
  }
  if (!result) return fail(function, INFINI_STATUS_NULL_POINTER, "%s is null; the answer goes there", name);
  *result = answer(*descriptor);
  return INFINI_STATUS_SUCCESS;
}

}  // namespace

infiniStatus_t infiniopGetDescriptorDeviceType(const struct InfiniopDescriptor* desc_ptr, infiniDevice_t* device_type) {
  return ask<infiniDevice_t>(__func__, desc_ptr, device_type, "device_type",
                             [](const Descriptor& descriptor) { return descriptor.device->number(); });
}

infiniStatus_t infiniopGetDescriptorDeviceId(const struct InfiniopDescriptor* desc_ptr, int* device_id) {
  return ask<int>(__func__, desc_ptr, device_id, "device_id",
                  [](const Descriptor& descriptor) { return descriptor.device_id; });
}
