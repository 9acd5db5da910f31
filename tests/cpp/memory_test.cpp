// Allocation, page-locked and managed memory, and what the runtime knows about addresses, on the CPU device.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "gate.h"
#include "support.h"
#include "waiting.h"

namespace {

char* device_memory(size_t size) {
  void* p = nullptr;
  OK(infinirtMalloc(&p, size));
  return static_cast<char*>(p);
}

char* pinned_memory(size_t size) {
  void* p = nullptr;
  OK(infinirtMallocHost(&p, size));
  return static_cast<char*>(p);
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  OK(infinirtMemGetInfo(&free, &total));
  CHECK_LE(free, total);
  return free;
}

struct infinirtPointerAttributes attributes_of(const void* p) {
  struct infinirtPointerAttributes a;
  std::memset(&a, 0x7f, sizeof a);
  OK(infinirtPointerGetAttributes(&a, p));
  return a;
}

int range_attribute(const void* p, size_t size, enum infinirtMemRangeAttribute attribute) {
  int value = 12345;
  OK(infinirtMemRangeGetAttribute(&value, sizeof value, attribute, p, size));
  return value;
}

}  // namespace

TEST(allocations_are_aligned_and_accounted) {
  const size_t before = free_bytes();
  char* p = device_memory(3 << 20);
  CHECK_EQ(reinterpret_cast<uintptr_t>(p) % 256, uintptr_t{0});
  CHECK_LE(free_bytes(), before - (3 << 20));
  OK(infinirtFree(p));
  CHECK_EQ(free_bytes(), before);
}

TEST(size_zero_gives_null) {
  void* p = &p;
  OK(infinirtMalloc(&p, 0));
  CHECK(p == nullptr);
  p = &p;
  OK(infinirtMallocHost(&p, 0));
  CHECK(p == nullptr);
  OK(infinirtFree(nullptr));
  OK(infinirtFreeHost(nullptr));
}

TEST(bad_arguments_of_allocations) {
  void* p = nullptr;
  size_t pitch = 0;
  FAILS(infinirtMalloc(nullptr, 8), infinirtErrorInvalidValue);
  FAILS(infinirtMallocHost(nullptr, 8), infinirtErrorInvalidValue);
  FAILS(infinirtHostAlloc(&p, 8, 8), infinirtErrorInvalidValue);
  FAILS(infinirtMallocManaged(&p, 8, 0), infinirtErrorInvalidValue);
  FAILS(infinirtMallocManaged(&p, 8, 3), infinirtErrorInvalidValue);
  FAILS(infinirtMallocPitch(&p, nullptr, 8, 8), infinirtErrorInvalidValue);
  FAILS(infinirtMalloc3D(nullptr, {8, 8, 8}), infinirtErrorInvalidValue);
  const size_t before = free_bytes();
  CHECK_EQ(infinirtMalloc(&p, SIZE_MAX), infinirtErrorMemoryAllocation);
  CHECK(says(std::to_string(SIZE_MAX).c_str()));
  CHECK(says("free"));
  FAILS(infinirtMallocHost(&p, SIZE_MAX - 5), infinirtErrorMemoryAllocation);
  FAILS(infinirtMallocManaged(&p, SIZE_MAX - 5, infinirtMemAttachGlobal), infinirtErrorMemoryAllocation);
  // As measured on a GPU: there such a pitch is a wrong argument.
  const infinirtError_t too_large = on_native() ? infinirtErrorInvalidValue : infinirtErrorMemoryAllocation;
  FAILS(infinirtMallocPitch(&p, &pitch, SIZE_MAX / 2, 4), too_large);
  FAILS(infinirtMallocPitch(&p, &pitch, SIZE_MAX - 3, 1), too_large);
  struct infinirtPitchedPtr volume;
  FAILS(infinirtMalloc3D(&volume, {1 << 20, size_t{1} << 30, size_t{1} << 30}), too_large);
  CHECK(p == nullptr);
  CHECK_EQ(free_bytes(), before);
}

TEST(a_full_device_leaves_nothing_changed) {
  skip_on_native(kTestingAid);
  const size_t before = free_bytes();
  OK(infinirtXSetMemoryLimit(0, 1 << 20));
  void* p = nullptr;
  CHECK_EQ(infinirtMalloc(&p, 8 << 20), infinirtErrorMemoryAllocation);
  CHECK(p == nullptr);
  OK(infinirtXSetMemoryLimit(0, 0));
  CHECK_EQ(free_bytes(), before);
  infinirtGetLastError();
}

