#include "bindings/objects/device.h"

#include <strings.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bindings/objects/deferred.h"
#include "bindings/objects/pool.h"
#include "bindings/objects/stream.h"

namespace infinirt::objects {

PyTypeObject* device_class = nullptr;
std::atomic<bool> per_thread_default{false};

namespace {

// One row per device type. Rows and devices are only ever added, and the interpreter may hold no lock (free-threaded
// builds), so adding is serialised here.
struct TypeRow {
  const char* name;
  bool is_accelerator;
  int index;                          // in the library's list
  std::atomic<bool> counted{false};
  std::vector<DeviceObject*> devices;  // once counted
};

constexpr int kMaxTypes = 64;
std::mutex rows_mutex;
TypeRow rows[kMaxTypes];
std::atomic<int> row_count{0};

TypeRow* find_row(const char* type) {
  const int count = row_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (rows[i].name == type) return &rows[i];
  }
  return nullptr;
}

// Launches that block wait for work that may need the interpreter. Schedules other than the default run work, Python functions included, inside API calls of whichever thread comes along; a
// call may then wait for another thread that needs the interpreter.
bool calls_run_work() {
  const char* release = std::getenv("INFINIRT_PYTHON_RELEASE_GIL");
  if (release != nullptr && std::strcmp(release, "1") == 0) return true;
  const char* blocking = std::getenv("INFINIRT_LAUNCH_BLOCKING");
  if (blocking != nullptr && std::strcmp(blocking, "1") == 0) return true;
  const char* schedule = std::getenv("INFINIRT_CPU_SCHEDULE");
  return schedule != nullptr && *schedule != '\0' && std::strcmp(schedule, "async") != 0;
}

// Reads the types that the library knows into rows; plugins may have added some since the last time. Devices are counted when
// a type is first asked for: that may start a driver.
bool refresh_rows() {
  int types = 0;
  if (auto error = without_gil(true, [&] { return infinirtXGetDeviceTypeCount(&types); }))
    return raise_error(error), false;
  std::lock_guard guard(rows_mutex);
  for (int i = 0; i < types; ++i) {
    const char* name = nullptr;
    int is_accelerator = 0;
    if (auto error = infinirtXGetDeviceTypeName(&name, &is_accelerator, i)) return raise_error(error), false;
    if (find_row(name) || row_count.load() == kMaxTypes) continue;
    TypeRow& row = rows[row_count.load()];
    row.name = name;
    row.index = i;
    row.is_accelerator = is_accelerator != 0;
    row_count.fetch_add(1, std::memory_order_release);
  }
  return true;
}

TypeRow* with_devices(TypeRow* row) {
  if (row->counted.load(std::memory_order_acquire)) return row;
  infinirtXDeviceTypeInfo info;
  if (auto error = without_gil(true, [&] { return infinirtXGetDeviceTypeInfo(&info, row->index); }))
    return raise_error(error), nullptr;
  std::lock_guard guard(rows_mutex);
  if (!row->counted.load(std::memory_order_relaxed)) {
    row->devices.assign(static_cast<size_t>(info.deviceCount > 0 ? info.deviceCount : 0), nullptr);
    row->counted.store(true, std::memory_order_release);
  }
  return row;
}

TypeRow* find_row_by_text(const char* type) {
  const int count = row_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(rows[i].name, type) == 0) return &rows[i];
  }
  return nullptr;
}

// What other projects call a device type.
std::string name_here(const char* type) {
  constexpr std::pair<const char*, const char*> kElsewhere[] = {
      {"cuda", "nvidia"}, {"gpu", "nvidia"},     {"hip", "amd"},    {"rocm", "amd"},      {"musa", "moore"},
      {"maca", "metax"},  {"corex", "iluvatar"}, {"npu", "ascend"}, {"mlu", "cambricon"}, {"xpu", "kunlun"}};
  for (const auto& [elsewhere, here] : kElsewhere) {
    if (strcasecmp(type, elsewhere) == 0) return std::string(" (what others call ") + type + " is '" + here + "' here)";
  }
  return strcasecmp(type, "cpu") == 0 ? " (names are in small letters)" : "";
}

