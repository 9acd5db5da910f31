#include "bindings/infinicore/tensor.h"

#include <structmember.h>

#include <cstring>

#include "bindings/infinicore/explain.h"
#include "bindings/infinicore/operators.h"
#include "bindings/infinicore/recording.h"
#include "bindings/objects/arguments.h"

namespace infinicore {

PyTypeObject* tensor_class = nullptr;
PyTypeObject* storage_class = nullptr;

namespace {

PyTypeObject* tensor_base = nullptr;

StorageObject* new_storage(PlaceObject* place, PyObject* owner, void* base, size_t size) {
  auto* storage = reinterpret_cast<StorageObject*>(storage_class->tp_alloc(storage_class, 0));
  if (storage == nullptr) return nullptr;
  storage->place = place;
  Py_INCREF(place);
  storage->owner = Py_NewRef(owner);
  storage->base = static_cast<char*>(base);
  storage->size = size;
  return storage;
}

void storage_dealloc(PyObject* self) {
  auto* storage = reinterpret_cast<StorageObject*>(self);
  if (storage->life) {
    **storage->life = false;
    delete storage->life;
  }
  Py_XDECREF(storage->owner);
  Py_XDECREF(storage->place);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// A tensor over `storage`, whose reference is taken in any case. Strides null: contiguous.
TensorObject* new_view(StorageObject* storage, char* data, DtypeObject* dtype, int ndim, const Py_ssize_t* shape,
                       const Py_ssize_t* strides, size_t count) {
  auto* tensor = as_tensor(tensor_class->tp_alloc(tensor_class, 2 * ndim));
  if (tensor == nullptr) {
    Py_DECREF(storage);
    return nullptr;
  }
  tensor->storage = storage;
  tensor->data = data;
  tensor->dtype = dtype;
  tensor->count = count;
  std::memcpy(tensor->sizes, shape, sizeof(Py_ssize_t) * static_cast<size_t>(ndim));
  if (strides) {
    std::memcpy(tensor->sizes + ndim, strides, sizeof(Py_ssize_t) * static_cast<size_t>(ndim));
  } else {
    Py_ssize_t step = 1;
    for (int d = ndim; d-- > 0;) {
      tensor->sizes[ndim + d] = step;
      step *= shape[d] > 1 ? shape[d] : 1;
    }
  }
  return tensor;
}

void tensor_dealloc(PyObject* self) {
  TensorObject* tensor = as_tensor(self);
  if (tensor->weak_references) PyObject_ClearWeakRefs(self);
  Py_XDECREF(tensor->storage);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// Sizes or strides out of a sequence of integers. False with an exception.
bool read_sizes(PyObject* given, const char* name, bool may_be_negative, Py_ssize_t* sizes, int* count) {
  Ref items(PyUnicode_Check(given) ? nullptr : PySequence_Fast(given, ""));
  if (!items) {
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Format(PyExc_TypeError, "%s must be a list of integers, not %.100s", name, Py_TYPE(given)->tp_name);
    }
    return false;
  }
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(items.get());
  if (length > kMaxDimensions) {
    PyErr_Format(PyExc_ValueError, "%s has %zd entries; at most %d dimensions are possible", name, length,
                 kMaxDimensions);
    return false;
  }
  for (Py_ssize_t i = 0; i < length; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    sizes[i] = PyNumber_AsSsize_t(item, PyExc_OverflowError);
    if (sizes[i] == -1 && PyErr_Occurred()) {
      if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Format(PyExc_TypeError, "%s[%zd] must be an integer, not %.100s", name, i, Py_TYPE(item)->tp_name);
      } else if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%s[%zd] is %R, which is too large", name, i, item);
      }
      return false;
    }
    if (sizes[i] < 0 && !may_be_negative) {
      PyErr_Format(PyExc_ValueError, "%s[%zd] is %zd; a size is 0 or more", name, i, sizes[i]);
      return false;
    }
  }
  *count = static_cast<int>(length);
  return true;
}

// Where the elements lie, in bytes from the first: [low, high). False with ValueError set where that is no place in memory.
bool read_extent(int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, size_t item, Py_ssize_t* low,
                 Py_ssize_t* high) {
  *low = 0;
  *high = static_cast<Py_ssize_t>(item);
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] == 0) return *low = *high = 0, true;
  }
  for (int d = 0; d < ndim; ++d) {
    Py_ssize_t reach = 0;
    Py_ssize_t& end = strides[d] < 0 ? *low : *high;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) ||
        __builtin_mul_overflow(reach, static_cast<Py_ssize_t>(item), &reach) ||
        __builtin_add_overflow(end, reach, &end) || *high > PTRDIFF_MAX / 4 || *low < -(PTRDIFF_MAX / 4)) {
      PyErr_Format(PyExc_ValueError, "stride %zd of dimension %d, of size %zd, is too large for any memory", strides[d],
                   d, shape[d]);
      return false;
    }
  }
  return true;
}

