// Tensors as DLPack capsules, both directions. Who waits for whom is settled in Python, before.
#include "bindings/infinicore/dlpack.h"

#include <memory>
#include <new>
#include <vector>

#include "bindings/infinicore/tensor.h"
#include "bindings/objects/dlpack_abi.h"

namespace infinicore {

namespace dlpack = infinirt::objects::dlpack;

namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kUsedName = "used_dltensor";
constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

// Codes of DLPack for kinds of numbers.
enum : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6, kFloat8E4M3FN = 10 };

dlpack::DataType type_of(const DtypeObject* dtype) {
  const auto bits = static_cast<uint8_t>(8 * dtype->size);
  if (dtype->number == INFINI_DTYPE_BF16) return {kBfloat, bits, 1};
  if (dtype->number == INFINI_DTYPE_F8) return {kFloat8E4M3FN, bits, 1};
  const uint8_t code = dtype->kind == 'b'   ? kBool
                       : dtype->kind == 'i' ? kInt
                       : dtype->kind == 'u' ? kUInt
                       : dtype->kind == 'f' ? kFloat
                                            : kComplex;
  return {code, bits, 1};
}

template <class Managed>
struct Exported {
  Managed managed = {};
  std::vector<int64_t> sizes;
  PyObject* tensor = nullptr;
};

// Consumers call this from any thread, with or without the interpreter's lock.
template <class Managed>
void delete_exported(Managed* managed) {
  auto* exported = static_cast<Exported<Managed>*>(managed->context);
  if (Py_IsInitialized()) {
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(exported->tensor);
    PyGILState_Release(state);
  }
  delete exported;
}

template <class Managed>
Managed* describe(TensorObject* tensor, dlpack::Device device) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->sizes.assign(tensor->sizes, tensor->sizes + tensor->ob_size);
  int64_t* sizes = exported->sizes.data();
  exported->managed.tensor = {tensor->count ? tensor->data : nullptr,
                              device,
                              tensor->ndim(),
                              type_of(tensor->dtype),
                              sizes,
                              sizes + tensor->ndim(),
                              0};
  exported->managed.context = exported.get();
  exported->managed.deleter = delete_exported<Managed>;
  exported->tensor = Py_NewRef(as_object(tensor));
  return &exported.release()->managed;
}

template <class Managed>
PyObject* make_capsule(Managed* managed, const char* name) {
  PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* unused) {
    // Its name is still the one we gave it: nobody took it.
    const char* given = sizeof(Managed) == sizeof(dlpack::Managed) ? kName : kVersionedName;
    if (!PyCapsule_IsValid(unused, given)) return;
    auto* left = static_cast<Managed*>(PyCapsule_GetPointer(unused, given));
    left->deleter(left);
  });
  if (capsule == nullptr) managed->deleter(managed);
  return capsule;
}

// export_dlpack(tensor, device_type, device_id, versioned)
PyObject* export_dlpack(PyObject*, PyObject* args) try {
  PyObject* given = nullptr;
  int type = 0, id = 0, versioned = 0;
  if (!PyArg_ParseTuple(args, "Oiip", &given, &type, &id, &versioned)) return nullptr;
  if (!is_tensor(given)) return PyErr_Format(PyExc_TypeError, "a Tensor was expected, not %R", given);
  const dlpack::Device device = {type, id};
  if (!versioned) return make_capsule(describe<dlpack::Managed>(as_tensor(given), device), kName);
  auto* managed = describe<dlpack::ManagedVersioned>(as_tensor(given), device);
  managed->version = {dlpack::kMajor, 0};
  return make_capsule(managed, kVersionedName);
} catch (const std::bad_alloc&) {
  return PyErr_NoMemory();
}

DtypeObject* dtype_from(dlpack::DataType type) {
  for (int number = INFINI_DTYPE_BOOL; number <= INFINI_DTYPE_BF16; ++number) {
    DtypeObject* dtype = dtype_of(static_cast<infiniDtype_t>(number));
    const dlpack::DataType own = type_of(dtype);
    if (own.code == type.code && own.bits == type.bits && type.lanes == 1) return dtype;
  }
  return nullptr;
}

// Takes a capsule's tensor over; what it returns keeps it.
template <class Managed>
PyObject* take(PyObject* capsule, Managed* managed, const char* used) {
  const dlpack::Tensor& tensor = managed->tensor;
  DtypeObject* dtype = dtype_from(tensor.dtype);
  if (dtype == nullptr) {
    return PyErr_Format(PyExc_BufferError, "DLPack type (code %d, %d bits, %d lanes) is no element type of infinicore",
                        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  }
  Ref shape(PyList_New(tensor.ndim)), strides(PyList_New(tensor.ndim));
  if (!shape || !strides) return nullptr;
  int64_t step = 1;
  for (int d = tensor.ndim; d-- > 0;) {
    PyObject* size = PyLong_FromLongLong(tensor.shape[d]);
    PyObject* stride = PyLong_FromLongLong(tensor.strides ? tensor.strides[d] : step);
    step *= tensor.shape[d];
    if (size) PyList_SET_ITEM(shape.get(), d, size);
    if (stride) PyList_SET_ITEM(strides.get(), d, stride);
    if (!size || !stride) return nullptr;
  }
  Ref owner(PyCapsule_New(managed, "infinicore.dlpack_owner", [](PyObject* held) {
    auto* kept = static_cast<Managed*>(PyCapsule_GetPointer(held, "infinicore.dlpack_owner"));
    if (kept && kept->deleter) kept->deleter(kept);
  }));
  if (!owner) return nullptr;
  if (PyCapsule_SetName(capsule, used) < 0 || PyCapsule_SetDestructor(capsule, nullptr) < 0) {
    PyCapsule_SetDestructor(owner.get(), nullptr);  // still the capsule's
    return nullptr;
  }
  void* address = tensor.data ? static_cast<char*>(tensor.data) + tensor.byte_offset : nullptr;
  return Py_BuildValue("(NOOOO)", PyLong_FromVoidPtr(address), reinterpret_cast<PyObject*>(dtype), shape.get(),
                       strides.get(), owner.get());
}

// import_dlpack(capsule): (address, dtype, shape, strides, owner)
PyObject* import_dlpack(PyObject*, PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedName)) {
    auto* managed = static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
    if (managed->version.major != dlpack::kMajor) {
      return PyErr_Format(PyExc_BufferError, "DLPack %u.%u is not known here", managed->version.major,
                          managed->version.minor);
    }
    if (managed->flags & dlpack::kReadOnly) {
      return PyErr_Format(PyExc_BufferError, "the memory is read-only, and tensors can be written; copy it first");
    }
    return take(capsule, managed, kUsedVersionedName);
  }
  if (PyCapsule_IsValid(capsule, kName)) {
    return take(capsule, static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, kName)), kUsedName);
  }
  return PyErr_Format(PyExc_TypeError, "an unused DLPack capsule was expected, not %R", capsule);
}

}  // namespace

PyMethodDef dlpack_functions[] = {{"export_dlpack", export_dlpack, METH_VARARGS, nullptr},
                                  {"import_dlpack", import_dlpack, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace infinicore
