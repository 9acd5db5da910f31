// What these programs use of NVIDIA's runtime library, whose headers need not be there.
#pragma once
#include <cstddef>
extern "C" {
int cudaGetDevice(int*);
int cudaSetDevice(int);
int cudaStreamQuery(void*);
int cudaStreamSynchronize(void*);
int cudaEventRecord(void*, void*);
int cudaEventQuery(void*);
int cudaStreamWaitEvent(void*, void*, unsigned);
int cudaMallocAsync(void**, size_t, void*);
int cudaFreeAsync(void*, void*);
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMemcpyAsync(void*, const void*, size_t, int, void*);
int cudaMemsetAsync(void*, int, size_t, void*);
int cudaGraphLaunch(void*, void*);
struct dim {
  unsigned x, y, z;
};
int cudaLaunchKernel(const void*, dim, dim, void**, size_t, void*);
}
