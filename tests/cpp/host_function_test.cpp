// Host functions and callbacks, through the public API on the CPU device.
#include <atomic>
#include <vector>

#include "gate.h"
#include "support.h"

namespace {

void increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

TEST(a_blocked_host_function_does_not_hold_other_streams) {
  skip_on_native(kHostFunctions);
  std::vector<infinirtStream_t> blocked;
  std::vector<Gate> gates(8);
  for (auto& gate : gates) {
    blocked.push_back(make_stream());
    OK(gate.hold(blocked.back()));
  }
  infinirtStream_t free_stream = make_stream();
  std::atomic<int> ran{0};
  OK(infinirtLaunchHostFunc(free_stream, increment, &ran));
  OK(infinirtStreamSynchronize(free_stream));
  CHECK_EQ(ran.load(), 1);
  for (auto& gate : gates) gate.open();
  OK(infinirtDeviceSynchronize());
  for (auto stream : blocked) OK(infinirtStreamDestroy(stream));
  OK(infinirtStreamDestroy(free_stream));
}

TEST(a_host_function_may_not_call_the_api) {
  infinirtStream_t stream = make_blocking_stream();
  struct Seen {
    infinirtError_t get_device, query, last;
  } seen{};
  OK(infinirtLaunchHostFunc(
      stream,
      [](void* data) {
        auto* s = static_cast<Seen*>(data);
        int device;
        s->get_device = infinirtGetDevice(&device);
        s->query = infinirtStreamQuery(nullptr);
        s->last = infinirtGetLastError();
      },
      &seen));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(seen.get_device, infinirtErrorNotPermitted);
  CHECK_EQ(seen.query, infinirtErrorNotPermitted);
  CHECK_EQ(seen.last, infinirtErrorNotPermitted);
  OK(infinirtStreamDestroy(stream));
}

TEST(every_call_in_a_host_function_or_callback_is_not_permitted) {
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event();
  struct Inside {
    infinirtStream_t stream;
    infinirtEvent_t event;
    std::vector<infinirtError_t> results;
    void call() {
      void* pointer = nullptr;
      infinirtEvent_t fresh = nullptr;
      results = {infinirtSetDevice(0),
                 infinirtDeviceSynchronize(),
                 infinirtStreamSynchronize(stream),
                 infinirtStreamDestroy(stream),
                 infinirtEventCreate(&fresh),
                 infinirtEventQuery(event),
                 infinirtEventDestroy(event),
                 infinirtMalloc(&pointer, 8),
                 infinirtFree(nullptr),
                 infinirtMallocAsync(&pointer, 8, stream),
                 infinirtLaunchHostFunc(
                     stream, [](void*) {}, nullptr),
                 infinirtPeekAtLastError()};
    }
  } inside = {stream, event, {}};
  OK(infinirtLaunchHostFunc(stream, [](void* data) { static_cast<Inside*>(data)->call(); }, &inside));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(inside.results.size(), 12u);
  for (infinirtError_t result : inside.results) CHECK_EQ(result, infinirtErrorNotPermitted);
  inside.results.clear();
  OK(infinirtStreamAddCallback(
      stream, [](infinirtStream_t, infinirtError_t, void* data) { static_cast<Inside*>(data)->call(); }, &inside, 0));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(inside.results.size(), 12u);
  for (infinirtError_t result : inside.results) CHECK_EQ(result, infinirtErrorNotPermitted);
  OK(infinirtEventDestroy(event));
  OK(infinirtStreamDestroy(stream));
}

TEST(destroy_of_host_function_data_runs_once_after_it) {
  infinirtStream_t stream = make_blocking_stream();
  std::atomic<int> ran{0};
  static std::atomic<int> destroyed{0};
  destroyed = 0;
  OK(infinirtXLaunchHostFunc(stream, increment, &ran,
                             [](void* d) { destroyed += *static_cast<std::atomic<int>*>(d); }));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(ran.load(), 1);
  CHECK_EQ(destroyed.load(), 1);
  OK(infinirtStreamDestroy(stream));
  CHECK_EQ(infinirtXLaunchHostFunc(stream, increment, &ran, [](void*) { destroyed += 10; }),
           infinirtErrorInvalidResourceHandle);
  CHECK_EQ(destroyed.load(), 11);
}

TEST(callbacks_run_in_order_with_the_stream_and_status) {
  infinirtStream_t stream = make_blocking_stream();
  struct Seen {
    infinirtStream_t stream;
    infinirtError_t status;
    int calls;
  } seen{};
  auto callback = [](infinirtStream_t s, infinirtError_t status, void* data) {
    auto* out = static_cast<Seen*>(data);
    *out = {s, status, out->calls + 1};
  };
  OK(infinirtStreamAddCallback(stream, callback, &seen, 0));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(seen.calls, 1);
  CHECK_EQ(seen.status, infinirtSuccess);
  CHECK(seen.stream == stream);
  CHECK_EQ(infinirtStreamAddCallback(stream, callback, &seen, 1), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtStreamAddCallback(stream, nullptr, &seen, 0), infinirtErrorInvalidValue);
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
