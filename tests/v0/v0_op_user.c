/* A library of the earlier generation's world that uses operators, the counterpart of core_op_user.c. The new generation's device type
 * has no operators meanwhile: these go by v0's. */
#include <infiniop.h>
#include <infinirt.h>

#define REQUIRE(condition) \
  if (!(condition)) return "v0: " #condition

const char* v0_workout(void) {
  enum { COUNT = 100000 };
  static float x[COUNT], y[COUNT];
  size_t shape[] = {COUNT};
  infiniDevice_t type = INFINI_DEVICE_TYPE_COUNT;
  infiniopHandle_t handle = NULL;
  infiniopTensorDescriptor_t vector = NULL;
  infiniopAddDescriptor_t add = NULL;
  infinirtStream_t stream = NULL;
  int id = -1;

  REQUIRE(infinirtSetDevice(INFINI_DEVICE_CPU, 0) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtStreamCreate(&stream) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopCreateHandle(&handle) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopCreateTensorDescriptor(&vector, 1, shape, NULL, INFINI_DTYPE_F32) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopCreateAddDescriptor(handle, &add, vector, vector, vector) == INFINI_STATUS_SUCCESS);
  for (int round = 1; round <= 10; ++round) {
    for (int i = 0; i < COUNT; ++i) x[i] = (float)(i * round), y[i] = -1;
    REQUIRE(infiniopAdd(add, NULL, 0, y, x, x, round % 2 ? stream : NULL) == INFINI_STATUS_SUCCESS);
    for (int i = 0; i < COUNT; ++i) REQUIRE(y[i] == 2 * x[i]);
  }
  REQUIRE(infinirtGetDevice(&type, &id) == INFINI_STATUS_SUCCESS && type == INFINI_DEVICE_CPU && id == 0);
  REQUIRE(infiniopDestroyAddDescriptor(add) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopDestroyTensorDescriptor(vector) == INFINI_STATUS_SUCCESS);
  REQUIRE(infiniopDestroyHandle(handle) == INFINI_STATUS_SUCCESS);
  REQUIRE(infinirtStreamDestroy(stream) == INFINI_STATUS_SUCCESS);
  return NULL;
}