TypeRow* row_of(const char* type) {
  if (TypeRow* row = find_row(type)) return with_devices(row);
  if (!refresh_rows()) return nullptr;
  if (TypeRow* row = find_row_by_text(type)) return with_devices(row);
  // Installed packages may bring plugins, which are not looked at before something is missing.
  if (load_entry_points()) {
    if (!refresh_rows()) return nullptr;
    if (TypeRow* row = find_row_by_text(type)) return with_devices(row);
  }
  std::string refused;
  int plugins = 0;
  infinirtXGetPluginCount(&plugins);
  for (int i = 0; i < plugins; ++i) {
    infinirtXPluginInfo info = {};
    if (infinirtXGetPluginInfo(&info, i) == infinirtSuccess && *info.problem)
      refused += std::string("; plugin ") + info.path + " was refused: " + info.problem;
  }
  std::string known;
  const int count = row_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) known += (i ? ", " : "") + std::string(rows[i].name);
  raise_message(infinirtErrorInvalidDevice, std::string("there is no device type '") + type + "'" + name_here(type) +
                                                "; known types: " + known + refused);
  return nullptr;
}

// Why a device type has no device, in the runtime's own words.
std::string problem_of(const char* type) {
  int count = 0;
  infinirtXGetDeviceTypeCount(&count);
  for (int i = 0; i < count; ++i) {
    infinirtXDeviceTypeInfo info;
    if (infinirtXGetDeviceTypeInfo(&info, i) == infinirtSuccess && std::strcmp(info.name, type) == 0)
      return info.problem;
  }
  return "infinirt.device_types() says more";
}

// A setting of the CPU device that makes no sense leaves it without devices; what is wrong then is the setting.
bool raise_wrong_setting(const std::string& problem) {
  const size_t setting = problem.find("INFINIRT_CPU_");
  if (setting == std::string::npos) return false;
  raise_message(infinirtErrorInvalidValue, problem.substr(setting));
  return true;
}

// `given` is the number as the program wrote it, which need not fit into an int.
void raise_out_of_range(const TypeRow& row, const char* given) {
  if (row.devices.empty()) {
    const std::string problem = problem_of(row.name);
    if (raise_wrong_setting(problem)) return;
    raise_error(infinirtErrorNoDevice, "device type '%s' has no device: %s", row.name, problem.c_str());
  } else if (row.devices.size() == 1) {
    raise_error(infinirtErrorInvalidDevice, "%s:%.40s does not exist; the only device of type '%s' is %s:0", row.name,
                given, row.name, row.name);
  } else {
    raise_error(infinirtErrorInvalidDevice, "%s:%.40s does not exist; devices of type '%s' are %s:0 to %s:%zu",
                row.name, given, row.name, row.name, row.name, row.devices.size() - 1);
  }
}

// There is no current device type. Always null.
DeviceObject* raise_no_type(infinirtError_t error) {
  std::string message = take_message(error);
  const char* wanted = std::getenv("INFINIRT_DEVICE");
  constexpr const char* kNoSuchType = " names no device type";
  const size_t place = message.find(kNoSuchType);
  if (wanted != nullptr && place != std::string::npos) {
    message.insert(place + std::strlen(kNoSuchType), name_here(std::string(wanted, std::strcspn(wanted, ":")).c_str()));
  }
  if (error != infinirtErrorNoDevice || !raise_wrong_setting(message)) raise_message(error, message);
  return nullptr;
}

DeviceObject* device_in(TypeRow& row, int ordinal) {
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= row.devices.size()) {
    raise_out_of_range(row, std::to_string(ordinal).c_str());
    return nullptr;
  }
  std::atomic_ref<DeviceObject*> slot(row.devices[static_cast<size_t>(ordinal)]);
  if (DeviceObject* device = slot.load(std::memory_order_acquire)) return device;
  auto* made = reinterpret_cast<DeviceObject*>(device_class->tp_alloc(device_class, 0));
  if (made == nullptr) return nullptr;
  made->type = row.name;
  made->ordinal = ordinal;
  made->is_accelerator = row.is_accelerator;
  made->is_only = row.devices.size() == 1;
  const bool always = calls_run_work();
  made->may_block = {always ? MayBlock::Always : row.is_accelerator ? MayBlock::Ask : MayBlock::Never, row.name};
  DeviceObject* expected = nullptr;
  if (slot.compare_exchange_strong(expected, made)) return made;
  Py_DECREF(made);
  return expected;
}

