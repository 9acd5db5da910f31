#include "backends/plugin/address_range.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace infinirt::plugin {

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
