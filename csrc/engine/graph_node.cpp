// From the parameters of nodes to what they do.
#include <algorithm>
#include <cstring>

#include "engine/copy_geometry.h"
#include "engine/event.h"
#include "engine/graph.h"
#include "engine/kernel.h"
#include "engine/memory.h"
#include "engine/step.h"

namespace infinirt {

namespace {

NodeBodyPtr new_body(enum infinirtGraphNodeType type, EngineDevice& device) {
  auto body = std::make_shared<NodeBody>();
  body->type = type;
  body->device = &device;
  return body;
}

// Checks what can be known and completes the work.
infinirtError_t finish_copy(const Engine& engine, CopyRequest& request, Work* work) {
  find_copy_operands(request);
  if (auto error = check_copy(engine, request)) return error;
  work->type = WorkType::Copy;
  work->copy = request.work;
  return infinirtSuccess;
}

infinirtError_t make_copy_3d(const Engine& engine, const infinirtMemcpy3DParms& params, Work* work) {
  const infinirtExtent& extent = params.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) {
    return fail(infinirtErrorInvalidValue, "extent is %zu x %zu x %zu; a copy node must copy something", extent.width,
                extent.height, extent.depth);
  }
  CopyRequest request;
  if (auto error = request_3d(params, raw_value(params.kind), &request)) return error;
  return finish_copy(engine, request, work);
}

infinirtError_t make_copy_1d(const Engine& engine, void* dst, const void* src, size_t count,
                             enum infinirtMemcpyKind kind, Work* work) {
  if (count == 0) return fail(infinirtErrorInvalidValue, "count is 0; a copy node must copy something");
  CopyRequest request;
  request.work = {};
  request.kind = kind;
  request.work.dst = dst;
  request.work.src = src;
  request.work.width = count;
  request.work.height = request.work.depth = 1;
  return finish_copy(engine, request, work);
}

infinirtError_t make_fill(const Engine& engine, const infinirtMemsetParams& params, Work* work) {
  if (params.elementSize != 1 && params.elementSize != 2 && params.elementSize != 4) {
    return fail(infinirtErrorInvalidValue, "elementSize is %u; it must be 1, 2 or 4", params.elementSize);
  }
  size_t width, span;
  if (params.width == 0 || params.height == 0) {
    return fail(infinirtErrorInvalidValue, "width is %zu and height %zu; a set node must set something", params.width,
                params.height);
  }
  if (__builtin_mul_overflow(params.width, size_t{params.elementSize}, &width) ||
      !region_span(width, params.height, 1, params.pitch, 0, &span)) {
    return fail(infinirtErrorInvalidValue, "the region (%zu elements by %zu rows) is larger than the address space",
                params.width, params.height);
  }
  if (params.height > 1 && params.pitch < width) {
    return fail(infinirtErrorInvalidValue, "pitch %zu is smaller than the width of %zu bytes", params.pitch, width);
  }
  const auto misaligned = [&](uintptr_t value) { return value % params.elementSize != 0; };
  if (misaligned(reinterpret_cast<uintptr_t>(params.dst)) || (params.height > 1 && misaligned(params.pitch))) {
    return fail(infinirtErrorInvalidValue, "dst %p and pitch %zu must be multiples of elementSize %u", params.dst,
                params.pitch, params.elementSize);
  }
  const Operand target = find_operand(params.dst);
  if (auto error = check_operand(engine, target, params.dst, span, "dst")) return error;
  if (target.place == Place::Unknown) {
    return unknown_memory(engine, params.dst, "dst",
                          "a set node needs memory of a device, page-locked or managed memory");
  }
  work->type = WorkType::Fill;
  work->fill = {};
  work->fill.dst = params.dst;
  work->fill.pitch = params.pitch;
  work->fill.width = width;
  work->fill.height = params.height;
  work->fill.depth = 1;
  work->fill.value = params.value;
  work->fill.element_size = static_cast<uint8_t>(params.elementSize);
  work->fill.device = target.work_device();
  return infinirtSuccess;
}

infinirtPitchedPtr pitched(const void* pointer, size_t pitch, size_t slice, size_t width, size_t height) {
  if (pitch == 0) pitch = width;
  return {const_cast<void*>(pointer), pitch, width, slice && pitch ? slice / pitch : height};
}

enum infinirtMemcpyKind kind_between(int dst_device, int src_device) {
  if (dst_device < 0) return src_device < 0 ? infinirtMemcpyHostToHost : infinirtMemcpyDeviceToHost;
  return src_device < 0 ? infinirtMemcpyHostToDevice : infinirtMemcpyDeviceToDevice;
}

infinirtMemcpy3DParms copy_params(const CopyWork& copy) {
  infinirtMemcpy3DParms params{};
  params.dstPtr = pitched(copy.dst, copy.dst_pitch, copy.dst_slice, copy.width, copy.height);
  params.srcPtr = pitched(copy.src, copy.src_pitch, copy.src_slice, copy.width, copy.height);
  params.extent = {copy.width, copy.height, copy.depth};
  params.kind = kind_between(copy.dst_device, copy.src_device);
  return params;
}

infinirtMemsetParams fill_params(const FillWork& fill) {
  return {fill.dst,
          fill.pitch,
          fill.value,
          fill.element_size,
          fill.element_size ? fill.width / fill.element_size : fill.width,
          fill.height * std::max<size_t>(fill.depth, 1)};
}

KernelNodeParams kernel_params(const KernelWork& work) {
  KernelNodeParams params;
  // A kernel is named by its function's address or by a handle; the handle serves both.
  params.given.func =
      work.kernel->function ? reinterpret_cast<void*>(work.kernel->function) : static_cast<void*>(work.kernel->handle);
  params.given.gridDim = {work.grid[0], work.grid[1], work.grid[2]};
  params.given.blockDim = {work.block[0], work.block[1], work.block[2]};
  params.given.sharedMemBytes = work.shared_bytes;
  for (size_t offset : work.kernel->offsets) params.arguments.push_back(static_cast<char*>(work.args) + offset);
  return params;
}

}  // namespace

