#include "bindings/infinicore/library.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "bindings/infinicore/dtype.h"

namespace infinicore {

const infinirt::ObjectApi* objects = nullptr;
OperatorFrame frame;
Runtime runtime;

namespace {

void* operator_library = nullptr;

// The place of a function pointer, filled by name.
template <class Function>
bool find_operator(const char* name, Function* place) {
  void* address = find_operator_function(name);
  if (address) std::memcpy(place, &address, sizeof address);
  return address != nullptr;
}

template <class Function>
bool find_runtime(const char* name, Function* place) {
  void* address = infinirtXGetProcAddress(name);
  if (address == nullptr) {
    PyErr_Format(PyExc_ImportError, "libinfinirt.so.1 has no %s; libraries and packages must be of one version", name);
    return false;
  }
  std::memcpy(place, &address, sizeof address);
  return true;
}

}  // namespace

void* find_operator_function(const char* name) {
  void* address = dlsym(operator_library, name);
  if (address == nullptr) {
    PyErr_Format(PyExc_ImportError, "libinfiniop.so.1 has no %s; libraries and packages must be of one version", name);
  }
  return address;
}

bool load_libraries() {
  objects = static_cast<const infinirt::ObjectApi*>(PyCapsule_Import(infinirt::ObjectApi::kCapsule, 0));
  if (objects == nullptr) return false;
  if (objects->struct_size != sizeof(infinirt::ObjectApi)) {
    PyErr_SetString(PyExc_ImportError,
                    "infinirt and infinicore are of different versions; install them again, from one build");
    return false;
  }
  // It came with this module, from the lib folder of the infinirt package beside it; here it gets a handle.
  operator_library = dlopen("libinfiniop.so.1", RTLD_NOW | RTLD_LOCAL);
  if (operator_library == nullptr) {
    PyErr_Format(PyExc_ImportError, "the operator library cannot be loaded: %s", dlerror());
    return false;
  }
  return find_operator("infiniopCreateHandle", &frame.CreateHandle) &&
         find_operator("infiniopDestroyHandle", &frame.DestroyHandle) &&
         find_operator("infiniopCreateTensorDescriptor", &frame.CreateTensorDescriptor) &&
         find_operator("infiniopDestroyTensorDescriptor", &frame.DestroyTensorDescriptor) &&
         find_operator("infiniopXCreateChainDescriptor", &frame.CreateChainDescriptor) &&
         find_operator("infiniopXChain", &frame.Chain) &&
         find_operator("infiniopXDestroyChainDescriptor", &frame.DestroyChainDescriptor) &&
         find_runtime("infinirtGetLastError", &runtime.GetLastError) &&
         find_runtime("infinirtPeekAtLastError", &runtime.PeekAtLastError) &&
         find_runtime("infinirtGetDeviceCount", &runtime.GetDeviceCount) &&
         find_runtime("infinirtStreamSynchronize", &runtime.StreamSynchronize) &&
         find_runtime("infinirtStreamQuery", &runtime.StreamQuery) &&
         find_runtime("infinirtStreamBeginCapture", &runtime.StreamBeginCapture) &&
         find_runtime("infinirtStreamEndCapture", &runtime.StreamEndCapture) &&
         find_runtime("infinirtGraphInstantiateWithFlags", &runtime.GraphInstantiateWithFlags) &&
         find_runtime("infinirtGraphLaunch", &runtime.GraphLaunch) &&
         find_runtime("infinirtGraphDestroy", &runtime.GraphDestroy);
}

PyObject* raise_status(infiniStatus_t status, const char* function) {
  const infinirtError_t error = runtime.PeekAtLastError();
  std::string message = infinirtXGetLastErrorMessage();
  const size_t end = message.find(": ");
  if (function && end != std::string::npos && message.compare(0, 8, "infiniop") == 0) {
    message = std::string(function) + "(): " + message.substr(end + 2);
  } else if (status != INFINI_STATUS_BAD_TENSOR_DTYPE) {
    return objects->raise_error(error != infinirtSuccess ? error : infinirtErrorUnknown);
  }
  runtime.GetLastError();
  if (status == INFINI_STATUS_BAD_TENSOR_DTYPE) {
    PyErr_SetString(PyExc_TypeError, names_of_dtypes(message).c_str());
    return nullptr;
  }
  if (status == INFINI_STATUS_BAD_TENSOR_SHAPE || status == INFINI_STATUS_BAD_TENSOR_STRIDES) {
    PyErr_SetString(PyExc_ValueError, message.c_str());
    return nullptr;
  }
  return objects->raise_message(error != infinirtSuccess ? error : infinirtErrorUnknown, message.c_str());
}

}  // namespace infinicore
