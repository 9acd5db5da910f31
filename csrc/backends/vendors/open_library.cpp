// Finding and binding a vendor's library.
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backends/vendors/vendor.h"

namespace infinirt::vendors {

namespace {

struct Candidate {
  std::string path;
  bool only_if_loaded = false;
  bool given = false;  // by the override
};

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) ? resolved : path;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> existing_folders(const Vendor& vendor) {
  std::vector<std::string> folders;
  for (const Folder& folder : vendor.folders) {
    std::string path = folder.path;
    if (folder.variable) {
      const char* root = std::getenv(folder.variable);
      if (!root || !*root) continue;
      path = std::string(root) + "/" + path;
    }
    if (access(path.c_str(), X_OK) == 0) folders.push_back(path);
  }
  return folders;
}

bool lies_in_folder_of(const Vendor& vendor, const std::string& path) {
  for (const std::string& folder : existing_folders(vendor)) {
    if (starts_with(real_path(path), real_path(folder) + "/")) return true;
  }
  return false;
}

// A second copy beside the one that a framework brought along would not know of its devices and streams.
std::vector<Candidate> already_loaded(const Vendor& vendor) {
  struct Search {
    const char* stem;
    std::vector<Candidate> found;
  } search{vendor.stem, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        if (starts_with(base_name(info->dlpi_name), wanted->stem)) wanted->found.push_back({info->dlpi_name, true});
        return 0;
      },
      &search);
  if (vendor.names_are_shared)
    std::erase_if(search.found, [&](const Candidate& found) { return !lies_in_folder_of(vendor, found.path); });
  return search.found;
}

std::vector<Candidate> candidates(const Vendor& vendor) {
  if (const char* given = std::getenv(vendor.override); given && *given) return {{given, false, true}};
  std::vector<Candidate> all = already_loaded(vendor);
  for (const std::string& folder : existing_folders(vendor)) {
    for (const char* name : vendor.names) {
      const std::string path = folder + "/" + name;
      if (access(path.c_str(), R_OK) == 0) all.push_back({path});
    }
  }
  if (!vendor.names_are_shared) {
    for (const char* name : vendor.names) all.push_back({name});
  }
  return all;
}

// "a, b and 12 others"
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " others";
  return text;
}

// Where it was looked for, for people.
std::string searched(const Vendor& vendor) {
  std::string text;
  for (const char* name : vendor.names) text += (text.empty() ? "" : ", ") + std::string(name);
  text += " in ";
  for (const Folder& folder : vendor.folders)
    text += (folder.variable ? std::string("$") + folder.variable + "/" : std::string()) + folder.path + ", ";
  if (!vendor.names_are_shared) return text + "or where the loader looks";
  text.resize(text.size() - 2);
  return text;
}

// Null: `why` says why not; nothing when there is simply no such file.
std::unique_ptr<Native> bind(const Vendor& vendor, const Candidate& candidate, Opened& opened, std::string& why) {
  void* library = dlopen(candidate.path.c_str(), RTLD_LAZY | RTLD_LOCAL | (candidate.only_if_loaded ? RTLD_NOLOAD : 0));
  if (!library) {
    const char* message = dlerror();
    why = message ? message : candidate.path + " cannot be loaded";
    const bool is_name = candidate.path.find('/') == std::string::npos;
    if (is_name && !candidate.given &&
        starts_with(why, candidate.path + ": cannot open shared object file: No such file"))
      why.clear();
    return nullptr;
  }
  link_map* entry = nullptr;
  std::string path = candidate.path;
  if (dlinfo(library, RTLD_DI_LINKMAP, &entry) == 0 && entry && *entry->l_name) path = real_path(entry->l_name);
  // Some SDKs offer their library under another vendor's name, too; it is served as what it is.
  if (!candidate.given &&
      (!starts_with(base_name(path), vendor.stem) || (vendor.names_are_shared && !lies_in_folder_of(vendor, path)))) {
    why = candidate.path + " is " + path + ", another vendor's library";
    return nullptr;
  }
  std::unique_ptr<Native> native = vendor.make();
  std::vector<std::string> missing, absent;
  for (const Symbol& symbol : native->symbols()) {
    *symbol.slot = dlsym(library, symbol.name.c_str());
    if (!*symbol.slot) (symbol.required ? missing : absent).push_back(symbol.name);
  }
  opened.path = path;
  opened.absent = absent;
  if (missing.empty()) return native;
  why = path + " cannot be used as " + vendor.library + ": it has no " + listed(missing);
  return nullptr;
}

}  // namespace

Opened open_library(const Vendor& vendor) {
  Opened opened;
  std::string tried;
  for (const Candidate& candidate : candidates(vendor)) {
    std::string why;
    if ((opened.native = bind(vendor, candidate, opened, why))) return opened;
    if (!why.empty()) tried += (tried.empty() ? "" : "; ") + why;
  }
  if (!opened.path.empty()) {
    opened.problem = tried;
    return opened;
  }
  opened.problem = std::string(vendor.library) + " was not found: ";
  opened.problem += tried.empty() ? "looked for " + searched(vendor) : tried;
  opened.problem += std::string("; if it is installed, set ") + vendor.override + " to the file";
  return opened;
}

}  // namespace infinirt::vendors
