// The CPU device as the environment makes it: settings, accounts, properties, and the kinds of memory.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "backends/cpu/memory.h"
#include "backends/cpu/settings.h"
#include "child.h"
#include "core/error.h"
#include "cpu_support.h"
#include "infinirt.h"
#include "infinirt_ext.h"

using namespace infinirt;
using namespace infinirt::cpu;

namespace {

std::string message() { return thread_extra(thread_state()).pending_message; }

}  // namespace

TEST(sizes_are_parsed) {
  size_t bytes = 0;
  CHECK(parse_bytes("0", &bytes) && bytes == 0);
  CHECK(parse_bytes("4096", &bytes) && bytes == 4096);
  CHECK(parse_bytes("64K", &bytes) && bytes == 64 * KiB);
  CHECK(parse_bytes("3m", &bytes) && bytes == 3 * MiB);
  CHECK(parse_bytes("2GB", &bytes) && bytes == 2048 * MiB);
  CHECK(parse_bytes("12b", &bytes) && bytes == 12);
  for (const char* bad : {"", "K", "-1", "1.5G", "1X", "1Kx", "99999999999999999999", "99999999999T"})
    CHECK(!parse_bytes(bad, &bytes));
}

TEST(accounts_are_per_device_and_failures_leave_them_alone) {
  MemoryOptions options;
  options.limit = MiB;
  MemoryManager memory(2, options);
  REQUIRE(memory.problem().empty());
  void *a = nullptr, *b = nullptr, *c = nullptr;
  CHECK_EQ(memory.allocate(0, 700 * KiB, MemoryKind::Device, &a), infinirtSuccess);
  CHECK_EQ(memory.allocate(0, 400 * KiB, MemoryKind::Device, &b), infinirtErrorMemoryAllocation);
  for (const char* part : {"409600", "cpu:0", "1048576", "716800"}) CHECK(contains(message(), part));
  CHECK_EQ(memory.allocate(1, 400 * KiB, MemoryKind::Managed, &b), infinirtSuccess);
  CHECK(!memory.in_device_range(b));
  CHECK(memory.in_device_range(a));
  CHECK_EQ(memory.allocate(0, 10 * MiB, MemoryKind::Pinned, &c), infinirtSuccess);  // the host's, not the device's
  size_t free_bytes = 0, total = 0;
  memory.info(0, &free_bytes, &total);
  CHECK_EQ(free_bytes, 324 * KiB);
  CHECK_EQ(total, MiB);
  CHECK_EQ(memory.allocate(0, SIZE_MAX, MemoryKind::Device, &b), infinirtErrorMemoryAllocation);
  memory.release(0, a, 700 * KiB, MemoryKind::Device);
  memory.info(0, &free_bytes, &total);
  CHECK_EQ(free_bytes, MiB);
  CHECK_EQ(memory.set_limit(2, 5), infinirtErrorInvalidDevice);
  CHECK_EQ(memory.set_limit(0, 0), infinirtSuccess);
  memory.info(0, &free_bytes, &total);
  CHECK_EQ(total, usable_memory());
}

TEST(visible_devices_follow_the_environment) {
  struct Case {
    const char *count, *visible;
    std::vector<int> expected;
    bool problem;
  };
  for (const Case& c :
       {Case{nullptr, nullptr, {0}, false}, Case{"3", nullptr, {0, 1, 2}, false},
        Case{"3", "cpu:2,cpu:0", {2, 0}, false}, Case{"3", " 1 , cpu:1", {1}, false},
        Case{"3", "gpu:0", {0, 1, 2}, false}, Case{"3", "gpu:0,1", {1}, false}, Case{"3", "1,7,0", {1}, false},
        Case{"3", "7", {}, true}, Case{"3", "", {}, true}, Case{"2", "x", {}, true}, Case{"0", nullptr, {}, true},
        Case{"17", nullptr, {}, true}, Case{"two", nullptr, {}, true}}) {
    c.count ? setenv("INFINIRT_CPU_DEVICES", c.count, 1) : unsetenv("INFINIRT_CPU_DEVICES");
    c.visible ? setenv("INFINIRT_VISIBLE_DEVICES", c.visible, 1) : unsetenv("INFINIRT_VISIBLE_DEVICES");
    std::string problem;
    CHECK(visible_devices("cpu", &problem) == c.expected);
    CHECK_EQ(!problem.empty(), c.problem);
  }
  unsetenv("INFINIRT_CPU_DEVICES");
  unsetenv("INFINIRT_VISIBLE_DEVICES");
}

