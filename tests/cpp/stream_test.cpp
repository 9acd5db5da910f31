// Streams, events and the legacy stream's ordering, through the public API on the CPU device.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "gate.h"
#include "infinirt.h"
#include "infinirt_ext.h"

namespace {

#define OK(call) CHECK_EQ(call, infinirtSuccess)

void append(void* slot) {
  auto* pair = static_cast<std::pair<std::vector<int>*, int>*>(slot);
  pair->first->push_back(pair->second);
}

void increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

infinirtStream_t make_stream(unsigned flags = infinirtStreamDefault) {
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, flags));
  return stream;
}

infinirtEvent_t make_event(unsigned flags = infinirtEventDefault) {
  infinirtEvent_t event = nullptr;
  OK(infinirtEventCreateWithFlags(&event, flags));
  return event;
}

std::string message() { return infinirtXGetLastErrorMessage(); }

}  // namespace

TEST(work_of_a_stream_runs_in_order) {
  infinirtStream_t stream = make_stream();
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
  infinirtStream_t stream = make_stream();
  Gate gate;
  OK(gate.hold(stream));
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
  CHECK_EQ(infinirtPeekAtLastError(), infinirtSuccess);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamQuery(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_blocked_host_function_does_not_hold_other_streams) {
  std::vector<infinirtStream_t> blocked;
  std::vector<Gate> gates(8);
  for (auto& gate : gates) {
    blocked.push_back(make_stream(infinirtStreamNonBlocking));
    OK(gate.hold(blocked.back()));
  }
  infinirtStream_t free_stream = make_stream(infinirtStreamNonBlocking);
  std::atomic<int> ran{0};
  OK(infinirtLaunchHostFunc(free_stream, increment, &ran));
  OK(infinirtStreamSynchronize(free_stream));
  CHECK_EQ(ran.load(), 1);
  for (auto& gate : gates) gate.open();
  OK(infinirtDeviceSynchronize());
  for (auto stream : blocked) OK(infinirtStreamDestroy(stream));
  OK(infinirtStreamDestroy(free_stream));
}

TEST(destroying_a_busy_stream_returns_at_once_and_its_work_completes) {
  infinirtStream_t stream = make_stream();
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

TEST(an_event_captures_the_stream_at_the_time_of_the_record) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event(infinirtEventDisableTiming);
  Gate first, second;
  OK(first.hold(stream));
  OK(infinirtEventRecord(event, stream));
  OK(second.hold(stream));
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  first.open();
  OK(infinirtEventSynchronize(event));
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorNotReady);
  second.open();
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(an_event_never_recorded_is_complete_and_waiting_on_it_is_nothing) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event();
  OK(infinirtEventQuery(event));
  OK(infinirtEventSynchronize(event));
  OK(infinirtStreamWaitEvent(stream, event, 0));
  OK(infinirtStreamQuery(stream));
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_wait_keeps_the_record_it_saw) {
  infinirtStream_t producer = make_stream(), consumer = make_stream();
  infinirtEvent_t event = make_event(infinirtEventDisableTiming);
  Gate first, second;
  std::atomic<int> ran{0};
  OK(first.hold(producer));
  OK(infinirtEventRecord(event, producer));
  OK(infinirtStreamWaitEvent(consumer, event, 0));
  OK(infinirtLaunchHostFunc(consumer, increment, &ran));
  OK(second.hold(producer));
  OK(infinirtEventRecord(event, producer));  // later record: must not delay the wait above
  first.open();
  OK(infinirtStreamSynchronize(consumer));
  CHECK_EQ(ran.load(), 1);
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  second.open();
  OK(infinirtStreamSynchronize(producer));
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(producer));
  OK(infinirtStreamDestroy(consumer));
}

TEST(destroying_a_pending_event_does_not_block_and_keeps_the_wait) {
  infinirtStream_t producer = make_stream(), consumer = make_stream();
  infinirtEvent_t event = make_event();
  Gate gate;
  std::atomic<int> ran{0};
  OK(gate.hold(producer));
  OK(infinirtEventRecord(event, producer));
  OK(infinirtStreamWaitEvent(consumer, event, 0));
  OK(infinirtEventDestroy(event));
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorInvalidResourceHandle);
  OK(infinirtLaunchHostFunc(consumer, increment, &ran));
  CHECK_EQ(infinirtStreamQuery(consumer), infinirtErrorNotReady);
  gate.open();
  OK(infinirtStreamSynchronize(consumer));
  CHECK_EQ(ran.load(), 1);
  OK(infinirtStreamDestroy(producer));
  OK(infinirtStreamDestroy(consumer));
}

