#include "core/library_folders.h"

#include <algorithm>
#include <mutex>

#include "core/mutex.h"

namespace infinirt {

namespace {

struct Folders {
  Mutex mutex;
  std::vector<std::string> list;
};
Folders& folders() {
  static auto* instance = new Folders;
  return *instance;
}

}  // namespace

void add_library_folder(const char* folder) {
  auto& f = folders();
  std::lock_guard guard(f.mutex);
  if (std::find(f.list.begin(), f.list.end(), folder) == f.list.end()) f.list.emplace_back(folder);
}

std::vector<std::string> library_folders() {
  auto& f = folders();
  std::lock_guard guard(f.mutex);
  return f.list;
}

}  // namespace infinirt
