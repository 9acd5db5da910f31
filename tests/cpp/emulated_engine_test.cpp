// An engine on the five functions of a smallest backend: one call at a time unless the backend is thread-safe, and always
// with the right device current.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/emulated_engine.h"
#include "gate.h"
#include "support.h"

namespace {

using infinirt::Backend;
using infinirt::BuiltinBackend;
using infinirt::EmulatedEngine;
using infinirt::RequiredFunctions;

constexpr int kDevices = 2;

// A library that notices when it is called wrongly. Its memory is the host's, and no better aligned than malloc's.
template <bool kThreadSafe>
struct Library {
  static inline std::atomic<int> inside{0}, most_inside{0}, calls{0}, wrong_device{0}, meeting{0};
  static inline std::atomic<bool> entered{false}, held{false};
  static inline std::mutex mutex;
  static inline std::map<char*, std::pair<size_t, int>> blocks;  // address → size, device
  static inline std::atomic<int> process_device{0};
  static inline thread_local int thread_device = 0;

  // Around every call; long enough for another thread to come in between, if it may.
  struct Call {
    Call() {
      const int now = ++inside;
      for (int seen = most_inside; now > seen && !most_inside.compare_exchange_weak(seen, now);) {
      }
      ++calls;
      std::this_thread::yield();
    }
    ~Call() { --inside; }
  };

  // A library that is not thread-safe may keep the current device per thread or per process: both must be right.
  static void expect_device(int device) {
    if (thread_device != device || (!kThreadSafe && process_device != device)) ++wrong_device;
  }
  static int device_of(const void* pointer) {
    std::lock_guard guard(mutex);
    auto next = blocks.upper_bound(static_cast<char*>(const_cast<void*>(pointer)));
    if (next == blocks.begin()) return -1;
    auto [base, block] = *std::prev(next);
    return static_cast<const char*>(pointer) < base + block.first ? block.second : -1;
  }

  static infinirtError_t set_device(int device) {
    const Call call;
    thread_device = device;
    process_device = device;
    return infinirtSuccess;
  }
  static infinirtError_t synchronize() {
    const Call call;
    return infinirtSuccess;
  }
  static infinirtError_t allocate(void** out, size_t size) {
    const Call call;
    auto* pointer = static_cast<char*>(std::malloc(size));
    if (!pointer) return infinirtErrorMemoryAllocation;
    std::lock_guard guard(mutex);
    blocks[pointer] = {size, thread_device};
    *out = pointer;
    return infinirtSuccess;
  }
  static infinirtError_t release(void* pointer) {
    const Call call;
    {
      std::lock_guard guard(mutex);
      auto found = blocks.find(static_cast<char*>(pointer));
      if (found == blocks.end()) return infinirtErrorInvalidValue;
      expect_device(found->second.second);
      blocks.erase(found);
    }
    std::free(pointer);
    return infinirtSuccess;
  }
  static infinirtError_t copy(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind) {
    const Call call;
    if (kind != infinirtMemcpyHostToDevice) expect_device(device_of(src));
    if (kind != infinirtMemcpyDeviceToHost) expect_device(device_of(dst));
    if (meeting > 0) {  // waits for another call to be in here as well
      --meeting;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (meeting > 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    }
    if (held) {
      entered = true;
      while (held) std::this_thread::yield();
    }
    std::memmove(dst, src, count);
    return infinirtSuccess;
  }
};

template <bool kThreadSafe>
class TestEngine final : public EmulatedEngine {
 public:
  TestEngine() {
    using L = Library<kThreadSafe>;
    RequiredFunctions functions;
    functions.SetDevice = L::set_device;
    functions.DeviceSynchronize = L::synchronize;
    functions.Malloc = L::allocate;
    functions.Free = L::release;
    functions.Memcpy = L::copy;
    functions.device_count = kDevices;
    functions.memory_bytes = size_t{1} << 30;
    functions.thread_safe = kThreadSafe;
    backend.device_count = [](const infinirt::Backend&) { return kDevices; };
    initialise_emulated(kThreadSafe ? "parallel" : "serial", "this test", functions);
  }
  void properties(int, struct infinirtDeviceProp* properties) override {
    std::memset(properties, 0, sizeof *properties);
    properties->memoryPoolsSupported = 1;
  }
};

const BuiltinBackend serial(10, [] { return &(new TestEngine<false>)->backend; });
const BuiltinBackend parallel(11, [] { return &(new TestEngine<true>)->backend; });
using Serial = Library<false>;
using Parallel = Library<true>;

// Every kind of call that reaches the library, results checked.
void use_everything(unsigned seed, const char* type) {
  OK(infinirtXSetDeviceType(type));
  constexpr size_t kSize = 3000;
  infinirtStream_t streams[kDevices];
  for (int device = 0; device < kDevices; ++device) {
    OK(infinirtSetDevice(device));
    streams[device] = make_stream();
  }
  std::vector<char> host(kSize), back(kSize);
  for (unsigned round = 0; round < 40; ++round) {
    const int device = static_cast<int>((seed + round) % kDevices), other = (device + 1) % kDevices;
    OK(infinirtSetDevice(device));
    infinirtStream_t stream = streams[device];
    const auto value = static_cast<char>(seed * 50 + round);
    std::memset(host.data(), value, kSize);
    void *plain = nullptr, *pooled = nullptr, *far = nullptr;
    OK(infinirtMalloc(&plain, kSize));
    OK(infinirtMallocAsync(&pooled, kSize, stream));
    OK(infinirtMemcpyAsync(plain, host.data(), kSize, infinirtMemcpyHostToDevice, stream));
    OK(infinirtMemsetAsync(pooled, 0, kSize, stream));
    OK(infinirtMemcpy2DAsync(pooled, 100, plain, 100, 100, 30, infinirtMemcpyDeviceToDevice, stream));
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtSetDevice(other));
    OK(infinirtMalloc(&far, kSize));
    OK(infinirtMemcpyPeerAsync(far, other, pooled, device, kSize, stream));
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtMemcpy(back.data(), far, kSize, infinirtMemcpyDeviceToHost));
    CHECK(back == host);
    OK(infinirtFreeAsync(pooled, stream));
    OK(infinirtFree(plain));
    OK(infinirtFree(far));
  }
  for (infinirtStream_t stream : streams) {
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtStreamDestroy(stream));
  }
}

