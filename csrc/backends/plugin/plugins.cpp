// The plugins of this process: those that INFINIRT_PLUGIN_PATH names, and those that were loaded by a call.
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>

#include "backends/plugin/plugin_engine.h"
#include "core/log.h"

namespace infinirt::plugin {

namespace {

struct Plugin {
  std::string path, type, layout, problem;
  PluginEngine* engine = nullptr;  // null when it was refused
};

// Held while plugins are tried out: two calls for one file must not load it twice.
struct Plugins {
  std::mutex mutex;
  std::deque<Plugin> tried;  // entries stay where they are
};

Plugins& plugins() {
  static auto* instance = new Plugins;
  return *instance;
}

struct Wishes {
  const char* type = nullptr;
  const Layout* layout = nullptr;
  bool thread_safe = false;
};

// The release that plugins are taken for whose layout cannot be told. False, with a report, for a name that is none.
bool fallback_layout(Layout* layout) {
  const char* wanted = std::getenv("INFINIRT_PLUGIN_LAYOUT");
  if (!wanted || !*wanted) return false;
  if (layout_named(wanted, layout)) return true;
  report_setting("INFINIRT_PLUGIN_LAYOUT", wanted, "2.6, 3.0, 3.1, 3.2 or 3.3");
  return false;
}

// Under the mutex. Tries the file out and registers its device type; `record` says what came of it.
infinirtError_t admit(const std::string& path, const Wishes& wishes, Plugin* record) {
  record->path = path;
  const auto refused = [&](infinirtError_t code, std::string problem) {
    record->problem = std::move(problem);
    return fail(code, "plugin %s: %s", path.c_str(), record->problem.c_str());
  };
  Layout fallback;
  const bool has_fallback = fallback_layout(&fallback);
  const Probed probed = probe(path, wishes.layout, has_fallback ? &fallback : nullptr);
  if (!probed.good) return refused(infinirtErrorSharedObjectInitFailed, probed.problem);
  const std::string type = wishes.type ? wishes.type : probed.type;
  if (find_backend(type.c_str())) {
    return refused(infinirtErrorInvalidValue, "its device type would be '" + type +
                                                  "', which exists already; load it under another name "
                                                  "(infinirtXPluginOptions::deviceType)");
  }
  if (backend_count() == kMaxBackends) {
    return refused(infinirtErrorInvalidValue,
                   "there are " + std::to_string(kMaxBackends) + " device types already, which is all there can be");
  }
  record->engine =
      new PluginEngine(path, probed, type, wishes.thread_safe, wishes.layout, has_fallback ? &fallback : nullptr);
  record->type = type;
  record->layout = layout_name(probed.layout);
  register_backend(&record->engine->backend);
  static const int at_exit = std::atexit([] {
    for (const Plugin& plugin : plugins().tried) {
      if (plugin.engine) plugin.engine->shut_down();
    }
  });
  (void)at_exit;
  return infinirtSuccess;
}

std::vector<std::string> shared_objects(const std::string& folder) {
  std::vector<std::string> files;
  DIR* open = opendir(folder.c_str());
  if (!open) return files;
  while (const dirent* entry = readdir(open)) {
    const std::string name = entry->d_name;
    if (name.size() > 3 && name.compare(name.size() - 3, 3, ".so") == 0) files.push_back(folder + "/" + name);
  }
  closedir(open);
  std::sort(files.begin(), files.end());
  return files;
}

std::string absolute(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) ? resolved : "";
}

void admit_from_path(const std::string& entry) {
  auto& p = plugins();
  const std::string found = absolute(entry);
  if (found.empty()) {
    p.tried.push_back({entry, "", "", "INFINIRT_PLUGIN_PATH names it, but there is no such file or folder"});
    return;
  }
  struct stat status;
  const bool is_folder = stat(found.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  for (const std::string& file : is_folder ? shared_objects(found) : std::vector<std::string>{found}) {
    const std::string path = absolute(file);
    const bool known = std::any_of(p.tried.begin(), p.tried.end(), [&](const Plugin& q) { return q.path == path; });
    if (known || path.empty()) continue;
    p.tried.emplace_back();
    if (admit(path, {}, &p.tried.back()) != infinirtSuccess) thread_extra(thread_state()).has_pending = false;
  }
}

// Runs when device types are first asked for. Registers any number of backends, so it returns none.
Backend* admit_from_environment() {
  const char* list = std::getenv("INFINIRT_PLUGIN_PATH");
  if (!list || !*list) return nullptr;
  std::lock_guard guard(plugins().mutex);
  const std::string text = list;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(':', start), text.size());
    if (end > start) admit_from_path(text.substr(start, end - start));
    start = end + 1;
  }
  return nullptr;
}

