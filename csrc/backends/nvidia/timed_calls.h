// Times of the GPU's work where NVIDIA's tracer is not there: an event before and one after each call that enqueues. It costs the
// program microseconds a call, and sees a call's work as one piece.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/observe.h"

namespace infinirt::nvidia {

class TimedCalls {
 public:
  // `table` is the device type's own functions; `backend` its number in traces.
  TimedCalls(const BackendTable& table, uint8_t backend) : table_(table), backend_(backend) {}

  // Around a call, on its thread; calls may nest. Calls that enqueue nothing on the device type's streams, or into a capture, are let be.
  void before(uint64_t call, uint16_t function, const unsigned long long* arguments);
  void after(infinirtError_t result);

  // Reports all that has been enqueued, waiting for it. Failures of the work stay for the program to hear of.
  void report();

 private:
  struct Timed {
    uint64_t call = 0;
    uint16_t function = 0;
    int device = -1;  // -1: not timed
    infinirtStream_t stream = nullptr;
    infinirtEvent_t begin = nullptr, end = nullptr;
  };
  struct Base {  // an event of a device, and when it was
    infinirtEvent_t event = nullptr;
    int64_t ns = 0;
  };
  static std::vector<Timed>& open_calls();  // of this thread
  bool make_base(int device);
  infinirtEvent_t take_event(int device);

  const BackendTable& table_;
  const uint8_t backend_;
  Mutex mutex_;
  std::vector<Timed> waiting_;
  std::vector<Base> bases_;  // by device
  std::vector<std::vector<infinirtEvent_t>> free_;  // by device
};

}  // namespace infinirt::nvidia
