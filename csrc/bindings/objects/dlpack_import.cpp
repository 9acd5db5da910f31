// Other people's memory as Buffers: DLPack capsules, the C exchange of DLPack 1.3, and the buffer protocol.
#include <cstring>

#include "bindings/objects/deferred.h"
#include "bindings/objects/dlpack.h"

namespace infinirt::objects {

namespace dlpack {

namespace {

bool is_empty(const Tensor& tensor) {
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
  }
  return false;
}

bool is_compact(const Tensor& tensor) {
  if (tensor.strides == nullptr || is_empty(tensor)) return true;
  int64_t expected = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

constexpr const char* kOwnerName = "infinirt_dlpack_owner";

template <class M>
void let_go(PyObject* capsule) {
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, kOwnerName));
  if (managed->deleter) managed->deleter(managed);
}

template <class M>
PyObject* adopt_tensor(M* managed, uint64_t flags, PyObject* stream) {
  const Tensor& tensor = managed->tensor;
  if (!is_compact(tensor)) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous; make a contiguous copy first");
    return nullptr;
  }
  size_t bytes = 0;
  DeviceObject* device = device_for(tensor.device);
  if (device == nullptr || !byte_size(tensor, flags, &bytes)) return nullptr;
  auto* address = static_cast<char*>(tensor.data);
  if (address != nullptr) address += tensor.byte_offset;
  python::Ref owner(PyCapsule_New(managed, kOwnerName, nullptr));
  if (!owner) return nullptr;
  BufferObject* buffer = new_buffer(address, bytes, device, nullptr, stream, owner.get());
  if (buffer == nullptr) return nullptr;
  buffer->read_only = (flags & kReadOnly) != 0;
  PyCapsule_SetDestructor(owner.get(), let_go<M>);  // from here on it is ours
  return reinterpret_cast<PyObject*>(buffer);
}

// Raises BufferError instead of what was raised, and says that too.
void raise_unusable(Device device) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  python::Ref reason(value ? PyObject_Str(value) : nullptr);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_Clear();
  PyErr_Format(PyExc_BufferError, "memory of DLPack device (%d, %d) cannot be used by any device here: %V",
               static_cast<int>(device.type), static_cast<int>(device.id), reason.get(),
               "no device type has such memory");
}

DeviceObject* current_or(const char* type) {
  if (infinirtXGetChosenDeviceType() == nullptr) return device_at(type, 0);
  DeviceObject* current = current_device();
  if (current == nullptr || std::strncmp(current->type, type, std::strlen(type)) == 0) return current;
  return device_at(type, 0);
}

// The older tables of a type's chain, down to one that is understood; null: none is.
const Exchange* understood(const ExchangeHeader* header) {
  while (header != nullptr && header->version.major != kMajor) header = header->previous;
  return reinterpret_cast<const Exchange*>(header);
}

// What the class of an object offers; null without an exception: nothing that can be used.
const Exchange* exchange_of(PyObject* object) {
  static PyObject* const attribute = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  python::Ref capsule(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(object)), attribute));
  if (!capsule) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
    return nullptr;
  }
  if (!PyCapsule_IsValid(capsule.get(), kExchangeName)) return nullptr;
  return understood(static_cast<const ExchangeHeader*>(PyCapsule_GetPointer(capsule.get(), kExchangeName)));
}

// Our stream, after what the producer's has been given so far. Null with an exception set.
PyObject* stream_after_producer(const Exchange* exchange, Device device, PyObject* given) {
  DeviceObject* ours = device_for(device);
  if (ours == nullptr) return nullptr;
  void* current = nullptr;
  if (exchange->current_work_stream(static_cast<DeviceType>(device.type), device.id, &current) != 0) return nullptr;
  // Null is the legacy stream, as in every call of the runtime.
  auto* handle = current ? static_cast<infinirtStream_t>(current) : reinterpret_cast<infinirtStream_t>(uintptr_t{1});
  python::Ref producer(new_stream(handle, ours, nullptr, false)), stream(stream_from(given, ours));
  if (!producer || !stream) return nullptr;
  auto* from = reinterpret_cast<StreamObject*>(producer.get());
  auto* to = reinterpret_cast<StreamObject*>(stream.get());
  if (is_same_stream(from, to)) return stream.release();
  const infinirtError_t error =
      without_gil(ours->may_block, [&] { return on_stream(to, [&](infinirtStream_t s) { return join(s, from); }); });
  return error == infinirtSuccess ? stream.release() : raise_error(error);
}

}  // namespace

DeviceObject* device_for(Device device) {
  DeviceObject* found = nullptr;
  switch (device.type) {
    case kCpu:
      found = current_or("cpu");
      break;
    case kCuda:
    case kCudaManaged:
      found = device_at("nvidia", device.id);
      break;
    case kCudaHost:
      found = device_at("nvidia", device.id);
      if (found) break;
      PyErr_Clear();  // it is memory of the host all the same
      found = current_or("cpu");
      break;
    case kExtension:
      found = current_device();
      if (found) found = device_at(found->type, device.id);
      break;
    default:
      break;
  }
  if (found == nullptr) raise_unusable(device);
  return found;
}

