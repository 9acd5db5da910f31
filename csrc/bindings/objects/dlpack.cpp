// DLPack, both directions: a Buffer is one dimension of bytes.
#include <cstring>

#include "bindings/objects/arguments.h"
#include "bindings/objects/buffer.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/dlpack_abi.h"
#include "bindings/objects/stream.h"

namespace infinirt::objects {

namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kOwnerName = "infinirt_dlpack_owner";

bool is_cuda(const DeviceObject* device) { return std::strcmp(device->type, "nvidia") == 0; }

// Memory that the host reads in place is the CPU's to everybody else, whichever device of ours it belongs to.
dlpack::Device device_of(const BufferObject* buffer) {
  if (buffer->size == 0 ? !buffer->device->is_accelerator : host_address(buffer) != nullptr) return {dlpack::kCpu, 0};
  return {is_cuda(buffer->device) ? dlpack::kCuda : dlpack::kExtension, buffer->device->ordinal};
}

template <class M>
struct Exported {
  M managed;
  int64_t shape;
  PyObject* buffer;
};

// Consumers call this from any thread, with or without the interpreter's lock.
template <class M>
void delete_exported(M* managed) {
  auto* exported = static_cast<Exported<M>*>(managed->context);
  Interpreter interpreter;
  if (interpreter) {
    whole(reinterpret_cast<BufferObject*>(exported->buffer))->exports.fetch_sub(1);
    Py_DECREF(exported->buffer);
  }
  delete exported;
}

// A capsule that nobody consumed: its name is still the one we gave it.
template <class M>
void delete_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class M>
PyObject* make_capsule(BufferObject* buffer, dlpack::Device device, const char* name, PyCapsule_Destructor unused) {
  auto* exported = new Exported<M>{};
  exported->shape = static_cast<int64_t>(buffer->size);
  exported->buffer = Py_NewRef(reinterpret_cast<PyObject*>(buffer));
  exported->managed.context = exported;
  exported->managed.deleter = delete_exported<M>;
  exported->managed.tensor = {buffer->pointer, device, 1, {dlpack::kUnsigned, 8, 1}, &exported->shape, nullptr, 0};
  whole(buffer)->exports.fetch_add(1);
  PyObject* capsule = PyCapsule_New(&exported->managed, name, unused);
  if (capsule == nullptr) delete_exported(&exported->managed);
  return capsule;
}

bool read_pair(PyObject* pair, const char* name, long* first, long* second) {
  if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2) {
    *first = PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
    *second = PyLong_AsLong(PyTuple_GET_ITEM(pair, 1));
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
  }
  PyErr_Format(PyExc_TypeError, "%s must be a pair of numbers, not %R", name, pair);
  return false;
}

// Makes the consumer's stream wait for our work, or the host where the host is the consumer.
bool hand_over(BufferObject* buffer, dlpack::Device device, PyObject* consumer) {
  if (device.type == dlpack::kCpu) {
    if (consumer != Py_None) {
      PyErr_SetString(PyExc_BufferError, "__dlpack__: stream must be None for memory of the CPU");
      return false;
    }
    return wait_for_work(buffer);
  }
  long long number = 1;
  if (consumer != Py_None) number = PyLong_AsLongLong(consumer);
  if (PyErr_Occurred()) return false;
  if (number == -1) return true;
  if (number == 0 || number < -1) {
    PyErr_Format(
        PyExc_ValueError,
        "__dlpack__: stream %lld has no meaning; 1 is the legacy stream, 2 the per-thread one, -1 asks for no order",
        number);
    return false;
  }
  python::Ref target(new_stream(reinterpret_cast<infinirtStream_t>(number), buffer->device, nullptr, false));
  if (!target) return false;
  BufferObject* all = whole(buffer);
  static PyObject* const wait = PyUnicode_InternFromString("wait");
  auto wait_on = [&](PyObject* stream) {
    auto* producer = reinterpret_cast<StreamObject*>(stream);
    if (is_out_of_reach(producer) || producer->handle == reinterpret_cast<StreamObject*>(target.get())->handle)
      return true;
    python::Ref done(PyObject_CallMethodOneArg(target.get(), wait, stream));
    return static_cast<bool>(done);
  };
  python::Ref own(field_of(all, all->stream));
  if (own && !wait_on(own.get())) return false;
  for (const auto& other : other_streams(all, false)) {
    if (!wait_on(other.get())) return false;
  }
  return true;
}

void delete_imported(PyObject* capsule) {
  void* managed = PyCapsule_GetPointer(capsule, kOwnerName);
  if (PyCapsule_GetContext(capsule)) {
    auto* tensor = static_cast<dlpack::ManagedVersioned*>(managed);
    if (tensor->deleter) tensor->deleter(tensor);
  } else {
    auto* tensor = static_cast<dlpack::Managed*>(managed);
    if (tensor->deleter) tensor->deleter(tensor);
  }
}

bool is_compact(const dlpack::Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

}  // namespace

