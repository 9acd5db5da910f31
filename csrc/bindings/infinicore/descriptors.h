// Operator descriptors, kept for the next call with tensors of the same types, shapes and strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "bindings/infinicore/library.h"

namespace infinicore {

/// Destroyed with the last call or recorded graph that uses it.
struct Descriptor {
  void* handle = nullptr;
  infiniStatus_t (*destroy)(void*) = nullptr;
  size_t workspace_size = 0;

  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (handle && destroy(handle) != INFINI_STATUS_SUCCESS) runtime.GetLastError();
  }
};

/// What a descriptor was made from, as numbers one after another.
struct DescriptorKey {
  const int64_t* words;
  size_t count;
  uint64_t hash;
};

class DescriptorCache {
 public:
  static constexpr size_t kCapacity = 1024;

  std::shared_ptr<Descriptor> find(const DescriptorKey& key);
  /// The least recently used one goes when there is no room. Of two with one key the later one stays.
  void insert(const DescriptorKey& key, std::shared_ptr<Descriptor> descriptor);
  void clear();

  struct Counters {
    uint64_t hits = 0, misses = 0;
    size_t size = 0;
  };
  Counters counters();

 private:
  struct Entry {
    std::vector<int64_t> words;
    uint64_t hash;
    std::shared_ptr<Descriptor> descriptor;
  };
  using Entries = std::list<Entry>;  // the most recently used first

  Entries::iterator look_up(const DescriptorKey& key);

  std::mutex mutex_;
  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> by_hash_;
  uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace infinicore
