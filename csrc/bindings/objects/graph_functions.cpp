// Functions that capture, build and update graphs.
#include <vector>

#include "bindings/objects/bind.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/capture.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/functions.h"
#include "bindings/objects/graph.h"
#include "bindings/objects/kernel_args.h"

namespace infinirt::objects {

namespace {

using L = Library;
using Graph = In<infinirtGraph_t>;
using Node = Out<infinirtGraphNode_t>;
using Nodes = Handles<infinirtGraphNode_t>;

// For PyArg_ParseTuple, whose own "K" takes any number and keeps what fits.
int size_argument(PyObject* object, void* size) { return read_size(object, "a size", static_cast<size_t*>(size)); }
int pointer_argument(PyObject* object, void* pointer) {
  return read_pointer(object, "a handle or address", static_cast<void**>(pointer));
}

PyObject* begin_capture(PyObject*, PyObject* args) {
  PyObject* given = nullptr;
  int mode = 0;
  if (!PyArg_ParseTuple(args, "Oi", &given, &mode)) return nullptr;
  drain_deferred();
  python::Ref reference(stream_from(given, nullptr));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  const infinirtError_t error = without_gil(true, [&] {
    return on_stream(stream, [&](infinirtStream_t s) {
      return rt.StreamBeginCapture(s, static_cast<enum infinirtStreamCaptureMode>(mode));
    });
  });
  if (error == infinirtSuccess) captures_under_way.fetch_add(1);
  return none_or_raise(error);
}

// The handle of the graph; raises when the capture was broken. Either way it is over.
PyObject* end_capture(PyObject*, PyObject* given) {
  // A stream that was closed meanwhile still exists: its end waits for the capture's.
  python::Ref reference(is_stream(given) ? Py_NewRef(given) : stream_from(given, nullptr));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  infinirtGraph_t graph = nullptr;
  const infinirtError_t error = without_gil(
      true, [&] { return on_stream(stream, [&](infinirtStream_t s) { return rt.StreamEndCapture(s, &graph); }); });
  captures_under_way.fetch_sub(1);
  PyObject* result = error == infinirtSuccess ? PyLong_FromVoidPtr(graph) : raise_error(error);
  if (result) drain_deferred();
  return result;
}

PyObject* embed_graph(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *handle = nullptr;
  void* child = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &given, &handle) || !read_pointer(handle, "graph", &child)) return nullptr;
  python::Ref reference(stream_from(given, nullptr));
  if (!reference) return nullptr;
  return none_or_raise(on_stream(reinterpret_cast<StreamObject*>(reference.get()), [&](infinirtStream_t s) {
    return embed_in_capture(s, static_cast<infinirtGraph_t>(child));
  }));
}

// (status, id, graph): 0 nothing is captured, 1 a capture is active, 2 it was broken.
PyObject* capture_info(PyObject*, PyObject* given) {
  python::Ref reference(stream_from(given, nullptr));
  if (!reference) return nullptr;
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  unsigned long long id = 0;
  infinirtGraph_t graph = nullptr;
  const infinirtError_t error = on_stream(reinterpret_cast<StreamObject*>(reference.get()), [&](infinirtStream_t s) {
    return rt.StreamGetCaptureInfo_v2(s, &status, &id, &graph, nullptr, nullptr);
  });
  if (error != infinirtSuccess) return raise_error(error);
  return Py_BuildValue("(iKK)", static_cast<int>(status), id,
                       static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(graph)));
}

PyObject* graph_keep(PyObject*, PyObject* args) {
  void* graph = nullptr;
  PyObject* object = nullptr;
  if (!PyArg_ParseTuple(args, "O&O", pointer_argument, &graph, &object)) return nullptr;
  if (is_buffer(object)) whole(reinterpret_cast<BufferObject*>(object))->in_graphs.store(true);
  return none_or_raise(graph_keeps(static_cast<infinirtGraph_t>(graph), Py_NewRef(object), drop_object));
}

// Calls add(dependencies, count, &node) for functions whose parameters are structs.
template <class Add>
PyObject* add_node(PyObject* dependencies, Add add) {
  Nodes nodes;
  if (!nodes.parse(dependencies)) return nullptr;
  infinirtGraphNode_t node = nullptr;
  const auto [array, count] = nodes.pass();
  const infinirtGraphNode_t* first = array;
  const size_t number = count;
  const infinirtError_t error = without_gil(true, [&] { return add(first, number, &node); });
  return error == infinirtSuccess ? PyLong_FromVoidPtr(node) : raise_error(error);
}

PyObject* graph_add_fill(PyObject*, PyObject* args) {
  void *graph = nullptr, *pointer = nullptr;
  size_t pitch = 0, width = 0, height = 0;
  unsigned value = 0, element = 0;
  PyObject* dependencies = nullptr;
  if (!PyArg_ParseTuple(args, "O&OO&IIO&O&O&", pointer_argument, &graph, &dependencies, pointer_argument, &pointer,
                        &value, &element, size_argument, &width, size_argument, &height, size_argument, &pitch))
    return nullptr;
  infinirtMemsetParams params{};
  params.dst = pointer;
  params.value = value;
  params.elementSize = element;
  params.width = width;
  params.height = height;
  params.pitch = pitch;
  return add_node(dependencies, [&](const infinirtGraphNode_t* after, size_t count, infinirtGraphNode_t* node) {
    return rt.GraphAddMemsetNode(node, static_cast<infinirtGraph_t>(graph), after, count, &params);
  });
}

