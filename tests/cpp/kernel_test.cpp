// Kernels: registration, launches, configuration checks, errors and cooperative launches.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "child.h"
#include "gate.h"
#include "support.h"

namespace {

constexpr dim3 kOne = {1, 1, 1};

template <class... Sizes>
infinirtError_t enroll(const char* name, infinirtXKernelFn function, Sizes... sizes) {
  const size_t list[] = {static_cast<size_t>(sizes)..., 0};
  const infinirtXKernelInfo info{name, function, list, sizeof...(sizes), 0};
  return infinirtXRegisterKernel(&info);
}

const void* address(infinirtXKernelFn function) { return reinterpret_cast<const void*>(function); }

size_t linear(const infinirtXBlock* b) {
  return b->blockIdx.x + size_t{b->gridDim.x} * (b->blockIdx.y + size_t{b->gridDim.y} * b->blockIdx.z);
}

infinirtError_t count_visit(const infinirtXBlock* b, void** args) {
  (*static_cast<std::atomic<int>**>(args[0]))[linear(b)].fetch_add(1);
  return infinirtSuccess;
}

infinirtError_t store(const infinirtXBlock*, void** args) {
  **static_cast<int**>(args[0]) = *static_cast<int*>(args[1]);
  return infinirtSuccess;
}

infinirtError_t nothing(const infinirtXBlock*, void**) { return infinirtSuccess; }

}  // namespace

TEST(every_block_of_a_grid_runs_once) {
  REQUIRE(enroll("count_visit", count_visit, 8) == infinirtSuccess);
  for (dim3 grid : {dim3{1, 1, 1}, dim3{7, 5, 3}, dim3{100000, 1, 1}, dim3{2, 300, 40}}) {
    std::vector<std::atomic<int>> visits(size_t{grid.x} * grid.y * grid.z);
    std::atomic<int>* data = visits.data();
    void* args[] = {&data};
    REQUIRE(infinirtLaunchKernel(address(count_visit), grid, kOne, args, 0, nullptr) == infinirtSuccess);
    REQUIRE(infinirtDeviceSynchronize() == infinirtSuccess);
    CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& n) { return n.load() == 1; }));
  }
}