TEST(every_attribute_has_a_value_and_the_properties_hold_together) {
  REQUIRE(infinirtXSetDeviceType("cpu") == infinirtSuccess);
  struct infinirtDeviceProp p;
  REQUIRE(infinirtGetDeviceProperties(&p, 0) == infinirtSuccess);
  CHECK(contains(p.name, "(cpu:0)"));
  CHECK_GT(p.totalGlobalMem, size_t{0});
  CHECK_EQ(p.warpSize, 32);
  CHECK_EQ(p.maxThreadsPerBlock, 1024);
  CHECK_GE(p.multiProcessorCount, 1);
  CHECK_EQ(p.pciBusID, 0xC0);
  struct infinirtDeviceProp second;
  REQUIRE(infinirtGetDeviceProperties(&second, 0) == infinirtSuccess);
  CHECK_EQ(std::memcmp(&p.uuid, &second.uuid, sizeof p.uuid), 0);
  int known = 0, value = 0;
  for (int attribute = 0; attribute <= 200; ++attribute) {
    const auto error = infinirtDeviceGetAttribute(&value, static_cast<enum infinirtDeviceAttr>(attribute), 0);
    CHECK(error == infinirtSuccess || error == infinirtErrorInvalidValue);
    known += error == infinirtSuccess;
  }
  CHECK_EQ(known, 134);  // 136 enumerators: one number has two names, and one is the end mark
  infinirtDeviceGetAttribute(&value, infinirtDevAttrMaxGridDimX, 0);
  CHECK_EQ(value, p.maxGridSize[0]);
  infinirtDeviceGetAttribute(&value, infinirtDevAttrComputeCapabilityMajor, 0);
  CHECK_EQ(value, p.major);
}

namespace {

infinirtError_t add_one(const infinirtXBlock*, void** args) {
  auto* data = *static_cast<int**>(args[0]);
  const int count = *static_cast<int*>(args[1]);
  for (int i = 0; i < count; ++i) ++data[i];
  return infinirtSuccess;
}

infinirtError_t add_one_to(void* data, int count) {
  const size_t sizes[] = {8, 4};
  const infinirtXKernelInfo info{"add_one", add_one, sizes, 2, 0};
  if (auto error = infinirtXRegisterKernel(&info)) return error;
  void* args[] = {&data, &count};
  return infinirtLaunchKernel(reinterpret_cast<const void*>(add_one), dim3{1, 1, 1}, dim3{1, 1, 1}, args, 0, nullptr);
}

// What every device has to do, whatever its memory is like.
void use_device(const char* type) {
  REQUIRE(infinirtXSetDeviceType(type) == infinirtSuccess);
  int host[1000], back[1000];
  std::iota(host, host + 1000, 0);
  void* device = nullptr;
  REQUIRE(infinirtMalloc(&device, sizeof host) == infinirtSuccess);
  CHECK_EQ(infinirtMemcpy(device, host, sizeof host, infinirtMemcpyHostToDevice), infinirtSuccess);
  CHECK_EQ(add_one_to(device, 1000), infinirtSuccess);
  CHECK_EQ(infinirtMemcpy(back, device, sizeof host, infinirtMemcpyDeviceToHost), infinirtSuccess);
  for (int i = 0; i < 1000; ++i) CHECK_EQ(back[i], i + 1);
  CHECK_EQ(infinirtMemset2D(device, 40, 7, 8, 100), infinirtSuccess);
  CHECK_EQ(infinirtMemcpy(back, device, sizeof host, infinirtMemcpyDeviceToHost), infinirtSuccess);
  CHECK_EQ(back[0], 0x07070707);
  CHECK_EQ(back[2], 3);
  CHECK_EQ(back[991], 0x07070707);
  CHECK_EQ(infinirtFree(device), infinirtSuccess);
}

}  // namespace

