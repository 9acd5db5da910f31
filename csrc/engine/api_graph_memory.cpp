// Table functions: user objects, and the memory of graphs.
#include "engine/graph_args.h"
#include "engine/user_object.h"

namespace infinirt {

namespace {

// The thread's engine may have no device at all.
EngineDevice* find_device(int ordinal, infinirtError_t* error) {
  Engine& engine = current_engine(thread_state());
  EngineDevice* device = device_at(engine, ordinal, "device");
  if (!device) *error = engine.devices.empty() ? infinirtErrorNoDevice : infinirtErrorInvalidDevice;
  return device;
}

bool valid_attribute(enum infinirtGraphMemAttributeType attribute) {
  return attribute >= infinirtGraphMemAttrUsedMemCurrent && attribute <= infinirtGraphMemAttrReservedMemHigh;
}

infinirtError_t check_count(unsigned count) {
  return count ? infinirtSuccess : fail(infinirtErrorInvalidValue, "count is 0; at least one reference was expected");
}

#define USER_OBJECT_OR_RETURN(name, handle)                        \
  UserObject* name##_found = resolve_user_object(handle, #handle); \
  if (!name##_found) return infinirtErrorInvalidValue;             \
  UserObject& name = *name##_found

}  // namespace

namespace engine_api {

infinirtError_t UserObjectCreate(infinirtUserObject_t* object_out, void* ptr, infinirtHostFn_t destroy,
                                 unsigned int initialRefcount, unsigned int flags) {
  if (!object_out)
    return fail(infinirtErrorInvalidValue, "object_out is null; it must point at where the new object goes");
  if (!destroy) return fail(infinirtErrorInvalidValue, "destroy is null; a destructor was expected");
  if (initialRefcount == 0)
    return fail(infinirtErrorInvalidValue, "initialRefcount is 0; at least one reference was expected");
  if (flags != infinirtUserObjectNoDestructorSync) {
    return fail(infinirtErrorInvalidValue,
                "flags 0x%x must be infinirtUserObjectNoDestructorSync (1): the destructor cannot be waited for",
                flags);
  }
  UserObject* object = create_user_object(current_engine(thread_state()).backend.index, ptr, destroy, initialRefcount);
  if (!object) return fail(infinirtErrorMemoryAllocation, "no room for another handle: 16 million objects are alive");
  *object_out = object->handle;
  return infinirtSuccess;
}

infinirtError_t UserObjectRetain(infinirtUserObject_t object, unsigned int count) {
  USER_OBJECT_OR_RETURN(found, object);
  if (auto error = check_count(count)) return error;
  if (retain_user_object(found, object, count)) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "object %p was destroyed by another thread", static_cast<void*>(object));
}

infinirtError_t UserObjectRelease(infinirtUserObject_t object, unsigned int count) {
  USER_OBJECT_OR_RETURN(found, object);
  if (auto error = check_count(count)) return error;
  if (release_user_object(found, object, count)) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue,
              "count is %u, but the caller owns fewer references to object %p (graphs own the others)", count,
              static_cast<void*>(object));
}

infinirtError_t GraphRetainUserObject(infinirtGraph_t graph, infinirtUserObject_t object, unsigned int count,
                                      unsigned int flags) {
  GRAPH_OR_RETURN(g, graph);
  USER_OBJECT_OR_RETURN(found, object);
  if (auto error = check_count(count)) return error;
  if (flags & ~static_cast<unsigned>(infinirtGraphUserObjectMove)) {
    return fail(infinirtErrorInvalidValue, "flags 0x%x: only infinirtGraphUserObjectMove (1) is allowed", flags);
  }
  if (g.user_objects.add(found, object, count, flags & infinirtGraphUserObjectMove)) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "count is %u, but the caller owns fewer references to object %p to give away",
              count, static_cast<void*>(object));
}

infinirtError_t GraphReleaseUserObject(infinirtGraph_t graph, infinirtUserObject_t object, unsigned int count) {
  GRAPH_OR_RETURN(g, graph);
  USER_OBJECT_OR_RETURN(found, object);
  if (auto error = check_count(count)) return error;
  if (g.user_objects.remove(found, count)) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "count is %u, but the graph owns fewer references to object %p", count,
              static_cast<void*>(object));
}

infinirtError_t DeviceGraphMemTrim(int device) {
  infinirtError_t error = infinirtSuccess;
  EngineDevice* d = find_device(device, &error);
  if (!d) return error;
  trim_graph_memory(*d);
  return infinirtSuccess;
}

infinirtError_t DeviceGetGraphMemAttribute(int device, enum infinirtGraphMemAttributeType attr, void* value) {
  infinirtError_t error = infinirtSuccess;
  EngineDevice* d = find_device(device, &error);
  if (!d) return error;
  if (!value) return fail(infinirtErrorInvalidValue, "value is null; it must point at a uint64_t");
  if (!valid_attribute(attr))
    return fail(infinirtErrorInvalidValue, "attr %d is none of infinirtGraphMemAttributeType (0 to 3)",
                static_cast<int>(attr));
  *static_cast<uint64_t*>(value) = graph_memory_attribute(*d, attr);
  return infinirtSuccess;
}

infinirtError_t DeviceSetGraphMemAttribute(int device, enum infinirtGraphMemAttributeType attr, void* value) {
  infinirtError_t error = infinirtSuccess;
  EngineDevice* d = find_device(device, &error);
  if (!d) return error;
  if (!value) return fail(infinirtErrorInvalidValue, "value is null; it must point at a uint64_t");
  if (attr != infinirtGraphMemAttrUsedMemHigh && attr != infinirtGraphMemAttrReservedMemHigh) {
    return fail(infinirtErrorInvalidValue, "attr %d cannot be set; only the high marks (1 and 3) can, to 0",
                static_cast<int>(attr));
  }
  if (*static_cast<uint64_t*>(value) != 0) {
    return fail(infinirtErrorInvalidValue, "value is %llu; a high mark can only be reset, with 0",
                static_cast<unsigned long long>(*static_cast<uint64_t*>(value)));
  }
  reset_graph_memory_high(*d, attr);
  return infinirtSuccess;
}

}  // namespace engine_api

}  // namespace infinirt
