// Streams and the legacy stream's ordering, through the public API on the CPU device.
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "child.h"
#include "gate.h"
#include "support.h"
#include "waiting.h"

namespace {

void append(void* slot) {
  auto* pair = static_cast<std::pair<std::vector<int>*, int>*>(slot);
  pair->first->push_back(pair->second);
}

void increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

TEST(work_of_a_stream_runs_in_order) {
  infinirtStream_t stream = make_blocking_stream();
  std::vector<int> seen;
  std::vector<std::pair<std::vector<int>*, int>> items;
  for (int i = 0; i < 500; ++i) items.push_back({&seen, i});
  for (auto& item : items) OK(infinirtLaunchHostFunc(stream, append, &item));
  OK(infinirtStreamSynchronize(stream));
  REQUIRE(seen.size() == 500u);
  for (int i = 0; i < 500; ++i) CHECK_EQ(seen[static_cast<size_t>(i)], i);
  OK(infinirtStreamDestroy(stream));
}

TEST(query_says_not_ready_and_leaves_no_error) {
  infinirtStream_t stream = make_blocking_stream();
  Gate gate;
  OK(gate.hold(stream));
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
  CHECK_EQ(infinirtPeekAtLastError(), infinirtSuccess);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamQuery(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(destroying_a_busy_stream_returns_at_once_and_its_work_completes) {
  infinirtStream_t stream = make_blocking_stream();
  Gate gate;
  std::atomic<int> ran{0};
  OK(gate.hold(stream));
  OK(infinirtLaunchHostFunc(stream, increment, &ran));
  OK(infinirtStreamDestroy(stream));
  CHECK_EQ(ran.load(), 0);
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorInvalidResourceHandle);
  gate.open();
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(ran.load(), 1);
}

TEST(the_legacy_stream_waits_for_blocking_streams_and_they_for_it) {
  infinirtStream_t blocking = make_blocking_stream(), exempt = make_stream();
  Mark of_legacy, of_other, of_exempt;
  Gate gate;
  OK(gate.hold(blocking));
  OK(of_legacy.set_by(nullptr));  // behind `blocking`
  infinirtStream_t other = make_blocking_stream();
  OK(of_other.set_by(other));  // behind the legacy stream
  OK(of_exempt.set_by(exempt));
  OK(infinirtStreamSynchronize(exempt));
  CHECK(of_exempt.is_set());
  CHECK(!of_legacy.is_set());
  CHECK(!of_other.is_set());
  CHECK_EQ(infinirtStreamQuery(other), infinirtErrorNotReady);
  CHECK_EQ(infinirtStreamQuery(nullptr), infinirtErrorNotReady);
  gate.open();
  OK(infinirtStreamSynchronize(other));
  CHECK(of_legacy.is_set());
  CHECK(of_other.is_set());
  for (auto stream : {blocking, exempt, other}) OK(infinirtStreamDestroy(stream));
}

// As measured on a GPU: what is an operation of the legacy stream, however small, orders the blocking streams around it.
TEST(small_operations_of_the_legacy_stream_order_blocking_streams_too) {
  infinirtStream_t busy = make_stream(infinirtStreamDefault), later = make_stream(infinirtStreamDefault);
  infinirtEvent_t over = make_event(infinirtEventDisableTiming), event = make_event(infinirtEventDisableTiming);
  OK(infinirtEventRecord(over, later));
  OK(infinirtStreamSynchronize(later));
  void* target = nullptr;
  OK(infinirtMalloc(&target, 64));
  // Whether work of the later stream runs while the other is held: much time to show it, or little to refute it.
  const auto runs_within = [&](std::chrono::milliseconds patience, auto operation) {
    void* memory = nullptr;
    OK(infinirtMallocAsync(&memory, 64, busy));
    OK(infinirtStreamSynchronize(busy));
    Gate gate;
    OK(gate.hold(busy));
    gate.wait_until_entered();
    operation(memory);
    OK(infinirtMemsetAsync(target, 1, 64, later));
    const auto end = std::chrono::steady_clock::now() + patience;
    bool ran = false;
    while (!ran && std::chrono::steady_clock::now() < end) ran = infinirtStreamQuery(later) == infinirtSuccess;
    gate.open();
    OK(infinirtDeviceSynchronize());
    OK(infinirtStreamQuery(later));
    return ran;
  };
  const auto overtakes = [&](auto operation) { return runs_within(std::chrono::seconds(10), operation); };
  const auto waits = [&](auto operation) { return !runs_within(std::chrono::milliseconds(20), operation); };
  CHECK(overtakes([](void*) {}));
  CHECK(waits([](void* memory) { OK(infinirtFreeAsync(memory, nullptr)); }));
  CHECK(waits([&](void*) { OK(infinirtEventRecord(event, nullptr)); }));
  CHECK(waits([&](void*) { OK(infinirtStreamWaitEvent(nullptr, over, 0)); }));
  CHECK(overtakes([&](void*) {
    void* more = nullptr;
    OK(infinirtMallocAsync(&more, 64, nullptr));
  }));
  OK(infinirtFree(target));
  for (auto each : {over, event}) OK(infinirtEventDestroy(each));
  for (auto each : {busy, later}) OK(infinirtStreamDestroy(each));
}

TEST(the_legacy_stream_is_not_done_while_a_blocking_stream_is_busy) {
  infinirtStream_t blocking = make_blocking_stream(), exempt = make_stream();
  {
    Gate gate;
    OK(gate.hold(exempt));
    OK(infinirtStreamQuery(nullptr));
    OK(infinirtStreamSynchronize(nullptr));
    CHECK_EQ(infinirtStreamQuery(exempt), infinirtErrorNotReady);
    gate.open();
    OK(infinirtStreamSynchronize(exempt));
  }
  Gate gate;
  OK(gate.hold(blocking));
  CHECK_EQ(infinirtStreamQuery(nullptr), infinirtErrorNotReady);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
  });
  OK(infinirtStreamSynchronize(nullptr));
  OK(infinirtStreamQuery(blocking));
  opener.join();
  OK(infinirtStreamDestroy(blocking));
  OK(infinirtStreamDestroy(exempt));
}

