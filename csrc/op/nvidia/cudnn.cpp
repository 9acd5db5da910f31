#include "op/nvidia/cudnn.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "op/nvidia/library_places.h"
#include "op/runtime.h"

namespace infiniop::nvidia {

namespace {

bool load(const std::string& path, Cudnn& library) {
  void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) return false;
  bool complete = true;
#define X(result, name, parameters)                                                      \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(opened, "cudnn" #name)); \
  complete = complete && library.name;
  INFINIOP_CUDNN_FUNCTIONS(X)
#undef X
  if (!complete || library.GetVersion() < 90000) {
    dlclose(opened);
    return false;
  }
  library.path = path;
  return true;
}

const Cudnn* search() {
  if (const char* wanted = std::getenv("INFINIOP_CUDNN"); wanted && std::strcmp(wanted, "0") == 0) return nullptr;
  auto* library = new Cudnn;
  for (const std::string& path : places_of({"INFINIOP_CUDNN_LIBRARY", "libcudnn.so", "cudnn", {"9"}})) {
    if (load(path, *library)) return library;
  }
  delete library;
  return nullptr;
}

}  // namespace

infinirtError_t Cudnn::check(DnnStatus status, const char* doing) const {
  if (status == 0) return infinirtSuccess;
  char text[512];
  std::snprintf(text, sizeof text, "cuDNN (%s), %s: %s (status %d)", path.c_str(), doing, GetErrorString(status),
                status);
  infinirtXSetLastError(infinirtErrorUnknown, text);
  return infinirtErrorUnknown;
}

const Cudnn* find_cudnn() {
  static const Cudnn* const found = search();
  return found;
}

DnnContext* find_dnn_context(const Cudnn& library) {
  static auto* const contexts = new std::map<int, DnnContext>;
  static auto* const mutex = new std::mutex;
  int device = 0;
  if (api().GetDevice(&device)) return nullptr;
  std::lock_guard guard(*mutex);
  DnnContext& context = (*contexts)[device];
  if (!context.handle) {
    // Starts the device, which the library takes from the thread.
    if (api().Free(nullptr)) return nullptr;
    if (library.Create(&context.handle) != 0) context.handle = nullptr;
  }
  return context.handle ? &context : nullptr;
}

}  // namespace infiniop::nvidia
