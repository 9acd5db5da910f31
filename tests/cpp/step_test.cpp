// Steps: places in a stream's order where a library decides when the stream goes on.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace {

struct Recorded {
  std::atomic<int> runs{0}, destroyed{0};
  std::atomic<int> in_caller{-1};
  std::atomic<infinirtXStep_t> parked{nullptr};
  infinirtXStepResult result = infinirtXStepDone;
  bool later_first = false;  // wants to run elsewhere
  infinirtError_t error = infinirtSuccess;

  static infinirtXStepResult run(void* data, infinirtXStep_t step, int in_caller) {
    auto& self = *static_cast<Recorded*>(data);
    self.in_caller = in_caller;
    if (in_caller && self.later_first) return infinirtXStepLater;
    ++self.runs;
    if (self.error != infinirtSuccess) infinirtXStepFail(step, self.error, "as the test wants it");
    const infinirtXStepResult result = self.result;
    if (result == infinirtXStepParked) self.parked = step;  // from here on it may be finished
    return result;
  }
  static void destroy(void* data) { ++static_cast<Recorded*>(data)->destroyed; }

  infinirtXStepInfo info(bool may_run_in_caller) {
    infinirtXStepInfo info{};
    info.structSize = sizeof info;
    info.run = run;
    info.data = this;
    info.destroy = destroy;
    info.mayRunInCaller = may_run_in_caller;
    return info;
  }

  // Asking makes a random schedule move, too.
  infinirtXStep_t wait_until_parked(infinirtStream_t stream) {
    while (!parked) CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
    return parked.exchange(nullptr);
  }
};

}  // namespace

TEST(a_step_runs_once_and_its_data_goes_once) {
  for (const bool in_caller : {false, true}) {
    infinirtStream_t stream = make_stream();
    Recorded step;
    const infinirtXStepInfo info = step.info(in_caller);
    OK(infinirtXLaunchStep(stream, &info));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(step.runs.load(), 1);
    CHECK_EQ(step.destroyed.load(), 1);
    if (!in_caller) CHECK_EQ(step.in_caller.load(), 0);  // otherwise it may have been: not in a random schedule
    OK(infinirtStreamDestroy(stream));
  }
}

TEST(a_parked_stream_waits_and_any_thread_finishes_it) {
  for (const bool in_caller : {false, true}) {
    infinirtStream_t stream = make_stream();
    void* memory = nullptr;
    OK(infinirtMalloc(&memory, 64 << 20));
    Recorded step;
    step.result = infinirtXStepParked;
    const infinirtXStepInfo info = step.info(in_caller);
    OK(infinirtXLaunchStep(stream, &info));
    OK(infinirtMemsetAsync(memory, 7, 64 << 20, stream));  // behind it
    const infinirtXStep_t parked = step.wait_until_parked(stream);
    FAILS(infinirtStreamQuery(stream), infinirtErrorNotReady);
    std::thread([&] { infinirtXStepFinish(parked); }).join();
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(step.destroyed.load(), 1);
    OK(infinirtFree(memory));
    OK(infinirtStreamDestroy(stream));
  }
}

TEST(a_step_may_ask_to_run_elsewhere) {
  infinirtStream_t stream = make_stream();
  Recorded step;
  step.later_first = true;
  const infinirtXStepInfo info = step.info(true);
  OK(infinirtXLaunchStep(stream, &info));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(step.runs.load(), 1);
  CHECK_EQ(step.in_caller.load(), 0);
  OK(infinirtStreamDestroy(stream));
}

