// Events around calls: on the CPU device, whose functions have the same shape as those they are meant for.
#include "backends/nvidia/timed_calls.h"
#include "core/backend.h"
#include "support.h"
#include "trace_support.h"

using namespace infinirt;  // NOLINT
using infinirt::nvidia::TimedCalls;

namespace {

void sleep_20ms(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

constexpr uint64_t kCall = 77;
constexpr uint64_t kDuration = (uint64_t{1} << 48) - 1;

const Backend& chosen_backend() {
  int device = 0;
  OK(infinirtGetDevice(&device));
  return *thread_state().backend;
}

void launch(TimedCalls& calls, uint64_t call, infinirtStream_t stream) {
  const unsigned long long arguments[] = {reinterpret_cast<uintptr_t>(stream), 0, 0};
  calls.before(call, static_cast<uint16_t>(FunctionId::LaunchHostFunc), arguments);
  const infinirtError_t error = infinirtLaunchHostFunc(stream, sleep_20ms, nullptr);
  OK(error);
  calls.after(error);
}

std::vector<Record> timed_work(const Folder& folder) {
  std::vector<Record> found;
  Contents contents = only_file(folder);
  for (const Record& record : contents.records[RecordKind::Work]) {
    if (record[0] >> 24 & 1) found.push_back(record);  // the engine's own is in ticks
  }
  return found;
}

}  // namespace

TEST(work_between_two_events_has_its_time) {
  const Backend& backend = chosen_backend();
  TimedCalls calls(backend.table, backend.index);
  infinirtStream_t stream = make_stream();
  Folder folder;
  OK(infinirtXTraceBegin(folder.path.c_str()));
  launch(calls, kCall, stream);
  launch(calls, kCall + 1, stream);
  calls.report();
  OK(infinirtXTraceEnd());
  const auto work = timed_work(folder);
  REQUIRE(work.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK_EQ(work[i][1], kCall + i);
    CHECK_EQ(work[i][5], uint64_t{reinterpret_cast<uintptr_t>(stream)});
    CHECK((work[i][3] & kDuration) >= 19000000);
  }
  CHECK(work[1][2] + 1000000 >= work[0][2] + (work[0][3] & kDuration));  // one after the other
  OK(infinirtStreamDestroy(stream));
}

TEST(captures_and_failed_calls_are_let_be) {
  const Backend& backend = chosen_backend();
  TimedCalls calls(backend.table, backend.index);
  infinirtStream_t stream = make_stream();
  Folder folder;
  OK(infinirtXTraceBegin(folder.path.c_str()));
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  launch(calls, kCall, stream);
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  OK(infinirtGraphGetNodes(graph, nullptr, &nodes));
  CHECK_EQ(nodes, size_t{1});
  const unsigned long long arguments[] = {reinterpret_cast<uintptr_t>(stream), 0, 0};
  calls.before(kCall, static_cast<uint16_t>(FunctionId::LaunchHostFunc), arguments);
  calls.after(infinirtErrorInvalidValue);
  calls.after(infinirtSuccess);  // of a call that began before
  calls.report();
  OK(infinirtXTraceEnd());
  CHECK_EQ(timed_work(folder).size(), size_t{0});
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
