// When copies run, and when the call that asked for one returns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "engine/capture.h"
#include "engine/memory.h"
#include "engine/scheduler.h"

namespace infinirt {

namespace {

// Pageable sources up to this size are copied aside, so that the call need not wait for the stream. In random schedules all
// are: a GPU's last part may come late as well, and a program that relies on more should fail there.
constexpr size_t kStagedBytes = size_t{64} << 10;

const char* kind_name(int kind) {
  switch (kind) {
    case infinirtMemcpyHostToHost:
      return "infinirtMemcpyHostToHost";
    case infinirtMemcpyHostToDevice:
      return "infinirtMemcpyHostToDevice";
    case infinirtMemcpyDeviceToHost:
      return "infinirtMemcpyDeviceToHost";
    case infinirtMemcpyDeviceToDevice:
      return "infinirtMemcpyDeviceToDevice";
    case infinirtMemcpyDefault:
      return "infinirtMemcpyDefault";
  }
  return "?";
}

size_t total_bytes(const CopyWork& work) { return work.width * work.height * work.depth; }

bool may_be_staged(const CopyWork& work) { return is_random_schedule() || total_bytes(work) <= kStagedBytes; }

// A side that the kind calls a device's must be memory that a device can reach. The other way round is harmless: as on
// real devices the pointers decide, and a known pointer says what it is.
infinirtError_t check_side(const Engine& engine, const Operand& operand, const void* pointer, const char* argument,
                           int kind) {
  if (operand.place != Place::Unknown) return infinirtSuccess;
  char advice[160];
  std::snprintf(advice, sizeof advice,
                "%s needs device memory there: allocate it with infinirtMalloc, or use infinirtMemcpyDefault",
                kind_name(kind));
  return unknown_memory(engine, pointer, argument, advice);
}

// Another device type's copy may take any time, and no lock may be held meanwhile.
bool may_run_inline(const Engine& engine, const CopyWork& work) {
  return !work.other && total_bytes(work) <= engine.inline_limit();
}

bool try_copy_inline(Stream& stream, const CopyWork& copy, infinirtError_t* result) {
  Engine& engine = *stream.device->engine;
  if (!may_run_inline(engine, copy)) return false;
  if (!observed()) [[likely]]
    return try_run_inline(stream, Work(), [&] { *result = engine.copy(copy); });
  Work work;
  work.type = WorkType::Copy;
  work.copy = copy;
  return try_run_inline(stream, work, [&] { *result = engine.copy(copy); });
}

// In the stream's order, but in this thread: the copy is complete on return.
infinirtError_t copy_here(Stream& stream, CopyWork& work) {
  Engine& engine = *stream.device->engine;
  if (auto error = check_device(*stream.device)) return error;
  infinirtError_t result = infinirtSuccess;
  if (stream.capture.load(std::memory_order_acquire) && capture_bars_stream(stream, "a synchronous copy", &result))
    return result;
  if (stream.role == StreamRole::Legacy && stream.device->blocking_captures.load(std::memory_order_relaxed) > 0) {
    if (auto error = capture_bars_legacy(*stream.device)) return error;
  }
  if (try_copy_inline(stream, work, &result)) return result;
  if (auto error = wait_for_turn(stream)) return error;
  if (!observed()) [[likely]]
    return perform_copy(engine, work);
  const int64_t began = observed_ticks();
  result = perform_copy(engine, work);
  report_copy_here(stream, work, began);
  return result;
}

// Takes the source's bytes now, so that the caller may change them at once. False when there is no memory for that.
bool stage_source(CopyWork& work) {
  const size_t row = work.width, slice = work.width * work.height;
  auto* staging = static_cast<char*>(std::malloc(total_bytes(work)));
  if (!staging) return false;
  const auto* src = static_cast<const char*>(work.src);
  for (size_t z = 0; z < work.depth; ++z) {
    for (size_t y = 0; y < work.height; ++y) {
      std::memcpy(staging + z * slice + y * row, src + z * work.src_slice + y * work.src_pitch, row);
    }
  }
  work.src = work.staging = staging;
  work.src_pitch = row;
  work.src_slice = slice;
  return true;
}

infinirtError_t copy_later(Stream& stream, const CopyWork& copy) {
  infinirtError_t result = infinirtSuccess;
  if (try_copy_inline(stream, copy, &result)) {
    std::free(copy.staging);
    return result;
  }
  Work work;
  work.type = WorkType::Copy;
  work.copy = copy;
  return submit(stream, work);
}

infinirtError_t copy_asynchronously(Stream& stream, CopyRequest& request) {
  CopyWork& work = request.work;
  const bool from_host = request.src.is_host(), to_host = request.dst.is_host();
  // A capture keeps the addresses; what they hold is read when the graph runs.
  if (stream.capture.load(std::memory_order_acquire)) return copy_later(stream, work);
  if (request.access == SourceAccess::DuringCall) {
    if (from_host && !to_host && stage_source(work)) return copy_later(stream, work);
    return copy_here(stream, work);
  }
  if (from_host && to_host) return copy_here(stream, work);
  if (request.dst.place == Place::Unknown) return copy_here(stream, work);
  if (request.src.place == Place::Unknown) {
    const bool may_stage = request.access != SourceAccess::InStreamOrder && may_be_staged(work);
    if (may_stage && total_bytes(work) > stream.device->engine->inline_limit()) {
      return stage_source(work) ? copy_later(stream, work) : copy_here(stream, work);
    }
    // Small enough to run at once on an idle stream: only a busy one costs a second copy.
    infinirtError_t result = infinirtSuccess;
    if (may_stage) {
      if (try_copy_inline(stream, work, &result)) return result;
      if (stage_source(work)) return copy_later(stream, work);
    }
    return copy_here(stream, work);
  }
  return copy_later(stream, work);
}

bool is_device_memory_of(const Backend& backend, const void* pointer) {
  Allocation found;
  return registry_find(pointer, &found) && found.backend == &backend && found.kind != MemoryKind::Pinned &&
         found.kind != MemoryKind::Registered && found.kind != MemoryKind::Managed;
}

// Between two device types neither of which the host reaches.
infinirtError_t copy_by_way_of_host(Engine& engine, const CopyWork& work, bool from_own) {
  constexpr size_t kStep = size_t{1} << 20;
  std::vector<char> staging(std::min(work.width, kStep));
  const auto own = [&](void* dst, const void* src, size_t bytes) {
    const auto dst_device = from_own ? int16_t{-1} : work.dst_device;
    const auto src_device = from_own ? work.src_device : int16_t{-1};
    return engine.copy({dst, src, 0, 0, 0, 0, bytes, 1, 1, nullptr, dst_device, src_device, nullptr});
  };
  const auto theirs = [&](void* dst, const void* src, size_t bytes) {
    return work.other->extensions.CopyNow({dst, src, bytes, bytes, bytes, bytes, bytes, 1, 1});
  };
  for (size_t row = 0; row < work.height * work.depth; ++row) {
    const size_t y = row % work.height, z = row / work.height;
    auto* dst = static_cast<char*>(work.dst) + z * work.dst_slice + y * work.dst_pitch;
    const auto* src = static_cast<const char*>(work.src) + z * work.src_slice + y * work.src_pitch;
    for (size_t done = 0; done < work.width; done += staging.size()) {
      const size_t bytes = std::min(staging.size(), work.width - done);
      infinirtError_t error =
          from_own ? own(staging.data(), src + done, bytes) : theirs(staging.data(), src + done, bytes);
      if (!error) error = from_own ? theirs(dst + done, staging.data(), bytes) : own(dst + done, staging.data(), bytes);
      if (error) return error;
    }
  }
  return infinirtSuccess;
}

// A copy without a stream comes after what the default stream of the other side's device was given, too: a set, or a copy of
// pageable memory, that returned before it was done.
infinirtError_t wait_for_other_side(const CopyRequest& request) {
  const Backend& other = *request.work.other;
  const bool is_target = request.dst.place == Place::Device && request.dst.backend == &other;
  const Operand& theirs = is_target ? request.dst : request.src;
  if (auto* engine = static_cast<Engine*>(other.engine))
    return synchronize_stream(*engine->devices[static_cast<size_t>(theirs.device)]->legacy);
  if (!other.extensions.WaitForDefaultStream) return infinirtSuccess;
  return other.extensions.WaitForDefaultStream(is_target ? request.work.dst : request.work.src);
}

}  // namespace

void find_copy_operands(CopyRequest& request) {
  request.dst = find_operand(request.given_dst());
  request.src = find_operand(request.given_src());
}

infinirtError_t check_copy(const Engine& engine, CopyRequest& request) {
  CopyWork& work = request.work;
  const int kind = request.kind;
  if (kind < infinirtMemcpyHostToHost || kind > infinirtMemcpyDefault) {
    return fail(infinirtErrorInvalidMemcpyDirection, "kind %d is not one of infinirtMemcpyKind (0 to 4)", kind);
  }
  size_t dst_span = 0, src_span = 0;
  if (!region_span(work.width, work.height, work.depth, work.dst_pitch, work.dst_slice, &dst_span) ||
      !region_span(work.width, work.height, work.depth, work.src_pitch, work.src_slice, &src_span) ||
      __builtin_add_overflow(dst_span, request.dst_offset, &dst_span) ||
      __builtin_add_overflow(src_span, request.src_offset, &src_span)) {
    return fail(infinirtErrorInvalidValue,
                "the region (%zu bytes by %zu rows by %zu slices) is larger than the address space", work.width,
                work.height, work.depth);
  }
  if (auto error = check_operand(engine, request.dst, request.given_dst(), dst_span, "dst")) return error;
  if (auto error = check_operand(engine, request.src, request.given_src(), src_span, "src")) return error;
  if (kind == infinirtMemcpyHostToDevice || kind == infinirtMemcpyDeviceToDevice) {
    if (auto error = check_side(engine, request.dst, request.given_dst(), "dst", kind)) return error;
  }
  if (kind == infinirtMemcpyDeviceToHost || kind == infinirtMemcpyDeviceToDevice) {
    if (auto error = check_side(engine, request.src, request.given_src(), "src", kind)) return error;
  }
  work.dst_device = request.dst.work_device();
  work.src_device = request.src.work_device();
  work.staging = nullptr;
  work.other = request.dst.other_than(engine.backend);
  const Backend* source = request.src.other_than(engine.backend);
  if (work.other && source && work.other != source) {
    return fail(infinirtErrorInvalidValue,
                "dst is memory of device type '%s', src of '%s': copy on a stream of one of them, not of '%s'",
                work.other->name.c_str(), source->name.c_str(), engine.backend.name.c_str());
  }
  if (!work.other) work.other = source;
  return infinirtSuccess;
}

bool calls_vendor(const CopyWork& work) { return work.other && work.other->native_handles; }

infinirtError_t perform_copy(Engine& engine, const CopyWork& work) {
  if (!work.other) return engine.copy(work);
  if (!work.other->extensions.CopyNow) {  // its memory is the host's, in another place perhaps
    const auto* theirs = static_cast<const Engine*>(work.other->engine);
    CopyWork here = work;
    if (is_device_memory_of(*work.other, work.dst)) here.dst = theirs->host_address(work.dst), here.dst_device = -1;
    if (is_device_memory_of(*work.other, work.src)) here.src = theirs->host_address(work.src), here.src_device = -1;
    return engine.copy(here);
  }
  // It may have to wait for a thread that is inside the vendor's library, and that one for work of another worker.
  std::optional<UserCodeScope> uncounted;
  if (calls_vendor(work)) uncounted.emplace();
  const auto hidden = [&](const void* pointer) {
    return is_device_memory_of(engine.backend, pointer) && !engine.host_address(pointer);
  };
  if (hidden(work.dst)) return copy_by_way_of_host(engine, work, false);
  if (hidden(work.src)) return copy_by_way_of_host(engine, work, true);
  // The other side takes our memory for the host's.
  const auto reached = [&](const void* pointer) {
    return const_cast<void*>(engine.in_device_range(pointer) ? engine.host_address(pointer) : pointer);
  };
  return work.other->extensions.CopyNow({reached(work.dst), reached(work.src), work.dst_pitch, work.src_pitch,
                                         work.dst_slice, work.src_slice, work.width, work.height, work.depth});
}

infinirtError_t run_copy(Stream& stream, CopyRequest& request, CopyCall call) {
  note_use(stream, request.dst);
  note_use(stream, request.src);
  if (call == CopyCall::Asynchronous) return copy_asynchronously(stream, request);
  // Within device memory the host need not wait; where it can see the result, or reuse the source, it does.
  // Between device types it always waits: nothing else would order the other one's work after the copy.
  const bool on_device = request.dst.place == Place::Device && request.src.place == Place::Device;
  if (on_device && !request.work.other) return copy_later(stream, request.work);
  if (request.work.other) {
    if (auto error = wait_for_other_side(request)) return error;
  }
  return copy_here(stream, request.work);
}

}  // namespace infinirt
