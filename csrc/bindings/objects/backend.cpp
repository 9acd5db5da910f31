// Device types written in Python: the runtime's calls become calls of methods.
//
// The methods run on whatever thread the runtime calls on, which takes the interpreter's lock for it. The runtime holds no lock
// meanwhile, and whoever called the runtime from Python has released the interpreter's: calls on such device types always do.
#include "bindings/objects/backend.h"

#include <string>

#include "bindings/objects/callable.h"

namespace infinirt::objects {

namespace {

// What went wrong on this thread last, for the message.
std::string& words() {
  thread_local std::string text;
  return text;
}

infinirtError_t unloading() {
  words() = "the interpreter has ended";
  return infinirtErrorCudartUnloading;
}

// The exception that is set becomes an error code and words.
infinirtError_t take_exception() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  python::Ref owned_type(type), owned_value(value), owned_trace(trace);
  infinirtError_t error = infinirtErrorUnknown;
  if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError)) error = infinirtErrorMemoryAllocation;
  if (PyErr_GivenExceptionMatches(type, PyExc_NotImplementedError)) error = infinirtErrorNotSupported;
  if (PyErr_GivenExceptionMatches(type, PyExc_ValueError)) error = infinirtErrorInvalidValue;
  python::Ref code(value ? PyObject_GetAttrString(value, "_code") : nullptr);  // InfiniRTError's
  if (code && PyLong_Check(code.get())) {
    const long number = PyLong_AsLong(code.get());
    if (number > 0 && number != infinirtErrorNotReady) error = static_cast<infinirtError_t>(number);
  }
  PyErr_Clear();
  python::Ref text(value ? PyObject_Str(value) : nullptr);
  const char* said = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  words() =
      std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name) + (said && *said ? std::string(": ") + said : "");
  PyErr_Clear();
  return error;
}

// Calls a method; `keep` gets the result.
template <class... Arguments>
infinirtError_t call(void* context, const char* method, const char* format, python::Ref* keep, Arguments... arguments) {
  python::Ref result(PyObject_CallMethod(static_cast<PyObject*>(context), method, format, arguments...));
  if (!result) return take_exception();
  if (keep) *keep = std::move(result);
  return infinirtSuccess;
}

// Memory of the host, for the time of the call. Who keeps it is told so: it cannot be taken away.
template <class Use>
infinirtError_t with_view(void* host, size_t size, bool writable, Use use) {
  python::Ref view(PyMemoryView_FromMemory(static_cast<char*>(host), static_cast<Py_ssize_t>(size),
                                           writable ? PyBUF_WRITE : PyBUF_READ));
  if (!view) return take_exception();
  const infinirtError_t error = use(view.get());
  const bool has_parts = reinterpret_cast<PyMemoryViewObject*>(view.get())->mbuf->exports > 1;  // slices that live on
  python::Ref released(PyObject_CallMethod(view.get(), "release", nullptr));
  if ((released && !has_parts) || error != infinirtSuccess) {
    PyErr_Clear();
    return error;
  }
  PyErr_Clear();  // somebody kept a part of it
  words() = "the method kept a view of the memory that it was given; copy what is needed later";
  return infinirtErrorInvalidValue;
}

infinirtError_t allocate(void* context, int device, size_t size, void** block) {
  Interpreter interpreter;
  if (!interpreter) return unloading();
  python::Ref made;
  if (auto error = call(context, "allocate", "in", &made, device, static_cast<Py_ssize_t>(size))) return error;
  *block = made.release();
  return infinirtSuccess;
}

infinirtError_t release(void* context, int device, void* block, size_t size) {
  Interpreter interpreter;
  if (!interpreter) return unloading();
  python::Ref owned(static_cast<PyObject*>(block));
  const infinirtError_t error =
      call(context, "release", "iOn", nullptr, device, owned.get(), static_cast<Py_ssize_t>(size));
  if (error != infinirtSuccess) PySys_WriteStderr("infinirt: release() of a backend failed: %.400s\n", words().c_str());
  return error;
}

