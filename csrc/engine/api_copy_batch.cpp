// Table functions: many copies with one call.
#include <cstdint>
#include <vector>

#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/stream.h"

namespace infinirt::engine_api {

namespace {

// The stream of a batch: any but the legacy one, and not while it captures.
Stream* batch_stream(infinirtStream_t handle, infinirtError_t* error) {
  Stream* stream = resolve_stream(thread_state(), handle, error);
  if (!stream) return nullptr;
  if (stream->role == StreamRole::Legacy) {
    *error =
        fail(infinirtErrorInvalidValue, "stream is the legacy default stream, which batches may not use; create one");
    return nullptr;
  }
  if (stream->capture.load(std::memory_order_acquire)) {
    *error = fail(infinirtErrorStreamCaptureUnsupported,
                  "stream captures, and batches cannot be captured; issue the copies singly");
    return nullptr;
  }
  return stream;
}

infinirtError_t source_access(int order, unsigned flags, SourceAccess* access) {
  switch (order) {
    case infinirtMemcpySrcAccessOrderStream:
      *access = SourceAccess::InStreamOrder;
      break;
    case infinirtMemcpySrcAccessOrderDuringApiCall:
      *access = SourceAccess::DuringCall;
      break;
    case infinirtMemcpySrcAccessOrderAny:
      *access = SourceAccess::WheneverAllowed;
      break;
    default:
      return fail(infinirtErrorInvalidValue, "srcAccessOrder %d is not one of infinirtMemcpySrcAccessOrder (1 to 3)",
                  order);
  }
  if (flags & ~static_cast<unsigned>(infinirtMemcpyFlagPreferOverlapWithCompute)) {
    return fail(infinirtErrorInvalidValue, "flags 0x%x has bits that infinirtMemcpyFlags does not have", flags);
  }
  return infinirtSuccess;
}

// All copies were checked, so none of them is left out half way for a reason that could be known before.
infinirtError_t run_batch(Stream& stream, std::vector<CopyRequest>& requests, size_t* fail_index) {
  for (size_t i = 0; i < requests.size(); ++i) {
    if (auto error = run_copy(stream, requests[i], CopyCall::Asynchronous)) {
      *fail_index = i;
      return error;
    }
  }
  return infinirtSuccess;
}

infinirtError_t pointer_operand(const struct infinirtMemcpy3DOperand& operand, const struct infinirtExtent& extent,
                                const char* name, size_t index, void** pointer, size_t* pitch, size_t* slice) {
  const int type = raw_value(operand.type);
  if (type == infinirtMemcpyOperandTypeArray) {
    return fail(infinirtErrorNotSupported, "opList[%zu].%s is an array, but this runtime has no arrays; use a pointer",
                index, name);
  }
  if (type != infinirtMemcpyOperandTypePointer) {
    return fail(infinirtErrorInvalidValue, "opList[%zu].%s.type %d is not one of infinirtMemcpy3DOperandType (1 or 2)",
                index, name, type);
  }
  const auto& p = operand.op.ptr;
  *pointer = p.ptr;
  *pitch = p.rowLength ? p.rowLength : extent.width;
  const size_t rows = p.layerHeight ? p.layerHeight : extent.height;
  if (*pitch < extent.width || rows < extent.height) {
    return fail(
        infinirtErrorInvalidValue,
        "opList[%zu].%s: rowLength %zu and layerHeight %zu do not hold the extent of %zu by %zu; 0 means just that",
        index, name, p.rowLength, p.layerHeight, extent.width, extent.height);
  }
  if (__builtin_mul_overflow(*pitch, rows, slice)) {
    return fail(infinirtErrorInvalidValue, "opList[%zu].%s: a layer is larger than the address space", index, name);
  }
  return infinirtSuccess;
}

infinirtError_t request_of(const struct infinirtMemcpy3DBatchOp& op, size_t index, CopyRequest* request) {
  if (op.extent.width == 0 || op.extent.height == 0 || op.extent.depth == 0) {
    return fail(infinirtErrorInvalidValue, "opList[%zu].extent (%zu, %zu, %zu) is empty", index, op.extent.width,
                op.extent.height, op.extent.depth);
  }
  request->work = {};
  CopyWork& work = request->work;
  work.width = op.extent.width;
  work.height = op.extent.height;
  work.depth = op.extent.depth;
  void* src = nullptr;
  if (auto error = pointer_operand(op.dst, op.extent, "dst", index, &work.dst, &work.dst_pitch, &work.dst_slice))
    return error;
  if (auto error = pointer_operand(op.src, op.extent, "src", index, &src, &work.src_pitch, &work.src_slice))
    return error;
  work.src = src;
  return source_access(raw_value(op.srcAccessOrder), op.flags, &request->access);
}

}  // namespace

infinirtError_t MemcpyBatchAsync(void** dsts, void** srcs, size_t* sizes, size_t count,
                                 struct infinirtMemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                                 size_t* failIdx, infinirtStream_t stream) {
  size_t ignored;
  size_t& index = failIdx ? *failIdx : ignored;
  index = SIZE_MAX;
  infinirtError_t error = infinirtSuccess;
  Stream* target = batch_stream(stream, &error);
  if (!target) return error;
  if (count == 0 || !dsts || !srcs || !sizes) {
    return fail(infinirtErrorInvalidValue, "count is %zu, dsts %p, srcs %p, sizes %p; all of them must be there", count,
                static_cast<void*>(dsts), static_cast<void*>(srcs), static_cast<void*>(sizes));
  }
  if (numAttrs == 0 || numAttrs > count || !attrs || !attrsIdxs) {
    return fail(infinirtErrorInvalidValue,
                "numAttrs is %zu, attrs %p, attrsIdxs %p; there must be 1 to count (%zu) attributes", numAttrs,
                static_cast<void*>(attrs), static_cast<void*>(attrsIdxs), count);
  }
  for (size_t a = 0; a < numAttrs; ++a) {
    const bool in_order = a == 0 ? attrsIdxs[0] == 0 : attrsIdxs[a] > attrsIdxs[a - 1];
    if (!in_order || attrsIdxs[a] >= count) {
      return fail(infinirtErrorInvalidValue,
                  "attrsIdxs[%zu] is %zu; the indices start with 0, increase, and stay below count (%zu)", a,
                  attrsIdxs[a], count);
    }
  }
  const Engine& engine = *target->device->engine;
  std::vector<CopyRequest> requests(count);
  for (size_t i = 0, a = 0; i < count; ++i) {
    if (a + 1 < numAttrs && attrsIdxs[a + 1] == i) ++a;
    CopyRequest& request = requests[i];
    request.work = {};
    request.work.dst = dsts[i];
    request.work.src = srcs[i];
    request.work.width = sizes[i];
    request.work.height = request.work.depth = 1;
    index = i;
    if (sizes[i] == 0)
      return fail(infinirtErrorInvalidValue, "sizes[%zu] is 0; every copy of a batch must copy something", i);
    if ((error = source_access(raw_value(attrs[a].srcAccessOrder), attrs[a].flags, &request.access))) return error;
    find_copy_operands(request);
    if ((error = check_copy(engine, request))) return error;
  }
  index = SIZE_MAX;
  return run_batch(*target, requests, &index);
}

infinirtError_t Memcpy3DBatchAsync(size_t numOps, struct infinirtMemcpy3DBatchOp* opList, size_t* failIdx,
                                   unsigned long long flags, infinirtStream_t stream) {
  size_t ignored;
  size_t& index = failIdx ? *failIdx : ignored;
  index = SIZE_MAX;
  infinirtError_t error = infinirtSuccess;
  Stream* target = batch_stream(stream, &error);
  if (!target) return error;
  if (numOps == 0 || !opList) {
    return fail(infinirtErrorInvalidValue, "numOps is %zu and opList %p; there must be a copy", numOps,
                static_cast<void*>(opList));
  }
  if (flags != 0) return fail(infinirtErrorInvalidValue, "flags 0x%llx must be 0", flags);
  const Engine& engine = *target->device->engine;
  std::vector<CopyRequest> requests(numOps);
  for (size_t i = 0; i < numOps; ++i) {
    index = i;
    if ((error = request_of(opList[i], i, &requests[i]))) return error;
    find_copy_operands(requests[i]);
    if ((error = check_copy(engine, requests[i]))) return error;
  }
  index = SIZE_MAX;
  return run_batch(*target, requests, &index);
}

}  // namespace infinirt::engine_api
