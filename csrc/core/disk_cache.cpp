#include "core/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "core/log.h"

namespace infinirt {

namespace {

constexpr char kMagic[16] = "infinirt-cache1";
constexpr char kTemporaryPrefix[] = "writing-";
constexpr time_t kAbandonedAfter = 3600;  // seconds after which nobody is writing a temporary file any more
constexpr unsigned kWritesBetweenTrims = 64;

struct Header {
  char magic[sizeof kMagic];
  Sha256::Digest key;
  Sha256::Digest checksum;  // of the value
  uint64_t size;
};

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

bool nobody_else_writes(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool read_all(int file, void* data, size_t size) {
  auto* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(file, next, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int file, const void* data, size_t size) {
  const auto* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t put = ::write(file, next, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    next += put;
    size -= static_cast<size_t>(put);
  }
  return true;
}

void make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    mkdir(path.substr(0, end).c_str(), 0700);
  mkdir(path.c_str(), 0700);
}

// Different in every process and call; an unlucky coincidence makes the exclusive creation fail, and nothing else.
std::string temporary_name() {
  static std::atomic<unsigned> number{0};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  char name[80];
  std::snprintf(name, sizeof name, "%s%ld-%lld-%ld-%u", kTemporaryPrefix, static_cast<long>(getpid()),
                static_cast<long long>(now.tv_sec), now.tv_nsec, number.fetch_add(1));
  return name;
}

bool is_temporary(const char* name) { return std::strncmp(name, kTemporaryPrefix, sizeof kTemporaryPrefix - 1) == 0; }

}  // namespace

std::string cache_folder() {
  const char* disabled = std::getenv("INFINIRT_CACHE_DISABLE");
  if (disabled && *disabled && std::strcmp(disabled, "0") != 0) return {};
  if (const char* given = std::getenv("INFINIRT_CACHE_DIR"); given && *given) return given;
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base == '/') return std::string(base) + "/infinirt";
  if (const char* home = std::getenv("HOME"); home && *home == '/') return std::string(home) + "/.cache/infinirt";
  return {};
}

DiskCache::DiskCache(const std::string& folder, uint64_t size_limit) : size_limit_(size_limit) {
  if (folder.empty()) return;
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  folder_ = open(folder.c_str(), flags);
  if (folder_ < 0 && errno == ENOENT) {
    make_folders(folder);
    folder_ = open(folder.c_str(), flags);
  }
  struct stat status;
  std::string problem;
  if (folder_ < 0)
    problem = std::strerror(errno);
  else if (fstat(folder_, &status) != 0 || !nobody_else_writes(status))
    problem = "it belongs to, or can be written by, somebody else";
  if (problem.empty()) return;
  if (log_enabled(LogLevel::Error)) log_line("cache", ("folder " + folder + " is not used: " + problem).c_str());
  if (folder_ >= 0) close(folder_);
  folder_ = -1;
}

DiskCache::~DiskCache() {
  if (folder_ >= 0) close(folder_);
}

bool DiskCache::read(const Sha256::Digest& key, std::string* value) const {
  if (!is_usable()) return false;
  const std::string name = hex(key);
  // Non-blocking: what lies there under that name might be a pipe.
  const File file(openat(folder_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !nobody_else_writes(status)) return false;
  Header header;
  const bool begins_well = read_all(file.get(), &header, sizeof header) &&
                           std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.key == key &&
                           static_cast<uint64_t>(status.st_size) == sizeof header + header.size;
  if (begins_well) {
    value->resize(header.size);
    if (read_all(file.get(), value->data(), header.size) && Sha256::of(*value) == header.checksum) {
      futimens(file.get(), nullptr);  // used just now
      return true;
    }
  }
  if (log_enabled(LogLevel::Error)) log_line("cache", ("entry " + name + " is damaged and was removed").c_str());
  unlinkat(folder_, name.c_str(), 0);
  return false;
}

void DiskCache::write(const Sha256::Digest& key, const std::string& value) const {
  if (!is_usable() || value.size() > size_limit_) return;
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key = key;
  header.checksum = Sha256::of(value);
  header.size = value.size();
  const std::string temporary = temporary_name();
  {
    const File file(openat(folder_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return;
    const bool whole =
        write_all(file.get(), &header, sizeof header) && write_all(file.get(), value.data(), value.size());
    if (!whole || renameat(folder_, temporary.c_str(), folder_, hex(key).c_str()) != 0) {
      unlinkat(folder_, temporary.c_str(), 0);
      return;
    }
  }
  static std::atomic<unsigned> writes{0};
  if (writes.fetch_add(1) % kWritesBetweenTrims == 0) trim();
}

void DiskCache::trim() const {
  if (!is_usable()) return;
  // A descriptor of its own: closedir() closes it, and its position is not shared.
  DIR* listing = fdopendir(openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listing) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> closing(listing, closedir);
  struct Entry {
    timespec used;
    uint64_t size;
    std::string name;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  const time_t now = time(nullptr);
  while (const dirent* item = readdir(listing)) {
    struct stat status;
    if (fstatat(folder_, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    if (is_temporary(item->d_name)) {
      if (status.st_mtime + kAbandonedAfter < now) unlinkat(folder_, item->d_name, 0);
    } else if (std::strlen(item->d_name) == 2 * sizeof(Sha256::Digest)) {
      entries.push_back({status.st_mtim, static_cast<uint64_t>(status.st_size), item->d_name});
      total += entries.back().size;
    }
  }
  if (total <= size_limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
  });
  const uint64_t target = size_limit_ - size_limit_ / 8;  // some room, so that the next write does not begin anew
  for (const Entry& entry : entries) {
    if (total <= target) break;
    if (unlinkat(folder_, entry.name.c_str(), 0) == 0) total -= entry.size;
  }
}

}  // namespace infinirt