TEST(pitched_allocations) {
  void* p = nullptr;
  size_t pitch = 0;
  OK(infinirtMallocPitch(&p, &pitch, 100, 5));
  CHECK_EQ(pitch, size_t{512});
  OK(infinirtMemset2D(p, pitch, 1, pitch, 5));
  FAILS(infinirtMemset2D(p, pitch, 1, pitch, 6), infinirtErrorInvalidValue);
  OK(infinirtFree(p));
  struct infinirtPitchedPtr volume = {};
  OK(infinirtMalloc3D(&volume, {600, 3, 2}));
  CHECK_EQ(volume.pitch, size_t{1024});
  CHECK_EQ(volume.xsize, size_t{600});
  CHECK_EQ(volume.ysize, size_t{3});
  OK(infinirtMemset3D(volume, 7, {600, 3, 2}));
  OK(infinirtFree(volume.ptr));
}

TEST(wrong_frees_say_why) {
  char* device = device_memory(4096);
  char* pinned = pinned_memory(4096);
  std::vector<char> plain(4096);
  CHECK_EQ(infinirtFree(device + 16), infinirtErrorInvalidValue);
  CHECK(says("16 bytes inside an allocation of 4096 bytes"));
  CHECK_EQ(infinirtFree(pinned), infinirtErrorInvalidValue);
  CHECK(says("infinirtFreeHost"));
  CHECK_EQ(infinirtFreeHost(device), infinirtErrorInvalidValue);
  CHECK(says("infinirtFree"));
  CHECK_EQ(infinirtFree(plain.data()), infinirtErrorInvalidValue);
  CHECK(says("not memory of this runtime"));
  FAILS(infinirtFreeHost(plain.data()), infinirtErrorInvalidValue);
  FAILS(infinirtFreeHost(pinned + 16), infinirtErrorInvalidValue);
  OK(infinirtFree(device));
  OK(infinirtFreeHost(pinned));
  CHECK_EQ(infinirtFree(device), infinirtErrorInvalidValue);
  CHECK(says("was freed"));
  FAILS(infinirtFreeHost(pinned), infinirtErrorInvalidValue);
}

TEST(free_waits_for_the_device) {
  char* p = device_memory(64);
  char* pinned = pinned_memory(64);
  std::vector<char> own(64);
  OK(infinirtHostRegister(own.data(), own.size(), 0));
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  CHECK(waits_for_gate(stream, [&] { return infinirtFree(p); }));
  CHECK(waits_for_gate(stream, [&] { return infinirtFreeHost(pinned); }));
  CHECK(waits_for_gate(stream, [&] { return infinirtHostUnregister(own.data()); }));
  CHECK(returns_at_once(stream, [&] {
    void* fresh = nullptr;
    return infinirtMalloc(&fresh, 64) != infinirtSuccess ? infinirtErrorUnknown : infinirtMallocHost(&fresh, 64);
  }));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_racing_double_free_frees_once) {
  skip_on_native("a real driver may crash on frees that race");
  for (int round = 0; round < 50; ++round) {
    void* p = device_memory(4096);
    infinirtError_t results[2];
    std::thread other([&] { results[1] = infinirtFree(p); });
    results[0] = infinirtFree(p);
    other.join();
    CHECK_EQ((results[0] == infinirtSuccess) + (results[1] == infinirtSuccess), 1);
    infinirtGetLastError();
  }
}

TEST(attributes_of_every_kind_of_memory) {
  char* device = device_memory(64);
  char* pinned = pinned_memory(64);
  void* managed = nullptr;
  const bool has_managed = supported("infinirtMallocManaged");
  CHECK_EQ(infinirtMallocManaged(&managed, 64, infinirtMemAttachGlobal),
           has_managed ? infinirtSuccess : infinirtErrorNotSupported);
  char plain[64];
  auto a = attributes_of(device + 5);
  CHECK_EQ(a.type, infinirtMemoryTypeDevice);
  CHECK_EQ(a.device, 0);
  CHECK(a.devicePointer == device + 5);
  CHECK(a.hostPointer == nullptr);
  a = attributes_of(pinned + 5);
  CHECK_EQ(a.type, infinirtMemoryTypeHost);
  CHECK(a.devicePointer == pinned + 5 && a.hostPointer == pinned + 5);
  if (has_managed) {
    a = attributes_of(managed);
    CHECK_EQ(a.type, infinirtMemoryTypeManaged);
    CHECK(a.devicePointer == managed && a.hostPointer == managed);
  } else {
    CHECK(managed == nullptr);
  }
  OK(infinirtFree(managed));
  OK(infinirtFreeHost(pinned));
  OK(infinirtFree(device));
  for (const void* p :
       {static_cast<const void*>(nullptr), static_cast<const void*>(plain), static_cast<const void*>(device)}) {
    a = attributes_of(p);
    CHECK_EQ(a.type, infinirtMemoryTypeUnregistered);
    CHECK_EQ(a.device, infinirtInvalidDeviceId);
    CHECK(a.devicePointer == nullptr);
    CHECK(a.hostPointer == p);
  }
  FAILS(infinirtPointerGetAttributes(nullptr, plain), infinirtErrorInvalidValue);
}

