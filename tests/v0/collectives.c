/* InfiniCore's collectives, as its programs use them: one rank for each device, a stream each. */
#include <infiniccl.h>
#include <infinirt.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                 \
  do {                                                                              \
    const infiniStatus_t status = (call);                                           \
    if (status != INFINI_STATUS_SUCCESS) {                                          \
      fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, (int)status); \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

enum { RANKS = 2, COUNT = 5000 };

int main(void) {
  infinicclComm_t comms[RANKS];
  infinirtStream_t streams[RANKS];
  float* data[RANKS];
  float host[COUNT];
  CHECK(infinirtInit());
  CHECK(infinicclCommInitAll(INFINI_DEVICE_CPU, comms, RANKS, NULL));
  for (int rank = 0; rank < RANKS; ++rank) {
    CHECK(infinirtSetDevice(INFINI_DEVICE_CPU, rank));
    CHECK(infinirtStreamCreate(&streams[rank]));
    CHECK(infinirtMalloc((void**)&data[rank], sizeof host));
    for (int i = 0; i < COUNT; ++i) host[i] = (float)(rank + i);
    CHECK(infinirtMemcpy(data[rank], host, sizeof host, INFINIRT_MEMCPY_H2D));
  }
  for (int rank = 0; rank < RANKS; ++rank)
    CHECK(
        infinicclAllReduce(data[rank], data[rank], COUNT, INFINI_DTYPE_F32, INFINICCL_SUM, comms[rank], streams[rank]));
  for (int rank = 0; rank < RANKS; ++rank) {
    CHECK(infinirtSetDevice(INFINI_DEVICE_CPU, rank));
    CHECK(infinirtStreamSynchronize(streams[rank]));
    CHECK(infinirtMemcpy(host, data[rank], sizeof host, INFINIRT_MEMCPY_D2H));
    for (int i = 0; i < COUNT; ++i) {
      if (host[i] != (float)(2 * i + 1)) return 2;
    }
  }
  infinicclUniqueId_t id;
  infinicclComm_t alone;
  CHECK(infinicclGetUniqueId(&id));
  CHECK(infinicclCommInitRank(&alone, 1, id, 0));
  CHECK(infinicclGroupStart(alone));
  CHECK(infinicclBroadcast(data[1], data[1], COUNT, INFINI_DTYPE_F32, 0, alone, streams[1]));
  CHECK(infinicclGroupEnd(alone));
  CHECK(infinirtStreamSynchronize(streams[1]));
  CHECK(infinicclCommDestroy(alone));
  for (int rank = 0; rank < RANKS; ++rank) {
    CHECK(infinicclCommDestroy(comms[rank]));
    CHECK(infinirtFree(data[rank]));
    CHECK(infinirtStreamDestroy(streams[rank]));
  }
  if (infinicclCommDestroy(comms[0]) != INFINI_STATUS_BAD_PARAM) return 3;
  puts("v0 collectives ok");
  return 0;
}