PyObject* list_of(const Py_ssize_t* numbers, int count) {
  Ref list(PyList_New(count));
  for (int i = 0; list && i < count; ++i) {
    PyObject* number = PyLong_FromSsize_t(numbers[i]);
    if (number == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), i, number);
  }
  return list.release();
}

PyObject* one_of(TensorObject* tensor, const Py_ssize_t* numbers, PyObject* const* args, Py_ssize_t count,
                 const char* function) {
  if (count > 1) return PyErr_Format(PyExc_TypeError, "%s() takes one dimension at most", function);
  if (count == 0 || args[0] == Py_None) return list_of(numbers, tensor->ndim());
  Py_ssize_t dim = PyNumber_AsSsize_t(args[0], PyExc_IndexError);
  if (dim == -1 && PyErr_Occurred()) {
    explain_argument(function, "dim", "an integer", args[0]);
    return nullptr;
  }
  if (dim < -tensor->ndim() || dim >= tensor->ndim()) {
    return PyErr_Format(PyExc_IndexError, "%s(%zd): the tensor has %d dimension%s", function, dim, tensor->ndim(),
                        tensor->ndim() == 1 ? "" : "s");
  }
  return PyLong_FromSsize_t(numbers[dim < 0 ? dim + tensor->ndim() : dim]);
}

PyObject* tensor_size(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return one_of(as_tensor(self), as_tensor(self)->shape(), args, count, "size");
}
PyObject* tensor_stride(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return one_of(as_tensor(self), as_tensor(self)->strides(), args, count, "stride");
}
PyObject* tensor_numel(PyObject* self, PyObject*) { return PyLong_FromSize_t(as_tensor(self)->count); }
PyObject* tensor_data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(as_tensor(self)->data); }
PyObject* tensor_is_pinned(PyObject* self, PyObject*) { return PyBool_FromLong(as_tensor(self)->storage->is_pinned); }

PyObject* tensor_is_contiguous(PyObject* self, PyObject*) {
  const TensorObject* tensor = as_tensor(self);
  Py_ssize_t step = 1;
  for (int d = tensor->ndim(); tensor->count != 0 && d-- > 0;) {
    if (tensor->shape()[d] == 1) continue;
    if (tensor->strides()[d] != step) Py_RETURN_FALSE;
    step *= tensor->shape()[d];
  }
  Py_RETURN_TRUE;
}

// _strided(shape, strides, offset): a view whose first element lies `offset` elements after this one's. Every element of it must
// lie in the memory that the tensor is a part of.
PyObject* tensor_strided(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  TensorObject* tensor = as_tensor(self);
  if (count != 3) return PyErr_Format(PyExc_TypeError, "_strided() takes a shape, strides and an offset");
  Py_ssize_t shape[kMaxDimensions], strides[kMaxDimensions];
  int ndim = 0, given = 0;
  if (!read_sizes(args[0], "size", false, shape, &ndim) || !read_sizes(args[1], "stride", true, strides, &given))
    return nullptr;
  if (ndim != given) {
    return PyErr_Format(PyExc_ValueError, "size has %d entries and stride %d; one for each dimension was expected",
                        ndim, given);
  }
  const Py_ssize_t offset = PyNumber_AsSsize_t(args[2], PyExc_OverflowError);
  if (offset == -1 && PyErr_Occurred()) {
    explain_argument("as_strided", "storage_offset", "an integer", args[2]);
    return nullptr;
  }
  const size_t item = tensor->dtype->size;
  size_t elements = 0;
  Py_ssize_t low = 0, high = 0, begin = 0;
  if (!count_elements(ndim, shape, item, &elements) || !read_extent(ndim, shape, strides, item, &low, &high))
    return nullptr;
  const StorageObject* storage = tensor->storage;
  const Py_ssize_t at = tensor->data - storage->base;
  const bool fits = !__builtin_mul_overflow(offset, static_cast<Py_ssize_t>(item), &begin) &&
                    !__builtin_add_overflow(begin, at, &begin) && begin <= PTRDIFF_MAX / 4 &&
                    begin >= -(PTRDIFF_MAX / 4) && begin + low >= 0 &&
                    begin + high <= static_cast<Py_ssize_t>(storage->size);
  if (!fits && elements != 0) {
    return PyErr_Format(PyExc_ValueError,
                        "the view would reach from byte %zd to byte %zd of memory that has %zu bytes; sizes, strides "
                        "and offset must stay inside",
                        begin + low, begin + high, storage->size);
  }
  return as_object(new_view(reinterpret_cast<StorageObject*>(Py_NewRef(reinterpret_cast<PyObject*>(tensor->storage))),
                            elements ? storage->base + begin : tensor->data, tensor->dtype, ndim, shape, strides,
                            elements));
}

