// Traces, ranges, and the Python stacks of calls.
#include <mutex>
#include <string>
#include <unordered_set>

#include "bindings/objects/arguments.h"
#include "bindings/objects/functions.h"
#include "infinirt_observe.h"

namespace infinirt::objects {

namespace {

constexpr int kDeepest = 16;  // frames that are kept, from the innermost on

// Texts that live for ever: programs have few places that call, however often they do.
const char* kept_text(std::string text) {
  static auto* mutex = new std::mutex;
  static auto* texts = new std::unordered_set<std::string>;
  std::lock_guard guard(*mutex);
  return texts->insert(std::move(text)).first->c_str();
}

std::string describe(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  const char* name = PyUnicode_AsUTF8(code->co_name);
  std::string text = "  File \"";
  text += file ? file : "?";
  text += "\", line " + std::to_string(PyFrame_GetLineNumber(frame)) + ", in ";
  text += name ? name : "?";
  Py_DECREF(code);
  PyErr_Clear();
  return text;
}

// The calling thread's, as a traceback prints it: the innermost frame last.
std::string stack_text() {
  std::string text;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  for (int depth = 0; frame && depth < kDeepest; ++depth) {
    text = text.empty() ? describe(frame) : describe(frame) + "\n" + text;
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
  return text;
}

// Threads that have nothing to do with Python have no stack of it. A call that has given the lock away takes it back for this.
const char* python_stack() {
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return nullptr;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  std::string text = stack_text();
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
  return text.empty() ? nullptr : kept_text(std::move(text));
}

PyObject* keep_stacks(PyObject*, PyObject* enabled) {
  const int wanted = PyObject_IsTrue(enabled);
  if (wanted < 0) return nullptr;
  return none_or_raise(infinirtXSetStackHook(wanted ? python_stack : nullptr));
}

PyObject* trace_begin(PyObject*, PyObject* folder) {
  const char* text = PyUnicode_AsUTF8(folder);
  return text ? none_or_raise(infinirtXTraceBegin(text)) : nullptr;
}

PyObject* trace_end(PyObject*, PyObject*) {
  infinirtError_t error;
  Py_BEGIN_ALLOW_THREADS;  // a vendor's tracer may have to be waited for
  error = infinirtXTraceEnd();
  Py_END_ALLOW_THREADS;
  return none_or_raise(error);
}

PyObject* trace_lost(PyObject*, PyObject*) {
  unsigned long long records = 0;
  const infinirtError_t error = infinirtXTraceGetLost(&records);
  return error == infinirtSuccess ? PyLong_FromUnsignedLongLong(records) : raise_error(error);
}

// drain(milliseconds): whether all work of the devices that the runtime itself runs is over.
PyObject* drain(PyObject*, PyObject* limit) {
  const unsigned long milliseconds = PyLong_AsUnsignedLong(limit);
  if (PyErr_Occurred()) return nullptr;
  infinirtError_t error;
  Py_BEGIN_ALLOW_THREADS;
  error = infinirtXDrain(static_cast<unsigned>(milliseconds));
  Py_END_ALLOW_THREADS;
  if (error != infinirtSuccess && error != infinirtErrorNotReady) return raise_error(error);
  return PyBool_FromLong(error == infinirtSuccess);
}

PyObject* range_push(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  infinirtXRangePush(text);
  Py_RETURN_NONE;
}

PyObject* range_pop(PyObject*, PyObject*) {
  infinirtXRangePop();
  Py_RETURN_NONE;
}

PyObject* name_next_work(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  infinirtXNameNextWork(text);
  Py_RETURN_NONE;
}

PyObject* is_observed(PyObject*, PyObject*) { return PyBool_FromLong(infinirtXObserved()); }

}  // namespace

PyMethodDef observe_functions[] = {{"keep_stacks", keep_stacks, METH_O, nullptr},
                                   {"trace_begin", trace_begin, METH_O, nullptr},
                                   {"trace_end", trace_end, METH_NOARGS, nullptr},
                                   {"trace_lost", trace_lost, METH_NOARGS, nullptr},
                                   {"drain", drain, METH_O, nullptr},
                                   {"range_push", range_push, METH_O, nullptr},
                                   {"range_pop", range_pop, METH_NOARGS, nullptr},
                                   {"name_next_work", name_next_work, METH_O, nullptr},
                                   {"is_observed", is_observed, METH_NOARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace infinirt::objects
