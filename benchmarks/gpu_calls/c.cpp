// The column C: nanoseconds of one of n calls in a loop.
#include <infinirt_ext.h>
#include <time.h>

#include "cuda_calls.h"

static infinirtXCache_t cache() {
  static infinirtXCache_t made = nullptr;
  infinirtXCacheProps props = {sizeof props, infinirtXCacheMemoryDevice, 0, 0};
  if (!made) infinirtXCacheCreate(&made, &props);
  return made;
}
extern "C" {
static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
#define LOOP(name, call)                                                                   \
  double name(long n, void* s, void* e, void* a, void* b, void* k, void* g1, void* g100) { \
    void* p = nullptr;                                                                     \
    int d = 0;                                                                             \
    (void)p;                                                                               \
    (void)d;                                                                               \
    double t = now();                                                                      \
    for (long i = 0; i < n; i++)                                                           \
      if (call) return -1;                                                                 \
    return (now() - t) / n;                                                                \
  }
// clang-format off
LOOP(get_device, cudaGetDevice(&d))
LOOP(set_device, cudaSetDevice(0))
LOOP(stream_query, cudaStreamQuery(s))
LOOP(stream_sync, cudaStreamSynchronize(s))
LOOP(event_record, cudaEventRecord(e, s))
LOOP(event_query, cudaEventQuery(e))
LOOP(stream_wait, cudaStreamWaitEvent(s, e, 0))
LOOP(pool_alloc_free, cudaMallocAsync(&p, 1 << 20, s) || cudaFreeAsync(p, s))
LOOP(cached_alloc_free, infinirtXCacheAllocate(&p, 1 << 20, cache(), (infinirtStream_t)s) ||
                        infinirtXCacheFree(p, cache(), (infinirtStream_t)s))
LOOP(malloc_free, cudaMalloc(&p, 1 << 20) || cudaFree(p))
LOOP(malloc_free_2M, cudaMalloc(&p, 2 << 20) || cudaFree(p))
LOOP(copy_4_KiB, cudaMemcpyAsync(a, b, 4096, 3, s))
LOOP(set_4_KiB, cudaMemsetAsync(a, 0, 4096, s))
LOOP(empty_launch, cudaLaunchKernel(k, dim{1, 1, 1}, dim{1, 1, 1}, nullptr, 0, s))
LOOP(graph_of_1, cudaGraphLaunch(g1, s))
LOOP(graph_of_100, cudaGraphLaunch(g100, s))
// clang-format on
}
