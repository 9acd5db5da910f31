// Tensors: a shape with strides over memory that somebody owns.
#pragma once

#include <cstdint>
#include <memory>

#include "bindings/infinicore/dtype.h"
#include "bindings/infinicore/place.h"

namespace infinicore {

inline constexpr int kMaxDimensions = 64;

/// Memory that tensors lie in. All views of a tensor share one.
struct StorageObject {
  PyObject ob_base;
  PlaceObject* place;
  PyObject* owner;  // keeps the memory: an infinirt.Buffer, or an object of another library
  char* base;
  size_t size;
  // Others read or write it in place and know nothing of streams: a call that touches it is complete when it returns.
  bool is_shared;
  bool is_pinned;
  infinirtXCacheReserve_t reserve;  // of the recording that it was allocated in; 0: of none
  std::shared_ptr<bool>* life;  // with a reserve: true until the storage goes, for the recording to know
};

struct TensorObject {
  PyObject ob_base;
  Py_ssize_t ob_size;  // twice the number of dimensions
  StorageObject* storage;
  char* data;  // the address of the first element
  DtypeObject* dtype;  // borrowed: they live for ever
  size_t count;  // elements
  PyObject* weak_references;
  Py_ssize_t sizes[1];  // the shape, then the strides in elements

  int ndim() const { return static_cast<int>(ob_size / 2); }
  const Py_ssize_t* shape() const { return sizes; }
  const Py_ssize_t* strides() const { return sizes + ndim(); }
  PlaceObject* place() const { return storage->place; }
};

extern PyTypeObject* tensor_class;  // what tensors made here get: the Python class
extern PyTypeObject* storage_class;
PyTypeObject* make_tensor_type();
PyTypeObject* make_storage_type();

inline TensorObject* as_tensor(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }
inline PyObject* as_object(TensorObject* tensor) { return reinterpret_cast<PyObject*>(tensor); }
bool is_tensor(PyObject* object);

/// Whether it was made by a recording whose graph has not run: it has no values yet.
inline bool waits_for_run(const TensorObject* tensor) {
  const auto* waiting = tensor->storage->place->waiting_reserves;
  return waiting && tensor->storage->reserve && waiting->count(tensor->storage->reserve) != 0;
}

/// A contiguous tensor in new memory of the place; null with an exception.
TensorObject* new_tensor(PlaceObject* place, DtypeObject* dtype, int ndim, const Py_ssize_t* shape);

/// The number of elements and of bytes of a shape; false with ValueError set when memory cannot hold them.
bool count_elements(int ndim, const Py_ssize_t* shape, size_t item, size_t* count);

/// Waits for the place's stream. False with an exception.
bool synchronise(PlaceObject* place);

/// tensors: empty(), wrap(), ...; ends with an empty entry.
extern PyMethodDef tensor_functions[];

}  // namespace infinicore
