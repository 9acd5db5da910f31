// infinirtXLaunchComputation: what runs in the calling thread, what does not, and that nothing else about a launch differs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iterator>
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

infinirtError_t take_some_time(const infinirtXBlock*, void**) {
  std::this_thread::sleep_for(std::chrono::milliseconds(16));
  return infinirtSuccess;
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

// Work for two, and a worker is awake after the first few: it takes a share, and the call still returns when all is done.
TEST(short_ones_in_quick_succession_are_shared) {
  constexpr int kBlocks = 16;
  constexpr unsigned long long kAll_ns = 40000;
  static std::atomic<int> done;
  done = 0;
  static std::thread::id ran[kBlocks];
  const auto compute = [](const infinirtXBlock* block, void**) -> infinirtError_t {
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kAll_ns / kBlocks);
    while (std::chrono::steady_clock::now() < until) {
    }
    ran[block->blockIdx.x] = std::this_thread::get_id();
    done.fetch_add(1, std::memory_order_relaxed);
    return infinirtSuccess;
  };
  static infinirtError_t (*const kernel)(const infinirtXBlock*, void**) = compute;
  const infinirtXKernelInfo info{"compute", kernel, nullptr, 0, 0};
  REQUIRE(infinirtXRegisterKernel(&info) == infinirtSuccess);
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  // Settings under which nobody stays awake, or nothing is shared.
  const bool is_alone = std::thread::hardware_concurrency() < 2 || std::getenv("INFINIRT_CPU_THREADS") ||
                        std::getenv("INFINIRT_CPU_LINGER") || std::getenv("INFINIRT_CPU_SCHEDULE");
  bool is_shared = false;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(is_alone ? 0 : 20);
  while (!is_shared && (done == 0 || std::chrono::steady_clock::now() < patience)) {
    done = 0;
    CHECK_EQ(
        infinirtXLaunchComputation(reinterpret_cast<const void*>(kernel), {kBlocks, 1, 1}, nullptr, kAll_ns, stream),
        infinirtSuccess);
    CHECK_EQ(done.load(std::memory_order_relaxed), kBlocks);
    CHECK_EQ(infinirtStreamQuery(stream), infinirtSuccess);
    is_shared = !std::all_of(std::begin(ran), std::end(ran), [](auto id) { return id == std::this_thread::get_id(); });
  }
  CHECK(is_shared || is_alone);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

TEST(a_long_one_and_one_behind_other_work_do_not) {
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  Places longer(300), behind(3);
  CHECK_EQ(longer.launch(kLong, stream), infinirtSuccess);
  while (infinirtStreamQuery(stream) == infinirtErrorNotReady) std::this_thread::yield();  // a wait could help
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

// A worker that sleeps takes its time to come: whoever waits for the stream meanwhile does the work.
TEST(a_thread_that_waits_does_what_no_worker_has_begun) {
  infinirtStream_t stream;
  infinirtEvent_t event;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  REQUIRE(infinirtEventCreate(&event) == infinirtSuccess);
  Places first(3), second(1);
  bool by_stream = false, by_event = false, by_device = false;
  for (int i = 0; i < 5000 && !(by_stream && by_event && by_device); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));  // the workers sleep again
    std::fill(first.ran.begin(), first.ran.end(), std::thread::id());
    second.ran[0] = {};
    CHECK_EQ(first.launch(kLong, stream), infinirtSuccess);
    CHECK_EQ(second.launch(kLong, stream), infinirtSuccess);
    CHECK_EQ(infinirtEventRecord(event, stream), infinirtSuccess);
    bool* const found = i % 3 == 0 ? &by_stream : i % 3 == 1 ? &by_event : &by_device;
    CHECK_EQ(i % 3 == 0   ? infinirtStreamSynchronize(stream)
             : i % 3 == 1 ? infinirtEventSynchronize(event)
                          : infinirtDeviceSynchronize(),
             infinirtSuccess);
    CHECK(!first.any(std::thread::id()) && !second.any(std::thread::id()));
    *found = *found || (first.any(std::this_thread::get_id()) && second.all(std::this_thread::get_id()));
  }
  CHECK(by_stream);
  CHECK(by_event);
  CHECK(by_device);
  CHECK_EQ(infinirtEventDestroy(event), infinirtSuccess);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

// Launched and waited for at once, again and again: then it runs in the launch, until the program does something else first.
TEST(who_always_waits_at_once_computes_in_the_launch) {
  constexpr unsigned long long kMiddle = 200000;
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  Places places(3);
  const auto me = std::this_thread::get_id();
  // Whether it is done when the call returns, by this thread.
  const auto launch = [&] {
    std::fill(places.ran.begin(), places.ran.end(), std::thread::id());
    CHECK_EQ(places.launch(kMiddle, stream), infinirtSuccess);
    return infinirtStreamQuery(stream) == infinirtSuccess && places.any(me);
  };
  const auto expect_to_wait = [&] {
    for (int i = 0; i < 5000; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));  // the workers sleep again
      if (launch()) return true;
      CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
    }
    return false;
  };
  const auto runs_elsewhere = [&] {
    const bool is_done = launch();
    while (infinirtStreamQuery(stream) == infinirtErrorNotReady) std::this_thread::yield();  // a wait could help
    return !is_done && !places.any(me) && !places.any(std::thread::id());
  };
  CHECK(runs_elsewhere());  // nothing is known yet
  CHECK(expect_to_wait());
  CHECK(runs_elsewhere());  // nobody waited for the last one
  CHECK(expect_to_wait());
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK(runs_elsewhere());  // the program had other things to do before it waited
  infinirtStream_t other;
  REQUIRE(infinirtStreamCreate(&other) == infinirtSuccess);
  CHECK(expect_to_wait());
  Places beside(3);
  CHECK_EQ(beside.launch(kMiddle, other), infinirtSuccess);
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK_EQ(infinirtStreamSynchronize(other), infinirtSuccess);
  CHECK(runs_elsewhere());  // the two streams could have computed side by side
  CHECK_EQ(infinirtStreamDestroy(other), infinirtSuccess);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

