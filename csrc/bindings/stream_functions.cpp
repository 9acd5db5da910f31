// Functions about streams whose Python shape does not follow from the C one.
#include "bindings/convert.h"
#include "bindings/functions.h"
#include "bindings/gil.h"
#include "bindings/host_call.h"
#include "bindings/result.h"

namespace infinirt::python {
namespace {

struct CaptureInfo {
  infinirtStreamCaptureStatus status{};
  unsigned long long id = 0;
  infinirtGraph_t graph = nullptr;
  const infinirtGraphNode_t* dependencies = nullptr;
  const infinirtGraphEdgeData* edges = nullptr;
  size_t count = 0;
};

PyObject* status_of(const CaptureInfo& info) {
  return enum_member(enum_types[kEnum_infinirtStreamCaptureStatus], info.status);
}

PyObject* edges_of(const CaptureInfo& info) {
  if (info.edges != nullptr) return from_structs(kStruct_infinirtGraphEdgeData, info.edges, info.count);
  // No annotations at all is the same as all of them plain.
  Ref list(PyList_New(static_cast<Py_ssize_t>(info.count)));
  if (!list) return nullptr;
  for (size_t i = 0; i < info.count; ++i) {
    PyObject* edge = from_struct(kStruct_infinirtGraphEdgeData, infinirtGraphEdgeData{});
    if (edge == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), edge);
  }
  return list.release();
}

}  // namespace

PyObject* py_infinirtStreamGetCaptureInfo(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtStreamGetCaptureInfo, 1)
  infinirtStream_t stream = nullptr;
  if (!to_handle(args[0], kHandle_infinirtStream_t, "stream", &stream)) return nullptr;
  CaptureInfo info;
  // The arrays are valid until the next call on the capture, so they are copied before anybody else can run.
  const infinirtError_t error = quick_call([&] {
    return api.infinirtStreamGetCaptureInfo_v3(stream, &info.status, &info.id, &info.graph, &info.dependencies,
                                               &info.edges, &info.count);
  });
  if (error != infinirtSuccess) return failure(error, 6);
  return success(status_of(info), PyLong_FromUnsignedLongLong(info.id),
                 from_handle(kHandle_infinirtGraph_t, info.graph),
                 from_handles(kHandle_infinirtGraphNode_t, info.dependencies, info.count), edges_of(info),
                 PyLong_FromSize_t(info.count));
}

PyObject* py_infinirtStreamGetCaptureInfo_v3(PyObject* module, PyObject* const* args, Py_ssize_t given,
                                             PyObject* keyword_names) {
  return py_infinirtStreamGetCaptureInfo(module, args, given, keyword_names);
}

PyObject* py_infinirtStreamGetCaptureInfo_v2(PyObject*, PyObject* const* args, Py_ssize_t given,
                                             PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtStreamGetCaptureInfo_v2, 1)
  infinirtStream_t stream = nullptr;
  if (!to_handle(args[0], kHandle_infinirtStream_t, "stream", &stream)) return nullptr;
  CaptureInfo info;
  const infinirtError_t error = quick_call([&] {
    return api.infinirtStreamGetCaptureInfo(stream, &info.status, &info.id, &info.graph, &info.dependencies,
                                            &info.count);
  });
  if (error != infinirtSuccess) return failure(error, 5);
  return success(
      status_of(info), PyLong_FromUnsignedLongLong(info.id), from_handle(kHandle_infinirtGraph_t, info.graph),
      from_handles(kHandle_infinirtGraphNode_t, info.dependencies, info.count), PyLong_FromSize_t(info.count));
}

PyObject* py_infinirtThreadExchangeStreamCaptureMode(PyObject*, PyObject* const* args, Py_ssize_t given,
                                                     PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtThreadExchangeStreamCaptureMode, 1)
  infinirtStreamCaptureMode mode{};
  if (!to_enum(args[0], "mode", &mode)) return nullptr;
  const infinirtError_t error = quick_call([&] { return api.infinirtThreadExchangeStreamCaptureMode(&mode); });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(enum_member(enum_types[kEnum_infinirtStreamCaptureMode], mode));
}

PyObject* py_infinirtStreamAddCallback(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtStreamAddCallback, 4)
  infinirtStream_t stream = nullptr;
  unsigned int flags = 0;
  if (!to_handle(args[0], kHandle_infinirtStream_t, "stream", &stream) || !to_uint(args[3], "flags", &flags)) {
    return nullptr;
  }
  HostCall* call = new_host_call(args[1], args[2], "callback", "userData");
  if (call == nullptr) return nullptr;
  // A null callback is the library's to refuse.
  const bool null = call->callable == nullptr && call->function == nullptr;
  const infinirtStreamCallback_t callback = null ? nullptr : infinirt_python_stream_callback;
  const infinirtError_t error =
      quick_call([&] { return api.infinirtStreamAddCallback(stream, callback, call, flags); });
  if (error != infinirtSuccess) discard_host_call(call);
  return status(error);
}

PyObject* py_infinirtLaunchHostFunc(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtLaunchHostFunc, 3)
  infinirtStream_t stream = nullptr;
  if (!to_handle(args[0], kHandle_infinirtStream_t, "stream", &stream)) return nullptr;
  HostCall* call = new_host_call(args[1], args[2], "fn", "userData");
  if (call == nullptr) return nullptr;
  const bool null = call->callable == nullptr && call->function == nullptr;
  const infinirtError_t error = quick_call([&] {
    return api.infinirtXLaunchHostFunc(stream, null ? nullptr : infinirt_python_run, call, infinirt_python_free);
  });
  return status(error);  // after a failure, too, the library has called infinirt_python_free
}

PyObject* py_infinirtXLaunchHostFunc(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtXLaunchHostFunc, 4)
  infinirtStream_t stream = nullptr;
  if (!to_handle(args[0], kHandle_infinirtStream_t, "stream", &stream)) return nullptr;
  PyObject* argument = args[2] == nullptr ? Py_None : args[2];
  std::uintptr_t destroy_address = 0;
  bool destroy_is_python = false;
  if (args[3] != nullptr && !to_function(args[3], "destroy", &destroy_address, &destroy_is_python)) return nullptr;
  HostCall* call = new_host_call(args[1], argument, "fn", "userData");
  if (call == nullptr) return nullptr;
  const bool mixed = destroy_is_python ? call->callable == nullptr : destroy_address != 0 && call->callable != nullptr;
  if (mixed) {
    discard_host_call(call);
    PyErr_SetString(PyExc_TypeError, "destroy: fn and destroy must both be Python functions or both be C functions");
    return nullptr;
  }
  if (destroy_is_python) call->destroy = new_reference(args[3]);
  call->destroy_function = reinterpret_cast<void*>(destroy_address);
  const bool null = call->callable == nullptr && call->function == nullptr;
  const infinirtError_t error = quick_call([&] {
    return api.infinirtXLaunchHostFunc(stream, null ? nullptr : infinirt_python_run, call, infinirt_python_free);
  });
  return status(error);  // after a failure, too, the library has called infinirt_python_free
}

}  // namespace infinirt::python
