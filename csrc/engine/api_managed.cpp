// Table functions: managed memory.
#include <algorithm>
#include <cstdint>

#include "engine/capture.h"
#include "engine/engine.h"
#include "engine/managed.h"
#include "engine/memory.h"
#include "engine/stream.h"

namespace infinirt::engine_api {

namespace {

// The managed allocation that the range lies in.
infinirtError_t managed_range(const void* pointer, size_t count, Operand* found) {
  *found = find_operand(pointer);
  if (found->place != Place::Managed) {
    return fail(infinirtErrorInvalidValue, "devPtr %p is not managed memory; it must come from infinirtMallocManaged",
                pointer);
  }
  if (count == 0) return fail(infinirtErrorInvalidValue, "count is 0; the range must not be empty");
  const size_t left = found->size - (reinterpret_cast<uintptr_t>(pointer) - found->base);
  if (count <= left) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue,
              "devPtr %p has %zu bytes left in its allocation of %zu bytes, but count is %zu", pointer, left,
              found->size, count);
}

struct infinirtMemLocation location_of(int device) {
  const bool host = device == infinirtCpuDeviceId;
  return {host ? infinirtMemLocationTypeHost : infinirtMemLocationTypeDevice, host ? 0 : device};
}

// `bad_device` is what the real function returns for a device that is not there: advice and prefetch differ.
infinirtError_t check_location(Engine& engine, const struct infinirtMemLocation& location, infinirtError_t bad_device,
                               MemoryLocation* out) {
  const int type = raw_value(location.type);
  switch (type) {
    case infinirtMemLocationTypeDevice:
      if (!device_at(engine, location.id, "the location's device")) return bad_device;
      *out = {type, location.id};
      return infinirtSuccess;
    case infinirtMemLocationTypeHost:
      *out = {type, infinirtCpuDeviceId};
      return infinirtSuccess;
    case infinirtMemLocationTypeHostNuma:
      if (location.id < 0) break;
      *out = {type, location.id};
      return infinirtSuccess;
    case infinirtMemLocationTypeHostNumaCurrent:
      *out = {type, 0};
      return infinirtSuccess;
    default:
      break;
  }
  return fail(infinirtErrorInvalidValue, "the location (type %d, id %d) is neither a device nor the host", type,
              location.id);
}

// As the attributes without a type report it: a device, the host, or nothing that is the same for all of the range.
int device_number(const MemoryLocation& location) {
  if (location.type == infinirtMemLocationTypeInvalid || location.type == infinirtMemLocationTypeDevice)
    return location.id;
  return infinirtCpuDeviceId;
}

template <class Get>
MemoryLocation common_location(const std::vector<ManagedState>& states, Get&& get) {
  for (const ManagedState& state : states) {
    if (get(state) != get(states.front())) return {};
  }
  return states.empty() ? MemoryLocation{} : get(states.front());
}

infinirtError_t write_accessed_by(const std::vector<ManagedState>& states, void* data, size_t size) {
  if (size == 0 || size % sizeof(int) != 0) {
    return fail(infinirtErrorInvalidValue,
                "dataSize %zu must be a multiple of %zu for infinirtMemRangeAttributeAccessedBy", size, sizeof(int));
  }
  auto* out = static_cast<int*>(data);
  std::fill(out, out + size / sizeof(int), static_cast<int>(infinirtInvalidDeviceId));
  if (states.empty()) return infinirtSuccess;
  int* const end = out + size / sizeof(int);
  for (int device : states.front().accessed_by) {
    const bool everywhere = std::all_of(states.begin(), states.end(), [&](const ManagedState& s) {
      return std::find(s.accessed_by.begin(), s.accessed_by.end(), device) != s.accessed_by.end();
    });
    if (everywhere && out != end) *out++ = device;
  }
  return infinirtSuccess;
}

infinirtError_t write_attribute(const std::vector<ManagedState>& states, int attribute, void* data, size_t size) {
  if (!data) return fail(infinirtErrorInvalidValue, "data is null; it must point to where the attribute goes");
  if (attribute == infinirtMemRangeAttributeAccessedBy) return write_accessed_by(states, data, size);
  const MemoryLocation preferred = common_location(states, [](const ManagedState& s) { return s.preferred; });
  const MemoryLocation prefetch = common_location(states, [](const ManagedState& s) { return s.last_prefetch; });
  int value = 0;
  switch (attribute) {
    case infinirtMemRangeAttributeReadMostly:
      value = !states.empty() &&
              std::all_of(states.begin(), states.end(), [](const ManagedState& s) { return s.read_mostly; });
      break;
    case infinirtMemRangeAttributePreferredLocation:
      value = device_number(preferred);
      break;
    case infinirtMemRangeAttributePreferredLocationType:
      value = preferred.type;
      break;
    case infinirtMemRangeAttributePreferredLocationId:
      value = preferred.id;
      break;
    case infinirtMemRangeAttributeLastPrefetchLocation:
      value = device_number(prefetch);
      break;
    case infinirtMemRangeAttributeLastPrefetchLocationType:
      value = prefetch.type;
      break;
    case infinirtMemRangeAttributeLastPrefetchLocationId:
      value = prefetch.id;
      break;
    default:
      return fail(infinirtErrorInvalidValue, "attribute %d is not one of infinirtMemRangeAttribute (1 to 8)",
                  attribute);
  }
  if (size != sizeof(int)) {
    return fail(infinirtErrorInvalidValue, "dataSize %zu must be %zu for attribute %d", size, sizeof(int), attribute);
  }
  *static_cast<int*>(data) = value;
  return infinirtSuccess;
}

struct Advice {
  int advice;  // infinirtMemoryAdvise
  MemoryLocation location;
};

void apply_advice(ManagedState& state, void* context) {
  const auto& [advice, location] = *static_cast<const Advice*>(context);
  const int accessor = device_number(location);
  switch (advice) {
    case infinirtMemAdviseSetReadMostly:
      state.read_mostly = true;
      break;
    case infinirtMemAdviseUnsetReadMostly:
      state.read_mostly = false;
      break;
    case infinirtMemAdviseSetPreferredLocation:
      state.preferred = location;
      break;
    case infinirtMemAdviseUnsetPreferredLocation:
      state.preferred = {};
      break;
    case infinirtMemAdviseSetAccessedBy:
      if (std::find(state.accessed_by.begin(), state.accessed_by.end(), accessor) == state.accessed_by.end()) {
        state.accessed_by.push_back(accessor);
      }
      break;
    case infinirtMemAdviseUnsetAccessedBy:
      std::erase(state.accessed_by, accessor);
      break;
  }
}

}  // namespace

