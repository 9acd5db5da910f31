// infinirtXRegisterBackend.
#include <cctype>
#include <cstring>
#include <mutex>

#include "backends/custom/custom_engine.h"

namespace infinirt::custom {

namespace {

bool is_good_name(const char* name) {
  if (!std::isalpha(static_cast<unsigned char>(*name)) || std::strlen(name) > 63) return false;
  for (; *name; ++name) {
    if (!std::isalnum(static_cast<unsigned char>(*name)) && *name != '-' && *name != '_') return false;
  }
  return true;
}

infinirtError_t check(const infinirtXBackend* given) {
  if (!given) return fail(infinirtErrorInvalidValue, "backend is null");
  if (given->structSize != sizeof *given) {
    return fail(infinirtErrorInvalidValue, "backend->structSize is %zu; sizeof(infinirtXBackend), %zu, was expected",
                given->structSize, sizeof *given);
  }
  if (!given->type || !is_good_name(given->type)) {
    return fail(infinirtErrorInvalidValue,
                "backend->type '%s' is no name for a device type: letters, digits, '-' and '_' were expected, a letter "
                "first and at most 63 in all",
                given->type ? given->type : "(null)");
  }
  const struct {
    const char* name;
    bool there;
  } required[] = {{"allocate", given->allocate != nullptr},
                  {"release", given->release != nullptr},
                  {"write", given->write != nullptr},
                  {"read", given->read != nullptr}};
  for (const auto& [name, there] : required) {
    if (!there) return fail(infinirtErrorInvalidValue, "backend->%s is null, but required", name);
  }
  constexpr int kMostDevices = 64;
  if (given->deviceCount < 0 || given->deviceCount > kMostDevices) {
    return fail(infinirtErrorInvalidValue, "backend->deviceCount is %d; 0 to %d were expected", given->deviceCount,
                kMostDevices);
  }
  return infinirtSuccess;
}

infinirtError_t register_custom(const infinirtXBackend* given) {
  if (auto error = barred()) return error;
  if (auto error = check(given)) return error;
  backend_count();  // what is built in comes first
  static auto* const mutex = new Mutex;
  std::lock_guard guard(*mutex);
  if (find_backend(given->type))
    return fail(infinirtErrorInvalidValue, "device type '%s' exists already; choose another name", given->type);
  if (backend_count() == kMaxBackends)
    return fail(infinirtErrorInvalidValue, "there are %d device types already, which is all there can be",
                kMaxBackends);
  auto* engine = new CustomEngine(*given);  // for the life of the process, as all backends
  if (register_backend(&engine->backend)) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "device type '%s' was registered by another thread meanwhile", given->type);
}

}  // namespace

}  // namespace infinirt::custom

extern "C" infinirtError_t infinirtXRegisterBackend(const infinirtXBackend* backend) {
  return infinirt::finish_error(__func__, infinirt::custom::register_custom(backend));
}
