#include "backends/custom/custom_engine.h"

#include <cstdio>
#include <cstring>
#include <iterator>

namespace infinirt::custom {

namespace {

std::string text_or(const char* text, const char* otherwise) { return text && *text ? text : otherwise; }

}  // namespace

CustomEngine::CustomEngine(const infinirtXBackend& functions)
    : type_(functions.type), origin_(text_or(functions.origin, "registered by the program")), functions_(functions) {
  functions_.type = type_.c_str();
  functions_.origin = origin_.c_str();
  backend.device_count = [](const Backend& b) {
    return static_cast<int>(static_cast<Engine*>(b.engine)->devices.size());
  };
  if (functions.deviceCount == 0) backend.problem = "it was registered with no device";
  RequiredFunctions required;
  required.device_count = functions.deviceCount;
  required.memory_bytes = functions.deviceCount ? facts(0).totalMemory : 0;
  required.thread_safe = functions.threadSafe != 0;
  initialise_emulated(type_.c_str(), origin_.c_str(), required);
}

// Functions of a backend may not call the API: they run where streams do, and would wait for themselves. Every caller of one bars it.

infinirtError_t CustomEngine::checked(infinirtError_t error, const char* function) const {
  if (error == infinirtSuccess) [[likely]]
    return error;
  const char* words = functions_.lastError ? functions_.lastError(functions_.context) : nullptr;
  return fail(error, "%s of device type '%s' failed: %s", function, type_.c_str(),
              words && *words ? words : error_text(error));
}

infinirtXBackendFacts CustomEngine::facts(int device) const {
  infinirtXBackendFacts known = {};
  const BarredScope barred;
  if (functions_.describe && functions_.describe(functions_.context, device, &known) != infinirtSuccess) known = {};
  known.name[sizeof known.name - 1] = 0;
  return known;
}

void CustomEngine::properties(int device, struct infinirtDeviceProp* properties) {
  describe_emulated(device, origin_ + "/" + type_ + "/" + std::to_string(device), properties);
  const infinirtXBackendFacts known = facts(device);
  std::snprintf(properties->name, sizeof properties->name, "%s", known.name[0] ? known.name : type_.c_str());
  if (known.multiProcessorCount > 0) properties->multiProcessorCount = known.multiProcessorCount;
}

bool CustomEngine::memory_size_known(int device) const {
  return memory_limit(device) != 0 || facts(device).totalMemory;
}

infinirtError_t CustomEngine::wait_for_all(int device) {
  const BarredScope barred;
  return functions_.synchronize ? checked(functions_.synchronize(functions_.context, device), "synchronize")
                                : infinirtSuccess;
}

infinirtError_t CustomEngine::take_memory(int device, size_t size, void** out) {
  const BarredScope barred;
  void* name = nullptr;
  if (auto error = functions_.allocate(functions_.context, device, size, &name)) return checked(error, "allocate");
  {
    std::lock_guard guard(blocks_mutex_);
    if ((*out = addresses_.take(size))) {
      blocks_[reinterpret_cast<uintptr_t>(*out)] = {name, size};
      return infinirtSuccess;
    }
  }
  functions_.release(functions_.context, device, name, size);
  return fail(infinirtErrorMemoryAllocation, "no room in the address space for %zu bytes of device type '%s'", size,
              type_.c_str());
}

void CustomEngine::give_memory(int device, void* pointer) {
  const BarredScope barred;
  Block block;
  {
    std::lock_guard guard(blocks_mutex_);
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == blocks_.end()) return;
    block = found->second;
    blocks_.erase(found);
  }
  functions_.release(functions_.context, device, block.name, block.size);
  std::lock_guard guard(blocks_mutex_);
  addresses_.give(pointer, block.size);
}

CustomEngine::Place CustomEngine::place_of(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard guard(blocks_mutex_);
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return {};
  --block;
  const size_t offset = address - block->first;
  return offset < block->second.size ? Place{block->second.name, offset} : Place{};
}

infinirtError_t CustomEngine::move(int device, void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind) {
  const BarredScope barred;
  void* context = functions_.context;
  if (kind == infinirtMemcpyHostToDevice) {
    const Place to = place_of(dst);
    return checked(functions_.write(context, device, to.name, to.offset, src, bytes), "write");
  }
  const Place from = place_of(src);
  if (kind == infinirtMemcpyDeviceToHost)
    return checked(functions_.read(context, device, from.name, from.offset, dst, bytes), "read");
  const Place to = place_of(dst);
  return checked(functions_.copy(context, device, to.name, to.offset, from.name, from.offset, bytes), "copy");
}

infinirtError_t CustomEngine::set_bytes(int device, void* dst, unsigned char value, size_t bytes) {
  if (!functions_.fill) return infinirtErrorNotSupported;
  const BarredScope barred;
  const Place to = place_of(dst);
  return checked(functions_.fill(functions_.context, device, to.name, to.offset, value, bytes), "fill");
}

bool CustomEngine::in_device_range(const void* pointer) const { return addresses_.contains(pointer); }

void CustomEngine::lock_for_fork() {
  EmulatedEngine::lock_for_fork();
  blocks_mutex_.lock();
}

void CustomEngine::unlock_after_fork(bool in_child) {
  blocks_mutex_.unlock();
  EmulatedEngine::unlock_after_fork(in_child);
}

}  // namespace infinirt::custom