PyObject* graph_add_host(PyObject*, PyObject* const* args, Py_ssize_t count) {
  void* graph = nullptr;
  if (count < 3)
    return PyErr_Format(PyExc_TypeError, "graph_add_host() takes a graph, dependencies, a function and its arguments");
  if (!read_pointer(args[0], "graph", &graph)) return nullptr;
  BoundCall* call = bind_call(args[2], args + 3, count - 3, nullptr);
  if (call == nullptr) return nullptr;
  const auto handle = static_cast<infinirtGraph_t>(graph);
  if (auto error = graph_keeps(handle, call, drop_bound_call)) return raise_error(error);
  infinirtHostNodeParams params{};
  params.fn = run_bound_call;
  params.userData = call;
  return add_node(args[1], [&](const infinirtGraphNode_t* after, size_t number, infinirtGraphNode_t* node) {
    return rt.GraphAddHostNode(node, handle, after, number, &params);
  });
}

PyObject* graph_add_kernel(PyObject*, PyObject* args) {
  void* graph = nullptr;
  PyObject *dependencies = nullptr, *given_config = nullptr, *given_kernel = nullptr, *values = nullptr;
  if (!PyArg_ParseTuple(args, "O&OOOO!", pointer_argument, &graph, &dependencies, &given_config, &given_kernel,
                        &PyTuple_Type, &values)) {
    return nullptr;
  }
  const LaunchShape* given_shape = shape_from(given_config);
  const KernelObject* kernel = given_shape ? kernel_from(given_kernel) : nullptr;
  if (kernel == nullptr) return nullptr;
  python::Ref layout(layout_of(kernel));
  KernelArguments arguments;
  if (!arguments.pack(layout.get(), PySequence_Fast_ITEMS(values), PyTuple_GET_SIZE(values))) return nullptr;
  const LaunchShape& shape = *given_shape;
  infinirtKernelNodeParams params{};
  params.func = kernel->address;
  params.gridDim = shape.grid;
  params.blockDim = shape.block;
  params.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
  params.kernelParams = arguments.pointers();
  const auto handle = static_cast<infinirtGraph_t>(graph);
  python::Ref made(
      add_node(dependencies, [&](const infinirtGraphNode_t* after, size_t number, infinirtGraphNode_t* node) {
        if (auto error = rt.GraphAddKernelNode(node, handle, after, number, &params)) return error;
        infinirtLaunchAttribute attributes[2] = {};
        for (unsigned i = 0, found = shape.attributes(attributes); i < found; ++i) {
          if (auto error = rt.GraphKernelNodeSetAttribute(*node, attributes[i].id, &attributes[i].val)) {
            rt.GraphDestroyNode(*node);
            return error;
          }
        }
        return infinirtSuccess;
      }));
  if (!made) return nullptr;
  if (auto error = arguments.keep(handle)) return raise_error(error);
  return made.release();
}

// (node, address)
PyObject* graph_add_alloc(PyObject*, PyObject* args) {
  void* graph = nullptr;
  size_t size = 0;
  PyObject *dependencies = nullptr, *given = nullptr;
  if (!PyArg_ParseTuple(args, "O&OOO&", pointer_argument, &graph, &dependencies, &given, size_argument, &size))
    return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  infinirtMemAllocNodeParams params{};
  params.poolProps.allocType = infinirtMemAllocationTypePinned;
  params.poolProps.location.type = infinirtMemLocationTypeDevice;
  params.poolProps.location.id = device->ordinal;
  params.bytesize = size;
  PyObject* node =
      add_node(dependencies, [&](const infinirtGraphNode_t* after, size_t number, infinirtGraphNode_t* out) {
        return rt.GraphAddMemAllocNode(out, static_cast<infinirtGraph_t>(graph), after, number, &params);
      });
  if (node == nullptr) return nullptr;
  return Py_BuildValue("(NK)", node, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(params.dptr)));
}

PyObject* graph_nodes(PyObject*, PyObject* number) {
  void* handle = nullptr;
  if (!read_pointer(number, "graph", &handle)) return nullptr;
  const auto graph = static_cast<infinirtGraph_t>(handle);
  size_t count = 0;
  if (auto error = rt.GraphGetNodes(graph, nullptr, &count)) return raise_error(error);
  std::vector<infinirtGraphNode_t> nodes(count);
  if (count) {
    if (auto error = rt.GraphGetNodes(graph, nodes.data(), &count)) return raise_error(error);
  }
  python::Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; list && i < count; ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), PyLong_FromVoidPtr(nodes[i]));
  return PyErr_Occurred() ? nullptr : list.release();
}

