/* A library of the earlier generation's world: linked to the v0 library, with the old header. Everything it calls has
 * another shape, another value or another meaning in the new one. */
#include <infinirt.h>
#include <string.h>

#define REQUIRE(condition) \
  if (!(condition)) return "v0: " #condition

const char* v0_workout(void) {
  infiniDevice_t type = INFINI_DEVICE_TYPE_COUNT;
  int id = -1, count = -1;
  infinirtStream_t stream = NULL;
  infinirtEvent_t start = NULL, end = NULL;
  infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
  infinirtGraph_t graph = NULL;
  infinirtGraphExec_t executable = NULL;
  float milliseconds = -1;
  void* memory = NULL;
  char text[32] = "";

  REQUIRE(infinirtSetDevice(INFINI_DEVICE_CPU, 0) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtGetDevice(&type, &id) == INFINI_STATUS_SUCCESS && type == INFINI_DEVICE_CPU && id == 0);
  REQUIRE(infinirtGetDeviceCount(INFINI_DEVICE_QY, &count) == INFINI_STATUS_SUCCESS && count == 0);
  REQUIRE(infinirtGetDevice(NULL, NULL) == INFINI_STATUS_NULL_POINTER);
  REQUIRE(infinirtStreamCreate(&stream) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtEventCreate(&start) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtEventCreateWithFlags(&end, INFINIRT_EVENT_BLOCKING_SYNC) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtMalloc(&memory, sizeof text) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtEventRecord(start, stream) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_RELAXED) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtMemcpyAsync(memory, "old", 4, INFINIRT_MEMCPY_H2D, stream) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtStreamEndCapture(stream, &graph) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtGraphInstantiate(&executable, graph, NULL, text, sizeof text) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtGraphLuanch(executable, stream) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtEventRecord(end, stream) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtStreamWaitEvent(stream, end) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtEventQuery(end, &status) == INFINI_STATUS_SUCCESS && status == INFINIRT_EVENT_COMPLETE);
  REQUIRE(infinirtEventElapsedTime(&milliseconds, start, end) == INFINI_STATUS_SUCCESS && milliseconds >= 0);
  REQUIRE(infinirtMemcpy(text, memory, 4, INFINIRT_MEMCPY_D2H) == INFINI_STATUS_SUCCESS && !strcmp(text, "old"));
  REQUIRE(infinirtGraphExecDestroy(executable) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtGraphDestroy(graph) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtFree(memory) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtEventDestroy(start) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtEventDestroy(end) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtStreamDestroy(stream) == INFINI_STATUS_SUCCESS);
  return NULL;
}
