// From Python values to the bytes of a kernel's parameters.
#include <cstring>

#include "bindings/objects/arguments.h"
#include "bindings/objects/kernel_args.h"

namespace infinirt::objects {

size_t parameter_size(char code) {
  switch (code) {
    case '?':
    case 'b':
    case 'B':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    case 'q':
    case 'Q':
    case 'd':
    case 'P':
      return 8;
    default:
      return 0;
  }
}

namespace {

bool fits(long long value, char code) {
  switch (code) {
    case 'b':
      return value >= -128 && value <= 127;
    case 'B':
      return value >= 0 && value <= 255;
    case 'h':
      return value >= -32768 && value <= 32767;
    case 'H':
      return value >= 0 && value <= 65535;
    case 'i':
      return value >= INT32_MIN && value <= INT32_MAX;
    case 'I':
      return value >= 0 && value <= UINT32_MAX;
    default:
      return true;
  }
}

// Python's own message does not say which argument it is.
bool wrong_kind(PyObject* value, const char* wanted, Py_ssize_t index) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "kernel argument %zd: %s was expected, not %R, a %.100s", index, wanted, value,
               Py_TYPE(value)->tp_name);
  return false;
}

bool pack_integer(PyObject* value, char code, Py_ssize_t index, unsigned long long* slot) {
  python::Ref number(PyNumber_Index(value));
  if (!number) return wrong_kind(value, "an integer", index);
  long long converted = 0;
  if (code == 'Q') {
    *slot = PyLong_AsUnsignedLongLong(number.get());
  } else {
    converted = PyLong_AsLongLong(number.get());
    std::memcpy(slot, &converted, sizeof converted);  // little endian: the low bytes are the smaller type's value
  }
  if (!PyErr_Occurred() && fits(converted, code)) return true;
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "kernel argument %zd, %R, does not fit into parameter type '%c'", index, value,
               code);
  return false;
}

bool pack_float(PyObject* value, char code, Py_ssize_t index, unsigned long long* slot) {
  const double converted = PyFloat_AsDouble(value);
  if (converted == -1.0 && PyErr_Occurred()) return wrong_kind(value, "a number", index);
  const float narrow = static_cast<float>(converted);
  code == 'f' ? std::memcpy(slot, &narrow, sizeof narrow) : std::memcpy(slot, &converted, sizeof converted);
  return true;
}

bool wrong_size(PyObject* value, Py_ssize_t length, Py_ssize_t size, Py_ssize_t index) {
  PyErr_Format(PyExc_TypeError, "kernel argument %zd, %R, has %zd bytes, and the parameter %zd", index, value, length,
               size);
  return false;
}

// A plain int for a parameter of `size` bytes, whose sign is not known: whatever fits either way.
bool to_integer(PyObject* value, Py_ssize_t size, Py_ssize_t index, unsigned long long* bits) {
  if (size != 1 && size != 2 && size != 4 && size != 8) {
    PyErr_Format(PyExc_TypeError, "kernel argument %zd, %R, is an int, and the parameter has %zd bytes", index, value,
                 size);
    return false;
  }
  const long long number = PyLong_AsLongLong(value);
  bool fits = !(number == -1 && PyErr_Occurred());
  *bits = static_cast<unsigned long long>(number);
  if (!fits) {
    PyErr_Clear();
    *bits = PyLong_AsUnsignedLongLong(value);
    fits = size == 8 && !(*bits == ~0ull && PyErr_Occurred());
  } else if (size < 8) {
    fits = number >= -(1ll << (8 * size - 1)) && number < 1ll << (8 * size);
  }
  if (fits) return true;
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "kernel argument %zd, %R, does not fit into the %zd bytes of the parameter", index,
               value, size);
  return false;
}

}  // namespace

void KernelArguments::put(const void* data, size_t size) {
  const size_t start = storage_.size();
  std::memcpy(storage_.extend((size + 7) / 8), data, size);
  starts_.push_back(start);
}

bool KernelArguments::pack_array_interface(PyObject* description, Py_ssize_t index, void** pointer) {
  if (!PyDict_Check(description)) {
    PyErr_Format(PyExc_TypeError, "kernel argument %zd: its __cuda_array_interface__ is no dict", index);
    return false;
  }
  PyObject* data = PyDict_GetItemString(description, "data");  // borrowed, as the next
  if (data == nullptr || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) < 1) {
    PyErr_Format(PyExc_TypeError, "kernel argument %zd: its __cuda_array_interface__ has no address in 'data'", index);
    return false;
  }
  if (!read_pointer(PyTuple_GET_ITEM(data, 0), "a kernel argument", pointer)) return false;
  PyObject* stream = PyDict_GetItemString(description, "stream");
  if (stream == nullptr || stream == Py_None) return true;
  void* handle = nullptr;
  if (!read_pointer(stream, "the stream of __cuda_array_interface__", &handle)) return false;
  pending_.push_back(static_cast<infinirtStream_t>(handle));
  return true;
}