TEST(elapsed_time_between_events) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t start = make_event(), end = make_event(), untimed = make_event(infinirtEventDisableTiming);
  float ms = -1;
  CHECK_EQ(infinirtEventElapsedTime(&ms, start, end), infinirtErrorInvalidResourceHandle);
  OK(infinirtEventRecord(start, stream));
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtEventRecord(end, stream));
  CHECK_EQ(infinirtEventElapsedTime(&ms, start, end), infinirtErrorNotReady);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate.open();
  OK(infinirtEventSynchronize(end));
  OK(infinirtEventElapsedTime(&ms, start, end));
  CHECK_GE(ms, 4.5f);
  OK(infinirtEventElapsedTime(&ms, end, start));
  CHECK_LT(ms, 0.0f);
  CHECK_EQ(infinirtEventElapsedTime(&ms, start, untimed), infinirtErrorInvalidResourceHandle);
  CHECK(message().find("infinirtEventDisableTiming") != std::string::npos);
  CHECK_EQ(infinirtEventElapsedTime(nullptr, start, end), infinirtErrorInvalidValue);
  for (auto event : {start, end, untimed}) OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(the_legacy_stream_waits_for_blocking_streams_and_they_for_it) {
  infinirtStream_t blocking = make_stream(), exempt = make_stream(infinirtStreamNonBlocking);
  Gate gate;
  std::atomic<int> legacy_ran{0}, after_ran{0}, exempt_ran{0};
  OK(gate.hold(blocking));
  OK(infinirtLaunchHostFunc(nullptr, increment, &legacy_ran));   // behind `blocking`
  infinirtStream_t other = make_stream();
  OK(infinirtLaunchHostFunc(other, increment, &after_ran));       // behind the legacy stream
  OK(infinirtLaunchHostFunc(exempt, increment, &exempt_ran));
  OK(infinirtStreamSynchronize(exempt));
  CHECK_EQ(exempt_ran.load(), 1);
  CHECK_EQ(legacy_ran.load(), 0);
  CHECK_EQ(after_ran.load(), 0);
  CHECK_EQ(infinirtStreamQuery(other), infinirtErrorNotReady);
  CHECK_EQ(infinirtStreamQuery(nullptr), infinirtErrorNotReady);
  gate.open();
  OK(infinirtStreamSynchronize(other));
  CHECK_EQ(legacy_ran.load(), 1);
  CHECK_EQ(after_ran.load(), 1);
  for (auto stream : {blocking, exempt, other}) OK(infinirtStreamDestroy(stream));
}

// As measured on a GPU: what is an operation of the legacy stream, however small, orders the blocking streams around it.
TEST(small_operations_of_the_legacy_stream_order_blocking_streams_too) {
  infinirtStream_t busy = make_stream(infinirtStreamDefault), later = make_stream(infinirtStreamDefault);
  infinirtEvent_t over = make_event(infinirtEventDisableTiming), event = make_event(infinirtEventDisableTiming);
  OK(infinirtEventRecord(over, later));
  OK(infinirtStreamSynchronize(later));
  const auto order = [&](auto operation) {
    void* memory = nullptr;
    OK(infinirtMallocAsync(&memory, 64, busy));
    OK(infinirtStreamSynchronize(busy));
    Gate gate;
    std::atomic<int> ran{0};
    OK(gate.hold(busy));
    gate.wait_until_entered();
    operation(memory);
    OK(infinirtLaunchHostFunc(later, increment, &ran));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const bool waits = ran.load() == 0;
    gate.open();
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(ran.load(), 1);
    return waits;
  };
  CHECK(!order([](void*) {}));
  CHECK(order([](void* memory) { OK(infinirtFreeAsync(memory, nullptr)); }));
  CHECK(order([&](void*) { OK(infinirtEventRecord(event, nullptr)); }));
  CHECK(order([&](void*) { OK(infinirtStreamWaitEvent(nullptr, over, 0)); }));
  CHECK(!order([&](void*) {
    void* more = nullptr;
    OK(infinirtMallocAsync(&more, 64, nullptr));
  }));
  for (auto each : {over, event}) OK(infinirtEventDestroy(each));
  for (auto each : {busy, later}) OK(infinirtStreamDestroy(each));
}

