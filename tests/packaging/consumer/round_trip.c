/* A program outside the project: sends bytes to the device and back. Exit status 0 when they came back unchanged. */
#include <infinirt.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call)                                                      \
  do {                                                                   \
    infinirtError_t error = (call);                                      \
    if (error != infinirtSuccess) {                                      \
      fprintf(stderr, "%s: %s\n", #call, infinirtGetErrorString(error)); \
      return 1;                                                          \
    }                                                                    \
  } while (0)

int main(void) {
  int count = 0;
  CHECK(infinirtGetDeviceCount(&count));
  if (count < 1) {
    fprintf(stderr, "no device\n");
    return 1;
  }

  unsigned char sent[4096], received[4096] = {0};
  for (size_t i = 0; i < sizeof sent; ++i) sent[i] = (unsigned char)(i * 7 + 3);

  void* memory = NULL;
  CHECK(infinirtMalloc(&memory, sizeof sent));
  CHECK(infinirtMemcpy(memory, sent, sizeof sent, infinirtMemcpyHostToDevice));
  CHECK(infinirtMemcpy(received, memory, sizeof received, infinirtMemcpyDeviceToHost));
  CHECK(infinirtFree(memory));

  if (memcmp(sent, received, sizeof sent) != 0) {
    fprintf(stderr, "the bytes changed on the way\n");
    return 1;
  }
  puts("round trip ok");
  return 0;
}
