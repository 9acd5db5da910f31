// What single calls cost from C, one line each ("name nanoseconds"): the layer below for benchmarks/calls_bench.py.
#include <cstdio>
#include <vector>

#include "infinirt.h"
#include "infinirt_ext.h"
#include "measure.h"

int main() {
  infinirtXSetDeviceType("cpu");
  infinirtStream_t stream;
  infinirtEvent_t event;
  infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking);
  infinirtEventCreateWithFlags(&event, infinirtEventDisableTiming);
  void* memory = nullptr;
  int device = 0;
  std::vector<measure::Candidate> calls = {
      {"get_device",
       [&](int n) {
         while (n-- > 0) infinirtGetDevice(&device);
       }},
      {"set_device",
       [&](int n) {
         while (n-- > 0) infinirtSetDevice(0);
       }},
      {"stream_query",
       [&](int n) {
         while (n-- > 0) infinirtStreamQuery(stream);
       }},
      {"stream_synchronize",
       [&](int n) {
         while (n-- > 0) infinirtStreamSynchronize(stream);
       }},
      {"event_record",
       [&](int n) {
         while (n-- > 0) infinirtEventRecord(event, stream);
       }},
      {"event_query",
       [&](int n) {
         while (n-- > 0) infinirtEventQuery(event);
       }},
      {"stream_wait_event",
       [&](int n) {
         while (n-- > 0) infinirtStreamWaitEvent(stream, event, 0);
       }},
      {"pool_allocate_free",
       [&](int n) {
         while (n-- > 0) {
           infinirtMallocAsync(&memory, 1 << 20, stream);
           infinirtFreeAsync(memory, stream);
         }
       }},
  };
  measure::compare(calls, 5000, 21);
  for (const auto& call : calls) std::printf("%s %.1f\n", call.name.c_str(), call.median());
}
