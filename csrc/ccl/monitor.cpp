#include "ccl/monitor.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "ccl/runtime.h"
#include "ccl/thread.h"
#include "ccl/world.h"

namespace infiniccl {

namespace {

constexpr auto kLook = std::chrono::milliseconds(20);
constexpr int kQuietLooks = 50;  // without anything waiting, before it goes to sleep

struct Monitor {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::weak_ptr<World>> worlds;
  std::vector<std::shared_ptr<World>> released;
  size_t sweep_at = 64;  // worlds, before those that are gone are forgotten
  bool started = false;
  bool woken = false;
  std::atomic<bool> asleep{true};
};

Monitor& monitor();

// In a forked child there is no such thread, and the parent's worlds are not usable.
void after_fork() {
  Monitor& m = monitor();
  new (&m.mutex) std::mutex;
  new (&m.changed) std::condition_variable;
  m.worlds.clear();
  new std::vector<std::shared_ptr<World>>(std::move(m.released));  // the parent ends them
  m.started = false;
  m.woken = false;
  m.asleep.store(true);
}

Monitor& monitor() {
  static Monitor* instance = [] {
    pthread_atfork(nullptr, nullptr, after_fork);
    return new Monitor;
  }();
  return *instance;
}

bool look_at_all(Monitor& m) {
  std::vector<std::shared_ptr<World>> worlds, released;
  {
    std::lock_guard guard(m.mutex);
    released.swap(m.released);
    std::erase_if(m.worlds, [](const auto& world) { return world.expired(); });
    for (const auto& weak : m.worlds) {
      if (auto world = weak.lock()) worlds.push_back(std::move(world));
    }
  }
  bool waiting = false;
  const int64_t now = now_ns();
  for (const auto& world : worlds) waiting |= world->look(now);
  return waiting;
}

void watch() {
  Monitor& m = monitor();
  int quiet = 0;
  for (;;) {
    {
      std::unique_lock guard(m.mutex);
      if (quiet >= kQuietLooks) {
        // Whoever begins to wait after this sees it, and whoever did before is seen by one more look.
        m.asleep.store(true, std::memory_order_seq_cst);
        guard.unlock();
        const bool waiting = look_at_all(m);
        guard.lock();
        if (!waiting) m.changed.wait(guard, [&] { return m.woken; });
        m.asleep.store(false, std::memory_order_seq_cst);
        m.woken = false;
        quiet = 0;
      } else {
        m.changed.wait_for(guard, kLook);
      }
    }
    quiet = look_at_all(m) ? 0 : quiet + 1;
  }
}

void start(Monitor& m) { m.started = start_thread("infiniccl-watch", watch); }

}  // namespace

void monitor_add(std::weak_ptr<World> world) {
  Monitor& m = monitor();
  std::lock_guard guard(m.mutex);
  if (m.worlds.size() >= m.sweep_at) {
    std::erase_if(m.worlds, [](const auto& each) { return each.expired(); });
    m.sweep_at = std::max<size_t>(64, 2 * m.worlds.size());
  }
  m.worlds.push_back(std::move(world));
}

void monitor_release(std::shared_ptr<World> world) {
  {
    Monitor& m = monitor();
    std::lock_guard guard(m.mutex);
    m.released.push_back(std::move(world));
  }
  monitor_wake();
}

void monitor_wake() {
  Monitor& m = monitor();
  if (!m.asleep.load(std::memory_order_seq_cst)) return;
  std::lock_guard guard(m.mutex);
  if (!m.started) {
    m.asleep.store(false, std::memory_order_seq_cst);
    return start(m);
  }
  m.woken = true;
  m.changed.notify_one();
}

}  // namespace infiniccl
