// Stream capture, through the public API on the CPU device.
#include <atomic>
#include <thread>

#include "check.h"
#include "gate.h"
#include "graph_support.h"

namespace {

infinirtGraph_t end_capture(infinirtStream_t stream, infinirtError_t expected = infinirtSuccess) {
  infinirtGraph_t graph = reinterpret_cast<infinirtGraph_t>(&expected);
  CHECK_EQ(infinirtStreamEndCapture(stream, &graph), expected);
  if (expected != infinirtSuccess) CHECK(graph == nullptr);
  return graph;
}

enum infinirtStreamCaptureStatus status_of(infinirtStream_t stream) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  OK(infinirtStreamIsCapturing(stream, &status));
  return status;
}

void write_page(infinirtStream_t stream, Diary& diary, int number) {
  OK(infinirtLaunchHostFunc(stream, Diary::write, diary.page(number)));
}

void run_once(infinirtGraph_t graph) {
  infinirtGraphExec_t exec = instantiate(graph);
  infinirtStream_t stream = make_stream();
  launch_and_wait(exec, stream);
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtStreamDestroy(stream));
}

void count_up(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

TEST(captured_work_runs_when_launched_and_not_before) {
  infinirtStream_t stream = make_stream();
  int *x = device_array(16), *y = device_array(16);
  std::vector<int> out(16, -1);
  Diary diary(1);
  OK(infinirtMemset(x, 0, 64));
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  CHECK_EQ(status_of(stream), infinirtStreamCaptureStatusActive);
  OK(infinirtMemsetAsync(x, 0x11, 64, stream));
  OK(infinirtMemcpyAsync(y, x, 64, infinirtMemcpyDeviceToDevice, stream));
  write_page(stream, diary, 0);
  OK(infinirtMemcpyAsync(out.data(), y, 64, infinirtMemcpyDeviceToHost, stream));
  infinirtGraph_t graph = end_capture(stream);
  REQUIRE(graph != nullptr);
  CHECK_EQ(status_of(stream), infinirtStreamCaptureStatusNone);
  CHECK_EQ(read_back(x, 1)[0], 0);
  CHECK(diary.take().empty());
  size_t count = 0;
  OK(infinirtGraphGetEdges(graph, nullptr, nullptr, &count));
  CHECK_EQ(count, 3u);
  run_once(graph);
  CHECK_EQ(out[15], 0x11111111);
  CHECK_EQ(diary.take().size(), 1u);
  OK(infinirtGraphDestroy(graph));
  OK(infinirtFree(x));
  OK(infinirtFree(y));
  OK(infinirtStreamDestroy(stream));
}

TEST(events_draw_other_streams_in_and_join_them) {
  Diary diary(4);
  infinirtStream_t origin = make_stream(), forked = make_stream();
  infinirtEvent_t fork = make_event(), join = make_event();
  OK(infinirtStreamBeginCapture(origin, infinirtStreamCaptureModeGlobal));
  write_page(origin, diary, 0);
  OK(infinirtEventRecord(fork, origin));
  OK(infinirtStreamWaitEvent(forked, fork, 0));
  CHECK_EQ(status_of(forked), infinirtStreamCaptureStatusActive);
  unsigned long long ids[2];
  infinirtGraph_t graphs[2];
  enum infinirtStreamCaptureStatus status;
  const infinirtGraphNode_t* dependencies;
  size_t count;
  OK(infinirtStreamGetCaptureInfo(origin, &status, &ids[0], &graphs[0], &dependencies, &count));
  OK(infinirtStreamGetCaptureInfo(forked, &status, &ids[1], &graphs[1], nullptr, nullptr));
  CHECK_EQ(ids[0], ids[1]);
  CHECK(graphs[0] == graphs[1]);
  CHECK_EQ(count, 1u);
  CHECK_EQ(infinirtGraphDestroy(graphs[0]), infinirtErrorInvalidValue);
  write_page(forked, diary, 1);
  write_page(origin, diary, 2);
  OK(infinirtEventRecord(join, forked));
  OK(infinirtStreamWaitEvent(origin, join, 0));
  write_page(origin, diary, 3);
  infinirtGraph_t graph = end_capture(origin);
  REQUIRE(graph != nullptr);
  CHECK_EQ(status_of(forked), infinirtStreamCaptureStatusNone);
  OK(infinirtGraphGetEdges(graph, nullptr, nullptr, &count));
  CHECK_EQ(count, 4u);
  for (int i = 0; i < 20; ++i) {
    run_once(graph);
    const auto seen = diary.take();
    REQUIRE(seen.size() == 4u);
    CHECK_EQ(seen.front(), 0);
    CHECK_EQ(seen.back(), 3);
  }
  OK(infinirtGraphDestroy(graph));
  for (auto event : {fork, join}) OK(infinirtEventDestroy(event));
  for (auto stream : {origin, forked}) OK(infinirtStreamDestroy(stream));
}

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
    CHECK(says("infinirtMalloc"));
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
    CHECK(says(name));
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
  // The event keeps its captured record until it is recorded again.
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorCapturedEvent);
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
  CHECK(says("infinirtMemsetAsync"));
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
  CHECK(says("infinirtStreamEndCapture"));
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
  CHECK(says("infinirtStreamWaitEvent"));
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

