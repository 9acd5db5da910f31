// A host function that holds a stream until the test opens it: makes "while the stream is busy" deterministic.
//
// A real driver runs one host function at a time, whatever their streams: while a gate is held no other host function of
// the process runs there, and a second gate is not entered. Tests for every device hold one gate at a time, and see by a Mark
// (support.h) or a query that other streams work on.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"
#include "infinirt.h"

class Gate {
 public:
  // Enqueues the gate; everything behind it waits until open().
  infinirtError_t hold(infinirtStream_t stream) { return infinirtLaunchHostFunc(stream, wait, this); }
  void open() { open_.store(true, std::memory_order_release); }
  void close() { open_.store(false, std::memory_order_release); }
  void wait_until_entered() const { wait_for(entered_, "the gate was not entered"); }
  ~Gate() { open(); }

 private:
  static void wait(void* self) {
    auto* gate = static_cast<Gate*>(self);
    gate->entered_.store(true, std::memory_order_release);
    wait_for(gate->open_, "the gate was not opened: somebody waits for what is behind it");
  }
  // A test that is stuck fails and goes on.
  static void wait_for(const std::atomic<bool>& flag, const char* complaint) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!flag.load(std::memory_order_acquire)) {
      if (std::chrono::steady_clock::now() > end) {
        check::fail(__FILE__, __LINE__, complaint);
        return;
      }
      std::this_thread::yield();
    }
  }
  std::atomic<bool> open_{false};
  std::atomic<bool> entered_{false};
};
