// Recorded graphs: segments, each one device graph where what it does can be captured.
#include "bindings/infinicore/optimise.h"
#include "bindings/infinicore/recording.h"

#include <structmember.h>

#include <mutex>
#include <new>
#include <utility>

namespace infinicore {

PyTypeObject* graph_class = nullptr;

namespace {

// Steps [first, last): one launch of `exec`, or, without one, one call each.
struct Segment {
  size_t first, last;
  infinirtGraphExec_t exec;
};

struct Graph {
  explicit Graph(Recorded given) : recorded(std::move(given)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    for (const Segment& segment : segments) {
      if (segment.exec) objects->graph_exec_destroy(segment.exec);
    }
  }

  Recorded recorded;
  std::vector<Segment> segments;
  unsigned long long runs = 0;
  unsigned long long shares = ~0ull;  // of the place, when `touches_shared` was found out
  bool touches_shared = false;
  std::recursive_mutex running;  // one run at a time; a Python function in a graph may run it again
};

struct GraphObject {
  PyObject ob_base;
  Graph* graph;
  PyObject* weak_references;
};

Graph* graph_of(PyObject* object) { return reinterpret_cast<GraphObject*>(object)->graph; }

// The operator cannot stand in a device graph, as opposed to: it is wrong.
bool means_not_capturable(infinirtError_t error) {
  return error == infinirtErrorNotSupported ||
         (error >= infinirtErrorStreamCaptureUnsupported && error <= infinirtErrorStreamCaptureWrongThread);
}

struct Captured {
  infinirtGraphExec_t exec = nullptr;
  size_t failed;  // the step that could not be captured; `last` when none failed
  infinirtError_t error = infinirtSuccess;
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  std::string message;  // the first failure's; ending the capture fails after it, and says less
};

// Captures on a stream of its own: work that other threads give the place's stream meanwhile is none of ours.
Captured capture(const std::vector<Step>& steps, size_t first, size_t last, infinirtStream_t stream) {
  Captured result;
  result.failed = last;
  result.error = runtime.StreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal);
  if (result.error) return result;
  for (size_t i = first; i < last && !result.error; ++i) {
    if (steps[i].graph) {
      result.error = objects->embed_graph(stream, steps[i].graph);
    } else if ((result.status = steps[i].enqueue(stream))) {
      result.error = runtime.PeekAtLastError();
      if (!result.error) result.error = infinirtErrorUnknown;
    }
    if (!result.error) continue;
    result.failed = i;
    result.message = steps[i].text + ": " + infinirtXGetLastErrorMessage();
  }
  infinirtGraph_t graph = nullptr;
  const infinirtError_t ended = runtime.StreamEndCapture(stream, &graph);
  if (!result.error) result.error = ended;
  if (!result.error) result.error = runtime.GraphInstantiateWithFlags(&result.exec, graph, 0);
  if (graph) runtime.GraphDestroy(graph);
  return result;
}

constexpr int kTries = 20;  // of one segment's capture

// Cuts the steps into segments. False with an exception.
bool build(Graph* graph, PyObject* stream_object) {
  auto& steps = graph->recorded.steps;
  PlaceObject* place = graph->recorded.place;
  infinirtStream_t stream = nullptr;
  if (!objects->stream_handle(stream_object, &stream)) return false;
  int tries = 0;
  for (size_t first = 0; first < steps.size();) {
    if (!steps[first].can_be_captured) {
      infinirtGraphExec_t alone = nullptr;  // what cannot be part of another graph is one
      if (steps[first].graph) {
        const auto error = runtime.GraphInstantiateWithFlags(&alone, steps[first].graph, 0);
        if (error != infinirtSuccess) return objects->raise_error(error) != nullptr;
      }
      graph->segments.push_back({first, first + 1, alone});
      ++first;
      continue;
    }
    size_t last = first;
    while (last < steps.size() && steps[last].can_be_captured) ++last;
    Captured captured;
    const infinirtError_t error = without_lock(true, [&] {
      return on_device(place->stream, [&] {
        captured = capture(steps, first, last, stream);
        return infinirtSuccess;
      });
    });
    if (error != infinirtSuccess) return objects->raise_error(error) != nullptr;
    // What other threads do, waiting for the whole device say, can end a capture that has nothing wrong.
    if (captured.error == infinirtErrorStreamCaptureInvalidated && ++tries <= kTries) {
      runtime.GetLastError();
      continue;
    }
    if (captured.error != infinirtSuccess) {
      if (!means_not_capturable(captured.error)) {
        if (captured.failed == last) return objects->raise_error(captured.error) != nullptr;
        runtime.GetLastError();
        return objects->raise_message(captured.error, captured.message.c_str()) != nullptr;
      }
      runtime.GetLastError();
      if (captured.failed < last) {
        steps[captured.failed].can_be_captured = false;
        continue;  // once more, up to there
      }
      graph->segments.push_back({first, last, nullptr});  // the device type has no graphs
    } else {
      graph->segments.push_back({first, last, captured.exec});
    }
    first = last;
    tries = 0;
  }
  return true;
}

bool run_function(const Step& step, PlaceObject* place) {
  Ref done(PyObject_CallOneArg(step.function.get(), place->stream));
  return bool(done);
}

// Steps that are no device graph, or the launch of one. False with an exception.
bool run_segment(Graph* graph, const Segment& segment) {
  PlaceObject* place = graph->recorded.place;
  const auto& steps = graph->recorded.steps;
  if (!segment.exec && steps[segment.first].function) return run_function(steps[segment.first], place);
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  auto enqueue = [&] {
    if (segment.exec) return runtime.GraphLaunch(segment.exec, place->stream_handle);
    for (size_t i = segment.first; i < segment.last && !status; ++i) status = steps[i].enqueue(place->stream_handle);
    return infinirtSuccess;
  };
  const bool release = objects->may_block(place->stream);
  const infinirtError_t error =
      without_lock(release, [&] { return place->needs_device ? on_device(place->stream, enqueue) : enqueue(); });
  if (error != infinirtSuccess) return objects->raise_error(error) != nullptr;
  return status == INFINI_STATUS_SUCCESS || raise_status(status) != nullptr;
}

PyObject* graph_run(PyObject* self, PyObject*) {
  Graph* graph = graph_of(self);
  PlaceObject* place = graph->recorded.place;
  if (!check_open(place)) return nullptr;
  if (recording_of(place)) {
    return PyErr_Format(PyExc_RuntimeError,
                        "a graph cannot run on %S while this thread records there; end the recording first",
                        place->device);
  }
  std::unique_lock lock(graph->running, std::try_to_lock);
  // The lock's owner may need the interpreter's.
  if (!lock) without_lock(true, [&] { return lock.lock(), true; });
  // From now on: functions that were recorded read what came before them.
  if (place->waiting_reserves) place->waiting_reserves->erase(graph->recorded.reserve);
  for (const Segment& segment : graph->segments) {
    if (!run_segment(graph, segment)) return nullptr;
  }
  ++graph->runs;
  if (place->is_host) {
    if (graph->shares != place->shares) {
      graph->touches_shared = graph->recorded.touches_shared();
      graph->shares = place->shares;
    }
    if (graph->touches_shared && !synchronise(place)) return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* get_place(PyObject* self, void*) {
  return Py_NewRef(reinterpret_cast<PyObject*>(graph_of(self)->recorded.place));
}
PyObject* get_bytes(PyObject* self, void*) { return PyLong_FromSize_t(graph_of(self)->recorded.reserved_bytes); }
PyObject* get_runs(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(graph_of(self)->runs); }

PyObject* get_calls(PyObject* self, void*) { return PyLong_FromSize_t(graph_of(self)->recorded.calls); }

// A list of what `entry_of` makes of each element.
template <class Elements, class Make>
PyObject* list_of(const Elements& elements, Make entry_of) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(elements.size())));
  for (size_t i = 0; list && i < elements.size(); ++i) {
    PyObject* entry = entry_of(elements[i]);
    if (entry == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), entry);
  }
  return list.release();
}

