// Functions about graphs whose Python shape does not follow from the C one: lists of nodes and edges, user objects.
#include "bindings/arrays.h"
#include "bindings/functions.h"
#include "bindings/gil.h"
#include "bindings/host_call.h"
#include "bindings/result.h"

namespace infinirt::python {
namespace {

// (object, how many) -> arrays with room for so many; C writes how many there are.
template <class H>
bool object_and_count(PyObject* const* args, int type, const char* const* names, H* object, size_t* count) {
  return to_handle(args[0], type, names[0], object) && (args[1] == nullptr || to_size(args[1], names[1], count));
}

template <class H, class Get>
PyObject* list_nodes(const Signature& signature, int type, Get get, PyObject* const* args, Py_ssize_t given,
                     PyObject* keyword_names) {
  INFINIRT_BIND(signature, 2)
  H object = nullptr;
  size_t count = 0;
  Array<infinirtGraphNode_t> nodes;
  if (!object_and_count(args, type, signature.names, &object, &count) || !nodes.resize(count)) return nullptr;
  const size_t room = count;
  const infinirtError_t error = quick_call([&] { return get(object, nodes.get(), &count); });
  if (error != infinirtSuccess) return failure(error, 2);
  return success(from_handles(kHandle_infinirtGraphNode_t, nodes.get(), room), PyLong_FromSize_t(count));
}

template <class Get>
PyObject* list_neighbours(const Signature& signature, Get get, PyObject* const* args, Py_ssize_t given,
                          PyObject* keyword_names) {
  INFINIRT_BIND(signature, 2)
  infinirtGraphNode_t node = nullptr;
  size_t count = 0;
  Array<infinirtGraphNode_t> nodes;
  Array<infinirtGraphEdgeData> edges;
  if (!object_and_count(args, kHandle_infinirtGraphNode_t, signature.names, &node, &count) || !nodes.resize(count) ||
      !edges.resize(count)) {
    return nullptr;
  }
  const size_t room = count;
  const infinirtError_t error = quick_call([&] { return get(node, nodes.get(), edges.get(), &count); });
  if (error != infinirtSuccess) return failure(error, 3);
  return success(from_handles(kHandle_infinirtGraphNode_t, nodes.get(), room),
                 from_structs(kStruct_infinirtGraphEdgeData, edges.get(), room), PyLong_FromSize_t(count));
}

}  // namespace

PyObject* py_infinirtGraphGetNodes(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  return list_nodes<infinirtGraph_t>(signature_infinirtGraphGetNodes, kHandle_infinirtGraph_t,
                                     api.infinirtGraphGetNodes, args, given, keyword_names);
}

PyObject* py_infinirtGraphGetRootNodes(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  return list_nodes<infinirtGraph_t>(signature_infinirtGraphGetRootNodes, kHandle_infinirtGraph_t,
                                     api.infinirtGraphGetRootNodes, args, given, keyword_names);
}

PyObject* py_infinirtGraphGetEdges(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtGraphGetEdges, 2)
  infinirtGraph_t graph = nullptr;
  size_t count = 0;
  Array<infinirtGraphNode_t> from;
  Array<infinirtGraphNode_t> to;
  Array<infinirtGraphEdgeData> edges;
  if (!object_and_count(args, kHandle_infinirtGraph_t, names_infinirtGraphGetEdges, &graph, &count) ||
      !from.resize(count) || !to.resize(count) || !edges.resize(count)) {
    return nullptr;
  }
  const size_t room = count;
  const infinirtError_t error =
      quick_call([&] { return api.infinirtGraphGetEdges_v2(graph, from.get(), to.get(), edges.get(), &count); });
  if (error != infinirtSuccess) return failure(error, 4);
  return success(from_handles(kHandle_infinirtGraphNode_t, from.get(), room),
                 from_handles(kHandle_infinirtGraphNode_t, to.get(), room),
                 from_structs(kStruct_infinirtGraphEdgeData, edges.get(), room), PyLong_FromSize_t(count));
}

PyObject* py_infinirtGraphGetEdges_v2(PyObject* module, PyObject* const* args, Py_ssize_t given,
                                      PyObject* keyword_names) {
  return py_infinirtGraphGetEdges(module, args, given, keyword_names);
}

PyObject* py_infinirtGraphNodeGetDependencies(PyObject*, PyObject* const* args, Py_ssize_t given,
                                              PyObject* keyword_names) {
  return list_neighbours(signature_infinirtGraphNodeGetDependencies, api.infinirtGraphNodeGetDependencies_v2, args,
                         given, keyword_names);
}

PyObject* py_infinirtGraphNodeGetDependencies_v2(PyObject* module, PyObject* const* args, Py_ssize_t given,
                                                 PyObject* keyword_names) {
  return py_infinirtGraphNodeGetDependencies(module, args, given, keyword_names);
}

PyObject* py_infinirtGraphNodeGetDependentNodes(PyObject*, PyObject* const* args, Py_ssize_t given,
                                                PyObject* keyword_names) {
  return list_neighbours(signature_infinirtGraphNodeGetDependentNodes, api.infinirtGraphNodeGetDependentNodes_v2, args,
                         given, keyword_names);
}

PyObject* py_infinirtGraphNodeGetDependentNodes_v2(PyObject* module, PyObject* const* args, Py_ssize_t given,
                                                   PyObject* keyword_names) {
  return py_infinirtGraphNodeGetDependentNodes(module, args, given, keyword_names);
}

PyObject* py_infinirtUserObjectCreate(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtUserObjectCreate, 4)
  unsigned int references = 0;
  unsigned int flags = 0;
  if (!to_uint(args[2], "initialRefcount", &references) || !to_uint(args[3], "flags", &flags)) return nullptr;
  HostCall* call = new_host_call(args[1], args[0], "destroy", "ptr");
  if (call == nullptr) return nullptr;
  const bool null = call->callable == nullptr && call->function == nullptr;
  infinirtUserObject_t object = nullptr;
  const infinirtError_t error = quick_call([&] {
    return api.infinirtUserObjectCreate(&object, call, null ? nullptr : infinirt_python_run_once, references, flags);
  });
  if (error != infinirtSuccess) {
    discard_host_call(call);
    return failure(error, 1);
  }
  return success(from_handle(kHandle_infinirtUserObject_t, object));
}

}  // namespace infinirt::python
