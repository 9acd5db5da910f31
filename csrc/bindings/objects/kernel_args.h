// Arguments of kernels: Python values packed as a kernel's parameters.
#pragma once

#include <vector>

#include "bindings/objects/buffer.h"

namespace infinirt::objects {

/// Parameter types are characters of the `struct` module: P ? b B h H i I q Q f d. Returns the size, 0 for an unknown one.
size_t parameter_size(char code);

class KernelArguments {
 public:
  KernelArguments() = default;
  ~KernelArguments();
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  /// Converts the values. False with an exception set.
  bool pack(const char* codes, Py_ssize_t code_count, PyObject* values);

  /// As infinirtLaunchKernel expects them; valid as long as this object.
  void** pointers() { return pointers_.data(); }

  /// After the launch: what the kernel uses outlives it.
  infinirtError_t keep(StreamObject* stream);
  /// The same for a node of a graph.
  infinirtError_t keep(infinirtGraph_t graph);

 private:
  bool pack_pointer(PyObject* value, void** slot);

  std::vector<unsigned long long> storage_;
  std::vector<void*> pointers_;
  std::vector<PyObject*> kept_;  // owned
};

/// grid x, y, z, block x, y, z, bytes of shared memory, cooperative.
struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes;
  bool cooperative;
};
bool read_shape(PyObject* tuple, LaunchShape* shape);

/// launch_kernel(stream, address, shape, codes, args)
PyObject* launch_kernel(PyObject*, PyObject* const* args, Py_ssize_t count);
/// register_kernel(address, name, codes)
PyObject* register_kernel(PyObject*, PyObject* args);

}  // namespace infinirt::objects