PyObject* get_steps(PyObject* self, void*) {
  return list_of(graph_of(self)->recorded.steps, [](const Step& step) -> PyObject* {
    Ref parts(list_of(step.parts, [](const std::string& part) { return PyUnicode_FromString(part.c_str()); }));
    return parts ? Py_BuildValue("(snO)", step.text.c_str(), static_cast<Py_ssize_t>(step.bytes), parts.get())
                 : nullptr;
  });
}

PyObject* get_removed(PyObject* self, void*) {
  return list_of(graph_of(self)->recorded.removed,
                 [](const auto& entry) { return Py_BuildValue("(ss)", entry.first.c_str(), entry.second); });
}

PyObject* get_refused(PyObject* self, void*) {
  return list_of(graph_of(self)->recorded.refused,
                 [](const auto& entry) { return Py_BuildValue("(ss)", entry.first.c_str(), entry.second.c_str()); });
}

PyObject* get_segments(PyObject* self, void*) {
  return list_of(graph_of(self)->segments, [](const Segment& segment) {
    return Py_BuildValue("(nnO)", static_cast<Py_ssize_t>(segment.first), static_cast<Py_ssize_t>(segment.last),
                         segment.exec ? Py_True : Py_False);
  });
}

// Python functions of the graph may refer to it.
int graph_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (Graph* graph = graph_of(self)) {
    for (const Step& step : graph->recorded.steps) {
      Py_VISIT(step.function.get());
      Py_VISIT(step.captured.get());
    }
  }
  return 0;
}

