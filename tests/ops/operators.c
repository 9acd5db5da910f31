/* What a C program does with the operators: y = relu(x + bias), rows of three with one bias for all. */
#include <infiniop.h>
#include <infinirt_ext.h>
#include <stdio.h>

#define TRY(call)                                                \
  do {                                                           \
    if ((call) != 0) {                                           \
      printf("%s: %s\n", #call, infinirtXGetLastErrorMessage()); \
      return 1;                                                  \
    }                                                            \
  } while (0)

int main(void) {
  const size_t shape[] = {2, 3};
  const float x[] = {-3, -2, -1, 1, 2, 3}, bias[] = {0.5f, 1.5f, 2.5f}, expected[] = {0, 0, 1.5f, 1.5f, 3.5f, 5.5f};
  float y[6];
  void *memory, *row;
  infiniopHandle_t handle;
  infiniopTensorDescriptor_t matrix, vector;
  infiniopAddDescriptor_t add;
  infiniopReluDescriptor_t relu;
  TRY(infinirtMalloc(&memory, sizeof x));
  TRY(infinirtMalloc(&row, sizeof bias));
  TRY(infinirtMemcpy(memory, x, sizeof x, infinirtMemcpyHostToDevice));
  TRY(infinirtMemcpy(row, bias, sizeof bias, infinirtMemcpyHostToDevice));
  TRY(infiniopCreateHandle(&handle));
  TRY(infiniopCreateTensorDescriptor(&matrix, 2, shape, NULL, INFINI_DTYPE_F32));
  TRY(infiniopCreateTensorDescriptor(&vector, 1, shape + 1, NULL, INFINI_DTYPE_F32));
  TRY(infiniopCreateAddDescriptor(handle, &add, matrix, matrix, vector));
  TRY(infiniopCreateReluDescriptor(handle, &relu, matrix, matrix));
  TRY(infiniopDestroyTensorDescriptor(matrix));
  TRY(infiniopDestroyTensorDescriptor(vector));
  TRY(infiniopAdd(add, NULL, 0, memory, memory, row, NULL));
  TRY(infiniopRelu(relu, NULL, 0, memory, memory, NULL));
  TRY(infinirtMemcpy(y, memory, sizeof y, infinirtMemcpyDeviceToHost));
  for (int i = 0; i < 6; ++i) {
    if (y[i] != expected[i]) return printf("element %d is %g\n", i, y[i]), 1;
  }
  TRY(infiniopDestroyAddDescriptor(add));
  TRY(infiniopDestroyReluDescriptor(relu));
  TRY(infiniopDestroyHandle(handle));
  TRY(infinirtFree(memory));
  TRY(infinirtFree(row));
  puts("operators ok");
  return 0;
}