TEST(the_per_thread_stream_is_blocking_and_one_per_thread) {
  infinirtStream_t per_thread = infinirtStreamPerThread;
  unsigned long long mine = 0, theirs = 0, legacy = 0;
  OK(infinirtStreamGetId(per_thread, &mine));
  OK(infinirtStreamGetId(nullptr, &legacy));
  std::thread([&] { OK(infinirtStreamGetId(infinirtStreamPerThread, &theirs)); }).join();
  CHECK_NE(mine, theirs);
  CHECK_NE(mine, legacy);
  Gate gate;
  OK(gate.hold(per_thread));
  CHECK_EQ(infinirtStreamQuery(nullptr), infinirtErrorNotReady);
  gate.open();
  OK(infinirtStreamSynchronize(per_thread));
  infinirtStream_t other = make_blocking_stream();
  Mark mark;
  Gate other_gate;
  OK(other_gate.hold(other));
  OK(mark.set_by(per_thread));
  OK(infinirtStreamSynchronize(per_thread));  // does not wait for other blocking streams
  CHECK(mark.is_set());
  other_gate.open();
  OK(infinirtStreamSynchronize(other));
  OK(infinirtStreamDestroy(other));
}

TEST(bad_handles_are_errors_with_messages) {
  infinirtStream_t stream = make_blocking_stream();
  infinirtEvent_t event = make_event();
  if (unless_native(kInventedHandle)) {
    CHECK_EQ(infinirtStreamQuery(reinterpret_cast<infinirtStream_t>(event)), infinirtErrorInvalidResourceHandle);
    CHECK(says("belongs to an event, not to a stream"));
    CHECK_EQ(infinirtEventQuery(reinterpret_cast<infinirtEvent_t>(stream)), infinirtErrorInvalidResourceHandle);
    CHECK_EQ(infinirtEventRecord(reinterpret_cast<infinirtEvent_t>(0x40), stream), infinirtErrorInvalidResourceHandle);
  }
  CHECK_EQ(infinirtEventQuery(nullptr), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtStreamDestroy(nullptr), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtGetLastError(), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtGetLastError(), infinirtSuccess);
  OK(infinirtStreamDestroy(stream));
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtErrorInvalidResourceHandle);
  CHECK(message().find("infinirtStreamDestroy") == 0);
  CHECK(message().find("destroyed") != std::string::npos);
  OK(infinirtEventDestroy(event));
  CHECK_EQ(infinirtEventDestroy(event), infinirtErrorInvalidResourceHandle);
  (void)infinirtGetLastError();
  CHECK_EQ(infinirtStreamCreate(nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtStreamCreateWithFlags(&stream, 77), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtEventCreateWithFlags(&event, 0x80), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtEventCreateWithFlags(&event, infinirtEventInterprocess), infinirtErrorInvalidValue);
  (void)infinirtGetLastError();
}

