// Which work of the CPU device needs a vendor's library: what a GPU must not wait for. The vendor is a table with one function.
#include <atomic>
#include <vector>

#include "core/backend.h"
#include "engine/event.h"
#include "engine/scheduler.h"
#include "engine/stream.h"
#include "gate.h"
#include "graph_support.h"

using infinirt::Backend;
using infinirt::CrossCopy;
using infinirt::Event;
using infinirt::HandleKind;
using infinirt::Stream;
using infinirt::Work;
using infinirt::WorkType;

namespace {

std::atomic<int> g_inside{0};
std::atomic<bool> g_hold{false};

infinirtError_t copy_now(const CrossCopy&) {
  ++g_inside;
  while (g_hold.load()) std::this_thread::yield();
  return infinirtSuccess;
}

const Backend& vendor() {
  static const Backend* made = [] {
    auto* backend = new Backend;
    backend->name = "vendor";
    backend->native_handles = true;
    backend->extensions.CopyNow = copy_now;
    return backend;
  }();
  return *made;
}

Stream& inside(infinirtStream_t handle) { return *infinirt::handle_resolve<Stream>(handle, HandleKind::Stream); }

void copy_on(infinirtStream_t stream) {
  static char here[64], there[64];
  Work work;
  work.type = WorkType::Copy;
  work.copy = {there, here, 64, 64, 64, 64, 64, 1, 1, nullptr, -1, -1, &vendor()};
  OK(infinirt::submit(inside(stream), work));
}

bool awaits(infinirtStream_t stream) { return inside(stream).tail().awaits_vendor(); }
bool awaits(infinirtEvent_t event) {
  return infinirt::event_point(*infinirt::handle_resolve<Event>(event, HandleKind::Event)).awaits_vendor();
}

infinirtEvent_t record(infinirtStream_t stream) {
  infinirtEvent_t event = nullptr;
  OK(infinirtEventCreateWithFlags(&event, infinirtEventDisableTiming));
  OK(infinirtEventRecord(event, stream));
  return event;
}

}  // namespace

TEST(a_copy_with_a_vendor_is_awaited_by_what_comes_behind_it_and_by_nothing_else) {
  infinirtStream_t copying = make_stream(), waiting = make_stream(), other = make_stream();
  Gate gate;
  OK(gate.hold(copying));
  infinirtEvent_t before = record(copying);
  CHECK(!awaits(copying));
  copy_on(copying);
  infinirtEvent_t after = record(copying);
  CHECK(awaits(copying));
  CHECK(awaits(after));
  CHECK(!awaits(before));  // though the stream has such work by now
  OK(infinirtStreamWaitEvent(other, before, 0));
  CHECK(!awaits(other));
  OK(infinirtStreamWaitEvent(waiting, after, 0));
  CHECK(awaits(waiting));
  OK(infinirtStreamWaitEvent(other, record(waiting), 0));
  CHECK(awaits(other));
  gate.open();
  OK(infinirtStreamSynchronize(other));
  for (infinirtStream_t stream : {copying, waiting, other}) CHECK(!awaits(stream));
  CHECK(!awaits(after));
}

TEST(events_that_graphs_record_and_wait_for_hand_it_on) {
  infinirtStream_t stream = make_stream(), launching = make_stream();
  infinirtEvent_t copied = nullptr, recorded = nullptr;
  OK(infinirtEventCreateWithFlags(&copied, infinirtEventDisableTiming));
  OK(infinirtEventCreateWithFlags(&recorded, infinirtEventDisableTiming));
  infinirtGraph_t graph = nullptr;
  infinirtGraphNode_t wait = nullptr, node = nullptr;
  OK(infinirtGraphCreate(&graph, 0));
  OK(infinirtGraphAddEventWaitNode(&wait, graph, nullptr, 0, copied));
  OK(infinirtGraphAddEventRecordNode(&node, graph, &wait, 1, recorded));
  infinirtGraphExec_t exec = nullptr;
  OK(infinirtGraphInstantiate(&exec, graph, 0));

  OK(infinirtGraphLaunch(exec, launching));
  CHECK(!awaits(launching));
  CHECK(!awaits(recorded));
  OK(infinirtStreamSynchronize(launching));

  Gate gate;
  OK(gate.hold(stream));
  copy_on(stream);
  OK(infinirtEventRecord(copied, stream));
  OK(infinirtGraphLaunch(exec, launching));
  CHECK(awaits(launching));
  CHECK(awaits(recorded));
  gate.open();
  OK(infinirtStreamSynchronize(launching));
  CHECK(!awaits(recorded));
}

TEST(more_copies_than_are_remembered_count_for_everything_behind_the_first_unfinished) {
  infinirtStream_t stream = make_stream();
  Gate gate;
  OK(gate.hold(stream));
  copy_on(stream);
  infinirtEvent_t first = record(stream);
  for (int i = 0; i < 20; ++i) copy_on(stream);
  CHECK(awaits(first));
  CHECK(awaits(stream));
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  CHECK(!awaits(stream));
}

TEST(copies_that_wait_inside_the_vendor_leave_their_workers_places_to_others) {
  const int limit = infinirt::worker_limit();
  std::vector<infinirtStream_t> streams;
  g_hold = true;
  g_inside = 0;
  for (int i = 0; i < limit; ++i) copy_on(streams.emplace_back(make_stream()));
  while (g_inside < limit) std::this_thread::yield();
  infinirtStream_t other = make_stream();
  OK(infinirtLaunchHostFunc(other, [](void*) {}, nullptr));
  OK(infinirtStreamSynchronize(other));  // or never
  g_hold = false;
  for (infinirtStream_t stream : streams) OK(infinirtStreamSynchronize(stream));
}

TEST_MAIN()