DeviceObject* device_named(const char* name) {
  const char* colon = std::strrchr(name, ':');
  if (colon == nullptr) {
    TypeRow* row = row_of(name);
    return row ? device_in(*row, 0) : nullptr;
  }
  const size_t digits = std::strspn(colon + 1, "0123456789");
  if (digits == 0 || colon[1 + digits] != '\0') {
    raise_error(infinirtErrorInvalidValue, "'%s' is no device name; write 'type' or 'type:ordinal', as in 'cpu:0'",
                name);
    return nullptr;
  }
  TypeRow* row = row_of(std::string(name, colon).c_str());
  if (row == nullptr) return nullptr;
  const long ordinal = std::strtol(colon + 1, nullptr, 10);  // LONG_MAX when it is larger than that
  if (ordinal <= INT_MAX) return device_in(*row, static_cast<int>(ordinal));
  raise_out_of_range(*row, colon + 1);
  return nullptr;
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  if (kwargs == nullptr && PyTuple_GET_SIZE(args) == 0)
    return Py_XNewRef(reinterpret_cast<PyObject*>(current_device()));
  static const char* names[] = {"device", nullptr};
  PyObject* given = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Device", const_cast<char**>(names), &given)) return nullptr;
  return Py_XNewRef(reinterpret_cast<PyObject*>(device_from(given)));
}

PyObject* set_current(PyObject* self, PyObject*) {
  drain_deferred();
  auto* device = reinterpret_cast<DeviceObject*>(self);
  infinirtError_t error = infinirtXSetDeviceType(device->type);
  if (error == infinirtSuccess) error = without_gil(device->may_block, [&] { return rt.SetDevice(device->ordinal); });
  return none_or_raise(error);
}

PyObject* device_sync(PyObject* self, PyObject*) {
  drain_deferred();
  auto* device = reinterpret_cast<DeviceObject*>(self);
  return none_or_raise(without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : rt.DeviceSynchronize();
  }));
}

PyObject* get_type(PyObject* self, void*) { return PyUnicode_FromString(reinterpret_cast<DeviceObject*>(self)->type); }
PyObject* get_ordinal(PyObject* self, void*) { return PyLong_FromLong(reinterpret_cast<DeviceObject*>(self)->ordinal); }
PyObject* get_default_stream(PyObject* self, void*) {
  return Py_XNewRef(default_stream(reinterpret_cast<DeviceObject*>(self)));
}

PyObject* get_resource(PyObject* self, void*) {
  PyObject* resource = field_of(self, reinterpret_cast<DeviceObject*>(self)->resource);
  return resource ? resource : Py_NewRef(Py_None);
}

int set_resource(PyObject* self, PyObject* value, void*) {
  auto* device = reinterpret_cast<DeviceObject*>(self);
  PyObject* changed = value == nullptr || value == Py_None ? nullptr : Py_NewRef(value);
  exclusively(self, [&] { std::swap(device->resource, changed); });
  Py_XDECREF(changed);
  return 0;
}

PyMethodDef methods[] = {
    {"set_current", set_current, METH_NOARGS,
     "set_current($self, /)\n--\n\nMakes this the calling thread's current device, of its type and of all types."},
    {"sync", device_sync, METH_NOARGS, "sync($self, /)\n--\n\nWaits until all work of the device is done."},
    {"allocate", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(allocate_on_device)),
     METH_FASTCALL | METH_KEYWORDS,
     "allocate($self, /, size, *, stream=None)\n--\n\nA Buffer of `size` bytes from the device's memory resource, "
     "allocated in the\n"
     "order of `stream`, by default the device's default stream."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"type", get_type, nullptr, "The device type: \"cpu\", \"nvidia\", ...", nullptr},
    {"ordinal", get_ordinal, nullptr, "The device's number within its type.", nullptr},
    {"default_stream", get_default_stream, nullptr,
     "The stream that work goes to when none is named: the legacy default stream, or the calling thread's own after\n"
     "`per_thread_default_stream(True)`.",
     nullptr},
    {"_resource", get_resource, set_resource, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(device_new)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char*>("What devices are made of; use Device.")},
                       {0, nullptr}};

