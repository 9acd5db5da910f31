// Events, through the public API on the CPU device.
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "gate.h"
#include "support.h"
#include "waiting.h"

namespace {

void increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

TEST(an_event_captures_the_stream_at_the_time_of_the_record) {
  infinirtStream_t stream = make_blocking_stream();
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
  infinirtStream_t stream = make_blocking_stream();
  infinirtEvent_t event = make_event();
  OK(infinirtEventQuery(event));
  OK(infinirtEventSynchronize(event));
  OK(infinirtStreamWaitEvent(stream, event, 0));
  OK(infinirtStreamQuery(stream));
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_wait_keeps_the_record_it_saw) {
  infinirtStream_t producer = make_blocking_stream(), consumer = make_blocking_stream();
  infinirtEvent_t event = make_event(infinirtEventDisableTiming);
  Mark mark;
  Gate first, second;
  OK(first.hold(producer));
  OK(infinirtEventRecord(event, producer));
  OK(infinirtStreamWaitEvent(consumer, event, 0));
  OK(mark.set_by(consumer));
  OK(second.hold(producer));
  OK(infinirtEventRecord(event, producer));  // later record: must not delay the wait above
  first.open();
  OK(infinirtStreamSynchronize(consumer));
  CHECK(mark.is_set());
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  second.open();
  OK(infinirtStreamSynchronize(producer));
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(producer));
  OK(infinirtStreamDestroy(consumer));
}

TEST(destroying_a_pending_event_does_not_block_and_keeps_the_wait) {
  infinirtStream_t producer = make_blocking_stream(), consumer = make_blocking_stream();
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
  infinirtStream_t stream = make_blocking_stream();
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
  CHECK(says("infinirtEventDisableTiming"));
  CHECK_EQ(infinirtEventElapsedTime(nullptr, start, end), infinirtErrorInvalidValue);
  for (auto event : {start, end, untimed}) OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_pending_event_is_not_ready_and_leaves_no_error) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event();
  Gate gate;
  (void)infinirtGetLastError();
  OK(gate.hold(stream));
  OK(infinirtEventRecord(event, stream));
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  CHECK_EQ(infinirtPeekAtLastError(), infinirtSuccess);
  gate.open();
  OK(infinirtEventSynchronize(event));
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_later_record_overwrites_and_does_not_release_who_waits_for_the_earlier) {
  infinirtStream_t busy = make_stream(), idle = make_stream(), consumer = make_stream();
  infinirtEvent_t event = make_event(infinirtEventDisableTiming);
  const auto record_wait_and_record_again = [&] {
    OK(infinirtEventRecord(event, busy));
    OK(infinirtStreamWaitEvent(consumer, event, 0));
    OK(infinirtEventRecord(event, idle));
    return infinirtEventSynchronize(event);
  };
  CHECK(returns_at_once(busy, record_wait_and_record_again));
  CHECK(waits_for_gate(busy, [&] {
    OK(record_wait_and_record_again());
    return infinirtStreamSynchronize(consumer);
  }));
  OK(infinirtEventDestroy(event));
  for (auto stream : {busy, idle, consumer}) OK(infinirtStreamDestroy(stream));
}

TEST(a_wait_outlives_its_event) {
  infinirtStream_t producer = make_stream(), consumer = make_stream();
  CHECK(waits_for_gate(producer, [&] {
    infinirtEvent_t event = make_event();
    OK(infinirtEventRecord(event, producer));
    OK(infinirtStreamWaitEvent(consumer, event, 0));
    OK(infinirtEventDestroy(event));
    return infinirtStreamSynchronize(consumer);
  }));
  for (auto stream : {producer, consumer}) OK(infinirtStreamDestroy(stream));
}

TEST(synchronising_with_an_event_waits_for_its_record) {
  infinirtStream_t stream = make_stream();
  for (unsigned flags : {unsigned{infinirtEventDefault}, unsigned{infinirtEventBlockingSync}}) {
    infinirtEvent_t event = make_event(flags);
    CHECK(waits_for_gate(stream, [&] {
      const infinirtError_t error = infinirtEventRecord(event, stream);
      return error != infinirtSuccess ? error : infinirtEventSynchronize(event);
    }));
    OK(infinirtEventDestroy(event));
  }
  OK(infinirtStreamDestroy(stream));
}

TEST(times_are_finer_than_a_microsecond) {
  infinirtStream_t stream = make_stream();
  std::vector<infinirtEvent_t> events(200);
  for (auto& event : events) {
    event = make_event();
    OK(infinirtEventRecord(event, stream));
  }
  OK(infinirtStreamSynchronize(stream));
  int between = 0;
  for (size_t i = 1; i < events.size(); ++i) {
    float ms = -1;
    OK(infinirtEventElapsedTime(&ms, events[i - 1], events[i]));
    CHECK_GE(ms, 0.0f);
    const double microseconds = double{ms} * 1000;
    between += std::abs(microseconds - std::round(microseconds)) > 0.1;  // not a whole number of them
  }
  CHECK_GT(between, 0);
  for (auto event : events) OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
