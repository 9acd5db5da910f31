// What a stream capture bars, what breaks it, and with which codes.
#include <thread>
#include <vector>

#include "capture_support.h"

TEST(a_barred_call_invalidates_and_is_named) {
  infinirtStream_t stream = make_stream();
  for (auto mode : {infinirtStreamCaptureModeGlobal, infinirtStreamCaptureModeThreadLocal}) {
    OK(infinirtStreamBeginCapture(stream, mode));
    void* pointer = nullptr;
    CHECK_EQ(infinirtMalloc(&pointer, 64), infinirtErrorStreamCaptureUnsupported);
    CHECK_EQ(status_of(stream), infinirtStreamCaptureStatusInvalidated);
    int dummy = 0;
    CHECK_EQ(infinirtLaunchHostFunc(stream, [](void*) {}, &dummy), infinirtErrorStreamCaptureInvalidated);
    end_capture(stream, infinirtErrorStreamCaptureInvalidated);
    CHECK(names("infinirtMalloc"));
    CHECK_EQ(status_of(stream), infinirtStreamCaptureStatusNone);
    OK(infinirtStreamSynchronize(stream));
  }
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  void* pointer = nullptr;
  OK(infinirtMalloc(&pointer, 64));
  OK(infinirtFree(pointer));
  OK(infinirtGraphDestroy(end_capture(stream)));
  OK(infinirtStreamDestroy(stream));
}

TEST(another_thread_is_barred_by_a_global_capture_only) {
  infinirtStream_t stream = make_stream();
  const auto malloc_elsewhere = [](infinirtStreamCaptureMode thread_mode) {
    infinirtError_t result = infinirtSuccess;
    std::thread([&] {
      OK(infinirtThreadExchangeStreamCaptureMode(&thread_mode));
      void* pointer = nullptr;
      result = infinirtMalloc(&pointer, 64);
      if (pointer) OK(infinirtFree(pointer));
    }).join();
    return result;
  };
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
  OK(malloc_elsewhere(infinirtStreamCaptureModeGlobal));
  OK(infinirtGraphDestroy(end_capture(stream)));
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  OK(malloc_elsewhere(infinirtStreamCaptureModeThreadLocal));
  OK(malloc_elsewhere(infinirtStreamCaptureModeRelaxed));
  CHECK_EQ(malloc_elsewhere(infinirtStreamCaptureModeGlobal), infinirtErrorStreamCaptureUnsupported);
  end_capture(stream, infinirtErrorStreamCaptureInvalidated);
  // The capturing thread itself, having asked for relaxed interaction, may call everything.
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  enum infinirtStreamCaptureMode mode = infinirtStreamCaptureModeRelaxed;
  OK(infinirtThreadExchangeStreamCaptureMode(&mode));
  CHECK_EQ(mode, infinirtStreamCaptureModeGlobal);
  void* pointer = nullptr;
  OK(infinirtMalloc(&pointer, 64));
  OK(infinirtThreadExchangeStreamCaptureMode(&mode));
  OK(infinirtGraphDestroy(end_capture(stream)));
  OK(infinirtFree(pointer));
  OK(infinirtStreamDestroy(stream));
}

TEST(synchronising_and_querying_are_barred_in_every_mode) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event();
  const auto breaks = [&](auto&& call, infinirtError_t expected, const char* name) {
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
    OK(infinirtEventRecord(event, stream));
    CHECK_EQ(call(), expected);
    CHECK_EQ(status_of(stream), infinirtStreamCaptureStatusInvalidated);
    end_capture(stream, infinirtErrorStreamCaptureInvalidated);
    CHECK(names(name));
  };
  breaks([&] { return infinirtStreamSynchronize(stream); }, infinirtErrorStreamCaptureUnsupported,
         "infinirtStreamSynchronize");
  breaks([&] { return infinirtStreamQuery(stream); }, infinirtErrorStreamCaptureUnsupported, "infinirtStreamQuery");
  breaks([&] { return infinirtDeviceSynchronize(); }, infinirtErrorStreamCaptureUnsupported,
         "infinirtDeviceSynchronize");
  breaks([&] { return infinirtStreamAddCallback(stream, [](infinirtStream_t, infinirtError_t, void*) {}, nullptr, 0); },
         infinirtErrorStreamCaptureUnsupported, "infinirtStreamAddCallback");
  breaks([&] { return infinirtEventSynchronize(event); }, infinirtErrorCapturedEvent, "infinirtEventSynchronize");
  breaks([&] { return infinirtEventQuery(event); }, infinirtErrorCapturedEvent, "infinirtEventQuery");
  // The event keeps its captured record until it is recorded again; the code changes with the end of the capture.
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorInvalidValue);
  OK(infinirtEventRecord(event, stream));
  OK(infinirtEventSynchronize(event));
  // Asking for the elapsed time of a captured event fails and breaks nothing; neither does destroying it.
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  OK(infinirtEventRecord(event, stream));
  float ms;
  CHECK_EQ(infinirtEventElapsedTime(&ms, event, event), infinirtErrorCapturedEvent);
  OK(infinirtEventDestroy(event));
  OK(infinirtGraphDestroy(end_capture(stream)));
  OK(infinirtStreamDestroy(stream));
}