TEST(a_failed_step_is_an_error_of_the_device) {
  infinirtStream_t stream = make_stream();
  Recorded step;
  step.error = infinirtErrorTimeout;
  const infinirtXStepInfo info = step.info(true);
  OK(infinirtXLaunchStep(stream, &info));
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtErrorTimeout);
  CHECK(std::string(infinirtXGetLastErrorMessage()).find("as the test wants it") != std::string::npos);
  infinirtGetLastError();
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(captured_steps_run_at_each_launch_and_park_branches) {
  infinirtStream_t stream = make_stream();
  Recorded step;
  step.result = infinirtXStepParked;
  const infinirtXStepInfo info = step.info(true);
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t ready = nullptr;
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  OK(infinirtXLaunchStep(stream, &info));
  OK(infinirtStreamEndCapture(stream, &graph));
  CHECK_EQ(step.runs.load(), 0);
  size_t count = 1;
  infinirtGraphNode_t node = nullptr;
  OK(infinirtGraphGetNodes(graph, &node, &count));
  enum infinirtGraphNodeType type = infinirtGraphNodeTypeEmpty;
  OK(infinirtGraphNodeGetType(node, &type));
  CHECK_EQ(type, infinirtGraphNodeTypeHost);
  OK(infinirtGraphInstantiate(&ready, graph, 0));
  for (int launch = 1; launch <= 3; ++launch) {
    OK(infinirtGraphLaunch(ready, stream));
    const infinirtXStep_t parked = step.wait_until_parked(stream);
    FAILS(infinirtStreamQuery(stream), infinirtErrorNotReady);
    infinirtXStepFinish(parked);
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(step.runs.load(), launch);
  }
  CHECK_EQ(step.destroyed.load(), 0);
  OK(infinirtGraphExecDestroy(ready));
  OK(infinirtGraphDestroy(graph));
  CHECK_EQ(step.destroyed.load(), 1);
  OK(infinirtStreamDestroy(stream));
}

TEST(parallel_work_is_complete_when_the_call_returns) {
  infinirtStream_t stream = make_stream();
  std::vector<int> seen(10'000);
  infinirtXStepInfo info{};
  info.structSize = sizeof info;
  info.data = &seen;
  info.run = [](void* data, infinirtXStep_t step, int) {
    auto& all = *static_cast<std::vector<int>*>(data);
    infinirtXStepParallel(
        step, static_cast<long long>(all.size()), 1,
        [](long long begin, long long end, void* context) {
          auto& part = *static_cast<std::vector<int>*>(context);
          for (long long i = begin; i < end; ++i) ++part[static_cast<size_t>(i)];
        },
        data);
    return infinirtXStepDone;
  };
  OK(infinirtXLaunchStep(stream, &info));
  OK(infinirtStreamSynchronize(stream));
  for (int each : seen) CHECK_EQ(each, 1);
  OK(infinirtStreamDestroy(stream));
}

TEST(wrong_calls_are_refused_and_dispose_of_the_data) {
  Recorded step;
  infinirtXStepInfo info = step.info(true);
  FAILS(infinirtXLaunchStep(nullptr, nullptr), infinirtErrorInvalidValue);
  info.run = nullptr;
  FAILS(infinirtXLaunchStep(nullptr, &info), infinirtErrorInvalidValue);
  CHECK_EQ(step.destroyed.load(), 1);
  info = step.info(true);
  infinirtStream_t gone = make_stream();
  OK(infinirtStreamDestroy(gone));
  FAILS(infinirtXLaunchStep(gone, &info), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(step.destroyed.load(), 2);
  CHECK_EQ(step.runs.load(), 0);
}

TEST(memory_is_checked_before_it_is_used) {
  infinirtStream_t stream = make_stream();
  void* memory = nullptr;
  void* host = nullptr;
  OK(infinirtMalloc(&memory, 100));
  OK(infinirtXStreamUse(stream, memory, 100, "buffer", &host));
  CHECK(host != nullptr);
  FAILS(infinirtXStreamUse(stream, memory, 1 << 20, "buffer", &host), infinirtErrorInvalidValue);
  FAILS(infinirtXStreamUse(stream, nullptr, 1, "buffer", &host), infinirtErrorInvalidValue);
  int own = 0;
  OK(infinirtXStreamUse(stream, &own, sizeof own, "buffer", &host));
  CHECK_EQ(host, static_cast<void*>(&own));
  OK(infinirtFree(memory));
  FAILS(infinirtXStreamUse(stream, memory, 1, "buffer", &host), infinirtErrorInvalidValue);
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
