// Traces, ranges, the Python stacks of calls, and accesses to memory that is watched.
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_set>

#include "bindings/objects/arguments.h"
#include "bindings/objects/deferred.h"
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
  // A vendor's tracer may have to be waited for.
  return none_or_raise(without_gil(true, [] { return infinirtXTraceEnd(); }));
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
  const infinirtError_t error =
      without_gil(true, [milliseconds] { return infinirtXDrain(static_cast<unsigned>(milliseconds)); });
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

// Threads of other libraries may be waited for by one that holds Python's lock: what they touch is told later.
constexpr unsigned kMostUntold = 64;
struct {
  std::atomic<unsigned> count{0};
  std::atomic<uintptr_t> address[kMostUntold];
  std::atomic<int> writes[kMostUntold];
} untold;
PyObject* told_of_touches = nullptr;  // a callable; guarded by Python's lock

// In the middle of an access, in the handler of its fault.
void on_touch(const void* address, int writes) {
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) {
    const unsigned place = untold.count.fetch_add(1);
    if (place >= kMostUntold) return;
    untold.writes[place].store(writes);
    untold.address[place].store(reinterpret_cast<uintptr_t>(address));
    return;
  }
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (told_of_touches) {
    PyObject* told = Py_NewRef(told_of_touches);
    PyObject* result =
        PyObject_CallFunction(told, "KN", reinterpret_cast<unsigned long long>(address), PyBool_FromLong(writes));
    if (!result) PyErr_WriteUnraisable(told);
    Py_XDECREF(result);
    Py_DECREF(told);
  }
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
}

// watch_touches(hook): hook(address, writes) is called when a thread touches memory that is shut; None: no longer.
PyObject* watch_touches(PyObject*, PyObject* hook) {
  PyObject* before = told_of_touches;
  told_of_touches = hook == Py_None ? nullptr : Py_NewRef(hook);
  Py_XDECREF(before);
  infinirtXSetTouchHook(told_of_touches ? on_touch : nullptr);
  Py_RETURN_NONE;
}

// untold_touches(): (address, writes) of each access by a thread that Python does not know, since this was last asked.
PyObject* untold_touches(PyObject*, PyObject*) {
  const unsigned count = untold.count.exchange(0);
  PyObject* list = PyList_New(0);
  for (unsigned i = 0; list && i < count && i < kMostUntold; ++i) {
    const uintptr_t address = untold.address[i].exchange(0);
    if (!address) continue;  // being written
    PyObject* touch =
        Py_BuildValue("KN", static_cast<unsigned long long>(address), PyBool_FromLong(untold.writes[i].load()));
    if (!touch || PyList_Append(list, touch) < 0) Py_CLEAR(list);
    Py_XDECREF(touch);
  }
  return list;
}

// watch_memory(address, bytes, access): whether the memory can be watched.
PyObject* watch_memory(PyObject*, PyObject* args) {
  unsigned long long address = 0;
  Py_ssize_t bytes = 0;
  int access = 0;
  if (!PyArg_ParseTuple(args, "Kni", &address, &bytes, &access)) return nullptr;
  const infinirtError_t error =
      infinirtXWatchMemory(reinterpret_cast<void*>(address), static_cast<size_t>(bytes), access);
  if (error != infinirtSuccess && error != infinirtErrorNotSupported) return raise_error(error);
  return PyBool_FromLong(error == infinirtSuccess);
}

// ---- observers written in Python, as C functions made by ctypes

// Its first parameter is such a function. Memory is freed while an exception is on its way, too, which no Python code would survive.
void call_observer(void* observer, const infinirtXCall* call) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  reinterpret_cast<void (*)(void*, const infinirtXCall*)>(observer)(nullptr, call);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
}

// observer_caller(): the address of a callback for infinirtXSetObserver whose `user` is the observer's own.
PyObject* observer_caller(PyObject*, PyObject*) { return PyLong_FromVoidPtr(reinterpret_cast<void*>(call_observer)); }

PyObject* are_drops_late(PyObject*, PyObject*) { return PyBool_FromLong(drops_late()); }

PyObject* is_observed(PyObject*, PyObject*) { return PyBool_FromLong(infinirtXObserved()); }

}  // namespace

PyMethodDef observe_functions[] = {{"observer_caller", observer_caller, METH_NOARGS, nullptr},
                                   {"drops_late", are_drops_late, METH_NOARGS, nullptr},
                                   {"keep_stacks", keep_stacks, METH_O, nullptr},
                                   {"trace_begin", trace_begin, METH_O, nullptr},
                                   {"trace_end", trace_end, METH_NOARGS, nullptr},
                                   {"trace_lost", trace_lost, METH_NOARGS, nullptr},
                                   {"drain", drain, METH_O, nullptr},
                                   {"range_push", range_push, METH_O, nullptr},
                                   {"range_pop", range_pop, METH_NOARGS, nullptr},
                                   {"name_next_work", name_next_work, METH_O, nullptr},
                                   {"is_observed", is_observed, METH_NOARGS, nullptr},
                                   {"watch_touches", watch_touches, METH_O, nullptr},
                                   {"untold_touches", untold_touches, METH_NOARGS, nullptr},
                                   {"watch_memory", watch_memory, METH_VARARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace infinirt::objects
