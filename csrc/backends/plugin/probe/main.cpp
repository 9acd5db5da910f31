// infinirt-plugin-probe: opens a plugin in a process of its own, which may die of it. What came of it goes to file
// descriptor 3, one line each: `step NAME` before the plugin's code is entered, then `untouched`, `problem TEXT`, or
// `opened LAYOUT COUNT TYPE SUBTYPE`.
//
//     infinirt-plugin-probe PATH TOLD FORCED FALLBACK GLOBAL_LIBRARY      ("-" for none)
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "backends/plugin/open.h"

namespace {

using namespace infinirt::plugin;  // NOLINT: the program is about nothing else

constexpr int kReport = 3;

void report(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  if (write(kReport, line.data(), line.size()) < 0) _exit(3);
}

bool is_given(const char* argument) { return std::strcmp(argument, "-") != 0; }

}  // namespace

int main(int argc, char** argv) {
  Layout told, forced, fallback;
  if (argc != 6 || !layout_named(argv[2], &told) || (is_given(argv[3]) && !layout_named(argv[3], &forced)) ||
      (is_given(argv[4]) && !layout_named(argv[4], &fallback))) {
    std::fprintf(stderr, "started by the InfiniRT library to try a plugin out; of no other use\n");
    return 2;
  }
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  OpenRequest request;
  request.path = argv[1];
  request.told = told;
  request.forced = is_given(argv[3]) ? &forced : nullptr;
  request.fallback = is_given(argv[4]) ? &fallback : nullptr;
  request.global_library = is_given(argv[5]) ? argv[5] : "";
  request.entering = [](const char* step) { report(std::string("step ") + step); };
  OpenedPlugin plugin;
  std::string problem;
  switch (open_plugin(request, &plugin, &problem)) {
    case OpenResult::Opened:
      report(std::string("opened ") + layout_name(plugin.layout) + " " + std::to_string(plugin.ids.size()) + " " +
             plugin.type + " " + plugin.sub_type);
      if (plugin.table.finalize) plugin.table.finalize();
      break;
    case OpenResult::Untouched:
      report("untouched");
      break;
    case OpenResult::Failed:
      report("problem " + problem);
      break;
  }
  _exit(0);  // the plugin's destructors have nothing to add
}