TEST(stream_ordered_memory_has_attributes_while_it_lives) {
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreate(&stream));
  void* p = nullptr;
  OK(infinirtMallocAsync(&p, 1000, stream));
  CHECK_EQ(attributes_of(static_cast<char*>(p) + 999).type, infinirtMemoryTypeDevice);
  OK(infinirtMemsetAsync(p, 1, 1000, stream));
  FAILS(infinirtMemsetAsync(p, 1, 100000, stream), infinirtErrorInvalidValue);
  OK(infinirtFreeAsync(p, stream));
  CHECK_EQ(infinirtMemsetAsync(p, 1, 1000, stream), infinirtErrorInvalidValue);
  CHECK_EQ(attributes_of(p).type, infinirtMemoryTypeUnregistered);
  OK(infinirtMallocAsync(&p, 1000, stream));
  OK(infinirtFree(p));  // legal, and does not wait
  FAILS(infinirtFree(p), infinirtErrorInvalidValue);
  OK(infinirtStreamDestroy(stream));
}

TEST(registering_host_memory) {
  auto* own = static_cast<char*>(std::aligned_alloc(4096, 1 << 16));
  char* pinned = pinned_memory(4096);
  char* device = device_memory(4096);
  FAILS(infinirtHostRegister(nullptr, 4096, 0), infinirtErrorInvalidValue);
  FAILS(infinirtHostRegister(own, 0, 0), infinirtErrorInvalidValue);
  FAILS(infinirtHostRegister(own, 4096, 64), infinirtErrorInvalidValue);
  FAILS(infinirtHostRegister(reinterpret_cast<void*>(4096), 4096, 0), infinirtErrorInvalidValue);
  FAILS(infinirtHostRegister(own, SIZE_MAX, 0), infinirtErrorInvalidValue);
  FAILS(infinirtHostRegister(pinned, 4096, 0), infinirtErrorInvalidValue);
  FAILS(infinirtHostRegister(device, 4096, 0), infinirtErrorInvalidValue);
  FAILS(infinirtHostUnregister(own), infinirtErrorHostMemoryNotRegistered);
  FAILS(infinirtHostUnregister(nullptr), infinirtErrorInvalidValue);
  OK(infinirtHostRegister(own, 8192, infinirtHostRegisterPortable));
  FAILS(infinirtHostRegister(own, 8192, 0), infinirtErrorHostMemoryAlreadyRegistered);
  FAILS(infinirtHostRegister(own + 4096, 8192, 0), infinirtErrorHostMemoryAlreadyRegistered);
  CHECK_EQ(attributes_of(own + 8191).type, infinirtMemoryTypeHost);
  CHECK_EQ(attributes_of(own + 8192).type, infinirtMemoryTypeUnregistered);
  unsigned flags = 0;
  OK(infinirtHostGetFlags(&flags, own));
  CHECK_EQ(flags, unsigned{infinirtHostRegisterPortable | infinirtHostRegisterMapped});
  void* mapped = nullptr;
  OK(infinirtHostGetDevicePointer(&mapped, own + 5, 0));
  CHECK(mapped == own + 5);
  FAILS(infinirtHostGetDevicePointer(&mapped, own, 1), infinirtErrorInvalidValue);
  FAILS(infinirtHostGetDevicePointer(&mapped, device, 0), infinirtErrorInvalidValue);
  FAILS(infinirtHostGetFlags(&flags, own + 8192), infinirtErrorInvalidValue);
  FAILS(infinirtFreeHost(own), infinirtErrorInvalidValue);
  FAILS(infinirtHostUnregister(own + 16), infinirtErrorInvalidValue);
  FAILS(infinirtHostUnregister(pinned), infinirtErrorInvalidValue);
  OK(infinirtHostUnregister(own));
  FAILS(infinirtHostUnregister(own), infinirtErrorHostMemoryNotRegistered);
  OK(infinirtFreeHost(pinned));
  OK(infinirtFree(device));
  std::free(own);
}

