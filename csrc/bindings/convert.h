// Python arguments to C values.
//
// Every converter returns false with an exception set when the argument does not fit; `what` is the parameter's name.
#pragma once

#include <climits>
#include <cstdint>

#include "bindings/types.h"

namespace infinirt::python {

// ---- Numbers: ints, and whatever can become one ------------------------------------------------------------------------

bool to_u64_slow(PyObject* object, const char* what, unsigned long long* value);
bool to_i64_slow(PyObject* object, const char* what, long long* value);
bool out_of_range(PyObject* object, const char* what, const char* type);

// CPython converts to `long` and `size_t` digit by digit, to `long long` through a loop over bytes.
static_assert(sizeof(long) == sizeof(long long) && sizeof(size_t) == sizeof(unsigned long long));

/// The value of an int that has one digit of CPython's, as sizes, flags and enumerators mostly have. False: a longer one.
inline bool to_small(PyObject* object, long long* value) {
  auto* number = reinterpret_cast<PyLongObject*>(object);
#if PY_VERSION_HEX >= 0x030c0000
  if (!PyUnstable_Long_IsCompact(number)) return false;
  *value = PyUnstable_Long_CompactValue(number);
#else
  const Py_ssize_t sign = Py_SIZE(number);
  if (sign < -1 || sign > 1) return false;
  *value = sign * static_cast<long long>(number->ob_digit[0]);
#endif
  return true;
}

/// The value of an int that is not negative and has 64 bits, from CPython's digits; false: any other. Addresses have two digits: the
/// call that this saves costs as much as all other arguments when caches are cold.
inline bool to_word(PyObject* object, unsigned long long* value) {
  auto* number = reinterpret_cast<PyLongObject*>(object);
#if PyLong_SHIFT != 30 || PY_VERSION_HEX >= 0x030f0000
  (void)number;
  (void)value;
  return false;
#else
#if PY_VERSION_HEX >= 0x030c0000
  const auto* digits = number->long_value.ob_digit;
  if (number->long_value.lv_tag & 2) return false;  // negative
  const std::uintptr_t count = number->long_value.lv_tag >> 3;
#else
  const auto* digits = number->ob_digit;
  const Py_ssize_t count = Py_SIZE(number);
  if (count < 0) return false;
#endif
  unsigned long long word = count > 0 ? digits[0] : 0;
  if (count > 1) word |= static_cast<unsigned long long>(digits[1]) << 30;
  if (count > 2) {
    if (count > 3 || digits[2] >= 16) return false;
    word |= static_cast<unsigned long long>(digits[2]) << 60;
  }
  *value = word;
  return true;
#endif
}

[[gnu::always_inline]] inline bool to_u64(PyObject* object, const char* what, unsigned long long* value) {
  if (PyLong_Check(object)) [[likely]] {
    if (to_word(object, value)) [[likely]]
      return true;
    *value = PyLong_AsSize_t(object);
    if (*value != ~0ull || !PyErr_Occurred()) return true;
  }
  return to_u64_slow(object, what, value);
}

[[gnu::always_inline]] inline bool to_i64(PyObject* object, const char* what, long long* value) {
  if (PyLong_Check(object)) [[likely]] {
    if (to_small(object, value)) [[likely]]
      return true;
    *value = PyLong_AsLong(object);
    if (*value != -1 || !PyErr_Occurred()) return true;
  }
  return to_i64_slow(object, what, value);
}

inline bool to_size(PyObject* object, const char* what, size_t* value) {
  unsigned long long wide = 0;
  if (!to_u64(object, what, &wide)) return false;
  *value = wide;
  return true;
}

inline bool to_int(PyObject* object, const char* what, int* value) {
  long long wide = 0;
  if (!to_i64(object, what, &wide)) return false;
  *value = static_cast<int>(wide);
  if (*value == wide) [[likely]]
    return true;
  return out_of_range(object, what, "int");
}

inline bool to_uint(PyObject* object, const char* what, unsigned int* value) {
  unsigned long long wide = 0;
  if (!to_u64(object, what, &wide)) return false;
  *value = static_cast<unsigned int>(wide);
  return *value == wide || out_of_range(object, what, "unsigned int");
}

/// A member of the enum, or its value.
template <class E>
bool to_enum(PyObject* object, const char* what, E* value) {
  int number = 0;
  if (!to_int(object, what, &number)) return false;
  *value = static_cast<E>(number);
  return true;
}

// ---- Handles -----------------------------------------------------------------------------------------------------------

bool to_handle_slow(PyObject* object, int type, const char* what, std::uintptr_t* value);

/// A handle object of the type, None for null, or anything that can become an int. For streams also an object with
/// `__cuda_stream__`.
template <class H>
[[gnu::always_inline]] inline bool to_handle(PyObject* object, int type, const char* what, H* value) {
  std::uintptr_t number = 0;
  if (Py_IS_TYPE(object, handle_types[type])) [[likely]] {
    number = *reinterpret_cast<HandleObject*>(object)->place;
  } else if (!to_handle_slow(object, type, what, &number)) {
    return false;
  }
  *value = reinterpret_cast<H>(number);
  return true;
}

// ---- Pointers ----------------------------------------------------------------------------------------------------------

/// An address: an int (or what can become one), None for null, or an object with the buffer protocol, which is held for
/// the life of this.
class PointerArgument {
 public:
  PointerArgument() = default;
  PointerArgument(const PointerArgument&) = delete;
  PointerArgument& operator=(const PointerArgument&) = delete;
  ~PointerArgument() {
    if (held_) PyBuffer_Release(&view_);
  }

