#include "core/library_folders.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "core/mutex.h"

namespace infinirt {

namespace {

struct Folders {
  Mutex mutex;
  std::deque<std::string> list;  // its elements stay where they are
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
  return {f.list.begin(), f.list.end()};
}

const char* library_folder(int index) {
  auto& f = folders();
  std::lock_guard guard(f.mutex);
  return index >= 0 && static_cast<size_t>(index) < f.list.size() ? f.list[static_cast<size_t>(index)].c_str()
                                                                  : nullptr;
}

}  // namespace infinirt
