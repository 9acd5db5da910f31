// What functions return: (error, outputs...). After a failure the outputs are None.
#pragma once

#include "bindings/types.h"

namespace infinirt::python {

/// (success,) and (not ready,): returned so often that they are made once.
extern PyObject* success_tuple;
extern PyObject* not_ready_tuple;

/// (success, n) for small n: device numbers, counts, flags.
inline constexpr long kReadyNumbers = 16;
extern PyObject* number_tuples[kReadyNumbers];

bool make_result_tuples();

PyObject* failure(infinirtError_t error, int outputs);

/// The result of a function without outputs.
[[gnu::always_inline]] inline PyObject* status(infinirtError_t error) {
  if (error == infinirtSuccess) [[likely]]
    return new_reference(success_tuple);
  if (error == infinirtErrorNotReady) return new_reference(not_ready_tuple);
  return failure(error, 0);
}

/// (success, outputs...). Takes the references; an output that is null is an exception on its way.
template <class... Output>
PyObject* success(Output... outputs) {
  PyObject* tuple = ((outputs != nullptr) && ...) ? PyTuple_New(1 + sizeof...(outputs)) : nullptr;
  if (tuple == nullptr) {
    (Py_XDECREF(outputs), ...);
    return nullptr;
  }
  PyTuple_SET_ITEM(tuple, 0, enum_member(enum_types[kEnum_infinirtError_t], infinirtSuccess));
  Py_ssize_t index = 0;
  (PyTuple_SET_ITEM(tuple, ++index, outputs), ...);
  return tuple;
}

/// The same for a single number.
inline PyObject* success_number(long value) {
  if (value >= 0 && value < kReadyNumbers) return new_reference(number_tuples[value]);
  return success(PyLong_FromLong(value));
}

inline PyObject* from_pointer(const void* value) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<unsigned long long>(value));
}

/// (success, address) of the last results, by address: allocators give the same ones again and again, and making the tuple
/// and its number costs as much as the rest of the call. Without an interpreter lock nothing is kept.
struct KeptAddress {
  const void* address;
  PyObject* result;
};
inline constexpr unsigned kKeptAddressBits = 8;
extern KeptAddress kept_addresses[1u << kKeptAddressBits];
PyObject* keep_address(KeptAddress& place, const void* address);

inline PyObject* success_address(const void* address) {
#ifdef Py_GIL_DISABLED
  return success(from_pointer(address));
#else
  const auto mixed = (reinterpret_cast<std::uintptr_t>(address) >> 8) * 0x9e3779b97f4a7c15ull;
  KeptAddress& place = kept_addresses[mixed >> (64 - kKeptAddressBits)];
  if (place.address == address && place.result != nullptr) return new_reference(place.result);
  return keep_address(place, address);
#endif
}

inline PyObject* from_bytes(const char* text) { return PyBytes_FromString(text == nullptr ? "" : text); }
inline PyObject* from_text(const char* text) {
  return PyUnicode_DecodeUTF8(text == nullptr ? "" : text, text == nullptr ? 0 : (Py_ssize_t)__builtin_strlen(text),
                              "replace");
}
template <class H>
PyObject* from_handle(int type, H value) {
  return new_handle(handle_types[type], reinterpret_cast<std::uintptr_t>(value));
}
template <class H>
PyObject* from_handles(int type, const H* values, size_t count) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!list) return nullptr;
  for (size_t i = 0; i < count; ++i) {
    PyObject* item = from_handle(type, values[i]);
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list.release();
}
template <class T>
PyObject* from_struct(int type, const T& value) {
  StructObject* made = new_struct(struct_types[type], struct_descriptions[type].size);
  if (made != nullptr) __builtin_memcpy(made->data, &value, sizeof value);
  return reinterpret_cast<PyObject*>(made);
}
template <class T>
PyObject* from_structs(int type, const T* values, size_t count) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!list) return nullptr;
  for (size_t i = 0; i < count; ++i) {
    PyObject* item = from_struct(type, values[i]);
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list.release();
}

}  // namespace infinirt::python