TEST(priorities_are_clamped_and_reported) {
  int least = -100, greatest = 100;
  OK(infinirtDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK_LT(greatest, least);
  infinirtStream_t stream = nullptr;
  int priority = 0;
  OK(infinirtStreamCreateWithPriority(&stream, infinirtStreamNonBlocking, -1000));
  OK(infinirtStreamGetPriority(stream, &priority));
  CHECK_EQ(priority, greatest);
  OK(infinirtStreamDestroy(stream));
  OK(infinirtStreamCreateWithPriority(&stream, 0, 1000));
  OK(infinirtStreamGetPriority(stream, &priority));
  CHECK_EQ(priority, least);
  OK(infinirtStreamDestroy(stream));
}

TEST(device_reset_drops_streams_and_events_and_the_device_works_again) {
  infinirtStream_t stream = make_blocking_stream();
  infinirtEvent_t event = make_event();
  OK(infinirtDeviceReset());
  if (unless_native(kGoneHandle)) {
    CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorInvalidResourceHandle);
    CHECK_EQ(infinirtEventQuery(event), infinirtErrorInvalidResourceHandle);
  }
  (void)infinirtGetLastError();
  stream = make_blocking_stream();
  std::atomic<int> ran{0};
  OK(infinirtLaunchHostFunc(stream, increment, &ran));
  OK(infinirtLaunchHostFunc(infinirtStreamPerThread, increment, &ran));
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(ran.load(), 2);
  OK(infinirtStreamDestroy(stream));
}

