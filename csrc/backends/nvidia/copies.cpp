#include "backends/nvidia/copies.h"

#include <atomic>
#include <initializer_list>

#include "backends/nvidia/around_calls.h"
#include "backends/nvidia/driver_calls.h"
#include "backends/nvidia/real_library.h"
#include "backends/nvidia/staging.h"
#include "core/backend.h"
#include "core/registry.h"
#include "core/wait_hooks.h"
#include "engine/engine.h"
#include "engine/stream.h"

namespace infinirt::nvidia {

namespace {

// Memory of another device type that the host can reach is host memory to the GPU: the address is translated, and the kind
// left to the real library, which knows the other side.
// *is_device: whether it is such memory, and not what every device type takes for page-locked or pageable memory.
infinirtError_t translate(const void*& pointer, const char* argument, EngineDevice** owning, bool* is_device) {
  Allocation found;
  if (!registry_find(pointer, &found)) return infinirtSuccess;
  *owning = static_cast<Engine*>(found.backend->engine)->devices[static_cast<size_t>(found.device)].get();
  if (found.kind == MemoryKind::Pinned || found.kind == MemoryKind::Registered) return infinirtSuccess;
  auto* owner = const_cast<Backend*>(found.backend);
  void* host = nullptr;
  if (!owner->extensions.GetHostAddress ||
      owner->extensions.GetHostAddress(*owner, pointer, &host) != infinirtSuccess) {
    return fail(infinirtErrorInvalidValue,
                "%s %p is memory of %s:%d, which device type 'nvidia' cannot reach; copy it to host memory first",
                argument, pointer, owner->name.c_str(), found.device);
  }
  pointer = host;
  *is_device = true;
  return infinirtSuccess;
}

struct Operands {
  void* dst = nullptr;
  const void* src = nullptr;
  enum infinirtMemcpyKind kind = infinirtMemcpyDefault;
  EngineDevice* other = nullptr;  // that one side is memory of, pageable as far as the real library can tell
  bool from_other = false;        // the source is its device memory

  infinirtError_t resolve() {
    if (!registry_may_hold(dst) && !registry_may_hold(src)) [[likely]]
      return infinirtSuccess;
    const void* target = dst;
    bool to_other = false;
    if (auto error = translate(target, "dst", &other, &to_other)) return error;
    if (auto error = translate(src, "src", &other, &from_other)) return error;
    dst = const_cast<void*>(target);
    if (other) kind = infinirtMemcpyDefault;
    return infinirtSuccess;
  }

  // For copies without a stream, which also come after what the other device's default stream was given.
  infinirtError_t resolve_in_default_order() {
    if (auto error = resolve()) return error;
    return other ? synchronize_stream(*other->legacy) : infinirtSuccess;
  }
};

infinirtStream_t implicit_stream() {
  return thread_state().implicit_stream ? infinirtStreamPerThread : infinirtStreamLegacy;
}

// Work before the copy may be a wait for the other device, which is about to write the source; pageable memory, which the
// source is to the real library, would be read now. A captured copy reads when its graph runs.
infinirtError_t wait_for_source(infinirtStream_t stream) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  if (auto error = real.StreamIsCapturing(stream, &status)) return error;
  return status == infinirtStreamCaptureStatusNone ? real.StreamSynchronize(stream) : infinirtSuccess;
}

// The copy itself, in the order of its stream.
template <class Copy>
infinirtError_t ordered(const Operands& o, infinirtStream_t stream, Copy copy) {
  if (!o.other) [[likely]]
    return copy();
  // Whoever said that both sides are device memory does not expect the call to wait, and may hold a lock.
  const RareWaitScope scope;
  if (o.from_other) {
    if (auto error = wait_for_source(stream)) return error;
  }
  return copy();
}

bool is_staged(const Operands& o, size_t count, infinirtStream_t stream, infinirtError_t* error) {
  return count >= kStagedCopyBytes && o.kind != infinirtMemcpyDeviceToDevice && o.kind != infinirtMemcpyHostToHost &&
         copy_staged(o.dst, o.src, count, stream, error) == StagedCopy::Done;
}

}  // namespace

infinirtError_t Memcpy(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind) {
  Operands o{dst, src, kind};
  if (auto error = o.resolve_in_default_order()) return error;
  infinirtError_t error = infinirtSuccess;
  if (!is_staged(o, count, implicit_stream(), &error)) {
    error = thread_state().implicit_stream ? real_per_thread.Memcpy(o.dst, o.src, count, o.kind)
                                           : real.Memcpy(o.dst, o.src, count, o.kind);
  }
  if (error == infinirtSuccess) [[likely]]
    return error;
  return failed(FunctionId::Memcpy, error, nullptr, "dst %p, src %p, count %zu, kind %d", dst, src, count,
                static_cast<int>(kind));
}