CHILD(isolated) {
  use_device("cpu");
  void *device = nullptr, *alias = nullptr, *pinned = nullptr, *managed = nullptr;
  REQUIRE(infinirtMalloc(&device, 4096) == infinirtSuccess);
  CHECK(!readable(device));
  CHECK_EQ(infinirtMemset(device, 5, 4096), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  REQUIRE(infinirtXGetHostAddress(&alias, device) == infinirtSuccess);
  CHECK_EQ(static_cast<char*>(alias)[4095], 5);
  CHECK_EQ(infinirtMallocHost(&pinned, 4096), infinirtSuccess);
  CHECK_EQ(infinirtMallocManaged(&managed, 4096, infinirtMemAttachGlobal), infinirtSuccess);
  CHECK(readable(pinned) && readable(managed));
}

CHILD(guarded) {
  REQUIRE(infinirtXSetDeviceType("cpu") == infinirtSuccess);
  use_device("cpu");
  void* device = nullptr;
  REQUIRE(infinirtMalloc(&device, 100) == infinirtSuccess);
  CHECK_EQ(add_one_to(device, 26), infinirtSuccess);  // one int too many
  infinirtStreamSynchronize(nullptr);
  CHECK_EQ(infinirtFree(device), infinirtErrorInvalidValue);
  CHECK(contains(infinirtXGetLastErrorMessage(), "0 bytes past the end"));
  REQUIRE(infinirtMalloc(&device, 100) == infinirtSuccess);
  CHECK_EQ(add_one_to(device, 26), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorIllegalAddress);
  CHECK(contains(infinirtXGetLastErrorMessage(), "0 bytes past the end"));
}

CHILD(minimal) {
  use_device("cpu-min");
  void* managed = nullptr;
  CHECK_EQ(infinirtMallocManaged(&managed, 4096, infinirtMemAttachGlobal), infinirtErrorNotSupported);
  enum infinirtXSupport support = infinirtXSupportNone;
  CHECK_EQ(infinirtXGetSupport(&support, "cpu-min", "infinirtMemcpy"), infinirtSuccess);
  CHECK_EQ(support, infinirtXSupportNative);
  CHECK_EQ(infinirtXGetSupport(&support, "cpu-min", "infinirtMemset2D"), infinirtSuccess);
  CHECK_EQ(support, infinirtXSupportEmulated);
  CHECK_EQ(infinirtXSetMemoryLimit(0, MiB), infinirtSuccess);
  void* p = nullptr;
  CHECK_EQ(infinirtMalloc(&p, 2 * MiB), infinirtErrorMemoryAllocation);
  CHECK_EQ(infinirtMalloc(&p, MiB), infinirtSuccess);
  CHECK_EQ(infinirtFree(p), infinirtSuccess);
  void *a = nullptr, *b = nullptr;
  CHECK_EQ(infinirtXSetMemoryLimit(0, 0), infinirtSuccess);
  REQUIRE(infinirtMalloc(&a, 3 * MiB) == infinirtSuccess);
  REQUIRE(infinirtSetDevice(1) == infinirtSuccess);
  REQUIRE(infinirtMalloc(&b, 3 * MiB) == infinirtSuccess);
  CHECK_EQ(infinirtMemset(a, 9, 3 * MiB), infinirtSuccess);
  CHECK_EQ(infinirtMemcpyPeer(b, 1, a, 0, 3 * MiB), infinirtSuccess);
  std::vector<char> host(3 * MiB);
  CHECK_EQ(infinirtMemcpy(host.data(), b, host.size(), infinirtMemcpyDefault), infinirtSuccess);
  CHECK(std::all_of(host.begin(), host.end(), [](char c) { return c == 9; }));
}

CHILD(three_devices) {
  int count = 0;
  REQUIRE(infinirtXSetDeviceType("cpu") == infinirtSuccess);
  CHECK_EQ(infinirtGetDeviceCount(&count), infinirtSuccess);
  CHECK_EQ(count, 2);
  struct infinirtDeviceProp p;
  REQUIRE(infinirtGetDeviceProperties(&p, 0) == infinirtSuccess);
  CHECK(contains(p.name, "(cpu:2)"));
  size_t free_bytes = 0, total = 0;
  CHECK_EQ(infinirtMemGetInfo(&free_bytes, &total), infinirtSuccess);
  CHECK_EQ(total, 3 * MiB);
}

CHILD(bad_settings) {
  infinirtXDeviceTypeInfo info;
  REQUIRE(infinirtXGetDeviceTypeInfo(&info, 0) == infinirtSuccess);
  CHECK_EQ(std::string(info.name), "cpu");
  CHECK_EQ(info.deviceCount, 0);
  CHECK(contains(info.problem, std::getenv("EXPECTED")));
  CHECK_EQ(infinirtXSetDeviceType("cpu"), infinirtErrorNoDevice);
}

TEST(isolated_mode) {
  CHECK_EQ(child::run("isolated", {"INFINIRT_CPU_MEMORY=isolated"}), 0);
  CHECK_EQ(child::run("isolated", {"INFINIRT_CPU_MEMORY=isolated,guarded"}), 0);
}

TEST(guarded_mode) {
  CHECK_EQ(child::run("guarded", {"INFINIRT_CPU_MEMORY=guarded"}), 0);
  CHECK_EQ(child::run("guarded", {"INFINIRT_CPU_MEMORY=guarded,isolated"}), 0);
}

TEST(minimal_backend) {
  CHECK_EQ(child::run("minimal", {"INFINIRT_CPU_MIN=1", "INFINIRT_CPU_DEVICES=2"}), 0);
  CHECK_EQ(child::run("minimal", {"INFINIRT_CPU_MIN=1", "INFINIRT_CPU_DEVICES=2", "INFINIRT_CPU_MEMORY=isolated"}), 0);
}

TEST(devices_and_limits_from_the_environment) {
  CHECK_EQ(child::run("three_devices", {"INFINIRT_CPU_DEVICES=3", "INFINIRT_VISIBLE_DEVICES=cpu:2,cpu:0",
                                        "INFINIRT_CPU_MEMORY_LIMIT=3M"}),
           0);
}

TEST(bad_settings_are_told_and_harmless) {
  for (const char* setting : {"INFINIRT_CPU_DEVICES=99", "INFINIRT_CPU_MEMORY=sealed", "INFINIRT_CPU_MEMORY_LIMIT=lots",
                              "INFINIRT_CPU_CACHE=-1", "INFINIRT_VISIBLE_DEVICES=cpu:5"}) {
    CHECK_EQ(child::run("bad_settings", {setting, std::string("EXPECTED=") + setting}), 0);
  }
}

CHILD_MAIN()
