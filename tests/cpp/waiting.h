// Whether a call waits for the work of a stream.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"
#include "gate.h"
#include "infinirt.h"

// Makes the call while a gate holds the stream; true when it returned before the gate was opened, which it is after
// `patience` at the latest. The call must succeed.
template <class Call>
bool returns_before_gate(infinirtStream_t stream, std::chrono::milliseconds patience, Call&& call) {
  Gate gate;
  CHECK_EQ(gate.hold(stream), infinirtSuccess);
  gate.wait_until_entered();
  std::atomic<int> result{-1};
  std::thread caller([&] { result = static_cast<int>(call()); });
  const auto end = std::chrono::steady_clock::now() + patience;
  while (result == -1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  const bool returned = result != -1;
  gate.open();
  caller.join();
  CHECK_EQ(result.load(), 0);
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  return returned;
}

// Long patience where the call is expected back, which costs nothing; short where it is not.
template <class Call>
bool returns_at_once(infinirtStream_t stream, Call&& call) {
  return returns_before_gate(stream, std::chrono::seconds(20), call);
}
template <class Call>
bool waits_for_gate(infinirtStream_t stream, Call&& call) {
  return !returns_before_gate(stream, std::chrono::milliseconds(100), call);
}