// A part of the tensor's elements, or all of them in another order, which cannot leave its memory.
PyObject* part_of(const TensorObject* tensor, char* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides,
                  size_t elements) {
  auto* storage = reinterpret_cast<StorageObject*>(Py_NewRef(reinterpret_cast<PyObject*>(tensor->storage)));
  return as_object(new_view(storage, data, tensor->dtype, ndim, shape, strides, elements));
}

// _permuted(dim, ...): the dimensions in this order; None where they are not each of them once, so that the caller can say what is wrong.
PyObject* tensor_permuted(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  const TensorObject* tensor = as_tensor(self);
  const int ndim = tensor->ndim();
  if (count != ndim) Py_RETURN_NONE;
  Py_ssize_t shape[kMaxDimensions], strides[kMaxDimensions];
  uint64_t seen = 0;
  for (int d = 0; d < ndim; ++d) {
    if (!PyLong_CheckExact(args[d])) Py_RETURN_NONE;
    Py_ssize_t from = PyLong_AsSsize_t(args[d]);
    if (from == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
    if (from < -ndim || from >= ndim) Py_RETURN_NONE;
    if (from < 0) from += ndim;
    if (seen >> from & 1) Py_RETURN_NONE;
    seen |= uint64_t{1} << from;
    shape[d] = tensor->shape()[from];
    strides[d] = tensor->strides()[from];
  }
  return part_of(tensor, tensor->data, ndim, shape, strides, tensor->count);
}

// _narrowed(dim, start, length): so many elements of a dimension; None where there are none such, likewise.
PyObject* tensor_narrowed(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  const TensorObject* tensor = as_tensor(self);
  const int ndim = tensor->ndim();
  Py_ssize_t given[3];
  if (count != 3) Py_RETURN_NONE;
  for (int i = 0; i < 3; ++i) {
    if (!PyLong_CheckExact(args[i])) Py_RETURN_NONE;
    given[i] = PyLong_AsSsize_t(args[i]);
    if (given[i] == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      Py_RETURN_NONE;
    }
  }
  const auto [dim, start, length] = given;
  if (dim < -ndim || dim >= ndim) Py_RETURN_NONE;
  const Py_ssize_t at = dim < 0 ? dim + ndim : dim, size = tensor->shape()[at];
  const Py_ssize_t first = start < 0 ? start + size : start;
  if (length < 0 || first < 0 || length > size || first > size - length) Py_RETURN_NONE;
  Py_ssize_t shape[kMaxDimensions];
  std::memcpy(shape, tensor->shape(), sizeof(Py_ssize_t) * static_cast<size_t>(ndim));
  shape[at] = length;
  const size_t elements = size ? tensor->count / static_cast<size_t>(size) * static_cast<size_t>(length) : 0;
  const Py_ssize_t offset = elements ? first * tensor->strides()[at] * Py_ssize_t(tensor->dtype->size) : 0;
  return part_of(tensor, tensor->data + offset, ndim, shape, tensor->strides(), elements);
}

PyObject* tensor_share(PyObject* self, PyObject*) {
  StorageObject* storage = as_tensor(self)->storage;
  PlaceObject* place = storage->place;
  if (storage->reserve) {
    try {
      if (!place->shared_reserves) place->shared_reserves = new std::unordered_set<infinirtXCacheReserve_t>;
      place->shared_reserves->insert(storage->reserve);
    } catch (const std::bad_alloc&) {
      return PyErr_NoMemory();
    }
  }
  storage->is_shared = true;
  ++place->shares;
  Py_RETURN_NONE;
}

PyObject* get_shape(PyObject* self, void*) { return list_of(as_tensor(self)->shape(), as_tensor(self)->ndim()); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(as_tensor(self)->ndim()); }
PyObject* get_dtype(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_tensor(self)->dtype)); }
PyObject* get_device(PyObject* self, void*) { return Py_NewRef(as_tensor(self)->place()->device); }
PyObject* get_place(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_tensor(self)->place())); }
PyObject* get_owner(PyObject* self, void*) { return Py_NewRef(as_tensor(self)->storage->owner); }
PyObject* get_storage(PyObject* self, void*) {
  const StorageObject* storage = as_tensor(self)->storage;
  return Py_BuildValue("(Nn)", PyLong_FromVoidPtr(storage->base), static_cast<Py_ssize_t>(storage->size));
}
PyObject* get_shared(PyObject* self, void*) { return PyBool_FromLong(as_tensor(self)->storage->is_shared); }

