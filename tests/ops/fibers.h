// The threads of a block on the host: each on a stack of its own, in turns, so that they can wait for each other as on a GPU.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#define __shared__ static

struct Fibers {
  static constexpr size_t kStack = 64 * 1024;

  std::function<void()> kernel;
  std::vector<ucontext_t> threads;
  std::vector<std::unique_ptr<char[]>> stacks;
  std::vector<bool> is_done;
  std::vector<unsigned long long> slots;  // what is exchanged
  ucontext_t home;
  unsigned* index = nullptr;
  unsigned current = 0;
  size_t alive = 0, arrived = 0, round = 0;

  void yield() { swapcontext(&threads[current], &home); }

  // Until all threads that are still there have come here.
  void wait() {
    const size_t mine = round;
    ++arrived;
    release_if_complete();
    while (round == mine) yield();
  }

  void release_if_complete() {
    if (arrived < alive) return;
    arrived = 0;
    ++round;
  }

  void finish() {
    is_done[current] = true;
    --alive;
    if (alive > 0) release_if_complete();
  }
};
inline Fibers* fibers = nullptr;

inline void enter_fiber() {
  fibers->kernel();
  fibers->finish();
}

inline void run_block(int count, unsigned* index, std::function<void()> kernel) {
  Fibers all;
  fibers = &all;
  all.kernel = std::move(kernel);
  all.index = index;
  all.alive = static_cast<size_t>(count);
  all.threads.resize(all.alive);
  all.is_done.resize(all.alive);
  all.slots.resize(all.alive);
  for (auto& thread : all.threads) {
    all.stacks.emplace_back(new char[Fibers::kStack]);
    getcontext(&thread);
    thread.uc_stack.ss_sp = all.stacks.back().get();
    thread.uc_stack.ss_size = Fibers::kStack;
    thread.uc_link = &all.home;
    makecontext(&thread, enter_fiber, 0);
  }
  while (all.alive > 0) {
    for (all.current = 0; all.current < all.threads.size(); ++all.current) {
      if (all.is_done[all.current]) continue;
      *index = all.current;
      swapcontext(&all.home, &all.threads[all.current]);
    }
  }
  fibers = nullptr;
}

inline void __syncthreads() { fibers->wait(); }

// Every thread of the block takes part in each exchange of the kernels here, so that waiting for all is right.
template <class T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  const unsigned self = *fibers->index;
  std::memcpy(&fibers->slots[self], &value, sizeof value);
  fibers->wait();
  std::memcpy(&value, &fibers->slots[self ^ static_cast<unsigned>(distance)], sizeof value);
  fibers->wait();
  return value;
}