[[gnu::hot, gnu::aligned(64)]] infinirtError_t MemcpyAsync(void* dst, const void* src, size_t count,
                                                           enum infinirtMemcpyKind kind, infinirtStream_t stream) {
  if (is_dead(stream)) [[unlikely]]
    return refuse_dead(stream, "stream");
  note_call(FunctionId::MemcpyAsync, stream, nullptr);
  infinirtError_t error = infinirtSuccess;
  if (kind == infinirtMemcpyDeviceToDevice && !registry_may_hold(dst) && !registry_may_hold(src)) [[likely]] {
    error = direct::MemcpyAsync(dst, src, count, kind, stream);
  } else {
    Operands o{dst, src, kind};
    if ((error = o.resolve())) return error;
    error = ordered(o, stream, [&] {
      infinirtError_t copied = infinirtSuccess;
      if (!is_staged(o, count, stream, &copied)) copied = real.MemcpyAsync(o.dst, o.src, count, o.kind, stream);
      return copied;
    });
  }
  if (error == infinirtSuccess) [[likely]]
    return error;
  return failed(FunctionId::MemcpyAsync, error, stream, "dst %p, src %p, count %zu, kind %d, stream %p", dst, src,
                count, static_cast<int>(kind), shown(stream));
}

infinirtError_t Memcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                         enum infinirtMemcpyKind kind) {
  Operands o{dst, src, kind};
  if (auto error = o.resolve_in_default_order()) return error;
  const auto call = thread_state().implicit_stream ? real_per_thread.Memcpy2D : real.Memcpy2D;
  const infinirtError_t error = call(o.dst, dpitch, o.src, spitch, width, height, o.kind);
  if (error == infinirtSuccess) [[likely]]
    return error;
  return failed(FunctionId::Memcpy2D, error, nullptr,
                "dst %p, dpitch %zu, src %p, spitch %zu, width %zu, height %zu, kind %d", dst, dpitch, src, spitch,
                width, height, static_cast<int>(kind));
}

infinirtError_t Memcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              enum infinirtMemcpyKind kind, infinirtStream_t stream) {
  if (is_dead(stream)) [[unlikely]]
    return refuse_dead(stream, "stream");
  note_call(FunctionId::Memcpy2DAsync, stream, nullptr);
  Operands o{dst, src, kind};
  if (auto error = o.resolve()) return error;
  const auto copy = [&] { return real.Memcpy2DAsync(o.dst, dpitch, o.src, spitch, width, height, o.kind, stream); };
  const infinirtError_t error = ordered(o, stream, copy);
  if (error == infinirtSuccess) [[likely]]
    return error;
  return failed(FunctionId::Memcpy2DAsync, error, stream,
                "dst %p, dpitch %zu, src %p, spitch %zu, width %zu, height %zu, kind %d, stream %p", dst, dpitch, src,
                spitch, width, height, static_cast<int>(kind), shown(stream));
}

namespace {

// With addresses that the real library understands. Arrays are its own, and stay.
infinirtError_t resolve_volume(struct infinirtMemcpy3DParms& p, Operands& o) {
  o = {p.dstPtr.ptr, p.srcPtr.ptr, p.kind};
  if (auto error = o.resolve()) return error;
  p.dstPtr.ptr = o.dst;
  p.srcPtr.ptr = const_cast<void*>(o.src);
  p.kind = o.kind;
  return infinirtSuccess;
}

infinirtError_t volume_failed(FunctionId function, infinirtError_t error, const struct infinirtMemcpy3DParms& p,
                              infinirtStream_t stream) {
  return failed(function, error, stream, "dst %p, src %p, extent %zu x %zu x %zu, kind %d, stream %p", p.dstPtr.ptr,
                p.srcPtr.ptr, p.extent.width, p.extent.height, p.extent.depth, static_cast<int>(p.kind), shown(stream));
}

}  // namespace

infinirtError_t Memcpy3D(const struct infinirtMemcpy3DParms* p) {
  if (!p) return fail(infinirtErrorInvalidValue, "p is null");
  struct infinirtMemcpy3DParms changed = *p;
  Operands o;
  if (auto error = resolve_volume(changed, o)) return error;
  if (o.other) {
    if (auto error = synchronize_stream(*o.other->legacy)) return error;
  }
  const auto call = thread_state().implicit_stream ? real_per_thread.Memcpy3D : real.Memcpy3D;
  const infinirtError_t error = call(&changed);
  return error == infinirtSuccess ? error : volume_failed(FunctionId::Memcpy3D, error, *p, nullptr);
}