PyObject* get_recorded(PyObject* self, void*) {
  const Recording* recording = recording_of(as_tensor(self)->place());
  return PyBool_FromLong(recording && recording->reserve() == as_tensor(self)->storage->reserve);
}

PyObject* get_waits(PyObject* self, void*) { return PyBool_FromLong(waits_for_run(as_tensor(self))); }

PyObject* refuse(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "tensors are made by functions: empty, zeros, from_numpy and others");
  return nullptr;
}

template <Symbol Which>
PyObject* binary(PyObject* first, PyObject* second) {
  return apply(Which, first, second, false);
}
template <Symbol Which>
PyObject* in_place(PyObject* first, PyObject* second) {
  return apply(Which, first, second, true);
}

// In subclasses `__iadd__` is a sequence's slot as well. Where numbers do not answer Python asks that one, and would take
// NotImplemented for the sum.
PyObject* add_in_place(PyObject* first, PyObject* second) {
  PyObject* sum = apply(Symbol::Add, first, second, true);
  if (sum != Py_NotImplemented) return sum;
  Py_DECREF(sum);
  return PyNumber_Add(first, second);
}

template <Symbol Which>
PyObject* unary(PyObject* tensor) {
  return apply(Which, tensor);
}

// pow() of three numbers is of integers that are not tensors.
PyObject* power(PyObject* first, PyObject* second, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return apply(Symbol::Power, first, second, false);
}
PyObject* power_in_place(PyObject* first, PyObject* second, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return apply(Symbol::Power, first, second, true);
}

PyObject* compare(PyObject* first, PyObject* second, int how) {
  static constexpr Symbol symbols[] = {Symbol::Lt, Symbol::Le, Symbol::Eq, Symbol::Ne, Symbol::Gt, Symbol::Ge};
  return apply(symbols[how], first, second, false);
}

// Comparison is of elements; a tensor as a key is itself.
Py_hash_t hash(PyObject* self) { return PyBaseObject_Type.tp_hash(self); }

#define FAST(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL

