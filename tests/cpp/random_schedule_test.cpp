// The random schedule and fork: the child has a schedule of its own, without the parent's work.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "child.h"
#include "engine/random_schedule.h"
#include "graph_support.h"

namespace {

void increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

// Seen by parent and child alike.
std::atomic<int>* shared_counter() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (page) std::atomic<int>(0);
}

// Runs `body` in a forked child; true when it returned true in time.
template <class Body>
bool forked(Body&& body) {
  const pid_t process = fork();
  if (process == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return waitpid(process, &status, 0) == process && status == 0;
}

// Work of its own on new streams, and many calls at each of which a step may be taken.
bool works_here() {
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) {
    infinirtStream_t stream = nullptr;
    bool good = infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking) == infinirtSuccess;
    for (int j = 0; j < 4; ++j) good = good && infinirtLaunchHostFunc(stream, increment, &ran) == infinirtSuccess;
    good = good && infinirtStreamSynchronize(stream) == infinirtSuccess && ran == 4 * (i + 1);
    if (!good || infinirtStreamDestroy(stream) != infinirtSuccess) return false;
  }
  return infinirtDeviceSynchronize() == infinirtSuccess;
}

struct Probe final : infinirt::Runnable {
  int runs = 0;
  bool run(int) override { return ++runs, false; }
};

}  // namespace

CHILD(ready_list) {
  OK(infinirtDeviceSynchronize());  // the schedule is there
  Probe probe;
  infinirt::random_schedule_add(&probe);
  CHECK(forked([&] { return works_here() && probe.runs == 0; }));
  for (int i = 0; i < 100000 && probe.runs == 0; ++i) OK(infinirtDeviceSynchronize());
  CHECK_EQ(probe.runs, 1);
}

CHILD(pending_work) {
  std::atomic<int>* ran = shared_counter();
  infinirtStream_t busy = make_stream(), destroyed = make_stream();
  infinirtGraph_t graph = make_graph();
  const infinirtHostNodeParams params = {increment, ran};
  for (int i = 0; i < 3; ++i) {
    infinirtGraphNode_t node = nullptr;
    OK(infinirtGraphAddHostNode(&node, graph, nullptr, 0, &params));
  }
  infinirtGraphExec_t exec = instantiate(graph);
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    OK(infinirtGraphLaunch(exec, busy));
    for (int i = 0; i < 5; ++i) OK(infinirtLaunchHostFunc(busy, increment, ran));
    OK(infinirtLaunchHostFunc(destroyed, increment, ran));
    OK(infinirtStreamDestroy(destroyed));
    const int before = *ran;
    CHECK(forked([&] {
      // The parent's streams are empty here, and can be used.
      std::atomic<int> own{0};
      return works_here() && *ran == before && infinirtLaunchHostFunc(busy, increment, &own) == infinirtSuccess &&
             infinirtStreamSynchronize(busy) == infinirtSuccess && own == 1 && *ran == before &&
             infinirtStreamDestroy(busy) == infinirtSuccess && works_here() && *ran == before;
    }));
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(ran->load(), 9 * (round + 1));
    destroyed = make_stream();
  }
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(graph));
}

// Another thread makes runnables ready at the moment of the fork.
CHILD(forks_under_load) {
  OK(infinirtDeviceSynchronize());
  std::atomic<bool> stop{false};
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        infinirtStream_t stream = make_stream();
        for (int i = 0; i < 8; ++i) OK(infinirtLaunchHostFunc(stream, increment, &ran));
        OK(infinirtStreamSynchronize(stream));
        OK(infinirtStreamDestroy(stream));
      }
    });
  }
  for (int i = 0; i < 30; ++i) CHECK(forked(works_here));
  stop = true;
  for (auto& thread : threads) thread.join();
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(ran % 8, 0);
}

namespace {

void in_random_schedules(const char* body) {
  for (const char* seed : {"1", "2", "3"}) {
    CHECK_EQ(child::run(body, {std::string("INFINIRT_CPU_SCHEDULE=random:") + seed}), 0);
  }
}

}  // namespace

TEST(what_is_ready_at_a_fork_is_the_parents) { in_random_schedules("ready_list"); }
TEST(a_forked_child_runs_nothing_of_the_parents) { in_random_schedules("pending_work"); }
TEST(forks_while_other_threads_schedule) {
#ifdef __SANITIZE_ADDRESS__
  check::skip("the Address sanitizer's heap can be locked by another thread at a fork, and stays so in the child");
#endif
  in_random_schedules("forks_under_load");
}

CHILD_MAIN()