const BuiltinBackend registration(5, admit_from_environment);

infinirtError_t read_options(const infinirtXPluginOptions* options, Wishes* wishes, Layout* layout) {
  if (!options) return infinirtSuccess;
  if (options->structSize < sizeof *options) {
    return fail(infinirtErrorInvalidValue,
                "options->structSize is %zu, but must be sizeof(infinirtXPluginOptions), %zu", options->structSize,
                sizeof *options);
  }
  wishes->type = options->deviceType && *options->deviceType ? options->deviceType : nullptr;
  wishes->thread_safe = options->threadSafe != 0;
  if (!options->layout || !*options->layout) return infinirtSuccess;
  if (!layout_named(options->layout, layout)) {
    return fail(infinirtErrorInvalidValue, "options->layout '%s' is not 2.6, 3.0, 3.1, 3.2 or 3.3", options->layout);
  }
  wishes->layout = layout;
  return infinirtSuccess;
}

infinirtError_t load(const char* path, const infinirtXPluginOptions* options, const char** type) {
  if (auto error = barred()) return error;
  if (!path || !*path) return fail(infinirtErrorInvalidValue, "path is null or empty");
  Wishes wishes;
  Layout layout;
  if (auto error = read_options(options, &wishes, &layout)) return error;
  const std::string file = absolute(path);
  if (file.empty()) return fail(infinirtErrorFileNotFound, "path '%s': there is no such file", path);
  backend_count();  // what the environment names comes first
  auto& p = plugins();
  std::lock_guard guard(p.mutex);
  Plugin* record = nullptr;
  for (Plugin& known : p.tried) {
    if (known.path == file && known.engine && (!wishes.type || known.type == wishes.type)) record = &known;
  }
  if (!record) {
    p.tried.emplace_back();
    record = &p.tried.back();
    if (auto error = admit(file, wishes, record)) return error;
  }
  if (!record->engine->load()) {
    return fail(infinirtErrorSharedObjectInitFailed, "plugin %s", record->engine->backend.problem.c_str());
  }
  if (type) *type = record->engine->backend.name.c_str();
  return infinirtSuccess;
}

infinirtError_t describe(infinirtXPluginInfo* info, int index) {
  if (!info) return fail(infinirtErrorInvalidValue, "info is null");
  backend_count();
  auto& p = plugins();
  std::lock_guard guard(p.mutex);
  if (index < 0 || static_cast<size_t>(index) >= p.tried.size()) {
    return fail(infinirtErrorInvalidValue, "index %d is out of range; %zu plugins were tried", index, p.tried.size());
  }
  const Plugin& plugin = p.tried[static_cast<size_t>(index)];
  *info = {plugin.path.c_str(), plugin.type.c_str(), plugin.layout.c_str(), plugin.problem.c_str()};
  return infinirtSuccess;
}

}  // namespace

}  // namespace infinirt::plugin

using namespace infinirt;  // NOLINT: the C entry points below are outside the namespace

extern "C" {

infinirtError_t infinirtXLoadPlugin(const char* path, const infinirtXPluginOptions* options, const char** type) {
  return finish_error(__func__, plugin::load(path, options, type));
}

infinirtError_t infinirtXGetPluginCount(int* count) {
  if (!count) return finish_error(__func__, fail(infinirtErrorInvalidValue, "count is null"));
  backend_count();
  std::lock_guard guard(plugin::plugins().mutex);
  *count = static_cast<int>(plugin::plugins().tried.size());
  return infinirtSuccess;
}

infinirtError_t infinirtXGetPluginInfo(infinirtXPluginInfo* info, int index) {
  return finish_error(__func__, plugin::describe(info, index));
}

}  // extern "C"
