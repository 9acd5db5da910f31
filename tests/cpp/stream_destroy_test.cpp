// A stream that one thread destroys while another is inside a call that has looked its handle up. The tests from inside go
// straight to the moment that the races from outside only meet by chance.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/event.h"
#include "engine/stream.h"
#include "gate.h"
#include "graph_support.h"

using infinirt::Event;
using infinirt::HandleKind;
using infinirt::Mutex;
using infinirt::Stream;
using infinirt::Work;
using infinirt::WorkType;

namespace {

void increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

Stream* inside(infinirtStream_t handle) { return infinirt::handle_resolve<Stream>(handle, HandleKind::Stream); }

// What a call holds that was faster with its look than the destruction: retired streams rest, so the object is the same.
Stream* destroyed_stream() {
  infinirtStream_t handle = make_stream();
  Stream* stream = inside(handle);
  OK(infinirtStreamDestroy(handle));
  CHECK(stream->destroyed);
  return stream;
}

// Others may hold the lock for a moment; the thread that asks must not hold it itself.
bool can_lock(Mutex& mutex) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!mutex.try_lock()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  mutex.unlock();
  return true;
}

// Data of a host function or user object whose end needs the locks of the stream it was meant for.
struct Disposal {
  Stream* stream;
  std::atomic<int> calls{0}, locked_out{0};
  static void run(void* data) {
    auto* self = static_cast<Disposal*>(data);
    if (!can_lock(self->stream->mutex) || !can_lock(self->stream->device->mutex)) ++self->locked_out;
    ++self->calls;
  }
};

// Whether every one of many streams alive at a time is an object of its own: one that was retired twice is given out twice.
void check_streams_are_apart() {
  std::vector<infinirtStream_t> streams(600);
  std::vector<unsigned long long> ids(streams.size());
  for (size_t i = 0; i < streams.size(); ++i) {
    streams[i] = make_stream();
    OK(infinirtStreamGetId(streams[i], &ids[i]));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    unsigned long long id = 0;
    OK(infinirtStreamGetId(streams[i], &id));
    CHECK_EQ(id, ids[i]);
    OK(infinirtStreamDestroy(streams[i]));
  }
}

void ok_or_destroyed(infinirtError_t error) {
  if (error != infinirtSuccess) CHECK_EQ(error, infinirtErrorInvalidResourceHandle);
}

}  // namespace

TEST(work_for_a_destroyed_stream_is_refused_and_disposed_of_without_locks) {
  Stream* stream = destroyed_stream();
  Disposal disposal{stream};
  Work work;
  work.type = WorkType::Host;
  work.host = {[](void*) { CHECK(false); }, &disposal, Disposal::run};
  CHECK_EQ(infinirt::submit(*stream, work), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(disposal.calls.load(), 1);
  CHECK_EQ(disposal.locked_out.load(), 0);
  CHECK(work.type == WorkType::Nothing);
}

TEST(data_of_host_functions_goes_once_and_without_locks_whoever_wins) {
  constexpr int kRounds = 300, kCalls = 20;
  for (int round = 0; round < kRounds; ++round) {
    infinirtStream_t stream = make_stream();
    Disposal disposal{inside(stream)};
    std::thread user([&] {
      for (int i = 0; i < kCalls; ++i)
        ok_or_destroyed(infinirtXLaunchHostFunc(stream, [](void*) {}, &disposal, Disposal::run));
    });
    OK(infinirtStreamDestroy(stream));
    user.join();
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(disposal.calls.load(), kCalls);
    CHECK_EQ(disposal.locked_out.load(), 0);
  }
}

TEST(user_objects_of_a_graph_go_once_and_without_locks_whoever_wins) {
  for (int round = 0; round < 200; ++round) {
    infinirtStream_t stream = make_stream();
    Disposal disposal{inside(stream)};
    std::atomic<int> ran{0};
    infinirtGraph_t graph = make_graph();
    const infinirtHostNodeParams params = {increment, &ran};
    infinirtGraphNode_t node = nullptr;
    OK(infinirtGraphAddHostNode(&node, graph, nullptr, 0, &params));
    infinirtUserObject_t object = nullptr;
    OK(infinirtUserObjectCreate(&object, &disposal, Disposal::run, 1, infinirtUserObjectNoDestructorSync));
    OK(infinirtGraphRetainUserObject(graph, object, 1, infinirtGraphUserObjectMove));
    infinirtGraphExec_t exec = instantiate(graph);
    OK(infinirtGraphDestroy(graph));
    std::atomic<int> accepted{0};
    std::thread user([&] {
      for (int i = 0; i < 10; ++i) {
        const infinirtError_t error = infinirtGraphLaunch(exec, stream);
        if (error != infinirtErrorInvalidValue) ok_or_destroyed(error);  // the code of a destroyed executable graph
        accepted += error == infinirtSuccess;
      }
    });
    std::thread owner([&] { OK(infinirtGraphExecDestroy(exec)); });
    OK(infinirtStreamDestroy(stream));
    user.join();
    owner.join();
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(ran.load(), accepted.load());
    CHECK_EQ(disposal.calls.load(), 1);
    CHECK_EQ(disposal.locked_out.load(), 0);
  }
}

TEST(a_wait_does_not_revive_a_retired_stream) {
  infinirtStream_t producer = make_stream();
  Gate gate;
  OK(gate.hold(producer));
  Stream* stream = destroyed_stream();
  infinirt::stream_wait_point(*stream, inside(producer)->tail());
  {
    std::lock_guard guard(stream->mutex);
    CHECK(stream->first == nullptr);
    CHECK(stream->state == Stream::State::Idle);
  }
  gate.open();
  OK(infinirtStreamSynchronize(producer));
  OK(infinirtStreamDestroy(producer));
}

TEST(waits_on_a_stream_that_another_thread_destroys_leave_streams_apart) {
  for (int round = 0; round < 400; ++round) {
    infinirtStream_t producer = make_stream(), stream = make_stream();
    infinirtEvent_t event = make_event(infinirtEventDisableTiming);
    Gate gate;
    OK(gate.hold(producer));
    OK(infinirtEventRecord(event, producer));
    std::thread user([&] {
      for (int i = 0; i < 20; ++i) ok_or_destroyed(infinirtStreamWaitEvent(stream, event, 0));
    });
    OK(infinirtStreamDestroy(stream));
    user.join();
    gate.open();
    OK(infinirtDeviceSynchronize());
    OK(infinirtEventDestroy(event));
    OK(infinirtStreamDestroy(producer));
  }
  check_streams_are_apart();
}

TEST(a_record_on_a_destroyed_stream_is_refused_and_changes_nothing) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t start = make_event(), end = make_event(), plain = make_event(infinirtEventDisableTiming);
  for (auto event : {start, end}) OK(infinirtEventRecord(event, stream));
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtEventRecord(plain, stream));
  Stream* destroyed = destroyed_stream();
  for (auto handle : {end, plain}) {
    auto* event = infinirt::handle_resolve<Event>(handle, HandleKind::Event);
    CHECK_EQ(infinirt::record_event(*event, *destroyed), infinirtErrorInvalidResourceHandle);
  }
  CHECK_EQ(infinirtEventQuery(plain), infinirtErrorNotReady);  // the earlier record
  float ms = -1;
  OK(infinirtEventElapsedTime(&ms, start, end));
  CHECK_GE(ms, 0.0f);
  gate.open();
  OK(infinirtEventSynchronize(plain));
  for (auto event : {start, end, plain}) OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