PyObject* graph_edges(PyObject*, PyObject* number) {
  void* handle = nullptr;
  if (!read_pointer(number, "graph", &handle)) return nullptr;
  const auto graph = static_cast<infinirtGraph_t>(handle);
  size_t count = 0;
  if (auto error = rt.GraphGetEdges(graph, nullptr, nullptr, &count)) return raise_error(error);
  std::vector<infinirtGraphNode_t> from(count), to(count);
  if (count) {
    if (auto error = rt.GraphGetEdges(graph, from.data(), to.data(), &count)) return raise_error(error);
  }
  python::Ref list(PyList_New(0));
  for (size_t i = 0; list && i < count; ++i) {
    python::Ref pair(Py_BuildValue("(NN)", PyLong_FromVoidPtr(from[i]), PyLong_FromVoidPtr(to[i])));
    if (!pair || PyList_Append(list.get(), pair.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* graph_exec_update(PyObject*, PyObject* args) {
  void *exec = nullptr, *graph = nullptr;
  if (!PyArg_ParseTuple(args, "O&O&", pointer_argument, &exec, pointer_argument, &graph)) return nullptr;
  infinirtGraphExecUpdateResultInfo info{};
  return none_or_raise(without_gil(true, [&] {
    return rt.GraphExecUpdate(static_cast<infinirtGraphExec_t>(exec), static_cast<infinirtGraph_t>(graph), &info);
  }));
}

}  // namespace

infinirtError_t embed_in_capture(infinirtStream_t stream, infinirtGraph_t child) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  infinirtGraph_t graph = nullptr;
  const infinirtGraphNode_t* before = nullptr;
  size_t count = 0;
  if (auto error = rt.StreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, &before, &count)) return error;
  if (status != infinirtStreamCaptureStatusActive) return infinirtErrorIllegalState;
  infinirtGraphNode_t node = nullptr;
  if (auto error = rt.GraphAddChildGraphNode(&node, graph, before, count, child)) return error;
  return rt.StreamUpdateCaptureDependencies(stream, &node, 1, infinirtStreamSetCaptureDependencies);
}

PyMethodDef graph_functions[] = {
    {"begin_capture", begin_capture, METH_VARARGS, nullptr},
    {"end_capture", end_capture, METH_O, nullptr},
    {"embed_graph", embed_graph, METH_VARARGS, nullptr},
    {"capture_info", capture_info, METH_O, nullptr},
    {"graph_keep", graph_keep, METH_VARARGS, nullptr},
    {"graph_add_fill", graph_add_fill, METH_VARARGS, nullptr},
    {"graph_add_kernel", graph_add_kernel, METH_VARARGS, nullptr},
    {"graph_add_alloc", graph_add_alloc, METH_VARARGS, nullptr},
    {"graph_nodes", graph_nodes, METH_O, nullptr},
    {"graph_edges", graph_edges, METH_O, nullptr},
    {"graph_exec_update", graph_exec_update, METH_VARARGS, nullptr},
    entry("graph_add_host", graph_add_host),
    entry("graph_create", bound_on<&L::GraphCreate, Out<infinirtGraph_t>, Constant<0u>>),
    entry("graph_clone", bound<&L::GraphClone, Out<infinirtGraph_t>, Graph>),
    entry("graph_add_empty", bound<&L::GraphAddEmptyNode, Node, Graph, Nodes>),
    entry("graph_add_copy", bound<&L::GraphAddMemcpyNode1D, Node, Graph, Nodes, In<void*>, In<void*>, In<size_t>,
                                  Constant<infinirtMemcpyDefault>>),
    entry("graph_add_child", bound<&L::GraphAddChildGraphNode, Node, Graph, Nodes, Graph>),
    entry("graph_add_event_record", bound<&L::GraphAddEventRecordNode, Node, Graph, Nodes, In<infinirtEvent_t>>),
    entry("graph_add_event_wait", bound<&L::GraphAddEventWaitNode, Node, Graph, Nodes, In<infinirtEvent_t>>),
    entry("graph_add_free", bound<&L::GraphAddMemFreeNode, Node, Graph, Nodes, In<void*>>),
    entry("graph_node_type", bound<&L::GraphNodeGetType, In<infinirtGraphNode_t>, Out<enum infinirtGraphNodeType>>),
    entry("graph_instantiate",
          bound<&L::GraphInstantiateWithFlags, Out<infinirtGraphExec_t>, Graph, In<unsigned long long>>),
    entry("graph_dot_print", bound<&L::GraphDebugDotPrint, Graph, In<const char*>, In<unsigned>>),
    entry("graph_node_set_enabled",
          bound<&L::GraphNodeSetEnabled, In<infinirtGraphExec_t>, In<infinirtGraphNode_t>, In<unsigned>>),
    entry("graph_node_get_enabled",
          bound<&L::GraphNodeGetEnabled, In<infinirtGraphExec_t>, In<infinirtGraphNode_t>, Out<unsigned>>),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace infinirt::objects