NodeBodyPtr make_empty_body(EngineDevice& device) { return new_body(infinirtGraphNodeTypeEmpty, device); }

NodeBodyPtr make_copy_body(EngineDevice& device, const infinirtMemcpy3DParms& params, infinirtError_t* error) {
  auto body = new_body(infinirtGraphNodeTypeMemcpy, device);
  *error = make_copy_3d(*device.engine, params, &body->work);
  if (*error != infinirtSuccess) return nullptr;
  body->params = params;
  return body;
}

NodeBodyPtr make_copy_body_1d(EngineDevice& device, void* dst, const void* src, size_t count,
                              enum infinirtMemcpyKind kind, infinirtError_t* error) {
  auto body = new_body(infinirtGraphNodeTypeMemcpy, device);
  *error = make_copy_1d(*device.engine, dst, src, count, kind, &body->work);
  if (*error != infinirtSuccess) return nullptr;
  infinirtMemcpy3DParms params{};
  params.dstPtr = {dst, count, count, 1};
  params.srcPtr = {const_cast<void*>(src), count, count, 1};
  params.extent = {count, 1, 1};
  params.kind = kind;
  body->params = params;
  return body;
}

NodeBodyPtr make_fill_body(EngineDevice& device, const infinirtMemsetParams& params, infinirtError_t* error) {
  auto body = new_body(infinirtGraphNodeTypeMemset, device);
  *error = make_fill(*device.engine, params, &body->work);
  if (*error != infinirtSuccess) return nullptr;
  body->params = params;
  return body;
}