TEST(query_says_not_ready_while_the_last_task_runs) {
  infinirtStream_t stream = make_stream();
  Gate gate;
  OK(gate.hold(stream));
  gate.wait_until_entered();  // nothing is queued any more
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(the_legacy_stream_has_two_names) {
  unsigned long long ids[2] = {};
  OK(infinirtStreamGetId(nullptr, &ids[0]));
  OK(infinirtStreamGetId(infinirtStreamLegacy, &ids[1]));
  CHECK_EQ(ids[0], ids[1]);
}

// Given time, work that did not wait would have run.
TEST(the_legacy_stream_and_blocking_streams_wait_for_each_other_however_long) {
  infinirtStream_t blocking = make_blocking_stream(), exempt = make_stream();
  Mark marks[12];
  int ran = 0;
  const auto runs_on = [&](infinirtStream_t stream) {
    return [mark = &marks[ran++], stream] {
      infinirtEvent_t event = make_event(infinirtEventDisableTiming);
      OK(mark->set_by(stream));
      OK(infinirtEventRecord(event, stream));
      const infinirtError_t error = infinirtEventSynchronize(event);
      OK(infinirtEventDestroy(event));
      return error;
    };
  };
  for (infinirtStream_t legacy : {infinirtStream_t{nullptr}, infinirtStreamLegacy}) {
    CHECK(waits_for_gate(blocking, runs_on(legacy)));
    CHECK(returns_at_once(exempt, runs_on(legacy)));
    CHECK(waits_for_gate(legacy, runs_on(blocking)));
    CHECK(waits_for_gate(legacy, runs_on(infinirtStreamPerThread)));
    CHECK(returns_at_once(legacy, runs_on(exempt)));
  }
  CHECK(returns_at_once(blocking, runs_on(infinirtStreamPerThread)));
  CHECK(waits_for_gate(infinirtStreamPerThread, runs_on(nullptr)));
  CHECK_EQ(ran, 12);
  for (const Mark& mark : marks) CHECK(mark.is_set());
  for (auto stream : {blocking, exempt}) OK(infinirtStreamDestroy(stream));
}

TEST(ids_are_never_reused_and_old_handles_stay_dead) {
  const bool handles_too = unless_native("the real library gives out addresses again");
  std::set<unsigned long long> ids;
  std::set<infinirtStream_t> handles;
  infinirtStream_t first = make_stream();
  OK(infinirtStreamDestroy(first));
  constexpr size_t kStreams = 1000;
  for (size_t i = 0; i < kStreams; ++i) {
    infinirtStream_t stream = make_stream();
    unsigned long long id = 0;
    OK(infinirtStreamGetId(stream, &id));
    ids.insert(id);
    handles.insert(stream);
    OK(infinirtStreamDestroy(stream));
    if (handles_too) FAILS(infinirtStreamQuery(first), infinirtErrorInvalidResourceHandle);
  }
  CHECK_EQ(ids.size(), kStreams);
  if (handles_too) CHECK_EQ(handles.size(), kStreams);
}

// One worker, held by a kernel while a stream of each priority gets work; kernels, because host functions give it up.
CHILD(urgent_first) {
  static std::atomic<bool> entered{false}, open{false};
  static std::vector<int> order;
  const auto hold = [](const infinirtXBlock*, void**) -> infinirtError_t {
    entered = true;
    while (!open) std::this_thread::yield();
    return infinirtSuccess;
  };
  const auto note = [](const infinirtXBlock*, void** args) -> infinirtError_t {
    order.push_back(*static_cast<int*>(args[0]));
    return infinirtSuccess;
  };
  const size_t size = sizeof(int);
  const infinirtXKernelInfo kernels[] = {{"hold", hold, nullptr, 0, 0}, {"note", note, &size, 1, 0}};
  for (const auto& kernel : kernels) OK(infinirtXRegisterKernel(&kernel));
  const auto launch = [&](int which, void** args, infinirtStream_t stream) {
    return infinirtLaunchKernel(reinterpret_cast<const void*>(kernels[which].function), {1, 1, 1}, {1, 1, 1}, args, 0,
                                stream);
  };
  OK(launch(0, nullptr, make_stream()));
  while (!entered) std::this_thread::yield();
  int least = 0, greatest = 0;
  OK(infinirtDeviceGetStreamPriorityRange(&least, &greatest));
  for (int priority : {least, greatest, greatest + 1}) {
    infinirtStream_t stream = nullptr;
    OK(infinirtStreamCreateWithPriority(&stream, infinirtStreamNonBlocking, priority));
    void* args[] = {&priority};
    OK(launch(1, args, stream));
  }
  open = true;
  OK(infinirtDeviceSynchronize());
  CHECK(order == (std::vector<int>{greatest, greatest + 1, least}));
}
TEST(a_lower_number_is_a_higher_priority) {
  skip_on_native(kCpuKernel);
  CHECK_EQ(child::run("urgent_first", {"INFINIRT_CPU_THREADS=1", "INFINIRT_CPU_SCHEDULE=async"}), 0);
}

TEST(draining_is_bounded) {
  skip_on_native(kTestingAid);
  infinirtStream_t stream = make_blocking_stream();
  Gate gate;
  OK(gate.hold(stream));
  CHECK_EQ(infinirtXDrain(0), infinirtErrorNotReady);
  CHECK_EQ(infinirtXDrain(5), infinirtErrorNotReady);
  gate.open();
  OK(infinirtXDrain(10000));
  OK(infinirtStreamDestroy(stream));
}

CHILD_MAIN()
