// Stream-ordered memory and pools, through the public API on the CPU device.
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "child.h"
#include "gate.h"
#include "pool_support.h"

TEST(memory_is_usable_at_once_and_freed_in_order) {
  infinirtStream_t stream = make_stream();
  char* device = static_cast<char*>(allocate(stream, 1000));
  OK(infinirtMemsetAsync(device, 0x5a, 1000, stream));
  char host[1000];
  OK(infinirtMemcpyAsync(host, device, sizeof host, infinirtMemcpyDeviceToHost, stream));
  OK(infinirtFreeAsync(device, stream));
  OK(infinirtStreamSynchronize(stream));
  for (char byte : host) CHECK_EQ(byte, 0x5a);
  OK(infinirtStreamDestroy(stream));
}

TEST(size_zero_and_null_are_no_errors) {
  infinirtStream_t stream = make_stream();
  void* pointer = &stream;
  OK(infinirtMallocAsync(&pointer, 0, stream));
  CHECK_EQ(pointer, nullptr);
  OK(infinirtFreeAsync(nullptr, stream));
  CHECK_EQ(infinirtMallocAsync(nullptr, 8, stream), infinirtErrorInvalidValue);
  CHECK(says("devPtr"));
  if (unless_native(kInventedHandle)) {
    CHECK_EQ(infinirtFreeAsync(nullptr, reinterpret_cast<infinirtStream_t>(uintptr_t{0x1234})),
             infinirtErrorInvalidResourceHandle);
  }
  OK(infinirtStreamDestroy(stream));
  CHECK_EQ(infinirtFreeAsync(nullptr, stream), infinirtErrorInvalidResourceHandle);
}

TEST(wrong_frees_are_refused_and_say_why) {
  infinirtStream_t stream = make_stream();
  char* block = static_cast<char*>(allocate(stream, 8192));
  CHECK_EQ(infinirtFreeAsync(block + 512, stream), infinirtErrorInvalidValue);
  CHECK(says("512 bytes inside"));
  OK(infinirtFreeAsync(block, stream));
  CHECK_EQ(infinirtFreeAsync(block, stream), infinirtErrorInvalidValue);
  CHECK(says("freed already"));
  CHECK_EQ(infinirtFree(block), infinirtErrorInvalidValue);
  int on_the_stack = 0;
  CHECK_EQ(infinirtFreeAsync(&on_the_stack, stream), infinirtErrorInvalidValue);
  CHECK(says("not allocated"));
  void* pinned = nullptr;
  OK(infinirtMallocHost(&pinned, 4096));
  CHECK_EQ(infinirtFreeAsync(pinned, stream), infinirtErrorInvalidValue);
  CHECK(says("infinirtFreeHost"));
  OK(infinirtFreeHost(pinned));
  OK(infinirtStreamDestroy(stream));
}

TEST(plain_device_memory_can_be_freed_in_stream_order) {
  infinirtStream_t stream = make_stream();
  char* device = nullptr;
  char host[4096] = {};
  OK(infinirtMalloc(reinterpret_cast<void**>(&device), sizeof host));
  const bool checked = unless_native("the real library does not look where plain memory begins, or whether it lives");
  if (checked) CHECK_EQ(infinirtFreeAsync(device + 256, stream), infinirtErrorInvalidValue);
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtMemsetAsync(device, 0x11, sizeof host, stream));
  void* pinned = nullptr;
  OK(infinirtMallocHost(&pinned, sizeof host));
  OK(infinirtMemcpyAsync(pinned, device, sizeof host, infinirtMemcpyDeviceToHost, stream));
  OK(infinirtFreeAsync(device, stream));
  if (checked) CHECK_EQ(infinirtFreeAsync(device, stream), infinirtErrorInvalidValue);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(static_cast<char*>(pinned)[4095], 0x11);
  OK(infinirtFreeHost(pinned));
  OK(infinirtStreamDestroy(stream));
}

TEST(free_of_a_pool_block_does_not_wait) {
  infinirtStream_t stream = make_stream();
  Gate gate;
  OK(gate.hold(stream));
  void* block = allocate(stream, 4096);
  OK(infinirtFree(block));  // would hang if it waited for the device
  CHECK_EQ(infinirtFree(block), infinirtErrorInvalidValue);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(accounting_follows_the_calls) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t stream = make_stream();
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 0u);
  void* first = allocate(stream, 5 * kMiB, pool);
  void* second = allocate(stream, 1000, pool);
  const uint64_t used = attribute(pool, infinirtMemPoolAttrUsedMemCurrent);
  CHECK_GE(used, 5 * kMiB + 1000);
  CHECK_LE(used, 6 * kMiB);
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrUsedMemHigh), used);
  const uint64_t reserved = attribute(pool, infinirtMemPoolAttrReservedMemCurrent);
  CHECK_GE(reserved, used);
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtFreeAsync(first, stream));
  OK(infinirtFreeAsync(second, stream));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrUsedMemCurrent), 0u);  // at the call, not when the stream gets there
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrUsedMemHigh), used);
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), reserved);
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 0u);  // threshold 0
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemHigh), reserved);
  OK(set_attribute(pool, infinirtMemPoolAttrReservedMemHigh, 0));
  OK(set_attribute(pool, infinirtMemPoolAttrUsedMemHigh, 0));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemHigh), 0u);
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrUsedMemHigh), 0u);
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(stream));
}