TEST(the_legacy_stream_is_not_done_while_a_blocking_stream_is_busy) {
  infinirtStream_t blocking = make_stream(), exempt = make_stream(infinirtStreamNonBlocking);
  Gate gate, exempt_gate;
  OK(exempt_gate.hold(exempt));
  OK(infinirtStreamQuery(nullptr));
  OK(gate.hold(blocking));
  CHECK_EQ(infinirtStreamQuery(nullptr), infinirtErrorNotReady);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
  });
  OK(infinirtStreamSynchronize(nullptr));
  OK(infinirtStreamQuery(blocking));
  CHECK_EQ(infinirtStreamQuery(exempt), infinirtErrorNotReady);
  opener.join();
  exempt_gate.open();
  OK(infinirtStreamSynchronize(exempt));
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
  infinirtStream_t other = make_stream();
  Gate other_gate;
  OK(other_gate.hold(other));
  std::atomic<int> ran{0};
  OK(infinirtLaunchHostFunc(per_thread, increment, &ran));
  OK(infinirtStreamSynchronize(per_thread));  // does not wait for other blocking streams
  CHECK_EQ(ran.load(), 1);
  other_gate.open();
  OK(infinirtStreamSynchronize(other));
  OK(infinirtStreamDestroy(other));
}

TEST(a_host_function_may_not_call_the_api) {
  infinirtStream_t stream = make_stream();
  struct Seen {
    infinirtError_t get_device, query, last;
  } seen{};
  OK(infinirtLaunchHostFunc(
      stream,
      [](void* data) {
        auto* s = static_cast<Seen*>(data);
        int device;
        s->get_device = infinirtGetDevice(&device);
        s->query = infinirtStreamQuery(nullptr);
        s->last = infinirtGetLastError();
      },
      &seen));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(seen.get_device, infinirtErrorNotPermitted);
  CHECK_EQ(seen.query, infinirtErrorNotPermitted);
  CHECK_EQ(seen.last, infinirtErrorNotPermitted);
  OK(infinirtStreamDestroy(stream));
}

TEST(destroy_of_host_function_data_runs_once_after_it) {
  infinirtStream_t stream = make_stream();
  std::atomic<int> ran{0};
  static std::atomic<int> destroyed{0};
  destroyed = 0;
  OK(infinirtXLaunchHostFunc(stream, increment, &ran,
                             [](void* d) { destroyed += *static_cast<std::atomic<int>*>(d); }));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(ran.load(), 1);
  CHECK_EQ(destroyed.load(), 1);
  CHECK_EQ(infinirtXLaunchHostFunc(reinterpret_cast<infinirtStream_t>(0x1234567), increment, &ran,
                                   [](void*) { destroyed += 10; }),
           infinirtErrorInvalidResourceHandle);
  CHECK_EQ(destroyed.load(), 11);
  OK(infinirtStreamDestroy(stream));
}

TEST(callbacks_run_in_order_with_the_stream_and_status) {
  infinirtStream_t stream = make_stream();
  struct Seen {
    infinirtStream_t stream;
    infinirtError_t status;
    int calls;
  } seen{};
  auto callback = [](infinirtStream_t s, infinirtError_t status, void* data) {
    auto* out = static_cast<Seen*>(data);
    *out = {s, status, out->calls + 1};
  };
  OK(infinirtStreamAddCallback(stream, callback, &seen, 0));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(seen.calls, 1);
  CHECK_EQ(seen.status, infinirtSuccess);
  CHECK(seen.stream == stream);
  CHECK_EQ(infinirtStreamAddCallback(stream, callback, &seen, 1), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtStreamAddCallback(stream, nullptr, &seen, 0), infinirtErrorInvalidValue);
  OK(infinirtStreamDestroy(stream));
}

