/* A program of the earlier generation: it knows the old header and nothing else, runs on the CPU and, as such programs
 * do there, never synchronises before it looks at memory. Prints "v0 program ok". */
#include <infinirt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int holds, const char* what, int line) {
  if (!holds) {
    printf("line %d: %s\n", line, what);
    ++failures;
  }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define OK(call) EXPECT((call) == INFINI_STATUS_SUCCESS)
#define STATUS(expected, call) EXPECT((call) == INFINI_STATUS_##expected)

/* Large enough that work left running in the background is caught in the act. */
enum { SMALL = 1000, LARGE = 24 << 20 };

static int all_are(const void* memory, int value, size_t size) {
  const unsigned char* bytes = memory;
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] != value) return 0;
  }
  return 1;
}

static void devices(void) {
  int counts[INFINI_DEVICE_TYPE_COUNT], count = -1, id = -1;
  infiniDevice_t type = INFINI_DEVICE_TYPE_COUNT;
  memset(counts, 0xff, sizeof counts);
  OK(infinirtInit());
  OK(infinirtGetDevice(&type, &id));
  EXPECT(type == INFINI_DEVICE_CPU && id == 0);

  OK(infinirtGetAllDeviceCount(counts));
  for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i) {
    OK(infinirtGetDeviceCount((infiniDevice_t)i, &count));
    EXPECT(count >= 0 && count == counts[i]);
  }
  EXPECT(counts[INFINI_DEVICE_CPU] == 2); /* INFINIRT_CPU_DEVICES of the test */
  EXPECT(counts[INFINI_DEVICE_QY] == 0);
  STATUS(NULL_POINTER, infinirtGetAllDeviceCount(NULL));
  STATUS(NULL_POINTER, infinirtGetDeviceCount(INFINI_DEVICE_CPU, NULL));
  STATUS(DEVICE_TYPE_NOT_SUPPORTED, infinirtGetDeviceCount(INFINI_DEVICE_TYPE_COUNT, &count));

  OK(infinirtSetDevice(INFINI_DEVICE_CPU, 1));
  OK(infinirtGetDevice(NULL, &id));
  EXPECT(id == 1);
  STATUS(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice(INFINI_DEVICE_QY, 0));
  STATUS(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice(INFINI_DEVICE_TYPE_COUNT, 0));
  STATUS(DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice((infiniDevice_t)-1, 0));
  STATUS(DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_CPU, 2));
  STATUS(DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_CPU, -1));
  OK(infinirtGetDevice(&type, &id)); /* failures changed nothing */
  EXPECT(type == INFINI_DEVICE_CPU && id == 1);
  STATUS(NULL_POINTER, infinirtGetDevice(NULL, NULL));
  OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
  OK(infinirtDeviceSynchronize());
}

static void memory_information(void) {
  size_t free_before = 0, free_after = 0, total = 0, other_free = 0, other_total = 0;
  int id = -1;
  void* memory = NULL;
  infinirtDeviceResourceSnapshot_t snapshot;
  OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_before, &total));
  OK(infinirtMalloc(&memory, LARGE));
  OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_after, &total));
  EXPECT(total >= free_before && free_before - free_after >= LARGE);
  OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 1, &other_free, &other_total));
  EXPECT(other_free > free_after);
  OK(infinirtGetDevice(NULL, &id));
  EXPECT(id == 0);

  memset(&snapshot, 0xff, sizeof snapshot);
  OK(infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, &snapshot));
  EXPECT(snapshot.device_type == INFINI_DEVICE_CPU && snapshot.device_id == 0);
  EXPECT(snapshot.valid_fields == INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY && snapshot.estimated_fields == 0);
  EXPECT(snapshot.total_bytes == total && snapshot.used_bytes >= LARGE);
  EXPECT(snapshot.used_bytes + snapshot.free_bytes == snapshot.total_bytes);
  EXPECT(snapshot.compute_utilization == 0 && snapshot.communication_bytes == 0);

  STATUS(NULL_POINTER, infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, NULL, &total));
  STATUS(NULL_POINTER, infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_after, NULL));
  STATUS(NULL_POINTER, infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, NULL));
  STATUS(DEVICE_NOT_FOUND, infinirtGetMemInfo(INFINI_DEVICE_CPU, 9, &free_after, &total));
  STATUS(DEVICE_TYPE_NOT_SUPPORTED, infinirtGetMemInfo(INFINI_DEVICE_QY, 0, &free_after, &total));
  OK(infinirtFree(memory));
}

