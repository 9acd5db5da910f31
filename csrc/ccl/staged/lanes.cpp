#include "ccl/staged/lanes.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "ccl/runtime.h"
#include "ccl/thread.h"

namespace infiniccl::staged {

namespace {

constexpr size_t kSmallest = 4096;

// Freeing page-locked memory waits for the whole device, on which other communicators may wait for ranks: so it has a thread of its own,
// not one that anybody else needs.
void free_soon(std::shared_ptr<Lanes> lanes) {
  const auto kept = std::make_shared<std::shared_ptr<Lanes>>(std::move(lanes));
  if (!start_thread("infiniccl-free", [kept] { kept->reset(); })) new std::shared_ptr<Lanes>(std::move(*kept));
}

}  // namespace

void let_go(void* kept) {
  auto* lanes = static_cast<std::shared_ptr<Lanes>*>(kept);
  free_soon(std::move(*lanes));  // the runtime may not be called here
  delete lanes;
}

Lanes::Lanes(const Place& place, std::shared_ptr<World> world)
    : place_(place), world_(std::move(world)), process_(getpid()) {}

Lanes::~Lanes() {
  if (process_ != getpid()) return;  // the parent's
  const DeviceScope scope(place_.type, place_.device);
  if (scope.error()) return;
  const OutsideCapture outside;
  for (infinirtStream_t stream : streams_) api().StreamDestroy(stream);
  for (infinirtEvent_t event : events_) api().EventDestroy(event);
  if (world_->failed() && world_->may_write_after_failure()) return;
  for (void* memory : memory_) api().FreeHost(memory);
}

infinirtError_t Lanes::make_event(bool of_steps, infinirtEvent_t* event) {
  const DeviceScope scope(of_steps && !place_.takes_steps ? "cpu" : place_.type,
                          of_steps && !place_.takes_steps ? 0 : place_.device);
  if (scope.error()) return scope.error();
  if (auto error = api().EventCreateWithFlags(event, infinirtEventDisableTiming)) return error;
  events_.push_back(*event);
  return infinirtSuccess;
}

infinirtError_t Lanes::make_stream(bool of_steps, infinirtStream_t* stream) {
  const DeviceScope scope(of_steps && !place_.takes_steps ? "cpu" : place_.type,
                          of_steps && !place_.takes_steps ? 0 : place_.device);
  if (scope.error()) return scope.error();
  if (auto error = api().StreamCreateWithFlags(stream, infinirtStreamNonBlocking)) return error;
  streams_.push_back(*stream);
  return infinirtSuccess;
}

infinirtError_t Lanes::find(int number, Lane** found) {
  if (const auto known = lanes_.find(number); known != lanes_.end()) {
    *found = &known->second;
    return infinirtSuccess;
  }
  const OutsideCapture outside;
  Lane lane;
  if (auto error = make_stream(false, &lane.in)) return error;
  if (auto error = make_stream(true, &lane.steps)) return error;
  if (auto error = make_stream(false, &lane.out)) return error;
  for (Slot& slot : lane.slots) {
    if (auto error = make_event(false, &slot.loaded)) return error;
    if (auto error = make_event(true, &slot.stepped)) return error;
    if (auto error = make_event(false, &slot.emptied)) return error;
  }
  *found = &(lanes_[number] = lane);
  return infinirtSuccess;
}

infinirtError_t Lanes::allocate(size_t bytes, std::byte** memory) {
  const OutsideCapture outside;
  void* made = nullptr;
  if (auto error = api().MallocHost(&made, std::bit_ceil(std::max(bytes, kSmallest)))) return error;
  memory_.push_back(made);
  *memory = static_cast<std::byte*>(made);
  return infinirtSuccess;
}

// What was too small may still be in use; sizes double, so all of it together is no more than what is used now.
infinirtError_t Lanes::reserve(Slot& slot, size_t bytes) {
  if (bytes <= slot.capacity) return infinirtSuccess;
  if (auto error = allocate(bytes, &slot.memory)) return error;
  slot.capacity = std::bit_ceil(std::max(bytes, kSmallest));
  return infinirtSuccess;
}

infinirtError_t Lanes::take_mark(infinirtEvent_t* mark) {
  if (marks_.empty()) {
    const OutsideCapture outside;
    return make_event(false, mark);
  }
  *mark = marks_.back();
  marks_.pop_back();
  return infinirtSuccess;
}

void Lanes::end_behind_work(std::shared_ptr<Lanes> lanes) {
  if (lanes->process_ != getpid()) return;
  if (lanes->lanes_.empty()) return free_soon(std::move(lanes));
  const DeviceScope scope(lanes->place_.type, lanes->place_.device);
  // Everything that a lane does ends on its way out.
  const infinirtStream_t last = lanes->lanes_.begin()->second.out;
  infinirtEvent_t mark = nullptr;
  if (!scope.error() && lanes->take_mark(&mark) == infinirtSuccess) {
    for (const auto& [number, lane] : lanes->lanes_) {
      if (lane.out == last || api().EventRecord(mark, lane.out) != infinirtSuccess) continue;
      api().StreamWaitEvent(last, mark, 0);
    }
  }
  auto* held = new std::shared_ptr<Lanes>(std::move(lanes));
  infinirtXLaunchHostFunc(last, [](void*) {}, held, let_go);
}

}  // namespace infiniccl::staged
