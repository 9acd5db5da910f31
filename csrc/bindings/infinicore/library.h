// What this module is built on: infinirt's objects and the operator library, each as a table of addresses.
//
// Neither library's functions are imported by name: other libraries of the process may have the same names.
#pragma once

#include "bindings/object_api.h"
#include "bindings/python.h"
#include "infiniop/chain.h"
#include "infiniop/handle.h"
#include "infiniop/tensor_descriptor.h"

namespace infinicore {

using infinirt::python::Ref;

extern const infinirt::ObjectApi* objects;

struct OperatorFrame {
  decltype(&infiniopCreateHandle) CreateHandle;
  decltype(&infiniopDestroyHandle) DestroyHandle;
  decltype(&infiniopCreateTensorDescriptor) CreateTensorDescriptor;
  decltype(&infiniopDestroyTensorDescriptor) DestroyTensorDescriptor;
  decltype(&infiniopXCreateChainDescriptor) CreateChainDescriptor;
  decltype(&infiniopXChain) Chain;
  decltype(&infiniopXDestroyChainDescriptor) DestroyChainDescriptor;
};
extern OperatorFrame frame;

struct Runtime {
  decltype(&infinirtGetLastError) GetLastError;
  decltype(&infinirtPeekAtLastError) PeekAtLastError;
  decltype(&infinirtGetDeviceCount) GetDeviceCount;
  decltype(&infinirtStreamSynchronize) StreamSynchronize;
  decltype(&infinirtStreamQuery) StreamQuery;
  decltype(&infinirtStreamBeginCapture) StreamBeginCapture;
  decltype(&infinirtStreamEndCapture) StreamEndCapture;
  decltype(&infinirtGraphInstantiateWithFlags) GraphInstantiateWithFlags;
  decltype(&infinirtGraphLaunch) GraphLaunch;
  decltype(&infinirtGraphDestroy) GraphDestroy;
};
extern Runtime runtime;

/// Fills the tables, once, at import. False with ImportError set.
bool load_libraries();

/// The address of a function of libinfiniop.so.1; null with ImportError set.
void* find_operator_function(const char* name);

/// Raises what belongs to a status of the operator library: TypeError for element types, else what the runtime's last error is. The
/// message begins with the name of the Python function, if it is given, in place of C's. Returns null.
PyObject* raise_status(infiniStatus_t status, const char* function = nullptr);

/// Runs `call`, with the interpreter's lock given away when `release`.
template <class Call>
auto without_lock(bool release, Call call) {
  if (!release) return call();
  const infinirt::python::GilReleased released;
  return call();
}

/// Runs `call` with the device of `stream` current.
template <class Call>
infinirtError_t on_device(PyObject* stream, Call call) {
  return objects->on_device(stream, [](void* data) { return (*static_cast<Call*>(data))(); }, &call);
}

}  // namespace infinicore
