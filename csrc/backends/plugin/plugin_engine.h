// A plugin as an engine-run device type: the engine's workers call the plugin's entries.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backends/plugin/open.h"
#include "backends/plugin/probe.h"
#include "engine/emulated_engine.h"
#include "engine/shown_addresses.h"

namespace infinirt::plugin {

class PluginEngine final : public EmulatedEngine {
 public:
  // From what the probe found; nothing is loaded. `type` is the name under which it is to be known.
  PluginEngine(std::string path, const Probed& probed, const std::string& type, bool thread_safe, const Layout* forced,
               const Layout* fallback);

  // Loads the plugin into this process, once. False, with backend.problem set, when that fails.
  bool load();

  // For libraries on top: see infinirt_plugin_host.h. The table is there once load() has succeeded.
  const infinirtPluginInterface& table() const { return opened_.table; }
  infinirtError_t call(int device, bool alone, void (*fn)(infinirtPluginDevice_t, void*), void* data);
  void* native_address(const void* pointer) const { return shown_.native(pointer); }

  // Ends the devices and the plugin, unless work is left.
  void shut_down();
  void refuse_in_forked_child();

  infinirtError_t allocate(int device, size_t size, MemoryKind kind, unsigned flags, void** out) override;
  void release(int device, void* pointer, size_t size, MemoryKind kind) override;
  void memory_info(int device, size_t* free_bytes, size_t* total_bytes) override;
  bool memory_size_known(int device) const override;
  SegmentSizes segment_sizes(int device) override;
  void properties(int device, struct infinirtDeviceProp* properties) override;
  bool in_device_range(const void* pointer) const override;
  void lock_for_fork() override;
  void unlock_after_fork(bool in_child) override;

 private:
  // One device: its handle and the wishes it has about allocations.
  struct Unit {
    infinirtPluginDevice_st handle = {0};
    bool ready = false;
    size_t min_chunk = 0, padding = 0, max_alloc = 0, max_chunk = 0, first_alloc = 0, next_alloc = 0;
  };

  infinirtError_t set_current(int device) override;
  infinirtError_t wait_for_all(int device) override;
  infinirtError_t take_memory(int device, size_t size, void** out) override;
  void give_memory(int device, void* pointer) override;
  infinirtError_t move(int device, void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind) override;
  infinirtError_t move_between(int dst_device, int src_device, void* dst, const void* src, size_t bytes) override;
  infinirtError_t set_bytes(int device, void* dst, unsigned char value, size_t bytes) override;
  bool moves_within_device() const override { return opened_.table.memory_copy_d2d != nullptr; }
  infinirtError_t begin_move(int device, void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind,
                             void** stream) override;
  infinirtError_t make_native_stream(int device, void** stream) override;
  infinirtError_t wait_for_native_stream(int device, void* stream) override;

  infinirtError_t start_device(int device, Unit& unit);
  bool is_ready(int device);
  infinirtError_t take_host_memory(int device, size_t size, MemoryKind kind, void** out);
  std::string origin() const;
  void mark_support();
  bool has_streams() const;
  Unit& unit(int device) { return units_[static_cast<size_t>(device)]; }
  size_t asked(FactEntry entry, int device);   // 0 when absent or failing
  size_t fact(FactEntry entry, int device);    // the same for entries that took no device before 3.1
  // Success, or the entry's failure with a message.
  infinirtError_t checked(enum infinirtPluginStatus status, const char* entry);

  std::string path_;
  Probed probed_;
  bool has_forced_, has_fallback_;
  bool thread_safe_;
  Layout forced_ = kNewest, fallback_ = kNewest;
  std::once_flag loading_;
  std::atomic<bool> loaded_{false};
  OpenedPlugin opened_;
  std::vector<int> visible_;  // which of the plugin's devices are ours
  std::vector<Unit> units_;   // of those
  Mutex starting_;  // of devices; the plugin is called under it
  ShownAddresses shown_;
  Mutex host_blocks_mutex_;
  std::map<uintptr_t, ShownAddresses::Block> host_blocks_;  // pinned and unified memory, by the aligned address
};

}  // namespace infinirt::plugin
