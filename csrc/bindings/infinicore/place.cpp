#include "bindings/infinicore/place.h"

#include <cstring>
#include <new>
#include <utility>

#include <structmember.h>

#include "bindings/infinicore/descriptors.h"
#include "bindings/infinicore/recording.h"
#include "bindings/objects/arguments.h"

namespace infinicore {

PyTypeObject* place_class = nullptr;

namespace {

PlaceObject* as_place(PyObject* object) { return reinterpret_cast<PlaceObject*>(object); }

// The number of a device, as `device.index` says it. False with an exception set.
bool read_device(PyObject* device, Ref* type, long* index) {
  *type = Ref(PyObject_GetAttrString(device, "type_name"));
  if (!*type) return false;
  if (!PyUnicode_Check(type->get())) {
    PyErr_Format(PyExc_TypeError, "device.type_name must be a str, not %.100s", Py_TYPE(type->get())->tp_name);
    return false;
  }
  Ref number(PyObject_GetAttrString(device, "index"));
  if (!number) return false;
  *index = PyLong_AsLong(number.get());
  return !PyErr_Occurred();
}

// Whether device, stream and pool belong together. False with an exception set.
bool check_parts(PyObject* device, PyObject* stream, PyObject* pool, const char** type) {
  if (!objects->is_stream(stream)) {
    PyErr_Format(PyExc_TypeError, "stream must be an infinirt.Stream, not %.100s", Py_TYPE(stream)->tp_name);
    return false;
  }
  if (!objects->is_caching_pool(pool)) {
    PyErr_Format(PyExc_TypeError, "pool must be an infinirt.CachingPool, not %.100s", Py_TYPE(pool)->tp_name);
    return false;
  }
  Ref name;
  long index = 0;
  int ordinal = 0;
  if (!read_device(device, &name, &index) || !objects->stream_device(stream, type, &ordinal)) return false;
  // Under a name that several makers share, such as "cuda", devices are numbered through.
  Ref shown(PyObject_GetAttrString(device, "type"));
  if (!shown) PyErr_Clear();
  const bool is_own_number = !shown || PyObject_RichCompareBool(shown.get(), name.get(), Py_EQ) == 1;
  if (PyUnicode_CompareWithASCIIString(name.get(), *type) != 0 || (is_own_number && index != ordinal)) {
    PyErr_Format(PyExc_ValueError, "the place is to be on %U:%ld, but its stream is of %s:%d", name.get(), index, *type,
                 ordinal);
    return false;
  }
  Ref owner(PyObject_GetAttrString(pool, "device"));
  Ref own(owner ? PyObject_GetAttrString(stream, "device") : nullptr);
  if (!own) return false;
  if (owner.get() == own.get()) return true;  // devices are one object each
  PyErr_Format(PyExc_ValueError, "the place is to be on %s:%d, but its pool is of %S", *type, ordinal, owner.get());
  return false;
}

bool create_handle(PlaceObject* place) {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  const infinirtError_t error = without_lock(true, [&] {
    return on_device(place->stream, [&] {
      status = frame.CreateHandle(&place->handle);
      return infinirtSuccess;
    });
  });
  if (error != infinirtSuccess) return objects->raise_error(error) != nullptr;
  if (status != INFINI_STATUS_SUCCESS) return raise_status(status) != nullptr;
  try {
    std::shared_ptr<void> life(place->handle, [](void* handle) {
      if (frame.DestroyHandle(static_cast<infiniopHandle_t>(handle)) != INFINI_STATUS_SUCCESS) runtime.GetLastError();
    });
    place->handle_life = new std::shared_ptr<void>(std::move(life));
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return false;
  }
  return true;
}

PyObject* place_new(PyTypeObject* type, PyObject* args, PyObject* names) {
  static const char* keywords[] = {"device", "stream", "pool", nullptr};
  PyObject *device = nullptr, *stream = nullptr, *pool = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, names, "OOO:Place", const_cast<char**>(keywords), &device, &stream, &pool))
    return nullptr;
  const char* name = nullptr;
  if (!check_parts(device, stream, pool, &name)) return nullptr;
  Ref made(type->tp_alloc(type, 0));
  if (!made) return nullptr;
  PlaceObject* place = as_place(made.get());
  place->closed.store(true);  // until everything is there
  static uint64_t places = 0;  // under the interpreter's lock
  place->number = ++places;
  place->device = Py_NewRef(device);
  place->stream = Py_NewRef(stream);
  place->pool = Py_NewRef(pool);
  place->descriptors = new (std::nothrow) DescriptorCache;
  if (place->descriptors == nullptr) return PyErr_NoMemory();
  place->is_host = std::strcmp(name, "cpu") == 0;
  if (!objects->stream_handle(stream, &place->stream_handle) || !create_handle(place)) return nullptr;
  int devices = 0;
  const infinirtError_t error =
      without_lock(true, [&] { return on_device(stream, [&] { return runtime.GetDeviceCount(&devices); }); });
  if (error != infinirtSuccess) return objects->raise_error(error);
  place->needs_device = reinterpret_cast<uintptr_t>(place->stream_handle) <= 2 || devices > 1;
  place->closed.store(false);
  return made.release();
}