static void copies_are_complete_on_return(infinirtStream_t stream) {
  char *first = NULL, *second = NULL, *pinned = NULL, *plain = malloc(LARGE);
  OK(infinirtMalloc((void**)&first, LARGE));
  OK(infinirtMalloc((void**)&second, LARGE));
  OK(infinirtMallocHost((void**)&pinned, LARGE));

  OK(infinirtMemsetAsync(first, 0x31, LARGE, stream));
  EXPECT(all_are(first, 0x31, LARGE));
  OK(infinirtMemset(first, 0x41, LARGE));
  EXPECT(all_are(first, 0x41, LARGE));
  OK(infinirtMemcpyAsync(second, first, LARGE, INFINIRT_MEMCPY_D2D, stream));
  EXPECT(all_are(second, 0x41, LARGE));
  OK(infinirtMemcpyAsync(pinned, second, LARGE, INFINIRT_MEMCPY_D2H, stream));
  EXPECT(all_are(pinned, 0x41, LARGE));
  memset(pinned, 0x42, LARGE);
  OK(infinirtMemcpyAsync(first, pinned, LARGE, INFINIRT_MEMCPY_H2D, stream));
  EXPECT(all_are(first, 0x42, LARGE));
  OK(infinirtMemcpy(second, first, LARGE, INFINIRT_MEMCPY_D2D));
  EXPECT(all_are(second, 0x42, LARGE));
  OK(infinirtMemcpy(plain, second, LARGE, INFINIRT_MEMCPY_D2H));
  EXPECT(all_are(plain, 0x42, LARGE));
  memset(plain, 0x43, LARGE);
  OK(infinirtMemcpy(pinned, plain, LARGE, INFINIRT_MEMCPY_H2H));
  EXPECT(all_are(pinned, 0x43, LARGE));

  STATUS(BAD_PARAM, infinirtMemcpy(first, second, SMALL, (infinirtMemcpyKind_t)4));
  STATUS(BAD_PARAM, infinirtMemcpyAsync(first, second, SMALL, (infinirtMemcpyKind_t)-1, stream));
  STATUS(BAD_PARAM, infinirtMemcpy(first, plain, (size_t)LARGE * 2, INFINIRT_MEMCPY_H2D)); /* beyond the allocation */
  STATUS(NULL_POINTER, infinirtMemcpy(NULL, second, SMALL, INFINIRT_MEMCPY_D2D));
  STATUS(NULL_POINTER, infinirtMemcpyAsync(first, NULL, SMALL, INFINIRT_MEMCPY_D2D, stream));
  STATUS(NULL_POINTER, infinirtMemset(NULL, 0, SMALL));
  STATUS(NULL_POINTER, infinirtMemsetAsync(NULL, 0, SMALL, stream));
  OK(infinirtMemcpy(NULL, NULL, 0, INFINIRT_MEMCPY_H2D));

  OK(infinirtFree(first));
  OK(infinirtFree(second));
  OK(infinirtFreeHost(pinned));
  STATUS(BAD_PARAM, infinirtFree(first));
  STATUS(BAD_PARAM, infinirtMemset(first, 0, SMALL));
  STATUS(BAD_PARAM, infinirtMemsetAsync(first, 0, LARGE, stream));
  STATUS(BAD_PARAM, infinirtMemcpy(plain, second, SMALL, INFINIRT_MEMCPY_D2H));
  OK(infinirtFree(NULL));
  OK(infinirtFreeHost(NULL));
  free(plain);
}

/* malloc'd memory passes for device memory on the CPU. */
static void plain_memory_is_device_memory(infinirtStream_t stream) {
  unsigned char *first = malloc(LARGE), *second = malloc(LARGE);
  OK(infinirtMemset(first, 0x51, LARGE));
  EXPECT(all_are(first, 0x51, LARGE));
  OK(infinirtMemcpy(second, first, LARGE, INFINIRT_MEMCPY_D2D));
  EXPECT(all_are(second, 0x51, LARGE));
  OK(infinirtMemsetAsync(first, 0x52, LARGE, stream));
  EXPECT(all_are(first, 0x52, LARGE));
  OK(infinirtMemcpyAsync(second, first, LARGE, INFINIRT_MEMCPY_H2D, stream));
  EXPECT(all_are(second, 0x52, LARGE));
  OK(infinirtMemcpyAsync(first, second, SMALL, INFINIRT_MEMCPY_D2H, NULL));
  free(first);
  free(second);
}

