#include <cstring>
#include <initializer_list>

#include "core.h"
#include "selection.h"

using namespace infinirt::v0;  // NOLINT: the C entry points below are outside the namespace

namespace {

bool on_cpu() { return current_type() == INFINI_DEVICE_CPU; }

// v0's CPU allocations all came from malloc, so its programs free them with whichever function is at hand.
core::Error release_whatever_it_is(void* pointer) {
  core::Memory memory{};
  if (const core::Error error = core::memory_of(pointer, &memory)) return error;
  return memory == core::Memory::PinnedHost ? core::release_host(pointer) : core::release(pointer);
}

bool is_kind(int kind) { return kind >= INFINIRT_MEMCPY_H2H && kind <= INFINIRT_MEMCPY_D2D; }

// The kinds have CUDA's numbers. On the CPU a v0 program may call any memory device memory, so there only the pointers
// are believed.
int direction(int kind) { return on_cpu() ? core::kDirectionFromPointers : kind; }

// The new generation sets no memory of the program's own; on v0's CPU any memory will do. Done here, unless the stream is
// being captured. `*done` is false when the new generation has to do it.
core::Error set_plain_memory(void* pointer, int value, size_t count, infinirtStream_t stream, bool* done) {
  *done = true;
  core::Memory memory{};
  bool capturing = false;
  core::Error error = core::memory_of(pointer, &memory);
  if (!error && memory == core::Memory::NotOurs) error = core::stream_is_capturing(stream, &capturing);
  if (error) return error;
  *done = count && memory == core::Memory::NotOurs && !capturing;
  if (!*done) return core::kSuccess;
  // Memory of the device that was freed is not ours either: a copy knows the difference, and refuses.
  char* bytes = static_cast<char*>(pointer);
  char probe = 0;
  for (char* end : {bytes, bytes + count - 1}) {
    error = core::copy_async(&probe, end, 1, core::kDirectionFromPointers, stream);
    if (!error) error = core::stream_settle(stream);
    if (error) return error;
  }
  std::memset(pointer, value, count);
  return core::kSuccess;
}

}  // namespace

infiniStatus_t infinirtMalloc(void** p_ptr, size_t size) {
  if (!p_ptr) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::allocate(p_ptr, size); });
}

infiniStatus_t infinirtMallocHost(void** p_ptr, size_t size) {
  if (!p_ptr) return INFINI_STATUS_NULL_POINTER;
  return on_device([&] { return core::allocate_host(p_ptr, size); });
}

infiniStatus_t infinirtMallocAsync(void** p_ptr, size_t size, infinirtStream_t stream) {
  if (!p_ptr) return INFINI_STATUS_NULL_POINTER;
  return in_stream(stream, [&] { return core::allocate_async(p_ptr, size, stream); });
}

infiniStatus_t infinirtFree(void* ptr) {
  if (!ptr) return INFINI_STATUS_SUCCESS;
  return on_device([&] { return on_cpu() ? release_whatever_it_is(ptr) : core::release(ptr); });
}

infiniStatus_t infinirtFreeHost(void* ptr) {
  if (!ptr) return INFINI_STATUS_SUCCESS;
  return on_device([&] { return on_cpu() ? release_whatever_it_is(ptr) : core::release_host(ptr); });
}

infiniStatus_t infinirtFreeAsync(void* ptr, infinirtStream_t stream) {
  if (!ptr) return INFINI_STATUS_SUCCESS;
  return on_device([&] {
    bool capturing = false;
    if (!on_cpu()) return core::release_async(ptr, stream);
    if (const core::Error error = core::stream_is_capturing(stream, &capturing)) return error;
    if (capturing) return core::release_async(ptr, stream);
    // Complete on return: what the stream still does with the memory comes first.
    if (const core::Error error = core::stream_settle(stream)) return error;
    return release_whatever_it_is(ptr);
  });
}

infiniStatus_t infinirtMemcpy(void* dst, const void* src, size_t size, infinirtMemcpyKind_t kind) {
  if (!is_kind(number_of(kind))) return INFINI_STATUS_BAD_PARAM;
  if (size && (!dst || !src)) return INFINI_STATUS_NULL_POINTER;
  return in_stream(nullptr, [&] { return core::copy(dst, src, size, direction(kind)); });
}

infiniStatus_t infinirtMemcpyAsync(void* dst, const void* src, size_t size, infinirtMemcpyKind_t kind,
                                   infinirtStream_t stream) {
  if (!is_kind(number_of(kind))) return INFINI_STATUS_BAD_PARAM;
  if (size && (!dst || !src)) return INFINI_STATUS_NULL_POINTER;
  return in_stream(stream, [&] { return core::copy_async(dst, src, size, direction(kind), stream); });
}

infiniStatus_t infinirtMemset(void* ptr, int value, size_t count) {
  if (count && !ptr) return INFINI_STATUS_NULL_POINTER;
  return in_stream(nullptr, [&] {
    bool done = false;
    if (on_cpu()) {
      if (const core::Error error = set_plain_memory(ptr, value, count, nullptr, &done)) return error;
    }
    return done ? core::kSuccess : core::set(ptr, value, count);
  });
}

infiniStatus_t infinirtMemsetAsync(void* ptr, int value, size_t count, infinirtStream_t stream) {
  if (count && !ptr) return INFINI_STATUS_NULL_POINTER;
  return in_stream(stream, [&] {
    bool done = false;
    if (on_cpu()) {
      if (const core::Error error = set_plain_memory(ptr, value, count, stream, &done)) return error;
    }
    return done ? core::kSuccess : core::set_async(ptr, value, count, stream);
  });
}