TEST(managed_memory_remembers_advice_by_page) {
  void* p = nullptr;
  constexpr size_t kSize = 4 * 4096;
  if (!supported("infinirtMallocManaged")) {
    FAILS(infinirtMallocManaged(&p, kSize, infinirtMemAttachGlobal), infinirtErrorNotSupported);
    int value = 0;
    OK(infinirtDeviceGetAttribute(&value, infinirtDevAttrManagedMemory, 0));
    CHECK_EQ(value, 0);
    return;
  }
  OK(infinirtMallocManaged(&p, kSize, infinirtMemAttachGlobal));
  auto* bytes = static_cast<char*>(p);
  bytes[kSize - 1] = 3;  // the host reaches it
  CHECK_EQ(range_attribute(p, kSize, infinirtMemRangeAttributeReadMostly), 0);
  CHECK_EQ(range_attribute(p, kSize, infinirtMemRangeAttributePreferredLocation), infinirtInvalidDeviceId);
  CHECK_EQ(range_attribute(p, kSize, infinirtMemRangeAttributePreferredLocationType),
           int{infinirtMemLocationTypeInvalid});
  OK(infinirtMemAdvise(p, kSize / 2, infinirtMemAdviseSetReadMostly, 0));
  CHECK_EQ(range_attribute(p, kSize / 2, infinirtMemRangeAttributeReadMostly), 1);
  CHECK_EQ(range_attribute(p, kSize, infinirtMemRangeAttributeReadMostly), 0);
  OK(infinirtMemAdvise(p, kSize, infinirtMemAdviseUnsetReadMostly, 0));
  CHECK_EQ(range_attribute(p, 1, infinirtMemRangeAttributeReadMostly), 0);

  OK(infinirtMemAdvise(p, kSize, infinirtMemAdviseSetPreferredLocation, 0));
  OK(infinirtMemAdvise(bytes + 4096, 1, infinirtMemAdviseSetPreferredLocation, infinirtCpuDeviceId));
  CHECK_EQ(range_attribute(p, 4096, infinirtMemRangeAttributePreferredLocation), 0);
  CHECK_EQ(range_attribute(bytes + 8191, 1, infinirtMemRangeAttributePreferredLocation), infinirtCpuDeviceId);
  CHECK_EQ(range_attribute(p, kSize, infinirtMemRangeAttributePreferredLocation), infinirtInvalidDeviceId);

  OK(infinirtMemAdvise(p, kSize, infinirtMemAdviseSetAccessedBy, 0));
  OK(infinirtMemAdvise(p, kSize / 2, infinirtMemAdviseSetAccessedBy, infinirtCpuDeviceId));
  int who[3] = {9, 9, 9};
  OK(infinirtMemRangeGetAttribute(who, sizeof who, infinirtMemRangeAttributeAccessedBy, p, 4096));
  CHECK(who[0] == 0 && who[1] == infinirtCpuDeviceId && who[2] == infinirtInvalidDeviceId);
  OK(infinirtMemRangeGetAttribute(who, sizeof who, infinirtMemRangeAttributeAccessedBy, p, kSize));
  CHECK(who[0] == 0 && who[1] == infinirtInvalidDeviceId);

  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreate(&stream));
  OK(infinirtMemPrefetchAsync(p, kSize, infinirtCpuDeviceId, stream));
  OK(infinirtMemPrefetchAsync_v2(p, 4096, {infinirtMemLocationTypeDevice, 0}, 0, stream));
  int value = 0, type = 0;
  void* data[] = {&value, &type};
  size_t sizes[] = {sizeof value, sizeof type};
  enum infinirtMemRangeAttribute wanted[] = {infinirtMemRangeAttributeLastPrefetchLocation,
                                             infinirtMemRangeAttributeLastPrefetchLocationType};
  OK(infinirtMemRangeGetAttributes(data, sizes, wanted, 2, bytes + 4096, 4096));
  CHECK_EQ(value, infinirtCpuDeviceId);
  CHECK_EQ(type, int{infinirtMemLocationTypeHost});
  CHECK_EQ(range_attribute(p, 4096, infinirtMemRangeAttributeLastPrefetchLocation), 0);

  FAILS(infinirtMemAdvise(p, 0, infinirtMemAdviseSetReadMostly, 0), infinirtErrorInvalidValue);
  FAILS(infinirtMemAdvise(p, kSize + 1, infinirtMemAdviseSetReadMostly, 0), infinirtErrorInvalidValue);
  FAILS(infinirtMemAdvise(p, 1, infinirtMemAdviseSetPreferredLocation, 99), infinirtErrorInvalidValue);
  FAILS(infinirtMemPrefetchAsync(p, kSize, 99, stream), infinirtErrorInvalidDevice);
  FAILS(infinirtMemPrefetchAsync(p, kSize + 1, 0, stream), infinirtErrorInvalidValue);
  FAILS(infinirtMemRangeGetAttribute(&value, 3, infinirtMemRangeAttributeReadMostly, p, 1), infinirtErrorInvalidValue);

  OK(infinirtStreamAttachMemAsync(stream, p, 0, infinirtMemAttachSingle));
  OK(infinirtStreamAttachMemAsync(stream, p, kSize, infinirtMemAttachGlobal));
  FAILS(infinirtStreamAttachMemAsync(stream, p, 64, infinirtMemAttachSingle), infinirtErrorInvalidValue);
  FAILS(infinirtStreamAttachMemAsync(nullptr, p, 0, infinirtMemAttachSingle), infinirtErrorInvalidValue);
  FAILS(infinirtStreamAttachMemAsync(stream, p, 0, 7), infinirtErrorInvalidValue);
  FAILS(infinirtStreamAttachMemAsync(stream, bytes + 64, 0, infinirtMemAttachGlobal), infinirtErrorInvalidValue);
  OK(infinirtStreamDestroy(stream));
  CHECK_EQ(int{bytes[kSize - 1]}, 3);
  OK(infinirtFree(p));
  FAILS(infinirtMemAdvise(p, 1, infinirtMemAdviseSetReadMostly, 0), infinirtErrorInvalidValue);
}