TEST(slow_blocks_are_spread_over_threads) {
  static std::atomic<int> inside, most;
  static bool are_spread;
  static const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  struct infinirtDeviceProp p;
  REQUIRE(infinirtGetDeviceProperties(&p, 0) == infinirtSuccess);
  are_spread = p.multiProcessorCount > 1;
  const auto slow = [](const infinirtXBlock* block, void**) -> infinirtError_t {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    usleep(3000);
    // The other threads may take their time to come. The first block is done before they are called.
    while (are_spread && block->blockIdx.x > 0 && most < 2 && std::chrono::steady_clock::now() < end) usleep(300);
    --inside;
    return infinirtSuccess;
  };
  REQUIRE(enroll("slow", slow) == infinirtSuccess);
  REQUIRE(infinirtLaunchKernel(address(slow), dim3{64, 1, 1}, kOne, nullptr, 0, nullptr) == infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  CHECK_EQ(most.load() > 1, are_spread);
}

TEST(arguments_are_copied_at_launch) {
  REQUIRE(enroll("store", store, 8, 4) == infinirtSuccess);
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  Gate gate;
  int target = 0, value = 41;
  int* where = &target;
  void* args[] = {&where, &value};
  CHECK_EQ(gate.hold(stream), infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(address(store), kOne, kOne, args, 0, stream), infinirtSuccess);
  value = 0;
  where = nullptr;
  args[0] = args[1] = nullptr;
  gate.open();
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK_EQ(target, 41);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

TEST(parameters_are_laid_out_by_their_sizes) {
  static size_t sum;
  const auto check = [](const infinirtXBlock*, void** args) -> infinirtError_t {
    struct Big {
      char bytes[24];
    } big;
    std::memcpy(&big, args[3], sizeof big);
    sum = *static_cast<uint8_t*>(args[0]) + *static_cast<uint64_t*>(args[1]) + *static_cast<uint16_t*>(args[2]) +
          static_cast<size_t>(big.bytes[23]);
    return reinterpret_cast<uintptr_t>(args[1]) % 8 == 0 ? infinirtSuccess : infinirtErrorMisalignedAddress;
  };
  REQUIRE(enroll("layout", check, 1, 8, 2, 24) == infinirtSuccess);
  const size_t expected[][2] = {{0, 1}, {8, 8}, {16, 2}, {24, 24}};
  for (size_t i = 0; i < 4; ++i) {
    size_t offset = 99, size = 99;
    CHECK_EQ(infinirtFuncGetParamInfo(address(check), i, &offset, &size), infinirtSuccess);
    CHECK_EQ(offset, expected[i][0]);
    CHECK_EQ(size, expected[i][1]);
  }
  size_t offset = 0;
  CHECK_EQ(infinirtFuncGetParamInfo(address(check), 4, &offset, nullptr), infinirtErrorInvalidValue);
  uint8_t a = 1;
  uint64_t b = 1000;
  uint16_t c = 20;
  char d[24] = {};
  d[23] = 5;
  void* args[] = {&a, &b, &c, d};
  REQUIRE(infinirtLaunchKernel(address(check), kOne, kOne, args, 0, nullptr) == infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  CHECK_EQ(sum, 1026u);
}

TEST(shared_memory_is_private_to_a_block) {
  const auto kernel = [](const infinirtXBlock* b, void**) -> infinirtError_t {
    if (b->sharedMemBytes != 40000 || reinterpret_cast<uintptr_t>(b->sharedMem) % 128 != 0)
      return infinirtErrorInvalidValue;
    const int mark = static_cast<int>(b->blockIdx.x) & 0x7f;
    std::memset(b->sharedMem, mark, b->sharedMemBytes);
    usleep(50);  // others write meanwhile, if they could
    auto* bytes = static_cast<char*>(b->sharedMem);
    for (size_t i = 0; i < b->sharedMemBytes; ++i) {
      if (bytes[i] != mark) return infinirtErrorAssert;
    }
    return infinirtSuccess;
  };
  REQUIRE(enroll("shared", kernel) == infinirtSuccess);
  REQUIRE(infinirtLaunchKernel(address(kernel), dim3{200, 1, 1}, kOne, nullptr, 40000, nullptr) == infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
}

TEST(bad_configurations_are_refused_with_a_reason) {
  REQUIRE(enroll("store", store, 8, 4) == infinirtSuccess);
  REQUIRE(enroll("nothing", nothing) == infinirtSuccess);
  const auto launch = [](infinirtXKernelFn f, dim3 grid, dim3 block, size_t shared, void** args) {
    return infinirtLaunchKernel(address(f), grid, block, args, shared, nullptr);
  };
  CHECK_EQ(launch(nothing, {0, 1, 1}, kOne, 0, nullptr), infinirtErrorInvalidConfiguration);
  CHECK(says("gridDim (0, 1, 1)"));
  CHECK_EQ(launch(nothing, {1, 65536, 1}, kOne, 0, nullptr), infinirtErrorInvalidConfiguration);
  CHECK_EQ(launch(nothing, {1, 1, 65536}, kOne, 0, nullptr), infinirtErrorInvalidConfiguration);
  CHECK_EQ(launch(nothing, {2147483648u, 1, 1}, kOne, 0, nullptr), infinirtErrorInvalidConfiguration);
  CHECK_EQ(launch(nothing, kOne, {1, 0, 1}, 0, nullptr), infinirtErrorInvalidConfiguration);
  CHECK_EQ(launch(nothing, kOne, {1, 1, 65}, 0, nullptr), infinirtErrorInvalidConfiguration);
  CHECK_EQ(launch(nothing, kOne, {1025, 1, 1}, 0, nullptr), infinirtErrorInvalidConfiguration);
  CHECK_EQ(launch(nothing, kOne, {32, 33, 1}, 0, nullptr), infinirtErrorInvalidConfiguration);
  CHECK(says("1056 threads"));
  CHECK_EQ(launch(nothing, kOne, {32, 32, 1}, 0, nullptr), infinirtSuccess);
  CHECK_EQ(launch(nothing, kOne, kOne, 48 * 1024 + 1, nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(launch(store, kOne, kOne, 0, nullptr), infinirtErrorInvalidValue);
  CHECK(says("args is null"));
  int value = 1;
  void* half[] = {nullptr, &value};
  CHECK_EQ(launch(store, kOne, kOne, 0, half), infinirtErrorInvalidValue);
  CHECK(says("args[0]"));
  CHECK_EQ(infinirtLaunchKernel(&value, kOne, kOne, nullptr, 0, nullptr), infinirtErrorInvalidDeviceFunction);
  CHECK(says("infinirtXRegisterKernel"));
  CHECK_EQ(infinirtLaunchKernel(nullptr, kOne, kOne, nullptr, 0, nullptr), infinirtErrorInvalidDeviceFunction);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);  // nothing of it ran
}

TEST(registration_is_checked) {
  REQUIRE(enroll("store", store, 8, 4) == infinirtSuccess);
  CHECK_EQ(enroll("again", store, 8, 4), infinirtSuccess);
  CHECK_EQ(enroll("other", store, 8, 8), infinirtErrorInvalidValue);
  CHECK(says("infinirtXRegisterKernel: ") && says("other parameters"));
  CHECK_EQ(infinirtGetLastError(), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtXRegisterKernel(nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(enroll(nullptr, nothing), infinirtErrorInvalidValue);
  CHECK_EQ(enroll("null", nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(enroll("empty", nothing, 0), infinirtErrorInvalidValue);
  CHECK_EQ(enroll("large", nothing, 40000), infinirtErrorInvalidValue);
}

TEST(a_kernel_has_a_handle_a_name_and_attributes) {
  const auto kernel = [](const infinirtXBlock*, void**) -> infinirtError_t { return infinirtSuccess; };
  const infinirtXKernelInfo info{"described", kernel, nullptr, 0, 128};
  REQUIRE(infinirtXRegisterKernel(&info) == infinirtSuccess);
  infinirtKernel_t handle = nullptr;
  REQUIRE(infinirtGetKernel(&handle, address(kernel)) == infinirtSuccess);
  const char* name = nullptr;
  CHECK_EQ(infinirtFuncGetName(&name, handle), infinirtSuccess);
  CHECK_EQ(std::string(name), "described");
  CHECK_EQ(infinirtLaunchKernel(handle, kOne, dim3{128, 1, 1}, nullptr, 0, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(handle, kOne, dim3{129, 1, 1}, nullptr, 0, nullptr), infinirtErrorLaunchOutOfResources);

  struct infinirtFuncAttributes attributes;
  CHECK_EQ(infinirtFuncGetAttributes(&attributes, address(kernel)), infinirtSuccess);
  CHECK_EQ(attributes.maxThreadsPerBlock, 128);
  CHECK_EQ(attributes.maxDynamicSharedSizeBytes, 48 * 1024);
  CHECK_EQ(infinirtFuncSetAttribute(handle, infinirtFuncAttributeMaxDynamicSharedMemorySize, 100000), infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(handle, kOne, kOne, nullptr, 100000, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtFuncSetAttribute(handle, infinirtFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
           infinirtErrorInvalidValue);
  CHECK_EQ(infinirtFuncSetAttribute(handle, infinirtFuncAttributeClusterDimMustBeSet, 1), infinirtErrorNotSupported);
  CHECK_EQ(infinirtFuncSetAttribute(handle, static_cast<enum infinirtFuncAttribute>(99), 1), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtKernelSetAttributeForDevice(handle, infinirtFuncAttributePreferredSharedMemoryCarveout, 50, 0),
           infinirtSuccess);
  CHECK_EQ(infinirtKernelSetAttributeForDevice(handle, infinirtFuncAttributePreferredSharedMemoryCarveout, 50, 9),
           infinirtErrorInvalidDevice);
  CHECK_EQ(infinirtFuncGetAttributes(&attributes, handle), infinirtSuccess);
  CHECK_EQ(attributes.preferredShmemCarveout, 50);
  CHECK_EQ(infinirtFuncSetCacheConfig(handle, infinirtFuncCachePreferL1), infinirtSuccess);
  CHECK_EQ(infinirtFuncSetCacheConfig(handle, static_cast<enum infinirtFuncCache>(9)), infinirtErrorInvalidValue);

  int blocks = 0;
  CHECK_EQ(infinirtOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle, 128, 0), infinirtSuccess);
  CHECK_EQ(blocks, 16);
  CHECK_EQ(infinirtOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle, 128, 100000), infinirtSuccess);
  CHECK_EQ(blocks, 2);
  CHECK_EQ(infinirtOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle, 129, 0), infinirtSuccess);
  CHECK_EQ(blocks, 0);
  CHECK_EQ(infinirtOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle, 0, 0), infinirtErrorInvalidValue);
  size_t bytes = 0;
  CHECK_EQ(infinirtOccupancyAvailableDynamicSMemPerBlock(&bytes, handle, 4, 128), infinirtSuccess);
  CHECK_EQ(bytes, size_t{56 * 1024});
  CHECK_EQ(infinirtOccupancyAvailableDynamicSMemPerBlock(&bytes, handle, 17, 128), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
}

TEST(the_first_failing_block_is_reported) {
  const auto kernel = [](const infinirtXBlock* b, void**) -> infinirtError_t {
    return b->blockIdx.x == 3 && b->blockIdx.y == 2 ? infinirtErrorInvalidValue : infinirtSuccess;
  };
  REQUIRE(enroll("picky", kernel) == infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(address(kernel), dim3{5, 5, 1}, kOne, nullptr, 0, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorInvalidValue);
  CHECK(says("'picky'") && says("block (3, 2, 0)"));
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);  // not sticky: told once
}

TEST(a_kernel_says_why_it_fails) {
  const auto kernel = [](const infinirtXBlock* b, void**) -> infinirtError_t {
    if (b->blockIdx.x != 1) return infinirtSuccess;
    return infinirtXSetLastError(infinirtErrorInvalidValue, "the index 12 is too large");
  };
  REQUIRE(enroll("explaining", kernel) == infinirtSuccess);
  infinirtGetLastError();
  for (int turn = 0; turn < 2; ++turn) {
    CHECK_EQ(infinirtLaunchKernel(address(kernel), dim3{5, 1, 1}, kOne, nullptr, 0, nullptr), infinirtSuccess);
    CHECK_EQ(infinirtPeekAtLastError(), infinirtSuccess);  // it is an error of the stream's, wherever the kernel runs
    CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorInvalidValue);
    CHECK(says("block (1, 0, 0): the index 12 is too large"));
    infinirtGetLastError();
  }
}

TEST(a_kernel_may_not_call_the_api) {
  static std::atomic<int> seen{-1};
  const auto kernel = [](const infinirtXBlock*, void**) -> infinirtError_t {
    int device = 0;
    seen = infinirtGetDevice(&device);
    return infinirtSuccess;
  };
  REQUIRE(enroll("caller", kernel) == infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(address(kernel), kOne, kOne, nullptr, 0, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  CHECK_EQ(seen.load(), static_cast<int>(infinirtErrorNotPermitted));
}

TEST(cooperative_blocks_run_at_the_same_time) {
  static std::atomic<unsigned> arrived;
  arrived = 0;
  const auto kernel = [](const infinirtXBlock* b, void**) -> infinirtError_t {
    ++arrived;
    while (arrived < b->gridDim.x) std::this_thread::yield();  // for ever, unless all blocks are there
    return infinirtSuccess;
  };
  REQUIRE(enroll("barrier", kernel) == infinirtSuccess);
  int per_multiprocessor = 0;
  struct infinirtDeviceProp p;
  REQUIRE(infinirtGetDeviceProperties(&p, 0) == infinirtSuccess);
  REQUIRE(infinirtOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, address(kernel), 32, 0) ==
          infinirtSuccess);
  const auto most = static_cast<unsigned>(per_multiprocessor * p.multiProcessorCount);
  CHECK_EQ(infinirtLaunchCooperativeKernel(address(kernel), dim3{most, 1, 1}, dim3{32, 1, 1}, nullptr, 0, nullptr),
           infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  CHECK_EQ(arrived.load(), most);
  CHECK_EQ(infinirtLaunchCooperativeKernel(address(kernel), dim3{most + 1, 1, 1}, dim3{32, 1, 1}, nullptr, 0, nullptr),
           infinirtErrorCooperativeLaunchTooLarge);
}

TEST(launch_attributes) {
  static std::atomic<int> runs;
  runs = 0;
  const auto kernel = [](const infinirtXBlock*, void**) -> infinirtError_t { return ++runs, infinirtSuccess; };
  REQUIRE(enroll("attributed", kernel) == infinirtSuccess);
  infinirtStream_t stream;
  infinirtEvent_t event;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  REQUIRE(infinirtEventCreateWithFlags(&event, infinirtEventDisableTiming) == infinirtSuccess);
  infinirtLaunchAttribute attributes[3] = {};
  attributes[0].id = infinirtLaunchAttributePriority;
  attributes[1].id = infinirtLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  attributes[2].id = infinirtLaunchAttributeLaunchCompletionEvent;
  attributes[2].val.launchCompletionEvent.event = event;
  infinirtLaunchConfig_t config = {};
  config.gridDim = {2, 1, 1};
  config.blockDim = kOne;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 3;
  Gate gate;
  CHECK_EQ(gate.hold(stream), infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernelExC(&config, address(kernel), nullptr), infinirtSuccess);
  CHECK_EQ(infinirtEventQuery(event), infinirtErrorNotReady);
  gate.open();
  CHECK_EQ(infinirtEventSynchronize(event), infinirtSuccess);
  CHECK_EQ(runs.load(), 2);
  attributes[0].id = infinirtLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {2, 1, 1};
  CHECK_EQ(infinirtLaunchKernelExC(&config, address(kernel), nullptr), infinirtErrorNotSupported);
  attributes[0].id = static_cast<infinirtLaunchAttributeID>(77);
  CHECK_EQ(infinirtLaunchKernelExC(&config, address(kernel), nullptr), infinirtErrorInvalidValue);
  config.attrs = nullptr;
  CHECK_EQ(infinirtLaunchKernelExC(&config, address(kernel), nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtLaunchKernelExC(nullptr, address(kernel), nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
  CHECK_EQ(runs.load(), 2);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
  CHECK_EQ(infinirtEventDestroy(event), infinirtSuccess);
}

TEST(threads_register_and_launch_at_once) {
  REQUIRE(enroll("count_visit", count_visit, 8) == infinirtSuccess);
  std::vector<std::atomic<int>> visits(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      infinirtStream_t stream;
      CHECK_EQ(infinirtStreamCreate(&stream), infinirtSuccess);
      std::atomic<int>* data = visits.data();
      void* args[] = {&data};
      for (int i = 0; i < 200; ++i) {
        CHECK_EQ(enroll("count_visit", count_visit, 8), infinirtSuccess);
        CHECK_EQ(infinirtLaunchKernel(address(count_visit), kOne, kOne, args, 0, stream), infinirtSuccess);
      }
      CHECK_EQ(infinirtStreamSynchronize(stream), infinirtSuccess);
      CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQ(visits[0].load(), 800);
}

CHILD(other_device) {
  REQUIRE(enroll("nothing", nothing) == infinirtSuccess);
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  REQUIRE(infinirtSetDevice(1) == infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(address(nothing), kOne, kOne, nullptr, 0, stream), infinirtErrorInvalidResourceHandle);
  CHECK(says(device_name(0)) && says("infinirtSetDevice"));
  CHECK_EQ(infinirtLaunchKernel(address(nothing), kOne, kOne, nullptr, 0, nullptr), infinirtSuccess);
}

CHILD(sticky) {
  const auto kernel = [](const infinirtXBlock*, void**) -> infinirtError_t { return infinirtErrorIllegalAddress; };
  REQUIRE(enroll("wild", kernel) == infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(address(kernel), kOne, kOne, nullptr, 0, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorIllegalAddress);
  CHECK(says("'wild'"));
  CHECK_EQ(infinirtLaunchKernel(address(kernel), kOne, kOne, nullptr, 0, nullptr), infinirtErrorIllegalAddress);
  CHECK_EQ(infinirtDeviceReset(), infinirtSuccess);
  REQUIRE(enroll("nothing", nothing) == infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(address(nothing), kOne, kOne, nullptr, 0, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
}
TEST(a_stream_of_another_device_is_refused) { CHECK_EQ(child::run("other_device", {"INFINIRT_CPU_DEVICES=2"}), 0); }
TEST(a_sticky_error_stays_until_reset) { CHECK_EQ(child::run("sticky", {}), 0); }

CHILD_MAIN()