PyType_Spec spec = {"infinirt._core.DeviceBase", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

PyTypeObject* make_device_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

OnDevice::OnDevice(const DeviceObject* device) : device_(device) {
  if ((error_ = infinirtXEnterDeviceType(device->type, &previous_type_))) {
    previous_type_ = device->type;  // nothing to take back
    // In a host function, where every call fails: the one that follows shall say so, since it is the one that was asked for.
    if (error_ == infinirtErrorNotPermitted) error_ = infinirtSuccess;
    return;
  }
  if (device->is_only) return;
  error_ = rt.GetDevice(&previous_ordinal_);
  if (error_ == infinirtSuccess && previous_ordinal_ != device->ordinal) error_ = rt.SetDevice(device->ordinal);
}

OnDevice::~OnDevice() {
  if (previous_ordinal_ >= 0 && previous_ordinal_ != device_->ordinal) rt.SetDevice(previous_ordinal_);
  if (previous_type_ != device_->type) infinirtXLeaveDeviceType(previous_type_);
}

bool load_entry_points() {
  // Whatever goes wrong with it, what the program asked for goes on without it.
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  python::Ref module(PyImport_ImportModule("infinirt.plugin"));
  python::Ref found(module ? PyObject_CallMethod(module.get(), "load_entry_points", nullptr) : nullptr);
  const bool any = found && PyObject_IsTrue(found.get()) == 1;
  PyErr_Restore(kind, value, trace);
  return any;
}

DeviceObject* current_device() {
  const char* type = nullptr;
  int ordinal = 0;
  infinirtError_t error = infinirtXGetDeviceType(&type);
  // INFINIRT_DEVICE may name what a package brings.
  if (error == infinirtErrorInvalidDevice && load_entry_points()) error = infinirtXGetDeviceType(&type);
  if (error != infinirtSuccess) return raise_no_type(error);
  TypeRow* row = row_of(type);
  if (row == nullptr) return nullptr;
  if (row->devices.size() != 1) {
    if ((error = rt.GetDevice(&ordinal))) return raise_error(error), nullptr;
  }
  return device_in(*row, ordinal);
}

bool devices_were_used() { return row_count.load() > 0; }

DeviceObject* device_at(const char* type, int ordinal) {
  TypeRow* row = row_of(type);
  return row ? device_in(*row, ordinal) : nullptr;
}

DeviceObject* device_from(PyObject* given) {
  if (given == Py_None) return current_device();
  if (is_device(given)) return reinterpret_cast<DeviceObject*>(given);
  if (PyUnicode_Check(given)) {
    const char* name = PyUnicode_AsUTF8(given);
    return name ? device_named(name) : nullptr;
  }
  if (!PyIndex_Check(given)) {
    PyErr_Format(PyExc_TypeError, "a device is given as Device, number or name ('cpu:0'), not as %.100s",
                 Py_TYPE(given)->tp_name);
    return nullptr;
  }
  python::Ref number(PyNumber_Index(given));
  if (!number) return nullptr;
  int overflow = 0;
  const long ordinal = PyLong_AsLongAndOverflow(number.get(), &overflow);
  const char* type = nullptr;
  if (auto error = infinirtXGetDeviceType(&type)) return raise_no_type(error);
  TypeRow* row = row_of(type);
  if (row == nullptr) return nullptr;
  if (overflow == 0 && ordinal >= 0 && ordinal <= INT_MAX) return device_in(*row, static_cast<int>(ordinal));
  python::Ref text(PyObject_Str(number.get()));
  const char* given_number = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (given_number == nullptr) PyErr_Clear();  // a number with thousands of digits is not even written out
  raise_out_of_range(*row, given_number ? given_number : "(a huge number)");
  return nullptr;
}

PyObject* default_stream(DeviceObject* device) {
  const bool per_thread = per_thread_default.load(std::memory_order_relaxed);
  std::atomic_ref<PyObject*> slot(per_thread ? device->per_thread : device->legacy);
  if (PyObject* stream = slot.load(std::memory_order_acquire)) return stream;
  const auto handle = reinterpret_cast<infinirtStream_t>(per_thread ? uintptr_t{2} : uintptr_t{1});
  PyObject* made = new_stream(handle, device, nullptr, false);
  if (made == nullptr) return nullptr;
  PyObject* expected = nullptr;
  if (slot.compare_exchange_strong(expected, made)) return made;
  Py_DECREF(made);
  return expected;
}

}  // namespace infinirt::objects