NodeBodyPtr make_host_body(EngineDevice& device, const infinirtHostNodeParams& params, infinirtError_t* error) {
  if (!params.fn) {
    *error = fail(infinirtErrorInvalidValue, "pNodeParams->fn is null; a host function was expected");
    return nullptr;
  }
  auto body = new_body(infinirtGraphNodeTypeHost, device);
  body->work.type = WorkType::Host;
  body->work.host = {params.fn, params.userData, nullptr};
  body->params = params;
  return body;
}

NodeBodyPtr make_kernel_body(EngineDevice& device, const infinirtKernelNodeParams& params, infinirtError_t* error) {
  if (params.extra) {
    *error = fail(infinirtErrorNotSupported, "pNodeParams->extra is not supported; pass the arguments in kernelParams");
    return nullptr;
  }
  auto body = new_body(infinirtGraphNodeTypeKernel, device);
  *error = make_kernel_work(*device.engine, params.func, params.gridDim, params.blockDim, params.sharedMemBytes,
                            params.kernelParams, &body->work);
  if (*error != infinirtSuccess) return nullptr;
  KernelNodeParams kept = kernel_params(body->work.kernel);
  kept.given.func = params.func;
  body->params = std::move(kept);
  return body;
}

NodeBodyPtr make_event_body(enum infinirtGraphNodeType type, infinirtEvent_t handle, infinirtError_t* error) {
  if (!handle) {
    *error = fail(infinirtErrorInvalidValue, "event is null");
    return nullptr;
  }
  Event* event = resolve_event(handle, "event");
  if (!event) {
    *error = infinirtErrorInvalidResourceHandle;
    return nullptr;
  }
  if (event->flags & infinirtEventInterprocess) {
    *error = fail(infinirtErrorNotSupported,
                  "event is shared between processes; a graph can record and wait for events of "
                  "this process only");
    return nullptr;
  }
  auto body = new_body(type, *event->device);
  body->params = handle;
  return body;
}

NodeBodyPtr make_child_body(EngineDevice& device) { return new_body(infinirtGraphNodeTypeGraph, device); }

NodeBodyPtr make_alloc_body(const Graph& graph, const infinirtMemAllocNodeParams& params,
                            std::shared_ptr<GraphBlock> block, infinirtError_t* error) {
  const auto& props = params.poolProps;
  if (props.allocType != infinirtMemAllocationTypePinned || props.location.type != infinirtMemLocationTypeDevice) {
    *error =
        fail(infinirtErrorInvalidValue,
             "poolProps: allocType is %d and location.type %d; a graph allocates pinned memory (%d) of a device (%d)",
             static_cast<int>(props.allocType), static_cast<int>(props.location.type),
             static_cast<int>(infinirtMemAllocationTypePinned), static_cast<int>(infinirtMemLocationTypeDevice));
    return nullptr;
  }
  if (props.handleTypes != infinirtMemHandleTypeNone) {
    *error = fail(infinirtErrorNotSupported,
                  "poolProps.handleTypes is %d; memory of a graph cannot be shared between processes",
                  static_cast<int>(props.handleTypes));
    return nullptr;
  }
  if (params.bytesize == 0 || (params.accessDescCount && !params.accessDescs)) {
    *error = params.bytesize == 0 ? fail(infinirtErrorInvalidValue, "bytesize is 0")
                                  : fail(infinirtErrorInvalidValue, "accessDescs is null, but accessDescCount is %zu",
                                         params.accessDescCount);
    return nullptr;
  }
  EngineDevice* device = device_at(*graph.engine, props.location.id, "poolProps.location.id");
  if (!device) {
    *error = infinirtErrorInvalidDevice;
    return nullptr;
  }
  auto body = new_body(infinirtGraphNodeTypeMemAlloc, *device);
  *error = make_graph_allocation(graph, *device, params.bytesize, std::move(block), &body->allocation);
  if (*error != infinirtSuccess) return nullptr;
  AllocNodeParams kept;
  kept.access.assign(params.accessDescs, params.accessDescs + params.accessDescCount);
  kept.given = params;
  kept.given.dptr = body->allocation->block->pointer;
  body->params = std::move(kept);
  return body;
}

