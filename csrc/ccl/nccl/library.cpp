#include "ccl/nccl/library.h"

#include <dlfcn.h>

#include <cstring>

#include "ccl/part.h"
#include "ccl/runtime.h"
#include "ccl/vendor_library.h"

namespace infiniccl::nccl {

namespace {

// Where NVIDIA's wheels put it.
constexpr const char* kPlaces[] = {"/nvidia/nccl/lib/"};
constexpr LibrarySearch kSearch = {"INFINICCL_NCCL_LIBRARY", "libnccl.so.2", kPlaces, RTLD_NOW | RTLD_LOCAL};

struct Loaded {
  Functions functions{};
  bool usable = false;
  std::string problem;
};

Loaded load() {
  Loaded loaded;
  std::string tried;
  void* handle = open_library(kSearch, &tried);
  if (!handle) {
    loaded.problem = format_text(
        "NCCL was not found (%s); `pip install nvidia-nccl-cu13` brings it, INFINICCL_NCCL_LIBRARY names a copy",
        tried.c_str());
    return loaded;
  }
  Functions& f = loaded.functions;
  const LibraryFunction wanted[] = {
#define WANTED(name) {"nccl" #name, reinterpret_cast<void**>(&f.name)}
      WANTED(GetVersion),  WANTED(GetUniqueId), WANTED(CommInitAll),       WANTED(CommInitRank),
      WANTED(CommDestroy), WANTED(CommAbort),   WANTED(CommGetAsyncError), WANTED(GetErrorString),
      WANTED(GroupStart),  WANTED(GroupEnd),    WANTED(AllReduce),         WANTED(Broadcast),
      WANTED(Reduce),      WANTED(AllGather),   WANTED(ReduceScatter),     WANTED(Send),
      WANTED(Recv),
#undef WANTED
  };
  if (const char* missing = bind_functions(handle, wanted)) {
    loaded.problem = format_text("the NCCL library has no %s; 2.7 or later is needed", missing);
    return loaded;
  }
  loaded.usable = true;
  return loaded;
}

}  // namespace

const Functions* library(std::string* problem) {
  static const Loaded* loaded = new Loaded(load());
  if (loaded->usable) return &loaded->functions;
  *problem = loaded->problem;
  return nullptr;
}

std::string make_unique_id(infinicclUniqueId_t* id) {
  std::string problem;
  const Functions* nccl = library(&problem);
  if (!nccl) return problem;
  UniqueId theirs;
  const int error = nccl->GetUniqueId(&theirs);
  if (error != kSuccess) return format_text("ncclGetUniqueId: %s", nccl->GetErrorString(error));
  std::memcpy(id, &theirs, sizeof theirs);
  return "";
}

bool datatype(infiniDtype_t dtype, bool reduces, int* number, size_t* each) {
  *each = 1;
  switch (dtype) {
    case INFINI_DTYPE_I8:
      return *number = 0, true;
    case INFINI_DTYPE_U8:
    case INFINI_DTYPE_BYTE:
      return *number = 1, true;
    case INFINI_DTYPE_I32:
      return *number = 2, true;
    case INFINI_DTYPE_U32:
      return *number = 3, true;
    case INFINI_DTYPE_I64:
      return *number = 4, true;
    case INFINI_DTYPE_U64:
      return *number = 5, true;
    case INFINI_DTYPE_F16:
      return *number = 6, true;
    case INFINI_DTYPE_F32:
      return *number = 7, true;
    case INFINI_DTYPE_F64:
      return *number = 8, true;
    case INFINI_DTYPE_BF16:
      return *number = 9, true;
    default:
      if (reduces) return false;
      *number = 1;  // moved as bytes
      *each = dtype_size(dtype);
      return true;
  }
}

}  // namespace infiniccl::nccl
