#include "bindings/objects/kernel_args.h"

#include <cstring>
#include <string>
#include <utility>

#include "bindings/objects/arguments.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/capture.h"
#include "bindings/objects/deferred.h"

namespace infinirt::objects {

KernelArguments::~KernelArguments() {
  for (PyObject* object : kept_) Py_XDECREF(object);
}

infinirtError_t KernelArguments::keep(infinirtGraph_t graph) {
  infinirtError_t error = infinirtSuccess;
  for (PyObject*& object : kept_) {
    if (error != infinirtSuccess) break;
    if (is_buffer(object)) whole(reinterpret_cast<BufferObject*>(object))->in_graphs.store(true);
    error = graph_keeps(graph, std::exchange(object, nullptr), drop_object);
  }
  return error;
}

infinirtError_t KernelArguments::keep(StreamObject* stream) {
  if (kept_.empty()) return infinirtSuccess;
  CaptureState capture;
  infinirtError_t error = look_at_capture(stream, &capture);
  for (PyObject*& object : kept_) {
    if (error != infinirtSuccess) break;
    if (is_buffer(object)) {
      error = note_use(reinterpret_cast<BufferObject*>(object), stream, capture);
      continue;
    }
    PyObject* kept = std::exchange(object, nullptr);
    error = capture.active ? graph_keeps(capture.graph, kept, drop_object) : on_stream(stream, [&](infinirtStream_t s) {
      return infinirtXLaunchHostFunc(s, run_nothing, kept, drop_object);
    });
  }
  return error;
}

infinirtError_t KernelArguments::wait_for_arguments(infinirtStream_t stream) const {
  for (const infinirtStream_t other : pending_) {
    if (other == stream) continue;
    infinirtEvent_t event = nullptr;
    if (auto error = rt.EventCreateWithFlags(&event, infinirtEventDisableTiming)) return error;
    infinirtError_t error = rt.EventRecord(event, other);
    if (error == infinirtSuccess) error = rt.StreamWaitEvent(stream, event, 0);
    rt.EventDestroy(event);  // it lives until the wait is over
    if (error != infinirtSuccess) return error;
  }
  return infinirtSuccess;
}

namespace {

infinirtError_t launch_shaped(const void* kernel, const LaunchShape& shape, void** arguments, infinirtStream_t stream) {
  if (!shape.cooperative && shape.cluster.x == 0) [[likely]]
    return rt.LaunchKernel(kernel, shape.grid, shape.block, arguments, shape.shared_bytes, stream);
  infinirtLaunchAttribute attributes[2] = {};
  infinirtLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = shape.attributes(attributes);
  return rt.LaunchKernelExC(&config, kernel, arguments);
}

bool run(PyObject* given_stream, PyObject* given_config, PyObject* given_kernel, PyObject* const* values,
         Py_ssize_t count) {
  python::Ref reference(stream_from(given_stream, nullptr));
  if (!reference) return false;
  const LaunchShape* shape = shape_from(given_config);
  const KernelObject* kernel = shape ? kernel_from(given_kernel) : nullptr;
  if (kernel == nullptr) return false;
  python::Ref layout(layout_of(kernel));
  KernelArguments arguments;
  if (!arguments.pack(layout.get(), values, count)) return false;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  infinirtError_t error = without_gil(stream->may_block, [&] {
    OnDevice guard(stream->device);  // kernels run on the current device only
    if (guard.error()) return guard.error();
    if (auto failed = arguments.wait_for_arguments(stream->handle)) return failed;
    return launch_shaped(kernel->address, *shape, arguments.pointers(), stream->handle);
  });
  if (error == infinirtSuccess) error = arguments.keep(stream);
  if (error != infinirtSuccess) raise_error(error);
  return error == infinirtSuccess;
}

}  // namespace

PyObject* launch(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  drain_deferred();
  static const Signature signature("launch", {"stream", "config", "kernel"}, 3);
  PyObject* given[3] = {};
  const Py_ssize_t first = count < 3 ? count : 3;
  const bool is_plain = count >= 3 && names == nullptr;
  if (!is_plain && !signature.read(args, first, names, given)) return nullptr;
  PyObject* const* fixed = is_plain ? args : given;
  for (int i = 0; i < 3; ++i) {
    if (fixed[i] == nullptr) {
      return PyErr_Format(PyExc_TypeError, "launch() needs a stream, a config and a kernel (%zd given)", first);
    }
  }
  if (!run(fixed[0], fixed[1], fixed[2], args + first, count - first)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* register_kernel(PyObject*, PyObject* args) {
  unsigned long long address = 0;
  const char *name = nullptr, *codes = nullptr;
  Py_ssize_t count = 0;
  if (!PyArg_ParseTuple(args, "Ksy#", &address, &name, &codes, &count)) return nullptr;
  std::vector<size_t> sizes(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) sizes[static_cast<size_t>(i)] = parameter_size(codes[i]);
  infinirtXKernelInfo info{};
  info.name = name;
  info.function = reinterpret_cast<infinirtXKernelFn>(address);
  info.paramSizes = sizes.data();
  info.paramCount = sizes.size();
  return none_or_raise(infinirtXRegisterKernel(&info));
}

}  // namespace infinirt::objects
