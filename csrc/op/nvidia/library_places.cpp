#include "op/nvidia/library_places.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "infinirt_ext.h"

namespace infiniop::nvidia {

namespace {

// Paths of libraries that the process has, by the beginning of their names.
std::vector<std::string> already_loaded(const char* stem) {
  struct Search {
    const char* stem;
    std::vector<std::string> found;
  } search{stem, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const char* name = slash ? slash + 1 : info->dlpi_name;
        if (std::strncmp(name, wanted->stem, std::strlen(wanted->stem)) == 0) {
          wanted->found.emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &search);
  return search.found;
}

std::string parent(std::string path, int steps) {
  for (; steps > 0 && !path.empty(); --steps) {
    const size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  return path;
}

}  // namespace

std::vector<std::string> places_of(const LibraryName& library) {
  if (const char* given = std::getenv(library.variable); given && *given) return {given};
  std::vector<std::string> all = already_loaded(library.stem);
  std::vector<std::string> names;
  for (const char* version : library.versions) names.push_back(std::string(library.stem) + "." + version);
  const auto add = [&](const std::string& folder) {
    if (folder.empty()) return;
    for (const std::string& name : names) all.push_back(folder + "/" + name);
  };
  const std::string own_folder = std::string("/") + library.package + "/lib";
  const auto add_packages = [&](const std::string& folder) {
    if (folder.empty()) return;
    add(folder + "/nvidia/cu13/lib");
    add(folder + "/nvidia" + own_folder);
  };
  // The wheels of 13 and toolkits have all libraries in one folder; those of 12 one folder for each.
  const std::vector<std::string> runtimes = already_loaded("libcudart");
  for (const std::string& runtime : runtimes) {
    add(parent(runtime, 1));
    const std::string folder = parent(runtime, 3);
    if (!folder.empty()) add(folder + own_folder);
  }
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&parent), &own) && own.dli_fname) add_packages(parent(own.dli_fname, 3));
  for (int i = 0; const char* folder = infinirtXGetLibraryFolder(i); ++i) add_packages(folder);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"}) {
    const char* folder = std::getenv(variable);
    if (!folder || !*folder) continue;
    add(std::string(folder) + "/lib64");
    add(std::string(folder) + "/lib");
  }
  for (const std::string& name : names) all.push_back(name);
  add("/usr/local/cuda/lib64");
  // One of another major version than the runtime's may be too new for the driver.
  for (const std::string& runtime : runtimes) {
    const size_t version = runtime.rfind(".so.");
    if (version == std::string::npos) continue;
    const std::string same = runtime.substr(version, 6);
    std::stable_partition(all.begin(), all.end(),
                          [&](const std::string& path) { return path.find(same) != std::string::npos; });
    break;
  }
  return all;
}

}  // namespace infiniop::nvidia