static void any_free_takes_any_memory(infinirtStream_t stream) {
  infiniStatus_t (*const frees[])(void*) = {infinirtFree, infinirtFreeHost};
  void* memory = NULL;
  size_t free_before = 0, free_after = 0, total = 0;
  OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_before, &total));
  for (int i = 0; i < 3; ++i) {
    OK(infinirtMalloc(&memory, SMALL));
    OK(i < 2 ? frees[i](memory) : infinirtFreeAsync(memory, stream));
    OK(infinirtMallocHost(&memory, SMALL));
    OK(i < 2 ? frees[i](memory) : infinirtFreeAsync(memory, stream));
    OK(infinirtMallocAsync(&memory, SMALL, stream));
    OK(infinirtMemsetAsync(memory, 1, SMALL, stream));
    EXPECT(all_are(memory, 1, SMALL));
    OK(i < 2 ? frees[i](memory) : infinirtFreeAsync(memory, stream));
    STATUS(BAD_PARAM, infinirtFreeAsync(memory, stream));
  }
  OK(infinirtDeviceSynchronize());
  OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_after, &total));
  EXPECT(free_before == free_after);
  OK(infinirtFreeAsync(NULL, stream));
  STATUS(NULL_POINTER, infinirtMalloc(NULL, SMALL));
  STATUS(NULL_POINTER, infinirtMallocHost(NULL, SMALL));
  STATUS(NULL_POINTER, infinirtMallocAsync(NULL, SMALL, stream));
  STATUS(INTERNAL_ERROR, infinirtMalloc(&memory, (size_t)1 << 60));
}

static void events(infinirtStream_t stream) {
  infinirtEvent_t start = NULL, end = NULL, untimed = NULL;
  infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
  infinirtStream_t other = NULL;
  void* memory = NULL;
  float milliseconds = -1;
  OK(infinirtStreamCreate(&other));
  OK(infinirtEventCreate(&start));
  OK(infinirtEventCreateWithFlags(&end, INFINIRT_EVENT_BLOCKING_SYNC));
  OK(infinirtEventCreateWithFlags(&untimed, INFINIRT_EVENT_DISABLE_TIMING));
  OK(infinirtMalloc(&memory, LARGE));
  OK(infinirtEventRecord(start, stream));
  OK(infinirtMemsetAsync(memory, 3, LARGE, stream));
  OK(infinirtEventRecord(end, stream));
  OK(infinirtEventQuery(end, &status));
  EXPECT(status == INFINIRT_EVENT_COMPLETE);
  OK(infinirtStreamWaitEvent(other, end));
  OK(infinirtEventSynchronize(end));
  /* BLOCKING_SYNC is 2 here and 1 in CUDA; taken for CUDA's flag it would have switched timing off. */
  OK(infinirtEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds > 0 && milliseconds < 60000);
  OK(infinirtEventRecord(untimed, stream));
  STATUS(BAD_PARAM, infinirtEventElapsedTime(&milliseconds, start, untimed));

  STATUS(BAD_PARAM, infinirtEventCreateWithFlags(&untimed, 4));
  STATUS(NULL_POINTER, infinirtEventCreate(NULL));
  STATUS(NULL_POINTER, infinirtEventRecord(NULL, stream));
  STATUS(NULL_POINTER, infinirtEventQuery(end, NULL));
  STATUS(NULL_POINTER, infinirtEventQuery(NULL, &status));
  STATUS(NULL_POINTER, infinirtEventSynchronize(NULL));
  STATUS(NULL_POINTER, infinirtEventDestroy(NULL));
  STATUS(NULL_POINTER, infinirtEventElapsedTime(NULL, start, end));
  STATUS(NULL_POINTER, infinirtStreamWaitEvent(stream, NULL));
  OK(infinirtFree(memory));
  OK(infinirtEventDestroy(start));
  OK(infinirtEventDestroy(end));
  OK(infinirtEventDestroy(untimed));
  OK(infinirtStreamDestroy(other));
  STATUS(BAD_PARAM, infinirtEventSynchronize(start));
  STATUS(BAD_PARAM, infinirtStreamSynchronize(other));
  STATUS(NULL_POINTER, infinirtStreamCreate(NULL));
  OK(infinirtStreamDestroy(NULL));
}

