// Functions that make streams, events, buffers and pools, and those that look at them.
#include "bindings/objects/backend.h"
#include "bindings/objects/bind.h"
#include "bindings/objects/buffer.h"
#include "bindings/objects/cache.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/dlpack.h"
#include "bindings/objects/event.h"
#include "bindings/objects/functions.h"
#include "bindings/objects/kernel_args.h"
#include "bindings/objects/pool.h"
#include "bindings/objects/stream.h"

namespace infinirt::objects {

namespace {

using L = Library;

PyObject* create_stream(PyObject*, PyObject* args) {
  PyObject* given = nullptr;
  unsigned flags = 0;
  int priority = 0;
  if (!PyArg_ParseTuple(args, "OIi", &given, &flags, &priority)) return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  drain_deferred();
  infinirtStream_t handle = nullptr;
  const infinirtError_t error = without_gil(device->may_block, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : rt.StreamCreateWithPriority(&handle, flags, priority);
  });
  return error == infinirtSuccess ? new_stream(handle, device, nullptr, true) : raise_error(error);
}

// wrap_stream(handle, device or None, owner or None): a stream that is somebody else's. Without a device the handle's own is
// asked for; a default stream stays that of whichever device is current.
PyObject* wrap_stream(PyObject*, PyObject* args) {
  PyObject *number = nullptr, *given = nullptr, *owner = nullptr;
  if (!PyArg_ParseTuple(args, "OOO", &number, &given, &owner)) return nullptr;
  void* pointer = nullptr;
  if (!read_pointer(number, "handle", &pointer)) return nullptr;
  const auto handle = static_cast<infinirtStream_t>(pointer);
  DeviceObject* device = nullptr;
  if (given != Py_None) {
    if ((device = device_from(given)) == nullptr) return nullptr;
  } else if (reinterpret_cast<uintptr_t>(handle) > 2) {
    int ordinal = 0;
    const char* type = nullptr;
    if (auto error = without_gil(true, [&] { return infinirtXStreamGetDevice(handle, &type, &ordinal); }))
      return raise_error(error);
    if ((device = device_at(type, ordinal)) == nullptr) return nullptr;
  }
  return new_stream(handle, device, owner == Py_None ? nullptr : owner, false);
}

// begin_native(device, stream) and end_native(device, stream, native).
PyObject* begin_native(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *number = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &given, &number)) return nullptr;
  void *handle = nullptr, *native = nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr || !read_pointer(number, "stream", &handle)) return nullptr;
  const infinirtError_t error = without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : infinirtXStreamBeginNative(static_cast<infinirtStream_t>(handle), &native);
  });
  return error == infinirtSuccess ? PyLong_FromVoidPtr(native) : raise_error(error);
}

PyObject* end_native(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *number = nullptr, *lent = nullptr;
  if (!PyArg_ParseTuple(args, "OOO", &given, &number, &lent)) return nullptr;
  void *handle = nullptr, *native = nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr || !read_pointer(number, "stream", &handle) || !read_pointer(lent, "native", &native))
    return nullptr;
  return none_or_raise(without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : infinirtXStreamEndNative(static_cast<infinirtStream_t>(handle), native);
  }));
}

PyObject* create_event(PyObject*, PyObject* args) {
  PyObject* given = nullptr;
  unsigned flags = 0;
  if (!PyArg_ParseTuple(args, "OI", &given, &flags)) return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  drain_deferred();
  infinirtEvent_t handle = nullptr;
  const infinirtError_t error = without_gil(device->may_block, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : rt.EventCreateWithFlags(&handle, flags);
  });
  return error == infinirtSuccess ? new_event(handle, device, flags, true) : raise_error(error);
}

// wrap_buffer(ptr, size, device, resource, stream, owner, read_only); None stands for absence.
PyObject* wrap_buffer(PyObject*, PyObject* args) {
  PyObject *address = nullptr, *length = nullptr, *given = nullptr, *resource = nullptr, *stream = nullptr,
           *owner = nullptr;
  int read_only = 0;
  if (!PyArg_ParseTuple(args, "OOOOOOp", &address, &length, &given, &resource, &stream, &owner, &read_only))
    return nullptr;
  void* pointer = nullptr;
  size_t size = 0;
  if (!read_pointer(address, "ptr", &pointer) || !read_size(length, "size", &size)) return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  if (stream != Py_None && !is_stream(stream)) return PyErr_Format(PyExc_TypeError, "stream must be a Stream or None");
  auto or_null = [](PyObject* object) { return object == Py_None ? nullptr : object; };
  BufferObject* buffer = new_buffer(pointer, size, device, or_null(resource), or_null(stream), or_null(owner));
  if (buffer) buffer->read_only = read_only != 0;
  return reinterpret_cast<PyObject*>(buffer);
}