// How late a wait may come goes by how long the computation took: a sixteenth of that, here a millisecond, is nothing to speak of.
TEST(who_waits_soon_for_a_long_computation_has_waited_at_once) {
  constexpr unsigned long long kMiddle = 200000;
  constexpr auto kSoon = std::chrono::microseconds(50);  // more than the 10 that are at once for any computation
  const infinirtXKernelInfo info{"take_some_time", take_some_time, nullptr, 0, 0};
  REQUIRE(infinirtXRegisterKernel(&info) == infinirtSuccess);
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  const auto runs_here = [&] {
    CHECK_EQ(
        infinirtXLaunchComputation(reinterpret_cast<const void*>(take_some_time), {1, 1, 1}, nullptr, kMiddle, stream),
        infinirtSuccess);
    return infinirtStreamQuery(stream) == infinirtSuccess;
  };
  bool ran_again = false;
  for (int i = 0; i < 200 && !ran_again; ++i) {
    const bool ran = runs_here();
    if (ran) std::this_thread::sleep_for(kSoon);
    CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
    ran_again = ran && runs_here();
    CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  }
  CHECK(ran_again);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

// So do copies and sets that are too large for the calling thread otherwise.
TEST(copies_and_sets_run_in_the_call_for_who_always_waits_at_once) {
  constexpr size_t kBytes = 16 << 20, kTooMany = 64 << 20;
  constexpr int64_t kLeast_ns = 20000;  // that half of so many bytes take on any machine
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  void *from, *to;
  REQUIRE(infinirtMalloc(&from, kTooMany) == infinirtSuccess);
  REQUIRE(infinirtMalloc(&to, kTooMany) == infinirtSuccess);
  const auto own_ns = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
  };
  for (const bool copies : {true, false}) {
    // Whether it was done when the call returned, with the work of this thread.
    const auto runs_here = [&](size_t bytes) {
      const int64_t before = own_ns();
      CHECK_EQ(copies ? infinirtMemcpyAsync(to, from, bytes, infinirtMemcpyDeviceToDevice, stream)
                      : infinirtMemsetAsync(to, 5, bytes, stream),
               infinirtSuccess);
      return own_ns() - before > kLeast_ns && infinirtStreamQuery(stream) == infinirtSuccess;
    };
    bool is_known = false, is_left = false, is_left_if_long = false;
    for (int i = 0; i < 2000 && !(is_known && is_left && is_left_if_long); ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));  // the workers sleep again
      if (runs_here(kBytes)) {
        is_known = true;
        is_left = is_left || !runs_here(kBytes);  // nobody waited for the one before
      }
      CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
      if (i % 20 != 19) continue;
      is_left_if_long = is_left_if_long || !runs_here(kTooMany);
      CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
    }
    CHECK(is_known);
    CHECK(is_left);
    CHECK(is_left_if_long);
  }
  unsigned char last = 0;
  CHECK_EQ(infinirtMemcpy(&last, static_cast<char*>(to) + kBytes - 1, 1, infinirtMemcpyDeviceToHost), infinirtSuccess);
  CHECK_EQ(last, 5);
  for (void* memory : {from, to}) CHECK_EQ(infinirtFree(memory), infinirtSuccess);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