TEST(attributes_are_checked) {
  infinirtMemPool_t pool = make_pool();
  for (auto which : {infinirtMemPoolReuseFollowEventDependencies, infinirtMemPoolReuseAllowOpportunistic,
                     infinirtMemPoolReuseAllowInternalDependencies}) {
    int on = 0;
    OK(infinirtMemPoolGetAttribute(pool, which, &on));
    CHECK_EQ(on, 1);
    on = 0;
    OK(infinirtMemPoolSetAttribute(pool, which, &on));
    on = 1;
    OK(infinirtMemPoolGetAttribute(pool, which, &on));
    CHECK_EQ(on, 0);
  }
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReleaseThreshold), 0u);
  OK(set_attribute(pool, infinirtMemPoolAttrReleaseThreshold, 12345));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReleaseThreshold), 12345u);
  CHECK_EQ(set_attribute(pool, infinirtMemPoolAttrUsedMemHigh, 5), infinirtErrorInvalidValue);
  CHECK_EQ(set_attribute(pool, infinirtMemPoolAttrReservedMemCurrent, 0), infinirtErrorInvalidValue);
  CHECK_EQ(set_attribute(pool, static_cast<enum infinirtMemPoolAttr>(9), 0), infinirtErrorInvalidValue);
  uint64_t value = 0;
  CHECK_EQ(infinirtMemPoolGetAttribute(pool, static_cast<enum infinirtMemPoolAttr>(0), &value),
           infinirtErrorInvalidValue);
  CHECK_EQ(infinirtMemPoolGetAttribute(pool, infinirtMemPoolAttrUsedMemHigh, nullptr), infinirtErrorInvalidValue);
  OK(infinirtMemPoolDestroy(pool));
  CHECK_EQ(infinirtMemPoolGetAttribute(pool, infinirtMemPoolAttrUsedMemHigh, &value), infinirtErrorInvalidValue);
  CHECK(says("destroyed"));
}

TEST(the_release_threshold_keeps_memory_and_trim_gives_it_back) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t stream = make_stream();
  OK(set_attribute(pool, infinirtMemPoolAttrReleaseThreshold, 64 * kMiB));
  void* block = allocate(stream, 32 * kMiB, pool);
  OK(infinirtFreeAsync(block, stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK_GE(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 32 * kMiB);
  OK(infinirtMemPoolTrimTo(pool, 0));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 0u);
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(stream));
}

TEST(memory_freed_by_a_busy_stream_goes_at_a_later_synchronise) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t busy = make_stream(), other = make_stream();
  Gate gate;
  OK(gate.hold(busy));
  OK(infinirtFreeAsync(allocate(busy, 8 * kMiB, pool), busy));
  OK(infinirtStreamSynchronize(other));
  CHECK_GE(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 8 * kMiB);
  gate.open();
  OK(infinirtStreamSynchronize(busy));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 0u);
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(every_kind_of_synchronise_gives_memory_back) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t stream = make_stream();
  infinirtEvent_t event = make_event(infinirtEventDisableTiming);
  const auto after = [&](auto&& synchronize) {
    OK(infinirtFreeAsync(allocate(stream, 8 * kMiB, pool), stream));
    OK(infinirtEventRecord(event, stream));
    CHECK_GE(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 8 * kMiB);
    OK(synchronize());
    return attribute(pool, infinirtMemPoolAttrReservedMemCurrent);
  };
  CHECK_EQ(after([&] { return infinirtStreamSynchronize(stream); }), 0u);
  CHECK_EQ(after([&] { return infinirtEventSynchronize(event); }), 0u);
  CHECK_EQ(after([&] { return infinirtDeviceSynchronize(); }), 0u);
  OK(infinirtEventDestroy(event));
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(stream));
}

