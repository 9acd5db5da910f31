// What a trace adds to calls: the same calls in turn without one and with one.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
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
  // In memory, as `infinirt trace` has it where there is room.
  std::string folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm/tracing-XXXXXX" : "/tmp/tracing-XXXXXX";
  if (!mkdtemp(folder.data())) return 1;
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
      measure::Candidate candidate;
      candidate.name = call.name;
      candidate.run = [&call, &folder, traced](int n) {
        // Beginning and ending cost as much as a thousand calls: these are many, so that it does not count.
        if (traced) infinirtXTraceBegin(folder.c_str());
        while (n-- > 0) call.call();
        if (traced) infinirtXTraceEnd();
      };
      // Gone before the disk is busy with it: what is asked is what a call waits for.
      candidate.after = [&folder] {
        for (const auto& file : std::filesystem::directory_iterator(folder)) std::filesystem::remove(file);
      };
      candidates.push_back(std::move(candidate));
    }
  }
  measure::compare(candidates, 200000, 11);
  for (size_t i = 0; i < candidates.size(); i += 2) {
    measure::row((candidates[i].name + ", off").c_str(), candidates[i].median(), 0, "");
    measure::row((candidates[i].name + ", on").c_str(), candidates[i + 1].median(), candidates[i].median(), "off");
  }
  std::filesystem::remove_all(folder);
}
