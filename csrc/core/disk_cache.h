// Results that are costly to make, kept on disk between processes. Whatever goes wrong with the disk means only that
// there is no cached result: no function here fails.
#pragma once

#include <cstdint>
#include <string>

#include "core/sha256.h"

namespace infinirt {

// The folder of this user's cache: $INFINIRT_CACHE_DIR, else $XDG_CACHE_HOME/infinirt, else ~/.cache/infinirt. Empty when
// there is none, or INFINIRT_CACHE_DISABLE=1.
std::string cache_folder();

// A folder of entries, one file each. Processes may share it: an entry appears whole or not at all, and one that is damaged
// counts as absent. An entry holds what later runs as code, so a folder or file that somebody else could have written
// is not used.
class DiskCache {
 public:
  static constexpr uint64_t kSizeLimit = uint64_t{1} << 30;

  // Makes the folder if it does not exist. An empty path is a cache that holds nothing.
  explicit DiskCache(const std::string& folder, uint64_t size_limit = kSizeLimit);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  bool is_usable() const { return folder_ >= 0; }

  // Whether the entry was there; a hit makes it the last one to be removed for room.
  bool read(const Sha256::Digest& key, std::string* value) const;

  // Now and then removes the entries that were not used for longest, when all of them are larger than the limit.
  void write(const Sha256::Digest& key, const std::string& value) const;

  void trim() const;

 private:
  int folder_ = -1;  // open, so that nobody can put another in its place
  uint64_t size_limit_;
};

}  // namespace infinirt
