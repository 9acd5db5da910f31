/* A program for InfiniCore's operator library, written as for the original: its headers, memory of the program's own beside the
 * device's, results looked at without synchronising. */
#include <infiniop.h>
#include <infinirt.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Each by itself, too, as programs include them. */
#include <infiniop/handle.h>
#include <infiniop/ops/add.h>
#include <infiniop/tensor_descriptor.h>

#define EXPECT(expected, call)                                                     \
  do {                                                                             \
    int status_ = (int)(call);                                                     \
    if (status_ != (int)(expected)) {                                              \
      printf("%s is %d, not %s (line %d)\n", #call, status_, #expected, __LINE__); \
      return 1;                                                                    \
    }                                                                              \
  } while (0)
#define OK(call) EXPECT(INFINI_STATUS_SUCCESS, call)
#define REQUIRE(condition) EXPECT(1, !!(condition))

enum { ROWS = 200, COLUMNS = 300, COUNT = ROWS * COLUMNS };
static float a[COUNT], b[COUNT], c[COUNT];

static infiniopHandle_t handle;
static infinirtStream_t streams[2]; /* the default stream, and one of our own */
static infiniopTensorDescriptor_t matrix, row,
    turned; /* ROWS x COLUMNS; COLUMNS; the matrix with its dimensions exchanged */

static int near(float value, double expected) { return fabs(value - expected) <= 1e-5 * (1 + fabs(expected)); }
static double silu(double x) { return x / (1 + exp(-x)); }

static int set_up(void) {
  size_t shape[] = {ROWS, COLUMNS}, turned_shape[] = {COLUMNS, ROWS};
  ptrdiff_t turned_strides[] = {1, COLUMNS};
  OK(infiniopCreateHandle(&handle));
  OK(infinirtStreamCreate(&streams[1]));
  OK(infiniopCreateTensorDescriptor(&matrix, 2, shape, NULL, INFINI_DTYPE_F32));
  OK(infiniopCreateTensorDescriptor(&row, 1, shape + 1, NULL, INFINI_DTYPE_F32));
  OK(infiniopCreateTensorDescriptor(&turned, 2, turned_shape, turned_strides, INFINI_DTYPE_F32));
  for (int i = 0; i < COUNT; ++i) a[i] = (float)(i % 97) / 16 - 3, b[i] = (float)(i % 89) / 16 - 2;
  return 0;
}

static int add_and_look_at_once(void) {
  infiniopAddDescriptor_t add;
  size_t workspace = 1;
  infiniDevice_t type = INFINI_DEVICE_TYPE_COUNT;
  int id = -1;
  OK(infiniopCreateAddDescriptor(handle, &add, matrix, matrix, row));
  OK(infiniopGetAddWorkspaceSize(add, &workspace));
  OK(infiniopGetDescriptorDeviceType(add, &type));
  OK(infiniopGetDescriptorDeviceId(add, &id));
  REQUIRE(workspace == 0 && type == INFINI_DEVICE_CPU && id == 1);
  for (int round = 0; round < 50; ++round) {
    memset(c, 0xff, sizeof c);
    OK(infiniopAdd(add, NULL, workspace, c, a, b, streams[round % 2]));
    for (int i = 0; i < COUNT; ++i) REQUIRE(c[i] == a[i] + b[i % COLUMNS]);
  }
  OK(infiniopDestroyAddDescriptor(add));
  return 0;
}

static int activations_on_memory_of_the_device(void) {
  infiniopSiluDescriptor_t activation;
  infiniopSwiGLUDescriptor_t gate;
  size_t workspace = 1;
  void *x = NULL, *y = NULL;
  OK(infinirtMalloc(&x, sizeof a));
  OK(infinirtMallocAsync(&y, sizeof a, streams[1]));
  OK(infinirtMemcpyAsync(x, a, sizeof a, INFINIRT_MEMCPY_H2D, streams[1]));
  OK(infiniopCreateSiluDescriptor(handle, &activation, matrix, matrix));
  OK(infiniopGetSiluWorkspaceSize(activation, &workspace));
  OK(infiniopSilu(activation, NULL, workspace, y, x, streams[1]));
  OK(infinirtMemcpy(c, y, sizeof c, INFINIRT_MEMCPY_D2H));
  for (int i = 0; i < COUNT; ++i) REQUIRE(near(c[i], silu(a[i])));

  OK(infiniopCreateSwiGLUDescriptor(handle, &gate, matrix, matrix, matrix));
  OK(infiniopGetSwiGLUWorkspaceSize(gate, &workspace));
  OK(infiniopSwiGLU(gate, NULL, workspace, c, x, b, NULL)); /* one of each memory */
  for (int i = 0; i < COUNT; ++i) REQUIRE(near(c[i], a[i] * silu(b[i])));
  OK(infiniopDestroySiluDescriptor(activation));
  OK(infiniopDestroySwiGLUDescriptor(gate));
  OK(infinirtFree(x));
  OK(infinirtFreeAsync(y, streams[1]));
  return 0;
}

/* c = alpha * a * transposed(b) + beta * c */
static int product(void) {
  static float square[ROWS * ROWS];
  infiniopGemmDescriptor_t gemm;
  infiniopTensorDescriptor_t result;
  size_t shape[] = {ROWS, ROWS}, workspace = 1;
  void* memory = NULL;
  OK(infiniopCreateTensorDescriptor(&result, 2, shape, NULL, INFINI_DTYPE_F32));
  OK(infiniopCreateGemmDescriptor(handle, &gemm, result, matrix, turned));
  OK(infiniopGetGemmWorkspaceSize(gemm, &workspace));
  if (workspace) OK(infinirtMalloc(&memory, workspace));
  for (int i = 0; i < ROWS * ROWS; ++i) square[i] = (float)(i % 7);
  OK(infiniopGemm(gemm, memory, workspace, square, a, b, 0.5f, 2.0f, streams[1]));
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < ROWS; ++j) {
      double sum = 0;
      for (int k = 0; k < COLUMNS; ++k) sum += (double)a[i * COLUMNS + k] * b[j * COLUMNS + k];
      REQUIRE(fabs(square[i * ROWS + j] - (0.5 * sum + 2 * ((i * ROWS + j) % 7))) < 0.01);
    }
  }
  OK(infinirtFree(memory));
  OK(infiniopDestroyGemmDescriptor(gemm));
  OK(infiniopDestroyTensorDescriptor(result));
  return 0;
}

