// Table functions: copies.
#include <cstdint>
#include <vector>

#include "engine/copy_geometry.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/stream.h"

namespace infinirt::engine_api {

namespace {

CopyRequest linear(void* dst, const void* src, size_t count, int kind) {
  CopyRequest request;
  request.work = {};
  request.work.dst = dst;
  request.work.src = src;
  request.work.width = count;
  request.work.height = request.work.depth = 1;
  request.kind = kind;
  return request;
}

CopyRequest planar(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height,
                   int kind) {
  CopyRequest request = linear(dst, src, width, kind);
  request.work.dst_pitch = dst_pitch;
  request.work.src_pitch = src_pitch;
  request.work.height = height;
  return request;
}

// The calls without a stream argument. They are routed by their pointers: the thread's backend is the one to act for.
infinirtError_t copy_now(CopyRequest& request) {
  ThreadState& ts = thread_state();
  find_copy_operands(request);
  if (auto error = check_current_device(ts)) return error;
  if (auto error = check_copy(current_engine(ts), request)) return error;
  return run_copy(*implicit_stream(ts), request, CopyCall::Synchronous);
}

infinirtError_t copy_on(CopyRequest& request, infinirtStream_t handle) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  find_copy_operands(request);
  if ((error = check_copy(*stream->device->engine, request))) return error;
  return run_copy(*stream, request, CopyCall::Asynchronous);
}

// A call that copies nothing still names a stream that must exist.
infinirtError_t check_stream(infinirtStream_t handle) {
  infinirtError_t error = infinirtSuccess;
  resolve_stream(thread_state(), handle, &error);
  return error;
}

// Codes as measured on a real device: the pitch's own only where it is used.
infinirtError_t check_pitches(size_t dst_pitch, size_t src_pitch, size_t width, size_t height) {
  const bool dst_wrong = width > dst_pitch;
  if (!dst_wrong && width <= src_pitch) return infinirtSuccess;
  return fail(height > 1 ? infinirtErrorInvalidPitchValue : infinirtErrorInvalidValue,
              "%s %zu is smaller than the width of %zu bytes", dst_wrong ? "dpitch" : "spitch",
              dst_wrong ? dst_pitch : src_pitch, width);
}

bool is_empty(const struct infinirtExtent& e) { return e.width == 0 || e.height == 0 || e.depth == 0; }

infinirtError_t missing_parameters() { return fail(infinirtErrorInvalidValue, "p is null; it must describe the copy"); }

// ---- between devices

infinirtError_t check_peer_side(Engine& engine, const Operand& operand, const void* pointer, int device,
                                const char* pointer_name, const char* device_name) {
  if (operand.place == Place::Unknown && pointer) {
    return unknown_memory(engine, pointer, pointer_name, "a copy between devices needs memory of a device");
  }
  if (operand.place == Place::Device && operand.device != device) {
    return fail(infinirtErrorInvalidValue, "%s %p belongs to %s:%d, but %s is %d", pointer_name, pointer,
                operand.backend->name.c_str(), operand.device, device_name, device);
  }
  return infinirtSuccess;
}

infinirtError_t check_peers(Engine& engine, const CopyRequest& request, int dst_device, int src_device) {
  if (auto error = check_peer_side(engine, request.dst, request.given_dst(), dst_device, "dst", "dstDevice"))
    return error;
  return check_peer_side(engine, request.src, request.given_src(), src_device, "src", "srcDevice");
}

infinirtError_t check_ordinals(Engine& engine, int dst_device, int src_device) {
  if (!device_at(engine, dst_device, "dstDevice")) return infinirtErrorInvalidDevice;
  if (!device_at(engine, src_device, "srcDevice")) return infinirtErrorInvalidDevice;
  return infinirtSuccess;
}

// The copy comes after all earlier work of both devices' default streams, and their later work after the copy.
infinirtError_t copy_between_devices(CopyRequest& request, int dst_device, int src_device) {
  ThreadState& ts = thread_state();
  find_copy_operands(request);
  Engine& engine = current_engine(ts);
  if (auto error = check_current_device(ts)) return error;
  if (auto error = check_ordinals(engine, dst_device, src_device)) return error;
  if (request.work.width == 0) return infinirtSuccess;
  if (auto error = check_peers(engine, request, dst_device, src_device)) return error;
  if (auto error = check_copy(engine, request)) return error;
  Stream& stream = *implicit_stream(ts);
  std::vector<Stream*> others;
  for (int ordinal : {dst_device, src_device}) {
    Stream* legacy = engine.devices[static_cast<size_t>(ordinal)]->legacy;
    if (legacy->device != stream.device && (others.empty() || others[0] != legacy)) others.push_back(legacy);
  }
  for (Stream* other : others) {
    std::vector<Point> points;
    collect_sync_points(*other, points);
    for (const Point& point : points) stream_wait_point(stream, point);
  }
  if (auto error = run_copy(stream, request, CopyCall::Synchronous)) return error;
  for (Stream* other : others) stream_wait_point(*other, stream.tail());
  return infinirtSuccess;
}

infinirtError_t copy_between_devices_on(CopyRequest& request, int dst_device, int src_device, infinirtStream_t handle) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  Engine& engine = *stream->device->engine;
  if ((error = check_ordinals(engine, dst_device, src_device))) return error;
  if (request.work.width == 0) return infinirtSuccess;
  find_copy_operands(request);
  if ((error = check_peers(engine, request, dst_device, src_device))) return error;
  if ((error = check_copy(engine, request))) return error;
  return run_copy(*stream, request, CopyCall::Asynchronous);
}

}  // namespace