static void graphs(infinirtStream_t stream) {
  unsigned char* memory = NULL;
  unsigned char plain[SMALL];
  void* temporary = NULL;
  infinirtGraph_t graph = NULL;
  infinirtGraphNode_t node = stream;
  infinirtGraphExec_t executable = NULL, second = NULL;
  char log[64] = "untouched";
  OK(infinirtMalloc((void**)&memory, LARGE));
  OK(infinirtMemset(memory, 0, LARGE));
  memset(plain, 0x61, SMALL);

  OK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_RELAXED));
  OK(infinirtMallocAsync(&temporary, SMALL, stream));
  OK(infinirtMemcpyAsync(temporary, plain, SMALL, INFINIRT_MEMCPY_H2D, stream));
  OK(infinirtMemsetAsync(memory, 0x62, LARGE, stream));
  OK(infinirtMemcpyAsync(memory, temporary, SMALL, INFINIRT_MEMCPY_D2D, stream));
  OK(infinirtFreeAsync(temporary, stream));
  OK(infinirtStreamEndCapture(stream, &graph));
  EXPECT(graph != NULL);
  EXPECT(all_are(memory, 0, LARGE)); /* recorded, not run */

  OK(infinirtGraphInstantiate(&executable, graph, &node, log, sizeof log));
  EXPECT(node == NULL && log[0] == 0);
  for (int round = 0; round < 2; ++round) {
    memset(plain, 0x70 + round, SMALL);
    OK(infinirtMemset(memory, 0, LARGE));
    OK(infinirtGraphLuanch(executable, stream));
    EXPECT(all_are(memory, 0x70 + round, SMALL) && all_are(memory + SMALL, 0x62, LARGE - SMALL));
  }
  /* A graph with allocations can be made executable once at a time; the reason is told, and cut to the buffer. */
  memset(log, 'x', sizeof log);
  EXPECT(infinirtGraphInstantiate(&second, graph, NULL, log, 20) != INFINI_STATUS_SUCCESS);
  EXPECT(strlen(log) == 19 && log[20] == 'x');
  OK(infinirtGraphExecDestroy(executable));
  OK(infinirtGraphInstantiate(&executable, graph, NULL, NULL, 0));
  OK(infinirtGraphExecDestroy(executable));
  OK(infinirtGraphDestroy(graph));

  STATUS(BAD_PARAM, infinirtStreamEndCapture(stream, &graph));
  STATUS(BAD_PARAM, infinirtStreamBeginCapture(NULL, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  STATUS(BAD_PARAM, infinirtStreamBeginCapture(stream, (infinirtStreamCaptureMode_t)3));
  STATUS(NULL_POINTER, infinirtStreamEndCapture(stream, NULL));
  STATUS(NULL_POINTER, infinirtGraphDestroy(NULL));
  STATUS(NULL_POINTER, infinirtGraphInstantiate(NULL, graph, NULL, NULL, 0));
  STATUS(NULL_POINTER, infinirtGraphInstantiate(&executable, NULL, NULL, NULL, 0));
  STATUS(NULL_POINTER, infinirtGraphExecDestroy(NULL));
  STATUS(NULL_POINTER, infinirtGraphLuanch(NULL, stream));
  STATUS(BAD_PARAM, infinirtGraphLuanch(executable, stream)); /* destroyed above */
  OK(infinirtFree(memory));
}

int main(void) {
  infinirtStream_t stream = NULL;
  devices();
  memory_information();
  OK(infinirtStreamCreate(&stream));
  copies_are_complete_on_return(stream);
  copies_are_complete_on_return(NULL);
  plain_memory_is_device_memory(stream);
  any_free_takes_any_memory(stream);
  events(stream);
  events(NULL);
  graphs(stream);
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
  if (failures == 0) puts("v0 program ok");
  return failures != 0;
}