void release_parts(PlaceObject* place) {
  place->closed.store(true);
  if (place->descriptors) place->descriptors->clear();
  place->handle = nullptr;
  delete std::exchange(place->handle_life, nullptr);
}

int place_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_place(self)->device);
  return 0;
}

int place_clear(PyObject* self) {
  Py_CLEAR(as_place(self)->device);
  return 0;
}

void place_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PlaceObject* place = as_place(self);
  if (place->weak_references) PyObject_ClearWeakRefs(self);
  release_parts(place);
  delete place->descriptors;
  delete place->shared_reserves;
  delete place->waiting_reserves;
  Py_XDECREF(place->device);
  Py_XDECREF(place->stream);
  Py_XDECREF(place->pool);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* place_allocate(PyObject* self, PyObject* size_object) {
  size_t size = 0;
  if (!infinirt::objects::read_size(size_object, "nbytes", &size)) return nullptr;
  return allocate(as_place(self), size);
}

PyObject* place_close(PyObject* self, PyObject*) {
  release_parts(as_place(self));
  Py_RETURN_NONE;
}

PyObject* place_sync(PyObject* self, PyObject*) {
  PlaceObject* place = as_place(self);
  if (!check_open(place)) return nullptr;
  Ref done(PyObject_CallMethod(place->stream, "sync", nullptr));
  return done.release();
}

PyObject* get_device(PyObject* self, void*) { return Py_NewRef(as_place(self)->device); }
PyObject* get_stream(PyObject* self, void*) { return Py_NewRef(as_place(self)->stream); }
PyObject* get_pool(PyObject* self, void*) { return Py_NewRef(as_place(self)->pool); }
PyObject* get_handle(PyObject* self, void*) {
  return check_open(as_place(self)) ? PyLong_FromVoidPtr(as_place(self)->handle) : nullptr;
}
PyObject* get_closed(PyObject* self, void*) { return PyBool_FromLong(as_place(self)->closed.load()); }
PyObject* get_recording(PyObject* self, void*) { return PyBool_FromLong(recording_of(as_place(self)) != nullptr); }
PyObject* get_descriptors(PyObject* self, void*) {
  const DescriptorCache::Counters counters = as_place(self)->descriptors->counters();
  return Py_BuildValue("{s:K,s:K,s:n,s:n}", "hits", static_cast<unsigned long long>(counters.hits), "misses",
                       static_cast<unsigned long long>(counters.misses), "size", static_cast<Py_ssize_t>(counters.size),
                       "capacity", static_cast<Py_ssize_t>(DescriptorCache::kCapacity));
}

PyObject* place_start(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"remove_unused", "fuse", "share_memory", nullptr};
  int remove_unused = 1, fuse = 1, share_memory = 1;
  if (!PyArg_ParseTupleAndKeywords(args, named, "|$ppp", const_cast<char**>(names), &remove_unused, &fuse,
                                   &share_memory))
    return nullptr;
  return start_recording(as_place(self), {remove_unused != 0, fuse != 0, share_memory != 0});
}
PyObject* place_stop(PyObject* self, PyObject*) { return stop_recording(as_place(self)); }
PyObject* place_cancel(PyObject* self, PyObject*) { return cancel_recording(as_place(self)); }
PyObject* get_recorded_steps(PyObject* self, void*) {
  const Recording* recording = recording_of(as_place(self));
  return PyLong_FromSize_t(recording ? recording->size() : 0);
}

