// Stream-ordered memory under random programs and many threads.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "child.h"
#include "pool_support.h"

// Frees and allocations cross streams at random; a block that two hands hold at once shows in its contents.
void churn(unsigned seed) {
  constexpr int kStreams = 4, kBlocks = 24, kRounds = 300;
  infinirtMemPool_t pool = make_pool(32 * kMiB);
  infinirtStream_t streams[kStreams];
  for (int i = 0; i < kStreams; ++i)
    streams[i] = make_stream(i % 2 ? infinirtStreamNonBlocking : infinirtStreamDefault);
  struct Held {
    void* pointer = nullptr;
    size_t size = 0;
    int stream = 0;
    int value = 0;
  } held[kBlocks];
  std::atomic<int> wrong{0};
  struct Look {
    std::vector<unsigned char> bytes;
    int value;
    std::atomic<int>* wrong;
  };
  std::vector<std::unique_ptr<Look>> looks;
  uint32_t state = seed * 2654435761u + 1;
  auto next = [&](uint32_t bound) { return (state = state * 1664525u + 1013904223u) / 65536 % bound; };
  for (int round = 0; round < kRounds; ++round) {
    Held& slot = held[next(kBlocks)];
    infinirtStream_t stream = streams[slot.stream];
    if (!slot.pointer) {
      slot.stream = static_cast<int>(next(kStreams));
      slot.size = next(4) ? 512 + next(60000) : 200000 + next(600000);
      slot.value = 1 + static_cast<int>(next(250));
      slot.pointer = allocate(streams[slot.stream], slot.size, pool);
      OK(infinirtMemsetAsync(slot.pointer, slot.value, slot.size, streams[slot.stream]));
      continue;
    }
    looks.push_back(std::make_unique<Look>(Look{std::vector<unsigned char>(slot.size), slot.value, &wrong}));
    Look* look = looks.back().get();
    OK(infinirtHostRegister(look->bytes.data(), slot.size, infinirtHostRegisterDefault));
    OK(infinirtMemcpyAsync(look->bytes.data(), slot.pointer, slot.size, infinirtMemcpyDeviceToHost, stream));
    OK(infinirtLaunchHostFunc(
        stream,
        [](void* data) {
          auto* l = static_cast<Look*>(data);
          for (unsigned char byte : l->bytes) {
            if (byte != l->value) {
              ++*l->wrong;
              break;
            }
          }
        },
        look));
    OK(infinirtFreeAsync(slot.pointer, stream));
    slot.pointer = nullptr;
    if (next(16) == 0) OK(infinirtStreamSynchronize(stream));
  }
  for (Held& slot : held) {
    if (slot.pointer) OK(infinirtFreeAsync(slot.pointer, streams[slot.stream]));
  }
  OK(infinirtDeviceSynchronize());
  for (auto& look : looks) OK(infinirtHostUnregister(look->bytes.data()));
  CHECK_EQ(wrong.load(), 0);
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrUsedMemCurrent), 0u);
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 0u);
  OK(infinirtMemPoolDestroy(pool));
  for (auto stream : streams) OK(infinirtStreamDestroy(stream));
}

CHILD(churn_all) {
  for (unsigned seed = 0; seed < 4; ++seed) churn(seed);
}
TEST(no_block_is_in_two_hands_async) { CHECK_EQ(child::run("churn_all", {"INFINIRT_CPU_SCHEDULE=async"}), 0); }
TEST(no_block_is_in_two_hands_inline) {
  skip_on_native(kSchedule);
  CHECK_EQ(child::run("churn_all", {"INFINIRT_CPU_SCHEDULE=inline"}), 0);
}

TEST(no_block_is_in_two_hands_random) {
  skip_on_native(kSchedule);
  for (const char* seed :
       {"INFINIRT_CPU_SCHEDULE=random:1", "INFINIRT_CPU_SCHEDULE=random:2", "INFINIRT_CPU_SCHEDULE=random:3"}) {
    CHECK_EQ(child::run("churn_all", {seed}), 0);
  }
}

TEST(threads_with_streams_that_come_and_go) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (unsigned round = 0; round < 40; ++round) {
        infinirtStream_t stream = make_stream(round % 2 ? infinirtStreamNonBlocking : infinirtStreamDefault);
        void* blocks[8];
        for (unsigned i = 0; i < 8; ++i) {
          blocks[i] = allocate(stream, 256u << ((i + t) % 12));
          OK(infinirtMemsetAsync(blocks[i], static_cast<int>(t), 256, stream));
        }
        for (void* block : blocks)
          OK(infinirtFreeAsync(block, round % 4 == 2 ? nullptr : stream));  // ordered after a blocking stream
        if (round % 8 == 0) OK(infinirtStreamSynchronize(stream));
        OK(infinirtStreamDestroy(stream));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  OK(infinirtDeviceSynchronize());
  CHECK_EQ(attribute(default_pool(), infinirtMemPoolAttrUsedMemCurrent), 0u);
}

TEST(pools_that_come_and_go_are_recycled) {
  infinirtStream_t stream = make_stream();
  for (int i = 0; i < 200; ++i) {
    infinirtMemPool_t pool = make_pool();
    CHECK_EQ(attribute(pool, infinirtMemPoolAttrReleaseThreshold), 0u);
    OK(set_attribute(pool, infinirtMemPoolAttrReleaseThreshold, 1));
    void* block = allocate(stream, 1000, pool);
    if (i % 2) OK(infinirtFreeAsync(block, stream));
    OK(infinirtMemPoolDestroy(pool));
    if (i % 2 == 0) OK(infinirtFreeAsync(block, stream));
  }
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

CHILD_MAIN()
