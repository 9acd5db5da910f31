#include "ccl/mpi/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "ccl/runtime.h"

namespace infiniccl::mpi {

namespace {

constexpr char kName[] = "libmpi_abi.so.1";

struct Loaded {
  Functions functions{};
  bool usable = false;
  std::string problem;
};

// Where it may be: a file that is named, one that the process has, beside Python's packages (where the mpich wheel puts it), the system's.
void* open_library(std::string* tried) {
  if (const char* named = std::getenv("INFINICCL_MPI_LIBRARY"); named && *named) {
    void* found = dlopen(named, RTLD_NOW | RTLD_GLOBAL);
    if (!found) *tried = dlerror();
    return found;
  }
  if (void* there = dlopen(kName, RTLD_NOW | RTLD_NOLOAD)) return there;
  for (int i = 0; const char* folder = infinirtXGetLibraryFolder(i); ++i) {
    for (const char* below : {"/../../", "/mpich.libs/", "/../../lib/"}) {
      const std::string path = std::string(folder) + below + kName;
      if (void* found = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return found;
    }
  }
  void* found = dlopen(kName, RTLD_NOW | RTLD_GLOBAL);
  if (!found) *tried = dlerror();
  return found;
}

void finalize() {
  std::string unused;
  const Functions* mpi = library(&unused);
  int over = 0;
  if (mpi && mpi->Finalized(&over) == kSuccess && !over) mpi->Finalize();
}

Loaded load() {
  Loaded loaded;
  std::string tried;
  void* handle = open_library(&tried);
  if (!handle) {
    loaded.problem = format_text(
        "no MPI with the standard ABI was found (%s); `pip install mpich` brings one, INFINICCL_MPI_LIBRARY names one",
        tried.c_str());
    return loaded;
  }
  Functions& f = loaded.functions;
  const struct {
    const char* name;
    void** place;
  } wanted[] = {
#define WANTED(name) {"MPI_" #name, reinterpret_cast<void**>(&f.name)}
      WANTED(Init_thread),
      WANTED(Initialized),
      WANTED(Finalized),
      WANTED(Finalize),
      WANTED(Comm_dup),
      WANTED(Comm_idup),
      WANTED(Comm_rank),
      WANTED(Comm_size),
      WANTED(Comm_set_errhandler),
      WANTED(Error_string),
      WANTED(Test),
      WANTED(Ibarrier),
      WANTED(Isend_c),
      WANTED(Irecv_c),
      WANTED(Ibcast_c),
      WANTED(Iallreduce_c),
      WANTED(Ireduce_c),
      WANTED(Ireduce_scatter_c),
      WANTED(Ireduce_scatter_block_c),
      WANTED(Iallgather_c),
      WANTED(Iallgatherv_c),
      WANTED(Ialltoall_c),
      WANTED(Igather_c),
      WANTED(Iscatter_c),
#undef WANTED
  };
  for (const auto& each : wanted) {
    *each.place = dlsym(handle, each.name);
    if (*each.place) continue;
    loaded.problem = format_text("the MPI library has no %s; one of MPI 5.0 is needed", each.name);
    return loaded;
  }
  int begun = 0, over = 0, provided = 0;
  f.Finalized(&over);
  f.Initialized(&begun);
  if (over) {
    loaded.problem = "MPI has been finalised in this process";
    return loaded;
  }
  if (!begun) {
    if (f.Init_thread(nullptr, nullptr, kThreadMultiple, &provided) != kSuccess) {
      loaded.problem = "MPI could not be initialised; is the program started by MPI's launcher?";
      return loaded;
    }
    std::atexit(finalize);
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

std::mutex& call_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::string error_text(const Functions& mpi, int error) {
  char text[1024] = "";
  int length = 0;
  std::lock_guard guard(call_mutex());
  mpi.Error_string(error, text, &length);
  return text;
}

}  // namespace infiniccl::mpi
