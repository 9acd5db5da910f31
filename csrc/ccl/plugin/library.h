// The collectives of a plugin (infinirt_plugin.h): its entries, how they are called, and our types as theirs.
#pragma once

#include <memory>
#include <string>

#include "ccl/part.h"
#include "infinirt_plugin_host.h"

namespace infiniccl::plugin {

class Library {
 public:
  // Null with a message in *problem where the type is no plugin, or its plugin has no collectives.
  static std::unique_ptr<const Library> find(const char* type, std::string* problem);

  const infinirtPluginInterface& table() const { return table_; }
  const char* type() const { return type_; }

  // Calls `body(handle)` with the device current: alone in the plugin, or beside others if it may wait for other ranks. "", or what went
  // wrong: `body` returns a status of the plugin's, and `what` says which entry it is of.
  template <class Body>
  std::string call(int device, const char* what, Body&& body, bool alone = true) const {
    struct Frame {
      Body& body;
      enum infinirtPluginStatus status;
    } frame{body, infinirtPluginSuccess};
    const auto run = [](infinirtPluginDevice_t handle, void* data) {
      auto& f = *static_cast<Frame*>(data);
      f.status = f.body(handle);
    };
    const infinirtError_t error = infinirtXCallPlugin(type_, device, alone, run, &frame);
    return outcome(error, frame.status, what);
  }

  bool has_groups() const { return table_.xccl_group_start && table_.xccl_group_end; }
  // Which entry an operation would need that the plugin has not; null: none.
  const char* missing_entry(Operation operation) const;

 private:
  Library(const char* type, const infinirtPluginInterface& table) : type_(type), table_(table) {}
  std::string outcome(infinirtError_t error, enum infinirtPluginStatus status, const char* what) const;

  const char* const type_;  // lives as long as the process
  const infinirtPluginInterface& table_;
};

// The plugin's number of an element type, and how many of those one of ours is; false: it has none to reduce.
bool datatype(infiniDtype_t dtype, bool reduces, enum infinirtPluginDataType* type, size_t* each);
enum infinirtPluginReduction reduction(infinicclReduceOp_t op);

}  // namespace infiniccl::plugin