PyObject* resolve_stream(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *on = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &given, &on)) return nullptr;
  DeviceObject* device = on == Py_None ? nullptr : device_from(on);
  return on != Py_None && device == nullptr ? nullptr : stream_from(given, device);
}

// The object is let go of when the stream has come this far.
PyObject* release_after(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *object = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &given, &object)) return nullptr;
  python::Ref reference(stream_from(given, nullptr));
  if (!reference) return nullptr;
  Py_INCREF(object);
  return none_or_raise(without_gil(true, [&] {
    return on_stream(reinterpret_cast<StreamObject*>(reference.get()),
                     [&](infinirtStream_t s) { return infinirtXLaunchHostFunc(s, run_nothing, object, drop_object); });
  }));
}

PyObject* pointer_attributes(PyObject*, PyObject* address) {
  void* pointer = nullptr;
  if (!read_pointer(address, "ptr", &pointer)) return nullptr;
  infinirtPointerAttributes attributes{};
  if (auto error = without_gil(true, [&] { return rt.PointerGetAttributes(&attributes, pointer); }))
    return raise_error(error);
  return Py_BuildValue("(iiKK)", static_cast<int>(attributes.type), attributes.device,
                       static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(attributes.devicePointer)),
                       static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(attributes.hostPointer)));
}

// The device that an address belongs to, whichever type is current; None: no device type knows it.
PyObject* pointer_device(PyObject*, PyObject* address) {
  void* pointer = nullptr;
  if (!read_pointer(address, "ptr", &pointer)) return nullptr;
  const char* type = nullptr;
  int ordinal = 0;
  const infinirtError_t before = rt.PeekAtLastError();
  const infinirtError_t error = without_gil(true, [&] { return infinirtXPointerGetDevice(pointer, &type, &ordinal); });
  if (error == infinirtErrorInvalidValue) {
    if (before == infinirtSuccess) rt.GetLastError();  // an answer, not a failure
    Py_RETURN_NONE;
  }
  if (error != infinirtSuccess) return raise_error(error);
  return Py_XNewRef(reinterpret_cast<PyObject*>(device_at(type, ordinal)));
}

// create_pool(device, max_size) -> handle
PyObject* create_pool(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *limit = nullptr;
  size_t max_size = 0;
  if (!PyArg_ParseTuple(args, "OO", &given, &limit) || !read_size(limit, "max_size", &max_size)) return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  infinirtMemPoolProps properties{};
  properties.allocType = infinirtMemAllocationTypePinned;
  properties.handleTypes = infinirtMemHandleTypeNone;
  properties.location.type = infinirtMemLocationTypeDevice;
  properties.location.id = device->ordinal;
  properties.maxSize = max_size;
  infinirtMemPool_t handle = nullptr;
  const infinirtError_t error = without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : rt.MemPoolCreate(&handle, &properties);
  });
  return error == infinirtSuccess ? PyLong_FromVoidPtr(handle) : raise_error(error);
}

bool is_flag(enum infinirtMemPoolAttr attribute) { return attribute <= infinirtMemPoolReuseAllowInternalDependencies; }

PyObject* pool_attribute(PyObject*, PyObject* const* args, Py_ssize_t count) {
  void* handle = nullptr;
  if (count < 2 || !read_pointer(args[0], "handle", &handle)) return nullptr;
  const auto attribute = static_cast<enum infinirtMemPoolAttr>(PyLong_AsLong(args[1]));
  if (PyErr_Occurred()) return nullptr;
  union {
    int flag;
    unsigned long long bytes;
  } value{};
  const auto pool = static_cast<infinirtMemPool_t>(handle);
  if (count == 2) {
    const infinirtError_t error = without_gil(true, [&] { return rt.MemPoolGetAttribute(pool, attribute, &value); });
    if (error != infinirtSuccess) return raise_error(error);
    return is_flag(attribute) ? PyBool_FromLong(value.flag) : PyLong_FromUnsignedLongLong(value.bytes);
  }
  if (is_flag(attribute)) {
    value.flag = PyObject_IsTrue(args[2]) == 1;
  } else {
    size_t bytes = 0;
    if (!read_size(args[2], "the value", &bytes)) return nullptr;
    value.bytes = bytes;
    if (attribute == infinirtMemPoolAttrReleaseThreshold && bytes != SIZE_MAX) pools_release_on_sync.store(true);
  }
  return none_or_raise(without_gil(true, [&] { return rt.MemPoolSetAttribute(pool, attribute, &value); }));
}

