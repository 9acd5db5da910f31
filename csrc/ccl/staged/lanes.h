// What staged operations run on: streams, events and page-locked memory of one device. Eager operations of a communicator have one
// such object, and every capture has one of its own.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "ccl/world.h"

namespace infiniccl::staged {

// A device, and where its work's steps run: on streams of its own, or on some of the CPU device.
struct Place {
  const char* type = nullptr;  // lives as long as the process
  int device = 0;
  bool takes_steps = true;
};

// Page-locked memory through which one chunk goes at a time.
struct Slot {
  std::byte* memory = nullptr;
  size_t capacity = 0;
  infinirtEvent_t loaded = nullptr;  // on the way in
  infinirtEvent_t stepped = nullptr;  // among the steps
  infinirtEvent_t emptied = nullptr;  // on the way out: it can be used again
  bool used = false;
};

// An order of operations: each chunk goes in, through its step, and out, and others are in front of it and behind it meanwhile.
struct Lane {
  infinirtStream_t in = nullptr, steps = nullptr, out = nullptr;
  std::array<Slot, 3> slots;
  size_t next = 0;  // slot
};

class Lanes {
 public:
  Lanes(const Place& place, std::shared_ptr<World> world);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // All with the place's device current. The error's message is the thread's last one.
  infinirtError_t find(int lane, Lane** found);
  infinirtError_t reserve(Slot& slot, size_t bytes);
  infinirtError_t allocate(size_t bytes, std::byte** memory);  // stays until the end
  // An event for marks on streams of the device, which is given back as soon as the waits for it are issued.
  infinirtError_t take_mark(infinirtEvent_t* mark);
  void give_mark(infinirtEvent_t mark) { marks_.push_back(mark); }

  // Lets go of it when all that was put on its streams is done.
  static void end_behind_work(std::shared_ptr<Lanes> lanes);

 private:
  infinirtError_t make_event(bool of_steps, infinirtEvent_t* event);
  infinirtError_t make_stream(bool of_steps, infinirtStream_t* stream);

  const Place place_;
  const std::shared_ptr<World> world_;
  const int process_;
  std::map<int, Lane> lanes_;
  std::vector<infinirtStream_t> streams_;
  std::vector<infinirtEvent_t> events_;
  std::vector<void*> memory_;  // also what was too small
  std::vector<infinirtEvent_t> marks_;
};

// For graphs and host functions: takes a new std::shared_ptr<Lanes>.
void let_go(void* kept);

}  // namespace infiniccl::staged
