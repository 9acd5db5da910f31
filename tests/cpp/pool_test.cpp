// Stream-ordered memory and pools, through the public API on the CPU device.
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "gate.h"
#include "infinirt.h"
#include "infinirt_ext.h"

namespace {

#define OK(call) CHECK_EQ(call, infinirtSuccess)

constexpr size_t kMiB = size_t{1} << 20;

infinirtStream_t make_stream(unsigned flags = infinirtStreamNonBlocking) {
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, flags));
  return stream;
}

struct infinirtMemPoolProps device_properties(int device = 0) {
  struct infinirtMemPoolProps properties = {};
  properties.allocType = infinirtMemAllocationTypePinned;
  properties.location = {infinirtMemLocationTypeDevice, device};
  return properties;
}

infinirtMemPool_t make_pool(size_t max_size = 0) {
  struct infinirtMemPoolProps properties = device_properties();
  properties.maxSize = max_size;
  infinirtMemPool_t pool = nullptr;
  OK(infinirtMemPoolCreate(&pool, &properties));
  return pool;
}

infinirtMemPool_t default_pool() {
  infinirtMemPool_t pool = nullptr;
  OK(infinirtDeviceGetDefaultMemPool(&pool, 0));
  return pool;
}

uint64_t attribute(infinirtMemPool_t pool, enum infinirtMemPoolAttr which) {
  uint64_t value = 77;
  OK(infinirtMemPoolGetAttribute(pool, which, &value));
  return value;
}

infinirtError_t set_attribute(infinirtMemPool_t pool, enum infinirtMemPoolAttr which, uint64_t value) {
  return infinirtMemPoolSetAttribute(pool, which, &value);
}

void* allocate(infinirtStream_t stream, size_t size, infinirtMemPool_t pool = nullptr) {
  void* pointer = nullptr;
  OK(pool ? infinirtMallocFromPoolAsync(&pointer, size, pool, stream) : infinirtMallocAsync(&pointer, size, stream));
  CHECK(pointer != nullptr);
  return pointer;
}

bool mentions(const char* text) { return std::string(infinirtXGetLastErrorMessage()).find(text) != std::string::npos; }

}  // namespace

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
  CHECK(mentions("devPtr"));
  CHECK_EQ(infinirtFreeAsync(nullptr, reinterpret_cast<infinirtStream_t>(uintptr_t{0x1234})),
           infinirtErrorInvalidResourceHandle);
  OK(infinirtStreamDestroy(stream));
}

TEST(an_own_block_is_reused_at_once_while_the_stream_is_busy) {
  infinirtStream_t stream = make_stream();
  for (size_t size : {size_t{700}, size_t{100000}, 3 * kMiB}) {
    void* first = allocate(stream, size);
    Gate gate;
    OK(gate.hold(stream));
    OK(infinirtFreeAsync(first, stream));
    CHECK_EQ(allocate(stream, size), first);
    OK(infinirtFreeAsync(first, stream));
    gate.open();
    OK(infinirtStreamSynchronize(stream));
  }
  OK(infinirtStreamDestroy(stream));
}

