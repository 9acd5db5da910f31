// Traces and observers: everything that happens is seen, once, from every thread, and survives the process.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "infinirt_observe.h"
#include "support.h"
#include "trace_support.h"

namespace {

void do_nothing(void*) {}

}  // namespace

TEST(a_trace_has_every_call_of_every_thread) {
  constexpr int kThreads = 4, kCalls = 20000;  // several chunks each
  Folder folder;
  OK(infinirtXTraceBegin(folder.path.c_str()));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      int device = 0;
      for (int i = 0; i < kCalls; ++i) OK(infinirtGetDevice(&device));
    });
  }
  for (auto& thread : threads) thread.join();
  OK(infinirtXTraceEnd());
  const Contents contents = only_file(folder);
  CHECK_EQ(contents.calls_of("infinirtGetDevice"), size_t{kThreads} * kCalls);
  CHECK_EQ(contents.threads.size(), size_t{kThreads});
  CHECK_EQ(contents.lost, uint64_t{0});
  std::set<uint64_t> numbers;
  for (const Record& record : contents.records.at(RecordKind::Call)) numbers.insert(record[1]);
  CHECK_EQ(numbers.size(), size_t{kThreads} * kCalls);
}

TEST(work_is_traced_with_the_call_that_issued_it) {
  Folder folder;
  infinirtStream_t stream = make_stream();
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, 1 << 20));
  OK(infinirtXTraceBegin(folder.path.c_str()));
  infinirtXNameNextWork("the name of it");
  OK(infinirtLaunchHostFunc(stream, do_nothing, nullptr));
  OK(infinirtMemsetAsync(memory, 1, 1 << 20, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtXTraceEnd());
  const Contents contents = only_file(folder);
  std::map<uint64_t, uint64_t> kinds;  // call → kind of work
  for (const Record& record : contents.records.at(RecordKind::Work)) {
    kinds[record[1]] = record[0] >> 16 & 0xff;
    if ((record[0] >> 16 & 0xff) != 2) continue;
    CHECK_EQ(record[3] >> 56, uint64_t{1});  // one access: the memory that is set
    CHECK_EQ(record[9], reinterpret_cast<uint64_t>(memory));
    CHECK_EQ(record[10], uint64_t{1} << 63 | 1 << 20);
  }
  size_t found = 0;
  for (const Record& record : contents.records.at(RecordKind::Call)) found += kinds.count(record[1]);
  CHECK_EQ(found, size_t{2});
  CHECK(contents.has_name("the name of it"));
  OK(infinirtFree(memory));
  OK(infinirtStreamDestroy(stream));
}

TEST(order_between_streams_is_traced) {
  Folder folder;
  infinirtStream_t first = make_stream(), second = make_stream();
  infinirtEvent_t event = nullptr;
  OK(infinirtEventCreate(&event));
  OK(infinirtXTraceBegin(folder.path.c_str()));
  OK(infinirtLaunchHostFunc(first, do_nothing, nullptr));
  OK(infinirtEventRecord(event, first));
  OK(infinirtStreamWaitEvent(second, event, 0));
  OK(infinirtLaunchHostFunc(second, do_nothing, nullptr));
  OK(infinirtDeviceSynchronize());
  OK(infinirtXTraceEnd());
  const Contents contents = only_file(folder);
  REQUIRE(contents.count(RecordKind::Order) == 1);
  const Record& order = contents.records.at(RecordKind::Order)[0];
  bool before = false, after = false;
  for (const Record& work : contents.records.at(RecordKind::Work)) {
    if ((work[0] >> 16 & 0xff) != 3) continue;
    before |= work[6] == order[5] && work[7] <= order[6];
    after |= work[6] == order[3] && work[7] >= order[4];
  }
  CHECK(before);
  CHECK(after);
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(first));
  OK(infinirtStreamDestroy(second));
}

