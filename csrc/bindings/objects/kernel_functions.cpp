// Functions that compile kernels, load them and ask about them.
#include <string>
#include <vector>

#include "bindings/objects/bind.h"
#include "bindings/objects/functions.h"

namespace infinirt::objects {

namespace {

using L = Library;
using Function = In<const void*>;

// A sequence of texts as C wants it; the texts live as long as the sequence.
struct Texts {
  python::Ref items;
  std::vector<const char*> pointers;
  bool parse(PyObject* sequence) {
    items = python::Ref(PySequence_Fast(sequence, "a sequence of texts was expected"));
    if (!items) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      pointers.push_back(PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items.get(), i)));
      if (pointers.back() == nullptr) return false;
    }
    return true;
  }
};

// What a compiler says need not be valid text: file names come from the user.
PyObject* text_of(const char* text) {
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace");
}

// The lowered names as a dict; null with an exception set.
PyObject* lowered_names(infinirtXCompiled_t compiled, const Texts& expressions) {
  python::Ref names(PyDict_New());
  for (const char* expression : expressions.pointers) {
    const char* symbol = nullptr;
    if (auto error = infinirtXCompiledGetLoweredName(&symbol, compiled, expression)) return raise_error(error);
    python::Ref text(PyUnicode_FromString(symbol));
    if (!names || !text || PyDict_SetItemString(names.get(), expression, text.get()) < 0) return nullptr;
  }
  return names.release();
}

// compile(source, name, architecture or None, code type, options, name expressions, header names, headers)
// -> (code, log, lowered names, compiler, whether it was cached, message); the code is None, and the message not, when the
// source is wrong.
PyObject* compile(PyObject*, PyObject* args) {
  infinirtXCompileInfo info{};
  info.structSize = sizeof info;
  int code_type = 0;
  PyObject* sequences[4] = {};
  if (!PyArg_ParseTuple(args, "szziOOOO", &info.source, &info.name, &info.architecture, &code_type, &sequences[0],
                        &sequences[1], &sequences[2], &sequences[3])) {
    return nullptr;
  }
  info.codeType = static_cast<infinirtXCodeType>(code_type);
  Texts options, expressions, header_names, headers;
  if (!options.parse(sequences[0]) || !expressions.parse(sequences[1]) || !header_names.parse(sequences[2]) ||
      !headers.parse(sequences[3])) {
    return nullptr;
  }
  info.options = options.pointers.data();
  info.optionCount = options.pointers.size();
  info.nameExpressions = expressions.pointers.data();
  info.nameExpressionCount = expressions.pointers.size();
  info.headerNames = header_names.pointers.data();
  info.headers = headers.pointers.data();
  info.headerCount = headers.pointers.size();
  infinirtXCompiled_t compiled = nullptr;
  const infinirtError_t error = without_gil(true, [&] { return infinirtXCompile(&compiled, &info); });
  if (compiled == nullptr) return raise_error(error);
  const std::string message = error == infinirtSuccess ? "" : infinirtXGetLastErrorMessage();
  if (error != infinirtSuccess) rt.GetLastError();
  infinirtXCompiledInfo result{};
  infinirtXCompiledGetInfo(&result, compiled);
  python::Ref names(error == infinirtSuccess ? lowered_names(compiled, expressions) : PyDict_New());
  PyObject* made = nullptr;
  if (names) {
    made = Py_BuildValue("(y#NONNN)", static_cast<const char*>(result.code), static_cast<Py_ssize_t>(result.codeSize),
                         text_of(result.log), names.get(), text_of(result.compiler), PyBool_FromLong(result.fromCache),
                         error == infinirtSuccess ? Py_NewRef(Py_None) : text_of(message.c_str()));
  }
  infinirtXCompiledDestroy(compiled);
  return made;
}

