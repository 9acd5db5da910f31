// Errors: the thread's last one, those that surface later, those that stay with the device, and what still runs then.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "gate.h"
#include "support.h"

namespace {

// Returns its argument.
infinirtError_t fail_with(const infinirtXBlock*, void** args) {
  return static_cast<infinirtError_t>(*static_cast<int*>(args[0]));
}

infinirtError_t launch_failure(int code, infinirtStream_t stream) {
  const size_t size = sizeof(int);
  const infinirtXKernelInfo info{"fail_with", fail_with, &size, 1, 0};
  OK(infinirtXRegisterKernel(&info));
  void* args[] = {&code};
  return infinirtLaunchKernel(reinterpret_cast<const void*>(fail_with), {1, 1, 1}, {1, 1, 1}, args, 0, stream);
}

}  // namespace

TEST(the_last_error_is_the_threads_own) {
  CHECK_EQ(infinirtMalloc(nullptr, 8), infinirtErrorInvalidValue);
  OK(infinirtDeviceSynchronize());  // a success takes nothing back
  std::thread([] {
    CHECK_EQ(infinirtPeekAtLastError(), infinirtSuccess);
    CHECK_EQ(infinirtSetDevice(999), infinirtErrorInvalidDevice);
    CHECK_EQ(infinirtGetLastError(), infinirtErrorInvalidDevice);
  }).join();
  CHECK_EQ(infinirtPeekAtLastError(), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtPeekAtLastError(), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtGetLastError(), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtGetLastError(), infinirtSuccess);
}

TEST(a_library_on_top_leaves_its_errors_where_ours_are) {
  CHECK_EQ(infinirtXSetLastError(infinirtErrorInvalidValue, "opAdd: b is null"), infinirtErrorInvalidValue);
  CHECK(std::strcmp(infinirtXGetLastErrorMessage(), "opAdd: b is null") == 0);
  CHECK_EQ(infinirtXSetLastError(infinirtSuccess, "nothing happened"), infinirtSuccess);
  CHECK_EQ(infinirtXSetLastError(infinirtErrorNotReady, "nothing happened"), infinirtErrorNotReady);
  CHECK_EQ(infinirtPeekAtLastError(), infinirtErrorInvalidValue);
  // The text of the last error may be given back, with another code.
  infinirtXSetLastError(infinirtErrorNotSupported, infinirtXGetLastErrorMessage());
  CHECK(std::strcmp(infinirtXGetLastErrorMessage(), "opAdd: b is null") == 0);
  infinirtXSetLastError(infinirtErrorInvalidDevice, nullptr);
  CHECK(std::strcmp(infinirtXGetLastErrorMessage(), infinirtGetErrorString(infinirtErrorInvalidDevice)) == 0);
  CHECK_EQ(infinirtGetLastError(), infinirtErrorInvalidDevice);
}

TEST(different_failures_have_different_codes_names_and_texts) {
  infinirtStream_t dead = make_stream();
  OK(infinirtStreamDestroy(dead));
  void* pointer = nullptr;
  const infinirtError_t codes[] = {infinirtMalloc(nullptr, 8), infinirtMalloc(&pointer, SIZE_MAX / 2),
                                   infinirtSetDevice(999), infinirtStreamQuery(dead), infinirtHostUnregister(&pointer)};
  std::set<int> different;
  std::set<std::string> names, texts;
  for (infinirtError_t code : codes) {
    CHECK_NE(code, infinirtSuccess);
    CHECK_NE(code, infinirtErrorUnknown);
    different.insert(static_cast<int>(code));
    names.insert(infinirtGetErrorName(code));
    texts.insert(infinirtGetErrorString(code));
  }
  CHECK_EQ(different.size(), std::size(codes));
  CHECK_EQ(names.size(), std::size(codes));
  CHECK_EQ(texts.size(), std::size(codes));
  (void)infinirtGetLastError();
}

TEST(these_errors_stay_until_the_device_is_reset) {
  skip_on_native(kCpuKernel);
  for (int code : {700, 702, 710, 714, 715, 716, 717, 718, 719, 721}) {
    const auto error = static_cast<infinirtError_t>(code);
    OK(launch_failure(code, nullptr));
    CHECK_EQ(infinirtDeviceSynchronize(), error);
    CHECK(says("fail_with"));
    CHECK_EQ(infinirtDeviceSynchronize(), error);
    CHECK_EQ(infinirtGetLastError(), error);
    void* pointer = nullptr;
    CHECK_EQ(infinirtMalloc(&pointer, 8), error);  // back again
    CHECK(says("infinirtDeviceReset"));
    OK(infinirtDeviceReset());
    (void)infinirtGetLastError();
    OK(infinirtMalloc(&pointer, 8));
    OK(infinirtFree(pointer));
    OK(infinirtDeviceSynchronize());
  }
}

