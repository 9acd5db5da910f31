#include "bindings/field.h"

#include <cstring>

#include "bindings/convert.h"
#include "bindings/kernel_params.h"

namespace infinirt::python {
namespace {

StructObject* as_struct(PyObject* self) { return reinterpret_cast<StructObject*>(self); }

template <class T>
T read(const char* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

template <class T>
void write(char* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

std::size_t element_size(const Field& field) {
  return field.kind == FieldKind::StructList ? struct_descriptions[field.type].size : sizeof(void*);
}

// ---- Lists behind a pointer: the elements live in a bytes object that the struct keeps ----------------------------------

std::size_t list_length(PyObject* self, const Field& field, const char* place) {
  char* elements = read<char*>(place);
  if (elements == nullptr) return 0;
  PyObject* kept = kept_for(as_struct(self), place);
  if (kept != nullptr && PyBytes_Check(kept) && PyBytes_AS_STRING(kept) == elements) {
    return static_cast<std::size_t>(PyBytes_GET_SIZE(kept)) / element_size(field);
  }
  const char* count = as_struct(self)->data + field.count_offset;
  return field.count_is_size ? read<std::size_t>(count) : read<unsigned int>(count);
}

PyObject* get_list(PyObject* self, const Field& field, const char* place) {
  const std::size_t length = list_length(self, field, place);
  char* elements = read<char*>(place);
  Ref list(PyList_New(static_cast<Py_ssize_t>(length)));
  if (!list) return nullptr;
  for (std::size_t i = 0; i < length; ++i) {
    char* element = elements + i * element_size(field);
    PyObject* item = field.kind == FieldKind::StructList
                         ? new_struct_view(struct_types[field.type], element, self)
                         : new_handle_view(handle_types[field.type], reinterpret_cast<std::uintptr_t*>(element), self);
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list.release();
}

bool set_list(PyObject* self, const Field& field, char* place, PyObject* value) {
  Ref items(PySequence_Tuple(value));
  if (!items) return false;
  const Py_ssize_t length = PyTuple_GET_SIZE(items.get());
  const std::size_t size = element_size(field);
  if (length == 0) {
    write<void*>(place, nullptr);
    return keep_for(as_struct(self), place, nullptr);
  }
  Ref bytes(PyBytes_FromStringAndSize(nullptr, length * static_cast<Py_ssize_t>(size)));
  if (!bytes) return false;
  char* elements = PyBytes_AS_STRING(bytes.get());
  for (Py_ssize_t i = 0; i < length; ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    char* element = elements + static_cast<std::size_t>(i) * size;
    if (field.kind == FieldKind::StructList) {
      if (!is_struct(item, field.type)) return wrong_struct(item, field.type, field.name);
      std::memcpy(element, struct_data(item), size);
    } else {
      void* handle = nullptr;
      if (!to_handle(item, field.type, field.name, &handle)) return false;
      write(element, handle);
    }
  }
  if (!keep_for(as_struct(self), place, bytes.get())) return false;
  write<void*>(place, elements);
  return true;
}

// ---- Arrays in the struct -----------------------------------------------------------------------------------------------

template <class T>
PyObject* get_array(const Field& field, const char* place, PyObject* (*make)(T)) {
  Ref list(PyList_New(field.length));
  if (!list) return nullptr;
  for (std::uint32_t i = 0; i < field.length; ++i) {
    PyObject* item = make(read<T>(place + i * sizeof(T)));
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), i, item);
  }
  return list.release();
}

bool set_array(const Field& field, char* place, PyObject* value) {
  Ref items(PySequence_Tuple(value));
  if (!items) return false;
  if (PyTuple_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(field.length)) {
    PyErr_Format(PyExc_IndexError, "%s: expected %u values, not %zd", field.name, field.length,
                 PyTuple_GET_SIZE(items.get()));
    return false;
  }
  constexpr std::uint32_t kLongest = 64;
  int numbers[kLongest];
  if (field.length > kLongest) {
    PyErr_Format(PyExc_SystemError, "%s: array too long for the binding", field.name);
    return false;
  }
  for (std::uint32_t i = 0; i < field.length; ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (field.kind == FieldKind::Int32Array) {
      if (!to_int(item, field.name, &numbers[i])) return false;
    } else {
      unsigned int number = 0;
      if (!to_uint(item, field.name, &number)) return false;
      numbers[i] = static_cast<int>(number);
    }
  }
  std::memcpy(place, numbers, field.length * sizeof(int));
  return true;
}

// Text may be shorter than its array and is then filled with zeros; other bytes must fit exactly.
bool set_bytes(const Field& field, char* place, PyObject* value) {
  Ref bytes(PyUnicode_Check(value) ? PyUnicode_AsUTF8String(value) : PyBytes_FromObject(value));
  if (!bytes) return false;
  const Py_ssize_t size = PyBytes_GET_SIZE(bytes.get());
  const auto room = static_cast<Py_ssize_t>(field.length);
  if (field.kind == FieldKind::Bytes ? size != room : size > room) {
    PyErr_Format(PyExc_ValueError, "%s length must be %s%zd, is %zd", field.name,
                 field.kind == FieldKind::Bytes ? "" : "at most ", room, size);
    return false;
  }
  std::memset(place, 0, field.length);
  std::memcpy(place, PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(size));
  return true;
}

// ---- Pointers ---------------------------------------------------------------------------------------------------------

// A buffer is held through a memoryview for as long as the struct points at it.
bool set_pointer(PyObject* self, const Field& field, char* place, PyObject* value) {
  PointerArgument pointer;
  if (!pointer.take(value, field.name)) return false;
  Ref keeper;
  if (value != Py_None && !PyLong_Check(value) && PyObject_CheckBuffer(value) && !PyIndex_Check(value)) {
    keeper = Ref(PyMemoryView_FromObject(value));
    if (!keeper) return false;
  }
  if (!keep_for(as_struct(self), place, keeper.get())) return false;
  write(place, pointer.get());
  return true;
}

bool set_host_function(PyObject* self, const Field& field, char* place, PyObject* value) {
  std::uintptr_t address = 0;
  bool is_python = false;
  if (!to_function(value, field.name, &address, &is_python)) return false;
  if (is_python) {
    PyErr_Format(PyExc_TypeError,
                 "%s: a struct cannot own a Python function; give a ctypes function (ctypes.CFUNCTYPE(None, "
                 "ctypes.c_void_p)(f)), or record infinirtLaunchHostFunc in a capture",
                 field.name);
    return false;
  }
  const bool owns = value != Py_None && !PyLong_Check(value);
  if (!keep_for(as_struct(self), place, owns ? value : nullptr)) return false;
  write(place, address);
  return true;
}

bool set_kernel_params(PyObject* self, const Field& field, char* place, PyObject* value) {
  void** params = nullptr;
  PyObject* made = nullptr;
  if (!to_kernel_params(value, field.name, &params, &made)) return false;
  Ref keeper(made);
  if (!keep_for(as_struct(self), place, keeper.get())) return false;
  write(place, params);
  return true;
}

template <class T, class Wide>
bool set_small(const Field& field, char* place, PyObject* value, bool (*convert)(PyObject*, const char*, Wide*),
               const char* type) {
  Wide wide{};
  if (!convert(value, field.name, &wide)) return false;
  if (static_cast<Wide>(static_cast<T>(wide)) != wide) return out_of_range(value, field.name, type);
  write(place, static_cast<T>(wide));
  return true;
}

}  // namespace

PyObject* get_field(PyObject* self, const Field& field) {
  char* place = as_struct(self)->data + field.offset;
  switch (field.kind) {
    case FieldKind::UInt8:
      return PyLong_FromUnsignedLong(read<std::uint8_t>(place));
    case FieldKind::UInt16:
      return PyLong_FromUnsignedLong(read<std::uint16_t>(place));
    case FieldKind::Int32:
      return PyLong_FromLong(read<std::int32_t>(place));
    case FieldKind::UInt32:
      return PyLong_FromUnsignedLong(read<std::uint32_t>(place));
    case FieldKind::Int64:
      return PyLong_FromLongLong(read<std::int64_t>(place));
    case FieldKind::UInt64:
      return PyLong_FromUnsignedLongLong(read<std::uint64_t>(place));
    case FieldKind::Float:
      return PyFloat_FromDouble(read<float>(place));
    case FieldKind::Enum:
      return enum_member(enum_types[field.type], read<int>(place));
    case FieldKind::Pointer:
    case FieldKind::Address:
    case FieldKind::KernelParams:
      return PyLong_FromUnsignedLongLong(read<std::uintptr_t>(place));
    case FieldKind::Handle:
    case FieldKind::HostFunction:
      return new_handle_view(handle_types[field.type], reinterpret_cast<std::uintptr_t*>(place), self);
    case FieldKind::Struct:
      return new_struct_view(struct_types[field.type], place, self);
    case FieldKind::StructList:
    case FieldKind::HandleList:
      return get_list(self, field, place);
    case FieldKind::Text:
      return PyBytes_FromStringAndSize(place, static_cast<Py_ssize_t>(strnlen(place, field.length)));
    case FieldKind::Bytes:
      return PyBytes_FromStringAndSize(place, field.length);
    case FieldKind::Int32Array:
      return get_array<int>(field, place, [](int value) { return PyLong_FromLong(value); });
    case FieldKind::UInt32Array:
      return get_array<unsigned int>(field, place, [](unsigned int value) { return PyLong_FromUnsignedLong(value); });
  }
  Py_UNREACHABLE();
}

bool set_field(PyObject* self, const Field& field, PyObject* value) {
  char* place = as_struct(self)->data + field.offset;
  switch (field.kind) {
    case FieldKind::UInt8:
      return set_small<std::uint8_t>(field, place, value, to_u64, "unsigned char");
    case FieldKind::UInt16:
      return set_small<std::uint16_t>(field, place, value, to_u64, "unsigned short");
    case FieldKind::Int32:
      return set_small<std::int32_t>(field, place, value, to_i64, "int");
    case FieldKind::UInt32:
      return set_small<std::uint32_t>(field, place, value, to_u64, "unsigned int");
    case FieldKind::Int64:
      return set_small<std::int64_t>(field, place, value, to_i64, "long long");
    case FieldKind::UInt64:
    case FieldKind::Address:
      return set_small<std::uint64_t>(field, place, value, to_u64, "unsigned long long");
    case FieldKind::Enum:
      return set_small<std::int32_t>(field, place, value, to_i64, "int");
    case FieldKind::Float: {
      const double number = PyFloat_AsDouble(value);
      if (number == -1.0 && PyErr_Occurred()) return false;
      write(place, static_cast<float>(number));
      return true;
    }
    case FieldKind::Pointer:
      return set_pointer(self, field, place, value);
    case FieldKind::KernelParams:
      return set_kernel_params(self, field, place, value);
    case FieldKind::HostFunction:
      return set_host_function(self, field, place, value);
    case FieldKind::Handle: {
      void* handle = nullptr;
      if (!to_handle(value, field.type, field.name, &handle)) return false;
      write(place, handle);
      return true;
    }
    case FieldKind::Struct: {
      if (!is_struct(value, field.type)) return wrong_struct(value, field.type, field.name);
      std::memmove(place, struct_data(value), struct_descriptions[field.type].size);
      // What the other struct's pointers refer to has to live as long as ours. No pointer stands at an odd address, so
      // this does not collide with what one of them keeps.
      return keep_for(as_struct(self), place + 1, keeps_something(as_struct(value)) ? value : nullptr);
    }
    case FieldKind::StructList:
    case FieldKind::HandleList:
      return set_list(self, field, place, value);
    case FieldKind::Text:
    case FieldKind::Bytes:
      return set_bytes(field, place, value);
    case FieldKind::Int32Array:
    case FieldKind::UInt32Array:
      return set_array(field, place, value);
  }
  Py_UNREACHABLE();
}

}  // namespace infinirt::python
