#include "ccl/batch.h"

#include <new>
#include <optional>
#include <string>

#include "infinirt_observe.h"

namespace infiniccl {

namespace {

struct Batch;
// The batch that this thread is handing over; a launch that fails destroys it before it returns.
thread_local Batch* t_launching = nullptr;

struct Batch {
  std::vector<Part> parts;
  bool captured = false;
  bool ran = false;  // eager ones
  std::optional<Execution> execution;  // of an eager batch, which runs once

  ~Batch() {
    const bool refused = t_launching == this && !ran;
    if (refused) {
      t_launching = nullptr;
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) part->world->take_back(*part);
    } else if (!captured && !ran) {
      for (const Part& part : parts) part.world->part_dropped(part);
    }
  }
};

infinirtXStepResult run(void* data, infinirtXStep_t step, int in_caller) {
  Batch& batch = *static_cast<Batch*>(data);
  if (in_caller) {
    for (const Part& part : batch.parts) {
      if (part.world->is_much(part)) return infinirtXStepLater;
    }
  }
  const auto count = static_cast<int>(batch.parts.size());
  Execution* execution;
  if (batch.captured) {
    execution = new Execution(step, count, true);
  } else {
    batch.ran = true;
    execution = &batch.execution.emplace(step, count, false);
  }
  for (Part& part : batch.parts) part.world->arrive(part, *execution, step);
  for (const Part& part : batch.parts) part.world->batch_arrived();  // the batch stays until arrived()
  return execution->arrived() ? infinirtXStepDone : infinirtXStepParked;
}

// What traces show: "AllReduce f32 x 1024, rank 0 of 2".
std::string batch_name(const std::vector<Part>& parts) {
  std::string name;
  for (const Part& part : parts) {
    if (!name.empty()) name += "; ";
    name += operation_name(part.operation);
    if (part.count > 0) name += std::string(" ") + dtype_name(part.dtype) + " x " + std::to_string(part.count);
    name += ", rank " + std::to_string(part.rank) + " of " + std::to_string(part.world->size);
  }
  return name;
}

}  // namespace

bool Execution::was_last() {
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  if (owns_itself_) delete this;
  return true;
}

void Execution::part_done() {
  const infinirtXStep_t step = step_;
  if (was_last()) infinirtXStepFinish(step);
}

void Execution::part_failed(const Failure& failure) {
  infinirtXStepFail(step_, failure.error, failure.message.c_str());
  part_done();
}

bool Execution::arrived() { return was_last(); }

infinirtError_t launch_batch(std::vector<Part> parts, infinirtStream_t stream, bool captured) {
  // A captured one may be traced later.
  if (captured || infinirtXObserved()) infinirtXNameNextWork(batch_name(parts).c_str());
  auto batch = std::make_unique<Batch>();
  batch->parts = std::move(parts);
  batch->captured = captured;
  infinirtXStepInfo info{};
  info.structSize = sizeof info;
  info.run = run;
  info.data = batch.release();
  info.destroy = [](void* data) { delete static_cast<Batch*>(data); };
  info.mayRunInCaller = 1;
  t_launching = static_cast<Batch*>(info.data);
  const infinirtError_t error = infinirtXLaunchStep(stream, &info);
  t_launching = nullptr;
  return error;
}

}  // namespace infiniccl
