/* A pipeline over two streams, and the same work as a graph: streams, events, pinned and stream-ordered memory, a host
 * function, capture, replay. Written in the CUDA Runtime API with `cuda` renamed; nothing in it is ours alone. */
#include <infinirt.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                        \
  do {                                                                                                     \
    infinirtError_t error = (call);                                                                        \
    if (error != infinirtSuccess) {                                                                        \
      fprintf(stderr, "%s: %s (%s)\n", #call, infinirtGetErrorName(error), infinirtGetErrorString(error)); \
      exit(1);                                                                                             \
    }                                                                                                      \
  } while (0)

enum { PARTS = 4, PART = 1 << 16 };

static void count(void* data) { ++*(int*)data; }

/* Copies in, sets a quarter of each part, copies out; the second stream waits for the first by an event. */
static void enqueue(infinirtStream_t in, infinirtStream_t out, infinirtEvent_t arrived, char* device, char* host,
                    int* done) {
  for (int i = 0; i < PARTS; ++i) {
    char* part = device + (size_t)i * PART;
    CHECK(infinirtMemcpyAsync(part, host + (size_t)i * PART, PART, infinirtMemcpyHostToDevice, in));
    CHECK(infinirtMemsetAsync(part, 'a' + i, PART / 4, in));
  }
  CHECK(infinirtEventRecord(arrived, in));
  CHECK(infinirtStreamWaitEvent(out, arrived, 0));
  CHECK(infinirtMemcpyAsync(host, device, (size_t)PARTS * PART, infinirtMemcpyDeviceToHost, out));
  CHECK(infinirtLaunchHostFunc(out, count, done));
}

static int correct(const char* host) {
  for (int i = 0; i < PARTS; ++i) {
    const char* part = host + (size_t)i * PART;
    if (part[0] != 'a' + i || part[PART / 4 - 1] != 'a' + i || part[PART / 4] != 'x') return 0;
  }
  return 1;
}

int main(void) {
  infinirtStream_t in, out;
  infinirtEvent_t arrived, joined, start, end;
  CHECK(infinirtStreamCreateWithFlags(&in, infinirtStreamNonBlocking));
  CHECK(infinirtStreamCreateWithPriority(&out, infinirtStreamNonBlocking, -1));
  CHECK(infinirtEventCreateWithFlags(&arrived, infinirtEventDisableTiming));
  CHECK(infinirtEventCreateWithFlags(&joined, infinirtEventDisableTiming));
  CHECK(infinirtEventCreate(&start));
  CHECK(infinirtEventCreate(&end));

  const size_t bytes = (size_t)PARTS * PART;
  char *host, *device;
  int done = 0;
  CHECK(infinirtMallocHost((void**)&host, bytes));
  CHECK(infinirtMallocAsync((void**)&device, bytes, in));
  for (size_t i = 0; i < bytes; ++i) host[i] = 'x';

  CHECK(infinirtEventRecord(start, in));
  enqueue(in, out, arrived, device, host, &done);
  CHECK(infinirtEventRecord(end, out));
  CHECK(infinirtStreamSynchronize(out));
  float ms;
  CHECK(infinirtEventElapsedTime(&ms, start, end));
  if (done != 1 || !correct(host)) return puts("the pipeline is wrong"), 1;
  printf("pipeline: %zu KiB through two streams\n", bytes / 1024);

  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  size_t nodes = 0;
  CHECK(infinirtStreamBeginCapture(in, infinirtStreamCaptureModeThreadLocal));
  enqueue(in, out, arrived, device, host, &done);
  CHECK(infinirtEventRecord(joined, out));
  CHECK(infinirtStreamWaitEvent(in, joined, 0));
  CHECK(infinirtStreamEndCapture(in, &graph));
  CHECK(infinirtGraphGetNodes(graph, NULL, &nodes));
  CHECK(infinirtGraphInstantiate(&exec, graph, 0));
  if (done != 1) return puts("capturing ran the work"), 1;
  for (size_t i = 0; i < bytes; ++i) host[i] = 'x';
  for (int i = 0; i < 10; ++i) CHECK(infinirtGraphLaunch(exec, in));
  CHECK(infinirtStreamSynchronize(in));
  if (done != 11 || !correct(host)) return puts("the graph is wrong"), 1;
  printf("graph: %zu nodes, 10 launches\n", nodes);

  void* nowhere = NULL;
  infinirtError_t error = infinirtMemcpy(nowhere, host, 16, infinirtMemcpyDefault);
  printf("a null destination: %s, last error %s\n", infinirtGetErrorName(error),
         infinirtGetErrorName(infinirtGetLastError()));

  CHECK(infinirtGraphExecDestroy(exec));
  CHECK(infinirtGraphDestroy(graph));
  CHECK(infinirtFreeAsync(device, in));
  CHECK(infinirtStreamSynchronize(in));
  CHECK(infinirtFreeHost(host));
  CHECK(infinirtEventDestroy(arrived));
  CHECK(infinirtEventDestroy(joined));
  CHECK(infinirtEventDestroy(start));
  CHECK(infinirtEventDestroy(end));
  CHECK(infinirtStreamDestroy(in));
  CHECK(infinirtStreamDestroy(out));
  puts("ok");
  return 0;
}
