// CPython's header, with what the supported versions (3.10 to 3.14) spell differently.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#if PY_VERSION_HEX < 0x030b0000
#include <longintrepr.h>
#endif
#include <unistd.h>

// One thread at a time per object; without effect where the interpreter lock does that.
#if PY_VERSION_HEX >= 0x030d0000
#define INFINIRT_BEGIN_LOCKED(object) Py_BEGIN_CRITICAL_SECTION(object)
#define INFINIRT_END_LOCKED() Py_END_CRITICAL_SECTION()
#else
#define INFINIRT_BEGIN_LOCKED(object) {
#define INFINIRT_END_LOCKED() }
#endif

namespace infinirt::python {

/// Owns one reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref& operator=(Ref&& other) noexcept {
    if (this != &other) {
      Py_XDECREF(object_);
      object_ = other.release();
    }
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  PyObject* object_ = nullptr;
};

/// Takes the interpreter's lock again. An interpreter that is ending unwinds a daemon thread that wants it: functions of the library, some of which cannot
/// be unwound, and ours, which would drop their references without the lock. The thread stays here instead, as Python 3.14 has it.
inline void restore_or_stay(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {  // abi::__forced_unwind
    for (;;) pause();
  }
}

/// Gives the lock away for a scope.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() { restore_or_stay(state_); }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

inline PyObject* new_reference(PyObject* object) {
  Py_INCREF(object);
  return object;
}

}  // namespace infinirt::python
