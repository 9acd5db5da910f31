// Lists and tuples as C arrays. Each class owns its array and whatever the elements borrow from.
#pragma once

#include <cstring>

#include "bindings/convert.h"

namespace infinirt::python {

/// A C array of `T`, inside the object while it is short.
template <class T>
class Array {
 public:
  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    if (data_ != inline_) PyMem_Free(data_);
  }

  /// Cleared memory for `count` elements; false with MemoryError set. Called once.
  bool resize(size_t count) {
    if (count > kInline) {
      data_ = static_cast<T*>(PyMem_Calloc(count, sizeof(T)));
      if (data_ == nullptr) {
        data_ = inline_;
        PyErr_NoMemory();
        return false;
      }
    } else {
      std::memset(static_cast<void*>(inline_), 0, sizeof inline_);
    }
    count_ = count;
    return true;
  }

  /// The function is told of `needed` elements; RuntimeError if there are fewer.
  bool has(size_t needed, const char* what) const {
    if (needed <= count_) return true;
    PyErr_Format(PyExc_RuntimeError, "%s: List is too small: %zu < %zu", what, count_, needed);
    return false;
  }

  size_t size() const { return count_; }
  T& operator[](size_t index) { return data_[index]; }
  /// Null when there are no elements.
  T* get() { return count_ == 0 ? nullptr : data_; }

 private:
  static constexpr size_t kInline = 8;
  T inline_[kInline];
  T* data_ = inline_;
  size_t count_ = 0;
};

/// Calls `convert(item, &element)` for each item of a list or tuple; None is an empty one.
template <class T, class Convert>
bool to_array(PyObject* object, const char* what, Array<T>* array, Convert convert) {
  if (object == Py_None) return array->resize(0);
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s: expected a list or a tuple, not %s", what, Py_TYPE(object)->tp_name);
    return false;
  }
  // A tuple of our own: converting an item may run Python code, which could change the list.
  Ref items(PySequence_Tuple(object));
  if (!items) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
  if (!array->resize(static_cast<size_t>(count))) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!convert(PyTuple_GET_ITEM(items.get(), i), &(*array)[static_cast<size_t>(i)])) return false;
  }
  return true;
}

template <class H>
bool to_handle_array(PyObject* object, int type, const char* what, Array<H>* array) {
  return to_array(object, what, array, [=](PyObject* item, H* out) { return to_handle(item, type, what, out); });
}

template <class T>
bool to_struct_array(PyObject* object, int type, const char* what, Array<T>* array) {
  return to_array(object, what, array, [=](PyObject* item, T* out) { return to_struct(item, type, what, out); });
}

template <class E>
bool to_enum_array(PyObject* object, const char* what, Array<E>* array) {
  return to_array(object, what, array, [=](PyObject* item, E* out) { return to_enum(item, what, out); });
}

inline bool to_size_array(PyObject* object, const char* what, Array<size_t>* array) {
  return to_array(object, what, array, [=](PyObject* item, size_t* out) { return to_size(item, what, out); });
}

inline bool to_int_array(PyObject* object, const char* what, Array<int>* array) {
  return to_array(object, what, array, [=](PyObject* item, int* out) { return to_int(item, what, out); });
}

/// Addresses; buffers among the items are held for the life of this.
class PointerArray {
 public:
  PointerArray() = default;
  PointerArray(const PointerArray&) = delete;
  PointerArray& operator=(const PointerArray&) = delete;
  ~PointerArray() {
    for (size_t i = 0; i < arguments_.size(); ++i) delete arguments_[i];
  }

  bool take(PyObject* object, const char* what) {
    if (!to_array(object, what, &arguments_, [=](PyObject* item, PointerArgument** out) {
          *out = new PointerArgument;
          return (*out)->take(item, what);
        })) {
      return false;
    }
    if (!addresses_.resize(arguments_.size())) return false;
    for (size_t i = 0; i < arguments_.size(); ++i) addresses_[i] = arguments_[i]->get();
    return true;
  }
  bool has(size_t needed, const char* what) const { return addresses_.has(needed, what); }
  void** get() { return addresses_.get(); }

 private:
  Array<PointerArgument*> arguments_;
  Array<void*> addresses_;
};

}  // namespace infinirt::python