infinirtError_t Memcpy(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind) {
  if (count == 0) return infinirtSuccess;
  CopyRequest request = linear(dst, src, count, raw_value(kind));
  return copy_now(request);
}

infinirtError_t MemcpyAsync(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind,
                            infinirtStream_t stream) {
  if (count == 0) return check_stream(stream);
  CopyRequest request = linear(dst, src, count, raw_value(kind));
  return copy_on(request, stream);
}

infinirtError_t Memcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                         enum infinirtMemcpyKind kind) {
  if (width == 0 || height == 0) return infinirtSuccess;
  if (auto error = check_pitches(dpitch, spitch, width, height)) return error;
  CopyRequest request = planar(dst, dpitch, src, spitch, width, height, raw_value(kind));
  return copy_now(request);
}

infinirtError_t Memcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              enum infinirtMemcpyKind kind, infinirtStream_t stream) {
  if (width == 0 || height == 0) return check_stream(stream);
  if (auto error = check_pitches(dpitch, spitch, width, height)) return error;
  CopyRequest request = planar(dst, dpitch, src, spitch, width, height, raw_value(kind));
  return copy_on(request, stream);
}

infinirtError_t Memcpy3D(const struct infinirtMemcpy3DParms* p) {
  if (!p) return missing_parameters();
  if (is_empty(p->extent)) return infinirtSuccess;
  CopyRequest request;
  if (auto error = request_3d(*p, raw_value(p->kind), &request)) return error;
  return copy_now(request);
}

infinirtError_t Memcpy3DAsync(const struct infinirtMemcpy3DParms* p, infinirtStream_t stream) {
  if (!p) return missing_parameters();
  if (is_empty(p->extent)) return check_stream(stream);
  CopyRequest request;
  if (auto error = request_3d(*p, raw_value(p->kind), &request)) return error;
  return copy_on(request, stream);
}

infinirtError_t MemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
  CopyRequest request = linear(dst, src, count, infinirtMemcpyDefault);
  return copy_between_devices(request, dstDevice, srcDevice);
}

infinirtError_t MemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
                                infinirtStream_t stream) {
  CopyRequest request = linear(dst, src, count, infinirtMemcpyDefault);
  return copy_between_devices_on(request, dstDevice, srcDevice, stream);
}

infinirtError_t Memcpy3DPeer(const struct infinirtMemcpy3DPeerParms* p) {
  if (!p) return missing_parameters();
  if (is_empty(p->extent)) return infinirtSuccess;
  CopyRequest request;
  if (auto error = request_3d(*p, infinirtMemcpyDefault, &request)) return error;
  return copy_between_devices(request, p->dstDevice, p->srcDevice);
}

infinirtError_t Memcpy3DPeerAsync(const struct infinirtMemcpy3DPeerParms* p, infinirtStream_t stream) {
  if (!p) return missing_parameters();
  if (is_empty(p->extent)) return check_stream(stream);
  CopyRequest request;
  if (auto error = request_3d(*p, infinirtMemcpyDefault, &request)) return error;
  return copy_between_devices_on(request, p->dstDevice, p->srcDevice, stream);
}

}  // namespace infinirt::engine_api
