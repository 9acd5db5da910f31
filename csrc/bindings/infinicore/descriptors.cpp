#include "bindings/infinicore/descriptors.h"

#include <algorithm>
#include <utility>

namespace infinicore {

DescriptorCache::Entries::iterator DescriptorCache::look_up(const DescriptorKey& key) {
  auto [candidate, end] = by_hash_.equal_range(key.hash);
  for (; candidate != end; ++candidate) {
    const auto& words = candidate->second->words;
    if (words.size() == key.count && std::equal(words.begin(), words.end(), key.words)) return candidate->second;
  }
  return entries_.end();
}

std::shared_ptr<Descriptor> DescriptorCache::find(const DescriptorKey& key) {
  std::lock_guard lock(mutex_);
  const auto found = look_up(key);
  if (found == entries_.end()) return ++misses_, nullptr;
  ++hits_;
  if (found != entries_.begin()) entries_.splice(entries_.begin(), entries_, found);
  return found->descriptor;
}

void DescriptorCache::insert(const DescriptorKey& key, std::shared_ptr<Descriptor> descriptor) {
  std::shared_ptr<Descriptor> dropped;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  const auto found = look_up(key);
  if (found != entries_.end()) {
    dropped = std::exchange(found->descriptor, std::move(descriptor));
    return;
  }
  entries_.push_front({std::vector<int64_t>(key.words, key.words + key.count), key.hash, std::move(descriptor)});
  by_hash_.emplace(key.hash, entries_.begin());
  if (entries_.size() <= kCapacity) return;
  const auto last = std::prev(entries_.end());
  auto [candidate, end] = by_hash_.equal_range(last->hash);
  while (candidate != end && candidate->second != last) ++candidate;
  by_hash_.erase(candidate);
  dropped = std::move(last->descriptor);
  entries_.erase(last);
}

void DescriptorCache::clear() {
  Entries dropped;
  std::lock_guard lock(mutex_);
  by_hash_.clear();
  dropped.swap(entries_);
}

DescriptorCache::Counters DescriptorCache::counters() {
  std::lock_guard lock(mutex_);
  return {hits_, misses_, entries_.size()};
}

}  // namespace infinicore
