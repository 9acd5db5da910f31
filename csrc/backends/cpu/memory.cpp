#include "backends/cpu/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>

#include "core/error.h"

namespace infinirt::cpu {

bool parse_bytes(const char* text, size_t* bytes) {
  if (!text || !std::isdigit(static_cast<unsigned char>(*text))) return false;
  size_t value = 0;
  for (; std::isdigit(static_cast<unsigned char>(*text)); ++text) {
    if (__builtin_mul_overflow(value, size_t{10}, &value)) return false;
    if (__builtin_add_overflow(value, static_cast<size_t>(*text - '0'), &value)) return false;
  }
  if (*text && *text != 'b' && *text != 'B') {
    const char* suffixes = "kmgt";
    const char* found = std::strchr(suffixes, std::tolower(static_cast<unsigned char>(*text++)));
    if (!found) return false;
    if (__builtin_mul_overflow(value, size_t{1} << (10 * (found - suffixes + 1)), &value)) return false;
  }
  if (*text == 'b' || *text == 'B') ++text;
  if (*text) return false;
  *bytes = value;
  return true;
}

size_t usable_memory() {
  size_t bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    size_t limit = 0;
    if (std::ifstream(file) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

MemoryOptions memory_options_from_environment() {
  MemoryOptions options;
  options.cache = std::min(usable_memory() / 8, size_t{1} << 30);
  for (const auto& [name, target] :
       {std::pair{"INFINIRT_CPU_MEMORY_LIMIT", &options.limit}, std::pair{"INFINIRT_CPU_CACHE", &options.cache}}) {
    const char* text = std::getenv(name);
    if (text && *text && !parse_bytes(text, target)) {
      options.problem = std::string(name) + "=" + text + " is not a size; give bytes, or a number with K, M, G or T";
    }
  }
  if (const char* mode = std::getenv("INFINIRT_CPU_MEMORY"); mode && *mode) {
    std::string words = mode;
    for (size_t start = 0; start <= words.size();) {
      const size_t end = std::min(words.find(',', start), words.size());
      const std::string word = words.substr(start, end - start);
      if (word == "isolated") {
        options.isolated = true;
      } else if (word == "watched") {
        options.watched = true;
      } else if (word == "guarded") {
        options.guarded = true;
      } else if (word != "plain") {
        options.problem = "INFINIRT_CPU_MEMORY=" + words +
                          " is not known; it may be plain, or isolated, guarded and watched with commas between them";
      }
      start = end + 1;
    }
  }
  return options;
}

MemoryManager::MemoryManager(int devices, const MemoryOptions& options) : devices_(devices), usable_(usable_memory()) {
  const size_t wanted = generous_reservation();
  // Guarded memory keeps freed spans itself, poisoned; a second cache below it would only hide them.
  const size_t cache = options.guarded ? 0 : options.cache;
  const HeapAccess device_access = options.isolated ? HeapAccess::Isolated : HeapAccess::Plain;
  const HeapAccess host_access = options.watched ? HeapAccess::Watched : HeapAccess::Plain;
  if (!device_heap_.open(wanted, device_access, cache) || !host_heap_.open(wanted / 4, host_access, cache / 4)) {
    problem_ =
        "no address space could be reserved for device memory; the limit on virtual memory (ulimit -v) is too low";
    return;
  }
  if (options.guarded) {
    device_guard_ = std::make_unique<GuardedMemory>(device_heap_);
    host_guard_ = std::make_unique<GuardedMemory>(host_heap_);
  }
  for (auto& account : accounts_) account.limit = options.limit;
}

size_t MemoryManager::total(int device) const {
  const size_t limit = accounts_[device].limit.load(std::memory_order_relaxed);
  return limit ? limit : usable_;
}

bool MemoryManager::charge(int device, size_t size) {
  auto& used = accounts_[device].used;
  size_t now = used.load(std::memory_order_relaxed);
  const size_t most = total(device);
  do {
    if (size > most || now > most - size) return false;
  } while (!used.compare_exchange_weak(now, now + size, std::memory_order_relaxed));
  return true;
}

infinirtError_t MemoryManager::out_of_memory(int device, size_t size, const char* why) const {
  const size_t used = accounts_[device].used.load(std::memory_order_relaxed), most = total(device);
  const bool limited = accounts_[device].limit.load(std::memory_order_relaxed) != 0;
  return fail(
      infinirtErrorMemoryAllocation,
      "out of memory: %zu bytes asked for on cpu:%d, of whose %zu bytes (%s) %zu are in use and %zu free%s%s; free "
      "or trim memory first%s",
      size, device, most, limited ? "its memory limit" : "the machine's memory", used, most > used ? most - used : 0,
      *why ? "; " : "", why, limited ? ", or raise INFINIRT_CPU_MEMORY_LIMIT" : "");
}

infinirtError_t MemoryManager::allocate(int device, size_t size, MemoryKind kind, void** out) {
  const bool charged = kind != MemoryKind::Pinned;
  if (charged ? !charge(device, size) : size > usable_) return out_of_memory(device, size, "");
  void* pointer = nullptr;
  try {
    const bool host = host_reachable(kind);
    auto& guard = host ? host_guard_ : device_guard_;
    pointer = guard ? guard->take(size, kind == MemoryKind::Pool ? kHugePage : kPage, device)
                    : (host ? host_heap_ : device_heap_).take(size);
  } catch (const std::bad_alloc&) {
  }
  if (!pointer) {
    if (charged) accounts_[device].used.fetch_sub(size, std::memory_order_relaxed);
    return out_of_memory(device, size, "the system gave none");
  }
  *out = pointer;
  return infinirtSuccess;
}

void MemoryManager::release(int device, void* pointer, size_t size, MemoryKind kind) {
  const bool host = host_reachable(kind);
  auto& guard = host ? host_guard_ : device_guard_;
  if (guard) {
    guard->give(pointer, device);
  } else {
    (host ? host_heap_ : device_heap_).give(pointer, size);
  }
  if (kind != MemoryKind::Pinned) accounts_[device].used.fetch_sub(size, std::memory_order_relaxed);
}

void MemoryManager::info(int device, size_t* free_bytes, size_t* total_bytes) const {
  const size_t used = accounts_[device].used.load(std::memory_order_relaxed), most = total(device);
  *free_bytes = most > used ? most - used : 0;
  *total_bytes = most;
}

infinirtError_t MemoryManager::set_limit(int device, size_t bytes) {
  if (device < 0 || device >= devices_) {
    return fail(infinirtErrorInvalidDevice, "device %d is out of range; there are %d", device, devices_);
  }
  accounts_[device].limit.store(bytes, std::memory_order_relaxed);
  return infinirtSuccess;
}

infinirtError_t MemoryManager::verify(int device, const void* pointer) {
  if (!device_guard_) return infinirtSuccess;
  const infinirtError_t code = pointer ? infinirtErrorInvalidValue : infinirtErrorIllegalAddress;
  for (auto* guard : {device_guard_.get(), host_guard_.get()}) {
    std::string finding;
    if (!guard->intact(device, pointer, &finding)) return fail(code, "%s", finding.c_str());
  }
  return infinirtSuccess;
}

void MemoryManager::lock_for_fork() {
  if (device_guard_) device_guard_->lock_for_fork(), host_guard_->lock_for_fork();
  device_heap_.lock_for_fork();
  host_heap_.lock_for_fork();
}

void MemoryManager::unlock_after_fork() {
  host_heap_.unlock_after_fork();
  device_heap_.unlock_after_fork();
  if (device_guard_) host_guard_->unlock_after_fork(), device_guard_->unlock_after_fork();
}

}  // namespace infinirt::cpu
