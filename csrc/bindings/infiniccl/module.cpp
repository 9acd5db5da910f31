// infiniccl._core: one function for each function of infiniccl.h, on plain numbers. Objects, and what they keep alive, are Python's.
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/object_api.h"
#include "bindings/python.h"
#include "infiniccl.h"

namespace infinirt {

namespace {

const ObjectApi* objects = nullptr;
infinirtError_t (*peek_at_last_error)() = nullptr;
infinirtError_t (*set_device)(int) = nullptr;
infinirtError_t (*get_device)(int*) = nullptr;

// The exception that belongs to the status: its message is the runtime's last one.
PyObject* raise_last() { return objects->raise_error(peek_at_last_error()); }

PyObject* none_or_raise(infiniStatus_t status) {
  if (status != INFINI_STATUS_SUCCESS) return raise_last();
  Py_RETURN_NONE;
}

// ---- from Python's integers to the parameters of a C function

template <class T>
bool read(PyObject* object, T* value) {
  if constexpr (std::is_pointer_v<T>) {
    *value = static_cast<T>(PyLong_AsVoidPtr(object));
  } else if constexpr (std::is_same_v<T, size_t>) {
    *value = PyLong_AsSize_t(object);
  } else {
    const long number = PyLong_AsLong(object);
    if (number < INT32_MIN || number > INT32_MAX) {
      if (!PyErr_Occurred()) PyErr_Format(PyExc_OverflowError, "%ld does not fit into 32 bits", number);
      return false;
    }
    const auto narrow = static_cast<int>(number);
    static_assert(sizeof(T) == sizeof narrow);
    std::memcpy(value, &narrow, sizeof narrow);
  }
  return !PyErr_Occurred();
}

template <auto Function, class... Parameters, size_t... I>
PyObject* call_with(PyObject* const* args, std::index_sequence<I...>, infiniStatus_t (*)(Parameters...)) {
  std::tuple<Parameters...> values;
  if (!(read(args[I], &std::get<I>(values)) && ...)) return nullptr;
  return none_or_raise(std::apply(Function, values));
}

template <class... Parameters>
constexpr size_t parameter_count(infiniStatus_t (*)(Parameters...)) {
  return sizeof...(Parameters);
}

template <auto Function>
PyObject* call(PyObject*, PyObject* const* args, Py_ssize_t count) {
  constexpr size_t expected = parameter_count(Function);
  if (count != static_cast<Py_ssize_t>(expected))
    return PyErr_Format(PyExc_TypeError, "%zu arguments were expected, %zd given", expected, count);
  return call_with<Function>(args, std::make_index_sequence<expected>(), Function);
}

bool read_counts(PyObject* sequence, std::vector<size_t>* counts) {
  PyObject* fast = PySequence_Fast(sequence, "counts must be a sequence of integers");
  if (!fast) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i)
    counts->push_back(PyLong_AsSize_t(PySequence_Fast_GET_ITEM(fast, i)));
  Py_DECREF(fast);
  return !PyErr_Occurred();
}

PyObject* all_gather_v(PyObject*, PyObject* args) {
  unsigned long long send, recv, comm, stream;
  PyObject* given;
  int dtype;
  if (!PyArg_ParseTuple(args, "KKOiKK", &send, &recv, &given, &dtype, &comm, &stream)) return nullptr;
  std::vector<size_t> counts;
  if (!read_counts(given, &counts)) return nullptr;
  return none_or_raise(infinicclAllGatherV(reinterpret_cast<void*>(send), reinterpret_cast<void*>(recv), counts.data(),
                                           static_cast<int>(counts.size()), static_cast<infiniDtype_t>(dtype),
                                           reinterpret_cast<infinicclComm_t>(comm),
                                           reinterpret_cast<infinirtStream_t>(stream)));
}

PyObject* reduce_scatter_v(PyObject*, PyObject* args) {
  unsigned long long send, recv, comm, stream;
  PyObject* given;
  int dtype, op;
  if (!PyArg_ParseTuple(args, "KKOiiKK", &send, &recv, &given, &dtype, &op, &comm, &stream)) return nullptr;
  std::vector<size_t> counts;
  if (!read_counts(given, &counts)) return nullptr;
  return none_or_raise(infinicclReduceScatterV(
      reinterpret_cast<void*>(send), reinterpret_cast<void*>(recv), counts.data(), static_cast<int>(counts.size()),
      static_cast<infiniDtype_t>(dtype), static_cast<infinicclReduceOp_t>(op), reinterpret_cast<infinicclComm_t>(comm),
      reinterpret_cast<infinirtStream_t>(stream)));
}

// ---- communicators

PyObject* init_all(PyObject*, PyObject* args) {
  const char* type;
  PyObject* given;
  if (!PyArg_ParseTuple(args, "sO", &type, &given)) return nullptr;
  PyObject* fast = PySequence_Fast(given, "devices must be a sequence of integers");
  if (!fast) return nullptr;
  std::vector<int> devices;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i) {
    int device = 0;
    if (!read(PySequence_Fast_GET_ITEM(fast, i), &device)) break;
    devices.push_back(device);
  }
  Py_DECREF(fast);
  if (PyErr_Occurred()) return nullptr;
  std::vector<infinicclComm_t> comms(devices.size() + 1);
  infiniStatus_t status;
  {
    const infinirt::python::GilReleased released;
    status = infinicclCommInitAllOfType(type, comms.data(), static_cast<int>(devices.size()), devices.data());
  }
  if (status != INFINI_STATUS_SUCCESS) return raise_last();
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(devices.size()));
  for (size_t i = 0; list && i < devices.size(); ++i)
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), PyLong_FromVoidPtr(comms[i]));
  return list;
}

