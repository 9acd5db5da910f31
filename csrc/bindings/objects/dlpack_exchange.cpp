// The C exchange of DLPack 1.3, for others: what the class Buffer offers as __dlpack_c_exchange_api__.
//
// "No sync" says that the host does not wait for a device; the order is still kept. Memory that the host reads is handed out
// when its pending work is done, since nobody else would wait, and the stream that is named as the current one waits for
// the pending work of all other memory.
#include <memory>
#include <new>
#include <vector>

#include "bindings/objects/callable.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/dlpack.h"

namespace infinirt::objects::dlpack {

namespace {

constexpr Version kVersion = {kMajor, kMinor};

// The buffer in an object whose pending work the consumer need not care about any more; null with an exception set.
BufferObject* ready_buffer(void* object, Device* device) {
  drain_deferred();
  auto* given = static_cast<PyObject*>(object);
  if (!is_buffer(given)) {
    PyErr_Format(PyExc_TypeError, "a Buffer was expected, not %.100s", Py_TYPE(given)->tp_name);
    return nullptr;
  }
  auto* buffer = reinterpret_cast<BufferObject*>(given);
  if (!check_open(buffer)) return nullptr;
  *device = device_of(buffer);
  if (is_host(*device)) return wait_for_work(buffer) ? buffer : nullptr;
  PyObject* current = default_stream(buffer->device);  // borrowed
  if (current == nullptr) return nullptr;
  python::Ref stream(stream_from(current, buffer->device));  // of this thread, if it is a per-thread one
  if (!stream) return nullptr;
  auto* target = reinterpret_cast<StreamObject*>(stream.get());
  if (!order_after_work(buffer, target)) return nullptr;
  const infinirtError_t error = note_use(buffer, target);
  if (error == infinirtSuccess) return buffer;
  raise_error(error);
  return nullptr;
}

int from_object(void* object, ManagedVersioned** out) {
  Device device{};
  BufferObject* buffer = ready_buffer(object, &device);
  if (buffer == nullptr) return -1;
  *out = export_versioned(buffer, device, kVersion, 0);
  return *out ? 0 : -1;
}

int borrow_from_object(void* object, Tensor* out) {
  static int64_t one = 1;
  Device device{};
  BufferObject* buffer = ready_buffer(object, &device);
  if (buffer == nullptr) return -1;
  static_assert(sizeof buffer->size == sizeof(int64_t));
  auto* shape = reinterpret_cast<int64_t*>(&buffer->size);
  *out = {buffer->size ? buffer->pointer : nullptr, device, 1, {kUnsigned, 8, 1}, shape, &one, 0};
  return 0;
}

int current_work_stream(DeviceType type, int32_t id, void** stream) {
  *stream = nullptr;
  if (type == kCpu) return 0;
  DeviceObject* device = device_for({type, id});
  PyObject* current = device ? default_stream(device) : nullptr;
  if (current == nullptr) return -1;
  *stream = reinterpret_cast<StreamObject*>(current)->handle;
  return 0;
}

int to_object(ManagedVersioned* tensor, void** object) {
  python::Ref stream;
  if (tensor->version.major == kMajor && !is_host(tensor->tensor.device)) {
    DeviceObject* device = device_for(tensor->tensor.device);
    stream = python::Ref(device ? stream_from(Py_None, device) : nullptr);
    if (!stream) return -1;
  }
  *object = adopt(tensor, stream.get());
  return *object ? 0 : -1;
}

// A tensor of any shape and type on a buffer of its own.
struct Allocated {
  ManagedVersioned managed;
  std::vector<int64_t> sizes;  // the shape, then the strides
  PyObject* buffer;
};

void delete_allocated(ManagedVersioned* managed) {
  auto* allocated = static_cast<Allocated*>(managed->context);
  Interpreter interpreter;
  if (interpreter) Py_DECREF(allocated->buffer);
  delete allocated;
}

// In Python, as resources are. False with an exception set.
bool allocate_buffer(const Tensor& prototype, Allocated* allocated) {
  const auto dimensions = static_cast<size_t>(prototype.ndim);
  size_t bytes = 0;
  if (!byte_size(prototype, 0, &bytes)) return false;
  allocated->sizes.resize(2 * dimensions);
  int64_t stride = 1;
  for (size_t i = dimensions; i-- > 0;) {
    allocated->sizes[i] = prototype.shape[i];
    allocated->sizes[dimensions + i] = stride;
    if (prototype.shape[i] > 0) stride *= prototype.shape[i];
  }
  PyObject* made =
      PyObject_CallMethod(reinterpret_cast<PyObject*>(buffer_class), "_dlpack_allocate", "iiK", prototype.device.type,
                          prototype.device.id, static_cast<unsigned long long>(bytes));
  if (made == nullptr) return false;
  allocated->buffer = made;
  auto* buffer = reinterpret_cast<BufferObject*>(made);
  // Memory comes in stream order: to the host it is free only when the stream has come that far.
  if (is_host(prototype.device) && !wait_for_work(buffer)) {
    Py_DECREF(made);
    return false;
  }
  allocated->managed.version = kVersion;
  allocated->managed.context = allocated;
  allocated->managed.deleter = delete_allocated;
  allocated->managed.tensor = {bytes ? buffer->pointer : nullptr,
                               prototype.device,
                               prototype.ndim,
                               prototype.dtype,
                               allocated->sizes.data(),
                               allocated->sizes.data() + dimensions,
                               0};
  return true;
}

using SetError = void (*)(void*, const char*, const char*);

void report_exception(SetError set_error, void* context) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  python::Ref owned_type(type), owned_value(value), owned_trace(trace);
  python::Ref text(value ? PyObject_Str(value) : nullptr);
  const char* message = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  // Names that everybody knows, for classes of our own.
  const char* kind = PyErr_GivenExceptionMatches(type, PyExc_MemoryError)   ? "MemoryError"
                     : PyErr_GivenExceptionMatches(type, PyExc_BufferError) ? "BufferError"
                                                                            : "RuntimeError";
  if (set_error) set_error(context, kind, message ? message : "the allocation failed");
}

// May be called without the interpreter's lock.
int allocate(Tensor* prototype, ManagedVersioned** out, void* context, SetError set_error) {
  Interpreter interpreter;
  if (!interpreter) {
    if (set_error) set_error(context, "RuntimeError", "the interpreter is on its way out");
    return -1;
  }
  std::unique_ptr<Allocated> allocated;
  try {
    allocated = std::make_unique<Allocated>();
    if (allocate_buffer(*prototype, allocated.get())) {
      *out = &allocated.release()->managed;
      return 0;
    }
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  report_exception(set_error, context);
  return -1;
}

constexpr Exchange kExchange = {{kVersion, nullptr}, allocate,           from_object,
                                to_object,           borrow_from_object, current_work_stream};

}  // namespace

PyObject* make_exchange_capsule() { return PyCapsule_New(const_cast<Exchange*>(&kExchange), kExchangeName, nullptr); }

}  // namespace infinirt::objects::dlpack
