// Several devices: which one is current, and what may cross from one to another.
#include <string>
#include <thread>

#include "child.h"
#include "support.h"
#include "waiting.h"

namespace {

int current() {
  int device = -1;
  OK(infinirtGetDevice(&device));
  return device;
}

}  // namespace

CHILD(current_device) {
  CHECK_EQ(current(), 0);
  OK(infinirtSetDevice(1));
  CHECK_EQ(current(), 1);
  std::thread([] { CHECK_EQ(current(), 0); }).join();
  FAILS(infinirtSetDevice(2), infinirtErrorInvalidDevice);
  CHECK_EQ(current(), 1);
  infinirtStream_t stream = make_blocking_stream();
  int device = -1;
  OK(infinirtStreamGetDevice(stream, &device));
  CHECK_EQ(device, 1);
}
TEST(the_current_device_is_the_threads_own) {
  skip_on_native(kTwoDevices);
  CHECK_EQ(child::run("current_device", {"INFINIRT_CPU_DEVICES=2"}), 0);
}

CHILD(busy_devices) {
  infinirtStream_t first = make_blocking_stream();
  OK(infinirtSetDevice(1));
  infinirtStream_t second = make_blocking_stream();
  for (infinirtStream_t busy : {first, second}) {
    CHECK(returns_at_once(busy, [] { return infinirtSetDevice(1); }));
    CHECK(returns_at_once(busy, [] { return infinirtSetDevice(0); }));
  }
  // The legacy stream, device synchronisation and frees concern their own device only.
  const auto on_second = [](auto&& call) {
    return [call] {
      OK(infinirtSetDevice(1));
      return call();
    };
  };
  CHECK(returns_at_once(first, on_second([] { return infinirtDeviceSynchronize(); })));
  CHECK(returns_at_once(first, on_second([] { return infinirtStreamSynchronize(nullptr); })));
  CHECK(waits_for_gate(second, on_second([] { return infinirtDeviceSynchronize(); })));
  CHECK(waits_for_gate(second, on_second([] { return infinirtStreamSynchronize(nullptr); })));
}
TEST(changing_the_device_waits_for_nothing) {
  skip_on_native(kTwoDevices);
  CHECK_EQ(child::run("busy_devices", {"INFINIRT_CPU_DEVICES=2"}), 0);
}

CHILD(crossing) {
  infinirtStream_t first = make_stream();
  infinirtEvent_t event = make_event(), timed = make_event();
  OK(infinirtSetDevice(1));
  infinirtStream_t second = make_stream();
  infinirtEvent_t other = make_event();
  CHECK_EQ(infinirtEventRecord(event, second), infinirtErrorInvalidResourceHandle);
  CHECK(says(":0") && says(":1"));
  CHECK_EQ(infinirtEventRecord(event, nullptr), infinirtErrorInvalidResourceHandle);  // the current device's
  (void)infinirtGetLastError();
  CHECK(waits_for_gate(first, [&] {
    OK(infinirtEventRecord(event, first));  // whatever is current
    OK(infinirtStreamWaitEvent(second, event, 0));
    return infinirtStreamSynchronize(second);
  }));
  OK(infinirtEventRecord(timed, first));
  OK(infinirtEventRecord(other, second));
  OK(infinirtStreamSynchronize(first));
  OK(infinirtStreamSynchronize(second));
  float ms = 0;
  FAILS(infinirtEventElapsedTime(&ms, timed, other), infinirtErrorInvalidResourceHandle);
  // A set or copy goes to a stream of whichever device.
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, 64));
  OK(infinirtMemsetAsync(memory, 5, 64, first));
  char host[64] = {};
  OK(infinirtMemcpyAsync(host, memory, 64, infinirtMemcpyDeviceToHost, first));
  OK(infinirtStreamSynchronize(first));
  CHECK_EQ(int{host[63]}, 5);
}
TEST(waits_and_copies_cross_devices_and_records_do_not) {
  skip_on_native(kTwoDevices);
  CHECK_EQ(child::run("crossing", {"INFINIRT_CPU_DEVICES=2"}), 0);
}

CHILD(one_fails) {
  const auto fails = [](const infinirtXBlock*, void**) -> infinirtError_t { return infinirtErrorIllegalAddress; };
  const infinirtXKernelInfo info{"fails", fails, nullptr, 0, 0};
  OK(infinirtXRegisterKernel(&info));
  OK(infinirtLaunchKernel(reinterpret_cast<const void*>(info.function), {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr));
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorIllegalAddress);
  OK(infinirtSetDevice(1));
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, 64));
  OK(infinirtMemset(memory, 0, 64));
  OK(infinirtDeviceSynchronize());
  OK(infinirtDeviceReset());  // of the current device only
  OK(infinirtSetDevice(0));
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorIllegalAddress);
}
TEST(a_failed_device_does_not_fail_another) {
  skip_on_native(kCpuKernel);
  skip_on_native(kTwoDevices);
  CHECK_EQ(child::run("one_fails", {"INFINIRT_CPU_DEVICES=2"}), 0);
}

CHILD(whose) {
  OK(infinirtSetDevice(1));
  infinirtStream_t stream = make_blocking_stream();
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, 64));
  OK(infinirtSetDevice(0));
  const char* type = nullptr;
  int device = -1;
  OK(infinirtXStreamGetDevice(stream, &type, &device));
  CHECK(std::string(type) == "cpu" && device == 1);
  OK(infinirtXStreamGetDevice(nullptr, nullptr, &device));
  CHECK_EQ(device, 0);
  // Where infinirtStreamGetDevice would break the capture.
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  OK(infinirtXStreamGetDevice(stream, &type, &device));
  CHECK_EQ(device, 1);
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(stream, &graph));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtXPointerGetDevice(static_cast<char*>(memory) + 8, &type, &device));
  CHECK(std::string(type) == "cpu" && device == 1);
  FAILS(infinirtXPointerGetDevice(&device, &type, nullptr), infinirtErrorInvalidValue);
}
TEST(handles_and_addresses_say_whose_they_are) {
  CHECK_EQ(child::run("whose", {"INFINIRT_CPU_DEVICES=2", "INFINIRT_DEVICE=cpu"}), 0);
}

CHILD_MAIN()
