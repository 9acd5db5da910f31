#include "bindings/objects/library.h"

#include <cstdarg>
#include <cstdio>
#include <string>

namespace infinirt::objects {

Library rt;

namespace {

PyObject* error_factory = nullptr;

// Leaves the exception that the factory makes; without a factory (during import) a plain RuntimeError.
void set_exception(infinirtError_t error, const char* message) {
  if (error_factory == nullptr) {
    PyErr_Format(PyExc_RuntimeError, "error %d: %s", static_cast<int>(error), message);
    return;
  }
  python::Ref made(PyObject_CallFunction(error_factory, "is", static_cast<int>(error), message));
  if (made) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.get())), made.get());
}

}  // namespace

std::string take_message(infinirtError_t error) {
  // What the thread remembers may be another error's: "not ready" is never remembered.
  const char* last = rt.PeekAtLastError() == error ? infinirtXGetLastErrorMessage() : nullptr;
  std::string message = last != nullptr && *last != '\0' ? last : rt.GetErrorString(error);
  rt.GetLastError();
  return message;
}

bool load_library() {
#define X(name)                                                                                              \
  rt.name = reinterpret_cast<decltype(rt.name)>(infinirtXGetProcAddress("infinirt" #name));                  \
  if (rt.name == nullptr) {                                                                                  \
    PyErr_SetString(PyExc_ImportError,                                                                       \
                    "libinfinirt.so.1 lacks infinirt" #name "; library and package must be of one version"); \
    return false;                                                                                            \
  }
  INFINIRT_OBJECTS_FUNCTIONS(X)
#undef X
  return true;
}

bool set_error_factory(PyObject* factory) {
  if (!PyCallable_Check(factory)) {
    PyErr_SetString(PyExc_TypeError, "the error factory must be callable");
    return false;
  }
  PyObject* previous = error_factory;
  error_factory = Py_NewRef(factory);
  Py_XDECREF(previous);
  return true;
}

PyObject* raise_error(infinirtError_t error) {
  set_exception(error, take_message(error).c_str());
  return nullptr;
}

PyObject* raise_error_as(const char* call, infinirtError_t error) {
  std::string message = take_message(error);
  const size_t colon = message.find(": ");
  if (message.compare(0, 8, "infinirt") == 0 && colon != std::string::npos) message.erase(0, colon + 2);
  set_exception(error, (std::string(call) + ": " + message).c_str());
  return nullptr;
}

PyObject* raise_message(infinirtError_t error, const std::string& message) {
  set_exception(error, message.c_str());
  return nullptr;
}

PyObject* raise_error(infinirtError_t error, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  set_exception(error, text);
  return nullptr;
}

}  // namespace infinirt::objects
