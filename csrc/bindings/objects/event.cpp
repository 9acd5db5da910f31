#include "bindings/objects/event.h"

#include <structmember.h>
#include <cstddef>

#include "bindings/objects/deferred.h"
#include "bindings/objects/stream.h"

namespace infinirt::objects {

PyTypeObject* event_class = nullptr;
PyTypeObject* event_options_class = nullptr;

namespace {

EventObject* as_event(PyObject* object) { return reinterpret_cast<EventObject*>(object); }

Outcome destroy_handle(void* data) {
  return rt.EventDestroy(static_cast<infinirtEvent_t>(data)) == infinirtErrorNotPermitted ? Outcome::NotNow
                                                                                          : Outcome::Done;
}

PyObject* is_done(PyObject* self, void*) {
  auto* event = as_event(self);
  drain_deferred();
  if (!check_open(event)) return nullptr;
  const infinirtError_t error = without_gil(event->may_block, [&] { return rt.EventQuery(event->handle); });
  if (error == infinirtSuccess) Py_RETURN_TRUE;
  if (error == infinirtErrorNotReady) Py_RETURN_FALSE;
  return raise_error(error);
}

PyObject* sync(PyObject* self, PyObject*) {
  auto* event = as_event(self);
  drain_deferred();
  if (!check_open(event)) return nullptr;
  // A look first, as for streams; not during a capture, which a query of one of its events would break before the call that
  // was asked for can say so.
  const bool may_look = event->may_block.how == MayBlock::Never &&
                        !pools_release_on_sync.load(std::memory_order_relaxed) &&
                        captures_under_way.load(std::memory_order_relaxed) == 0;
  if (may_look) {
    infinirtError_t error = rt.EventQuery(event->handle);
    if (error == infinirtSuccess) error = rt.EventSynchronize(event->handle);  // as for streams
    if (error == infinirtSuccess) Py_RETURN_NONE;
    if (error != infinirtErrorNotReady) return raise_error_as("infinirtEventSynchronize", error);
  }
  return none_or_raise(without_gil(true, [&] { return rt.EventSynchronize(event->handle); }));
}

PyObject* record(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  auto* event = as_event(self);
  drain_deferred();
  if (count > 1)
    return PyErr_Format(PyExc_TypeError, "record() takes at most one argument, a stream; %zd were given", count);
  if (!check_open(event)) return nullptr;
  python::Ref reference(stream_from(count == 1 ? args[0] : Py_None, event->device));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  return none_or_raise(without_gil(event->may_block, [&] {
    return on_stream(stream, [&](infinirtStream_t s) { return rt.EventRecord(event->handle, s); });
  }));
}

PyObject* elapsed_since(PyObject* self, PyObject* earlier) {
  if (!is_event(earlier))
    return PyErr_Format(PyExc_TypeError, "an Event was expected, not %.100s", Py_TYPE(earlier)->tp_name);
  auto *end = as_event(self), *start = as_event(earlier);
  if (!check_open(end) || !check_open(start)) return nullptr;
  float milliseconds = 0;
  const infinirtError_t error =
      without_gil(end->may_block, [&] { return rt.EventElapsedTime(&milliseconds, start->handle, end->handle); });
  return error == infinirtSuccess ? PyFloat_FromDouble(static_cast<double>(milliseconds)) : raise_error(error);
}

PyObject* close(PyObject* self, PyObject*) {
  auto* event = as_event(self);
  drain_deferred();
  if (event->owns && !event->closed.exchange(true)) do_or_defer(destroy_handle, event->handle);
  Py_RETURN_NONE;
}

PyObject* get_handle(PyObject* self, void*) {
  return check_open(as_event(self)) ? PyLong_FromVoidPtr(as_event(self)->handle) : nullptr;
}
PyObject* as_int(PyObject* self) { return get_handle(self, nullptr); }
PyObject* get_device(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(as_event(self)->device)); }
PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(as_event(self)->closed.load()); }
PyObject* get_flag(PyObject* self, void* flag) {
  return PyBool_FromLong((as_event(self)->flags & static_cast<unsigned>(reinterpret_cast<uintptr_t>(flag))) != 0);
}
PyObject* get_timing(PyObject* self, void*) {
  return PyBool_FromLong((as_event(self)->flags & infinirtEventDisableTiming) == 0);
}

Py_hash_t hash(PyObject* self) {
  const auto value = reinterpret_cast<uintptr_t>(as_event(self)->handle);
  return static_cast<Py_hash_t>((value >> 4 | value << 60) & 0x7fffffffffffffff);
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (!is_event(other) || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  auto *a = as_event(self), *b = as_event(other);
  const bool equal = a == b || (a->handle == b->handle && a->closed.load() == b->closed.load());
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

void dealloc(PyObject* self) {
  auto* event = as_event(self);
  if (event->weak_references) PyObject_ClearWeakRefs(self);
  if (event->owns && !event->closed.load()) {
    without_gil(event->may_block, [&] { return do_or_defer(destroy_handle, event->handle), 0; });
  }
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* forbidden_new(PyTypeObject* type, PyObject*, PyObject*) {
  return PyErr_Format(PyExc_TypeError, "%.100s objects are made by Device.create_event() and Stream.record()",
                      type->tp_name);
}

PyMethodDef methods[] = {
    {"sync", sync, METH_NOARGS, "sync($self, /)\n--\n\nWaits until the event's latest record is reached."},
    {"record", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(record)), METH_FASTCALL,
     "record($self, stream=None, /)\n--\n\nRecords the event on a stream of its device, by default on the default "
     "stream."},
    {"_elapsed_since", elapsed_since, METH_O, nullptr},
    {"close", close, METH_NOARGS,
     "close($self, /)\n--\n\nGives the event back. Waits that were issued for it stay in force."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"is_done", is_done, nullptr,
     "Whether the latest record was reached; true also of an event that was never recorded.", nullptr},
    {"is_closed", get_closed, nullptr, "Whether close() was called.", nullptr},
    {"handle", get_handle, nullptr, "The infinirtEvent_t as an integer.", nullptr},
    {"device", get_device, nullptr, "The device on whose streams the event can be recorded.", nullptr},
    {"is_timing_enabled", get_timing, nullptr, "Whether the event takes the time, for `end - start`.", nullptr},
    {"is_blocking_sync", get_flag, nullptr, "Whether sync() sleeps instead of spinning.",
     reinterpret_cast<void*>(uintptr_t{infinirtEventBlockingSync})},
    {"is_ipc_enabled", get_flag, nullptr, "Whether other processes can be given the event.",
     reinterpret_cast<void*>(uintptr_t{infinirtEventInterprocess})},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(EventObject, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(forbidden_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_nb_int, reinterpret_cast<void*>(as_int)},
                       {Py_nb_index, reinterpret_cast<void*>(as_int)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>("What events are made of; use Event.")},
                       {0, nullptr}};

PyType_Spec spec = {"infinirt._core.EventBase", sizeof(EventObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

PyTypeObject* make_event_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

PyObject* new_event(infinirtEvent_t handle, DeviceObject* device, unsigned flags, bool owns) {
  PyObject* made = event_class->tp_alloc(event_class, 0);
  if (made == nullptr) return nullptr;
  auto* event = as_event(made);
  event->handle = handle;
  event->device = device;
  event->may_block = device->may_block;
  event->flags = flags;
  event->owns = owns;
  return made;
}

bool check_open(const EventObject* event) {
  if (!event->closed.load(std::memory_order_relaxed)) [[likely]]
    return true;
  raise_error(infinirtErrorInvalidResourceHandle, "the event was closed; create another one");
  return false;
}

}  // namespace infinirt::objects
