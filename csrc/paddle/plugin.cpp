// InitPlugin: what PaddlePaddle calls when it opens this file.
#include <cstdio>
#include <cstring>

#include "backends/plugin/layouts.h"
#include "kernels.h"
#include "runtime.h"

namespace infinirt::paddle {

namespace {

using plugin::EntryPlace;
using plugin::Layout;

constexpr char kDeviceType[] = "infinirt";

bool layout_of_host(size_t size, Layout* layout) {
  for (const Layout known : {Layout::V3_0, Layout::V3_1, Layout::V3_2, Layout::V3_3}) {
    if (plugin::table_size(known) != size) continue;
    *layout = known;
    return true;
  }
  return false;
}

// Moves the entries of our table, which has the newest layout, to where the host looks for them.
void write_as(Layout layout, const infinirtPluginInterface& table, void* host_table) {
  const auto* from = reinterpret_cast<const char*>(&table);
  auto* to = static_cast<char*>(host_table);
  std::memset(to + sizeof(size_t), 0, plugin::table_size(layout) - sizeof(size_t));
  EntryPlace place, ours;
  for (size_t i = 0, n = 0; plugin::entry_at(layout, i, &place); ++i) {
    while (plugin::entry_at(plugin::kNewest, n, &ours) && std::strcmp(ours.name, place.name) != 0) ++n;
    if (!place.reserved) std::memcpy(to + place.offset, from + ours.offset, sizeof(void*));
  }
}

// PaddlePaddle skips a plugin that fills in nothing.
void refuse(const char* reason) { std::fprintf(stderr, "infinirt: no device for PaddlePaddle: %s\n", reason); }

}  // namespace

}  // namespace infinirt::paddle

extern "C" void InitPlugin(infinirtPluginParams* params) {
  using namespace infinirt::paddle;
  Layout layout;
  if (!layout_of_host(params->interface->size, &layout)) {
    return refuse("this plugin knows PaddlePaddle 3.0 to 3.3, and this release is another; install one of those");
  }
  if (!runtime_is_complete()) return refuse("the runtime library that was found is older than this plugin; reinstall");
  if (!device_type()) return refuse(device_type_problem());
  infinirtPluginInterface table{};
  fill_in_devices(table, layout >= Layout::V3_1);
  fill_in_streams(table);
  fill_in_memory(table);
  fill_in_collectives(table);
  if (!register_kernels(kDeviceType)) {
    return refuse(
        "this process has no PaddlePaddle; the plugin is for CUSTOM_DEVICE_ROOT, not for INFINIRT_PLUGIN_PATH");
  }
  write_as(layout, table, params->interface);
  params->version = {INFINIRT_PLUGIN_VERSION_MAJOR, INFINIRT_PLUGIN_VERSION_MINOR, INFINIRT_PLUGIN_VERSION_PATCH};
  params->device_type = const_cast<char*>(kDeviceType);
  params->sub_device_type = const_cast<char*>(device_type());
}
