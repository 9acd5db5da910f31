// Python objects in the hands of the runtime: functions that streams and graphs call, and objects that they keep alive.
#pragma once

#include "bindings/objects/library.h"

namespace infinirt::objects {

/// Holds the interpreter's lock on a thread of the runtime, or nothing when the interpreter is on its way out: a thread that
/// asked for the lock then would never come back.
class Interpreter {
 public:
  Interpreter();
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  PyGILState_STATE state_{};
  bool entered_ = false;
};

/// A Python function with its arguments.
struct BoundCall {
  PyObject* function;
  PyObject* args;  // a tuple
  PyObject* kwargs;  // a dict or null
};

/// From vectorcall arguments. Null with an exception set.
BoundCall* bind_call(PyObject* function, PyObject* const* args, Py_ssize_t count, PyObject* names);

/// infinirtHostFn_t: calls a BoundCall. What it raises goes to sys.unraisablehook.
void run_bound_call(void* call);
/// infinirtHostFn_t: drops a BoundCall.
void drop_bound_call(void* call);

/// infinirtHostFn_t: does nothing, for work that exists only to be destroyed in order.
void run_nothing(void*);
/// infinirtHostFn_t: drops a reference to a Python object.
void drop_object(void* object);
/// infinirtHostFn_t: releases a Py_buffer that was allocated with new.
void drop_buffer_view(void* view);

/// Makes a graph, and everything made from it, keep `object` alive, or something else that `destroy` lets go of. Takes
/// over the reference in any case.
infinirtError_t graph_keeps(infinirtGraph_t graph, void* object, infinirtHostFn_t destroy);

/// Nothing that runs on a thread of the runtime enters the interpreter any more. Waits, for a bounded time, for pending
/// work and for what is inside. Called at exit.
PyObject* shut_down(PyObject*, PyObject*);

}  // namespace infinirt::objects