TEST(other_streams_work_on_while_one_captures) {
  infinirtStream_t capturing = make_stream(), other = make_stream();
  Diary diary(2);
  OK(infinirtStreamBeginCapture(capturing, infinirtStreamCaptureModeGlobal));
  write_page(capturing, diary, 0);
  write_page(other, diary, 1);
  OK(infinirtStreamSynchronize(other));
  CHECK(diary.take() == std::vector<int>{1});
  OK(infinirtGraphDestroy(end_capture(capturing)));
  CHECK(diary.take().empty());
  for (auto stream : {capturing, other}) OK(infinirtStreamDestroy(stream));
}

TEST(external_event_flags_make_event_nodes) {
  infinirtStream_t stream = make_stream(), other = make_stream();
  infinirtEvent_t before = make_event(), after = make_event();
  Diary diary(1);
  CHECK_EQ(infinirtEventRecordWithFlags(after, stream, infinirtEventRecordExternal), infinirtErrorIllegalState);
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  OK(infinirtStreamWaitEvent(stream, before, infinirtEventWaitExternal));
  write_page(stream, diary, 0);
  OK(infinirtEventRecordWithFlags(after, stream, infinirtEventRecordExternal));
  infinirtGraph_t graph = end_capture(stream);
  infinirtGraphNode_t nodes[3];
  size_t count = 3;
  OK(infinirtGraphGetNodes(graph, nodes, &count));
  REQUIRE(count == 3u);
  infinirtEvent_t event = nullptr;
  OK(infinirtGraphEventWaitNodeGetEvent(nodes[0], &event));
  CHECK(event == before);
  OK(infinirtGraphEventRecordNodeGetEvent(nodes[2], &event));
  CHECK(event == after);
  infinirtGraphExec_t exec = instantiate(graph);
  Gate gate;
  OK(gate.hold(other));
  OK(infinirtEventRecord(before, other));
  OK(infinirtGraphLaunch(exec, stream));
  CHECK_EQ(infinirtEventQuery(after), infinirtErrorNotReady);
  gate.open();
  OK(infinirtEventSynchronize(after));
  CHECK_EQ(diary.take().size(), 1u);
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(graph));
  for (auto e : {before, after}) OK(infinirtEventDestroy(e));
  for (auto s : {stream, other}) OK(infinirtStreamDestroy(s));
}

TEST(capture_into_a_graph_and_by_dependencies) {
  Diary diary(4);
  infinirtGraph_t graph = make_graph();
  auto first = add_host(graph, diary, 0);
  infinirtStream_t stream = make_stream();
  OK(infinirtStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, infinirtStreamCaptureModeGlobal));
  write_page(stream, diary, 1);
  OK(infinirtStreamUpdateCaptureDependencies(stream, &first, 1, infinirtStreamSetCaptureDependencies));
  write_page(stream, diary, 2);
  infinirtGraph_t same = end_capture(stream);
  CHECK(same == graph);
  size_t count = 0;
  OK(infinirtGraphNodeGetDependentNodes(first, nullptr, &count));
  CHECK_EQ(count, 2u);
  run_once(graph);
  const auto seen = diary.take();
  REQUIRE(seen.size() == 3u);
  CHECK_EQ(seen[0], 0);
  CHECK_EQ(infinirtStreamUpdateCaptureDependencies(stream, &first, 1, 0), infinirtErrorIllegalState);
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

