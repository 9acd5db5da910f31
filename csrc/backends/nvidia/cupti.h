// Traces of the GPU's work, by NVIDIA's own tracer (CUPTI), which is looked for when a trace begins; by events without it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/observe.h"

namespace infinirt::nvidia {

// From now on traces have the GPU's work. Called once, with the library's own functions and its version.
void trace_gpu(const BackendTable& table, uint8_t backend, int runtime_version);

// CUPTI's records as work. A record of work may come before the one that says which call it belongs to: it waits until then, or
// until the end.
class ActivityReader {
 public:
  explicit ActivityReader(uint8_t backend) : backend_(backend) {}

  // `to_monotonic` is added to CUPTI's times. The record is one of cupti_records.h, of other kinds nothing is taken.
  void take(const void* record, int64_t to_monotonic);
  void report_waiting();  // those that no call was found for, too

 private:
  struct Found {
    WorkReport report;
    uint32_t correlation;
    bool in_graph;
  };
  void add(const Found& found);
  void report(const Found& found, uint64_t call);

  uint8_t backend_;
  std::unordered_map<uint32_t, uint64_t> calls_;  // by CUPTI's number
  std::vector<Found> waiting_;
};

}  // namespace infinirt::nvidia
