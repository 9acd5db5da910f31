// Table functions: sets.
#include <cstdint>

#include "engine/capture.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/stream.h"

namespace infinirt::engine_api {

namespace {

FillWork region(void* dst, size_t pitch, size_t slice, int value, size_t width, size_t height, size_t depth) {
  FillWork work{};
  work.dst = dst;
  work.pitch = pitch;
  work.slice = slice;
  work.width = width;
  work.height = height;
  work.depth = depth;
  work.value = static_cast<uint8_t>(value);
  work.element_size = 1;
  return work;
}

infinirtError_t check_fill(const Engine& engine, const Operand& target, FillWork& work) {
  size_t span = 0;
  if (!region_span(work.width, work.height, work.depth, work.pitch, work.slice, &span)) {
    return fail(infinirtErrorInvalidValue,
                "the region (%zu bytes by %zu rows by %zu slices) is larger than the address space", work.width,
                work.height, work.depth);
  }
  if (auto error = check_operand(engine, target, work.dst, span, "devPtr")) return error;
  if (target.place == Place::Unknown) {
    return unknown_memory(engine, work.dst, "devPtr",
                          "plain host memory is set with memset, device memory comes from infinirtMalloc");
  }
  work.device = target.work_device();
  return infinirtSuccess;
}

infinirtError_t fill_later(Stream& stream, const FillWork& fill) {
  Engine& engine = *stream.device->engine;
  infinirtError_t result = infinirtSuccess;
  const size_t bytes = fill.width * fill.height * fill.depth;
  Work work;
  if (bytes <= engine.inline_limit()) {
    if (observed()) [[unlikely]] {
      work.type = WorkType::Fill;
      work.fill = fill;
    }
    if (try_run_inline(stream, work, [&] { result = engine.fill(fill); })) return result;
  }
  work.type = WorkType::Fill;
  work.fill = fill;
  return submit(stream, work);
}

infinirtError_t set_now(FillWork work) {
  ThreadState& ts = thread_state();
  const Operand target = find_operand(work.dst);
  if (auto error = check_current_device(ts)) return error;
  if (auto error = check_fill(current_engine(ts), target, work)) return error;
  Stream& stream = *implicit_stream(ts);
  note_use(stream, target);
  infinirtError_t barred = infinirtSuccess;
  if (stream.capture.load(std::memory_order_acquire) && capture_bars_stream(stream, "a synchronous set", &barred))
    return barred;
  if (auto error = fill_later(stream, work)) return error;
  // The host sees page-locked memory directly: only there does it have to wait.
  return target.place == Place::Pinned ? synchronize_stream(stream) : infinirtSuccess;
}

infinirtError_t set_on(FillWork work, infinirtStream_t handle) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  if (work.width == 0 || work.height == 0 || work.depth == 0) return infinirtSuccess;
  const Operand target = find_operand(work.dst);
  if ((error = check_fill(*stream->device->engine, target, work))) return error;
  note_use(*stream, target);
  return fill_later(*stream, work);
}

// A pitch matters only where there is a second row.
infinirtError_t check_pitch(size_t pitch, size_t width, size_t rows) {
  if (rows <= 1 || width <= pitch) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "pitch %zu is smaller than the width of %zu bytes", pitch, width);
}

infinirtError_t region_3d(const struct infinirtPitchedPtr& p, int value, const struct infinirtExtent& e,
                          FillWork* work) {
  if (auto error = check_pitch(p.pitch, e.width, e.height > 1 ? e.height : e.depth)) return error;
  if (e.depth > 1 && e.height > p.ysize) {
    return fail(infinirtErrorInvalidValue, "pitchedDevPtr.ysize %zu is smaller than extent.height %zu", p.ysize,
                e.height);
  }
  size_t slice = 0;
  if (__builtin_mul_overflow(p.pitch, p.ysize, &slice)) {
    if (e.depth > 1) {
      return fail(infinirtErrorInvalidValue,
                  "pitchedDevPtr: pitch %zu times ysize %zu is larger than the address space", p.pitch, p.ysize);
    }
    slice = 0;
  }
  *work = region(p.ptr, p.pitch, slice, value, e.width, e.height, e.depth);
  return infinirtSuccess;
}

}  // namespace

infinirtError_t Memset(void* devPtr, int value, size_t count) {
  if (count == 0) return infinirtSuccess;
  return set_now(region(devPtr, 0, 0, value, count, 1, 1));
}

infinirtError_t MemsetAsync(void* devPtr, int value, size_t count, infinirtStream_t stream) {
  return set_on(region(devPtr, 0, 0, value, count, 1, 1), stream);
}

infinirtError_t Memset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
  if (width == 0 || height == 0) return infinirtSuccess;
  if (auto error = check_pitch(pitch, width, height)) return error;
  return set_now(region(devPtr, pitch, 0, value, width, height, 1));
}

infinirtError_t Memset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                              infinirtStream_t stream) {
  if (auto error = check_pitch(pitch, width, height)) return error;
  return set_on(region(devPtr, pitch, 0, value, width, height, 1), stream);
}

infinirtError_t Memset3D(struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return infinirtSuccess;
  FillWork work;
  if (auto error = region_3d(pitchedDevPtr, value, extent, &work)) return error;
  return set_now(work);
}

infinirtError_t Memset3DAsync(struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent,
                              infinirtStream_t stream) {
  FillWork work;
  if (auto error = region_3d(pitchedDevPtr, value, extent, &work)) return error;
  return set_on(work, stream);
}

}  // namespace infinirt::engine_api
