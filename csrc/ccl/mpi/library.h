// MPI through its standard ABI (MPI 5.0): one library name, fixed values of all constants, so nothing of MPI is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace infiniccl::mpi {

// Handles are pointers whose predefined values the standard fixes.
using Handle = void*;
using Count = int64_t;

inline Handle constant(uintptr_t value) { return reinterpret_cast<Handle>(value); }
inline constexpr int kSuccess = 0;
inline constexpr int kThreadMultiple = 4096;
inline constexpr uintptr_t kWorld = 0x101, kErrorsReturn = 0x143, kNoRequest = 0x180;
inline constexpr uintptr_t kSum = 0x21, kMin = 0x22, kMax = 0x23, kProd = 0x24, kAnd = 0x30, kOr = 0x31;
inline constexpr uintptr_t kByte = 0x247;
inline constexpr uintptr_t kInPlace = 1;

struct Functions {
  int (*Init_thread)(int*, char***, int, int*);
  int (*Initialized)(int*);
  int (*Finalized)(int*);
  int (*Finalize)();
  int (*Comm_dup)(Handle, Handle*);
  int (*Comm_idup)(Handle, Handle*, Handle*);
  int (*Comm_rank)(Handle, int*);
  int (*Comm_size)(Handle, int*);
  int (*Comm_set_errhandler)(Handle, Handle);
  int (*Error_string)(int, char*, int*);
  int (*Test)(Handle*, int*, void*);
  int (*Ibarrier)(Handle, Handle*);
  int (*Isend_c)(const void*, Count, Handle, int, int, Handle, Handle*);
  int (*Irecv_c)(void*, Count, Handle, int, int, Handle, Handle*);
  int (*Ibcast_c)(void*, Count, Handle, int, Handle, Handle*);
  int (*Iallreduce_c)(const void*, void*, Count, Handle, Handle, Handle, Handle*);
  int (*Ireduce_c)(const void*, void*, Count, Handle, Handle, int, Handle, Handle*);
  int (*Ireduce_scatter_c)(const void*, void*, const Count*, Handle, Handle, Handle, Handle*);
  int (*Ireduce_scatter_block_c)(const void*, void*, Count, Handle, Handle, Handle, Handle*);
  int (*Iallgather_c)(const void*, Count, Handle, void*, Count, Handle, Handle, Handle*);
  int (*Iallgatherv_c)(const void*, Count, Handle, void*, const Count*, const intptr_t*, Handle, Handle, Handle*);
  int (*Ialltoall_c)(const void*, Count, Handle, void*, Count, Handle, Handle, Handle*);
  int (*Igather_c)(const void*, Count, Handle, void*, Count, Handle, int, Handle, Handle*);
  int (*Iscatter_c)(const void*, Count, Handle, void*, Count, Handle, int, Handle, Handle*);
};

// Loads MPI and initialises it, once; null with a message in *problem.
const Functions* library(std::string* problem);

// Held around every call: not all MPI libraries let several threads in.
std::mutex& call_mutex();

std::string error_text(const Functions& mpi, int error);

}  // namespace infiniccl::mpi
