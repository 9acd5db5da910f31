// NCCL, loaded at run time. Its declarations are written anew: values and shapes have not changed since 2.7, nor has the size of an id.
#pragma once

#include <cstddef>
#include <string>

#include "infiniccl.h"

namespace infiniccl::nccl {

using Comm = void*;
struct UniqueId {
  char internal[128];
};
static_assert(sizeof(UniqueId) == sizeof(infinicclUniqueId_t));

inline constexpr int kSuccess = 0, kInProgress = 7;

struct Functions {
  int (*GetVersion)(int*);
  int (*GetUniqueId)(UniqueId*);
  int (*CommInitAll)(Comm*, int, const int*);
  int (*CommInitRank)(Comm*, int, UniqueId, int);
  int (*CommDestroy)(Comm);
  int (*CommAbort)(Comm);
  int (*CommGetAsyncError)(Comm, int*);
  const char* (*GetErrorString)(int);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*AllReduce)(const void*, void*, size_t, int, int, Comm, void* stream);
  int (*Broadcast)(const void*, void*, size_t, int, int root, Comm, void* stream);
  int (*Reduce)(const void*, void*, size_t, int, int, int root, Comm, void* stream);
  int (*AllGather)(const void*, void*, size_t, int, Comm, void* stream);
  int (*ReduceScatter)(const void*, void*, size_t, int, int, Comm, void* stream);
  int (*Send)(const void*, size_t, int, int peer, Comm, void* stream);
  int (*Recv)(void*, size_t, int, int peer, Comm, void* stream);
};

// Null with a message in *problem. Looked for once: INFINICCL_NCCL_LIBRARY, a copy that the process has, NVIDIA's wheels, the system.
const Functions* library(std::string* problem);

// "" or what went wrong.
std::string make_unique_id(infinicclUniqueId_t* id);

// The number of an element type there, and how many such elements one of ours is; false: it has none to reduce.
bool datatype(infiniDtype_t dtype, bool reduces, int* number, size_t* each);

}  // namespace infiniccl::nccl
