// The functions of the library that the object API uses, as a table of addresses.
//
// The extension imports infinirtX... symbols only: the aligned names are shared with the earlier generation of this API,
// whose library may live in the same process.
#pragma once

#include <string>

#include "bindings/python.h"
#include "infinirt_ext.h"

namespace infinirt::objects {

// clang-format off
#define INFINIRT_OBJECTS_FUNCTIONS(X) \
  X(GetDevice) X(SetDevice) X(GetDeviceCount) X(DeviceSynchronize) X(DeviceReset) X(GetDeviceProperties) \
  X(DeviceGetAttribute) X(DeviceGetPCIBusId) X(DeviceGetStreamPriorityRange) X(DeviceCanAccessPeer) \
  X(DeviceEnablePeerAccess) X(DeviceDisablePeerAccess) X(DeviceGetDefaultMemPool) X(DeviceGetMemPool) \
  X(DeviceSetMemPool) X(RuntimeGetVersion) X(DriverGetVersion) X(GetLastError) X(PeekAtLastError) \
  X(GetErrorName) X(GetErrorString) X(StreamCreateWithPriority) X(StreamDestroy) X(StreamQuery) \
  X(StreamSynchronize) X(StreamWaitEvent) X(StreamGetFlags) X(StreamGetPriority) X(StreamGetId) \
  X(StreamGetDevice) X(StreamBeginCapture) X(StreamEndCapture) X(StreamIsCapturing) \
  X(StreamGetCaptureInfo_v2) X(EventCreateWithFlags) X(EventDestroy) \
  X(EventQuery) X(EventRecord) X(EventRecordWithFlags) X(EventSynchronize) X(EventElapsedTime) X(Malloc) \
  X(MallocHost) X(MallocManaged) X(Free) X(FreeHost) X(MemGetInfo) X(MemcpyAsync) X(MemsetAsync) \
  X(Memset2DAsync) X(PointerGetAttributes) X(MallocAsync) X(FreeAsync) X(MallocFromPoolAsync) \
  X(MemPoolCreate) X(MemPoolDestroy) X(MemPoolTrimTo) X(MemPoolSetAttribute) X(MemPoolGetAttribute) \
  X(LaunchKernel) X(LaunchKernelExC) X(LibraryLoadData) X(LibraryUnload) X(LibraryGetKernel) \
  X(FuncGetAttributes) X(FuncSetAttribute) X(FuncGetParamInfo) X(OccupancyMaxActiveBlocksPerMultiprocessor) \
  X(OccupancyAvailableDynamicSMemPerBlock) X(GraphKernelNodeSetAttribute) X(GraphCreate) X(GraphDestroy) X(GraphClone) \
  X(GraphAddEmptyNode) X(GraphAddMemcpyNode1D) X(GraphAddMemsetNode) X(GraphAddHostNode) \
  X(GraphAddKernelNode) X(GraphAddChildGraphNode) X(StreamUpdateCaptureDependencies) X(GraphAddEventRecordNode) X(GraphAddEventWaitNode) \
  X(GraphAddMemAllocNode) X(GraphAddMemFreeNode) X(GraphAddDependencies) X(GraphGetNodes) X(GraphGetEdges) \
  X(GraphNodeGetType) X(GraphDestroyNode) X(GraphInstantiateWithFlags) X(GraphUpload) X(GraphLaunch) \
  X(GraphExecDestroy) X(GraphExecUpdate) X(GraphNodeSetEnabled) X(GraphNodeGetEnabled) X(GraphDebugDotPrint)
// clang-format on

struct Library {
#define X(name) decltype(&::infinirt##name) name;
  INFINIRT_OBJECTS_FUNCTIONS(X)
#undef X
};

/// Filled once, at import; constant afterwards.
extern Library rt;

/// Looks all functions up. False, with ImportError set, if the library lacks one.
bool load_library();

/// Raises the exception class that belongs to `error`, with the whole message of the thread's last error, and resets that
/// error: it has been delivered. Always returns null.
PyObject* raise_error(infinirtError_t error);

/// The same with the name of another call in the message: the one that the program asked for, where that was done by others.
PyObject* raise_error_as(const char* call, infinirtError_t error);

/// The whole message of the thread's last error, which is reset: it is being delivered.
std::string take_message(infinirtError_t error);

/// Raises the same with this message, however long. Always returns null.
PyObject* raise_message(infinirtError_t error, const std::string& message);

/// Raises the same for an error whose message is ours. Always returns null.
PyObject* raise_error(infinirtError_t error, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// `None` on success, else raises.
inline PyObject* none_or_raise(infinirtError_t error) {
  if (error != infinirtSuccess) return raise_error(error);
  Py_RETURN_NONE;
}

/// Called with (code, message); returns the exception to raise. Given by the Python side at import.
bool set_error_factory(PyObject* factory);

/// Runs `change` while no other thread runs one for the same object. The interpreter's lock sees to that where there is one.
template <class Change>
void exclusively([[maybe_unused]] void* object, Change change) {
#if PY_VERSION_HEX >= 0x030D0000
  Py_BEGIN_CRITICAL_SECTION(static_cast<PyObject*>(object));
  change();
  Py_END_CRITICAL_SECTION();
#else
  change();
#endif
}

/// A new reference to what a field of `object` refers to, which another thread may be changing; null for null.
inline PyObject* field_of(void* object, PyObject* const& field) {
  PyObject* found = nullptr;
  exclusively(object, [&] { found = Py_XNewRef(field); });
  return found;
}

/// Runs `call`, with the interpreter's lock released when `release`. Quick calls on host devices keep it; everything that
/// can wait, or that enters a foreign driver, must not.
/// Whether quick calls on a device type release the lock: never, always, or while the library says that they may wait.
struct MayBlock {
  enum How : uint8_t { Never, Always, Ask } how = Always;
  const char* type = nullptr;
  operator bool() const { return how == Ask ? infinirtXCallMayWait(type) != 0 : how == Always; }  // NOLINT: as a flag
};

template <class Call>
auto without_gil(bool release, Call call) {
  if (!release) return call();
  const python::GilReleased released;
  return call();
}

}  // namespace infinirt::objects
