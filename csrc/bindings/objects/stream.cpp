#include "bindings/objects/stream.h"

#include <structmember.h>
#include <cstddef>
#include <cstring>

#include "bindings/objects/arguments.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/deferred.h"
#include "bindings/objects/event.h"
#include "infinirt_observe.h"

namespace infinirt::objects {

PyTypeObject* stream_class = nullptr;
std::atomic<bool> pools_release_on_sync{false};

namespace {

StreamObject* as_stream(PyObject* object) { return reinterpret_cast<StreamObject*>(object); }

Outcome destroy_handle(void* data) {
  auto stream = static_cast<infinirtStream_t>(data);
  if (is_in_capture(stream)) return Outcome::NotNow;  // destroying it would break the capture
  return rt.StreamDestroy(stream) == infinirtErrorNotPermitted ? Outcome::NotNow : Outcome::Done;
}

Outcome destroy_event(void* data) {
  return rt.EventDestroy(static_cast<infinirtEvent_t>(data)) == infinirtErrorNotPermitted ? Outcome::NotNow
                                                                                          : Outcome::Done;
}

// Leaves an event at the end of the stream's work for memory that was used here and is freed later.
void mark_end(StreamObject* stream) {
  if (!stream->outlives.load() || is_in_capture(stream->handle)) return;
  infinirtEvent_t event = nullptr;
  OnDevice guard(stream->device);
  if (guard.error() || rt.EventCreateWithFlags(&event, infinirtEventDisableTiming)) return;
  if (rt.EventRecord(event, stream->handle) == infinirtSuccess) {
    stream->end = event;
  } else {
    rt.EventDestroy(event);
  }
}

PyObject* query(PyObject* self, PyObject*) {
  auto* stream = as_stream(self);
  drain_deferred();
  if (!check_open(stream)) return nullptr;
  const infinirtError_t error = without_gil(
      stream->may_block, [&] { return on_stream(stream, [](infinirtStream_t s) { return rt.StreamQuery(s); }); });
  if (error == infinirtSuccess) Py_RETURN_TRUE;
  if (error == infinirtErrorNotReady) Py_RETURN_FALSE;
  return raise_error(error);
}

PyObject* is_done(PyObject* self, void*) { return query(self, nullptr); }

PyObject* sync(PyObject* self, PyObject*) {
  auto* stream = as_stream(self);
  drain_deferred();
  if (!check_open(stream)) return nullptr;
  // A look first: most streams are done, and the interpreter's lock need not be given up for them. Not in a capture, which a
  // query would break before the call that was asked for can. An asynchronous error is reported once, so it is taken here.
  if (stream->may_block.how == MayBlock::Never && !pools_release_on_sync.load(std::memory_order_relaxed)) {
    const infinirtError_t error = on_stream(stream, [](infinirtStream_t s) {
      const infinirtError_t state = is_in_capture(s) ? infinirtErrorNotReady : rt.StreamQuery(s);
      return state == infinirtSuccess ? rt.StreamSynchronize(s) : state;  // a stream counts who waits for it
    });
    if (error == infinirtSuccess) Py_RETURN_NONE;
    if (error != infinirtErrorNotReady) return raise_error_as("infinirtStreamSynchronize", error);
  }
  return none_or_raise(
      without_gil(true, [&] { return on_stream(stream, [](infinirtStream_t s) { return rt.StreamSynchronize(s); }); }));
}

// What an EventOptions asks for; none: an event that only orders.
bool event_flags(PyObject* options, unsigned* flags) {
  *flags = infinirtEventDisableTiming;
  if (options == Py_None) return true;
  if (!is_event_options(options)) {
    PyErr_Format(PyExc_TypeError,
                 "options must be EventOptions, as in record(options=EventOptions(timing_enabled=True)), not %.100s",
                 Py_TYPE(options)->tp_name);
    return false;
  }
  python::Ref value(PyObject_CallMethod(options, "_flags", nullptr));
  if (!value) return false;
  *flags = static_cast<unsigned>(PyLong_AsUnsignedLong(value.get()));
  return !PyErr_Occurred();
}

PyObject* event_for(StreamObject* stream, PyObject* options) {
  unsigned flags = 0;
  DeviceObject* device = stream->device ? stream->device : current_device();
  if (device == nullptr || !event_flags(options, &flags)) return nullptr;
  infinirtEvent_t handle = nullptr;
  const infinirtError_t error = without_gil(device->may_block, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : rt.EventCreateWithFlags(&handle, flags);
  });
  return error == infinirtSuccess ? new_event(handle, device, flags, true) : raise_error(error);
}

PyObject* record(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* stream = as_stream(self);
  drain_deferred();
  if (!check_open(stream)) return nullptr;
  PyObject* given[2] = {Py_None, Py_None};
  static const Signature signature(
      "record", {"event", "options"}, 2,
      "what a new event can do is said by options, as in record(options=EventOptions(timing_enabled=True))");
  if (!signature.read(args, count, names, given)) return nullptr;
  python::Ref made;
  if (given[0] == Py_None) {
    made = python::Ref(event_for(stream, given[1]));
    if (!made) return nullptr;
    given[0] = made.get();
  }
  if (!is_event(given[0])) {
    // Not a positional argument of its own: the first one is the event, as in cuda.core.
    return PyErr_Format(PyExc_TypeError, "record() takes an Event, not %.100s%s", Py_TYPE(given[0])->tp_name,
                        is_event_options(given[0]) ? "; name it: record(options=EventOptions(...))" : "");
  }
  auto* event = reinterpret_cast<EventObject*>(given[0]);
  if (!check_open(event)) return nullptr;
  const infinirtError_t error = without_gil(stream->may_block, [&] {
    return on_stream(stream, [&](infinirtStream_t s) { return rt.EventRecord(event->handle, s); });
  });
  return error == infinirtSuccess ? Py_NewRef(given[0]) : raise_error(error);
}

PyObject* wait_event(PyObject* self, PyObject* given) {
  auto* stream = as_stream(self);
  drain_deferred();
  if (!check_open(stream)) return nullptr;
  if (!is_event(given)) {
    return PyErr_Format(PyExc_TypeError, "wait() takes an Event or a stream, not %.100s", Py_TYPE(given)->tp_name);
  }
  auto* event = reinterpret_cast<EventObject*>(given);
  if (!check_open(event)) return nullptr;
  return none_or_raise(without_gil(stream->may_block || event->may_block, [&] {
    return on_stream(stream, [&](infinirtStream_t s) { return rt.StreamWaitEvent(s, event->handle, 0); });
  }));
}

// wait(event) is the hot form and comes first; a stream is waited for through an event that nobody else sees.
PyObject* wait(PyObject* self, PyObject* given) {
  if (is_event(given)) return wait_event(self, given);
  if (!is_stream(given) && given != Py_None && !PyObject_HasAttrString(given, "__cuda_stream__")) {
    return PyErr_Format(PyExc_TypeError, "wait() takes an Event or a stream, not %.100s", Py_TYPE(given)->tp_name);
  }
  // None means the default stream in other places; here it is far more likely an event that was never made.
  if (given == Py_None) {
    PyErr_SetString(PyExc_TypeError,
                    "wait() takes an Event or a stream, not None; the default stream is device.default_stream");
    return nullptr;
  }
  auto* stream = as_stream(self);
  if (!check_open(stream)) return nullptr;
  python::Ref other_reference(stream_from(given, nullptr));
  if (!other_reference) return nullptr;
  auto* other = as_stream(other_reference.get());
  DeviceObject* device = other->device ? other->device : current_device();
  if (device == nullptr) return nullptr;
  return none_or_raise(without_gil(stream->may_block || other->may_block, [&] {
    infinirtEvent_t event = nullptr;
    infinirtError_t error = infinirtSuccess;
    {
      OnDevice guard(device);
      if ((error = guard.error())) return error;
      if ((error = rt.EventCreateWithFlags(&event, infinirtEventDisableTiming))) return error;
      error = rt.EventRecord(event, other->handle);
    }
    if (error == infinirtSuccess)
      error = on_stream(stream, [&](infinirtStream_t s) { return rt.StreamWaitEvent(s, event, 0); });
    rt.EventDestroy(event);
    return error;
  }));
}

// Traces show a host function by the name that Python has for it.
void name_for_observers(PyObject* function) {
  python::Ref name(PyObject_GetAttrString(function, "__qualname__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  if (text) infinirtXNameNextWork(text);
}

PyObject* launch_host_func(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* stream = as_stream(self);
  drain_deferred();
  if (!check_open(stream)) return nullptr;
  if (count < 1 || !PyCallable_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "launch_host_func() takes a callable and the arguments to call it with");
    return nullptr;
  }
  BoundCall* call = bind_call(args[0], args + 1, count - 1, names);
  if (call == nullptr) return nullptr;
  if (infinirtXObserved()) name_for_observers(args[0]);
  // Releases the lock even on host devices: with an inline schedule the function runs inside this call.
  return none_or_raise(without_gil(true, [&] {
    return on_stream(
        stream, [&](infinirtStream_t s) { return infinirtXLaunchHostFunc(s, run_bound_call, call, drop_bound_call); });
  }));
}

PyObject* is_capturing(PyObject* self, void*) {
  auto* stream = as_stream(self);
  if (!check_open(stream)) return nullptr;
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  const infinirtError_t error = on_stream(stream, [&](infinirtStream_t s) { return rt.StreamIsCapturing(s, &status); });
  if (error != infinirtSuccess) return raise_error(error);
  return PyBool_FromLong(status != infinirtStreamCaptureStatusNone);
}

PyObject* close(PyObject* self, PyObject*) {
  auto* stream = as_stream(self);
  drain_deferred();
  if (!stream->owns || stream->closed.exchange(true)) Py_RETURN_NONE;
  without_gil(stream->may_block, [&] {
    mark_end(stream);
    do_or_defer(destroy_handle, stream->handle);
    return infinirtSuccess;
  });
  Py_RETURN_NONE;
}

PyObject* cuda_stream(PyObject* self, PyObject*) {
  if (!check_open(as_stream(self))) return nullptr;
  return Py_BuildValue("(iK)", 0,
                       static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(as_stream(self)->handle)));
}

PyObject* get_handle(PyObject* self, void*) {
  if (!check_open(as_stream(self))) return nullptr;
  return PyLong_FromVoidPtr(as_stream(self)->handle);
}

PyObject* as_int(PyObject* self) { return get_handle(self, nullptr); }

PyObject* get_device(PyObject* self, void*) {
  auto* stream = as_stream(self);
  return Py_XNewRef(reinterpret_cast<PyObject*>(stream->device ? stream->device : current_device()));
}

PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(as_stream(self)->closed.load()); }

