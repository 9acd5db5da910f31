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

PyObject* pack_shape(PyObject*, PyObject* args) {
  LaunchShape shape{};
  unsigned long long shared = 0;
  int cooperative = 0;
  if (!PyArg_ParseTuple(args, "IIIIIIKpIII", &shape.grid.x, &shape.grid.y, &shape.grid.z, &shape.block.x,
                        &shape.block.y, &shape.block.z, &shared, &cooperative, &shape.cluster.x, &shape.cluster.y,
                        &shape.cluster.z)) {
    return nullptr;
  }
  shape.shared_bytes = shared;
  shape.cooperative = cooperative != 0;
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&shape), sizeof shape);
}

bool read_shape(PyObject* packed, LaunchShape* shape) {
  if (!PyBytes_CheckExact(packed) || PyBytes_GET_SIZE(packed) != sizeof *shape) {
    PyErr_SetString(PyExc_TypeError, "the shape of a launch must come from pack_shape()");
    return false;
  }
  std::memcpy(shape, PyBytes_AS_STRING(packed), sizeof *shape);
  return true;
}

unsigned LaunchShape::attributes(infinirtLaunchAttribute (&list)[2]) const {
  unsigned count = 0;
  if (cooperative) {
    list[count].id = infinirtLaunchAttributeCooperative;
    list[count++].val.cooperative = 1;
  }
  if (cluster.x != 0) {
    list[count].id = infinirtLaunchAttributeClusterDimension;
    list[count].val.clusterDim.x = cluster.x;
    list[count].val.clusterDim.y = cluster.y;
    list[count++].val.clusterDim.z = cluster.z;
  }
  return count;
}

namespace {

infinirtError_t launch(const void* kernel, const LaunchShape& shape, void** arguments, infinirtStream_t stream) {
  infinirtLaunchAttribute attributes[2] = {};
  const unsigned count = shape.attributes(attributes);
  if (count == 0) return rt.LaunchKernel(kernel, shape.grid, shape.block, arguments, shape.shared_bytes, stream);
  infinirtLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return rt.LaunchKernelExC(&config, kernel, arguments);
}

}  // namespace

PyObject* launch_kernel(PyObject*, PyObject* const* args, Py_ssize_t count) {
  drain_deferred();
  if (count != 5) return PyErr_Format(PyExc_TypeError, "launch_kernel() takes 5 arguments (%zd given)", count);
  python::Ref reference(stream_from(args[0], nullptr));
  void* address = nullptr;
  LaunchShape shape{};
  if (!reference || !read_pointer(args[1], "kernel", &address) || !read_shape(args[2], &shape)) return nullptr;
  KernelArguments arguments;
  if (!arguments.pack(args[3], args[4])) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  infinirtError_t error = without_gil(stream->may_block, [&] {
    OnDevice guard(stream->device);  // kernels run on the current device only
    if (guard.error()) return guard.error();
    if (auto failed = arguments.wait_for_arguments(stream->handle)) return failed;
    return launch(address, shape, arguments.pointers(), stream->handle);
  });
  if (error == infinirtSuccess) error = arguments.keep(stream);
  return none_or_raise(error);
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
