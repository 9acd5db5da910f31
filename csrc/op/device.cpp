#include "op/device.h"

#include <cstring>
#include <new>
#include <utility>

#include "infiniop/handle.h"
#include "op/generation.h"
#include "op/runtime.h"

namespace infiniop {

// Each defined in the folder of its device type.
const Device& cpu_device();
const Device& nvidia_device();

namespace {

const Device* const* devices(size_t* count) {
  static const Device* const all[] = {&cpu_device(), &nvidia_device()};
  *count = sizeof all / sizeof *all;
  return all;
}

}  // namespace

const Device* find_device(const char* type) {
  size_t count = 0;
  const Device* const* all = devices(&count);
  for (size_t i = 0; i < count; ++i) {
    if (std::strcmp(all[i]->type(), type) == 0) return all[i];
  }
  return nullptr;
}

const Device* find_device(int number) {
  size_t count = 0;
  const Device* const* all = devices(&count);
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<int>(all[i]->number()) == number) return all[i];
  }
  return nullptr;
}

std::string list_of_devices() {
  size_t count = 0;
  const Device* const* all = devices(&count);
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i ? ", " : "") + std::string(all[i]->type());
  return text;
}

infiniStatus_t check_current_device(const char* function, const Handle& handle) {
  const char* type = nullptr;
  int id = 0;
  if (auto error = infinirtXGetDeviceType(&type)) return fail_as_runtime(function, error);
  if (auto error = api().GetDevice(&id)) return fail_as_runtime(function, error);
  if (std::strcmp(type, handle.device_type) == 0 && id == handle.device_id) return INFINI_STATUS_SUCCESS;
  return fail(
      function, INFINI_STATUS_BAD_PARAM,
      "the handle was made for %s:%d, but the thread's current device is %s:%d; make it current again, or make a "
      "handle for this one",
      handle.device_type, handle.device_id, type, id);
}

infiniStatus_t check_stream(const char* function, infinirtStream_t stream, const char* device_type, int device_id) {
  const char* type = nullptr;
  int id = 0;
  if (auto error = infinirtXStreamGetDevice(stream, &type, &id)) return fail_as_runtime(function, error);
  if (id == device_id && (type == device_type || std::strcmp(type, device_type) == 0)) return INFINI_STATUS_SUCCESS;
  return fail(function, INFINI_STATUS_BAD_PARAM,
              "stream %p is of %s:%d, but the descriptor was made for %s:%d; the predefined streams are those of the "
              "thread's current device",
              static_cast<void*>(stream), type, id, device_type, device_id);
}

}  // namespace infiniop

using namespace infiniop;

infiniStatus_t infiniopCreateHandle(infiniopHandle_t* handle_ptr) try {
  if (!handle_ptr) return fail(__func__, INFINI_STATUS_NULL_POINTER, "handle_ptr is null; the handle goes there");
  const CallScope scope(__func__);
  if (scope.status()) return scope.status();
  const char* type = nullptr;
  int id = 0;
  if (auto error = infinirtXGetDeviceType(&type)) return fail_as_runtime(__func__, error);
  const Device* device = find_device(type);
  if (!device) {
    return fail(__func__, INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
                "there are no operators for device type '%s', only for: %s; choose one with infinirtXSetDeviceType or "
                "INFINIRT_DEVICE",
                type, list_of_devices().c_str());
  }
  if (auto error = api().GetDevice(&id)) return fail_as_runtime(__func__, error);
  auto handle = std::make_unique<Handle>();
  handle->device = device;
  handle->device_type = type;
  handle->device_id = id;
  void* pointer = publish(Kind::Handle, std::move(handle));
  if (!pointer) return fail(__func__, INFINI_STATUS_INTERNAL_ERROR, "no room for another handle");
  *handle_ptr = static_cast<infiniopHandle_t>(pointer);
  return INFINI_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return fail("infiniopCreateHandle", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle) {
  if (withdraw(Kind::Handle, handle)) return INFINI_STATUS_SUCCESS;
  return fail(__func__, handle ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
              "handle %p is not a handle, or was destroyed", static_cast<void*>(handle));
}
