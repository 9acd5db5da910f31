// The collectives from C and C++: threads and streams that race, for the sanitizers. What each operation computes is compared with
// NumPy in tests/ccl.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "infiniccl.h"
#include "support.h"

#define DONE(call) CHECK_EQ(call, INFINI_STATUS_SUCCESS)

namespace {

struct Ranks {
  std::vector<infinicclComm_t> comms;
  std::vector<infinirtStream_t> streams;

  explicit Ranks(int count) : comms(static_cast<size_t>(count)), streams(static_cast<size_t>(count)) {
    const std::vector<int> devices(comms.size(), 0);
    DONE(infinicclCommInitAll(INFINI_DEVICE_CPU, comms.data(), count, devices.data()));
    for (auto& stream : streams) OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  }
  ~Ranks() {
    for (auto comm : comms) DONE(infinicclCommDestroy(comm));
    for (auto stream : streams) OK(infinirtStreamDestroy(stream));
  }
};

class Memory {
 public:
  Memory(size_t count, int64_t value) : count_(count) {
    OK(infinirtMalloc(&memory_, count * sizeof(int64_t)));
    const std::vector<int64_t> content(count, value);
    OK(infinirtMemcpy(memory_, content.data(), count * sizeof(int64_t), infinirtMemcpyHostToDevice));
  }
  ~Memory() { OK(infinirtFree(memory_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* at() const { return memory_; }
  bool is_all(int64_t value) const {
    std::vector<int64_t> content(count_);
    OK(infinirtMemcpy(content.data(), memory_, count_ * sizeof(int64_t), infinirtMemcpyDeviceToHost));
    for (int64_t each : content) {
      if (each != value) return false;
    }
    return true;
  }

 private:
  void* memory_ = nullptr;
  size_t count_;
};

infiniStatus_t sum(const Ranks& ranks, size_t rank, const Memory& memory, size_t count) {
  return infinicclAllReduce(memory.at(), memory.at(), count, INFINI_DTYPE_I64, INFINICCL_SUM, ranks.comms[rank],
                            ranks.streams[rank]);
}

}  // namespace

TEST(a_thread_for_each_rank) {
  for (const size_t count : {size_t{1}, size_t{3000}, size_t{200'000}}) {
    const Ranks ranks(4);
    std::vector<std::thread> threads;
    for (size_t r = 0; r < 4; ++r) {
      threads.emplace_back([&, r] {
        const Memory memory(count, 1);
        for (int i = 0; i < 10; ++i) DONE(sum(ranks, r, memory, count));
        OK(infinirtStreamSynchronize(ranks.streams[r]));
        CHECK(memory.is_all(int64_t{1} << 20));
      });
    }
    for (auto& thread : threads) thread.join();
  }
}

TEST(one_thread_and_groups) {
  const Ranks ranks(3);
  const Memory a(10, 1), b(10, 2), c(10, 3);
  const Memory* all[] = {&a, &b, &c};
  for (int i = 0; i < 200; ++i) {
    if (i % 2) DONE(infinicclGroupStart(nullptr));
    for (size_t r = 0; r < 3; ++r) {
      DONE(infinicclAllReduce(all[r]->at(), all[r]->at(), 10, INFINI_DTYPE_I64, INFINICCL_MAX, ranks.comms[r],
                              ranks.streams[r]));
    }
    if (i % 2) DONE(infinicclGroupEnd(nullptr));
  }
  for (size_t r = 0; r < 3; ++r) {
    OK(infinirtStreamSynchronize(ranks.streams[r]));
    CHECK(all[r]->is_all(3));
  }
}

TEST(graphs_of_several_ranks_replay_at_once) {
  const Ranks ranks(2);
  const Memory a(500, 1), b(500, 1);
  const Memory* all[] = {&a, &b};
  infinirtGraphExec_t ready[2];
  for (size_t r = 0; r < 2; ++r) {
    infinirtGraph_t graph = nullptr;
    OK(infinirtStreamBeginCapture(ranks.streams[r], infinirtStreamCaptureModeRelaxed));
    DONE(sum(ranks, r, *all[r], 500));
    DONE(sum(ranks, r, *all[r], 500));
    OK(infinirtStreamEndCapture(ranks.streams[r], &graph));
    OK(infinirtGraphInstantiate(&ready[r], graph, 0));
    OK(infinirtGraphDestroy(graph));
  }
  std::vector<std::thread> threads;
  for (size_t r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      for (int i = 0; i < 5; ++i) OK(infinirtGraphLaunch(ready[r], ranks.streams[r]));
      OK(infinirtStreamSynchronize(ranks.streams[r]));
      OK(infinirtGraphExecDestroy(ready[r]));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(a.is_all(1024));
  CHECK(b.is_all(1024));
}

TEST(abort_while_ranks_arrive) {
  for (int i = 0; i < 50; ++i) {
    const Ranks ranks(3);
    std::vector<std::thread> threads;
    for (size_t r = 0; r < 2; ++r) {
      threads.emplace_back([&, r] {
        for (int k = 0; k < 3; ++k) infinicclBarrier(ranks.comms[r], ranks.streams[r]);
        infinirtStreamSynchronize(ranks.streams[r]);  // fails, and ends
      });
    }
    infinicclBarrier(ranks.comms[2], ranks.streams[2]);
    DONE(infinicclCommAbort(ranks.comms[2]));
    for (auto& thread : threads) thread.join();
    infinirtDeviceSynchronize();
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    const char* message = nullptr;
    DONE(infinicclCommGetAsyncError(ranks.comms[0], &status, &message));
    CHECK_EQ(status, INFINI_STATUS_INTERNAL_ERROR);
    CHECK_EQ(std::string(message), "rank 2 aborted it");
    infinirtGetLastError();
  }
}

TEST(ranks_of_an_id) {
  infinicclUniqueId_t id;
  DONE(infinicclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      infinicclComm_t comm = nullptr;
      infinirtStream_t stream = nullptr;
      DONE(infinicclCommInitRank(&comm, 3, id, r));
      OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
      const Memory memory(100'000, r);
      for (int i = 0; i < 5; ++i)
        DONE(infinicclAllReduce(memory.at(), memory.at(), 100'000, INFINI_DTYPE_I64, INFINICCL_MAX, comm, stream));
      OK(infinirtStreamSynchronize(stream));
      CHECK(memory.is_all(2));
      DONE(infinicclCommDestroy(comm));
      OK(infinirtStreamDestroy(stream));
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(handles_that_are_none) {
  CHECK_EQ(infinicclCommDestroy(nullptr), INFINI_STATUS_NULL_POINTER);
  CHECK_EQ(infinicclCommDestroy(reinterpret_cast<infinicclComm_t>(uintptr_t{0x1234})), INFINI_STATUS_BAD_PARAM);
  CHECK_EQ(infinicclBarrier(nullptr, nullptr), INFINI_STATUS_NULL_POINTER);
  CHECK_EQ(infinicclCommInitAll(INFINI_DEVICE_CPU, nullptr, 2, nullptr), INFINI_STATUS_NULL_POINTER);
  infinicclComm_t comm = nullptr;
  CHECK_EQ(infinicclCommInitAll(INFINI_DEVICE_CPU, &comm, 0, nullptr), INFINI_STATUS_BAD_PARAM);
  CHECK_EQ(infinicclCommInitAll(INFINI_DEVICE_KUNLUN, &comm, 1, nullptr), INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED);
  infinirtGetLastError();
}

TEST_MAIN()