int graph_clear(PyObject* self) {
  delete std::exchange(reinterpret_cast<GraphObject*>(self)->graph, nullptr);
  return 0;
}

void graph_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<GraphObject*>(self)->weak_references) PyObject_ClearWeakRefs(self);
  graph_clear(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"run", graph_run, METH_NOARGS, "run($self, /)\n--\n\nEnqueues everything that was recorded, in its order."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"place", get_place, nullptr, "Where it runs.", nullptr},
    {"reserved_bytes", get_bytes, nullptr, "Bytes that are set aside for what was allocated while recording.", nullptr},
    {"runs", get_runs, nullptr, "How often it ran to its end.", nullptr},
    {"calls", get_calls, nullptr, "How many calls were recorded.", nullptr},
    {"steps", get_steps, nullptr, "(text, bytes touched, [texts of the calls that it is made of]) of what is done.",
     nullptr},
    {"removed", get_removed, nullptr, "(text, reason) of each call that is not made.", nullptr},
    {"refused", get_refused, nullptr, "(texts, the device's message) of calls that could not become one.", nullptr},
    {"segments", get_segments, nullptr, "(first step, last step + 1, whether it is a device graph).", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {const_cast<char*>("__weaklistoffset__"), T_PYSSIZET, offsetof(GraphObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(graph_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(graph_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(graph_clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("What was recorded, ready to run. Use infinicore.Graph.")},
                       {0, nullptr}};

PyType_Spec spec = {"infinicore._core.RecordedGraph", sizeof(GraphObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyTypeObject* make_graph_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

PyObject* make_graph(Recorded recorded) try {
  Ref device(PyObject_GetAttrString(recorded.place->stream, "device"));
  Ref stream(device ? PyObject_CallMethod(device.get(), "create_stream", nullptr) : nullptr);
  Ref made(stream ? graph_class->tp_alloc(graph_class, 0) : nullptr);
  if (!made) return nullptr;
  recorded.calls = recorded.steps.size();
  optimise(&recorded);
  auto* graph = new Graph(std::move(recorded));
  reinterpret_cast<GraphObject*>(made.get())->graph = graph;
  return build(graph, stream.get()) ? made.release() : nullptr;
} catch (const std::bad_alloc&) {
  return PyErr_NoMemory();
}

}  // namespace infinicore
