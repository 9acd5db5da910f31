// Kernels and libraries of kernels.
#include <cstring>

#include "bindings/arrays.h"
#include "bindings/functions.h"
#include "bindings/gil.h"
#include "bindings/kernel_params.h"
#include "bindings/result.h"

namespace infinirt::python {
namespace {

using LaunchFunction = infinirtError_t (*)(const void*, dim3, dim3, void**, size_t, infinirtStream_t);

// A kernel is named by its address; a kernel handle is one too.
bool to_kernel(PyObject* object, void** kernel) {
  if (Py_IS_TYPE(object, handle_types[kHandle_infinirtKernel_t])) {
    *kernel = reinterpret_cast<void*>(*reinterpret_cast<HandleObject*>(object)->place);
    return true;
  }
  unsigned long long number = 0;
  if (PyLong_CheckExact(object)) {
    if (!to_u64(object, "func", &number)) return false;
    *kernel = reinterpret_cast<void*>(number);
    return true;
  }
  std::uintptr_t address = 0;
  bool is_python = false;
  if (!to_function(object, "func", &address, &is_python)) return false;
  if (is_python) {
    PyErr_Format(PyExc_TypeError, "func: expected a kernel, an address or a ctypes function, not %s",
                 Py_TYPE(object)->tp_name);
    return false;
  }
  *kernel = reinterpret_cast<void*>(address);
  return true;
}

// In line: the caches are cold after a launch, and one piece of code is fewer lines of them than two.
[[gnu::always_inline]] inline PyObject* launch(const Signature& signature, LaunchFunction function,
                                               PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature, 6)
  void* kernel = nullptr;
  dim3 grid;
  dim3 block;
  size_t shared = 0;
  infinirtStream_t stream = nullptr;
  if (!to_kernel(args[0], &kernel) || !to_dim3(args[1], "gridDim", &grid) || !to_dim3(args[2], "blockDim", &block) ||
      (args[4] != nullptr && !to_size(args[4], "sharedMem", &shared)) ||
      (args[5] != nullptr && !to_handle(args[5], kHandle_infinirtStream_t, "stream", &stream))) {
    return nullptr;
  }
  KernelParams params;
  if (!params.take(args[3], "args")) return nullptr;
  return status(quick_call([&] { return function(kernel, grid, block, params.get(), shared, stream); }));
}

// The value of an option travels inside the pointer, except for text and structs, whose address is meant.
bool to_option_value(PyObject* object, const char* what, PointerArgument* pointer, void** value) {
  if (PyFloat_Check(object)) {
    const auto number = static_cast<float>(PyFloat_AS_DOUBLE(object));
    std::uintptr_t bits = 0;
    std::memcpy(&bits, &number, sizeof number);
    *value = reinterpret_cast<void*>(bits);
    return true;
  }
  for (int i = 0; i < kStructCount; ++i) {
    if (is_struct(object, i)) {
      *value = struct_data(object);
      return true;
    }
  }
  if (!pointer->take(object, what)) return false;
  *value = pointer->get();
  return true;
}

template <class Option>
class Options {
 public:
  Options() = default;
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  ~Options() {
    for (size_t i = 0; i < pointers_.size(); ++i) delete pointers_[i];
  }

  bool take(PyObject* names, PyObject* values, PyObject* count, const char* what) {
    size_t index = 0;
    return to_enum_array(names, what, &names_) && to_uint(count, what, &count_) &&
           to_array(values, what, &pointers_,
                    [](PyObject*, PointerArgument** out) {
                      *out = new PointerArgument;
                      return true;
                    }) &&
           to_array(values, what, &values_,
                    [&](PyObject* item, void** out) { return to_option_value(item, what, pointers_[index++], out); }) &&
           names_.has(count_, what) && values_.has(count_, what);
  }
  Option* names() { return names_.get(); }
  void** values() { return values_.get(); }
  unsigned int count() const { return count_; }

 private:
  Array<Option> names_;
  Array<PointerArgument*> pointers_;
  Array<void*> values_;
  unsigned int count_ = 0;
};

}  // namespace

[[gnu::hot, gnu::aligned(64)]] PyObject* py_infinirtLaunchKernel(PyObject*, PyObject* const* args, Py_ssize_t given,
                                                                 PyObject* keyword_names) {
  return launch(signature_infinirtLaunchKernel, api.infinirtLaunchKernel, args, given, keyword_names);
}

PyObject* py_infinirtLaunchCooperativeKernel(PyObject*, PyObject* const* args, Py_ssize_t given,
                                             PyObject* keyword_names) {
  return launch(signature_infinirtLaunchCooperativeKernel, api.infinirtLaunchCooperativeKernel, args, given,
                keyword_names);
}

PyObject* py_infinirtLaunchKernelExC(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtLaunchKernelExC, 3)
  infinirtLaunchConfig_t* config = nullptr;
  void* kernel = nullptr;
  if (!to_struct_pointer(args[0], kStruct_infinirtLaunchConfig_t, "config", &config) || !to_kernel(args[1], &kernel)) {
    return nullptr;
  }
  KernelParams params;
  if (!params.take(args[2], "args")) return nullptr;
  return status(quick_call([&] { return api.infinirtLaunchKernelExC(config, kernel, params.get()); }));
}

PyObject* py_infinirtLibraryLoadData(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtLibraryLoadData, 7)
  PointerArgument code;
  Options<infinirtJitOption> jit;
  Options<infinirtLibraryOption> options;
  if (!code.take(args[0], "code") || !jit.take(args[1], args[2], args[3], "jitOptions") ||
      !options.take(args[4], args[5], args[6], "libraryOptions")) {
    return nullptr;
  }
  infinirtLibrary_t library = nullptr;
  const infinirtError_t error = blocking_call([&] {
    return api.infinirtLibraryLoadData(&library, code.get(), jit.names(), jit.values(), jit.count(), options.names(),
                                       options.values(), options.count());
  });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(from_handle(kHandle_infinirtLibrary_t, library));
}

PyObject* py_infinirtLibraryLoadFromFile(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtLibraryLoadFromFile, 7)
  const char* file = nullptr;
  Options<infinirtJitOption> jit;
  Options<infinirtLibraryOption> options;
  if (!to_text(args[0], "fileName", &file) || !jit.take(args[1], args[2], args[3], "jitOptions") ||
      !options.take(args[4], args[5], args[6], "libraryOptions")) {
    return nullptr;
  }
  infinirtLibrary_t library = nullptr;
  const infinirtError_t error = blocking_call([&] {
    return api.infinirtLibraryLoadFromFile(&library, file, jit.names(), jit.values(), jit.count(), options.names(),
                                           options.values(), options.count());
  });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(from_handle(kHandle_infinirtLibrary_t, library));
}

PyObject* py_infinirtLibraryEnumerateKernels(PyObject*, PyObject* const* args, Py_ssize_t given,
                                             PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtLibraryEnumerateKernels, 2)
  unsigned int count = 0;
  infinirtLibrary_t library = nullptr;
  Array<infinirtKernel_t> kernels;
  if (!to_uint(args[0], "numKernels", &count) || !to_handle(args[1], kHandle_infinirtLibrary_t, "lib", &library) ||
      !kernels.resize(count)) {
    return nullptr;
  }
  const infinirtError_t error =
      quick_call([&] { return api.infinirtLibraryEnumerateKernels(kernels.get(), count, library); });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(from_handles(kHandle_infinirtKernel_t, kernels.get(), count));
}

}  // namespace infinirt::python
