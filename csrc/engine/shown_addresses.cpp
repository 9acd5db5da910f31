#include "engine/shown_addresses.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "core/registry.h"

namespace infinirt {

namespace {

constexpr uintptr_t kFirstShown = uintptr_t{64} << 10;  // below, an address looks like null
constexpr uintptr_t kEndShown = uintptr_t{1} << 47;     // what programs can have on every machine

}  // namespace

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

bool ShownAddresses::can_be_shown(const char* native, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(native);
  if (begin < kFirstShown || begin >= kEndShown || bytes > kEndShown - begin) return false;
  Allocation known;
  if (registry_find(native, &known) || registry_find(native + bytes - 1, &known)) return false;
  const auto next = blocks_.lower_bound(begin + bytes);
  if (next == blocks_.begin()) return true;
  const auto& [address, block] = *std::prev(next);
  return address + block.size <= begin;
}

void* ShownAddresses::show(void* native, size_t bytes) {
  std::lock_guard guard(mutex_);
  const bool as_it_is = can_be_shown(static_cast<char*>(native), bytes);
  void* shown = as_it_is ? native : substitutes_.take(bytes);
  if (!shown) return nullptr;
  blocks_[reinterpret_cast<uintptr_t>(shown)] = {static_cast<char*>(native), bytes};
  if (as_it_is && !host_can_read(native)) seen_.add(reinterpret_cast<uintptr_t>(native), bytes);
  return shown;
}

ShownAddresses::Block ShownAddresses::hide(const void* shown) {
  std::lock_guard guard(mutex_);
  const auto found = blocks_.find(reinterpret_cast<uintptr_t>(shown));
  if (found == blocks_.end()) return {};
  const Block block = found->second;
  blocks_.erase(found);
  if (substitutes_.contains(shown)) substitutes_.give(const_cast<void*>(shown), block.size);
  return block;
}

char* ShownAddresses::native(const void* shown) const {
  auto* address = static_cast<char*>(const_cast<void*>(shown));
  std::lock_guard guard(mutex_);
  if (!substitutes_.contains(shown)) return address;
  const auto next = blocks_.upper_bound(reinterpret_cast<uintptr_t>(shown));
  if (next == blocks_.begin()) return address;
  const auto& [begin, block] = *std::prev(next);
  return block.native + (reinterpret_cast<uintptr_t>(shown) - begin);
}

// Where the library gave out addresses of its own, the host may have memory by now.
bool ShownAddresses::in_device_range(const void* pointer) const {
  {
    std::lock_guard guard(mutex_);
    if (substitutes_.contains(pointer)) return true;
    if (!seen_.contains(reinterpret_cast<uintptr_t>(pointer))) return false;
  }
  return !host_can_read(pointer);
}

}  // namespace infinirt