TEST(trimming_keeps_the_minimum_and_what_is_in_use) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t stream = make_stream();
  OK(set_attribute(pool, infinirtMemPoolAttrReleaseThreshold, ~uint64_t{0}));
  std::vector<void*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(allocate(stream, 40 * kMiB, pool));
  const uint64_t all = attribute(pool, infinirtMemPoolAttrReservedMemCurrent);
  CHECK_GE(all, 120 * kMiB);
  for (int i = 0; i < 2; ++i) OK(infinirtFreeAsync(blocks[static_cast<size_t>(i)], stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), all);
  OK(infinirtMemPoolTrimTo(pool, 80 * kMiB));
  const uint64_t kept = attribute(pool, infinirtMemPoolAttrReservedMemCurrent);
  CHECK_GE(kept, 80 * kMiB);
  CHECK_LT(kept, all);
  OK(infinirtMemPoolTrimTo(pool, 0));
  CHECK_GE(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 40 * kMiB);  // one block is in use
  OK(infinirtFreeAsync(blocks[2], stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtMemPoolTrimTo(pool, 0));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 0u);
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_pool_is_destroyed_at_once_while_its_memory_is_worked_on) {
  infinirtStream_t stream = make_stream();
  infinirtMemPool_t pool = make_pool();
  void* pinned = nullptr;
  OK(infinirtMallocHost(&pinned, 16));
  Gate gate;
  OK(gate.hold(stream));
  void* block = allocate(stream, 4096, pool);
  OK(infinirtMemsetAsync(block, 7, 4096, stream));
  OK(infinirtMemcpyAsync(pinned, block, 16, infinirtMemcpyDeviceToHost, stream));
  OK(infinirtMemPoolDestroy(pool));  // would hang if it waited
  OK(infinirtFreeAsync(block, stream));
  gate.open();
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(int{static_cast<char*>(pinned)[15]}, 7);
  OK(infinirtFreeHost(pinned));
  OK(infinirtStreamDestroy(stream));
}

TEST(pool_properties_are_checked) {
  infinirtMemPool_t pool = nullptr;
  struct infinirtMemPoolProps properties = device_properties();
  CHECK_EQ(infinirtMemPoolCreate(nullptr, &properties), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtMemPoolCreate(&pool, nullptr), infinirtErrorInvalidValue);
  properties.allocType = infinirtMemAllocationTypeInvalid;
  CHECK_EQ(infinirtMemPoolCreate(&pool, &properties), infinirtErrorInvalidValue);
  for (int id : {-1, 99}) {
    properties = device_properties(id);
    CHECK_EQ(infinirtMemPoolCreate(&pool, &properties), infinirtErrorInvalidValue);
    CHECK(says("location.id"));
  }
  properties = device_properties();
  properties.handleTypes = infinirtMemHandleTypeWin32;
  CHECK_EQ(infinirtMemPoolCreate(&pool, &properties), infinirtErrorInvalidValue);
  properties = device_properties();
  properties.location.type = infinirtMemLocationTypeInvalid;
  CHECK_EQ(infinirtMemPoolCreate(&pool, &properties), infinirtErrorInvalidValue);
  CHECK_EQ(pool, nullptr);
}

