// The threads of a block on the host, for kernels whose warps wait on their own: each on a stack of its own, in turns. What is
// exchanged within a warp waits for that warp only, and all of its lanes take part, as the kernels here have it.
#pragma once

#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#define __shared__ static
#define __align__(size) alignas(size)

static Place blockDim, gridDim;

struct Warps {
  static constexpr size_t kStack = 256 * 1024;
  // Those that wait for each other: a warp, or the block.
  struct Group {
    unsigned first = 0, last = 0, alive = 0, arrived = 0;
  };
  struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[kStack]};
    bool is_ready = true, is_done = false;
  };

  std::function<void()> kernel;
  std::vector<Thread> threads;
  std::vector<Group> groups;  // the warps, then the block
  std::vector<unsigned long long> slots;  // what is exchanged
  ucontext_t home;
  unsigned current = 0;

  Group& warp() { return groups[current / 32]; }
  Group& block() { return groups.back(); }

  bool release(Group& group) {
    if (group.arrived < group.alive) return false;
    group.arrived = 0;
    for (unsigned t = group.first; t < group.last; ++t) threads[t].is_ready = true;
    return true;
  }
  void wait(Group& group) {
    ++group.arrived;
    if (release(group)) return;
    threads[current].is_ready = false;
    swapcontext(&threads[current].context, &home);
  }
  void finish() {
    threads[current].is_done = true;
    for (Group* group : {&warp(), &block()}) {
      --group->alive;
      if (group->alive > 0 && group->arrived > 0) release(*group);
    }
  }
};
static Warps* warps = nullptr;

static void enter_thread() {
  warps->kernel();
  warps->finish();
}

static void run_warps(unsigned count, unsigned* index, std::function<void()> kernel) {
  Warps all;
  warps = &all;
  all.kernel = std::move(kernel);
  all.threads.resize(count);
  all.slots.resize(count);
  for (unsigned first = 0; first < count; first += 32) all.groups.push_back({first, first + 32, 32, 0});
  all.groups.push_back({0, count, count, 0});
  for (auto& thread : all.threads) {
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = Warps::kStack;
    thread.context.uc_link = &all.home;
    makecontext(&thread.context, enter_thread, 0);
  }
  while (all.block().alive > 0) {
    for (all.current = 0; all.current < count; ++all.current) {
      Warps::Thread& thread = all.threads[all.current];
      if (thread.is_done || !thread.is_ready) continue;
      *index = all.current;
      swapcontext(&all.home, &thread.context);
    }
  }
  warps = nullptr;
}

static void __syncthreads() { warps->wait(warps->block()); }
static void __syncwarp() { warps->wait(warps->warp()); }

// The value of lane `lane(own lane)`.
template <class T, class Lane>
T exchange(T value, Lane lane) {
  const unsigned self = warps->current, own = self % 32;
  std::memcpy(&warps->slots[self], &value, sizeof value);
  warps->wait(warps->warp());
  T result;
  std::memcpy(&result, &warps->slots[self - own + lane(own) % 32], sizeof result);
  warps->wait(warps->warp());
  return result;
}

template <class T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return exchange(value, [&](unsigned lane) { return lane ^ static_cast<unsigned>(distance); });
}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return exchange(value, [&](unsigned) { return static_cast<unsigned>(from); });
}
template <class T>
T __shfl_up_sync(unsigned, T value, int distance) {
  return exchange(value, [&](unsigned lane) {
    return lane >= static_cast<unsigned>(distance) ? lane - static_cast<unsigned>(distance) : lane;
  });
}
static unsigned __ballot_sync(unsigned, bool flag) {
  unsigned bits = flag ? 1u << (warps->current % 32) : 0u;
  for (int distance = 16; distance > 0; distance /= 2) bits |= __shfl_xor_sync(0, bits, distance);
  return bits;
}
static bool __all_sync(unsigned, bool flag) { return __ballot_sync(0, flag) == ~0u; }
template <class T>
unsigned __match_any_sync(unsigned, T value) {
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (__shfl_sync(0, value, static_cast<int>(lane)) == value) bits |= 1u << lane;
  }
  return bits;
}

template <class T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at += value;
  return before;
}
[[noreturn]] static void __trap() { std::abort(); }
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
static int __ffs(int bits) { return __builtin_ffs(bits); }
static float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
static double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
