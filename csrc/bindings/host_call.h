// Functions given by Python that the runtime calls later, on threads of its own.
//
// Such a thread takes the interpreter lock, and after interpreter exit nobody may do that any more. All calls therefore
// pass one gate. At exit the pending work is drained for a bounded time, then the gate closes: what is still pending is
// dropped, its objects are leaked.
#pragma once

#include "bindings/python.h"
#include "bindings/runtime_api.h"

namespace infinirt::python {

/// A function and its argument. Either a C function (with the Python object it came from kept alive), or a Python callable
/// that is called with the argument object.
struct HostCall {
  PyObject* callable;  // called with `argument`, if not null
  PyObject* argument;
  PyObject* destroy;  // called with `argument` when the call is given up, if not null
  PyObject* kept;  // keeps the C function alive; may be null
  void* function;  // the C function, if callable is null
  void* data;  // its argument
  void* destroy_function;  // a C function that is called with `data` when the call is given up; may be null
};

/// Fills a new HostCall from a function and its argument. Null with an exception set.
HostCall* new_host_call(PyObject* function, PyObject* argument, const char* function_name, const char* argument_name);

/// Frees it without calling anything; the caller holds the interpreter lock.
void discard_host_call(HostCall* call);

// For the C API; `call` is a HostCall.
extern "C" {
/// Calls the function. A Python exception goes to sys.unraisablehook.
void infinirt_python_run(void* call);
/// Frees the call.
void infinirt_python_free(void* call);
/// Both: for functions that are called exactly once.
void infinirt_python_run_once(void* call);
/// A stream callback, called exactly once.
void infinirt_python_stream_callback(infinirtStream_t stream, infinirtError_t status, void* call);
}

/// Drains the work and closes the gate. Called by the module's atexit hook, with the interpreter lock.
void close_gate();

/// Prepares for fork. Called once, at import.
void initialise_host_calls();

}  // namespace infinirt::python