Py_hash_t hash(PyObject* self) {
  auto* stream = as_stream(self);
  const auto value = reinterpret_cast<uintptr_t>(stream->handle) ^ (reinterpret_cast<uintptr_t>(stream->device) >> 4);
  return static_cast<Py_hash_t>((value >> 4 | value << 60) & 0x7fffffffffffffff);
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (!is_stream(other) || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  auto *a = as_stream(self), *b = as_stream(other);
  const bool equal =
      a == b || (a->handle == b->handle && a->device == b->device && a->closed.load() == b->closed.load());
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_stream(self)->owner);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(as_stream(self)->owner);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* stream = as_stream(self);
  if (stream->weak_references) PyObject_ClearWeakRefs(self);
  without_gil(stream->may_block && stream->owns, [&] {
    if (stream->owns && !stream->closed.load()) do_or_defer(destroy_handle, stream->handle);
    if (stream->end) do_or_defer(destroy_event, stream->end);
    return 0;
  });
  Py_XDECREF(stream->owner);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* forbidden_new(PyTypeObject* type, PyObject*, PyObject*) {
  return PyErr_Format(PyExc_TypeError, "%.100s objects are made by Device.create_stream() and Stream.from_handle()",
                      type->tp_name);
}

PyMethodDef methods[] = {
    {"query", query, METH_NOARGS, "query($self, /)\n--\n\nWhether all work enqueued so far is done. Does not wait."},
    {"sync", sync, METH_NOARGS, "sync($self, /)\n--\n\nWaits until all work enqueued so far is done."},
    {"record", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(record)), METH_FASTCALL | METH_KEYWORDS,
     "record($self, /, event=None, options=None)\n--\n\nRecords an event at the end of what the stream was given so "
     "far, and\n"
     "returns it. Without one a new event is made, as `options` (EventOptions) says."},
    {"wait", wait, METH_O,
     "wait($self, event_or_stream, /)\n--\n\nMakes work enqueued from now on wait for an event's latest record, or for "
     "what\n"
     "another stream has been given so far. The host does not wait."},
    {"launch_host_func", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(launch_host_func)),
     METH_FASTCALL | METH_KEYWORDS,
     "launch_host_func($self, function, /, *args, **kwargs)\n--\n\nCalls a Python function in stream order, on another "
     "thread.\n\n"
     "It may not call this API. What it raises goes to `sys.unraisablehook`."},
    {"close", close, METH_NOARGS,
     "close($self, /)\n--\n\nGives the stream back; work that it was given still runs. Closing twice, or closing a "
     "stream that is\n"
     "somebody else's, does nothing."},
    {"__cuda_stream__", cuda_stream, METH_NOARGS, "__cuda_stream__($self, /)\n--\n\nThe stream protocol: (0, handle)."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"is_done", is_done, nullptr, "Whether all work enqueued so far is done.", nullptr},
    {"is_capturing", is_capturing, nullptr, "Whether the stream's work goes into a graph at the moment.", nullptr},
    {"is_closed", get_closed, nullptr, "Whether close() was called.", nullptr},
    {"handle", get_handle, nullptr, "The infinirtStream_t as an integer.", nullptr},
    {"device", get_device, nullptr, "The device whose work the stream orders.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(StreamObject, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(forbidden_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_nb_int, reinterpret_cast<void*>(as_int)},
                       {Py_nb_index, reinterpret_cast<void*>(as_int)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("What streams are made of; use Stream.")},
                       {0, nullptr}};