TEST(a_capture_bars_allocation_unless_relaxed) {
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  void* p = nullptr;
  infinirtGraph_t graph = nullptr;
  auto barred = [&](auto call) {
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    CHECK_EQ(call(), infinirtErrorStreamCaptureUnsupported);
    CHECK_EQ(infinirtStreamEndCapture(stream, &graph), infinirtErrorStreamCaptureInvalidated);
    infinirtGetLastError();
  };
  std::vector<char> own(64);
  barred([&] { return infinirtMalloc(&p, 64); });
  barred([&] { return infinirtMallocHost(&p, 64); });
  barred([&] { return infinirtFree(nullptr); });
  barred([&] { return infinirtFreeHost(nullptr); });
  barred([&] { return infinirtHostRegister(own.data(), own.size(), 0); });
  if (supported("infinirtMallocManaged")) {
    void* managed = nullptr;
    OK(infinirtMallocManaged(&managed, 64, infinirtMemAttachGlobal));
    barred([&] { return infinirtMemAdvise(managed, 64, infinirtMemAdviseSetReadMostly, 0); });
    barred([&] { return infinirtMemPrefetchAsync(managed, 64, 0, stream); });
    barred([&] { return infinirtStreamAttachMemAsync(stream, managed, 0, infinirtMemAttachGlobal); });
    OK(infinirtFree(managed));
  }
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
  OK(infinirtMalloc(&p, 64));
  OK(infinirtFree(p));
  OK(infinirtStreamEndCapture(stream, &graph));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_new_thread_may_begin_with_a_pointer) {
  char* p = device_memory(64);
  std::thread([&] { OK(infinirtMemset(p, 1, 64)); }).join();
  std::thread([&] { OK(infinirtFree(p)); }).join();
}

CHILD(reset) {
  char* device = device_memory(1 << 20);
  char* pinned = pinned_memory(4096);
  std::vector<char> own(64);
  OK(infinirtHostRegister(own.data(), own.size(), 0));
  void* ordered = nullptr;
  OK(infinirtMallocAsync(&ordered, 4096, nullptr));
  const size_t before = free_bytes();
  OK(infinirtDeviceReset());
  CHECK_GE(free_bytes(), before + (1 << 20));
  CHECK_EQ(attributes_of(device).type, infinirtMemoryTypeUnregistered);
  CHECK_EQ(attributes_of(pinned).type, infinirtMemoryTypeUnregistered);
  CHECK_EQ(attributes_of(own.data()).type, infinirtMemoryTypeUnregistered);
  CHECK_EQ(attributes_of(ordered).type, infinirtMemoryTypeDevice);
  FAILS(infinirtFree(device), infinirtErrorInvalidValue);
}
TEST(a_device_reset_takes_all_but_stream_ordered_memory) { CHECK_EQ(child::run("reset", {}), 0); }

CHILD_MAIN()