PyMethodDef methods[] = {
    {"size", FAST(tensor_size), "size($self, dim=None, /)\n--\n\nThe shape, or the size of one dimension."},
    {"stride", FAST(tensor_stride),
     "stride($self, dim=None, /)\n--\n\nThe strides, in elements, or that of one dimension."},
    {"numel", tensor_numel, METH_NOARGS, "numel($self, /)\n--\n\nThe number of elements."},
    {"data_ptr", tensor_data_ptr, METH_NOARGS, "data_ptr($self, /)\n--\n\nThe address of the first element."},
    {"is_pinned", tensor_is_pinned, METH_NOARGS,
     "is_pinned($self, /)\n--\n\nWhether the memory is page-locked memory of the host."},
    {"is_contiguous", tensor_is_contiguous, METH_NOARGS,
     "is_contiguous($self, /)\n--\n\nWhether the elements lie side by side, the last dimension densest."},
    {"_strided", FAST(tensor_strided), nullptr},
    {"_permuted", FAST(tensor_permuted), nullptr},
    {"_narrowed", FAST(tensor_narrowed), nullptr},
    {"_share", tensor_share, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"shape", get_shape, nullptr, "The sizes of the dimensions, as a new list.", nullptr},
                            {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
                            {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
                            {"device", get_device, nullptr, "The device that the memory belongs to.", nullptr},
                            {"_place", get_place, nullptr, nullptr, nullptr},
                            {"_owner", get_owner, nullptr, nullptr, nullptr},
                            {"_storage", get_storage, nullptr, nullptr, nullptr},
                            {"_is_shared", get_shared, nullptr, nullptr, nullptr},
                            {"_is_recorded", get_recorded, nullptr, nullptr, nullptr},
                            {"_waits_for_run", get_waits, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {const_cast<char*>("__weaklistoffset__"), T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot tensor_slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, properties},
                              {Py_tp_members, members},
                              {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                              {Py_tp_hash, reinterpret_cast<void*>(hash)},
                              {Py_nb_add, reinterpret_cast<void*>(binary<Symbol::Add>)},
                              {Py_nb_subtract, reinterpret_cast<void*>(binary<Symbol::Sub>)},
                              {Py_nb_multiply, reinterpret_cast<void*>(binary<Symbol::Mul>)},
                              {Py_nb_true_divide, reinterpret_cast<void*>(binary<Symbol::Div>)},
                              {Py_nb_floor_divide, reinterpret_cast<void*>(binary<Symbol::FloorDiv>)},
                              {Py_nb_remainder, reinterpret_cast<void*>(binary<Symbol::Remainder>)},
                              {Py_nb_power, reinterpret_cast<void*>(power)},
                              {Py_nb_and, reinterpret_cast<void*>(binary<Symbol::And>)},
                              {Py_nb_or, reinterpret_cast<void*>(binary<Symbol::Or>)},
                              {Py_nb_xor, reinterpret_cast<void*>(binary<Symbol::Xor>)},
                              {Py_nb_lshift, reinterpret_cast<void*>(binary<Symbol::LeftShift>)},
                              {Py_nb_rshift, reinterpret_cast<void*>(binary<Symbol::RightShift>)},
                              {Py_nb_negative, reinterpret_cast<void*>(unary<Symbol::Negative>)},
                              {Py_nb_absolute, reinterpret_cast<void*>(unary<Symbol::Absolute>)},
                              {Py_nb_invert, reinterpret_cast<void*>(unary<Symbol::Invert>)},
                              {Py_nb_inplace_remainder, reinterpret_cast<void*>(in_place<Symbol::Remainder>)},
                              {Py_nb_inplace_power, reinterpret_cast<void*>(power_in_place)},
                              {Py_nb_inplace_and, reinterpret_cast<void*>(in_place<Symbol::And>)},
                              {Py_nb_inplace_or, reinterpret_cast<void*>(in_place<Symbol::Or>)},
                              {Py_nb_inplace_xor, reinterpret_cast<void*>(in_place<Symbol::Xor>)},
                              {Py_nb_inplace_lshift, reinterpret_cast<void*>(in_place<Symbol::LeftShift>)},
                              {Py_nb_inplace_rshift, reinterpret_cast<void*>(in_place<Symbol::RightShift>)},
                              {Py_nb_inplace_add, reinterpret_cast<void*>(add_in_place)},
                              {Py_nb_inplace_subtract, reinterpret_cast<void*>(in_place<Symbol::Sub>)},
                              {Py_nb_inplace_multiply, reinterpret_cast<void*>(in_place<Symbol::Mul>)},
                              {Py_nb_inplace_true_divide, reinterpret_cast<void*>(in_place<Symbol::Div>)},
                              {Py_nb_inplace_floor_divide, reinterpret_cast<void*>(in_place<Symbol::FloorDiv>)},
                              {Py_tp_doc, const_cast<char*>("What tensors are made of; use infinicore.Tensor.")},
                              {0, nullptr}};

PyType_Spec tensor_spec = {"infinicore._core.TensorBase", offsetof(TensorObject, sizes), sizeof(Py_ssize_t),
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, tensor_slots};

PyType_Slot storage_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)}, {0, nullptr}};
PyType_Spec storage_spec = {"infinicore._core.Storage", sizeof(StorageObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, storage_slots};

bool read_place_and_dtype(PyObject* place, PyObject* dtype) {
  if (!is_place(place)) {
    PyErr_Format(PyExc_TypeError, "a Place was expected, not %.100s", Py_TYPE(place)->tp_name);
    return false;
  }
  if (!is_dtype(dtype)) {
    PyErr_Format(PyExc_TypeError, "dtype must be one of infinicore's, as infinicore.float32, not %R", dtype);
    return false;
  }
  return check_open(reinterpret_cast<PlaceObject*>(place));
}

// empty(place, dtype, shape). No place: the current one.
PyObject* empty(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3) return PyErr_Format(PyExc_TypeError, "empty() takes a place, a dtype and a shape");
  Py_ssize_t shape[kMaxDimensions];
  int ndim = 0;
  Ref place(args[0] == Py_None ? reinterpret_cast<PyObject*>(current_place()) : Py_NewRef(args[0]));
  if (!place || !read_place_and_dtype(place.get(), args[1]) || !read_sizes(args[2], "size", false, shape, &ndim))
    return nullptr;
  return as_object(
      new_tensor(reinterpret_cast<PlaceObject*>(place.get()), reinterpret_cast<DtypeObject*>(args[1]), ndim, shape));
}

// filled(place, dtype, shape, element): the same, with an element's bytes everywhere.
PyObject* filled(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4) return PyErr_Format(PyExc_TypeError, "filled() takes a place, a dtype, a shape and an element");
  Ref made(empty(nullptr, args, 3));
  return made && fill(args[3], made.get()) ? made.release() : nullptr;
}

