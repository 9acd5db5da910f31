// When copies and sets run, and when the calls that asked for them return, on the CPU device.
#include <cstring>

#include "copy_support.h"
#include "gate.h"
#include "waiting.h"

TEST(asynchronous_copies_return_as_a_gpu_s_do) {
  Memory small(kSmall), large(kLarge);
  NewStream stream;
  auto copy = [&](void* dst, const void* src, size_t size, enum infinirtMemcpyKind kind) {
    return [=, &stream] { return infinirtMemcpyAsync(dst, src, size, kind, stream); };
  };
  CHECK(returns_at_once(stream, copy(large.device, large.pinned, kLarge, infinirtMemcpyHostToDevice)));
  CHECK(returns_at_once(stream, copy(large.pinned, large.device, kLarge, infinirtMemcpyDeviceToHost)));
  CHECK(returns_at_once(stream, copy(large.device, large.device2, kLarge, infinirtMemcpyDeviceToDevice)));
  CHECK(returns_at_once(stream, copy(small.device, small.host.data(), kSmall, infinirtMemcpyHostToDevice)));
  if (unless_native("the runtime stages it, and need not wait")) {
    CHECK(waits_for_gate(stream, copy(large.device, large.host.data(), kLarge, infinirtMemcpyHostToDevice)));
  }
  CHECK(waits_for_gate(stream, copy(small.host.data(), small.device, kSmall, infinirtMemcpyDeviceToHost)));
  CHECK(waits_for_gate(stream, copy(small.host.data(), small.host2.data(), kSmall, infinirtMemcpyHostToHost)));
  CHECK(returns_at_once(stream, [&] { return infinirtMemsetAsync(small.pinned, 1, kSmall, stream); }));
}

TEST(synchronous_calls_return_as_a_gpu_s_do) {
  Memory m(kSmall);
  NewStream blocking, other(infinirtStreamNonBlocking);
  char* host = m.host.data();
  CHECK(returns_at_once(blocking, [&] { return infinirtMemset(m.device, 0, kSmall); }));
  CHECK(returns_at_once(blocking,
                        [&] { return infinirtMemcpy(m.device, m.device2, kSmall, infinirtMemcpyDeviceToDevice); }));
  CHECK(waits_for_gate(blocking, [&] { return infinirtMemset(m.pinned, 0, kSmall); }));
  CHECK(waits_for_gate(blocking, [&] { return infinirtMemcpy(m.device, host, kSmall, infinirtMemcpyHostToDevice); }));
  CHECK(waits_for_gate(blocking, [&] { return infinirtMemcpy(host, m.device, kSmall, infinirtMemcpyDeviceToHost); }));
  CHECK(returns_at_once(other, [&] { return infinirtMemcpy(m.device, host, kSmall, infinirtMemcpyHostToDevice); }));
}

TEST(a_staged_source_may_be_reused_at_once) {
  for (size_t size : {kSmall, size_t{60000}}) {
    Memory m(size);
    NewStream stream;
    const std::vector<char> original = m.host;
    Gate gate;
    OK(gate.hold(stream));
    OK(infinirtMemcpyAsync(m.device, m.host.data(), size, infinirtMemcpyHostToDevice, stream));
    std::memset(m.host.data(), 0x55, size);
    gate.open();
    OK(infinirtMemcpyAsync(m.host2.data(), m.device, size, infinirtMemcpyDeviceToHost, stream));
    CHECK(m.host2 == original);
  }
}

TEST(work_behind_a_copy_sees_it) {
  Memory m(kLarge);
  NewStream a, b;
  Gate gate;
  OK(gate.hold(a));
  OK(infinirtMemsetAsync(m.device, 5, kLarge, a));
  OK(infinirtMemcpy(m.device2, m.device, kLarge, infinirtMemcpyDeviceToDevice));  // legacy: after a, before b's next
  OK(infinirtMemcpyAsync(m.pinned, m.device2, kLarge, infinirtMemcpyDeviceToHost, b));
  gate.open();
  OK(infinirtStreamSynchronize(b));
  CHECK_EQ(int{m.pinned[0]}, 5);
  CHECK_EQ(int{m.pinned[kLarge - 1]}, 5);
}

TEST(synchronous_copies_that_the_host_can_see_wait) {
  Memory m(kSmall);
  NewStream blocking;
  char *host = m.host.data(), *host2 = m.host2.data();
  CHECK(
      waits_for_gate(blocking, [&] { return infinirtMemcpy(m.device, m.pinned, kSmall, infinirtMemcpyHostToDevice); }));
  CHECK(
      waits_for_gate(blocking, [&] { return infinirtMemcpy(m.pinned, m.device, kSmall, infinirtMemcpyDeviceToHost); }));
  CHECK(waits_for_gate(blocking, [&] { return infinirtMemcpy(host, host2, kSmall, infinirtMemcpyHostToHost); }));
}

TEST(asynchronous_copies_within_the_host_wait_for_the_stream) {
  Memory m(kSmall);
  NewStream stream(infinirtStreamNonBlocking);
  char *host = m.host.data(), *pinned = m.pinned;
  const auto copy = [&](void* dst, const void* src) {
    return [=, &stream] { return infinirtMemcpyAsync(dst, src, kSmall / 2, infinirtMemcpyHostToHost, stream); };
  };
  CHECK(waits_for_gate(stream, copy(pinned + kSmall / 2, pinned)));
  CHECK(waits_for_gate(stream, copy(pinned, host)));
  CHECK(waits_for_gate(stream, copy(host, pinned)));
}

TEST(an_asynchronous_set_of_device_memory_returns_at_once) {
  Memory m(kLarge);
  NewStream stream;
  CHECK(returns_at_once(stream, [&] { return infinirtMemsetAsync(m.device, 1, kLarge, stream); }));
  CHECK(returns_at_once(stream, [&] { return infinirtMemset(m.device, 1, kLarge); }));
}

TEST_MAIN()