bool KernelArguments::pack_pointer(PyObject* value, Py_ssize_t index) {
  void* pointer = nullptr;
  if (is_buffer(value)) {
    auto* buffer = reinterpret_cast<BufferObject*>(value);
    if (!check_open(buffer)) return false;
    pointer = buffer->pointer;
    kept_.push_back(Py_NewRef(value));
  } else if (PyLong_Check(value)) {
    if (!read_pointer(value, "a kernel argument", &pointer)) return false;
  } else if (value != Py_None) {
    // PyTorch, Triton and others: tensors know their address. CuPy, Numba: they describe themselves.
    python::Ref address(PyObject_CallMethod(value, "data_ptr", nullptr));
    if (address) {
      if (!read_pointer(address.get(), "a kernel argument", &pointer)) return false;
    } else {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
      PyErr_Clear();
      python::Ref description(PyObject_GetAttrString(value, "__cuda_array_interface__"));
      if (!description) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError,
                     "kernel argument %zd: a pointer is given as Buffer, address, None or an object with data_ptr() or "
                     "__cuda_array_interface__, not as %.100s",
                     index, Py_TYPE(value)->tp_name);
        return false;
      }
      if (!pack_array_interface(description.get(), index, &pointer)) return false;
    }
    kept_.push_back(Py_NewRef(value));
  }
  put(&pointer, sizeof pointer);
  return true;
}

// NumPy's and ctypes' scalars and structures, and bytes: values that know how long they are.
// Asked for without formats: types of extensions, as ml_dtypes.bfloat16, have none.
bool KernelArguments::pack_bytes(PyObject* value, Py_ssize_t size, Py_ssize_t index) {
  Py_buffer view;
  if (PyObject_GetBuffer(value, &view, PyBUF_STRIDED_RO) < 0) return false;
  bool done = false;
  if (view.ndim != 0 && !PyBytes_Check(value)) {
    PyErr_Format(PyExc_TypeError,
                 "kernel argument %zd is an array of the host (%.100s); kernels work on device memory: copy it into a "
                 "Buffer",
                 index, Py_TYPE(value)->tp_name);
  } else if (size != kUnknown && view.len != size) {
    wrong_size(value, view.len, size, index);
  } else {
    put(view.buf, static_cast<size_t>(view.len));
    done = true;
  }
  PyBuffer_Release(&view);
  return done;
}

bool KernelArguments::pack_sized(PyObject* value, Py_ssize_t size, Py_ssize_t index) {
  if (PyLong_Check(value)) {  // bool is an int, too
    const Py_ssize_t wanted = size != kUnknown ? size : PyBool_Check(value) ? 1 : 8;
    unsigned long long bits = 0;
    if (!to_integer(value, wanted, index, &bits)) return false;
    put(&bits, static_cast<size_t>(wanted));  // little endian
    return true;
  }
  if (PyFloat_CheckExact(value)) {
    const double wide = PyFloat_AS_DOUBLE(value);
    const auto narrow = static_cast<float>(wide);
    if (size != 4 && size != 8 && size != kUnknown) {
      PyErr_Format(PyExc_TypeError,
                   "kernel argument %zd, %R, is a float, and the parameter has %zd bytes; give it a type, as "
                   "numpy.float16(...)",
                   index, value, size);
      return false;
    }
    size == 4 ? put(&narrow, sizeof narrow) : put(&wide, sizeof wide);
    return true;
  }
  if (PyComplex_CheckExact(value)) {
    const Py_complex number = PyComplex_AsCComplex(value);
    const double wide[2] = {number.real, number.imag};
    const float narrow[2] = {static_cast<float>(number.real), static_cast<float>(number.imag)};
    if (size != 8 && size != 16 && size != kUnknown) return wrong_size(value, 16, size, index);
    size == 8 ? put(narrow, sizeof narrow) : put(wide, sizeof wide);
    return true;
  }
  if (!is_buffer(value) && PyObject_CheckBuffer(value)) return pack_bytes(value, size, index);
  if (size != kUnknown && size != sizeof(void*)) {
    PyErr_Format(PyExc_TypeError, "kernel argument %zd is a pointer (%.100s), and the parameter has %zd bytes", index,
                 Py_TYPE(value)->tp_name, size);
    return false;
  }
  return pack_pointer(value, index);
}

bool KernelArguments::pack_typed(PyObject* value, char code, Py_ssize_t index) {
  unsigned long long slot = 0;
  bool done;
  switch (code) {
    case 'P':
      return pack_pointer(value, index);
    case 'f':
    case 'd':
      done = pack_float(value, code, index, &slot);
      break;
    case '?': {
      const int truth = PyObject_IsTrue(value);
      slot = truth == 1;
      done = truth >= 0;
      break;
    }
    default:
      done = pack_integer(value, code, index, &slot);
  }
  if (done) put(&slot, sizeof slot);
  return done;
}

bool KernelArguments::check_count(Py_ssize_t expected, Py_ssize_t given) const {
  if (given == expected) return true;
  PyErr_Format(PyExc_TypeError, "the kernel takes %zd argument%s, %zd %s given", expected, expected == 1 ? "" : "s",
               given, given == 1 ? "was" : "were");
  return false;
}

bool KernelArguments::pack(PyObject* layout, PyObject* const* values, Py_ssize_t count) {
  const bool typed = layout && PyBytes_Check(layout), sized = layout && PyTuple_Check(layout);
  if (typed && !check_count(PyBytes_GET_SIZE(layout), count)) return false;
  if (sized && !check_count(PyTuple_GET_SIZE(layout), count)) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* value = values[i];
    Py_ssize_t size = kUnknown;
    if (sized) {
      size = PyLong_AsSsize_t(PyTuple_GET_ITEM(layout, i));
      if (size == -1 && PyErr_Occurred()) return false;
    }
    if (!(typed ? pack_typed(value, PyBytes_AS_STRING(layout)[i], i) : pack_sized(value, size, i))) return false;
  }
  for (const size_t start : starts_) pointers_.push_back(storage_.data() + start);
  return true;
}

}  // namespace infinirt::objects
