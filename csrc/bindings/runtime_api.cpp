#include "bindings/runtime_api.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace infinirt::python {

RuntimeApi api;

namespace {

bool look_up(const char* name, const char* suffix, void* slot) {
  const std::string symbol = std::string(name) + suffix;
  void* address = infinirtXGetProcAddress(symbol.c_str());
  if (address == nullptr) {
    PyErr_Format(PyExc_ImportError,
                 "libinfinirt.so.1 has no %s: this extension was built for another version of the library; install "
                 "infinirt again, so that both come from one build",
                 symbol.c_str());
    return false;
  }
  std::memcpy(slot, &address, sizeof address);
  return true;
}

}  // namespace

bool load_runtime_api() {
  const char* wish = std::getenv("INFINIRT_PYTHON_PER_THREAD_DEFAULT_STREAM");
  const bool per_thread = wish != nullptr && std::strcmp(wish, "1") == 0;
#define INFINIRT_FLAT_API(name, per_thread_suffix) \
  if (!look_up(#name, per_thread ? per_thread_suffix : "", &api.name)) return false;
#define INFINIRT_FLAT_SECTION_API
#include "infinirt/generated/flat.inc"
#undef INFINIRT_FLAT_SECTION_API
#undef INFINIRT_FLAT_API
  return true;
}

}  // namespace infinirt::python