// load_library(device, code, is_text) -> handle. What a driver says about text that it cannot translate is in the message.
PyObject* load_library(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *code = nullptr;
  int is_text = 0;
  if (!PyArg_ParseTuple(args, "OSp", &given, &code, &is_text)) return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  char log[2048] = {};
  enum infinirtJitOption options[] = {infinirtJitErrorLogBuffer, infinirtJitErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
  infinirtLibrary_t library = nullptr;
  const infinirtError_t error = without_gil(true, [&] {
    OnDevice guard(device);
    if (guard.error()) return guard.error();
    return rt.LibraryLoadData(&library, PyBytes_AS_STRING(code), is_text ? options : nullptr,
                              is_text ? values : nullptr, is_text ? 2 : 0, nullptr, nullptr, 0);
  });
  if (error == infinirtSuccess) return PyLong_FromVoidPtr(library);
  if (log[0] == '\0') return raise_error(error);
  rt.GetLastError();
  return raise_error(error, "the code cannot be loaded: %s", log);
}

// kernel_parameters(device, kernel) -> [(offset, size), ...], or None where the device type cannot tell.
PyObject* kernel_parameters(PyObject*, PyObject* args) {
  PyObject* given = nullptr;
  unsigned long long kernel = 0;
  if (!PyArg_ParseTuple(args, "OK", &given, &kernel)) return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  std::vector<std::pair<size_t, size_t>> found;
  const infinirtError_t error = without_gil(true, [&] {
    OnDevice guard(device);
    if (guard.error()) return guard.error();
    for (;;) {
      size_t offset = 0, size = 0;
      const auto failed = rt.FuncGetParamInfo(reinterpret_cast<const void*>(kernel), found.size(), &offset, &size);
      if (failed != infinirtSuccess) return failed;
      found.emplace_back(offset, size);
    }
  });
  if (error != infinirtErrorInvalidValue && error != infinirtErrorNotSupported) return raise_error(error);
  rt.GetLastError();  // it was the way to find the end
  if (error == infinirtErrorNotSupported) Py_RETURN_NONE;
  python::Ref list(PyList_New(0));
  for (const auto& [offset, size] : found) {
    python::Ref row(Py_BuildValue("(nn)", static_cast<Py_ssize_t>(offset), static_cast<Py_ssize_t>(size)));
    if (!list || !row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

// kernel_attributes(device, kernel) -> the fields of infinirtFuncAttributes, in order, without the reserved ones.
PyObject* kernel_attributes(PyObject*, PyObject* args) {
  PyObject* given = nullptr;
  unsigned long long kernel = 0;
  if (!PyArg_ParseTuple(args, "OK", &given, &kernel)) return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  infinirtFuncAttributes a{};
  const infinirtError_t error = without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : rt.FuncGetAttributes(&a, reinterpret_cast<const void*>(kernel));
  });
  if (error != infinirtSuccess) return raise_error(error);
  return Py_BuildValue("(KKKiiiiiiiiiiiii)", static_cast<unsigned long long>(a.sharedSizeBytes),
                       static_cast<unsigned long long>(a.constSizeBytes),
                       static_cast<unsigned long long>(a.localSizeBytes), a.maxThreadsPerBlock, a.numRegs, a.ptxVersion,
                       a.binaryVersion, a.cacheModeCA, a.maxDynamicSharedSizeBytes, a.preferredShmemCarveout,
                       a.clusterDimMustBeSet, a.requiredClusterWidth, a.requiredClusterHeight, a.requiredClusterDepth,
                       a.clusterSchedulingPolicyPreference, a.nonPortableClusterSizeAllowed);
}

}  // namespace

PyMethodDef kernel_functions[] = {
    {"compile", compile, METH_VARARGS, nullptr},
    {"load_library", load_library, METH_VARARGS, nullptr},
    {"kernel_parameters", kernel_parameters, METH_VARARGS, nullptr},
    {"kernel_attributes", kernel_attributes, METH_VARARGS, nullptr},
    entry("unload_library", bound_on<&L::LibraryUnload, In<infinirtLibrary_t>>),
    entry("library_kernel",
          bound_on<&L::LibraryGetKernel, Out<infinirtKernel_t>, In<infinirtLibrary_t>, In<const char*>>),
    entry("set_kernel_attribute", bound_on<&L::FuncSetAttribute, Function, In<enum infinirtFuncAttribute>, In<int>>),
    entry("max_active_blocks",
          bound_on<&L::OccupancyMaxActiveBlocksPerMultiprocessor, Out<int>, Function, In<int>, In<size_t>>),
    entry("available_shared_memory",
          bound_on<&L::OccupancyAvailableDynamicSMemPerBlock, Out<size_t>, Function, In<int>, In<int>>),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace infinirt::objects