static int rearrangement(void) {
  infiniopRearrangeDescriptor_t rearrange;
  infiniopTensorDescriptor_t contiguous;
  size_t shape[] = {COLUMNS, ROWS};
  OK(infiniopCreateTensorDescriptor(&contiguous, 2, shape, NULL, INFINI_DTYPE_F32));
  OK(infiniopCreateRearrangeDescriptor(handle, &rearrange, contiguous, turned));
  OK(infiniopDestroyTensorDescriptor(contiguous)); /* the descriptor has a copy */
  OK(infiniopRearrange(rearrange, c, a, streams[1]));
  for (int i = 0; i < COLUMNS; ++i) {
    for (int j = 0; j < ROWS; ++j) REQUIRE(c[i * ROWS + j] == a[j * COLUMNS + i]);
  }
  OK(infiniopDestroyRearrangeDescriptor(rearrange));
  return 0;
}

/* What is captured runs with the graph; beside the capture, calls on another stream are complete as ever. */
static int capture(infinirtStreamCaptureMode_t mode) {
  infiniopAddDescriptor_t add;
  infinirtStream_t other;
  infinirtGraph_t graph;
  infinirtGraphExec_t executable;
  char text[64];
  static float apart[COUNT];
  OK(infiniopCreateAddDescriptor(handle, &add, matrix, matrix, matrix));
  OK(infinirtStreamCreate(&other));
  memset(c, 0, sizeof c);
  memset(apart, 0, sizeof apart);
  OK(infinirtStreamBeginCapture(streams[1], mode));
  OK(infiniopAdd(add, NULL, 0, c, a, b, streams[1]));
  OK(infiniopAdd(add, NULL, 0, apart, a, a, other));
  for (int i = 0; i < COUNT; ++i) REQUIRE(apart[i] == a[i] + a[i]);
  OK(infinirtMemcpyAsync(apart, b, sizeof b, INFINIRT_MEMCPY_H2H, other));
  for (int i = 0; i < COUNT; ++i) REQUIRE(apart[i] == b[i]);
  OK(infinirtStreamEndCapture(streams[1], &graph));
  for (int i = 0; i < COUNT; ++i) REQUIRE(c[i] == 0);
  OK(infinirtGraphInstantiate(&executable, graph, NULL, text, sizeof text));
  OK(infinirtGraphLuanch(executable, streams[1]));
  for (int i = 0; i < COUNT; ++i) REQUIRE(c[i] == a[i] + b[i]);
  OK(infinirtGraphExecDestroy(executable));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(other));
  OK(infiniopDestroyAddDescriptor(add));
  return 0;
}

