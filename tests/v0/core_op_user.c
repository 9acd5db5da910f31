/* A library of the new generation's world that uses operators. It leaves the new generation's device type at one without operators,
 * which makes it plain which generation's device a call has gone by: needs INFINIRT_CPU_MIN=1. */
#include <infiniop.h>
#include <infinirt_ext.h>
#include <string.h>

#define REQUIRE(condition) \
  if (!(condition)) return "core: " #condition

const char* core_workout(void) {
  enum { COUNT = 100000 };
  static float x[COUNT], y[COUNT];
  static int again = 0;
  const char* type = NULL;
  size_t shape[] = {COUNT};
  infiniopHandle_t handle = NULL, none = NULL;
  infiniopTensorDescriptor_t vector = NULL;
  infiniopAddDescriptor_t add = NULL;
  infinirtStream_t stream = NULL;
  void* memory = NULL;

  REQUIRE(infinirtXGetDeviceType(&type) == infinirtSuccess && !strcmp(type, again++ ? "cpu-min" : "cpu"));
  REQUIRE(infinirtXSetDeviceType("cpu") == infinirtSuccess);
  for (int i = 0; i < COUNT; ++i) x[i] = (float)i;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  REQUIRE(infinirtMallocAsync(&memory, sizeof x, stream) == infinirtSuccess);
  REQUIRE(infinirtMemcpyAsync(memory, x, sizeof x, infinirtMemcpyHostToDevice, stream) == infinirtSuccess);
  REQUIRE(infiniopCreateHandle(&handle) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopCreateTensorDescriptor(&vector, 1, shape, NULL, INFINI_DTYPE_F32) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopCreateAddDescriptor(handle, &add, vector, vector, vector) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopAdd(add, NULL, 0, memory, memory, memory, stream) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtMemcpyAsync(y, memory, sizeof y, infinirtMemcpyDeviceToHost, stream) == infinirtSuccess);
  REQUIRE(infinirtStreamSynchronize(stream) == infinirtSuccess);
  for (int i = 0; i < COUNT; ++i) REQUIRE(y[i] == 2 * x[i]);
  REQUIRE(infinirtFreeAsync(memory, stream) == infinirtSuccess);
  REQUIRE(infinirtStreamDestroy(stream) == infinirtSuccess);
  REQUIRE(infiniopDestroyTensorDescriptor(vector) == INFINI_STATUS_SUCCESS);

  /* v0 would go by its own device, the CPU. */
  REQUIRE(infinirtXSetDeviceType("cpu-min") == infinirtSuccess);
  REQUIRE(infiniopCreateHandle(&none) == INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED);
  REQUIRE(infiniopAdd(add, NULL, 0, y, x, x, NULL) == INFINI_STATUS_BAD_PARAM);
  REQUIRE(infiniopDestroyAddDescriptor(add) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopDestroyHandle(handle) == INFINI_STATUS_SUCCESS);
  return NULL;
}