PyType_Spec spec = {"infinirt._core.StreamBase", sizeof(StreamObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyTypeObject* make_stream_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

PyObject* new_stream(infinirtStream_t handle, DeviceObject* device, PyObject* owner, bool owns) {
  PyObject* made = stream_class->tp_alloc(stream_class, 0);
  if (made == nullptr) return nullptr;
  auto* stream = as_stream(made);
  stream->handle = handle;
  stream->device = device;
  stream->owner = Py_XNewRef(owner);
  stream->owns = owns;
  stream->is_default = reinterpret_cast<uintptr_t>(handle) <= 2;
  stream->may_block = device ? device->may_block : MayBlock{};
  if (is_per_thread(stream)) stream->thread = this_thread();
  return made;
}

bool check_open(const StreamObject* stream) {
  if (!stream->closed.load(std::memory_order_relaxed)) [[likely]]
    return true;
  raise_error(infinirtErrorInvalidResourceHandle,
              "the stream was closed, by close() or at the end of a `with` block; use another one (there is no current "
              "stream here: each call is "
              "given its stream=)");
  return false;
}

uint64_t this_thread() {
  static std::atomic<uint64_t> numbers{0};
  static thread_local const uint64_t number = numbers.fetch_add(1) + 1;
  return number;
}

infinirtError_t join(infinirtStream_t target, const StreamObject* other) {
  if (is_out_of_reach(other)) return other->end ? rt.StreamWaitEvent(target, other->end, 0) : infinirtSuccess;
  infinirtEvent_t event = nullptr;
  infinirtError_t error = infinirtSuccess;
  {
    OnDevice guard(other->device);  // an event belongs to the device on whose streams it is recorded
    error = guard.error();
    if (error == infinirtSuccess) error = rt.EventCreateWithFlags(&event, infinirtEventDisableTiming);
    if (error == infinirtSuccess) error = rt.EventRecord(event, other->handle);
  }
  if (error == infinirtSuccess) error = rt.StreamWaitEvent(target, event, 0);
  if (event) rt.EventDestroy(event);
  return error;
}

PyObject* stream_from(PyObject* given, DeviceObject* device) {
  if (given == Py_None) {
    if (device == nullptr && (device = current_device()) == nullptr) return nullptr;
    given = default_stream(device);
    if (given == nullptr) return nullptr;
  }
  if (is_stream(given)) [[likely]] {
    auto* stream = as_stream(given);
    if (!stream->is_default) [[likely]]
      return check_open(stream) ? Py_NewRef(given) : nullptr;
    const bool usable = stream->device != nullptr && (!is_per_thread(stream) || stream->thread == this_thread());
    if (usable) return Py_NewRef(given);
    if (stream->device) device = stream->device;
    if (device == nullptr && (device = current_device()) == nullptr) return nullptr;
    return new_stream(stream->handle, device, nullptr, false);
  }
  python::Ref method(PyObject_GetAttrString(given, "__cuda_stream__"));
  if (!method) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    const char* advice = is_device(given)      ? "; that of a device is device.default_stream"
                         : PyLong_Check(given) ? "; Stream.from_handle() makes one of a handle"
                                               : "";
    return PyErr_Format(PyExc_TypeError,
                        "stream must be a Stream, None or an object with __cuda_stream__, not %.100s%s",
                        Py_TYPE(given)->tp_name, advice);
  }
  // cuda.core reads an attribute of that name, too, when it is a plain pair.
  python::Ref pair(PyCallable_Check(method.get()) ? PyObject_CallNoArgs(method.get()) : Py_NewRef(method.get()));
  int version = 0;
  unsigned long long handle = 0;
  if (!pair || !PyArg_ParseTuple(pair.get(), "iK;__cuda_stream__ must give (version, handle)", &version, &handle))
    return nullptr;
  if (version != 0)
    return PyErr_Format(PyExc_TypeError, "__cuda_stream__ has version %d; version 0 is understood", version);
  if (device == nullptr && (device = current_device()) == nullptr) return nullptr;
  return new_stream(reinterpret_cast<infinirtStream_t>(handle), device, given, false);
}

}  // namespace infinirt::objects