PyObject* id_object(infiniStatus_t status, const infinicclUniqueId_t& id) {
  if (status != INFINI_STATUS_SUCCESS) return raise_last();
  return PyBytes_FromStringAndSize(id.internal, sizeof id.internal);
}

// The device is current on this thread while the scope lives.
class CurrentDevice {
 public:
  CurrentDevice(const char* type, int device) {
    error_ = infinirtXEnterDeviceType(type, &type_before_);
    entered_ = !error_;
    if (!error_) error_ = get_device(&device_before_);
    if (!error_) error_ = set_device(device);
  }
  ~CurrentDevice() {
    if (!error_) set_device(device_before_);
    if (entered_) infinirtXLeaveDeviceType(type_before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  infinirtError_t error() const { return error_; }

 private:
  const char* type_before_ = nullptr;
  bool entered_ = false;
  int device_before_ = 0;
  infinirtError_t error_ = infinirtSuccess;
};

PyObject* unique_id(PyObject*, PyObject* args) {
  const char* type;
  int device;
  if (!PyArg_ParseTuple(args, "si", &type, &device)) return nullptr;
  infinicclUniqueId_t id;
  const CurrentDevice scope(type, device);
  if (scope.error() != infinirtSuccess) return raise_last();
  return id_object(infinicclGetUniqueId(&id), id);
}

PyObject* has_own_collectives(PyObject*, PyObject* name) {
  const char* type = PyUnicode_AsUTF8(name);
  if (!type) return nullptr;
  int has = 0;
  if (infinicclHasOwnCollectives(type, &has) != INFINI_STATUS_SUCCESS) return raise_last();
  return PyBool_FromLong(has);
}

PyObject* mpi_id(PyObject*, PyObject*) {
  infinicclUniqueId_t id;
  return id_object(infinicclGetMpiId(&id), id);
}

PyObject* named_id(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  infinicclUniqueId_t id;
  return id_object(infinicclGetNamedId(&id, text), id);
}

PyObject* init_rank(PyObject*, PyObject* args) {
  const char* type;
  int device, size, rank;
  Py_buffer given;
  if (!PyArg_ParseTuple(args, "siiy*i", &type, &device, &size, &given, &rank)) return nullptr;
  infinicclUniqueId_t id;
  const bool fits = given.len == static_cast<Py_ssize_t>(sizeof id.internal);
  if (fits) std::memcpy(id.internal, given.buf, sizeof id.internal);
  const Py_ssize_t length = given.len;
  PyBuffer_Release(&given);
  if (!fits)
    return PyErr_Format(PyExc_ValueError, "the id has %zd bytes; one from unique_id() or named_id() has %zu", length,
                        sizeof id.internal);
  infinicclComm_t comm = nullptr;
  infinirtError_t error = infinirtSuccess;
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  {
    const infinirt::python::GilReleased released;
    const CurrentDevice scope(type, device);
    error = scope.error();
    if (!error) status = infinicclCommInitRank(&comm, size, id, rank);
  }
  if (error != infinirtSuccess || status != INFINI_STATUS_SUCCESS) return raise_last();
  return PyLong_FromVoidPtr(comm);
}

PyObject* async_error(PyObject*, PyObject* handle) {
  infinicclComm_t comm = nullptr;
  if (!read(handle, reinterpret_cast<void**>(&comm))) return nullptr;
  infiniStatus_t status;
  const char* message = nullptr;
  if (infinicclCommGetAsyncError(comm, &status, &message) != INFINI_STATUS_SUCCESS) return raise_last();
  return Py_BuildValue("(is)", static_cast<int>(status), message);
}

template <class T, infiniStatus_t (*Function)(infinicclComm_t, T*)>
PyObject* get_number(PyObject*, PyObject* handle) {
  infinicclComm_t comm = nullptr;
  if (!read(handle, reinterpret_cast<void**>(&comm))) return nullptr;
  T value{};
  if (Function(comm, &value) != INFINI_STATUS_SUCCESS) return raise_last();
  return PyLong_FromLong(static_cast<long>(value));
}

infiniStatus_t set_timeout(void* comm, int milliseconds) {
  return infinicclCommSetTimeout(static_cast<infinicclComm_t>(comm), static_cast<unsigned>(milliseconds));
}

// Handles and streams are opaque structures; here they are addresses.
#define WITH_STREAM void *comm, void *stream
#define PASS_STREAM static_cast<infinicclComm_t>(comm), static_cast<infinirtStream_t>(stream)
infiniStatus_t all_reduce(void* send, void* recv, size_t count, infiniDtype_t dtype, infinicclReduceOp_t op,
                          WITH_STREAM) {
  return infinicclAllReduce(send, recv, count, dtype, op, PASS_STREAM);
}
infiniStatus_t broadcast(void* send, void* recv, size_t count, infiniDtype_t dtype, int root, WITH_STREAM) {
  return infinicclBroadcast(send, recv, count, dtype, root, PASS_STREAM);
}
infiniStatus_t reduce(void* send, void* recv, size_t count, infiniDtype_t dtype, infinicclReduceOp_t op, int root,
                      WITH_STREAM) {
  return infinicclReduce(send, recv, count, dtype, op, root, PASS_STREAM);
}
infiniStatus_t all_gather(void* send, void* recv, size_t count, infiniDtype_t dtype, WITH_STREAM) {
  return infinicclAllGather(send, recv, count, dtype, PASS_STREAM);
}
infiniStatus_t reduce_scatter(void* send, void* recv, size_t count, infiniDtype_t dtype, infinicclReduceOp_t op,
                              WITH_STREAM) {
  return infinicclReduceScatter(send, recv, count, dtype, op, PASS_STREAM);
}
infiniStatus_t all_to_all(void* send, void* recv, size_t count, infiniDtype_t dtype, WITH_STREAM) {
  return infinicclAllToAll(send, recv, count, dtype, PASS_STREAM);
}
infiniStatus_t gather(void* send, void* recv, size_t count, infiniDtype_t dtype, int root, WITH_STREAM) {
  return infinicclGather(send, recv, count, dtype, root, PASS_STREAM);
}
infiniStatus_t scatter(void* send, void* recv, size_t count, infiniDtype_t dtype, int root, WITH_STREAM) {
  return infinicclScatter(send, recv, count, dtype, root, PASS_STREAM);
}
infiniStatus_t send_to(void* send, size_t count, infiniDtype_t dtype, int peer, WITH_STREAM) {
  return infinicclSend(send, count, dtype, peer, PASS_STREAM);
}
infiniStatus_t recv_from(void* recv, size_t count, infiniDtype_t dtype, int peer, WITH_STREAM) {
  return infinicclRecv(recv, count, dtype, peer, PASS_STREAM);
}
infiniStatus_t barrier(WITH_STREAM) { return infinicclBarrier(PASS_STREAM); }
infiniStatus_t destroy(void* comm) { return infinicclCommDestroy(static_cast<infinicclComm_t>(comm)); }
infiniStatus_t abort_comm(void* comm) { return infinicclCommAbort(static_cast<infinicclComm_t>(comm)); }
infiniStatus_t group_start() { return infinicclGroupStart(nullptr); }
infiniStatus_t group_end() { return infinicclGroupEnd(nullptr); }
infiniStatus_t group_cancel() { return infinicclGroupCancel(nullptr); }
#undef WITH_STREAM
#undef PASS_STREAM

template <auto Function>
constexpr PyMethodDef fast(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call<Function>)), METH_FASTCALL, nullptr};
}

