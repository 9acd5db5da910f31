// Buffers for others: __dlpack__ and __dlpack_device__.
#include <algorithm>
#include <cstring>
#include <new>

#include "bindings/objects/arguments.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/dlpack.h"
#include "infinirt_observe.h"

namespace infinirt::objects {

namespace dlpack {

namespace {

template <class M>
struct Exported {
  M managed;
  int64_t shape, stride;
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

}  // namespace

template <class M>
M* make_exported(BufferObject* buffer, Device device) {
  auto* exported = new (std::nothrow) Exported<M>{};
  if (exported == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  exported->shape = static_cast<int64_t>(buffer->size);
  exported->stride = 1;
  exported->buffer = Py_NewRef(reinterpret_cast<PyObject*>(buffer));
  exported->managed.context = exported;
  exported->managed.deleter = delete_exported<M>;
  void* data = buffer->size ? buffer->pointer : nullptr;
  exported->managed.tensor = {data, device, 1, {kUnsigned, 8, 1}, &exported->shape, &exported->stride, 0};
  whole(buffer)->exports.fetch_add(1);
  return &exported->managed;
}

Device device_of(const BufferObject* buffer) {
  const DeviceObject* device = buffer->device;
  if (std::strcmp(device->type, "nvidia") == 0) {
    infinirtPointerAttributes attributes{};
    if (buffer->size == 0 || attributes_of(buffer->pointer, device, &attributes) != infinirtSuccess)
      return {kCuda, device->ordinal};
    switch (attributes.type) {
      case infinirtMemoryTypeUnregistered:
        return {kCpu, 0};
      case infinirtMemoryTypeHost:
        return {kCudaHost, 0};
      case infinirtMemoryTypeManaged:
        return {kCudaManaged, device->ordinal};
      default:
        return {kCuda, device->ordinal};
    }
  }
  if (buffer->size == 0 ? !device->is_accelerator : host_address(buffer) != nullptr) return {kCpu, 0};
  return {kExtension, device->ordinal};
}

ManagedVersioned* export_versioned(BufferObject* buffer, Device device, Version version, uint64_t flags) {
  auto* managed = make_exported<ManagedVersioned>(buffer, device);
  if (managed == nullptr) return nullptr;
  managed->version = version;
  managed->flags = flags | (buffer->read_only ? kReadOnly : 0);
  return managed;
}

}  // namespace dlpack

namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";

// A capsule that nobody consumed: its name is still the one we gave it.
template <class M>
void delete_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class M>
PyObject* make_capsule(M* managed, const char* name, PyCapsule_Destructor unused) {
  if (managed == nullptr) return nullptr;
  PyObject* capsule = PyCapsule_New(managed, name, unused);
  if (capsule == nullptr) managed->deleter(managed);
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

// Memory may have more than one name: what the host reads in place is also the CPU's, managed memory also the GPU's.
bool is_in_place(dlpack::Device own, dlpack::Device wanted) {
  if (own == wanted) return true;
  const bool managed = own.type == dlpack::kCudaManaged;
  if (wanted == dlpack::Device{dlpack::kCpu, 0}) return managed || own.type == dlpack::kCudaHost;
  return managed && wanted == dlpack::Device{dlpack::kCuda, own.id};
}

// Makes the consumer's stream wait for our work, or the host where the host may be the consumer.
bool hand_over(BufferObject* buffer, dlpack::Device device, PyObject* consumer) {
  if (device.type == dlpack::kCpu && consumer != Py_None) {
    PyErr_SetString(PyExc_BufferError, "__dlpack__: stream must be None for memory of the CPU");
    return false;
  }
  const bool host_may_read = dlpack::is_host(device) || device.type == dlpack::kCudaManaged;
  if (consumer == Py_None && host_may_read) return wait_for_work(buffer);
  const long long number = consumer == Py_None ? 1 : PyLong_AsLongLong(consumer);
  if (PyErr_Occurred()) return false;
  if (number == -1) return true;
  if (number == 0 || number < -1) {
    PyErr_Format(
        PyExc_ValueError,
        "__dlpack__: stream %lld has no meaning; 1 is the legacy stream, 2 the per-thread one, -1 asks for no order",
        number);
    return false;
  }
  python::Ref reference(new_stream(reinterpret_cast<infinirtStream_t>(number), buffer->device, nullptr, false));
  if (!reference) return false;
  auto* target = reinterpret_cast<StreamObject*>(reference.get());
  if (!order_after_work(buffer, target)) return false;
  // The legacy stream is there for ever, so what the consumer does on it can still be waited for when the memory is freed.
  // Any other stream may be gone by then.
  if (number != 1) return true;
  const infinirtError_t error = note_use(buffer, target);
  if (error != infinirtSuccess) raise_error(error);
  return error == infinirtSuccess;
}

}  // namespace

PyObject* buffer_dlpack_device(PyObject* self, PyObject*) {
  if (!check_open(reinterpret_cast<BufferObject*>(self))) return nullptr;
  const dlpack::Device device = dlpack::device_of(reinterpret_cast<BufferObject*>(self));
  return Py_BuildValue("(ii)", device.type, device.id);
}

PyObject* buffer_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* buffer = reinterpret_cast<BufferObject*>(self);
  drain_deferred();
  if (count > 0) return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments only");
  static const Signature signature("__dlpack__", {"stream", "max_version", "dl_device", "copy"}, 0);
  PyObject* values[4] = {Py_None, Py_None, Py_None, Py_None};
  if (!signature.read(args, count, names, values) || !check_open(buffer)) return nullptr;
  long major = 0, minor = 0, type = 0, id = 0;
  if (values[1] != Py_None && !read_pair(values[1], "max_version", &major, &minor)) return nullptr;
  const bool versioned = major >= 1;
  dlpack::Device device = dlpack::device_of(buffer), wanted = device;
  if (values[2] != Py_None) {
    if (!read_pair(values[2], "dl_device", &type, &id)) return nullptr;
    wanted = {static_cast<int32_t>(type), static_cast<int32_t>(id)};
  }
  const int copy = values[3] == Py_None ? -1 : PyObject_IsTrue(values[3]);
  if (PyErr_Occurred()) return nullptr;
  const bool elsewhere = !is_in_place(device, wanted);
  if (elsewhere && copy == 0) {
    PyErr_SetString(PyExc_BufferError,
                    "__dlpack__: another device was asked for and copy=False; leave copy out to get a copy there");
    return nullptr;
  }
  python::Ref copied;
  if (elsewhere || copy == 1) {
    // Rare, and done in Python: _dlpack_copy gives a Buffer on the device asked for, its work done.
    copied = python::Ref(PyObject_CallMethod(self, "_dlpack_copy", "ii", wanted.type, wanted.id));
    if (!copied) return nullptr;
    buffer = reinterpret_cast<BufferObject*>(copied.get());
  }
  device = wanted;
  if (buffer->read_only && !versioned) {
    PyErr_SetString(PyExc_BufferError, "read-only memory needs a consumer that understands DLPack 1.0 (max_version)");
    return nullptr;
  }
  if (!hand_over(buffer, device, values[0])) return nullptr;
  if (infinirtXObserved()) infinirtXShareMemory(buffer->pointer, buffer->size);
  if (!versioned) {
    return make_capsule(dlpack::make_exported<dlpack::Managed>(buffer, device), kName,
                        [](PyObject* c) { delete_unused<dlpack::Managed>(c, kName); });
  }
  const uint32_t known = major > 1 ? dlpack::kMinor : static_cast<uint32_t>(std::clamp<long>(minor, 0, dlpack::kMinor));
  return make_capsule(dlpack::export_versioned(buffer, device, {dlpack::kMajor, known}, copied ? dlpack::kIsCopied : 0),
                      kVersionedName, [](PyObject* c) { delete_unused<dlpack::ManagedVersioned>(c, kVersionedName); });
}

}  // namespace infinirt::objects
