/* A program for InfiniCore's operator library: its headers, its library, memory of the program's own, no synchronising. */
#include <infiniop.h>
#include <infinirt.h>
#include <stdio.h>

#define CHECK(call)                                         \
  do {                                                      \
    int status_ = (int)(call);                              \
    if (status_ != INFINI_STATUS_SUCCESS) {                 \
      printf("%s: %d (line %d)\n", #call, status_, __LINE__); \
      return 1;                                             \
    }                                                       \
  } while (0)

enum { ROWS = 200, COLUMNS = 300 };
static float a[ROWS][COLUMNS], b[COLUMNS], c[ROWS][COLUMNS];

int main(void) {
  size_t shape[] = {ROWS, COLUMNS}, workspace = 0;
  infiniopHandle_t handle;
  infiniopTensorDescriptor_t matrix, row;
  infiniopAddDescriptor_t add;
  infinirtStream_t stream;
  infiniDevice_t type;
  int id;

  CHECK(infinirtInit());
  CHECK(infinirtSetDevice(INFINI_DEVICE_CPU, 1));
  CHECK(infiniopCreateHandle(&handle));
  CHECK(infiniopCreateTensorDescriptor(&matrix, 2, shape, NULL, INFINI_DTYPE_F32));
  CHECK(infiniopCreateTensorDescriptor(&row, 1, shape + 1, NULL, INFINI_DTYPE_F32));
  CHECK(infiniopCreateAddDescriptor(handle, &add, matrix, matrix, row));
  CHECK(infiniopGetAddWorkspaceSize(add, &workspace));
  CHECK(infinirtStreamCreate(&stream));
  for (int round = 1; round <= 100; ++round) {
    for (int i = 0; i < ROWS; ++i) {
      for (int j = 0; j < COLUMNS; ++j) a[i][j] = (float)(i * round);
    }
    for (int j = 0; j < COLUMNS; ++j) b[j] = (float)j;
    CHECK(infiniopAdd(add, NULL, workspace, c, a, b, round % 2 ? stream : NULL));
    for (int i = 0; i < ROWS; ++i) { /* at once: the CPU of that generation was synchronous */
      for (int j = 0; j < COLUMNS; ++j) {
        if (c[i][j] != (float)(i * round + j)) {
          printf("round %d: c[%d][%d] is %g\n", round, i, j, c[i][j]);
          return 1;
        }
      }
    }
  }
  CHECK(infinirtGetDevice(&type, &id));
  if (type != INFINI_DEVICE_CPU || id != 1) {
    printf("the device is %d:%d\n", (int)type, id);
    return 1;
  }
  CHECK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
  if (infiniopAdd(add, NULL, workspace, c, a, b, NULL) != INFINI_STATUS_BAD_PARAM) {
    printf("a descriptor of another device was taken\n");
    return 1;
  }
  CHECK(infiniopDestroyAddDescriptor(add));
  CHECK(infiniopDestroyTensorDescriptor(matrix));
  CHECK(infiniopDestroyTensorDescriptor(row));
  CHECK(infiniopDestroyHandle(handle));
  CHECK(infinirtStreamDestroy(stream));
  printf("v0 operators ok\n");
  return 0;
}