TEST(traces_begin_and_end_while_threads_call_and_work_runs) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      infinirtStream_t stream = make_stream();
      while (!over) {
        infinirtXRangePush("a turn");
        OK(infinirtLaunchHostFunc(stream, do_nothing, nullptr));
        OK(infinirtStreamSynchronize(stream));
        infinirtXRangePop();
      }
      OK(infinirtStreamDestroy(stream));
    });
  }
  for (int i = 0; i < 20; ++i) {
    Folder folder;
    OK(infinirtXTraceBegin(folder.path.c_str()));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    OK(infinirtXTraceEnd());
    only_file(folder);
  }
  over = true;
  for (auto& thread : threads) thread.join();
  CHECK_EQ(infinirtXObserved(), 0);
}

TEST(one_trace_at_a_time_and_only_where_it_can_be_written) {
  Folder folder;
  OK(infinirtXTraceBegin(folder.path.c_str()));
  CHECK_EQ(infinirtXTraceBegin(folder.path.c_str()), infinirtErrorAlreadyAcquired);
  OK(infinirtXTraceEnd());
  OK(infinirtXTraceEnd());
  CHECK_EQ(infinirtXTraceBegin("/proc/no such folder/trace"), infinirtErrorInvalidValue);
  CHECK(std::strstr(infinirtXGetLastErrorMessage(), "/proc/no such folder/trace") != nullptr);
  CHECK_EQ(infinirtXTraceBegin(nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtXTraceBegin(""), infinirtErrorInvalidValue);
  infinirtGetLastError();
}

CHILD(is_killed) {  // INFINIRT_TRACE is set
  int device = 0;
  for (int i = 0; i < 1000; ++i) OK(infinirtGetDevice(&device));
  kill(getpid(), SIGKILL);
}

TEST(nothing_is_lost_when_a_process_is_killed) {
  Folder folder;
  CHECK_EQ(child::run("is_killed", {"INFINIRT_TRACE=" + folder.path, "INFINIRT_DEVICE=cpu"}), 128 + SIGKILL);
  CHECK_EQ(only_file(folder).calls_of("infinirtGetDevice"), size_t{1000});
}

CHILD(forks) {
  int device = 0;
  for (int i = 0; i < 10; ++i) OK(infinirtGetDevice(&device));
  const pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < 7; ++i) OK(infinirtGetDevice(&device));
    _exit(0);  // which flushes nothing
  }
  int status = 0;
  waitpid(pid, &status, 0);
  CHECK_EQ(status, 0);
  for (int i = 0; i < 10; ++i) OK(infinirtGetDevice(&device));
}

TEST(a_forked_child_has_a_file_of_its_own) {
  Folder folder;
  CHECK_EQ(child::run("forks", {"INFINIRT_TRACE=" + folder.path, "INFINIRT_DEVICE=cpu"}), 0);
  std::multiset<size_t> counts;
  for (const std::string& file : folder.files()) counts.insert(read_trace(file).calls_of("infinirtGetDevice"));
  CHECK(counts == (std::multiset<size_t>{7, 20}));
}

CHILD(records_much) {
  int device = 0;
  for (int i = 0; i < 100000; ++i) OK(infinirtGetDevice(&device));
  unsigned long long lost = 0;
  OK(infinirtXTraceGetLost(&lost));
  CHECK(lost > 0);
}

TEST(a_limit_is_kept_and_what_is_lost_is_counted) {
  Folder folder;
  CHECK_EQ(
      child::run("records_much", {"INFINIRT_TRACE=" + folder.path, "INFINIRT_TRACE_LIMIT=1", "INFINIRT_DEVICE=cpu"}),
      0);
  const Contents contents = only_file(folder);
  CHECK_EQ(contents.calls_of("infinirtGetDevice") + contents.lost, size_t{100000});
  CHECK(contents.lost > 0);
}

namespace {

struct Seen {
  std::mutex mutex;
  std::vector<std::string> calls;
  std::vector<infinirtError_t> results;
  std::vector<std::string> work;
  std::atomic<int> refused{0};
  size_t access_bytes = 0;
  unsigned long long created = 0, last_argument = 0;
  std::string stack;

