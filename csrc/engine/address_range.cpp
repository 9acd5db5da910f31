#include "engine/address_range.h"

#include <sys/mman.h>

#include <iterator>

namespace infinirt {

namespace {

// As large as anything that pools ask of a segment, so that no address has to be shifted.
constexpr size_t kGranule = size_t{2} << 20;
constexpr size_t rounded(size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

}  // namespace

bool AddressRange::reserve() {
  if (begin_) return true;
  // Less where a limit or a sanitizer leaves less.
  size_t bytes = kMostBytes;
  void* base = MAP_FAILED;
  for (; bytes >= kLeastBytes; bytes /= 4) {
    base = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base != MAP_FAILED) break;
  }
  if (base == MAP_FAILED) return false;
  end_ = reinterpret_cast<uintptr_t>(base) + bytes;
  begin_ = rounded(reinterpret_cast<uintptr_t>(base));
  free_[begin_] = (end_ - begin_) / kGranule * kGranule;
  return true;
}

void* AddressRange::take(size_t bytes) {
  if (bytes > kMostBytes || !reserve()) return nullptr;
  const size_t size = rounded(bytes);
  for (auto span = free_.begin(); span != free_.end(); ++span) {
    if (span->second < size) continue;
    const auto [address, length] = *span;
    free_.erase(span);
    if (length > size) free_[address + size] = length - size;
    return reinterpret_cast<void*>(address);
  }
  return nullptr;
}

void AddressRange::give(void* address, size_t bytes) {
  auto begin = reinterpret_cast<uintptr_t>(address);
  size_t size = rounded(bytes);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == begin + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += size;
      return;
    }
  }
  free_[begin] = size;
}

}  // namespace infinirt
