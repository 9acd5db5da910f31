#include "backends/nvidia/staging.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "backends/nvidia/real_library.h"
#include "core/mutex.h"
#include "engine/scheduler.h"

namespace infinirt::nvidia {

namespace {

constexpr size_t kChunk = size_t{4} << 20;
constexpr int kChunks = 4;
constexpr int kMaxDevices = 64;
constexpr int64_t kPiece = int64_t{256} << 10;  // of one thread

struct Staging {
  Mutex mutex;  // held for a whole copy; who does not get it goes the driver's way
  char* chunks[kChunks] = {};
  infinirtEvent_t events[kChunks] = {};
  bool ready = false, broken = false;

  bool prepare() {
    if (ready || broken) return ready;
    for (int i = 0; i < kChunks; ++i) {
      void* memory = nullptr;
      if (real.HostAlloc(&memory, kChunk, infinirtHostAllocPortable) ||
          real.EventCreateWithFlags(&events[i], infinirtEventDisableTiming)) {
        if (real_get_last_error) real_get_last_error();
        broken = true;  // the driver's way from now on
        return false;
      }
      chunks[i] = static_cast<char*>(memory);
    }
    return ready = true;
  }
};

// Never freed: the driver may be gone when static objects die.
Staging& staging_of(int device) {
  static auto* all = new Staging[kMaxDevices];
  return all[device];
}

void copy_in_parallel(char* dst, const char* src, size_t bytes) {
  struct Context {
    char* dst;
    const char* src;
    size_t bytes;
  } context{dst, src, bytes};
  const auto pieces = static_cast<int64_t>((bytes + kPiece - 1) / kPiece);
  parallel_for(
      pieces, 1,
      [](int64_t begin, int64_t end, void* opaque) {
        const auto& c = *static_cast<Context*>(opaque);
        const auto first = static_cast<size_t>(begin * kPiece);
        std::memcpy(c.dst + first, c.src + first, std::min(static_cast<size_t>(end * kPiece), c.bytes) - first);
      },
      &context);
}

infinirtError_t to_device(Staging& staging, char* dst, const char* src, size_t bytes, infinirtStream_t stream) {
  for (size_t done = 0, i = 0; done < bytes; done += kChunk, ++i) {
    const size_t slot = i % kChunks, count = std::min(kChunk, bytes - done);
    if (auto error = real.EventSynchronize(staging.events[slot])) return error;  // the chunk's last use, of any copy
    copy_in_parallel(staging.chunks[slot], src + done, count);
    if (auto error = real.MemcpyAsync(dst + done, staging.chunks[slot], count, infinirtMemcpyHostToDevice, stream))
      return error;
    if (auto error = real.EventRecord(staging.events[slot], stream)) return error;
  }
  return infinirtSuccess;
}

infinirtError_t to_host(Staging& staging, char* dst, const char* src, size_t bytes, infinirtStream_t stream) {
  const size_t chunks = (bytes + kChunk - 1) / kChunk;
  // Chunk i is emptied while the following ones are on their way.
  for (size_t i = 0; i < chunks + kChunks - 1; ++i) {
    if (i < chunks) {
      const size_t slot = i % kChunks, count = std::min(kChunk, bytes - i * kChunk);
      if (i < kChunks) {  // an earlier copy's chunk
        if (auto error = real.EventSynchronize(staging.events[slot])) return error;
      }
      if (auto error =
              real.MemcpyAsync(staging.chunks[slot], src + i * kChunk, count, infinirtMemcpyDeviceToHost, stream))
        return error;
      if (auto error = real.EventRecord(staging.events[slot], stream)) return error;
    }
    if (i + 1 >= kChunks) {
      const size_t ready = i + 1 - kChunks, slot = ready % kChunks;
      if (auto error = real.EventSynchronize(staging.events[slot])) return error;
      copy_in_parallel(dst + ready * kChunk, staging.chunks[slot], std::min(kChunk, bytes - ready * kChunk));
    }
  }
  return infinirtSuccess;
}

enum class Side { Pageable, Device, Other };

Side side_of(const void* pointer, int* device) {
  struct infinirtPointerAttributes attributes = {};
  if (real.PointerGetAttributes(&attributes, pointer) != infinirtSuccess) {
    if (real_get_last_error) real_get_last_error();
    return Side::Other;
  }
  if (attributes.type == infinirtMemoryTypeUnregistered) return Side::Pageable;
  *device = attributes.device;
  return attributes.type == infinirtMemoryTypeDevice ? Side::Device : Side::Other;
}

}  // namespace

StagedCopy copy_staged(void* dst, const void* src, size_t bytes, infinirtStream_t stream, infinirtError_t* error) {
  int device = -1, current = -1;
  const Side to = side_of(dst, &device), from = side_of(src, &device);
  const bool upload = to == Side::Device && from == Side::Pageable;
  const bool download = to == Side::Pageable && from == Side::Device;
  if ((!upload && !download) || device < 0 || device >= kMaxDevices) return StagedCopy::NotHere;
  if (real.GetDevice(&current) != infinirtSuccess || current != device) return StagedCopy::NotHere;
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  if (real.StreamIsCapturing(stream, &status) != infinirtSuccess) {
    if (real_get_last_error) real_get_last_error();
    return StagedCopy::NotHere;
  }
  enum infinirtStreamCaptureMode mode = infinirtStreamCaptureModeRelaxed;
  if (status != infinirtStreamCaptureStatusNone) return StagedCopy::NotHere;
  Staging& staging = staging_of(device);
  std::unique_lock guard(staging.mutex, std::try_to_lock);
  if (!guard.owns_lock()) return StagedCopy::NotHere;
  // Other streams of this thread may be capturing, and waiting for our own events does not concern them.
  real.ThreadExchangeStreamCaptureMode(&mode);
  const bool prepared = staging.prepare();
  if (prepared) {
    auto* target = static_cast<char*>(dst);
    const auto* source = static_cast<const char*>(src);
    *error =
        upload ? to_device(staging, target, source, bytes, stream) : to_host(staging, target, source, bytes, stream);
  }
  real.ThreadExchangeStreamCaptureMode(&mode);
  return prepared ? StagedCopy::Done : StagedCopy::NotHere;
}

}  // namespace infinirt::nvidia