namespace {

// What `enqueue` gives to the stream, as a graph.
template <class Enqueue>
infinirtGraphExec_t captured(infinirtStream_t stream, Enqueue&& enqueue) {
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  REQUIRE(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal) == infinirtSuccess);
  enqueue();
  REQUIRE(infinirtStreamEndCapture(stream, &graph) == infinirtSuccess);
  REQUIRE(infinirtGraphInstantiate(&exec, graph, 0) == infinirtSuccess);
  REQUIRE(infinirtGraphDestroy(graph) == infinirtSuccess);
  return exec;
}

}  // namespace

// And graphs of such work, if it is a chain; those with code of the user, or with branches, are a worker's.
TEST(graphs_that_only_compute_run_in_the_launch_for_who_always_waits_at_once) {
  constexpr unsigned long long kMiddle = 50000;
  infinirtStream_t stream, beside;
  infinirtEvent_t forked, joined;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  REQUIRE(infinirtStreamCreate(&beside) == infinirtSuccess);
  REQUIRE(infinirtEventCreate(&forked) == infinirtSuccess);
  REQUIRE(infinirtEventCreate(&joined) == infinirtSuccess);
  Places places(3), others(3);
  const auto chain = captured(stream, [&] {
    CHECK_EQ(places.launch(kMiddle, stream), infinirtSuccess);
    CHECK_EQ(others.launch(kMiddle, stream), infinirtSuccess);
  });
  const auto with_function = captured(stream, [&] {
    CHECK_EQ(places.launch(kMiddle, stream), infinirtSuccess);
    CHECK_EQ(infinirtLaunchHostFunc(stream, [](void*) {}, nullptr), infinirtSuccess);
    CHECK_EQ(others.launch(kMiddle, stream), infinirtSuccess);
  });
  const auto with_branches = captured(stream, [&] {
    CHECK_EQ(infinirtEventRecord(forked, stream), infinirtSuccess);
    CHECK_EQ(infinirtStreamWaitEvent(beside, forked, 0), infinirtSuccess);
    CHECK_EQ(places.launch(kMiddle, stream), infinirtSuccess);
    CHECK_EQ(others.launch(kMiddle, beside), infinirtSuccess);
    CHECK_EQ(infinirtEventRecord(joined, beside), infinirtSuccess);
    CHECK_EQ(infinirtStreamWaitEvent(stream, joined, 0), infinirtSuccess);
  });
  const auto me = std::this_thread::get_id();
  // Whether it was done when the call returned, by this thread.
  const auto runs_here = [&](infinirtGraphExec_t exec, int times) {
    bool found = false;
    for (int i = 0; i < times && !found; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));  // the workers sleep again
      for (Places* each : {&places, &others}) std::fill(each->ran.begin(), each->ran.end(), std::thread::id());
      CHECK_EQ(infinirtGraphLaunch(exec, stream), infinirtSuccess);
      found = infinirtStreamQuery(stream) == infinirtSuccess && places.any(me) && others.any(me);
      CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
      CHECK(!places.any(std::thread::id()) && !others.any(std::thread::id()));
    }
    return found;
  };
  CHECK(runs_here(chain, 5000));
  CHECK(!runs_here(with_function, 50));
  CHECK(!runs_here(with_branches, 50));
  CHECK(runs_here(chain, 5000));
  for (infinirtGraphExec_t exec : {chain, with_function, with_branches})
    CHECK_EQ(infinirtGraphExecDestroy(exec), infinirtSuccess);
  for (infinirtEvent_t event : {forked, joined}) CHECK_EQ(infinirtEventDestroy(event), infinirtSuccess);
  for (infinirtStream_t each : {stream, beside}) CHECK_EQ(infinirtStreamDestroy(each), infinirtSuccess);
}

