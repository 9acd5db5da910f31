// Streams that several threads use, destroy and reset at the same time.
#include <atomic>
#include <thread>
#include <vector>

#include "support.h"

namespace {

void increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

TEST(many_threads_share_streams_and_events) {
  constexpr int kThreads = 4, kRounds = 300;
  infinirtStream_t shared = make_blocking_stream();
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      infinirtStream_t own = make_stream();
      infinirtEvent_t event = make_event();
      for (int i = 0; i < kRounds; ++i) {
        OK(infinirtLaunchHostFunc(own, increment, &ran));
        OK(infinirtEventRecord(event, own));
        OK(infinirtStreamWaitEvent(shared, event, 0));
        OK(infinirtLaunchHostFunc(shared, increment, &ran));
        if (i % 50 == 0) OK(infinirtLaunchHostFunc(nullptr, increment, &ran));
        if (i % 64 == 0) OK(infinirtEventSynchronize(event));
      }
      OK(infinirtStreamDestroy(own));
      OK(infinirtEventDestroy(event));
    });
  }
  for (auto& thread : threads) thread.join();
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(ran.load(), kThreads * (2 * kRounds + kRounds / 50));
  OK(infinirtStreamDestroy(shared));
}

TEST(threads_that_end_and_a_device_that_is_reset_do_not_share_streams) {
  skip_on_native("a real device cannot be reset under running threads");
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) std::thread([] { (void)infinirtStreamQuery(infinirtStreamPerThread); }).join();
    });
  }
  for (int i = 0; i < 3000; ++i) OK(infinirtDeviceReset());
  stop = true;
  for (auto& thread : threads) thread.join();
  std::vector<infinirtStream_t> streams(600);
  std::vector<unsigned long long> ids(streams.size());
  for (size_t i = 0; i < streams.size(); ++i) {
    OK(infinirtStreamCreate(&streams[i]));
    OK(infinirtStreamGetId(streams[i], &ids[i]));
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    unsigned long long id = 0;
    OK(infinirtStreamGetId(streams[i], &id));
    CHECK_EQ(id, ids[i]);  // nobody else was given the same object
    OK(infinirtStreamDestroy(streams[i]));
  }
}

TEST(work_accepted_on_a_stream_that_another_thread_destroys_still_runs) {
  skip_on_native(kGoneHandle);
  std::atomic<int> accepted{0}, ran{0};
  for (int round = 0; round < 300; ++round) {
    infinirtStream_t stream = make_stream();
    std::thread user([&] {
      for (int i = 0; i < 20; ++i) {
        const infinirtError_t error = infinirtLaunchHostFunc(stream, increment, &ran);
        if (error == infinirtSuccess)
          ++accepted;
        else
          CHECK_EQ(error, infinirtErrorInvalidResourceHandle);
      }
    });
    OK(infinirtStreamDestroy(stream));
    user.join();
  }
  (void)infinirtGetLastError();
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(ran.load(), accepted.load());
}

TEST_MAIN()