// wrap(place, dtype, shape, strides, address, owner, shared, pinned): a tensor over memory that `owner` keeps.
PyObject* wrap(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 8) return PyErr_Format(PyExc_TypeError, "wrap() takes eight arguments");
  Py_ssize_t shape[kMaxDimensions], strides[kMaxDimensions];
  int ndim = 0, given = 0;
  void* address = nullptr;
  if (!read_place_and_dtype(args[0], args[1]) || !read_sizes(args[2], "size", false, shape, &ndim) ||
      !read_sizes(args[3], "strides", true, strides, &given) ||
      !infinirt::objects::read_pointer(args[4], "data_ptr", &address))
    return nullptr;
  if (ndim != given) {
    return PyErr_Format(PyExc_ValueError, "size has %d entries and strides %d; one for each dimension was expected",
                        ndim, given);
  }
  auto* dtype = reinterpret_cast<DtypeObject*>(args[1]);
  size_t elements = 0;
  Py_ssize_t low = 0, high = 0;
  if (!count_elements(ndim, shape, dtype->size, &elements) ||
      !read_extent(ndim, shape, strides, dtype->size, &low, &high))
    return nullptr;
  if (elements != 0 && address == nullptr) {
    return PyErr_Format(PyExc_ValueError, "data_ptr is 0, but there are %zu elements", elements);
  }
  char* data = static_cast<char*>(address);
  StorageObject* storage = new_storage(reinterpret_cast<PlaceObject*>(args[0]), args[5], elements ? data + low : data,
                                       static_cast<size_t>(high - low));
  if (storage == nullptr) return nullptr;
  storage->is_shared = PyObject_IsTrue(args[6]) == 1;
  storage->is_pinned = PyObject_IsTrue(args[7]) == 1;
  return as_object(new_view(storage, data, dtype, ndim, shape, strides, elements));
}

// register_tensor(class): what tensors are from now on.
PyObject* register_tensor(PyObject*, PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_base)) {
    return PyErr_Format(PyExc_TypeError, "a class made of TensorBase was expected, not %R", type);
  }
  tensor_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  Py_RETURN_NONE;
}

PyObject* dtype_by_number(PyObject*, PyObject* given) {
  const long number = PyLong_AsLong(given);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  if (number <= INFINI_DTYPE_INVALID || number > INFINI_DTYPE_BF16) {
    return PyErr_Format(PyExc_ValueError, "there is no element type %ld", number);
  }
  return Py_NewRef(reinterpret_cast<PyObject*>(dtype_of(static_cast<infiniDtype_t>(number))));
}

}  // namespace