  bool take(PyObject* object, const char* what) {
    unsigned long long number = 0;
    if (PyLong_CheckExact(object) && to_word(object, &number)) [[likely]] {
      value_ = reinterpret_cast<void*>(number);
      return true;
    }
    return take_slow(object, what);
  }
  void* get() const { return value_; }

  /// Whether `count` bytes can be read there, or written, as far as that is known: of objects with a buffer. False with an exception.
  bool has(size_t count, bool writes, const char* what) const {
    return !held_ || (static_cast<size_t>(view_.len) >= count && !(writes && view_.readonly)) ||
           refuse(count, writes, what);
  }

 private:
  [[gnu::cold]] bool refuse(size_t count, bool writes, const char* what) const;
  bool take_slow(PyObject* object, const char* what);

  void* value_ = nullptr;
  bool held_ = false;
  Py_buffer view_;
};

/// Text for C: bytes, bytearray, or str as UTF-8. Borrowed from the object.
bool to_text(PyObject* object, const char* what, const char** value);

/// The address of a C function: an int, a function pointer object of this module, a ctypes function; None for null.
/// Sets `*is_python` instead if the object is a callable that none of these fits.
bool to_function(PyObject* object, const char* what, std::uintptr_t* address, bool* is_python);

// ---- Structs -----------------------------------------------------------------------------------------------------------

bool wrong_struct(PyObject* object, int type, const char* what);

inline bool is_struct(PyObject* object, int type) { return PyObject_TypeCheck(object, struct_types[type]); }

inline char* struct_data(PyObject* object) { return reinterpret_cast<StructObject*>(object)->data; }

/// The struct's memory; None for null.
template <class T>
bool to_struct_pointer(PyObject* object, int type, const char* what, T** value) {
  if (is_struct(object, type)) {
    *value = reinterpret_cast<T*>(struct_data(object));
    return true;
  }
  *value = nullptr;
  return object == Py_None || wrong_struct(object, type, what);
}

/// A copy of the struct.
template <class T>
bool to_struct(PyObject* object, int type, const char* what, T* value) {
  if (!is_struct(object, type)) return wrong_struct(object, type, what);
  *value = *reinterpret_cast<T*>(struct_data(object));
  return true;
}

/// A grid or block: a dim3, an int, or up to three ints.
bool to_dim3_slow(PyObject* object, const char* what, dim3* value);
inline bool to_dim3(PyObject* object, const char* what, dim3* value) {
  if (!Py_IS_TYPE(object, struct_types[kStruct_dim3])) return to_dim3_slow(object, what, value);
  *value = *reinterpret_cast<dim3*>(struct_data(object));
  return true;
}

}  // namespace infinirt::python
