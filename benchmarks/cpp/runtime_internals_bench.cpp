// The runtime's own costs on the CPU device, each beside the layer below it. Links the objects: it calls table entries directly.
#include <atomic>
#include <thread>
#include <vector>

#include "core/backend.h"
#include "core/mutex.h"
#include "infinirt.h"
#include "infinirt_ext.h"
#include "measure.h"

using infinirt::Backend;
using measure::Candidate;

namespace {

void nothing(void*) {}

// Holds a stream until released, so that enqueuing can be timed on a stream that is really busy.
struct Gate {
  std::atomic<uint32_t> open{0};
  static void wait(void* self) {
    auto& gate = *static_cast<Gate*>(self);
    while (!gate.open.load(std::memory_order_acquire)) infinirt::futex_wait(&gate.open, 0);
  }
  void release() {
    open.store(1, std::memory_order_release);
    infinirt::futex_wake(&open, 1);
  }
};

void dispatch(const Backend& cpu) {
  std::printf("C dispatch: the public function beside the backend's table entry\n");
  infinirtStream_t stream;
  infinirtEvent_t event;
  infinirtStreamCreate(&stream);
  infinirtEventCreateWithFlags(&event, infinirtEventDisableTiming);
  const auto& t = cpu.table;
  struct Pair {
    const char* name;
    std::function<void(int)> direct, dispatched;
  };
  int device;
  const Pair pairs[] = {
      {"infinirtGetDevice",
       [&](int n) {
         while (n--) t.GetDevice(&device);
       },
       [&](int n) {
         while (n--) infinirtGetDevice(&device);
       }},
      {"infinirtStreamQuery, idle",
       [&](int n) {
         while (n--) t.StreamQuery(stream);
       },
       [&](int n) {
         while (n--) infinirtStreamQuery(stream);
       }},
      {"infinirtEventQuery",
       [&](int n) {
         while (n--) t.EventQuery(event);
       },
       [&](int n) {
         while (n--) infinirtEventQuery(event);
       }},
      {"infinirtEventRecord, idle stream",
       [&](int n) {
         while (n--) t.EventRecord(event, stream);
       },
       [&](int n) {
         while (n--) infinirtEventRecord(event, stream);
       }},
      {"infinirtStreamWaitEvent, completed",
       [&](int n) {
         while (n--) t.StreamWaitEvent(stream, event, 0);
       },
       [&](int n) {
         while (n--) infinirtStreamWaitEvent(stream, event, 0);
       }},
  };
  for (const auto& p : pairs) {
    std::vector<Candidate> c = {{"direct", p.direct}, {"dispatched", p.dispatched}};
    measure::compare(c, 20000, 41);
    measure::row(p.name, c[1].median(), c[0].median(), "direct");
  }
  infinirtEventDestroy(event);
  infinirtStreamDestroy(stream);
}

void enqueue_busy() {
  std::printf("\nEnqueue a host function on a busy stream\n");
  for (const bool legacy : {false, true}) {
    for (const int busy : {0, 1, 8, 64}) {
      if (!legacy && busy > 0) continue;
      std::vector<infinirtStream_t> others(static_cast<size_t>(busy));
      infinirtStream_t stream = nullptr;
      if (!legacy) infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking);
      std::vector<double> samples;
      for (int round = 0; round < 15; ++round) {
        Gate gate;
        std::vector<Gate> gates(others.size());
        for (size_t i = 0; i < others.size(); ++i) {
          infinirtStreamCreate(&others[i]);
          infinirtLaunchHostFunc(others[i], Gate::wait, &gates[i]);
        }
        infinirtLaunchHostFunc(stream, Gate::wait, &gate);
        constexpr int kCalls = 500;
        const double begin = measure::now_ns();
        for (int i = 0; i < kCalls; ++i) infinirtLaunchHostFunc(stream, nothing, nullptr);
        samples.push_back((measure::now_ns() - begin) / kCalls);
        for (auto& g : gates) g.release();
        gate.release();
        infinirtDeviceSynchronize();
        for (auto s : others) infinirtStreamDestroy(s);
      }
      std::sort(samples.begin(), samples.end());
      char name[80];
      std::snprintf(name, sizeof name, legacy ? "legacy stream, %d busy blocking streams" : "a stream of its own",
                    busy);
      measure::row(name, samples[samples.size() / 2], 0, "");
      if (stream) infinirtStreamDestroy(stream);
    }
  }
}