infinirtError_t MemPrefetchAsync_v2(const void* devPtr, size_t count, struct infinirtMemLocation location,
                                    unsigned int flags, infinirtStream_t stream) {
  infinirtError_t error = infinirtSuccess;
  Stream* target = resolve_stream(thread_state(), stream, &error);
  if (!target) return error;
  if (target->capture.load(std::memory_order_acquire) && capture_bars_stream(*target, "a prefetch", &error))
    return error;
  if (flags != 0) return fail(infinirtErrorInvalidValue, "flags 0x%x must be 0", flags);
  Operand found;
  if ((error = managed_range(devPtr, count, &found))) return error;
  MemoryLocation checked;
  if ((error = check_location(*target->device->engine, location, infinirtErrorInvalidDevice, &checked))) return error;
  Work work;  // host and device share the memory: only the place in the stream's order is left of the prefetch
  if ((error = submit(*target, work))) return error;
  managed_change(
      found.base, reinterpret_cast<uintptr_t>(devPtr), count,
      [](ManagedState& state, void* to) { state.last_prefetch = *static_cast<MemoryLocation*>(to); }, &checked);
  return infinirtSuccess;
}

infinirtError_t MemPrefetchAsync(const void* devPtr, size_t count, int dstDevice, infinirtStream_t stream) {
  return MemPrefetchAsync_v2(devPtr, count, location_of(dstDevice), 0, stream);
}