TEST(bad_handles_are_errors_with_messages) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event();
  CHECK_EQ(infinirtStreamQuery(reinterpret_cast<infinirtStream_t>(event)), infinirtErrorInvalidResourceHandle);
  CHECK(message().find("belongs to an event, not to a stream") != std::string::npos);
  CHECK_EQ(infinirtEventQuery(reinterpret_cast<infinirtEvent_t>(stream)), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtEventQuery(nullptr), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtEventRecord(reinterpret_cast<infinirtEvent_t>(0x40), stream), infinirtErrorInvalidResourceHandle);
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

TEST(many_threads_share_streams_and_events) {
  constexpr int kThreads = 4, kRounds = 300;
  infinirtStream_t shared = make_stream();
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      infinirtStream_t own = make_stream(infinirtStreamNonBlocking);
      infinirtEvent_t event = make_event();
      for (int i = 0; i < kRounds; ++i) {
        OK(infinirtLaunchHostFunc(own, increment, &ran));
        OK(infinirtEventRecord(event, own));
        OK(infinirtStreamWaitEvent(shared, event, 0));
        OK(infinirtLaunchHostFunc(shared, increment, &ran));
        if (i % 50 == 0) OK(infinirtLaunchHostFunc(nullptr, increment, &ran));
        if (i % 64 == 0) OK(infinirtEventSynchronize(event));
      }
      OK(infinirtStreamDestroy(own));
      OK(infinirtEventDestroy(event));
    });
  }
  for (auto& thread : threads) thread.join();
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(ran.load(), kThreads * (2 * kRounds + kRounds / 50));
  OK(infinirtStreamDestroy(shared));
}

TEST(device_reset_drops_streams_and_events_and_the_device_works_again) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event();
  OK(infinirtDeviceReset());
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorInvalidResourceHandle);
  (void)infinirtGetLastError();
  stream = make_stream();
  std::atomic<int> ran{0};
  OK(infinirtLaunchHostFunc(stream, increment, &ran));
  OK(infinirtLaunchHostFunc(infinirtStreamPerThread, increment, &ran));
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(ran.load(), 2);
  OK(infinirtStreamDestroy(stream));
}

TEST(threads_that_end_and_a_device_that_is_reset_do_not_share_streams) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) std::thread([] { (void)infinirtStreamQuery(infinirtStreamPerThread); }).join();
    });
  }
  for (int i = 0; i < 3000; ++i) OK(infinirtDeviceReset());
  stop = true;
  for (auto& thread : threads) thread.join();
  std::vector<infinirtStream_t> streams(600);
  std::vector<unsigned long long> ids(streams.size());
  for (size_t i = 0; i < streams.size(); ++i) {
    OK(infinirtStreamCreate(&streams[i]));
    OK(infinirtStreamGetId(streams[i], &ids[i]));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    unsigned long long id = 0;
    OK(infinirtStreamGetId(streams[i], &id));
    CHECK_EQ(id, ids[i]);  // nobody else was given the same object
    OK(infinirtStreamDestroy(streams[i]));
  }
}

TEST(work_accepted_on_a_stream_that_another_thread_destroys_still_runs) {
  std::atomic<int> accepted{0}, ran{0};
  for (int round = 0; round < 300; ++round) {
    infinirtStream_t stream = make_stream(infinirtStreamNonBlocking);
    std::thread user([&] {
      for (int i = 0; i < 20; ++i) {
        const infinirtError_t error = infinirtLaunchHostFunc(stream, increment, &ran);
        if (error == infinirtSuccess)
          ++accepted;
        else
          CHECK_EQ(error, infinirtErrorInvalidResourceHandle);
      }
    });
    OK(infinirtStreamDestroy(stream));
    user.join();
  }
  (void)infinirtGetLastError();
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(ran.load(), accepted.load());
}

TEST(draining_is_bounded) {
  infinirtStream_t stream = make_stream();
  Gate gate;
  OK(gate.hold(stream));
  CHECK_EQ(infinirtXDrain(0), infinirtErrorNotReady);
  CHECK_EQ(infinirtXDrain(5), infinirtErrorNotReady);
  gate.open();
  OK(infinirtXDrain(10000));
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
