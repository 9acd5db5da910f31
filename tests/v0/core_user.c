/* A library of the new generation's world, the counterpart of v0_user.c. */
#include <infinirt_ext.h>
#include <string.h>

#define REQUIRE(condition) \
  if (!(condition)) return "core: " #condition

const char* core_workout(void) {
  int device = -1, count = -1;
  infinirtStream_t stream = NULL;
  infinirtEvent_t start = NULL, end = NULL;
  infinirtGraph_t graph = NULL;
  infinirtGraphExec_t executable = NULL;
  float milliseconds = -1;
  void* memory = NULL;
  char text[32] = "";

  REQUIRE(infinirtGetDeviceCount(&count) == infinirtSuccess && count >= 1);
  REQUIRE(infinirtSetDevice(0) == infinirtSuccess);
  REQUIRE(infinirtGetDevice(&device) == infinirtSuccess && device == 0);
  REQUIRE(infinirtGetDevice(NULL) == infinirtErrorInvalidValue);
  REQUIRE(infinirtGetLastError() == infinirtErrorInvalidValue);
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  REQUIRE(infinirtEventCreate(&start) == infinirtSuccess);
  REQUIRE(infinirtEventCreateWithFlags(&end, infinirtEventBlockingSync) == infinirtSuccess);
  REQUIRE(infinirtMalloc(&memory, sizeof text) == infinirtSuccess);
  REQUIRE(infinirtEventRecord(start, stream) == infinirtSuccess);
  REQUIRE(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed) == infinirtSuccess);
  REQUIRE(infinirtMemcpyAsync(memory, "new", 4, infinirtMemcpyHostToDevice, stream) == infinirtSuccess);
  REQUIRE(infinirtStreamEndCapture(stream, &graph) == infinirtSuccess);
  REQUIRE(infinirtGraphInstantiate(&executable, graph, 0) == infinirtSuccess);
  REQUIRE(infinirtGraphLaunch(executable, stream) == infinirtSuccess);
  REQUIRE(infinirtEventRecord(end, stream) == infinirtSuccess);
  REQUIRE(infinirtStreamWaitEvent(stream, end, 0) == infinirtSuccess);
  REQUIRE(infinirtStreamSynchronize(stream) == infinirtSuccess);
  REQUIRE(infinirtEventQuery(end) == infinirtSuccess);
  REQUIRE(infinirtEventElapsedTime(&milliseconds, start, end) == infinirtSuccess && milliseconds >= 0);
  REQUIRE(infinirtMemcpy(text, memory, 4, infinirtMemcpyDefault) == infinirtSuccess && !strcmp(text, "new"));
  REQUIRE(infinirtGraphExecDestroy(executable) == infinirtSuccess);
  REQUIRE(infinirtGraphDestroy(graph) == infinirtSuccess);
  REQUIRE(infinirtFree(memory) == infinirtSuccess);
  REQUIRE(infinirtEventDestroy(start) == infinirtSuccess);
  REQUIRE(infinirtEventDestroy(end) == infinirtSuccess);
  REQUIRE(infinirtStreamDestroy(stream) == infinirtSuccess);
  return NULL;
}