PyObject* place_drop_steps(PyObject* self, PyObject* number) {
  const size_t count = PyLong_AsSize_t(number);
  if (count == static_cast<size_t>(-1) && PyErr_Occurred()) return nullptr;
  if (Recording* recording = recording_of(as_place(self))) recording->shrink(count);
  Py_RETURN_NONE;
}

PyObject* place_record_graph(PyObject* self, PyObject* args) { return record_graph(as_place(self), args); }
PyObject* place_expect_others(PyObject* self, PyObject*) { return expect_others(as_place(self)); }
PyObject* place_record_call(PyObject* self, PyObject* function) { return record_call(as_place(self), function); }

PyObject* place_repr(PyObject* self) {
  PlaceObject* place = as_place(self);
  return PyUnicode_FromFormat("<Place on %S%s>", place->device, place->closed.load() ? ", closed" : "");
}

PyMethodDef methods[] = {
    {"allocate", place_allocate, METH_O,
     "allocate($self, nbytes, /)\n--\n\nAn infinirt.Buffer of the place's pool, in the order of its stream."},
    {"sync", place_sync, METH_NOARGS, "sync($self, /)\n--\n\nWaits for everything that the place's stream was given."},
    {"start_recording", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(place_start)),
     METH_VARARGS | METH_KEYWORDS,
     "start_recording($self, /, *, remove_unused=True, fuse=True, share_memory=True)\n--\n\n"
     "Operators that this thread calls here from now on are recorded, not run."},
    {"stop_recording", place_stop, METH_NOARGS,
     "stop_recording($self, /)\n--\n\nEnds the thread's recording; returns what was recorded, ready to run."},
    {"cancel_recording", place_cancel, METH_NOARGS,
     "cancel_recording($self, /)\n--\n\nDrops what this thread records here, and its memory; does nothing when it "
     "does not record."},
    {"drop_steps", place_drop_steps, METH_O,
     "drop_steps($self, count, /)\n--\n\nForgets what this thread has recorded here after the first `count` calls."},
    {"record_graph", place_record_graph, METH_VARARGS,
     "record_graph($self, graph, text, tensors=(), /)\n--\n\nRecords work that was captured on a stream of the place's "
     "device; the memory of the tensors that it uses is kept as long as the graph."},
    {"expect_others", place_expect_others, METH_NOARGS,
     "expect_others($self, /)\n--\n\nWhat is recorded next may read whatever the program has now, and let go of it."},
    {"record_call", place_record_call, METH_O,
     "record_call($self, function, /)\n--\n\nRecords a Python function, which is called with the place's stream "
     "between the device graphs before and\nafter it."},
    {"close", place_close, METH_NOARGS,
     "close($self, /)\n--\n\nGives the operators' handle up. Stream and pool are their owner's to close. Calls on the\n"
     "place fail afterwards; closing twice does nothing."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"device", get_device, nullptr, "The device, as it was given.", nullptr},
    {"stream", get_stream, nullptr, "The infinirt.Stream that work goes to.", nullptr},
    {"pool", get_pool, nullptr, "The infinirt.CachingPool that memory comes from.", nullptr},
    {"operator_handle", get_handle, nullptr, "The infiniopHandle_t as an integer.", nullptr},
    {"recorded_steps", get_recorded_steps, nullptr, "How many calls this thread has recorded here.", nullptr},
    {"is_recording", get_recording, nullptr, "Whether this thread records a graph here.", nullptr},
    {"descriptor_cache", get_descriptors, nullptr, "Hits, misses, size and capacity of the cache of descriptors.",
     nullptr},
    {"is_closed", get_closed, nullptr, "Whether close() was called.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {const_cast<char*>("__weaklistoffset__"), T_PYSSIZET, offsetof(PlaceObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(place_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(place_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(place_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(place_clear)},
    {Py_tp_repr, reinterpret_cast<void*>(place_repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {Py_tp_doc,
     const_cast<char*>("Place(device, stream, pool)\n--\n\nWhere work happens: a device, a stream of it, the "
                       "pool that memory comes from, the operators' handle.\n`device` has the attributes "
                       "`type_name` (infinirt's name of its type) and `index`.")},
    {0, nullptr}};

PyType_Spec spec = {"infinicore._core.Place", sizeof(PlaceObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

PyObject* default_function = nullptr;

// Kept in the thread's dictionary, which the interpreter empties at the thread's end.
PyObject* current_key() {
  static PyObject* key = PyUnicode_InternFromString("infinicore.current_place");
  return key;
}

// The thread's own place: a new reference, null when it has none, or with an exception.
PyObject* own_place() {
  PyObject* things = PyThreadState_GetDict();  // borrowed
  return things ? Py_XNewRef(PyDict_GetItemWithError(things, current_key())) : nullptr;
}

PyObject* set_current(PyObject*, PyObject* place) {
  if (place != Py_None && !is_place(place)) {
    return PyErr_Format(PyExc_TypeError, "a Place or None was expected, not %.100s", Py_TYPE(place)->tp_name);
  }
  PyObject* things = PyThreadState_GetDict();  // borrowed
  if (things == nullptr) return PyErr_NoMemory();
  Ref previous(own_place());
  if (PyErr_Occurred()) return nullptr;
  if (place != Py_None) {
    if (PyDict_SetItem(things, current_key(), place) < 0) return nullptr;
  } else if (previous && PyDict_DelItem(things, current_key()) < 0) {
    return nullptr;
  }
  return previous ? previous.release() : Py_NewRef(Py_None);
}

PyObject* current(PyObject*, PyObject*) { return reinterpret_cast<PyObject*>(current_place()); }

PyObject* set_default(PyObject*, PyObject* function) {
  if (function != Py_None && !PyCallable_Check(function)) {
    PyErr_Format(PyExc_TypeError, "a function or None was expected, not %.100s", Py_TYPE(function)->tp_name);
    return nullptr;
  }
  PyObject* previous = default_function;
  default_function = function == Py_None ? nullptr : Py_NewRef(function);
  return previous ? previous : Py_NewRef(Py_None);
}

}  // namespace

PyMethodDef place_functions[] = {
    {"set_current", set_current, METH_O,
     "set_current(place, /)\n--\n\nMakes a place the calling thread's current one; None takes it away. Returns the one "
     "that it had, or None."},
    {"current", current, METH_NOARGS,
     "current()\n--\n\nThe calling thread's current place; a thread without one gets the default one."},
    {"set_default", set_default, METH_O,
     "set_default(function, /)\n--\n\nThe function, without arguments, that gives the place of threads which have none "
     "of their own. None: there is no such place. Returns the function that was set before, or None."},
    {nullptr, nullptr, 0, nullptr}};

PyTypeObject* make_place_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

bool check_open(const PlaceObject* place) {
  if (!place->closed.load(std::memory_order_relaxed)) [[likely]]
    return true;
  objects->raise_message(
      infinirtErrorInvalidResourceHandle,
      "the place was closed, and with it what computes there; tensors of it cannot be used any more");
  return false;
}

PyObject* allocate(PlaceObject* place, size_t size) {
  if (!check_open(place)) return nullptr;
  if (Recording* recording = recording_of(place)) return recording->allocate(size);
  return objects->allocate(place->pool, size, place->stream);
}

PlaceObject* current_place() {
  PyObject* own = own_place();
  if (own || PyErr_Occurred()) return as_place(own);
  Ref function(Py_XNewRef(default_function));
  if (!function) {
    PyErr_SetString(PyExc_RuntimeError, "this thread has no current place, and no default was set");
    return nullptr;
  }
  Ref found(PyObject_CallNoArgs(function.get()));
  if (found && !is_place(found.get())) {
    PyErr_Format(PyExc_TypeError, "the default's function returned a %.100s, not a Place",
                 Py_TYPE(found.get())->tp_name);
    return nullptr;
  }
  return as_place(found.release());
}

}  // namespace infinicore
