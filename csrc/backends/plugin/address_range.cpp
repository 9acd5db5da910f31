#include "backends/plugin/address_range.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace infinirt::plugin {

namespace {

// As large as anything that pools ask of a segment, so that no address has to be shifted.
constexpr size_t kGranule = size_t{2} << 20;
constexpr size_t rounded(size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

}  // namespace

bool AddressRange::reserve() {
  if (begin_) return true;
  void* base = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return false;
  end_ = reinterpret_cast<uintptr_t>(base) + kBytes;
  begin_ = rounded(reinterpret_cast<uintptr_t>(base));
  free_[begin_] = (end_ - begin_) / kGranule * kGranule;
  return true;
}

void* AddressRange::take(size_t bytes) {
  if (bytes > kBytes || !reserve()) return nullptr;
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

void SeenAddresses::add(uintptr_t begin, size_t bytes) {
  uintptr_t end = begin + bytes;
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second >= begin) --range;
  while (range != ranges_.end() && range->first <= end) {
    begin = std::min(begin, range->first);
    end = std::max(end, range->second);
    range = ranges_.erase(range);
  }
  ranges_[begin] = end;
}

bool SeenAddresses::contains(uintptr_t address) const {
  const auto range = ranges_.upper_bound(address);
  return range != ranges_.begin() && address < std::prev(range)->second;
}

bool host_can_read(const void* address) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return true;  // nothing can be said
  const bool readable = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

}  // namespace infinirt::plugin