// A device's pool that gives all memory back at every synchronisation keeps it from now on. Also in a capture, of which it is no part.
PyObject* keep_pool_memory(PyObject*, PyObject* const* args, Py_ssize_t count) {
  void* pool = nullptr;
  if (count < 1 || !read_pointer(args[0], "handle", &pool)) return nullptr;
  return none_or_raise(without_gil(true, [&] {
    const RelaxedCaptureScope relaxed(nullptr);
    constexpr auto kThreshold = infinirtMemPoolAttrReleaseThreshold;
    unsigned long long bytes = 0;
    const infinirtError_t error = rt.MemPoolGetAttribute(static_cast<infinirtMemPool_t>(pool), kThreshold, &bytes);
    if (error != infinirtSuccess || bytes != 0) return error;
    bytes = SIZE_MAX;
    return rt.MemPoolSetAttribute(static_cast<infinirtMemPool_t>(pool), kThreshold, &bytes);
  }));
}

PyObject* deferred(PyObject*, PyObject*) { return PyLong_FromSize_t(deferred_count.load()); }

PyObject* drain(PyObject*, PyObject*) {
  drain_deferred();
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef object_functions[] = {
    {"create_stream", create_stream, METH_VARARGS, nullptr},
    {"wrap_stream", wrap_stream, METH_VARARGS, nullptr},
    {"resolve_stream", resolve_stream, METH_VARARGS, nullptr},
    {"release_after", release_after, METH_VARARGS, nullptr},
    {"begin_native", begin_native, METH_VARARGS, nullptr},
    {"end_native", end_native, METH_VARARGS, nullptr},
    {"create_event", create_event, METH_VARARGS, nullptr},
    {"wrap_buffer", wrap_buffer, METH_VARARGS, nullptr},
    {"pointer_attributes", pointer_attributes, METH_O, nullptr},
    {"create_pool", create_pool, METH_VARARGS, nullptr},
    {"create_cache", create_cache, METH_VARARGS, nullptr},
    {"cache_blocks", cache_blocks, METH_O, nullptr},
    {"cache_set_limit", cache_set_limit, METH_VARARGS, nullptr},
    {"cache_stats", cache_stats, METH_O, nullptr},
    {"set_allocation_observer", set_allocation_observer, METH_O, nullptr},
    {"cache_trace_begin", cache_trace_begin, METH_VARARGS, nullptr},
    {"cache_trace_end", cache_trace_end, METH_O, nullptr},
    {"cache_trace_read", cache_trace_read, METH_O, nullptr},
    {"cache_reset_peaks", cache_reset_peaks, METH_O, nullptr},
    {"register_backend", register_backend, METH_VARARGS, nullptr},
    {"deferred_count", deferred, METH_NOARGS, nullptr},
    {"drain_deferred", drain, METH_NOARGS, nullptr},
    {"order_after", order_after, METH_VARARGS, nullptr},
    {"import_dlpack", import_dlpack, METH_VARARGS, nullptr},
    {"import_host_memory", import_host_memory, METH_O, nullptr},
    {"dlpack_stream", dlpack_stream, METH_VARARGS, nullptr},
    {"pointer_device", pointer_device, METH_O, nullptr},
    {"register_kernel", register_kernel, METH_VARARGS, nullptr},
    {"shut_down", shut_down, METH_NOARGS, nullptr},
    entry("from_exchange", from_exchange),
    {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(launch)), METH_FASTCALL | METH_KEYWORDS,
     "launch(stream, config, kernel, *args)\n--\n\nRuns a kernel in stream order.\n\n"
     "Pointers are given as Buffers, which then live until the kernel is done, as addresses, or as objects with\n"
     "`data_ptr()` or `__cuda_array_interface__`. NumPy's and ctypes' scalars and structures are passed as they are.\n"
     "A plain int, float, complex or bool is converted to the type, or else to the size, of the parameter: `2` is no\n"
     "float, write `2.0`."},
    entry("pool_attribute", pool_attribute),
    entry("keep_pool_memory", keep_pool_memory),
    entry("pool_trim", bound<&L::MemPoolTrimTo, In<infinirtMemPool_t>, In<size_t>>),
    entry("stream_flags", bound_on<&L::StreamGetFlags, In<infinirtStream_t>, Out<unsigned>>),
    entry("stream_priority", bound_on<&L::StreamGetPriority, In<infinirtStream_t>, Out<int>>),
    entry("stream_id", bound_on<&L::StreamGetId, In<infinirtStream_t>, Out<unsigned long long>>),
    entry("malloc", bound_on<&L::Malloc, Out<void*>, In<size_t>>),
    entry("malloc_host", bound_on<&L::MallocHost, Out<void*>, In<size_t>>),
    entry("malloc_managed",
          bound_on<&L::MallocManaged, Out<void*>, In<size_t>, Constant<unsigned{infinirtMemAttachGlobal}>>),
    entry("free", bound_on<&L::Free, In<void*>>),
    entry("free_host", bound_on<&L::FreeHost, In<void*>>),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace infinirt::objects
