#include "ccl/plugin/library.h"

#include "ccl/runtime.h"

namespace infiniccl::plugin {

std::unique_ptr<const Library> Library::find(const char* type, std::string* problem) {
  const infinirtPluginInterface* table = nullptr;
  if (infinirtXGetPluginTable(type, &table) != infinirtSuccess) {
    *problem = format_text("device type '%s' has no collectives of its own: it is no plugin's", type);
    return nullptr;
  }
  const struct {
    const char* name;
    bool there;
  } required[] = {
      {"xccl_get_unique_id_size", table->xccl_get_unique_id_size != nullptr},
      {"xccl_get_unique_id", table->xccl_get_unique_id != nullptr},
      {"xccl_comm_init_rank", table->xccl_comm_init_rank != nullptr},
      {"xccl_destroy_comm", table->xccl_destroy_comm != nullptr},
  };
  for (const auto& entry : required) {
    if (entry.there) continue;
    *problem = format_text("device type '%s' has no collectives of its own: its plugin has no %s", type, entry.name);
    return nullptr;
  }
  return std::unique_ptr<const Library>(new Library(type, *table));
}

std::string Library::outcome(infinirtError_t error, enum infinirtPluginStatus status, const char* what) const {
  if (error != infinirtSuccess) return infinirtXGetLastErrorMessage();
  if (status == infinirtPluginSuccess || status == infinirtPluginWarning) return "";
  return format_text("%s of the plugin of device type '%s' failed with status %d", what, type_,
                     static_cast<int>(status));
}

const char* Library::missing_entry(Operation operation) const {
  const infinirtPluginInterface& t = table_;
  switch (operation) {
    case Operation::AllReduce:
    case Operation::Barrier:
      return t.xccl_all_reduce ? nullptr : "xccl_all_reduce";
    case Operation::Broadcast:
    case Operation::AllGatherV:
      return t.xccl_broadcast ? nullptr : "xccl_broadcast";
    case Operation::Reduce:
    case Operation::ReduceScatterV:
      return t.xccl_reduce ? nullptr : "xccl_reduce";
    case Operation::AllGather:
      return t.xccl_all_gather ? nullptr : "xccl_all_gather";
    case Operation::ReduceScatter:
      return t.xccl_reduce_scatter ? nullptr : "xccl_reduce_scatter";
    case Operation::AllToAll:
      if (t.xccl_all_to_all) return nullptr;
      [[fallthrough]];
    default:
      if (!has_groups()) return "xccl_group_start and xccl_group_end";
      return !t.xccl_send ? "xccl_send" : !t.xccl_recv ? "xccl_recv" : nullptr;
  }
}

bool datatype(infiniDtype_t dtype, bool reduces, enum infinirtPluginDataType* type, size_t* each) {
  // By infiniDtype_t; those without a number of the plugin's are moved as bytes.
  constexpr enum infinirtPluginDataType types[] = {
      infinirtPluginUndefined, infinirtPluginUint8,     infinirtPluginBool,       infinirtPluginInt8,
      infinirtPluginInt16,     infinirtPluginInt32,     infinirtPluginInt64,      infinirtPluginUint8,
      infinirtPluginUint16,    infinirtPluginUint32,    infinirtPluginUint64,     infinirtPluginUndefined,
      infinirtPluginFloat16,   infinirtPluginFloat32,   infinirtPluginFloat64,    infinirtPluginUndefined,
      infinirtPluginUndefined, infinirtPluginComplex64, infinirtPluginComplex128, infinirtPluginBfloat16};
  *type = types[dtype];
  *each = 1;
  if (*type != infinirtPluginUndefined) return true;
  if (reduces) return false;
  *type = infinirtPluginUint8;
  *each = dtype_size(dtype);
  return true;
}

enum infinirtPluginReduction reduction(infinicclReduceOp_t op) {
  constexpr enum infinirtPluginReduction reductions[] = {
      infinirtPluginSum, infinirtPluginProduct, infinirtPluginMaximum, infinirtPluginMinimum, infinirtPluginAverage};
  return reductions[op];
}

}  // namespace infiniccl::plugin
