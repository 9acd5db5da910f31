#include "backends/nvidia/find_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/library_folders.h"

namespace infinirt::nvidia {

namespace {

// Libraries of that name that the process has already: PyTorch's, for example, which bundles them under changed names.
std::vector<Candidate> already_loaded(const char* stem) {
  struct Search {
    const char* stem;
    std::vector<Candidate> found;
  } search{stem, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const char* name = slash ? slash + 1 : info->dlpi_name;
        if (std::strncmp(name, wanted->stem, std::strlen(wanted->stem)) == 0)
          wanted->found.push_back({info->dlpi_name, true});
        return 0;
      },
      &search);
  return search.found;
}

// Where this library lies if it was installed from a wheel: <site-packages>/infinirt/lib/libinfinirt.so.1.
std::string own_site_packages() {
  std::string folder = file_of(reinterpret_cast<const void*>(&own_site_packages), "");
  for (int i = 0; i < 3; ++i) {
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) return {};
    folder.resize(slash);
  }
  return folder;
}

}  // namespace

std::vector<Candidate> candidates(const WantedLibrary& wanted) {
  if (const char* given = std::getenv(wanted.variable); given && *given) return {{given}};
  std::vector<Candidate> all = already_loaded(wanted.stem);
  const auto add_existing = [&](const std::string& path) {
    if (access(path.c_str(), R_OK) == 0) all.push_back({path});
  };
  for (const std::string& folder : package_folders()) {
    for (const std::string& name : wanted.in_wheel) add_existing(folder + "/" + name);
  }
  // A toolkit, by the variables that point to one.
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"}) {
    const char* folder = std::getenv(variable);
    if (!folder || !*folder) continue;
    for (const char* place : {"/lib64/", "/lib/"}) {
      for (const std::string& name : wanted.names) add_existing(std::string(folder) + place + name);
    }
  }
  // The system.
  for (const std::string& name : wanted.names) all.push_back({name});
  for (const std::string& name : wanted.names) add_existing("/usr/local/cuda/lib64/" + name);
  return all;
}

void* open_candidate(const Candidate& candidate, std::string& why) {
  void* library = dlopen(candidate.path.c_str(), RTLD_LAZY | RTLD_LOCAL | (candidate.only_if_loaded ? RTLD_NOLOAD : 0));
  if (!library) {
    const char* message = dlerror();
    why = message ? message : candidate.path + " cannot be loaded";
  }
  return library;
}

std::vector<std::string> package_folders() {
  std::vector<std::string> folders = library_folders();
  folders.insert(folders.begin(), own_site_packages());
  return folders;
}

std::string file_of(const void* address, const std::string& otherwise) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : otherwise;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace infinirt::nvidia