// Tensors and None: bytes that are the same for the same place, types, shapes, strides, and whether others use the memory, too.
// None for anything else, for tensors of several places, of a closed one, and for none at all.
static PyObject* signature(PyObject*, PyObject* const* args, Py_ssize_t count) {
  constexpr Py_ssize_t kMost = 256;
  int64_t words[kMost];
  Py_ssize_t used = 1;
  const PlaceObject* place = nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (used == kMost) Py_RETURN_NONE;
    if (args[i] == Py_None) {
      words[used++] = -1;
      continue;
    }
    if (!is_tensor(args[i])) Py_RETURN_NONE;
    const TensorObject* tensor = as_tensor(args[i]);
    if (place == nullptr) place = tensor->place();
    if (tensor->place() != place || used + 1 + tensor->ob_size > kMost) Py_RETURN_NONE;
    words[used++] = tensor->dtype->number << 16 | tensor->storage->is_shared << 8 | tensor->ndim();
    for (Py_ssize_t s = 0; s < tensor->ob_size; ++s) words[used++] = tensor->sizes[s];
  }
  if (place == nullptr || place->closed.load(std::memory_order_relaxed)) Py_RETURN_NONE;
  words[0] = static_cast<int64_t>(place->number);
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words), used * Py_ssize_t(sizeof *words));
}

PyMethodDef tensor_functions[] = {{"empty", FAST(empty), nullptr},
                                  {"filled", FAST(filled), nullptr},
                                  {"wrap", FAST(wrap), nullptr},
                                  {"signature", FAST(signature), nullptr},
                                  {"register_tensor", register_tensor, METH_O, nullptr},
                                  {"dtype_by_number", dtype_by_number, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

PyTypeObject* make_tensor_type() {
  return tensor_base = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&tensor_spec));
}
PyTypeObject* make_storage_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&storage_spec)); }

bool is_tensor(PyObject* object) { return Py_TYPE(object) == tensor_class || PyObject_TypeCheck(object, tensor_base); }

bool count_elements(int ndim, const Py_ssize_t* shape, size_t item, size_t* count) {
  size_t elements = 1, full = item;
  bool too_large = false;
  for (int d = 0; d < ndim; ++d) {
    elements *= static_cast<size_t>(shape[d]);
    too_large |= __builtin_mul_overflow(full, shape[d] > 1 ? static_cast<size_t>(shape[d]) : 1, &full);
    too_large |= full > PTRDIFF_MAX / 4;
  }
  *count = elements;
  if (!too_large) return true;
  Ref sizes(list_of(shape, ndim));
  if (sizes) PyErr_Format(PyExc_ValueError, "a tensor of size %R is larger than any memory", sizes.get());
  return false;
}

TensorObject* new_tensor(PlaceObject* place, DtypeObject* dtype, int ndim, const Py_ssize_t* shape) {
  size_t count = 0;
  if (!count_elements(ndim, shape, dtype->size, &count)) return nullptr;
  const size_t bytes = count * dtype->size;
  const Recording* recording = recording_of(place);
  Ref buffer(allocate(place, bytes));
  if (!buffer) return nullptr;
  void* pointer = nullptr;
  size_t size = 0;
  if (!objects->buffer_memory(buffer.get(), &pointer, &size)) return nullptr;
  StorageObject* storage = new_storage(place, buffer.get(), pointer, bytes);
  if (storage == nullptr) return nullptr;
  if (recording) {
    storage->reserve = recording->reserve();
    try {
      storage->life = new std::shared_ptr<bool>(std::make_shared<bool>(true));
    } catch (const std::bad_alloc&) {
      Py_DECREF(storage);
      PyErr_NoMemory();
      return nullptr;
    }
  }
  return new_view(storage, static_cast<char*>(pointer), dtype, ndim, shape, nullptr, count);
}

bool synchronise(PlaceObject* place) {
  const infinirtStream_t stream = place->stream_handle;
  auto wait = [&] { return runtime.StreamSynchronize(stream); };
  const infinirtError_t error =
      without_lock(true, [&] { return place->needs_device ? on_device(place->stream, wait) : wait(); });
  if (error != infinirtSuccess) objects->raise_error(error);
  return error == infinirtSuccess;
}

}  // namespace infinicore
