#include "backends/cpu/guarded.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace infinirt::cpu {

namespace {

constexpr size_t kRedZone = 512;                  // at least so much after the allocation
constexpr size_t kPoisonLimit = size_t{64} << 10;  // larger freed memory becomes inaccessible instead
constexpr size_t kQuarantineEntries = 1024;
constexpr size_t kQuarantineBytes = size_t{256} << 20;

// The first byte in [begin, end) that is not `expected`; end when there is none.
const unsigned char* first_other(const unsigned char* begin, const unsigned char* end, unsigned char expected) {
  return std::find_if(begin, end, [expected](unsigned char byte) { return byte != expected; });
}

std::string describe(const char* what, size_t distance, const char* relation, uintptr_t base, size_t size, int device,
                     unsigned char found) {
  char text[256];
  std::snprintf(text, sizeof text, "%s: 0x%02x was written %zu byte%s %s the allocation 0x%llx (%zu bytes, cpu:%d)",
                what, found, distance, distance == 1 ? "" : "s", relation, static_cast<unsigned long long>(base), size,
                device);
  return text;
}

}  // namespace

void* GuardedMemory::take(size_t size, size_t alignment, int device) {
  const size_t lead = alignment;
  size_t span_size = 0;
  if (__builtin_add_overflow(size, lead + kRedZone + kPage, &span_size)) return nullptr;
  span_size = lead + round_up(size + kRedZone, kPage);
  void* span = heap_.take(span_size);
  if (!span) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(span);
  const uintptr_t base = start + lead;
  std::memset(memory(base - kPage), kRedZoneByte, kPage);
  std::memset(memory(base), kFreshByte, size);
  std::memset(memory(base + size), kRedZoneByte, span_size - lead - size);
  std::lock_guard guard(mutex_);
  live_[base] = {start, span_size, size, device, false, false};
  return reinterpret_cast<void*>(base);
}

bool GuardedMemory::check_zones(uintptr_t base, const Guarded& entry, std::string* finding) const {
  const unsigned char* start = memory(base);
  const unsigned char* before = first_other(start - kPage, start, kRedZoneByte);
  if (before != start) {
    // The nearest damage says most about an off-by-one.
    const unsigned char* nearest = start;
    while (nearest[-1] == kRedZoneByte) --nearest;
    *finding = describe("write out of bounds", static_cast<size_t>(start - nearest) + 1, "before the start of", base,
                        entry.size, entry.device, nearest[-1]);
    return false;
  }
  const unsigned char* end = start + entry.size;
  const unsigned char* limit = memory(entry.span) + entry.span_size;
  const unsigned char* after = first_other(end, limit, kRedZoneByte);
  if (after != limit) {
    *finding = describe("write out of bounds", static_cast<size_t>(after - end), "past the end of", base, entry.size,
                        entry.device, *after);
    return false;
  }
  return true;
}

bool GuardedMemory::check_freed(uintptr_t base, const Guarded& entry, std::string* finding) const {
  if (entry.inaccessible) return true;
  const unsigned char* start = memory(base);
  const unsigned char* found = first_other(start, start + entry.size, kFreedByte);
  if (found == start + entry.size) return true;
  *finding = describe("write after free", static_cast<size_t>(found - start), "after the start of", base, entry.size,
                      entry.device, *found);
  return false;
}

void GuardedMemory::give(void* pointer, int device) {
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard guard(mutex_);
  auto found = live_.find(base);
  if (found == live_.end()) return;
  Guarded entry = found->second;
  live_.erase(found);
  std::string finding;
  if (!entry.reported && !check_zones(base, entry, &finding)) findings_.push_back({device, finding});
  entry.reported = false;
  if (entry.size <= kPoisonLimit) {
    std::memset(memory(base), kFreedByte, entry.size);
  } else {
    madvise(memory(entry.span), entry.span_size, MADV_DONTNEED);
    entry.inaccessible = mprotect(memory(entry.span), entry.span_size, PROT_NONE) == 0;
  }
  quarantine_.emplace_back(base, entry);
  quarantine_bytes_ += entry.span_size;
  while (quarantine_.size() > kQuarantineEntries || quarantine_bytes_ > kQuarantineBytes) release_oldest();
}

void GuardedMemory::release_oldest() {
  const auto [base, entry] = quarantine_.front();
  quarantine_.pop_front();
  quarantine_bytes_ -= entry.span_size;
  std::string finding;
  if (!entry.reported && !check_freed(base, entry, &finding)) findings_.push_back({entry.device, finding});
  if (entry.inaccessible) {
    // Memory that cannot be made accessible again is lost to the heap, and that is all.
    if (mprotect(memory(entry.span), entry.span_size, PROT_READ | PROT_WRITE) != 0) return;
  }
  heap_.give(reinterpret_cast<void*>(entry.span), entry.span_size);
}

bool GuardedMemory::intact(int device, const void* pointer, std::string* finding) {
  std::lock_guard guard(mutex_);
  if (pointer) {
    auto found = live_.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == live_.end() || found->second.reported) return true;
    if (check_zones(found->first, found->second, finding)) return true;
    found->second.reported = true;
    return false;
  }
  for (auto& [base, entry] : live_) {
    if (entry.device != device || entry.reported || check_zones(base, entry, finding)) continue;
    entry.reported = true;
    return false;
  }
  for (auto& [base, entry] : quarantine_) {
    if (entry.device != device || entry.reported || check_freed(base, entry, finding)) continue;
    entry.reported = true;
    return false;
  }
  auto late =
      std::find_if(findings_.begin(), findings_.end(), [device](const Finding& f) { return f.device == device; });
  if (late == findings_.end()) return true;
  *finding = late->text;
  findings_.erase(late);
  return false;
}

}  // namespace infinirt::cpu
