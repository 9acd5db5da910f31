// Arguments of kernels: Python values packed as a kernel's parameters.
#pragma once

#include "bindings/objects/buffer.h"
#include "bindings/objects/inline_vector.h"
#include "bindings/objects/kernel.h"

namespace infinirt::objects {

/// Parameter types are characters of the `struct` module: P ? b B h H i I q Q f d. Returns the size, 0 for an unknown one.
size_t parameter_size(char code);

/// Arguments of one launch. How they are laid out is known in one of three ways:
/// - bytes, one character per parameter: the types are known, and values are converted to them;
/// - a tuple of sizes: values that have a type must be that long; a plain number takes the size that is wanted;
/// - None (here null): nothing is known; a plain int takes 8 bytes, a float is a double.
class KernelArguments {
 public:
  KernelArguments() = default;
  ~KernelArguments();
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  /// Converts the values. False with an exception set.
  bool pack(PyObject* layout, PyObject* const* values, Py_ssize_t count);

  /// As infinirtLaunchKernel expects them; valid as long as this object.
  void** pointers() { return pointers_.data(); }

  /// Before the launch: `stream` waits for the streams that arguments name as those of their pending work.
  infinirtError_t wait_for_arguments(infinirtStream_t stream) const;

  /// After the launch: what the kernel uses outlives it.
  infinirtError_t keep(StreamObject* stream);
  /// The same for a node of a graph.
  infinirtError_t keep(infinirtGraph_t graph);

 private:
  static constexpr Py_ssize_t kUnknown = -1;

  bool check_count(Py_ssize_t expected, Py_ssize_t given) const;
  bool pack_typed(PyObject* value, char code, Py_ssize_t index);
  bool pack_sized(PyObject* value, Py_ssize_t size, Py_ssize_t index);
  bool pack_bytes(PyObject* value, Py_ssize_t size, Py_ssize_t index);
  bool pack_pointer(PyObject* value, Py_ssize_t index);
  bool pack_array_interface(PyObject* description, Py_ssize_t index, void** pointer);
  /// Appends an argument.
  void put(const void* data, size_t size);

  InlineVector<unsigned long long, 32> storage_;
  InlineVector<size_t, 16> starts_;  // of each argument in it
  InlineVector<void*, 16> pointers_;
  InlineVector<PyObject*, 16> kept_;  // owned
  InlineVector<infinirtStream_t, 4> pending_;  // streams on which arguments are still being computed
};

/// launch(stream, config, kernel, *args)
PyObject* launch(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names);
/// register_kernel(address, name, codes)
PyObject* register_kernel(PyObject*, PyObject* args);

}  // namespace infinirt::objects