TEST(other_errors_are_told_once_by_a_later_call) {
  skip_on_native(kCpuKernel);
  infinirtStream_t stream = make_stream();
  for (int code : {1, 2, 400, 701, 703, 709, 711, 713, 720, 722, 801, 999}) {
    const auto error = static_cast<infinirtError_t>(code);
    Gate gate;
    OK(gate.hold(stream));
    OK(launch_failure(code, stream));  // the launch itself has not failed
    CHECK_EQ(infinirtPeekAtLastError(), infinirtSuccess);
    gate.open();
    CHECK_EQ(infinirtStreamSynchronize(stream), error);
    CHECK_EQ(infinirtGetLastError(), error);
    OK(infinirtStreamSynchronize(stream));
  }
  OK(infinirtStreamDestroy(stream));
}

TEST(every_later_call_on_a_failed_device_returns_its_error) {
  skip_on_native(kCpuKernel);
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event();
  void *device = nullptr, *pooled = nullptr, *more = nullptr;
  char host[64] = {};
  OK(infinirtMalloc(&device, sizeof host));
  OK(infinirtMallocAsync(&pooled, sizeof host, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(launch_failure(infinirtErrorIllegalAddress, stream));
  const infinirtError_t expected = infinirtErrorIllegalAddress;
  CHECK_EQ(infinirtStreamSynchronize(stream), expected);
  CHECK_EQ(infinirtStreamQuery(stream), expected);
  CHECK_EQ(infinirtStreamQuery(nullptr), expected);
  CHECK_EQ(infinirtDeviceSynchronize(), expected);
  CHECK_EQ(infinirtStreamCreate(&stream), expected);
  CHECK_EQ(infinirtStreamWaitEvent(stream, event, 0), expected);
  CHECK_EQ(infinirtEventCreate(&event), expected);
  CHECK_EQ(infinirtEventRecord(event, stream), expected);
  CHECK_EQ(infinirtEventQuery(event), expected);
  CHECK_EQ(infinirtEventSynchronize(event), expected);
  CHECK_EQ(infinirtMalloc(&more, 8), expected);
  CHECK_EQ(infinirtMallocHost(&more, 8), expected);
  CHECK_EQ(infinirtMallocAsync(&more, 8, stream), expected);
  CHECK_EQ(infinirtFreeAsync(pooled, stream), expected);
  CHECK_EQ(infinirtMemcpy(device, host, sizeof host, infinirtMemcpyHostToDevice), expected);
  CHECK_EQ(infinirtMemcpyAsync(host, device, sizeof host, infinirtMemcpyDeviceToHost, stream), expected);
  CHECK_EQ(infinirtMemset(device, 0, sizeof host), expected);
  CHECK_EQ(infinirtMemsetAsync(device, 0, sizeof host, stream), expected);
  CHECK_EQ(infinirtLaunchHostFunc(stream, [](void*) {}, nullptr), expected);
  CHECK_EQ(launch_failure(0, stream), expected);
  OK(infinirtDeviceReset());
  (void)infinirtGetLastError();
  OK(infinirtDeviceSynchronize());
}

TEST(after_a_failure_host_functions_are_not_called_and_callbacks_are_told) {
  skip_on_native(kCpuKernel);
  infinirtStream_t stream = make_stream();
  static std::atomic<int> ran, destroyed, told;
  ran = destroyed = 0;
  told = -1;
  void* pinned = nullptr;
  void* device = nullptr;
  OK(infinirtMallocHost(&pinned, 4));
  OK(infinirtMalloc(&device, 4));
  std::memset(pinned, 0x11, 4);
  OK(infinirtMemset(device, 0x22, 4));
  OK(infinirtDeviceSynchronize());
  Gate gate;
  OK(gate.hold(stream));
  OK(launch_failure(infinirtErrorLaunchFailure, stream));
  OK(infinirtXLaunchHostFunc(stream, [](void*) { ++ran; }, nullptr, [](void*) { ++destroyed; }));
  OK(infinirtMemcpyAsync(pinned, device, 4, infinirtMemcpyDeviceToHost, stream));
  OK(infinirtStreamAddCallback(
      stream, [](infinirtStream_t, infinirtError_t status, void*) { told = static_cast<int>(status); }, nullptr, 0));
  gate.open();
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtErrorLaunchFailure);
  CHECK_EQ(ran.load(), 0);
  CHECK_EQ(destroyed.load(), 1);  // what it was given goes all the same
  CHECK_EQ(told.load(), static_cast<int>(infinirtErrorLaunchFailure));
  CHECK_EQ(int{static_cast<char*>(pinned)[0]}, 0x11);
  OK(infinirtDeviceReset());
  (void)infinirtGetLastError();
}

TEST_MAIN()
