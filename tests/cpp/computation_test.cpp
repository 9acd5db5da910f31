// infinirtXLaunchComputation: what runs in the calling thread, what does not, and that nothing else about a launch differs.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "gate.h"
#include "support.h"

namespace {

constexpr unsigned long long kShort = 1000, kLong = 1000000000;

infinirtError_t note_thread(const infinirtXBlock* block, void** args) {
  (*static_cast<std::thread::id**>(args[0]))[block->blockIdx.x] = std::this_thread::get_id();
  return infinirtSuccess;
}

infinirtError_t fail_in_block_two(const infinirtXBlock* block, void**) {
  return block->blockIdx.x == 2 ? infinirtErrorInvalidValue : infinirtSuccess;
}

// Where the blocks of a launch ran.
struct Places {
  std::vector<std::thread::id> ran;
  std::thread::id* data;
  void* args[1] = {&data};
  explicit Places(size_t blocks) : ran(blocks), data(ran.data()) {
    const size_t sizes[] = {sizeof(void*)};
    const infinirtXKernelInfo info{"note_thread", note_thread, sizes, 1, 0};
    REQUIRE(infinirtXRegisterKernel(&info) == infinirtSuccess);
  }
  infinirtError_t launch(unsigned long long nanoseconds, infinirtStream_t stream) {
    return infinirtXLaunchComputation(reinterpret_cast<const void*>(note_thread),
                                      {static_cast<unsigned>(ran.size()), 1, 1}, args, nanoseconds, stream);
  }
  bool all(std::thread::id id) const {
    return std::all_of(ran.begin(), ran.end(), [&](auto each) { return each == id; });
  }
  bool any(std::thread::id id) const { return std::find(ran.begin(), ran.end(), id) != ran.end(); }
};

}  // namespace

TEST(a_short_one_runs_in_the_calling_thread_of_an_idle_stream) {
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  for (const infinirtStream_t each : {stream, infinirtStream_t{nullptr}}) {
    Places places(5);
    CHECK_EQ(places.launch(kShort, each), infinirtSuccess);
    CHECK(places.all(std::this_thread::get_id()));
    CHECK_EQ(infinirtStreamQuery(each), infinirtSuccess);
  }
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

TEST(a_long_one_and_one_behind_other_work_do_not) {
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  Places longer(300), behind(3);
  CHECK_EQ(longer.launch(kLong, stream), infinirtSuccess);
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK(!longer.any(std::this_thread::get_id()) && !longer.any(std::thread::id()));

  Gate gate;
  CHECK_EQ(gate.hold(stream), infinirtSuccess);
  CHECK_EQ(behind.launch(kShort, stream), infinirtSuccess);
  CHECK(behind.all(std::thread::id()));
  gate.open();
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK(!behind.any(std::this_thread::get_id()) && !behind.any(std::thread::id()));
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

TEST(a_failure_is_the_streams_wherever_it_ran) {
  const infinirtXKernelInfo info{"fail_in_block_two", fail_in_block_two, nullptr, 0, 0};
  REQUIRE(infinirtXRegisterKernel(&info) == infinirtSuccess);
  for (const unsigned long long nanoseconds : {kShort, kLong}) {
    CHECK_EQ(infinirtXLaunchComputation(reinterpret_cast<const void*>(fail_in_block_two), {4, 1, 1}, nullptr,
                                        nanoseconds, nullptr),
             infinirtSuccess);
    CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorInvalidValue);
    CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  }
  infinirtGetLastError();
}

TEST(bad_launches_are_refused_as_others_are) {
  CHECK_EQ(infinirtXLaunchComputation(nullptr, {1, 1, 1}, nullptr, kShort, nullptr),
           infinirtErrorInvalidDeviceFunction);
  Places places(1);
  CHECK_EQ(
      infinirtXLaunchComputation(reinterpret_cast<const void*>(note_thread), {0, 1, 1}, places.args, kShort, nullptr),
      infinirtErrorInvalidConfiguration);
  CHECK_EQ(infinirtXLaunchComputation(reinterpret_cast<const void*>(note_thread), {1, 1, 1}, nullptr, kShort, nullptr),
           infinirtErrorInvalidValue);
  infinirtGetLastError();
  // What was said of those is not remembered: an ordinary launch is handed over.
  CHECK_EQ(
      infinirtLaunchKernel(reinterpret_cast<const void*>(note_thread), {1, 1, 1}, {1, 1, 1}, places.args, 0, nullptr),
      infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  CHECK(!places.any(std::this_thread::get_id()));
}

TEST(a_capture_records_it) {
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  Places places(3);
  CHECK_EQ(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal), infinirtSuccess);
  CHECK_EQ(places.launch(kShort, stream), infinirtSuccess);
  infinirtGraph_t graph;
  REQUIRE(infinirtStreamEndCapture(stream, &graph) == infinirtSuccess);
  CHECK(places.all(std::thread::id()));
  infinirtGraphExec_t exec;
  REQUIRE(infinirtGraphInstantiate(&exec, graph, 0) == infinirtSuccess);
  CHECK_EQ(infinirtGraphLaunch(exec, stream), infinirtSuccess);
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK(!places.any(std::thread::id()));
  CHECK_EQ(infinirtGraphExecDestroy(exec), infinirtSuccess);
  CHECK_EQ(infinirtGraphDestroy(graph), infinirtSuccess);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

TEST_MAIN()