NodeBodyPtr make_free_body(Graph& graph, EngineDevice& device, void* pointer, infinirtError_t* error) {
  auto body = new_body(infinirtGraphNodeTypeMemFree, device);
  *error = find_graph_allocation(graph, pointer, &body->allocation);
  return *error == infinirtSuccess ? body : nullptr;
}

NodeBodyPtr make_captured_body(EngineDevice& device, Work& work) {
  enum infinirtGraphNodeType type;
  switch (work.type) {
    case WorkType::Nothing:
      type = infinirtGraphNodeTypeEmpty;
      break;
    case WorkType::Copy:
      type = infinirtGraphNodeTypeMemcpy;
      break;
    case WorkType::Fill:
      type = infinirtGraphNodeTypeMemset;
      break;
    case WorkType::Host:
    case WorkType::Step:  // CUDA's node types have no better name for it
      type = infinirtGraphNodeTypeHost;
      break;
    case WorkType::Kernel:
      type = infinirtGraphNodeTypeKernel;
      break;
    default:
      return nullptr;
  }
  auto body = new_body(type, device);
  body->work = work;
  work.type = WorkType::Nothing;
  switch (type) {
    case infinirtGraphNodeTypeMemcpy:
      body->params = copy_params(body->work.copy);
      break;
    case infinirtGraphNodeTypeMemset:
      body->params = fill_params(body->work.fill);
      break;
    case infinirtGraphNodeTypeHost:
      body->params = body->work.type == WorkType::Step
                         ? infinirtHostNodeParams{step_as_host_function, body->work.step.data}
                         : infinirtHostNodeParams{body->work.host.fn, body->work.host.data};
      break;
    case infinirtGraphNodeTypeKernel:
      body->params = kernel_params(body->work.kernel);
      break;
    default:
      break;
  }
  return body;
}

NodeBodyPtr make_body(Graph& graph, EngineDevice& device, const infinirtGraphNodeParams& params,
                      infinirtError_t* error) {
  switch (params.type) {
    case infinirtGraphNodeTypeEmpty:
      return make_empty_body(device);
    case infinirtGraphNodeTypeKernel: {
      const auto& kernel = params.kernel;
      return make_kernel_body(
          device,
          {kernel.func, kernel.gridDim, kernel.blockDim, kernel.sharedMemBytes, kernel.kernelParams, kernel.extra},
          error);
    }
    case infinirtGraphNodeTypeMemcpy:
      return make_copy_body(device, params.memcpy.copyParams, error);
    case infinirtGraphNodeTypeMemset: {
      const auto& fill = params.memset;
      return make_fill_body(device, {fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height},
                            error);
    }
    case infinirtGraphNodeTypeHost:
      return make_host_body(device, {params.host.fn, params.host.userData}, error);
    case infinirtGraphNodeTypeWaitEvent:
      return make_event_body(params.type, params.eventWait.event, error);
    case infinirtGraphNodeTypeEventRecord:
      return make_event_body(params.type, params.eventRecord.event, error);
    case infinirtGraphNodeTypeMemFree:
      return make_free_body(graph, device, params.free.dptr, error);
    case infinirtGraphNodeTypeExtSemaphoreSignal:
    case infinirtGraphNodeTypeExtSemaphoreWait:
    case infinirtGraphNodeTypeConditional:
      *error = fail(infinirtErrorNotSupported, "nodeParams->type %d: %s nodes are not supported on device type '%s'",
                    static_cast<int>(params.type), node_type_name(params.type), device.engine->backend.name.c_str());
      return nullptr;
    default:
      *error = fail(infinirtErrorInvalidValue, "nodeParams->type %d is not a node type that can be made here",
                    static_cast<int>(params.type));
      return nullptr;
  }
}

}  // namespace infinirt