// Only one launch of an executable graph runs at a time, whichever threads would do it.
TEST(launches_of_one_graph_by_threads_that_wait_take_turns) {
  static long cell;
  cell = 0;
  const auto add = [](const infinirtXBlock*, void**) -> infinirtError_t {
    cell = cell + 1;  // whoever runs the graph is alone, and sees what came before
    return infinirtSuccess;
  };
  static infinirtError_t (*const kernel)(const infinirtXBlock*, void**) = add;
  const infinirtXKernelInfo info{"count", kernel, nullptr, 0, 0};
  REQUIRE(infinirtXRegisterKernel(&info) == infinirtSuccess);
  constexpr int kThreads = 4, kRounds = 400;
  infinirtStream_t first;
  REQUIRE(infinirtStreamCreateWithFlags(&first, infinirtStreamNonBlocking) == infinirtSuccess);
  const auto exec = captured(first, [&] {
    for (int i = 0; i < 3; ++i) {
      CHECK_EQ(infinirtXLaunchComputation(reinterpret_cast<const void*>(kernel), {1, 1, 1}, nullptr, 20000, first),
               infinirtSuccess);
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      infinirtStream_t own;
      REQUIRE(infinirtStreamCreateWithFlags(&own, infinirtStreamNonBlocking) == infinirtSuccess);
      for (int i = 1; i <= kRounds; ++i) {
        CHECK_EQ(infinirtGraphLaunch(exec, own), infinirtSuccess);
        if (i % 5 != 0) CHECK_EQ(infinirtStreamSynchronize(own), infinirtSuccess);
        if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
      CHECK_EQ(infinirtStreamSynchronize(own), infinirtSuccess);
      CHECK_EQ(infinirtStreamDestroy(own), infinirtSuccess);
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(cell, 3L * kThreads * kRounds);
  CHECK_EQ(infinirtGraphExecDestroy(exec), infinirtSuccess);
  CHECK_EQ(infinirtStreamDestroy(first), infinirtSuccess);
}

TEST(a_thread_that_waits_runs_no_code_of_the_user) {
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  Places before(2), after(2);
  for (int i = 0; i < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    std::thread::id called;
    CHECK_EQ(before.launch(kLong, stream), infinirtSuccess);
    const auto function = [](void* id) { *static_cast<std::thread::id*>(id) = std::this_thread::get_id(); };
    CHECK_EQ(infinirtLaunchHostFunc(stream, function, &called), infinirtSuccess);
    CHECK_EQ(after.launch(kLong, stream), infinirtSuccess);
    CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
    CHECK(called != std::thread::id() && called != std::this_thread::get_id());
    CHECK(!before.any(std::thread::id()) && !after.any(std::thread::id()));
  }
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

// Every thread waits for streams of its own and for one that all of them use.
TEST(many_threads_that_wait_and_help_keep_the_order) {
  static std::atomic<long> sum;
  sum = 0;
  const auto add = [](const infinirtXBlock*, void** args) -> infinirtError_t {
    auto* cell = *static_cast<long**>(args[0]);
    const long seen = *cell;  // whoever runs the stream is alone, and sees what came before
    sum.fetch_add(1, std::memory_order_relaxed);
    *cell = seen + 1;
    return infinirtSuccess;
  };
  static infinirtError_t (*const kernel)(const infinirtXBlock*, void**) = add;
  const size_t sizes[] = {sizeof(void*)};
  const infinirtXKernelInfo info{"add", kernel, sizes, 1, 0};
  REQUIRE(infinirtXRegisterKernel(&info) == infinirtSuccess);
  infinirtStream_t shared;
  REQUIRE(infinirtStreamCreateWithFlags(&shared, infinirtStreamNonBlocking) == infinirtSuccess);
  static long shared_cell;
  shared_cell = 0;
  constexpr int kThreads = 4, kRounds = 300;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      infinirtStream_t own;
      REQUIRE(infinirtStreamCreateWithFlags(&own, infinirtStreamNonBlocking) == infinirtSuccess);
      long cell = 0, *own_place = &cell, *shared_place = &shared_cell;
      void *own_args[] = {&own_place}, *shared_args[] = {&shared_place};
      for (int i = 1; i <= kRounds; ++i) {
        const auto* function = reinterpret_cast<const void*>(kernel);
        CHECK_EQ(infinirtXLaunchComputation(function, {1, 1, 1}, own_args, kLong, own), infinirtSuccess);
        CHECK_EQ(infinirtXLaunchComputation(function, {1, 1, 1}, shared_args, kLong, shared), infinirtSuccess);
        CHECK_EQ(infinirtStreamSynchronize(i % 2 ? own : shared), infinirtSuccess);
        if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        if (i % 2) CHECK_EQ(cell, i);
      }
      CHECK_EQ(infinirtStreamSynchronize(own), infinirtSuccess);
      CHECK_EQ(cell, kRounds);
      CHECK_EQ(infinirtStreamDestroy(own), infinirtSuccess);
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(infinirtStreamSynchronize(shared), infinirtSuccess);
  CHECK_EQ(shared_cell, kThreads * kRounds);
  CHECK_EQ(sum.load(), 2 * kThreads * kRounds);
  CHECK_EQ(infinirtStreamDestroy(shared), infinirtSuccess);
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
