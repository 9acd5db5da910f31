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
  bool reports = true;
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
    execution = new Execution(step, count, true, batch.reports);
  } else {
    batch.ran = true;
    execution = &batch.execution.emplace(step, count, false, batch.reports);
  }
  for (Part& part : batch.parts) part.world->arrive(part, *execution, step);
  for (const Part& part : batch.parts) part.world->batch_arrived();  // the batch stays until arrived()
  return execution->arrived() ? infinirtXStepDone : infinirtXStepParked;
}

void run_blocking(void* data) {
  Batch& batch = *static_cast<Batch*>(data);
  const auto ending = std::make_shared<Ending>();
  auto* execution = new Execution(ending, static_cast<int>(batch.parts.size()));
  for (Part& part : batch.parts) part.world->arrive(part, *execution, nullptr);
  for (const Part& part : batch.parts) part.world->batch_arrived();
  if (!execution->arrived()) ending->wait();
}

void destroy(void* data) { delete static_cast<Batch*>(data); }

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

void Ending::reach() {
  std::lock_guard guard(mutex_);
  reached_ = true;
  changed_.notify_all();
}

void Ending::wait() {
  std::unique_lock guard(mutex_);
  changed_.wait(guard, [&] { return reached_; });
}

bool Execution::was_last() {
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  if (owns_itself_) delete this;
  return true;
}

void Execution::part_done() {
  const infinirtXStep_t step = step_;
  const std::shared_ptr<Ending> ending = ending_;
  if (!was_last()) return;
  if (ending) {
    ending->reach();
  } else {
    infinirtXStepFinish(step);
  }
}

void Execution::part_failed(const Failure& failure) {
  if (reports_) infinirtXStepFail(step_, failure.error, failure.message.c_str());
  part_done();
}

bool Execution::arrived() { return was_last(); }

infinirtError_t launch_batch(std::vector<Part> parts, infinirtStream_t stream, bool captured, bool reports) {
  // A captured one may be traced later.
  if (captured || infinirtXObserved()) infinirtXNameNextWork(batch_name(parts).c_str());
  auto batch = std::make_unique<Batch>();
  batch->parts = std::move(parts);
  batch->captured = captured;
  batch->reports = reports;
  infinirtXStepInfo info{};
  info.structSize = sizeof info;
  info.run = run;
  info.data = batch.release();
  info.destroy = destroy;
  info.mayRunInCaller = 1;
  t_launching = static_cast<Batch*>(info.data);
  const infinirtError_t error = infinirtXLaunchStep(stream, &info);
  t_launching = nullptr;
  return error;
}

infinirtError_t launch_blocking_batch(std::vector<Part> parts, infinirtStream_t stream) {
  infinirtXNameNextWork(batch_name(parts).c_str());
  auto batch = std::make_unique<Batch>();
  batch->parts = std::move(parts);
  batch->captured = true;
  t_launching = batch.get();
  const infinirtError_t error = infinirtXLaunchHostFunc(stream, run_blocking, batch.release(), destroy);
  t_launching = nullptr;
  return error;
}

}  // namespace infiniccl