infinirtError_t MemAdvise_v2(const void* devPtr, size_t count, enum infinirtMemoryAdvise advice,
                             struct infinirtMemLocation location) {
  ThreadState& ts = thread_state();
  Operand found;
  if (auto error = managed_range(devPtr, count, &found)) return error;
  if (auto error = check_current_device(ts)) return error;
  if (auto error = check_capture_unsafe(ts)) return error;
  const int kind = raw_value(advice);
  if (kind < infinirtMemAdviseSetReadMostly || kind > infinirtMemAdviseUnsetAccessedBy) {
    return fail(infinirtErrorInvalidValue, "advice %d is not one of infinirtMemoryAdvise (1 to 6)", kind);
  }
  Advice given{kind, {}};
  const bool uses_location = kind == infinirtMemAdviseSetPreferredLocation || kind == infinirtMemAdviseSetAccessedBy ||
                             kind == infinirtMemAdviseUnsetAccessedBy;
  if (uses_location) {
    if (auto error = check_location(current_engine(ts), location, infinirtErrorInvalidValue, &given.location))
      return error;
  }
  managed_change(found.base, reinterpret_cast<uintptr_t>(devPtr), count, apply_advice, &given);
  return infinirtSuccess;
}

infinirtError_t MemAdvise(const void* devPtr, size_t count, enum infinirtMemoryAdvise advice, int device) {
  return MemAdvise_v2(devPtr, count, advice, location_of(device));
}

infinirtError_t MemRangeGetAttribute(void* data, size_t dataSize, enum infinirtMemRangeAttribute attribute,
                                     const void* devPtr, size_t count) {
  Operand found;
  if (auto error = managed_range(devPtr, count, &found)) return error;
  return write_attribute(managed_states(found.base, reinterpret_cast<uintptr_t>(devPtr), count), raw_value(attribute),
                         data, dataSize);
}

infinirtError_t MemRangeGetAttributes(void** data, size_t* dataSizes, enum infinirtMemRangeAttribute* attributes,
                                      size_t numAttributes, const void* devPtr, size_t count) {
  if (!data || !dataSizes || !attributes || numAttributes == 0) {
    return fail(infinirtErrorInvalidValue,
                "data %p, dataSizes %p, attributes %p, numAttributes %zu; all of them must be there",
                static_cast<void*>(data), static_cast<void*>(dataSizes), static_cast<void*>(attributes), numAttributes);
  }
  Operand found;
  if (auto error = managed_range(devPtr, count, &found)) return error;
  const auto states = managed_states(found.base, reinterpret_cast<uintptr_t>(devPtr), count);
  for (size_t i = 0; i < numAttributes; ++i) {
    if (auto error = write_attribute(states, raw_value(attributes[i]), data[i], dataSizes[i])) return error;
  }
  return infinirtSuccess;
}

infinirtError_t StreamAttachMemAsync(infinirtStream_t stream, void* devPtr, size_t length, unsigned int flags) {
  infinirtError_t error = infinirtSuccess;
  Stream* target = resolve_stream(thread_state(), stream, &error);
  if (!target) return error;
  if (target->capture.load(std::memory_order_acquire) && capture_bars_stream(*target, "attaching memory", &error))
    return error;
  const Operand found = find_operand(devPtr);
  if (found.place != Place::Managed || found.base != reinterpret_cast<uintptr_t>(devPtr)) {
    return fail(infinirtErrorInvalidValue, "devPtr %p is not the start of managed memory from infinirtMallocManaged",
                devPtr);
  }
  if (length != 0 && length != found.size) {
    return fail(infinirtErrorInvalidValue, "length %zu must be 0 or the whole allocation of %zu bytes", length,
                found.size);
  }
  if (flags != infinirtMemAttachGlobal && flags != infinirtMemAttachHost && flags != infinirtMemAttachSingle) {
    return fail(infinirtErrorInvalidValue,
                "flags %u must be infinirtMemAttachGlobal (1), infinirtMemAttachHost (2) or "
                "infinirtMemAttachSingle (4)",
                flags);
  }
  if (flags == infinirtMemAttachSingle && target->role == StreamRole::Legacy) {
    return fail(infinirtErrorInvalidValue,
                "infinirtMemAttachSingle needs a stream of its own, not the legacy default stream");
  }
  Work work;
  if ((error = submit(*target, work))) return error;
  registry_update(devPtr, [](Allocation& a, void* to) { a.flags = *static_cast<unsigned*>(to); }, &flags);
  return infinirtSuccess;
}

}  // namespace infinirt::engine_api
