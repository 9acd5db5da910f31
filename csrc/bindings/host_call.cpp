#include "bindings/host_call.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "bindings/convert.h"
#include "bindings/gil.h"
#include "bindings/result.h"

namespace infinirt::python {
namespace {

constexpr unsigned kDrainMilliseconds = 2000;
constexpr unsigned kLeaveMilliseconds = 500;  // for calls that are already past the gate

// The gate: how many threads are behind it, and whether it is closed, in one word, so that closing it and counting the
// threads cannot pass each other.
constexpr unsigned kClosed = 1u << 31;
std::atomic<unsigned> gate{0};

class Passage {
 public:
  Passage() : open_((gate.fetch_add(1, std::memory_order_acq_rel) & kClosed) == 0) {}
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;
  ~Passage() { gate.fetch_sub(1, std::memory_order_acq_rel); }
  explicit operator bool() const { return open_; }

 private:
  bool open_;
};

// A thread that waits for the interpreter lock while the interpreter ends is made to exit by older Pythons, by unwinding.
// That must not reach the runtime's worker: the thread stays here until the process ends, as newer Pythons do it.
[[noreturn]] void park() {
  for (;;) pause();
}

// No destructor gives the lock back: it would run while a thread that no longer has the lock is unwound.
template <class Body>
void with_gil(Body body) {
  PyGILState_STATE state;
  try {
    state = PyGILState_Ensure();
    body();
  } catch (abi::__forced_unwind&) {
    park();
  }
  PyGILState_Release(state);
}

void report(PyObject* callable, PyObject* result) {
  if (result == nullptr) PyErr_WriteUnraisable(callable);
  Py_XDECREF(result);
}

void run(HostCall* call) {
  if (call->callable == nullptr) {
    if (call->function != nullptr) reinterpret_cast<infinirtHostFn_t>(call->function)(call->data);
    return;
  }
  with_gil([call] { report(call->callable, PyObject_CallOneArg(call->callable, call->argument)); });
}

void free_call(HostCall* call) {
  if (call->destroy_function != nullptr) reinterpret_cast<infinirtHostFn_t>(call->destroy_function)(call->data);
  with_gil([call] {
    if (call->destroy != nullptr) report(call->destroy, PyObject_CallOneArg(call->destroy, call->argument));
    discard_host_call(call);
  });
}

void after_fork_in_child() {
  // The threads that were behind the gate do not exist here.
  gate.fetch_and(kClosed, std::memory_order_acq_rel);
}

}  // namespace

HostCall* new_host_call(PyObject* function, PyObject* argument, const char* function_name, const char* argument_name) {
  std::uintptr_t address = 0;
  bool is_python = false;
  if (!to_function(function, function_name, &address, &is_python)) return nullptr;
  auto* call = static_cast<HostCall*>(PyMem_RawCalloc(1, sizeof(HostCall)));
  if (call == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  if (is_python) {
    call->callable = new_reference(function);
    call->argument = new_reference(argument);
    return call;
  }
  call->function = reinterpret_cast<void*>(address);
  if (!PyLong_Check(function) && function != Py_None) call->kept = new_reference(function);
  PointerArgument data;
  if (!data.take(argument, argument_name)) {
    discard_host_call(call);
    return nullptr;
  }
  call->data = data.get();
  // The memory behind a buffer is used later: keep what owns it.
  if (argument != Py_None && !PyLong_Check(argument)) call->argument = new_reference(argument);
  return call;
}

void discard_host_call(HostCall* call) {
  Py_XDECREF(call->callable);
  Py_XDECREF(call->argument);
  Py_XDECREF(call->destroy);
  Py_XDECREF(call->kept);
  PyMem_RawFree(call);
}

extern "C" {

void infinirt_python_run(void* call) {
  Passage passage;
  if (passage) run(static_cast<HostCall*>(call));
}

void infinirt_python_free(void* call) {
  Passage passage;
  if (passage) free_call(static_cast<HostCall*>(call));
}

void infinirt_python_run_once(void* call) {
  Passage passage;
  if (!passage) return;
  run(static_cast<HostCall*>(call));
  free_call(static_cast<HostCall*>(call));
}

void infinirt_python_stream_callback(infinirtStream_t stream, infinirtError_t error, void* data) {
  Passage passage;
  if (!passage) return;
  auto* call = static_cast<HostCall*>(data);
  if (call->callable == nullptr) {
    reinterpret_cast<infinirtStreamCallback_t>(call->function)(stream, error, call->data);
  } else {
    with_gil([=] {
      Ref handle(from_handle(kHandle_infinirtStream_t, stream));
      Ref code(enum_member(enum_types[kEnum_infinirtError_t], error));
      PyObject* result = handle && code ? PyObject_CallFunctionObjArgs(call->callable, handle.get(), code.get(),
                                                                       call->argument, nullptr)
                                        : nullptr;
      report(call->callable, result);
    });
  }
  free_call(call);
}

}  // extern "C"

void close_gate() {
  GilReleased released;
  api.infinirtXDrain(kDrainMilliseconds);
  gate.fetch_or(kClosed, std::memory_order_acq_rel);
  for (unsigned waited = 0; waited < kLeaveMilliseconds; ++waited) {
    if ((gate.load(std::memory_order_acquire) & ~kClosed) == 0) return;
    usleep(1000);
  }
}

void initialise_host_calls() { pthread_atfork(nullptr, nullptr, after_fork_in_child); }

}  // namespace infinirt::python