TEST(launching_in_a_capture_adds_a_child_graph) {
  Diary diary(3);
  infinirtGraph_t inner = make_graph();
  auto node = add_host(inner, diary, 1);
  infinirtGraphExec_t exec = instantiate(inner);
  infinirtHostNodeParams changed = diary.node(2);
  OK(infinirtGraphExecHostNodeSetParams(exec, node, &changed));
  infinirtStream_t stream = make_stream();
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  write_page(stream, diary, 0);
  OK(infinirtGraphLaunch(exec, stream));
  infinirtGraph_t graph = end_capture(stream);
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(inner));
  run_once(graph);
  CHECK(diary.take() == (std::vector<int>{0, 2}));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

TEST(the_graph_owns_captured_host_data) {
  std::atomic<int> destroyed{0}, ran{0};
  struct Data {
    std::atomic<int>*ran, *destroyed;
    static void run(void* data) { ++*static_cast<Data*>(data)->ran; }
    static void destroy(void* data) { ++*static_cast<Data*>(data)->destroyed; }
  } data = {&ran, &destroyed};
  infinirtStream_t stream = make_stream();
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  OK(infinirtXLaunchHostFunc(stream, Data::run, &data, Data::destroy));
  infinirtGraph_t graph = end_capture(stream);
  infinirtGraphExec_t exec = instantiate(graph);
  OK(infinirtGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) OK(infinirtGraphLaunch(exec, stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(ran.load(), 3);
  CHECK_EQ(destroyed.load(), 0);
  OK(infinirtGraphExecDestroy(exec));
  CHECK_EQ(destroyed.load(), 1);
  // A capture that fails gives it back as well.
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  OK(infinirtXLaunchHostFunc(stream, Data::run, &data, Data::destroy));
  CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorStreamCaptureUnsupported);
  CHECK_EQ(infinirtXLaunchHostFunc(stream, Data::run, &data, Data::destroy), infinirtErrorStreamCaptureInvalidated);
  CHECK_EQ(destroyed.load(), 2);
  end_capture(stream, infinirtErrorStreamCaptureInvalidated);
  CHECK_EQ(destroyed.load(), 3);
  OK(infinirtStreamDestroy(stream));
}

TEST(destroying_streams_of_a_capture) {
  std::atomic<int> counter{0};
  infinirtStream_t origin = make_stream(), forked = make_stream();
  infinirtEvent_t event = make_event();
  OK(infinirtStreamBeginCapture(origin, infinirtStreamCaptureModeGlobal));
  OK(infinirtEventRecord(event, origin));
  OK(infinirtStreamWaitEvent(forked, event, 0));
  OK(infinirtLaunchHostFunc(forked, count_up, &counter));
  OK(infinirtStreamDestroy(forked));
  end_capture(origin, infinirtErrorStreamCaptureUnjoined);
  CHECK(says("destroyed"));
  OK(infinirtStreamBeginCapture(origin, infinirtStreamCaptureModeGlobal));
  OK(infinirtStreamDestroy(origin));
  void* pointer = nullptr;
  OK(infinirtMalloc(&pointer, 16));  // no capture is left to bar it
  OK(infinirtFree(pointer));
  OK(infinirtEventDestroy(event));
  CHECK_EQ(counter.load(), 0);
}

TEST(captures_of_many_threads_do_not_disturb_each_other) {
  std::vector<std::thread> threads;
  std::atomic<int> ran{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      infinirtStream_t stream = make_stream(), forked = make_stream();
      infinirtEvent_t event = make_event();
      for (int round = 0; round < 25; ++round) {
        OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
        OK(infinirtLaunchHostFunc(stream, count_up, &ran));
        OK(infinirtEventRecord(event, stream));
        OK(infinirtStreamWaitEvent(forked, event, 0));
        OK(infinirtLaunchHostFunc(forked, count_up, &ran));
        OK(infinirtEventRecord(event, forked));
        OK(infinirtStreamWaitEvent(stream, event, 0));
        infinirtGraph_t graph = end_capture(stream);
        infinirtGraphExec_t exec = instantiate(graph);
        OK(infinirtGraphDestroy(graph));
        OK(infinirtGraphLaunch(exec, stream));
        OK(infinirtGraphExecDestroy(exec));
        OK(infinirtStreamSynchronize(stream));
      }
      OK(infinirtEventDestroy(event));
      for (auto s : {stream, forked}) OK(infinirtStreamDestroy(s));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(ran.load(), 4 * 25 * 2);
}

TEST_MAIN()