TEST(the_legacy_stream_is_barred_while_a_blocking_stream_captures) {
  infinirtStream_t blocking = make_stream(infinirtStreamDefault), free_stream = make_stream();
  int* x = device_array(4);
  OK(infinirtStreamBeginCapture(free_stream, infinirtStreamCaptureModeRelaxed));
  OK(infinirtMemsetAsync(x, 0, 16, nullptr));
  OK(infinirtGraphDestroy(end_capture(free_stream)));
  OK(infinirtStreamBeginCapture(blocking, infinirtStreamCaptureModeRelaxed));
  CHECK_EQ(infinirtStreamQuery(nullptr), infinirtErrorStreamCaptureImplicit);
  CHECK_EQ(status_of(blocking), infinirtStreamCaptureStatusInvalidated);
  end_capture(blocking, infinirtErrorStreamCaptureInvalidated);
  OK(infinirtStreamBeginCapture(blocking, infinirtStreamCaptureModeRelaxed));
  enum infinirtStreamCaptureStatus status;
  CHECK_EQ(infinirtStreamIsCapturing(nullptr, &status), infinirtErrorStreamCaptureImplicit);
  CHECK_EQ(status_of(blocking), infinirtStreamCaptureStatusActive);
  CHECK_EQ(infinirtMemsetAsync(x, 0, 16, nullptr), infinirtErrorStreamCaptureImplicit);
  end_capture(blocking, infinirtErrorStreamCaptureInvalidated);
  CHECK(names("infinirtMemsetAsync"));
  CHECK_EQ(infinirtStreamBeginCapture(nullptr, infinirtStreamCaptureModeRelaxed),
           infinirtErrorStreamCaptureUnsupported);
  OK(infinirtStreamSynchronize(nullptr));
  OK(infinirtFree(x));
  for (auto stream : {blocking, free_stream}) OK(infinirtStreamDestroy(stream));
}

TEST(beginning_twice_and_ending_nothing_are_illegal) {
  infinirtStream_t stream = make_stream();
  infinirtGraph_t graph = nullptr;
  CHECK_EQ(infinirtStreamEndCapture(stream, &graph), infinirtErrorIllegalState);
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  CHECK_EQ(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed), infinirtErrorIllegalState);
  CHECK_EQ(status_of(stream), infinirtStreamCaptureStatusActive);
  OK(infinirtGraphDestroy(end_capture(stream)));
  CHECK_EQ(infinirtStreamBeginCapture(stream, static_cast<infinirtStreamCaptureMode>(9)), infinirtErrorInvalidValue);
  OK(infinirtStreamDestroy(stream));
}

TEST(ending_wrongly_gives_the_codes_of_cuda) {
  infinirtStream_t origin = make_stream(), forked = make_stream();
  infinirtEvent_t event = make_event();
  Diary diary(1);
  infinirtGraph_t graph = nullptr;
  const auto fork = [&](infinirtStreamCaptureMode mode = infinirtStreamCaptureModeGlobal) {
    OK(infinirtStreamBeginCapture(origin, mode));
    OK(infinirtEventRecord(event, origin));
    OK(infinirtStreamWaitEvent(forked, event, 0));
  };
  fork();
  CHECK_EQ(infinirtStreamEndCapture(forked, &graph), infinirtErrorStreamCaptureUnmatched);
  end_capture(origin, infinirtErrorStreamCaptureInvalidated);
  CHECK(names("infinirtStreamEndCapture"));
  fork();
  write_page(forked, diary, 0);
  end_capture(origin, infinirtErrorStreamCaptureUnjoined);
  CHECK_EQ(status_of(forked), infinirtStreamCaptureStatusNone);
  fork();
  OK(infinirtGraphDestroy(end_capture(origin)));  // nothing was done on the forked stream: nothing to join
  fork();
  std::thread([&] {
    infinirtGraph_t elsewhere = nullptr;
    CHECK_EQ(infinirtStreamEndCapture(origin, &elsewhere), infinirtErrorStreamCaptureWrongThread);
  }).join();
  CHECK_EQ(status_of(origin), infinirtStreamCaptureStatusNone);
  fork(infinirtStreamCaptureModeRelaxed);
  std::thread([&] { OK(infinirtGraphDestroy(end_capture(origin))); }).join();
  OK(infinirtEventDestroy(event));
  for (auto stream : {origin, forked}) OK(infinirtStreamDestroy(stream));
}

