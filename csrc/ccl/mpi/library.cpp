#include "ccl/mpi/library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "ccl/runtime.h"
#include "ccl/vendor_library.h"

namespace infiniccl::mpi {

namespace {

// Where the mpich wheel puts it.
constexpr const char* kPlaces[] = {"/../../", "/mpich.libs/", "/../../lib/"};
constexpr LibrarySearch kSearch = {"INFINICCL_MPI_LIBRARY", "libmpi_abi.so.1", kPlaces, RTLD_NOW | RTLD_GLOBAL};

struct Loaded {
  Functions functions{};
  bool usable = false;
  std::string problem;
};

void finalize() {
  std::string unused;
  const Functions* mpi = library(&unused);
  int over = 0;
  if (mpi && mpi->Finalized(&over) == kSuccess && !over) mpi->Finalize();
}

Loaded load() {
  Loaded loaded;
  std::string tried;
  void* handle = open_library(kSearch, &tried);
  if (!handle) {
    loaded.problem = format_text(
        "no MPI with the standard ABI was found (%s); `pip install mpich` brings one, INFINICCL_MPI_LIBRARY names one",
        tried.c_str());
    return loaded;
  }
  Functions& f = loaded.functions;
  const LibraryFunction wanted[] = {
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
  if (const char* missing = bind_functions(handle, wanted)) {
    loaded.problem = format_text("the MPI library has no %s; one of MPI 5.0 is needed", missing);
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
