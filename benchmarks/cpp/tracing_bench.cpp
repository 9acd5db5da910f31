// What a trace adds to calls: the same calls in turn without one and with one, and what the clock itself costs.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "infinirt_observe.h"
#include "measure.h"

int main() {
  infinirtXSetDeviceType("cpu");
  infinirtStream_t stream;
  infinirtEvent_t event;
  infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking);
  infinirtEventCreateWithFlags(&event, infinirtEventDisableTiming);
  void* memory = nullptr;
  infinirtMalloc(&memory, 4096);
  char name[] = "/tmp/tracing-bench-XXXXXX";
  const std::string folder = mkdtemp(name);
  const struct {
    const char* name;
    std::function<void()> call;
  } calls[] = {{"get_device",
                [] {
                  int device = 0;
                  infinirtGetDevice(&device);
                }},
               {"stream_query", [&] { infinirtStreamQuery(stream); }},
               {"event_record", [&] { infinirtEventRecord(event, stream); }},
               {"memset_64 (call and work)", [&] { infinirtMemsetAsync(memory, 0, 64, stream); }},
               {"range (push and pop)", [] {
                  infinirtXRangePush("range");
                  infinirtXRangePop();
                }}};
  std::vector<measure::Candidate> candidates;
  for (const auto& call : calls) {
    for (const bool traced : {false, true}) {
      candidates.push_back({std::string(call.name),
                            [&call, &folder, traced](int n) {
                              // Beginning and ending are for every thread and file: the calls are many, so that they do not count.
                              if (traced) infinirtXTraceBegin(folder.c_str());
                              while (n-- > 0) call.call();
                              if (traced) infinirtXTraceEnd();
                            },
                            {}});
    }
  }
  measure::compare(candidates, 200000, 11);
  for (size_t i = 0; i < candidates.size(); i += 2) {
    measure::row((candidates[i].name + ", off").c_str(), candidates[i].median(), 0, "");
    measure::row((candidates[i].name + ", on").c_str(), candidates[i + 1].median(), candidates[i].median(), "off");
  }
  return std::system(("rm -r " + folder).c_str());
}