  static infinirtXObserver observer(Seen& seen) {
    infinirtXObserver observer{};
    observer.structSize = sizeof observer;
    observer.user = &seen;
    observer.callBegin = [](void* user, const infinirtXCall* call) {
      auto& self = *static_cast<Seen*>(user);
      std::lock_guard guard(self.mutex);
      self.calls.emplace_back(call->function);
      self.stack = call->stack ? call->stack : "";
      int device = 0;
      self.refused += infinirtGetDevice(&device) == infinirtErrorNotPermitted;
    };
    observer.callEnd = [](void* user, const infinirtXCall* call) {
      auto& self = *static_cast<Seen*>(user);
      std::lock_guard guard(self.mutex);
      self.results.push_back(call->result);
      if (call->created) self.created = call->created;
      if (call->argumentCount > 0) self.last_argument = call->arguments[call->argumentCount - 1];
      for (int i = 0; i < call->accessCount; ++i) self.access_bytes += call->accesses[i].bytes;
      CHECK(call->endNs >= call->startNs);
    };
    observer.work = [](void* user, const infinirtXWork* work) {
      auto& self = *static_cast<Seen*>(user);
      std::lock_guard guard(self.mutex);
      self.work.emplace_back(work->kind);
    };
    return observer;
  }
};

}  // namespace

TEST(an_observer_sees_calls_with_arguments_results_and_what_they_made) {
  Seen seen;
  const infinirtXObserver observer = Seen::observer(seen);
  OK(infinirtXSetObserver(&observer));
  CHECK_EQ(infinirtXSetObserver(&observer), infinirtErrorAlreadyAcquired);
  OK(infinirtXSetStackHook([]() -> const char* { return "here"; }));
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, 4096));
  CHECK_EQ(seen.created, reinterpret_cast<unsigned long long>(memory));
  CHECK_EQ(seen.last_argument, 4096ull);
  CHECK_EQ(seen.stack, std::string("here"));
  const infinirtXAccess access{memory, 4096, 1, 0};
  infinirtXDeclareAccess(&access, 1);
  OK(infinirtMemset(memory, 0, 64));
  CHECK_EQ(seen.access_bytes, size_t{4096});
  OK(infinirtFree(memory));
  CHECK(infinirtFree(memory) != infinirtSuccess);
  OK(infinirtDeviceSynchronize());
  OK(infinirtXSetStackHook(nullptr));
  OK(infinirtXSetObserver(nullptr));
  infinirtGetLastError();
  const std::vector<std::string> calls = {"infinirtMalloc", "infinirtMemset", "infinirtFree", "infinirtFree",
                                          "infinirtDeviceSynchronize"};
  CHECK(seen.calls == calls);
  CHECK_EQ(seen.refused.load(), 5);
  CHECK(seen.results[3] != infinirtSuccess && seen.results[4] == infinirtSuccess);
  CHECK(seen.work == std::vector<std::string>{"fill"});
  OK(infinirtMalloc(&memory, 64));  // nobody looks any more
  OK(infinirtFree(memory));
  CHECK_EQ(seen.calls.size(), size_t{5});
}

TEST(graph_nodes_are_seen_one_by_one_with_their_launch) {
  Folder folder;
  infinirtStream_t stream = make_stream();
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t exec = nullptr;
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  for (int i = 0; i < 3; ++i) OK(infinirtLaunchHostFunc(stream, do_nothing, nullptr));
  OK(infinirtStreamEndCapture(stream, &graph));
  OK(infinirtGraphInstantiate(&exec, graph, 0));
  OK(infinirtXTraceBegin(folder.path.c_str()));
  for (int i = 0; i < 2; ++i) OK(infinirtGraphLaunch(exec, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtXTraceEnd());
  const Contents contents = only_file(folder);
  std::map<uint64_t, std::set<uint64_t>> nodes;  // launch → nodes
  for (const Record& work : contents.records.at(RecordKind::Work)) {
    if (work[3] >> 48 & 1) nodes[work[9]].insert(work[10]);
  }
  CHECK_EQ(nodes.size(), size_t{2});
  for (const auto& [launch, numbers] : nodes) CHECK(numbers == (std::set<uint64_t>{0, 1, 2}));
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

CHILD_MAIN()