bool byte_size(const Tensor& tensor, uint64_t flags, size_t* bytes) {
  uint64_t bits = uint64_t{tensor.dtype.bits} * tensor.dtype.lanes;
  if (flags & kIsPadded) bits = (bits + 7) / 8 * 8;
  bool fits = true;
  for (int i = 0; i < tensor.ndim && !is_empty(tensor); ++i)
    fits = fits && tensor.shape[i] > 0 && !__builtin_mul_overflow(bits, static_cast<uint64_t>(tensor.shape[i]), &bits);
  *bytes = is_empty(tensor) ? 0 : bits / 8 + (bits % 8 != 0);
  if (!fits)
    PyErr_SetString(PyExc_BufferError, "a tensor of this shape has no size: an extent is negative or too large");
  return fits;
}

PyObject* adopt(ManagedVersioned* tensor, PyObject* stream) {
  if (tensor->version.major != kMajor) {
    return PyErr_Format(PyExc_BufferError, "the tensor has DLPack version %u.%u; version 1 is understood",
                        tensor->version.major, tensor->version.minor);
  }
  return adopt_tensor(tensor, tensor->flags, stream);
}

}  // namespace dlpack

PyObject* from_exchange(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "from_exchange() takes 2 arguments (%zd given)", count);
  PyObject* source = args[0];
  drain_deferred();
  if (is_buffer(source)) Py_RETURN_NONE;  // __dlpack__ orders the stream itself, without the default stream in between
  const dlpack::Exchange* exchange = dlpack::exchange_of(source);
  if (exchange == nullptr) {
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
  }
  dlpack::ManagedVersioned* managed = nullptr;
  if (exchange->from_object(source, &managed) != 0) return nullptr;
  python::Ref stream;
  PyObject* made = nullptr;
  const bool understood = managed->version.major == dlpack::kMajor;  // if not, adopt() says so
  if (understood && !dlpack::is_host(managed->tensor.device))
    stream = python::Ref(dlpack::stream_after_producer(exchange, managed->tensor.device, args[1]));
  if (!PyErr_Occurred()) made = dlpack::adopt(managed, stream.get());
  if (made == nullptr && managed->deleter) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    managed->deleter(managed);
    PyErr_Restore(type, value, trace);
  }
  return made;
}

PyObject* dlpack_stream(PyObject*, PyObject* args) {
  dlpack::Device device{};
  PyObject* given = nullptr;
  if (!PyArg_ParseTuple(args, "iiO", &device.type, &device.id, &given)) return nullptr;
  DeviceObject* ours = dlpack::device_for(device);
  if (ours == nullptr) return nullptr;
  if (dlpack::is_host(device)) Py_RETURN_NONE;
  python::Ref stream(stream_from(given, ours));
  if (!stream) return nullptr;
  const auto handle = reinterpret_cast<uintptr_t>(reinterpret_cast<StreamObject*>(stream.get())->handle);
  return PyLong_FromUnsignedLongLong(handle ? handle : 1);
}

PyObject* import_dlpack(PyObject*, PyObject* args) {
  PyObject *capsule = nullptr, *given = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &capsule, &given)) return nullptr;
  constexpr const char *kName = "dltensor", *kVersionedName = "dltensor_versioned";
  const bool versioned = PyCapsule_IsValid(capsule, kVersionedName);
  if (!versioned && !PyCapsule_IsValid(capsule, kName))
    return PyErr_Format(PyExc_BufferError, "an unused DLPack capsule was expected, not %R", capsule);
  void* pointer = PyCapsule_GetPointer(capsule, versioned ? kVersionedName : kName);
  auto* managed = static_cast<dlpack::ManagedVersioned*>(pointer);
  auto* legacy = static_cast<dlpack::Managed*>(pointer);
  python::Ref stream;
  const bool understood = !versioned || managed->version.major == dlpack::kMajor;  // if not, adopt() says so
  const dlpack::Device device = !understood ? dlpack::Device{dlpack::kCpu, 0}
                                : versioned ? managed->tensor.device
                                            : legacy->tensor.device;
  if (!dlpack::is_host(device)) {
    DeviceObject* ours = dlpack::device_for(device);
    stream = python::Ref(ours ? stream_from(given, ours) : nullptr);
    if (!stream) return nullptr;
  }
  PyObject* made =
      versioned ? dlpack::adopt(managed, stream.get()) : dlpack::adopt_tensor(legacy, uint64_t{0}, stream.get());
  if (made == nullptr) return nullptr;
  PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
  PyCapsule_SetDestructor(capsule, nullptr);
  return made;
}

PyObject* import_host_memory(PyObject*, PyObject* object) {
  python::Ref view(PyMemoryView_FromObject(object));
  if (!view) return nullptr;
  const Py_buffer* memory = PyMemoryView_GET_BUFFER(view.get());
  if (!PyBuffer_IsContiguous(memory, 'C')) {
    PyErr_SetString(PyExc_BufferError, "the memory is not contiguous; make a contiguous copy first");
    return nullptr;
  }
  DeviceObject* device = dlpack::device_for({dlpack::kCpu, 0});
  if (device == nullptr) return nullptr;
  BufferObject* buffer =
      new_buffer(memory->buf, static_cast<size_t>(memory->len), device, nullptr, nullptr, view.get());
  if (buffer) buffer->read_only = memory->readonly != 0;
  return reinterpret_cast<PyObject*>(buffer);
}

}  // namespace infinirt::objects
