#include "phi.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace infinirt::paddle {

namespace {

PhiFunctions g_phi{};

template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool find_all() {
  void* library = dlopen("libphi_core.so", RTLD_LAZY | RTLD_NOLOAD);
  // Releases that keep everything in fewer libraries.
  if (!library) library = dlopen("libphi.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return false;
  PhiFunctions& f = g_phi;
#define INFINIRT_PADDLE_FIND(name) find(library, #name, &f.name)
  return INFINIRT_PADDLE_FIND(PD_RegisterPhiKernel) && INFINIRT_PADDLE_FIND(PD_KernelContextGetDeviceContext) &&
         INFINIRT_PADDLE_FIND(PD_KernelContextInputAt) && INFINIRT_PADDLE_FIND(PD_KernelContextOutputAt) &&
         INFINIRT_PADDLE_FIND(PD_KernelContextInt64AttrAt) && INFINIRT_PADDLE_FIND(PD_KernelContextListInt64AttrAt) &&
         INFINIRT_PADDLE_FIND(PD_KernelContextScalarAttrAt) && INFINIRT_PADDLE_FIND(PD_ListInt64Attr) &&
         INFINIRT_PADDLE_FIND(PD_DeviceContextGetStream) && INFINIRT_PADDLE_FIND(PD_DeviceContextAllocateTensor) &&
         INFINIRT_PADDLE_FIND(PD_TensorGetPDDataType) && INFINIRT_PADDLE_FIND(PD_TensorGetDataPointer) &&
         INFINIRT_PADDLE_FIND(PD_TensorGetElementCount) && INFINIRT_PADDLE_FIND(PD_TensorGetNumDims) &&
         INFINIRT_PADDLE_FIND(PD_TensorGetDim) && INFINIRT_PADDLE_FIND(PD_TensorGetNumStrides) &&
         INFINIRT_PADDLE_FIND(PD_TensorGetStride) && INFINIRT_PADDLE_FIND(PD_TensorSetDims) &&
         INFINIRT_PADDLE_FIND(PD_TensorSetStrides) && INFINIRT_PADDLE_FIND(PD_TensorSetOffset) &&
         INFINIRT_PADDLE_FIND(PD_ScalarGetBoolData) && INFINIRT_PADDLE_FIND(PD_ScalarGetInt64Data) &&
         INFINIRT_PADDLE_FIND(PD_ScalarGetFloat64Data);
#undef INFINIRT_PADDLE_FIND
}

void check(PhiStatus status, const char* what) {
  if (status == infinirtPluginSuccess) return;
  throw std::runtime_error(std::string("infinirt: PaddlePaddle could not ") + what);
}

}  // namespace

bool find_phi() {
  static const bool found = find_all();
  return found;
}

const PhiFunctions& phi() { return g_phi; }

Sizes contiguous_strides(const Sizes& dims) {
  Sizes strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return strides;
}

Sizes dims_of(const Tensor* tensor) {
  PhiStatus status = infinirtPluginSuccess;
  Sizes dims(static_cast<size_t>(phi().PD_TensorGetNumDims(tensor, &status)));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = phi().PD_TensorGetDim(tensor, i, &status);
  check(status, "say what shape a tensor has");
  return dims;
}

Sizes strides_of(const Tensor* tensor) {
  PhiStatus status = infinirtPluginSuccess;
  Sizes strides(static_cast<size_t>(phi().PD_TensorGetNumStrides(tensor, &status)));
  for (size_t i = 0; i < strides.size(); ++i) strides[i] = phi().PD_TensorGetStride(tensor, i, &status);
  check(status, "say what strides a tensor has");
  return strides;
}

DataType type_of(const Tensor* tensor) {
  PhiStatus status = infinirtPluginSuccess;
  const DataType type = phi().PD_TensorGetPDDataType(tensor, &status);
  check(status, "say what type a tensor has");
  return type;
}

void* data_of(const Tensor* tensor) {
  PhiStatus status = infinirtPluginSuccess;
  void* data = phi().PD_TensorGetDataPointer(tensor, &status);
  check(status, "say where a tensor lies");
  return data;
}

size_t bytes_of(DataType type) {
  switch (type) {
    case infinirtPluginBool:
    case infinirtPluginUint8:
    case infinirtPluginInt8:
      return 1;
    case infinirtPluginInt16:
    case infinirtPluginFloat16:
    case infinirtPluginBfloat16:
      return 2;
    case infinirtPluginInt32:
    case infinirtPluginFloat32:
      return 4;
    case infinirtPluginInt64:
    case infinirtPluginFloat64:
    case infinirtPluginComplex64:
      return 8;
    case infinirtPluginComplex128:
      return 16;
    default:
      throw std::runtime_error("infinirt: a tensor of a type that this plugin does not know");
  }
}

infinirtPluginStream_t stream_of_context(const DeviceContext* context) {
  PhiStatus status = infinirtPluginSuccess;
  auto* stream = phi().PD_DeviceContextGetStream(context, &status);
  check(status, "say on which stream to work");
  return stream;
}

void* allocate(const DeviceContext* context, Tensor* tensor, DataType type) {
  PhiStatus status = infinirtPluginSuccess;
  void* data = phi().PD_DeviceContextAllocateTensor(context, tensor, 0, type, &status);
  check(status, "allocate a tensor");
  return data;
}

void set_strides(Tensor* tensor, const Sizes& strides) {
  PhiStatus status = infinirtPluginSuccess;
  phi().PD_TensorSetStrides(tensor, static_cast<int64_t>(strides.size()), strides.data(), &status);
  check(status, "set a tensor's strides");
}

void set_dims(Tensor* tensor, const Sizes& dims) {
  PhiStatus status = infinirtPluginSuccess;
  phi().PD_TensorSetDims(tensor, static_cast<int64_t>(dims.size()), dims.data(), &status);
  check(status, "set a tensor's shape");
}

void set_offset(Tensor* tensor, int64_t bytes) {
  PhiStatus status = infinirtPluginSuccess;
  phi().PD_TensorSetOffset(tensor, bytes, &status);
  check(status, "set a tensor's offset");
}

}  // namespace infinirt::paddle
