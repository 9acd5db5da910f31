#include "bindings/infinicore/recording.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

namespace infinicore {

PyTypeObject* recording_class = nullptr;

namespace {

// Holds a Recording in the thread's dictionary, under its place: the interpreter empties that at the thread's end.
struct RecordingObject {
  PyObject ob_base;
  Recording* recording;
};

void recording_dealloc(PyObject* self) {
  delete reinterpret_cast<RecordingObject*>(self)->recording;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(recording_dealloc)}, {0, nullptr}};
PyType_Spec spec = {"infinicore._core.Recording", sizeof(RecordingObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyObject* as_key(PlaceObject* place) { return reinterpret_cast<PyObject*>(place); }

std::string describe(const TensorObject* tensor) {
  std::string text = std::string(tensor->dtype->name) + "[";
  for (int d = 0; d < tensor->ndim(); ++d) text += (d ? ", " : "") + std::to_string(tensor->shape()[d]);
  return text + "]";
}

// What is added next cannot fail. Twice as much, or every call would move all that is there.
template <class Element>
void make_room(std::vector<Element>& elements, size_t count) {
  if (elements.capacity() - elements.size() < count) elements.reserve(2 * elements.size() + count);
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// An element of Fill: the number, where C has the type, or its bits.
std::string text_of(const unsigned char* element, const DtypeObject& dtype) {
  uint64_t bits = 0;
  if (dtype.size <= sizeof bits) std::memcpy(&bits, element, dtype.size);
  if (dtype.kind == 'f' && dtype.number != INFINI_DTYPE_F16 && dtype.number != INFINI_DTYPE_F8) {
    double number = 0;
    float single = 0;
    const auto wide = static_cast<uint32_t>(dtype.number == INFINI_DTYPE_BF16 ? bits << 16 : bits);
    std::memcpy(&single, &wide, sizeof single);
    std::memcpy(&number, &bits, sizeof number);
    return text_of(dtype.number == INFINI_DTYPE_F64 ? number : double(single));
  }
  if (dtype.kind == 'u' || dtype.kind == 'b') return std::to_string(bits);
  if (dtype.kind == 'i') {
    const int unused = 64 - 8 * dtype.size;
    return std::to_string(static_cast<int64_t>(bits << unused) >> unused);
  }
  std::string text = "0x";
  for (int i = dtype.size; i-- > 0;) {
    for (const int digit : {element[i] >> 4, element[i] & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

View view_of(const TensorObject* tensor) {
  View view;
  view.data = view.low = view.high = tensor->data;
  view.dtype = tensor->dtype;
  view.count = tensor->count;
  view.sizes.assign(tensor->sizes, tensor->sizes + tensor->ob_size);
  if (tensor->count == 0) return view;
  const auto item = static_cast<Py_ssize_t>(tensor->dtype->size);
  view.high += item;
  for (int d = 0; d < tensor->ndim(); ++d) {
    const Py_ssize_t reach = (tensor->shape()[d] - 1) * tensor->strides()[d] * item;
    (reach < 0 ? view.low : view.high) += reach;
  }
  return view;
}

PyObject* no_recording() {
  PyErr_SetString(PyExc_RuntimeError,
                  "this thread records nothing there; start_graph_recording(), or with record(), comes first");
  return nullptr;
}

}  // namespace

PyTypeObject* make_recording_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

Recorded::Recorded(Recorded&& other) noexcept
    : place(std::exchange(other.place, nullptr)),
      wanted(other.wanted),
      calls(other.calls),
      steps(std::move(other.steps)),
      removed(std::move(other.removed)),
      refused(std::move(other.refused)),
      owners(std::move(other.owners)),
      reserve(std::exchange(other.reserve, 0)),
      reserved_bytes(other.reserved_bytes) {}

bool Recorded::touches_shared() const {
  if (place->shared_reserves && place->shared_reserves->count(reserve)) return true;
  return std::any_of(owners.begin(), owners.end(), [](const Ref& owner) {
    return Py_TYPE(owner.get()) == storage_class && reinterpret_cast<const StorageObject*>(owner.get())->is_shared;
  });
}

Recorded::~Recorded() {
  steps.clear();
  owners.clear();
  if (reserve) {
    objects->reserve_destroy(place->pool, reserve, place->stream);
    if (place->shared_reserves) place->shared_reserves->erase(reserve);
  }
  Py_XDECREF(place);
}

Recording::Recording(PlaceObject* place, infinirtXCacheReserve_t reserve, Optimisations wanted)
    : place_(place), thread_(PyThread_get_thread_ident()), next_(place->recordings) {
  place->recordings = this;
  recorded_.place = place;
  Py_INCREF(place);
  recorded_.reserve = reserve;
  recorded_.wanted = wanted;
  Py_INCREF(place_);
}

Recording::~Recording() {
  Recording** link = &place_->recordings;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
  Py_DECREF(place_);
}

bool Recording::add(const Launch& launch, const std::shared_ptr<Descriptor>& descriptor, TensorObject* const* tensors,
                    int count) try {
  Step step;
  step.launch = launch;
  step.descriptor = descriptor;
  step.text = std::string(launch.row->name) + "(";
  const int outputs = launch.row->outputs;
  step.outputs = static_cast<size_t>(outputs);
  for (int t = outputs; t < count; ++t) {
    step.text += (t > outputs ? ", " : "") + (tensors[t] ? describe(tensors[t]) : "None");
  }
  for (int a = 0; a < launch.row->attributes; ++a) {
    step.text += (count - outputs + a > 0 ? ", " : "") + std::string(launch.row->parameters[launch.row->inputs + a]) +
                 "=" + text_of(launch.attributes[a]);
  }
  if (launch.row->takes_element) step.text += text_of(launch.element, *tensors[0]->dtype);
  step.text += ") -> " + describe(tensors[0]);
  for (int t = 1; t < outputs; ++t) step.text += ", " + (tensors[t] ? describe(tensors[t]) : "None");
  make_room(recorded_.steps, 1);
  make_room(recorded_.owners, static_cast<size_t>(count));
  for (int t = 0; t < count; ++t) {
    if (tensors[t] == nullptr) {
      step.views.emplace_back();  // nothing, and nowhere
      continue;
    }
    const StorageObject* storage = tensors[t]->storage;
    step.bytes += tensors[t]->count * tensors[t]->dtype->size;
    step.views.push_back(view_of(tensors[t]));
    if (storage->reserve == recorded_.reserve) step.views.back().life = *storage->life;
    keep(tensors[t]);
  }
  recorded_.steps.push_back(std::move(step));
  return true;
} catch (const std::bad_alloc&) {
  PyErr_NoMemory();
  return false;
}

void Recording::keep(const TensorObject* tensor) {
  StorageObject* storage = tensor->storage;
  const bool is_own = storage->reserve == recorded_.reserve;
  // Memory of our own reserve stays there, and what the program lets go of is had again by what is recorded later.
  if (is_own && recorded_.wanted.share_memory) return;
  // Of such memory the owner is kept, not the storage: that a tensor still has it is for the program to say.
  PyObject* kept = is_own ? storage->owner : reinterpret_cast<PyObject*>(storage);
  if (owned_.insert(kept).second) recorded_.owners.emplace_back(Py_NewRef(kept));
}

bool Recording::add(PyObject* function) try {
  Step step;
  step.function = Ref(Py_NewRef(function));
  Ref name(PyObject_GetAttrString(function, "__name__"));
  if (!name) PyErr_Clear();
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (!text) PyErr_Clear();
  step.text = std::string(text ? text : Py_TYPE(function)->tp_name) + "(stream)";
  step.can_be_captured = false;
  recorded_.steps.push_back(std::move(step));
  let_escape();
  return true;
} catch (const std::bad_alloc&) {
  PyErr_NoMemory();
  return false;
}

bool Recording::add(PyObject* captured, infinirtGraph_t graph, const char* text, PyObject* tensors) try {
  Step step;
  step.captured = Ref(Py_NewRef(captured));
  step.graph = graph;
  step.text = text;
  const Py_ssize_t count = tensors ? PyTuple_GET_SIZE(tensors) : 0;
  make_room(recorded_.steps, 1);
  make_room(recorded_.owners, static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const TensorObject* tensor = as_tensor(PyTuple_GET_ITEM(tensors, i));
    step.bytes += tensor->count * tensor->dtype->size;
    keep(tensor);
  }
  recorded_.steps.push_back(std::move(step));
  let_escape();
  return true;
} catch (const std::bad_alloc&) {
  PyErr_NoMemory();
  return false;
}

void Recording::let_escape() {
  for (; seen_ < recorded_.steps.size(); ++seen_) {
    Step& step = recorded_.steps[seen_];
    // Of several outputs all are kept anyway.
    step.escapes = step.escapes || (!step.views.empty() && step.views[0].life && *step.views[0].life);
  }
}

PyObject* Recording::allocate(size_t size) {
  Ref buffer(objects->reserve_allocate(place_->pool, recorded_.reserve, size, place_->stream));
  if (!buffer) return nullptr;
  void* pointer = nullptr;
  size_t actual = 0;
  if (!objects->buffer_memory(buffer.get(), &pointer, &actual)) return nullptr;
  try {
    size_t& known = blocks_[pointer];
    if (actual > known) recorded_.reserved_bytes += actual - std::exchange(known, actual);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  return buffer.release();
}

PyObject* start_recording(PlaceObject* place, Optimisations wanted) {
  if (!check_open(place)) return nullptr;
  if (recording_of(place)) {
    return PyErr_Format(PyExc_RuntimeError,
                        "this thread records on %S already, and recordings do not nest; end that one first "
                        "(stop_graph_recording(), or the end of the with block)",
                        place->device);
  }
  PyObject* things = PyThreadState_GetDict();  // borrowed
  if (things == nullptr) return PyErr_NoMemory();
  infinirtXCacheReserve_t reserve = 0;
  if (!objects->reserve_create(place->pool, &reserve)) return nullptr;
  Ref made(recording_class->tp_alloc(recording_class, 0));
  auto* recording = made ? new (std::nothrow) Recording(place, reserve, wanted) : nullptr;
  if (recording == nullptr) {
    objects->reserve_destroy(place->pool, reserve, place->stream);
    return PyErr_Occurred() ? nullptr : PyErr_NoMemory();
  }
  reinterpret_cast<RecordingObject*>(made.get())->recording = recording;
  try {
    if (!place->waiting_reserves) place->waiting_reserves = new std::unordered_set<infinirtXCacheReserve_t>;
    place->waiting_reserves->insert(reserve);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  if (PyDict_SetItem(things, as_key(place), made.get()) < 0) return nullptr;
  Py_RETURN_NONE;
}

// Takes the thread's recording out of its dictionary: it goes with the reference that this returns.
static Ref take_recording(PlaceObject* place) {
  PyObject* things = PyThreadState_GetDict();  // borrowed
  Ref found(things ? Py_XNewRef(PyDict_GetItemWithError(things, as_key(place))) : nullptr);
  if (found && PyDict_DelItem(things, as_key(place)) < 0) PyErr_Clear();
  return found;
}

PyObject* stop_recording(PlaceObject* place) {
  Recording* recording = recording_of(place);
  if (recording == nullptr) return no_recording();
  if (!check_open(place)) return nullptr;
  Ref held = take_recording(place);
  Recorded recorded = recording->take();
  held = Ref();  // this thread does not record any more, whatever comes
  return make_graph(std::move(recorded));
}

PyObject* cancel_recording(PlaceObject* place) {
  take_recording(place);
  if (PyErr_Occurred()) return nullptr;
  Py_RETURN_NONE;
}

PyObject* record_call(PlaceObject* place, PyObject* function) {
  Recording* recording = recording_of(place);
  if (recording == nullptr) return no_recording();
  if (!PyCallable_Check(function)) {
    return PyErr_Format(PyExc_TypeError, "a function of one argument, the stream, was expected, not %R", function);
  }
  if (!recording->add(function)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* expect_others(PlaceObject* place) {
  Recording* recording = recording_of(place);
  if (recording == nullptr) return no_recording();
  recording->let_escape();
  Py_RETURN_NONE;
}

PyObject* record_graph(PlaceObject* place, PyObject* args) {
  Recording* recording = recording_of(place);
  if (recording == nullptr) return no_recording();
  PyObject *captured = nullptr, *tensors = nullptr;
  const char* text = nullptr;
  if (!PyArg_ParseTuple(args, "Os|O!", &captured, &text, &PyTuple_Type, &tensors)) return nullptr;
  for (Py_ssize_t i = 0; tensors && i < PyTuple_GET_SIZE(tensors); ++i) {
    if (is_tensor(PyTuple_GET_ITEM(tensors, i))) continue;
    return PyErr_Format(PyExc_TypeError, "the tensors that the work uses were expected, not %R",
                        PyTuple_GET_ITEM(tensors, i));
  }
  Ref handle(PyObject_GetAttrString(captured, "handle"));
  Ref number(handle ? PyNumber_Long(handle.get()) : nullptr);
  if (!number) return nullptr;
  void* graph = PyLong_AsVoidPtr(number.get());
  if (graph == nullptr && PyErr_Occurred()) return nullptr;
  if (!recording->add(captured, static_cast<infinirtGraph_t>(graph), text, tensors)) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace infinicore