TEST(another_stream_does_not_get_a_block_before_its_free_has_run) {
  infinirtMemPool_t pool = make_pool();
  OK(set_attribute(pool, infinirtMemPoolAttrReleaseThreshold, ~uint64_t{0}));
  infinirtStream_t busy = make_stream(), other = make_stream();
  Gate gate;
  OK(gate.hold(busy));
  void* first = allocate(busy, kMiB, pool);
  OK(infinirtFreeAsync(first, busy));
  void* second = allocate(other, kMiB, pool);
  CHECK_NE(second, first);
  gate.open();
  OK(infinirtStreamSynchronize(busy));
  std::set<void*> later;
  std::vector<void*> taken;
  for (int i = 0; i < 64; ++i) {
    taken.push_back(allocate(other, kMiB, pool));
    later.insert(taken.back());
  }
  CHECK(later.count(first) == 1);  // the free has run: opportunistic reuse
  taken.push_back(second);
  for (void* pointer : taken) OK(infinirtFreeAsync(pointer, other));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(a_stream_that_waited_for_the_free_gets_the_block) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t busy = make_stream(), other = make_stream();
  infinirtEvent_t event = nullptr;
  OK(infinirtEventCreateWithFlags(&event, infinirtEventDisableTiming));
  for (bool follow : {true, false}) {
    int on = follow;
    OK(infinirtMemPoolSetAttribute(pool, infinirtMemPoolReuseFollowEventDependencies, &on));
    Gate gate;
    OK(gate.hold(busy));
    void* first = allocate(busy, 40 * kMiB, pool);
    OK(infinirtFreeAsync(first, busy));
    OK(infinirtEventRecord(event, busy));
    OK(infinirtStreamWaitEvent(other, event, 0));
    void* second = allocate(other, 40 * kMiB, pool);
    CHECK_EQ(second == first, follow);
    OK(infinirtFreeAsync(second, other));
    gate.open();
    OK(infinirtDeviceSynchronize());
  }
  OK(infinirtEventDestroy(event));
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(a_full_pool_makes_the_stream_wait_instead_of_failing) {
  infinirtMemPool_t pool = make_pool(4 * kMiB);
  infinirtStream_t busy = make_stream(), other = make_stream();
  Gate gate;
  OK(gate.hold(busy));
  void* first = allocate(busy, 3 * kMiB, pool);
  OK(infinirtFreeAsync(first, busy));
  void* second = allocate(other, 3 * kMiB, pool);
  CHECK_EQ(second, first);
  OK(infinirtMemsetAsync(second, 1, 3 * kMiB, other));
  CHECK_EQ(infinirtStreamQuery(other), infinirtErrorNotReady);  // its work comes after the free on the busy stream
  gate.open();
  OK(infinirtFreeAsync(second, other));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(busy));
  OK(infinirtStreamDestroy(other));
}

TEST(a_free_on_the_legacy_stream_waits_for_blocking_streams) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t blocking = make_stream(infinirtStreamDefault), free_standing = make_stream();
  Gate gate;
  void* first = allocate(nullptr, 40 * kMiB, pool);
  OK(gate.hold(blocking));
  OK(infinirtMemsetAsync(first, 1, 40 * kMiB, blocking));
  OK(infinirtFreeAsync(first, nullptr));  // ordered after the memset by the legacy stream's rules
  void* second = allocate(free_standing, 40 * kMiB, pool);
  CHECK_NE(second, first);
  gate.open();
  OK(infinirtFreeAsync(second, free_standing));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(blocking));
  OK(infinirtStreamDestroy(free_standing));
}

TEST(a_free_on_a_blocking_stream_waits_for_the_legacy_stream) {
  infinirtMemPool_t pool = make_pool();
  infinirtStream_t blocking = make_stream(infinirtStreamDefault), free_standing = make_stream();
  Gate gate;
  void* first = allocate(blocking, 40 * kMiB, pool);
  OK(infinirtStreamSynchronize(blocking));
  OK(gate.hold(nullptr));
  OK(infinirtMemsetAsync(first, 1, 40 * kMiB, nullptr));
  OK(infinirtFreeAsync(first, blocking));
  void* second = allocate(free_standing, 40 * kMiB, pool);
  CHECK_NE(second, first);
  gate.open();
  OK(infinirtFreeAsync(second, free_standing));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(blocking));
  OK(infinirtStreamDestroy(free_standing));
}

TEST(wrong_frees_are_refused_and_say_why) {
  infinirtStream_t stream = make_stream();
  char* block = static_cast<char*>(allocate(stream, 8192));
  CHECK_EQ(infinirtFreeAsync(block + 512, stream), infinirtErrorInvalidValue);
  CHECK(mentions("512 bytes inside"));
  OK(infinirtFreeAsync(block, stream));
  CHECK_EQ(infinirtFreeAsync(block, stream), infinirtErrorInvalidValue);
  CHECK(mentions("freed already"));
  CHECK_EQ(infinirtFree(block), infinirtErrorInvalidValue);
  int on_the_stack = 0;
  CHECK_EQ(infinirtFreeAsync(&on_the_stack, stream), infinirtErrorInvalidValue);
  CHECK(mentions("not allocated"));
  void* pinned = nullptr;
  OK(infinirtMallocHost(&pinned, 4096));
  CHECK_EQ(infinirtFreeAsync(pinned, stream), infinirtErrorInvalidValue);
  CHECK(mentions("infinirtFreeHost"));
  OK(infinirtFreeHost(pinned));
  OK(infinirtStreamDestroy(stream));
}