PyObject* buffer_dlpack_device(PyObject* self, PyObject*) {
  if (!check_open(reinterpret_cast<BufferObject*>(self))) return nullptr;
  const dlpack::Device device = device_of(reinterpret_cast<BufferObject*>(self));
  return Py_BuildValue("(ii)", device.type, device.id);
}

PyObject* buffer_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* buffer = reinterpret_cast<BufferObject*>(self);
  drain_deferred();
  if (count > 0) return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments only");
  static const Signature signature("__dlpack__", {"stream", "max_version", "dl_device", "copy"}, 0);
  PyObject* values[4] = {Py_None, Py_None, Py_None, Py_None};
  if (!signature.read(args, count, names, values) || !check_open(buffer)) return nullptr;
  long major = 0, minor = 0, device_type = 0, device_id = 0;
  if (values[1] != Py_None && !read_pair(values[1], "max_version", &major, &minor)) return nullptr;
  const bool versioned = major >= 1;
  dlpack::Device device = device_of(buffer);
  python::Ref copied;
  const bool elsewhere = values[2] != Py_None && (!read_pair(values[2], "dl_device", &device_type, &device_id) ||
                                                  device_type != device.type || device_id != device.id);
  if (PyErr_Occurred()) return nullptr;
  if (elsewhere || values[3] == Py_True) {
    if (values[3] == Py_False) {
      PyErr_SetString(PyExc_BufferError,
                      "__dlpack__: another device was asked for and copy=False; leave copy out to get a copy there");
      return nullptr;
    }
    // Rare, and done in Python: _dlpack_copy gives a Buffer on the device asked for, its work done.
    copied = python::Ref(PyObject_CallMethod(self, "_dlpack_copy", "ii",
                                             static_cast<int>(elsewhere ? device_type : device.type),
                                             static_cast<int>(elsewhere ? device_id : device.id)));
    if (!copied) return nullptr;
    buffer = reinterpret_cast<BufferObject*>(copied.get());
    device = device_of(buffer);
  }
  if (buffer->read_only && !versioned) {
    PyErr_SetString(PyExc_BufferError, "read-only memory needs a consumer that understands DLPack 1.0 (max_version)");
    return nullptr;
  }
  if (!hand_over(buffer, device, values[0])) return nullptr;
  if (!versioned) {
    return make_capsule<dlpack::Managed>(buffer, device, kName,
                                         [](PyObject* c) { delete_unused<dlpack::Managed>(c, kName); });
  }
  PyObject* capsule = make_capsule<dlpack::ManagedVersioned>(
      buffer, device, kVersionedName, [](PyObject* c) { delete_unused<dlpack::ManagedVersioned>(c, kVersionedName); });
  if (capsule == nullptr) return nullptr;
  auto* managed = static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
  managed->major = dlpack::kMajor;
  managed->minor = dlpack::kMinor;
  managed->flags = (buffer->read_only ? dlpack::kReadOnly : 0) | (copied ? dlpack::kIsCopied : 0);
  return capsule;
}

// Takes the tensor out of a capsule: (address, bytes, device type, device number, read-only, owner).
PyObject* import_dlpack(PyObject*, PyObject* capsule) {
  const bool versioned = PyCapsule_IsValid(capsule, kVersionedName);
  if (!versioned && !PyCapsule_IsValid(capsule, kName)) {
    return PyErr_Format(PyExc_BufferError, "an unused DLPack capsule was expected, not %R", capsule);
  }
  const char* name = versioned ? kVersionedName : kName;
  void* managed = PyCapsule_GetPointer(capsule, name);
  const auto* new_form = static_cast<dlpack::ManagedVersioned*>(managed);
  if (versioned && new_form->major != dlpack::kMajor) {
    return PyErr_Format(PyExc_BufferError, "the tensor has DLPack version %u.%u; version 1 is understood",
                        new_form->major, new_form->minor);
  }
  const dlpack::Tensor& tensor = versioned ? new_form->tensor : static_cast<dlpack::Managed*>(managed)->tensor;
  if (!is_compact(tensor)) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous; make a contiguous copy first");
    return nullptr;
  }
  uint64_t bytes = (static_cast<uint64_t>(tensor.dtype.bits) * tensor.dtype.lanes + 7) / 8;
  for (int i = 0; i < tensor.ndim; ++i) bytes *= static_cast<uint64_t>(tensor.shape[i]);
  PyObject* owner = PyCapsule_New(managed, kOwnerName, delete_imported);
  if (owner == nullptr) return nullptr;
  PyCapsule_SetContext(owner, versioned ? owner : nullptr);
  PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
  PyCapsule_SetDestructor(capsule, nullptr);
  return Py_BuildValue("(KKiiNN)",
                       static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset),
                       static_cast<unsigned long long>(bytes), tensor.device.type, tensor.device.id,
                       PyBool_FromLong(versioned && (new_form->flags & dlpack::kReadOnly)), owner);
}

}  // namespace infinirt::objects
