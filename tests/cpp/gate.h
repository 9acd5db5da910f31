// A host function that holds a stream until the test opens it: makes "while the stream is busy" deterministic.
#pragma once

#include <atomic>
#include <thread>

#include "infinirt.h"

class Gate {
 public:
  // Enqueues the gate; everything behind it waits until open().
  infinirtError_t hold(infinirtStream_t stream) { return infinirtLaunchHostFunc(stream, wait, this); }
  void open() { open_.store(true, std::memory_order_release); }
  void close() { open_.store(false, std::memory_order_release); }
  void wait_until_entered() const {
    while (!entered_.load(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Gate() { open(); }

 private:
  static void wait(void* self) {
    auto* gate = static_cast<Gate*>(self);
    gate->entered_.store(true, std::memory_order_release);
    while (!gate->open_.load(std::memory_order_acquire)) std::this_thread::yield();
  }
  std::atomic<bool> open_{false};
  std::atomic<bool> entered_{false};
};