TEST(plain_device_memory_can_be_freed_in_stream_order) {
  infinirtStream_t stream = make_stream();
  char* device = nullptr;
  char host[4096] = {};
  OK(infinirtMalloc(reinterpret_cast<void**>(&device), sizeof host));
  CHECK_EQ(infinirtFreeAsync(device + 256, stream), infinirtErrorInvalidValue);
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtMemsetAsync(device, 0x11, sizeof host, stream));
  void* pinned = nullptr;
  OK(infinirtMallocHost(&pinned, sizeof host));
  OK(infinirtMemcpyAsync(pinned, device, sizeof host, infinirtMemcpyDeviceToHost, stream));
  OK(infinirtFreeAsync(device, stream));
  CHECK_EQ(infinirtFreeAsync(device, stream), infinirtErrorInvalidValue);
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
  CHECK(mentions("destroyed"));
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
    CHECK(mentions("location.id"));
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
  CHECK(mentions("default pool"));
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtDeviceGetMemPool(&current, 0));
  CHECK_EQ(current, default_pool());
  OK(infinirtFreeAsync(block, stream));
  CHECK_EQ(infinirtDeviceSetMemPool(0, pool), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceSetMemPool(9, default_pool()), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceGetMemPool(&current, 9), infinirtErrorInvalidDevice);
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(out_of_memory_says_what_is_held_and_changes_nothing) {
  infinirtMemPool_t pool = make_pool(8 * kMiB);
  infinirtStream_t stream = make_stream();
  void* block = allocate(stream, 4 * kMiB, pool);
  const uint64_t used = attribute(pool, infinirtMemPoolAttrUsedMemCurrent);
  void* more = &stream;
  CHECK_EQ(infinirtMallocFromPoolAsync(&more, 64 * kMiB, pool, stream), infinirtErrorMemoryAllocation);
  for (const char* part : {"67108864", "4194304", "maxSize", "largest free block"}) CHECK(mentions(part));
  CHECK_EQ(attribute(pool, infinirtMemPoolAttrUsedMemCurrent), used);
  CHECK_EQ(infinirtMallocAsync(&more, ~size_t{0}, stream), infinirtErrorMemoryAllocation);
  CHECK_EQ(infinirtMallocAsync(&more, size_t{1} << 46, stream), infinirtErrorMemoryAllocation);
  CHECK_EQ(more, static_cast<void*>(&stream));
  OK(infinirtFreeAsync(block, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtStreamDestroy(stream));
}

CHILD(memory_limit) {
  infinirtStream_t busy = make_stream(), stream = make_stream();
  infinirtMemPool_t hoarder = make_pool(), slow = make_pool(), pool = make_pool();
  for (auto any : {hoarder, slow, pool}) OK(set_attribute(any, infinirtMemPoolAttrReleaseThreshold, ~uint64_t{0}));
  // Another pool's cache is given back when memory is short …
  OK(infinirtFreeAsync(allocate(stream, 48 * kMiB, hoarder), stream));
  OK(infinirtStreamSynchronize(stream));
  void* first = allocate(stream, 48 * kMiB, pool);
  CHECK_EQ(attribute(hoarder, infinirtMemPoolAttrReservedMemCurrent), 0u);
  OK(infinirtFreeAsync(first, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtMemPoolTrimTo(pool, 0));
  // … and so is what another stream is about to free.
  OK(infinirtLaunchHostFunc(busy, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }, nullptr));
  OK(infinirtFreeAsync(allocate(busy, 48 * kMiB, slow), busy));
  void* second = allocate(stream, 48 * kMiB, pool);
  OK(infinirtStreamQuery(busy));
  void* third = nullptr;
  CHECK_EQ(infinirtMallocFromPoolAsync(&third, 48 * kMiB, slow, stream), infinirtErrorMemoryAllocation);
  OK(infinirtFreeAsync(second, stream));
  OK(infinirtDeviceSynchronize());
}
TEST(memory_is_found_elsewhere_before_giving_up) {
  CHECK_EQ(child::run("memory_limit", {"INFINIRT_CPU_MEMORY_LIMIT=64M"}), 0);
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
TEST(pools_and_several_devices) { CHECK_EQ(child::run("two_devices", {"INFINIRT_CPU_DEVICES=2"}), 0); }

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
TEST(no_block_is_in_two_hands_inline) { CHECK_EQ(child::run("churn_all", {"INFINIRT_CPU_SCHEDULE=inline"}), 0); }
TEST(no_block_is_in_two_hands_random) {
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
        for (void* block : blocks) OK(infinirtFreeAsync(block, round % 4 == 3 ? nullptr : stream));
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

TEST(a_forked_child_has_the_memory_as_it_was) {
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
