#include "selection.h"

#include <dlfcn.h>

#include <cstring>

namespace infinirt::v0 {

namespace {

constexpr const char* kTypeNames[] = {"cpu",      "nvidia", "cambricon", "ascend", "metax", "moore",
                                      "iluvatar", "kunlun", "hygon",     "qy",     "ali"};
static_assert(sizeof(kTypeNames) / sizeof(*kTypeNames) == INFINI_DEVICE_TYPE_COUNT);

thread_local infiniDevice_t t_type = INFINI_DEVICE_CPU;

using TypeOfThread = infiniDevice_t* (*)();

}  // namespace

// The library lies in the v0 root under two names, its own and the one programs load and link by. A wheel cannot hold
// symbolic links, so these are two files, and one process can come to load both: then both use the selection of the
// one that was loaded first, which is the one the loader finds under the common SONAME.
extern "C" __export infiniDevice_t* infinirtV0TypeOfThread() { return &t_type; }

infiniDevice_t& current_type() {
  static const TypeOfThread shared = [] {
    void* first = dlopen(INFINIRT_V0_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    void* function = first ? dlvsym(first, "infinirtV0TypeOfThread", "INFINIRT_0_PRIVATE") : nullptr;
    return function ? reinterpret_cast<TypeOfThread>(function) : &infinirtV0TypeOfThread;
  }();
  return *shared();
}

// For the operator library of this generation: the answer is the same whichever copy is asked.
extern "C" __export infiniDevice_t infinirtV0CurrentType() { return current_type(); }

const char* name_of(int type) { return type >= 0 && type < INFINI_DEVICE_TYPE_COUNT ? kTypeNames[type] : nullptr; }

DeviceScope::DeviceScope(int type) {
  const char* name = name_of(type);
  const char* now = nullptr;
  if (!name) {
    status_ = INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
  } else if (const core::Error error = core::get_device_type(&now)) {
    status_ = status_of(error);
  } else if (std::strcmp(now, name) != 0) {
    status_ = status_of(core::set_device_type(name));
    int devices = 0;
    if (status_ == INFINI_STATUS_SUCCESS) {
      previous_ = now;
    } else if (!core::find_device_type(name, &devices)) {
      status_ = INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
    }
  }
}

DeviceScope::~DeviceScope() {
  if (previous_) core::set_device_type(previous_);
}

core::Error settle(infinirtStream_t stream) {
  bool capturing = false;
  if (const core::Error error = core::stream_is_capturing(stream, &capturing)) return error;
  return capturing ? core::kSuccess : core::stream_settle(stream);
}

}  // namespace infinirt::v0