infinirtError_t write(void* context, int device, void* block, size_t offset, const void* host, size_t size) {
  Interpreter interpreter;
  if (!interpreter) return unloading();
  return with_view(const_cast<void*>(host), size, false, [&](PyObject* data) {
    return call(context, "write", "iOnO", nullptr, device, static_cast<PyObject*>(block),
                static_cast<Py_ssize_t>(offset), data);
  });
}

infinirtError_t read(void* context, int device, void* block, size_t offset, void* host, size_t size) {
  Interpreter interpreter;
  if (!interpreter) return unloading();
  return with_view(host, size, true, [&](PyObject* into) {
    return call(context, "read", "iOnO", nullptr, device, static_cast<PyObject*>(block),
                static_cast<Py_ssize_t>(offset), into);
  });
}

infinirtError_t copy(void* context, int device, void* dst, size_t dst_offset, void* src, size_t src_offset,
                     size_t size) {
  Interpreter interpreter;
  if (!interpreter) return unloading();
  return call(context, "copy", "iOnOnn", nullptr, device, static_cast<PyObject*>(dst),
              static_cast<Py_ssize_t>(dst_offset), static_cast<PyObject*>(src), static_cast<Py_ssize_t>(src_offset),
              static_cast<Py_ssize_t>(size));
}

infinirtError_t fill(void* context, int device, void* block, size_t offset, unsigned char value, size_t size) {
  Interpreter interpreter;
  if (!interpreter) return unloading();
  return call(context, "fill", "iOnin", nullptr, device, static_cast<PyObject*>(block), static_cast<Py_ssize_t>(offset),
              int{value}, static_cast<Py_ssize_t>(size));
}

infinirtError_t synchronize(void* context, int device) {
  Interpreter interpreter;
  if (!interpreter) return unloading();
  return call(context, "synchronize", "i", nullptr, device);
}

infinirtError_t describe(void* context, int device, infinirtXBackendFacts* facts) {
  Interpreter interpreter;
  if (!interpreter) return unloading();
  python::Ref answer;
  if (auto error = call(context, "_describe", "i", &answer, device)) return error;
  const char* name = nullptr;
  Py_ssize_t memory = 0;
  if (!PyArg_ParseTuple(answer.get(), "sni", &name, &memory, &facts->multiProcessorCount)) return take_exception();
  std::snprintf(facts->name, sizeof facts->name, "%s", name);
  facts->totalMemory = static_cast<size_t>(memory);
  return infinirtSuccess;
}

const char* last_error(void*) { return words().c_str(); }

}  // namespace

PyObject* register_backend(PyObject*, PyObject* args) {
  PyObject* instance = nullptr;
  int has_copy = 0, has_fill = 0, has_synchronize = 0;
  infinirtXBackend given{};
  given.structSize = sizeof given;
  if (!PyArg_ParseTuple(args, "Ossippp", &instance, &given.type, &given.origin, &given.deviceCount, &has_copy,
                        &has_fill, &has_synchronize)) {
    return nullptr;
  }
  given.threadSafe =
      1;  // the interpreter's lock is what there is; one of the runtime's must not be waited for under it
  given.context = Py_NewRef(instance);
  given.allocate = allocate;
  given.release = release;
  given.write = write;
  given.read = read;
  given.copy = has_copy ? copy : nullptr;
  given.fill = has_fill ? fill : nullptr;
  given.synchronize = has_synchronize ? synchronize : nullptr;
  given.describe = describe;
  given.lastError = last_error;
  const infinirtError_t error = without_gil(true, [&] { return infinirtXRegisterBackend(&given); });
  if (error == infinirtSuccess) Py_RETURN_NONE;
  Py_DECREF(instance);
  return raise_error(error);
}

}  // namespace infinirt::objects
