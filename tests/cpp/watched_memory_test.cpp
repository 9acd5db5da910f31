// Memory that is shut to the program while work may be using it: who touches it is told of, work is not hindered.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "child.h"
#include "infinirt_observe.h"
#include "support.h"

namespace {

constexpr size_t kSize = 3 * 4096;

std::atomic<int> touches{0};
std::atomic<const void*> touched{nullptr};
std::atomic<int> wrote{-1};

void note(const void* address, int writes) {
  ++touches;
  touched = address;
  wrote = writes;
}

volatile char* pinned() {
  void* memory = nullptr;
  OK(infinirtMallocHost(&memory, kSize));
  std::memset(memory, 1, kSize);
  infinirtXSetTouchHook(note);
  return static_cast<volatile char*>(memory);
}

void* plain(volatile char* memory) { return const_cast<char*>(memory); }

}  // namespace

CHILD(reads_and_writes) {
  volatile char* memory = pinned();
  OK(infinirtXWatchMemory(plain(memory), kSize, 0));
  CHECK_EQ(memory[5000], 1);
  CHECK_EQ(touches.load(), 1);
  CHECK(touched == plain(memory + 5000));
  CHECK_EQ(wrote.load(), 0);
  memory[0] = 2;  // open since
  CHECK_EQ(touches.load(), 1);

  OK(infinirtXWatchMemory(plain(memory), kSize, INFINIRT_X_MAY_READ));
  CHECK_EQ(memory[0], 2);
  CHECK_EQ(touches.load(), 1);
  memory[kSize - 1] = 3;
  CHECK_EQ(touches.load(), 2);
  CHECK_EQ(wrote.load(), 1);
  CHECK_EQ(memory[kSize - 1], 3);

  OK(infinirtXWatchMemory(plain(memory), kSize, 0));
  OK(infinirtXWatchMemory(plain(memory), kSize, INFINIRT_X_MAY_READ | INFINIRT_X_MAY_WRITE));
  memory[1] = 4;
  CHECK_EQ(touches.load(), 2);
  OK(infinirtFreeHost(plain(memory)));
}

CHILD(parts) {
  volatile char* memory = pinned();
  OK(infinirtXWatchMemory(plain(memory + 4096), 4096, 0));
  for (int place : {0, 4095, 8192}) memory[place] = 2;
  CHECK_EQ(touches.load(), 0);
  memory[4096] = 2;
  CHECK_EQ(touches.load(), 1);
  OK(infinirtFreeHost(plain(memory)));
}

CHILD(work_is_not_hindered) {
  volatile char* memory = pinned();
  void* data = nullptr;
  OK(infinirtMalloc(&data, kSize));
  OK(infinirtXWatchMemory(plain(memory), kSize, 0));
  OK(infinirtMemcpyAsync(data, plain(memory), kSize, infinirtMemcpyDefault, nullptr));
  OK(infinirtMemsetAsync(data, 7, kSize / 2, nullptr));
  OK(infinirtMemcpyAsync(plain(memory), data, kSize, infinirtMemcpyDefault, nullptr));
  OK(infinirtMemsetAsync(plain(memory + kSize - 1), 8, 1, nullptr));
  OK(infinirtStreamSynchronize(nullptr));
  CHECK_EQ(touches.load(), 0);
  OK(infinirtXWatchMemory(plain(memory), kSize, INFINIRT_X_MAY_READ | INFINIRT_X_MAY_WRITE));
  CHECK_EQ(memory[0], 7);
  CHECK_EQ(memory[kSize / 2], 1);
  CHECK_EQ(memory[kSize - 1], 8);
  OK(infinirtFree(data));
  OK(infinirtFreeHost(plain(memory)));
}

CHILD(host_functions_may) {
  volatile char* memory = pinned();
  OK(infinirtXWatchMemory(plain(memory), kSize, 0));
  OK(infinirtLaunchHostFunc(nullptr, [](void* given) { *static_cast<volatile char*>(given) = 9; }, plain(memory)));
  OK(infinirtStreamSynchronize(nullptr));
  CHECK_EQ(memory[0], 9);
  CHECK_EQ(touches.load(), 0);
  OK(infinirtFreeHost(plain(memory)));
}

CHILD(threads_at_once) {
  volatile char* memory = pinned();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      while (!stop) CHECK_EQ(memory[4096 * t], 1);
    });
  }
  for (int i = 0; i < 2000; ++i) OK(infinirtXWatchMemory(plain(memory), kSize, i % 2 ? 3 : 0));
  stop = true;
  for (auto& thread : threads) thread.join();
  OK(infinirtFreeHost(plain(memory)));
}

CHILD(what_cannot_be_watched) {
  char here[16];
  void* data = nullptr;
  OK(infinirtMalloc(&data, 16));
  for (void* memory : {static_cast<void*>(here), data}) {
    CHECK_EQ(infinirtXWatchMemory(memory, 16, 0), infinirtErrorNotSupported);
  }
  volatile char* memory = pinned();
  CHECK_EQ(infinirtXWatchMemory(plain(memory), 16, 4), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtXWatchMemory(plain(memory), 16, INFINIRT_X_MAY_WRITE), infinirtErrorInvalidValue);
  OK(infinirtXWatchMemory(plain(memory), 0, 0));
  memory[0] = 1;
  CHECK_EQ(touches.load(), 0);
}

CHILD(other_faults_end_the_program) {
  volatile char* memory = pinned();
  OK(infinirtXWatchMemory(plain(memory), kSize, 0));
  *reinterpret_cast<volatile char*>(uintptr_t{64}) = 1;
}

namespace {

int watched(const char* body) { return child::run(body, {"INFINIRT_CPU_MEMORY=watched"}); }

}  // namespace

TEST(who_touches_shut_memory_is_told_of_once) { CHECK_EQ(watched("reads_and_writes"), 0); }
TEST(only_the_pages_meant_are_shut) { CHECK_EQ(watched("parts"), 0); }
TEST(copies_and_sets_reach_shut_memory) { CHECK_EQ(watched("work_is_not_hindered"), 0); }
TEST(host_functions_reach_shut_memory) { CHECK_EQ(watched("host_functions_may"), 0); }
TEST(threads_touch_at_once) { CHECK_EQ(watched("threads_at_once"), 0); }
TEST(other_memory_is_refused) { CHECK_EQ(watched("what_cannot_be_watched"), 0); }
TEST(other_faults_go_to_who_handled_them_before) { CHECK(watched("other_faults_end_the_program") != 0); }

TEST(nothing_can_be_watched_unless_asked_for) {
  void* memory = nullptr;
  OK(infinirtMallocHost(&memory, 16));
  CHECK_EQ(infinirtXWatchMemory(memory, 16, 0), infinirtErrorNotSupported);
  OK(infinirtFreeHost(memory));
}

CHILD_MAIN()
