#include "backends/plugin/open.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstring>

namespace infinirt::plugin {

namespace {

constexpr size_t kMostDevices = 64;
constexpr size_t kSlack = 1024;  // words behind the device list, to see a plugin write more than it said
constexpr size_t kNotWritten = 0xA5C3'5A3C'0F1E'2D4Bu;

struct Steps {
  void (*entering)(const char*);
  void operator()(const char* step) const {
    if (entering) entering(step);
  }
};

bool fails(std::string* problem, std::string text) { return *problem = std::move(text), false; }

std::string missing_entries(const infinirtPluginInterface& table) {
  std::string names;
  const auto need = [&](const char* name, bool present) {
    if (!present) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  need("set_device", table.set_device);
  need("get_device", table.get_device);
  need("get_device_count", table.get_device_count);
  need("get_device_list", table.get_device_list);
  need("device_memory_allocate", table.device_memory_allocate);
  need("device_memory_deallocate", table.device_memory_deallocate);
  need("memory_copy_h2d", table.memory_copy_h2d);
  need("memory_copy_d2h", table.memory_copy_d2h);
  return names;
}

void* load_library(const OpenRequest& request, std::string* problem) {
  if (!request.global_library.empty()) dlopen(request.global_library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* library = dlopen(request.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  const char* said = dlerror();
  *problem = std::string("it cannot be loaded: ") + (said ? said : "the loader does not say why");
  const bool lacks_symbol = problem->find("undefined symbol") != std::string::npos;
  if (lacks_symbol && (problem->find("phi") != std::string::npos || problem->find("PD_") != std::string::npos ||
                       problem->find("paddle") != std::string::npos)) {
    *problem += "; it carries kernels for PaddlePaddle: import paddle first, so that libphi_core.so is there";
  }
  return nullptr;
}

bool is_type_name(const char* name) {
  const size_t length = strnlen(name, 64);
  return length > 0 && length < 64 &&
         std::all_of(
             name, name + length, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; });
}

bool list_devices(const infinirtPluginInterface& table, const Steps& steps, std::vector<int>* ids,
                  std::string* problem) {
  steps("get_device_count");
  size_t count = kNotWritten;
  if (const auto status = table.get_device_count(&count); !succeeded(status))
    return fails(problem, "get_device_count failed with status " + status_text(status));
  if (count == kNotWritten) return fails(problem, "get_device_count succeeded without writing a count");
  if (count == 0) return fails(problem, "it has no device: get_device_count says 0");
  if (count > kMostDevices) {
    return fails(problem, "get_device_count says " + std::to_string(count) + ", more than the " +
                              std::to_string(kMostDevices) + " devices that a type can have" +
                              (count > SIZE_MAX / 2 ? " (a negative number?)" : ""));
  }
  steps("get_device_list");
  std::vector<size_t> list(count + kSlack, kNotWritten);
  if (const auto status = table.get_device_list(list.data()); !succeeded(status))
    return fails(problem, "get_device_list failed with status " + status_text(status));
  const auto end = std::find_if(list.rbegin(), list.rend(), [](size_t id) { return id != kNotWritten; }).base();
  const auto listed = static_cast<size_t>(end - list.begin());
  if (listed != count) {
    return fails(problem, "get_device_count says " + std::to_string(count) + ", but get_device_list names " +
                              std::to_string(listed) + (listed == 1 ? " device" : " devices"));
  }
  for (size_t i = 0; i < count; ++i) {
    if (list[i] > INT_MAX) return fails(problem, "get_device_list names a device " + std::to_string(list[i]));
    ids->push_back(static_cast<int>(list[i]));
    if (std::count(ids->begin(), ids->end(), ids->back()) > 1)
      return fails(problem, "get_device_list names device " + std::to_string(list[i]) + " twice");
  }
  return true;
}

size_t version_of(const OpenedPlugin& plugin, FactEntry entry) {
  if (!entry) return 0;
  size_t version = 0;
  infinirtPluginDevice_st device = {plugin.ids.front()};
  return succeeded(call_fact(plugin.layout, entry, &device, &version)) ? version : 0;
}

// What the plugin said about itself, apart from the table.
bool check_params(const infinirtPluginParams& params, std::string* problem) {
  const infinirtPluginVersion& version = params.version;
  if (version.major == kNotWritten) return fails(problem, "InitPlugin left the version out");
  if (version.major != INFINIRT_PLUGIN_VERSION_MAJOR || version.minor != INFINIRT_PLUGIN_VERSION_MINOR) {
    return fails(problem, "it was built for version " + std::to_string(version.major) + "." +
                              std::to_string(version.minor) + "." + std::to_string(version.patch) +
                              " of the plugin interface; this runtime knows 0.1");
  }
  if (!params.device_type) return fails(problem, "InitPlugin left the device type's name out");
  if (!is_type_name(params.device_type)) {
    return fails(problem, "its device type's name is not made of 1 to 63 letters, digits, '_', '-' and '.': '" +
                              std::string(params.device_type, strnlen(params.device_type, 64)) + "'");
  }
  return true;
}

// The table in the newest layout.
bool read_table(const OpenRequest& request, PatternedTable& filled, const infinirtPluginInterface* own,
                OpenedPlugin* plugin, std::string* problem) {
  const Layout* named = request.forced ? request.forced : request.fallback;
  if (own != filled.table()) {
    if (!named) {
      return fails(
          problem,
          "InitPlugin put a table of its own in the place of the host's, whose layout cannot be told; name the "
          "release it was built for with INFINIRT_PLUGIN_LAYOUT (2.6, 3.0, 3.1, 3.2 or 3.3)");
    }
    if (!own) return fails(problem, "InitPlugin made the pointer to the table null");
    std::memcpy(static_cast<void*>(filled.table()), own, table_size(*named));
    plugin->layout = *named;
  } else if (request.forced) {
    plugin->layout = *request.forced;
  } else if (std::string reason; !filled.detect(&plugin->layout, &reason)) {
    if (!request.fallback || filled.is_untouched()) return fails(problem, reason);
    plugin->layout = *request.fallback;
  }
  plugin->table = filled.read_as(plugin->layout);
  const std::string missing = missing_entries(plugin->table);
  return missing.empty() || fails(problem, "required entries of its table are null: " + missing);
}

}  // namespace

std::string status_text(enum infinirtPluginStatus status) {
  switch (status) {
    case infinirtPluginSuccess:
      return "0 (success)";
    case infinirtPluginWarning:
      return "1 (warning)";
    case infinirtPluginFailed:
      return "2 (failed)";
    case infinirtPluginError:
      return "3 (wrong use)";
    case infinirtPluginInternalError:
      return "4 (internal error)";
  }
  return std::to_string(static_cast<int>(status)) + " (not one of the interface's)";
}

OpenResult open_plugin(const OpenRequest& request, OpenedPlugin* plugin, std::string* problem) {
  const Steps steps{request.entering};
  steps("loading the library");
  void* library = load_library(request, problem);
  if (!library) return OpenResult::Failed;
  auto* init = reinterpret_cast<void (*)(infinirtPluginParams*)>(dlsym(library, "InitPlugin"));
  if (!init) {
    *problem = "it is no plugin: it does not export InitPlugin";
    return OpenResult::Failed;
  }

  // Both outlive this call: a plugin may keep the addresses.
  auto* filled = new PatternedTable(table_size(request.told));
  struct Params {
    infinirtPluginParams known;
    char beyond[512];
  };
  auto* params = new Params{};
  params->known.size = params_size(request.told);
  params->known.interface = filled->table();
  params->known.version.major = kNotWritten;
  steps("InitPlugin");
  init(&params->known);
  if (params->known.version.major == kNotWritten && filled->is_untouched()) {
    *problem = "InitPlugin wrote nothing: it wants a host of another version";
    return OpenResult::Untouched;
  }
  if (!check_params(params->known, problem)) return OpenResult::Failed;
  plugin->type = params->known.device_type;
  if (params->known.sub_device_type) plugin->sub_type.assign(params->known.sub_device_type, 0, 64);
  if (!read_table(request, *filled, params->known.interface, plugin, problem)) return OpenResult::Failed;

  if (plugin->table.initialize) {
    steps("initialize");
    if (const auto status = plugin->table.initialize(); !succeeded(status)) {
      *problem = "initialize failed with status " + status_text(status);
      return OpenResult::Failed;
    }
  }
  if (!list_devices(plugin->table, steps, &plugin->ids, problem)) return OpenResult::Failed;
  steps("get_runtime_version");
  plugin->runtime_version = version_of(*plugin, plugin->table.get_runtime_version);
  steps("get_driver_version");
  plugin->driver_version = version_of(*plugin, plugin->table.get_driver_version);
  return OpenResult::Opened;
}

}  // namespace infinirt::plugin
