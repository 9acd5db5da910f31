// Opens a plugin and asks it everything that has to be known before its first use. Done once in a process of its own
// (probe/main.cpp) and, if that survives, again in this one.
#pragma once

#include <string>
#include <vector>

#include "backends/plugin/layouts.h"

namespace infinirt::plugin {

struct OpenRequest {
  std::string path;             // absolute
  Layout told = kNewest;        // whose sizes the plugin is told
  const Layout* forced = nullptr;  // used instead of what the plugin's table looks like
  const Layout* fallback = nullptr;  // used where the layout cannot be told
  std::string global_library;   // a library whose symbols the plugin may need; "" for none
  void (*entering)(const char* step) = nullptr;  // called before each step that runs the plugin's code
};

struct OpenedPlugin {
  infinirtPluginInterface table = {};  // in the newest layout
  Layout layout = kNewest;
  std::string type, sub_type;
  std::vector<int> ids;  // of its devices
  size_t runtime_version = 0, driver_version = 0;  // as the first device tells; 0: not told
};

enum class OpenResult {
  Opened,
  Untouched,  // the plugin wants to be told the sizes of another release
  Failed,
};

// The plugin stays loaded whatever comes of it. `problem` says why it was not opened.
OpenResult open_plugin(const OpenRequest& request, OpenedPlugin* plugin, std::string* problem);

// "2 (failed)".
std::string status_text(enum infinirtPluginStatus status);
inline bool succeeded(enum infinirtPluginStatus status) {
  return status == infinirtPluginSuccess || status == infinirtPluginWarning;
}

}  // namespace infinirt::plugin
