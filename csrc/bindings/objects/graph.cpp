#include "bindings/objects/graph.h"

#include <utility>

#include "bindings/objects/arguments.h"
#include "bindings/objects/deferred.h"

namespace infinirt::objects {

namespace {

// GraphBase and GraphExecBase share this; the handle's type follows from the class.
struct GraphObject {
  PyObject ob_base;
  void* handle;
  bool is_exec;
  std::atomic<bool> closed;
  PyObject* last_stream;  // where an executable graph was launched last; owned
};

GraphObject* as_graph(PyObject* object) { return reinterpret_cast<GraphObject*>(object); }

Outcome destroy_graph(void* data) {
  return rt.GraphDestroy(static_cast<infinirtGraph_t>(data)) == infinirtErrorNotPermitted ? Outcome::NotNow
                                                                                          : Outcome::Done;
}

Outcome destroy_exec(void* data) {
  if (is_in_host_function()) return Outcome::NotNow;
  const RelaxedCaptureScope relaxed(nullptr);
  return rt.GraphExecDestroy(static_cast<infinirtGraphExec_t>(data)) == infinirtErrorNotPermitted ? Outcome::NotNow
                                                                                                  : Outcome::Done;
}

// Destroying drops what the graph kept alive, so Python code may run inside; the interpreter's lock must be free for it.
void destroy(GraphObject* graph) {
  without_gil(true, [&] { return do_or_defer(graph->is_exec ? destroy_exec : destroy_graph, graph->handle), 0; });
}

bool check_open(const GraphObject* graph) {
  if (!graph->closed.load(std::memory_order_relaxed)) [[likely]]
    return true;
  raise_error(infinirtErrorInvalidValue, "the graph was closed");
  return false;
}

PyObject* make(PyTypeObject* type, PyObject* args, bool is_exec) {
  PyObject* number = nullptr;
  if (!PyArg_ParseTuple(args, "O", &number)) return nullptr;
  void* handle = nullptr;
  if (!read_pointer(number, "handle", &handle)) return nullptr;
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  as_graph(made)->handle = handle;
  as_graph(made)->is_exec = is_exec;
  return made;
}

PyObject* graph_new(PyTypeObject* type, PyObject* args, PyObject*) { return make(type, args, false); }
PyObject* exec_new(PyTypeObject* type, PyObject* args, PyObject*) { return make(type, args, true); }

void dealloc(PyObject* self) {
  if (!as_graph(self)->closed.load()) destroy(as_graph(self));
  Py_XDECREF(as_graph(self)->last_stream);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* close(PyObject* self, PyObject*) {
  drain_deferred();
  if (!as_graph(self)->closed.exchange(true)) destroy(as_graph(self));
  Py_RETURN_NONE;
}

PyObject* get_handle(PyObject* self, void*) {
  return check_open(as_graph(self)) ? PyLong_FromVoidPtr(as_graph(self)->handle) : nullptr;
}
PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(as_graph(self)->closed.load()); }

template <auto Function>
PyObject* on(PyObject* self, PyObject* given) {
  auto* graph = as_graph(self);
  drain_deferred();
  if (!check_open(graph)) return nullptr;
  python::Ref reference(stream_from(given, nullptr));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  // Released: with an inline schedule the nodes run inside this call, and host nodes need the lock.
  const infinirtError_t error = without_gil(true, [&] {
    return on_stream(
        stream, [&](infinirtStream_t s) { return (rt.*Function)(static_cast<infinirtGraphExec_t>(graph->handle), s); });
  });
  if (error != infinirtSuccess) return raise_error(error);
  PyObject* previous = reference.release();
  exclusively(self, [&] { std::swap(graph->last_stream, previous); });
  Py_XDECREF(previous);
  Py_RETURN_NONE;
}

PyObject* get_last_stream(PyObject* self, void*) {
  PyObject* stream = field_of(self, as_graph(self)->last_stream);
  return stream ? stream : Py_NewRef(Py_None);
}

PyGetSetDef graph_properties[] = {{"handle", get_handle, nullptr, "The infinirtGraph_t as an integer.", nullptr},
                                  {"is_closed", get_closed, nullptr, "Whether close() was called.", nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyGetSetDef exec_properties[] = {{"handle", get_handle, nullptr, "The infinirtGraphExec_t as an integer.", nullptr},
                                 {"is_closed", get_closed, nullptr, "Whether close() was called.", nullptr},
                                 {"_last_stream", get_last_stream, nullptr, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef graph_methods[] = {{"close", close, METH_NOARGS,
                                "close($self, /)\n--\n\nGives the graph back; executable graphs made from it live on."},
                               {nullptr, nullptr, 0, nullptr}};

PyMethodDef exec_methods[] = {
    {"launch", on<&Library::GraphLaunch>, METH_O,
     "launch($self, stream, /)\n--\n\nRuns the graph in stream order, after its own earlier launches."},
    {"upload", on<&Library::GraphUpload>, METH_O,
     "upload($self, stream, /)\n--\n\nPrepares the graph on the device, in stream order, so that its first launch is "
     "as fast as later\n"
     "ones."},
    {"close", close, METH_NOARGS,
     "close($self, /)\n--\n\nGives the executable graph back; a launch under way completes."},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot graph_slots[] = {{Py_tp_new, reinterpret_cast<void*>(graph_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                             {Py_tp_methods, graph_methods},
                             {Py_tp_getset, graph_properties},
                             {Py_tp_doc, const_cast<char*>("What graphs are made of; use Graph.")},
                             {0, nullptr}};

PyType_Slot exec_slots[] = {{Py_tp_new, reinterpret_cast<void*>(exec_new)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                            {Py_tp_methods, exec_methods},
                            {Py_tp_getset, exec_properties},
                            {Py_tp_doc, const_cast<char*>("What executable graphs are made of; use GraphExec.")},
                            {0, nullptr}};

PyType_Spec graph_spec = {"infinirt._core.GraphBase", sizeof(GraphObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          graph_slots};
PyType_Spec exec_spec = {"infinirt._core.GraphExecBase", sizeof(GraphObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, exec_slots};

}  // namespace

void destroy_graph_exec(infinirtGraphExec_t exec) {
  without_gil(true, [&] { return do_or_defer(destroy_exec, exec), 0; });
}

PyTypeObject* make_graph_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&graph_spec)); }
PyTypeObject* make_graph_exec_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&exec_spec)); }

}  // namespace infinirt::objects