// Two threads that wake each other through the kernel: what any hand-off costs at least.
double futex_ping_pong(int rounds) {
  std::atomic<uint32_t> turn{0};
  std::thread partner([&] {
    for (int i = 0; i < rounds; ++i) {
      while (turn.load(std::memory_order_acquire) != 1) infinirt::futex_wait(&turn, 0);
      turn.store(0, std::memory_order_release);
      infinirt::futex_wake(&turn, 1);
    }
  });
  const double begin = measure::now_ns();
  for (int i = 0; i < rounds; ++i) {
    turn.store(1, std::memory_order_release);
    infinirt::futex_wake(&turn, 1);
    while (turn.load(std::memory_order_acquire) != 0) infinirt::futex_wait(&turn, 1);
  }
  const double ns = (measure::now_ns() - begin) / rounds;
  partner.join();
  return ns;
}

void hand_off() {
  std::printf("\nHand a host function to an idle stream and wait for it\n");
  infinirtStream_t stream;
  infinirtStreamCreate(&stream);
  std::vector<Candidate> c = {
      {"futex", [](int n) { futex_ping_pong(n); }},
      {"hand-off",
       [&](int n) {
         while (n--) {
           infinirtLaunchHostFunc(stream, nothing, nullptr);
           infinirtStreamSynchronize(stream);
         }
       }},
  };
  measure::compare(c, 2000, 21);
  measure::row("launch + synchronise", c[1].median(), c[0].median(), "futex ping-pong");
  infinirtStreamDestroy(stream);
}

void graph_replay() {
  std::printf("\nLaunch a graph of 100 nodes beside issuing the 100 operations, both on a busy stream (host time)\n");
  constexpr int kNodes = 100;
  infinirtStream_t stream;
  infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking);
  void* memory = nullptr;
  infinirtMalloc(&memory, 4096 * kNodes);
  auto issue = [&] {
    for (int i = 0; i < kNodes; ++i) infinirtMemsetAsync(static_cast<char*>(memory) + i * 4096, i, 64, stream);
  };
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed);
  issue();
  infinirtStreamEndCapture(stream, &graph);
  infinirtGraphInstantiate(&exec, graph, 0);
  std::vector<double> issued, launched;
  for (int round = 0; round < 41; ++round) {
    for (int which = 0; which < 2; ++which) {
      Gate gate;
      infinirtLaunchHostFunc(stream, Gate::wait, &gate);
      const double begin = measure::now_ns();
      if (which == 0) {
        issue();
      } else {
        infinirtGraphLaunch(exec, stream);
      }
      (which == 0 ? issued : launched).push_back(measure::now_ns() - begin);
      gate.release();
      infinirtStreamSynchronize(stream);
    }
  }
  std::sort(issued.begin(), issued.end());
  std::sort(launched.begin(), launched.end());
  measure::row("issue 100 operations", issued[20], 0, "");
  measure::row("launch the graph", launched[20], issued[20], "issuing");
  infinirtGraphExecDestroy(exec);
  infinirtGraphDestroy(graph);
  infinirtFree(memory);
  infinirtStreamDestroy(stream);
}

void scaling() {
  std::printf("\nHow cost grows: launch + synchronise, one stream per thread\n");
  double one = 0;
  for (const int threads : {1, 2, 4, 16, 64}) {
    const int calls = 4000 / threads + 10;
    std::vector<std::thread> pool;
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&] {
        infinirtStream_t stream;
        infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking);
        ++ready;
        while (!go) std::this_thread::yield();
        for (int i = 0; i < calls; ++i) {
          infinirtLaunchHostFunc(stream, nothing, nullptr);
          infinirtStreamSynchronize(stream);
        }
        infinirtStreamDestroy(stream);
      });
    }
    while (ready != threads) std::this_thread::yield();
    const double begin = measure::now_ns();
    go = true;
    for (auto& t : pool) t.join();
    const double per_call = (measure::now_ns() - begin) / (double{1} * calls * threads);
    if (threads == 1) one = per_call;
    char name[64];
    std::snprintf(name, sizeof name, "%2d threads, time per operation of all", threads);
    measure::row(name, per_call, one, "one thread");
  }
}

}  // namespace

int main() {
  infinirtXSetDeviceType("cpu");
  dispatch(*infinirt::find_backend("cpu"));
  enqueue_busy();
  hand_off();
  graph_replay();
  scaling();
}