void use_from_many_threads(const char* type) {
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back([=] { use_everything(seed, type); });
  for (auto& thread : threads) thread.join();
}

}  // namespace

TEST(calls_of_a_backend_that_is_not_thread_safe_never_overlap) {
  use_from_many_threads("serial");
  CHECK_GT(Serial::calls.load(), 1000);
  CHECK_EQ(Serial::most_inside.load(), 1);
  CHECK_EQ(Serial::wrong_device.load(), 0);
  std::lock_guard guard(Serial::mutex);
  CHECK(Serial::blocks.empty());
}

TEST(a_thread_safe_backend_has_the_right_device_current) {
  use_from_many_threads("parallel");
  CHECK_EQ(Parallel::wrong_device.load(), 0);
  std::lock_guard guard(Parallel::mutex);
  CHECK(Parallel::blocks.empty());
}

TEST(calls_of_a_thread_safe_backend_may_overlap) {
  Parallel::meeting = 2;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([] {
      OK(infinirtXSetDeviceType("parallel"));
      void* memory = nullptr;
      char host[64] = {};
      OK(infinirtMalloc(&memory, sizeof host));
      OK(infinirtMemcpy(memory, host, sizeof host, infinirtMemcpyHostToDevice));
      OK(infinirtFree(memory));
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(Parallel::meeting.load(), 0);
  CHECK_GE(Parallel::most_inside.load(), 2);
}

// A new thread may get the number of one that has ended; its current device is another matter.
TEST(a_new_thread_is_not_taken_for_one_that_ended) {
  for (const char* type : {"serial", "parallel"}) {
    for (int i = 0; i < 20; ++i) {
      std::thread([type] {
        OK(infinirtXSetDeviceType(type));
        OK(infinirtSetDevice(1));
        void* memory = nullptr;
        OK(infinirtMalloc(&memory, 64));
        OK(infinirtMemset(memory, 1, 64));
        OK(infinirtDeviceSynchronize());
        CHECK_EQ((type[0] == 's' ? Serial::device_of(memory) : Parallel::device_of(memory)), 1);
        OK(infinirtFree(memory));
      }).join();
    }
  }
  CHECK_EQ(Serial::wrong_device.load(), 0);
  CHECK_EQ(Parallel::wrong_device.load(), 0);
}

TEST(a_forked_child_does_not_wait_for_a_call_of_the_parent) {
  OK(infinirtXSetDeviceType("serial"));
  OK(infinirtSetDevice(0));
  void* memory = nullptr;
  char host[64] = {};
  OK(infinirtMalloc(&memory, sizeof host));
  Serial::held = true;
  std::thread inside([&] {
    OK(infinirtXSetDeviceType("serial"));
    OK(infinirtMemcpy(memory, host, sizeof host, infinirtMemcpyHostToDevice));
  });
  while (!Serial::entered) std::this_thread::yield();
  const pid_t process = fork();
  if (process == 0) {
    alarm(20);
    Serial::held = false;
    void* own = nullptr;
    const bool good = infinirtMalloc(&own, 64) == infinirtSuccess &&
                      infinirtMemcpy(own, host, 64, infinirtMemcpyHostToDevice) == infinirtSuccess &&
                      infinirtFree(own) == infinirtSuccess;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ(waitpid(process, &status, 0), process);
  CHECK_EQ(status, 0);
  Serial::held = false;
  inside.join();
  OK(infinirtFree(memory));
}

TEST_MAIN()
