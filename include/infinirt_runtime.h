/* For programs that were written for CUDA: what `#include <cuda_runtime.h>` becomes when `cuda` is replaced by `infinirt`. In C++ it has the forms
 * that take pointers to any type, as that header does. */
#ifndef INFINIRT_RUNTIME_H
#define INFINIRT_RUNTIME_H

#include "infinirt_runtime_api.h"

#ifdef __cplusplus

template <class T>
inline infinirtError_t infinirtMalloc(T** devPtr, size_t size) {
  return ::infinirtMalloc(reinterpret_cast<void**>(devPtr), size);
}
template <class T>
inline infinirtError_t infinirtMallocHost(T** ptr, size_t size, unsigned int flags = 0) {
  return ::infinirtHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}
template <class T>
inline infinirtError_t infinirtHostAlloc(T** ptr, size_t size, unsigned int flags) {
  return ::infinirtHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}
template <class T>
inline infinirtError_t infinirtHostGetDevicePointer(T** pDevice, void* pHost, unsigned int flags) {
  return ::infinirtHostGetDevicePointer(reinterpret_cast<void**>(pDevice), pHost, flags);
}
template <class T>
inline infinirtError_t infinirtMallocManaged(T** devPtr, size_t size, unsigned int flags = infinirtMemAttachGlobal) {
  return ::infinirtMallocManaged(reinterpret_cast<void**>(devPtr), size, flags);
}
template <class T>
inline infinirtError_t infinirtMallocPitch(T** devPtr, size_t* pitch, size_t width, size_t height) {
  return ::infinirtMallocPitch(reinterpret_cast<void**>(devPtr), pitch, width, height);
}
template <class T>
inline infinirtError_t infinirtMallocAsync(T** devPtr, size_t size, infinirtStream_t hStream) {
  return ::infinirtMallocAsync(reinterpret_cast<void**>(devPtr), size, hStream);
}
template <class T>
inline infinirtError_t infinirtMallocFromPoolAsync(T** ptr, size_t size, infinirtMemPool_t memPool,
                                                   infinirtStream_t stream) {
  return ::infinirtMallocFromPoolAsync(reinterpret_cast<void**>(ptr), size, memPool, stream);
}

#endif

#endif