/* A thread has a device of its own, and its calls are complete although another thread is capturing. */
static int compute_in_thread(infiniopAddDescriptor_t add) {
  static float sum[COUNT];
  EXPECT(INFINI_STATUS_BAD_PARAM, infiniopAdd(add, NULL, 0, sum, a, b, NULL)); /* it begins with device 0 */
  OK(infinirtSetDevice(INFINI_DEVICE_CPU, 1));
  for (int round = 0; round < 20; ++round) {
    infinirtStream_t stream;
    OK(infinirtStreamCreate(&stream));
    memset(sum, 0, sizeof sum);
    OK(infiniopAdd(add, NULL, 0, sum, a, b, stream));
    for (int i = 0; i < COUNT; ++i) REQUIRE(sum[i] == a[i] + b[i]);
    OK(infinirtStreamDestroy(stream));
  }
  return 0;
}
static void* run_thread(void* add) { return compute_in_thread(add) ? add : NULL; }

static int another_thread(void) {
  infiniopAddDescriptor_t add;
  infinirtGraph_t graph;
  pthread_t thread;
  void* failed = NULL;
  OK(infiniopCreateAddDescriptor(handle, &add, matrix, matrix, matrix));
  OK(infinirtStreamBeginCapture(streams[1], INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  REQUIRE(pthread_create(&thread, NULL, run_thread, add) == 0);
  REQUIRE(pthread_join(thread, &failed) == 0 && !failed);
  OK(infinirtStreamEndCapture(streams[1], &graph));
  OK(infinirtGraphDestroy(graph));
  OK(infiniopDestroyAddDescriptor(add));
  return 0;
}

static int mistakes(void) {
  infiniopAddDescriptor_t add;
  infiniopSiluDescriptor_t activation;
  infiniopTensorDescriptor_t none;
  OK(infiniopCreateAddDescriptor(handle, &add, matrix, matrix, matrix));
  EXPECT(INFINI_STATUS_NULL_POINTER, infiniopCreateHandle(NULL));
  EXPECT(INFINI_STATUS_BAD_TENSOR_DTYPE, infiniopCreateTensorDescriptor(&none, 0, NULL, NULL, INFINI_DTYPE_INVALID));
  EXPECT(INFINI_STATUS_NULL_POINTER, infiniopCreateAddDescriptor(NULL, &add, matrix, matrix, matrix));
  EXPECT(INFINI_STATUS_BAD_TENSOR_SHAPE, infiniopCreateSiluDescriptor(handle, &activation, matrix, turned));
  EXPECT(INFINI_STATUS_BAD_PARAM, infiniopSilu((infiniopSiluDescriptor_t)add, NULL, 0, c, a, NULL));
  EXPECT(INFINI_STATUS_NULL_POINTER, infiniopAdd(add, NULL, 0, c, NULL, b, NULL));

  /* A descriptor is its device's. */
  OK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
  EXPECT(INFINI_STATUS_BAD_PARAM, infiniopAdd(add, NULL, 0, c, a, b, NULL));
  EXPECT(INFINI_STATUS_BAD_PARAM, infiniopCreateSiluDescriptor(handle, &activation, matrix, matrix));
  OK(infinirtSetDevice(INFINI_DEVICE_CPU, 1));
  OK(infiniopAdd(add, NULL, 0, c, a, b, NULL));

  OK(infiniopDestroyAddDescriptor(add));
  EXPECT(INFINI_STATUS_BAD_PARAM, infiniopAdd(add, NULL, 0, c, a, b, NULL));
  EXPECT(INFINI_STATUS_BAD_PARAM, infiniopDestroyAddDescriptor(add));
  return 0;
}

static int tear_down(void) {
  OK(infiniopDestroyTensorDescriptor(matrix));
  OK(infiniopDestroyTensorDescriptor(row));
  OK(infiniopDestroyTensorDescriptor(turned));
  OK(infiniopDestroyHandle(handle));
  EXPECT(INFINI_STATUS_BAD_PARAM, infiniopDestroyHandle(handle));
  OK(infinirtStreamDestroy(streams[1]));
  return 0;
}

int main(void) {
  infiniDevice_t type = INFINI_DEVICE_TYPE_COUNT;
  int id = -1;
  OK(infinirtInit());
  OK(infinirtSetDevice(INFINI_DEVICE_CPU, 1));
  if (set_up() || add_and_look_at_once() || activations_on_memory_of_the_device() || product() || rearrangement() ||
      capture(INFINIRT_STREAM_CAPTURE_MODE_GLOBAL) || capture(INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL) ||
      capture(INFINIRT_STREAM_CAPTURE_MODE_RELAXED) || another_thread() || mistakes() || tear_down()) {
    return 1;
  }
  OK(infinirtGetDevice(&type, &id));
  REQUIRE(type == INFINI_DEVICE_CPU && id == 1);
  printf("v0 operators ok\n");
  return 0;
}