TEST(a_destroyed_pool_lives_until_its_memory_is_freed) {
  infinirtStream_t stream = make_stream();
  infinirtMemPool_t pool = make_pool();
  char* block = static_cast<char*>(allocate(stream, 4 * kMiB, pool));
  OK(infinirtMemPoolDestroy(pool));
  CHECK_EQ(infinirtMemPoolDestroy(pool), infinirtErrorInvalidValue);
  void* more = nullptr;
  CHECK_EQ(infinirtMallocFromPoolAsync(&more, 8, pool, stream), infinirtErrorInvalidValue);
  OK(infinirtMemsetAsync(block, 3, 4 * kMiB, stream));
  char last = 0;
  OK(infinirtMemcpyAsync(&last, block + 4 * kMiB - 1, 1, infinirtMemcpyDeviceToHost, stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(last, 3);
  size_t free_before = 0, free_after = 0, total = 0;
  OK(infinirtMemGetInfo(&free_before, &total));
  OK(infinirtFreeAsync(block, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtMemGetInfo(&free_after, &total));
  CHECK_GE(free_after, free_before + 4 * kMiB);
  struct infinirtPointerAttributes attributes = {};
  OK(infinirtPointerGetAttributes(&attributes, block));
  CHECK_EQ(attributes.type, infinirtMemoryTypeUnregistered);
  OK(infinirtStreamDestroy(stream));
}

TEST(the_current_pool_can_be_set_and_falls_back_to_the_default) {
  infinirtMemPool_t pool = make_pool(), current = nullptr;
  OK(infinirtDeviceSetMemPool(0, pool));
  OK(infinirtDeviceGetMemPool(&current, 0));
  CHECK_EQ(current, pool);
  infinirtStream_t stream = make_stream();
  void* block = allocate(stream, 100000);
  CHECK_GT(attribute(pool, infinirtMemPoolAttrUsedMemCurrent), 0u);
  CHECK_EQ(infinirtMemPoolDestroy(default_pool()), infinirtErrorInvalidValue);
  CHECK(says("default pool"));
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtDeviceGetMemPool(&current, 0));
  CHECK_EQ(current, default_pool());
  OK(infinirtFreeAsync(block, stream));
  if (unless_native("a real driver does not look"))
    CHECK_EQ(infinirtDeviceSetMemPool(0, pool), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceSetMemPool(9, default_pool()), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceGetMemPool(&current, 9), infinirtErrorInvalidValue);
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

CHILD(two_devices) {
  infinirtMemPool_t pool = make_pool();
  const struct infinirtMemAccessDesc give = {{infinirtMemLocationTypeDevice, 1}, infinirtMemAccessFlagsProtReadWrite};
  struct infinirtMemLocation other = {infinirtMemLocationTypeDevice, 1};
  enum infinirtMemAccessFlags flags;
  OK(infinirtMemPoolGetAccess(&flags, pool, &other));
  CHECK_EQ(flags, infinirtMemAccessFlagsProtNone);
  OK(infinirtMemPoolSetAccess(pool, &give, 1));
  OK(infinirtMemPoolGetAccess(&flags, pool, &other));
  CHECK_EQ(flags, infinirtMemAccessFlagsProtReadWrite);
  const struct infinirtMemAccessDesc take_own = {{infinirtMemLocationTypeDevice, 0}, infinirtMemAccessFlagsProtNone};
  CHECK_EQ(infinirtMemPoolSetAccess(pool, &take_own, 1), infinirtErrorInvalidDevice);
  const struct infinirtMemAccessDesc read_only = {{infinirtMemLocationTypeDevice, 1}, infinirtMemAccessFlagsProtRead};
  CHECK_EQ(infinirtMemPoolSetAccess(pool, &read_only, 1), infinirtErrorNotSupported);
  const struct infinirtMemAccessDesc nowhere = {{infinirtMemLocationTypeDevice, 7},
                                                infinirtMemAccessFlagsProtReadWrite};
  CHECK_EQ(infinirtMemPoolSetAccess(pool, &nowhere, 1), infinirtErrorInvalidDevice);
  // A pool of one device serves a stream of another, and the memory stays where the pool is.
  OK(infinirtSetDevice(1));
  infinirtStream_t stream = make_stream();
  void* block = allocate(stream, 4096, pool);
  struct infinirtPointerAttributes attributes = {};
  OK(infinirtPointerGetAttributes(&attributes, block));
  CHECK_EQ(attributes.device, 0);
  CHECK_EQ(attributes.type, infinirtMemoryTypeDevice);
  void* own = allocate(stream, 4096);
  OK(infinirtPointerGetAttributes(&attributes, own));
  CHECK_EQ(attributes.device, 1);
  OK(infinirtFreeAsync(block, stream));
  OK(infinirtFreeAsync(own, stream));
  CHECK_EQ(infinirtFreeAsync(block, stream), infinirtErrorInvalidValue);
  OK(infinirtDeviceSynchronize());
}
TEST(pools_and_several_devices) {
  skip_on_native(kTwoDevices);
  CHECK_EQ(child::run("two_devices", {"INFINIRT_CPU_DEVICES=2"}), 0);
}

TEST(a_forked_child_has_the_memory_as_it_was) {
  skip_on_native(kFork);
  infinirtStream_t stream = make_stream();
  unsigned char* block = static_cast<unsigned char*>(allocate(stream, 4096));
  OK(infinirtMemsetAsync(block, 9, 4096, stream));
  OK(infinirtStreamSynchronize(stream));
  const pid_t process = fork();
  if (process == 0) {
    unsigned char copy = 0;
    bool good = infinirtMemcpy(&copy, block, 1, infinirtMemcpyDeviceToHost) == infinirtSuccess && copy == 9;
    good = good && infinirtMemset(block, 1, 4096) == infinirtSuccess &&
           infinirtFreeAsync(block, stream) == infinirtSuccess;
    void* more = nullptr;
    good = good && infinirtMallocAsync(&more, 10 * kMiB, stream) == infinirtSuccess &&
           infinirtFreeAsync(more, stream) == infinirtSuccess;
    good = good && infinirtStreamSynchronize(stream) == infinirtSuccess;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(process, &status, 0);
  CHECK_EQ(status, 0);
  unsigned char copy = 0;
  OK(infinirtMemcpy(&copy, block, 1, infinirtMemcpyDeviceToHost));
  CHECK_EQ(copy, 9);
  OK(infinirtFreeAsync(block, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

CHILD_MAIN()