infinirtError_t Memcpy3DAsync(const struct infinirtMemcpy3DParms* p, infinirtStream_t stream) {
  if (is_dead(stream)) [[unlikely]]
    return refuse_dead(stream, "stream");
  if (!p) return fail(infinirtErrorInvalidValue, "p is null");
  note_call(FunctionId::Memcpy3DAsync, stream, nullptr);
  struct infinirtMemcpy3DParms changed = *p;
  Operands o;
  if (auto error = resolve_volume(changed, o)) return error;
  const auto copy = [&] { return real.Memcpy3DAsync(&changed, stream); };
  const infinirtError_t error = ordered(o, stream, copy);
  return error == infinirtSuccess ? error : volume_failed(FunctionId::Memcpy3DAsync, error, *p, stream);
}

namespace {

// One private stream per device; work of the caller's streams is ordered by events, not by this one.
infinirtError_t private_stream(int device, infinirtStream_t* stream) {
  constexpr int kMaxDevices = 64;
  static std::atomic<infinirtStream_t> streams[kMaxDevices];
  if (device < 0 || device >= kMaxDevices) return infinirtErrorInvalidDevice;
  *stream = streams[device].load();
  if (*stream) return infinirtSuccess;
  infinirtStream_t made = nullptr;
  if (auto error = real.StreamCreateWithFlags(&made, infinirtStreamNonBlocking)) return error;
  if (streams[device].compare_exchange_strong(*stream, made)) {
    *stream = made;
  } else {
    real.StreamDestroy(made);
  }
  return infinirtSuccess;
}

infinirtError_t copy_on(const CrossCopy& c, infinirtStream_t stream) {
  infinirtError_t error = infinirtSuccess;
  if (c.height == 1 && c.depth == 1) {
    if (c.width < kStagedCopyBytes || copy_staged(c.dst, c.src, c.width, stream, &error) != StagedCopy::Done)
      error = real.MemcpyAsync(c.dst, c.src, c.width, infinirtMemcpyDefault, stream);
  } else {
    for (size_t z = 0; z < c.depth && error == infinirtSuccess; ++z) {
      error = real.Memcpy2DAsync(static_cast<char*>(c.dst) + z * c.dst_slice, c.dst_pitch,
                                 static_cast<const char*>(c.src) + z * c.src_slice, c.src_pitch, c.width, c.height,
                                 infinirtMemcpyDefault, stream);
    }
  }
  return error == infinirtSuccess ? real.StreamSynchronize(stream) : error;
}

// With the device current that has one of these addresses; the thread's own, if none has.
template <class Call>
infinirtError_t on_device_of(std::initializer_list<const void*> pointers, Call call) {
  int device = -1, current = 0;
  for (const void* pointer : pointers) {
    struct infinirtPointerAttributes attributes = {};
    if (real.PointerGetAttributes(&attributes, pointer) == infinirtSuccess &&
        attributes.type == infinirtMemoryTypeDevice)
      device = attributes.device;
  }
  infinirtError_t error = real.GetDevice(&current);
  if (device < 0) device = current;
  if (!error && device != current) error = real.SetDevice(device);
  if (!error) error = call(device);
  if (device != current) real.SetDevice(current);
  return error;
}

}  // namespace

infinirtError_t wait_for_default_stream(const void* pointer) {
  const infinirtError_t error =
      on_device_of({pointer}, [](int) { return real.StreamSynchronize(infinirtStreamLegacy); });
  return error == infinirtSuccess
             ? error
             : failed(FunctionId::StreamSynchronize, error, infinirtStreamLegacy, "of the device that has %p", pointer);
}

infinirtError_t copy_now(const CrossCopy& copy) {
  infinirtStream_t stream = nullptr;
  const infinirtError_t error = on_device_of({copy.dst, copy.src}, [&](int device) {
    if (auto failure = private_stream(device, &stream)) return failure;
    return copy_on(copy, stream);
  });
  return error == infinirtSuccess ? error
                                  : failed(FunctionId::MemcpyAsync, error, stream, "dst %p, src %p, %zu bytes",
                                           copy.dst, copy.src, copy.width * copy.height * copy.depth);
}

}  // namespace infinirt::nvidia