TEST(captures_are_isolated_and_do_not_merge) {
  infinirtStream_t first = make_stream(), second = make_stream(), plain = make_stream();
  infinirtEvent_t outside = make_event(), inside = make_event(), never = make_event();
  OK(infinirtEventRecord(outside, plain));
  OK(infinirtStreamBeginCapture(first, infinirtStreamCaptureModeRelaxed));
  CHECK_EQ(infinirtStreamWaitEvent(first, outside, 0), infinirtErrorStreamCaptureIsolation);
  end_capture(first, infinirtErrorStreamCaptureInvalidated);
  CHECK(names("infinirtStreamWaitEvent"));
  OK(infinirtStreamBeginCapture(first, infinirtStreamCaptureModeRelaxed));
  OK(infinirtStreamBeginCapture(second, infinirtStreamCaptureModeRelaxed));
  OK(infinirtEventRecord(inside, first));
  CHECK_EQ(infinirtStreamWaitEvent(second, inside, 0), infinirtErrorStreamCaptureMerge);
  end_capture(first, infinirtErrorStreamCaptureInvalidated);
  end_capture(second, infinirtErrorStreamCaptureInvalidated);
  // The codes for events of a capture that has ended, and for events never recorded, as measured on a real device.
  CHECK_EQ(infinirtStreamWaitEvent(plain, inside, 0), infinirtErrorInvalidValue);
  OK(infinirtStreamBeginCapture(first, infinirtStreamCaptureModeRelaxed));
  OK(infinirtStreamWaitEvent(first, never, 0));
  CHECK_EQ(infinirtStreamWaitEvent(first, inside, 0), infinirtErrorInvalidValue);
  end_capture(first, infinirtErrorStreamCaptureInvalidated);
  for (auto event : {outside, inside, never}) OK(infinirtEventDestroy(event));
  for (auto stream : {first, second, plain}) OK(infinirtStreamDestroy(stream));
}

TEST(every_use_of_the_legacy_stream_breaks_a_blocking_capture) {
  infinirtStream_t blocking = make_blocking_stream();
  infinirtEvent_t event = make_event(), recorded = make_event();
  OK(infinirtEventRecord(recorded, nullptr));
  const auto breaks = [&](auto&& call) {
    OK(infinirtStreamBeginCapture(blocking, infinirtStreamCaptureModeRelaxed));
    CHECK_EQ(call(), infinirtErrorStreamCaptureImplicit);
    CHECK_EQ(status_of(blocking), infinirtStreamCaptureStatusInvalidated);
    end_capture(blocking, infinirtErrorStreamCaptureInvalidated);
  };
  for (infinirtStream_t legacy : {infinirtStream_t{nullptr}, infinirtStreamLegacy}) {
    breaks([&] { return infinirtStreamQuery(legacy); });
    breaks([&] { return infinirtStreamSynchronize(legacy); });
    breaks([&] { return infinirtEventRecord(event, legacy); });
    breaks([&] { return infinirtStreamWaitEvent(legacy, recorded, 0); });
    breaks([&] { return infinirtLaunchHostFunc(legacy, [](void*) {}, nullptr); });
  }
  for (auto e : {event, recorded}) OK(infinirtEventDestroy(e));
  OK(infinirtStreamDestroy(blocking));
}

TEST(a_thread_that_asks_for_thread_local_is_barred_by_its_own_capture) {
  infinirtStream_t stream = make_stream();
  enum infinirtStreamCaptureMode mode = infinirtStreamCaptureModeThreadLocal;
  OK(infinirtThreadExchangeStreamCaptureMode(&mode));
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  void* pointer = nullptr;
  CHECK_EQ(infinirtMalloc(&pointer, 64), infinirtErrorStreamCaptureUnsupported);
  end_capture(stream, infinirtErrorStreamCaptureInvalidated);
  OK(infinirtThreadExchangeStreamCaptureMode(&mode));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_thread_local_capture_ends_on_its_own_thread) {
  infinirtStream_t stream = make_stream();
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
  std::thread([&] { end_capture(stream, infinirtErrorStreamCaptureWrongThread); }).join();
  CHECK_EQ(status_of(stream), infinirtStreamCaptureStatusNone);
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(the_per_thread_stream_can_capture_and_bars_the_legacy_stream) {
  Diary diary(1);
  OK(infinirtStreamBeginCapture(infinirtStreamPerThread, infinirtStreamCaptureModeRelaxed));
  write_page(infinirtStreamPerThread, diary, 0);
  OK(infinirtGraphDestroy(end_capture(infinirtStreamPerThread)));
  OK(infinirtStreamBeginCapture(infinirtStreamPerThread, infinirtStreamCaptureModeRelaxed));
  CHECK_EQ(infinirtStreamQuery(nullptr), infinirtErrorStreamCaptureImplicit);
  end_capture(infinirtStreamPerThread, infinirtErrorStreamCaptureInvalidated);
  CHECK(diary.take().empty());
}

TEST(a_relaxed_capture_lets_synchronous_copies_elsewhere_through) {
  infinirtStream_t stream = make_stream(), other = make_stream();
  int* x = device_array(4);
  std::vector<int> host(4, 5);
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  OK(infinirtMemcpy(x, host.data(), 16, infinirtMemcpyHostToDevice));
  OK(infinirtMemsetAsync(x, 0, 4, other));
  OK(infinirtStreamSynchronize(other));
  CHECK_EQ(status_of(stream), infinirtStreamCaptureStatusActive);
  OK(infinirtGraphDestroy(end_capture(stream)));
  CHECK(read_back(x, 2) == (std::vector<int>{0, 5}));
  OK(infinirtFree(x));
  for (auto s : {stream, other}) OK(infinirtStreamDestroy(s));
}

TEST_MAIN()