PyMethodDef functions[] = {
    fast<all_reduce>("all_reduce"),
    fast<broadcast>("broadcast"),
    fast<reduce>("reduce"),
    fast<all_gather>("all_gather"),
    {"all_gather_v", all_gather_v, METH_VARARGS, nullptr},
    fast<reduce_scatter>("reduce_scatter"),
    {"reduce_scatter_v", reduce_scatter_v, METH_VARARGS, nullptr},
    fast<all_to_all>("all_to_all"),
    fast<gather>("gather"),
    fast<scatter>("scatter"),
    fast<send_to>("send"),
    fast<recv_from>("recv"),
    fast<barrier>("barrier"),
    fast<destroy>("destroy"),
    fast<abort_comm>("abort"),
    fast<group_start>("group_start"),
    fast<group_end>("group_end"),
    fast<group_cancel>("group_cancel"),
    fast<set_timeout>("set_timeout"),
    {"init_all", init_all, METH_VARARGS, nullptr},
    {"unique_id", unique_id, METH_VARARGS, nullptr},
    {"has_own_collectives", has_own_collectives, METH_O, nullptr},
    {"mpi_id", mpi_id, METH_NOARGS, nullptr},
    {"named_id", named_id, METH_O, nullptr},
    {"init_rank", init_rank, METH_VARARGS, nullptr},
    {"async_error", async_error, METH_O, nullptr},
    {"rank", get_number<int, infinicclCommGetRank>, METH_O, nullptr},
    {"size", get_number<int, infinicclCommGetSize>, METH_O, nullptr},
    {"timeout", get_number<unsigned, infinicclCommGetTimeout>, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

template <class Function>
bool find(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(infinirtXGetProcAddress(name));
  if (!*function) PyErr_Format(PyExc_ImportError, "libinfinirt.so.1 has no %s", name);
  return *function != nullptr;
}

int execute(PyObject* module) {
  objects = static_cast<const ObjectApi*>(PyCapsule_Import(ObjectApi::kCapsule, 0));
  if (!objects) return -1;
  if (!find("infinirtPeekAtLastError", &peek_at_last_error) || !find("infinirtSetDevice", &set_device) ||
      !find("infinirtGetDevice", &get_device))
    return -1;
  return PyModule_AddFunctions(module, functions);
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_multiple_interpreters
                            {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
                            {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "The C++ half of infiniccl.", 0, nullptr, slots, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace infinirt

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&infinirt::definition); }
