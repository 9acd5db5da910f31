#include "bindings/objects/callable.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "bindings/objects/device.h"

namespace infinirt::objects {

namespace {

std::atomic<bool> leaving{false};
std::atomic<int> inside{0};

constexpr unsigned kDrainMilliseconds = 2000;
constexpr int kInsideMilliseconds = 500;

}  // namespace

// Counted first and checked second, so that shut_down() cannot miss anyone.
Interpreter::Interpreter() {
  inside.fetch_add(1);
  if (leaving.load()) {
    inside.fetch_sub(1);
    return;
  }
  state_ = PyGILState_Ensure();
  entered_ = true;
}

Interpreter::~Interpreter() {
  if (!entered_) return;
  PyGILState_Release(state_);
  inside.fetch_sub(1);
}

BoundCall* bind_call(PyObject* function, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  python::Ref positional(PyTuple_New(count));
  if (!positional) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
  python::Ref named;
  if (names != nullptr && PyTuple_GET_SIZE(names) > 0) {
    named = python::Ref(PyDict_New());
    if (!named) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i), args[count + i]) < 0) return nullptr;
    }
  }
  return new BoundCall{Py_NewRef(function), positional.release(), named.release()};
}

void run_bound_call(void* data) {
  auto* call = static_cast<BoundCall*>(data);
  Interpreter interpreter;
  if (!interpreter) return;
  PyObject* result = PyObject_Call(call->function, call->args, call->kwargs);
  if (result == nullptr) PyErr_WriteUnraisable(call->function);
  Py_XDECREF(result);
}

void drop_bound_call(void* data) {
  auto* call = static_cast<BoundCall*>(data);
  Interpreter interpreter;
  if (!interpreter) return;  // left to the end of the process
  Py_DECREF(call->function);
  Py_DECREF(call->args);
  Py_XDECREF(call->kwargs);
  delete call;
}

void run_nothing(void*) {}

void drop_object(void* object) {
  Interpreter interpreter;
  if (interpreter) Py_DECREF(static_cast<PyObject*>(object));
}

void drop_buffer_view(void* data) {
  auto* view = static_cast<Py_buffer*>(data);
  Interpreter interpreter;
  if (!interpreter) return;
  PyBuffer_Release(view);
  delete view;
}

infinirtError_t graph_keeps(infinirtGraph_t graph, void* object, infinirtHostFn_t destroy) {
  return infinirtXGraphKeep(graph, object, destroy);
}

PyObject* shut_down(PyObject*, PyObject*) {
  without_gil(true, [] {
    if (devices_were_used()) infinirtXDrain(kDrainMilliseconds);
    leaving.store(true);
    for (int i = 0; i < kInsideMilliseconds && inside.load() > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  });
  Py_RETURN_NONE;
}

}  // namespace infinirt::objects
