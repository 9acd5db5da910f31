// Memory shared between processes, through the public API on the CPU device.
#include <algorithm>
#include <chrono>
#include <thread>

#include "gate.h"
#include "ipc_support.h"

struct Offer {
  infinirtIpcMemHandle_t handle;
  size_t size;
};

CHILD(importer) {
  for (Offer offer; receive_value(kChannel, &offer) && offer.size != 0;) {
    void *pointer = nullptr, *again = nullptr;
    OK(infinirtIpcOpenMemHandle(&pointer, offer.handle, infinirtIpcMemLazyEnablePeerAccess));
    OK(infinirtIpcOpenMemHandle(&again, offer.handle, infinirtIpcMemLazyEnablePeerAccess));
    CHECK_EQ(pointer, again);
    struct infinirtPointerAttributes attributes = {};
    OK(infinirtPointerGetAttributes(&attributes, pointer));
    CHECK_EQ(attributes.type, infinirtMemoryTypeDevice);
    CHECK(all_are(contents(pointer, offer.size), 0x21));
    if (unless_native("a real driver shares whole pages"))
      CHECK_EQ(infinirtMemset(pointer, 1, offer.size + 1), infinirtErrorInvalidValue);
    CHECK_EQ(infinirtFree(pointer), infinirtErrorInvalidValue);
    fill(pointer, 0x42, offer.size);
    OK(infinirtIpcCloseMemHandle(again));
    CHECK(all_are(contents(pointer, offer.size), 0x42));  // still open once
    OK(infinirtIpcCloseMemHandle(pointer));
    CHECK_EQ(infinirtIpcCloseMemHandle(pointer), infinirtErrorInvalidValue);
    CHECK_EQ(infinirtMemset(pointer, 1, 1), infinirtErrorInvalidValue);
    send_value(kChannel, int{check::failures() == 0});
  }
}

void share_memory() {
  if (sharing_is_refused()) return;
  Peer peer("importer");
  for (size_t size : {size_t{100}, size_t{5000}, size_t{70000}, size_t{3} << 20, (size_t{2} << 20) + 12345}) {
    // Neighbours must not notice: small allocations lie together.
    void *before = nullptr, *memory = nullptr, *after = nullptr;
    OK(infinirtMalloc(&before, 700));
    OK(infinirtMalloc(&memory, size));
    OK(infinirtMalloc(&after, 700));
    fill(before, 0x0b, 700);
    fill(memory, 0x21, size);
    fill(after, 0x0a, 700);
    Offer offer = {{}, size}, again = {{}, size};
    OK(infinirtIpcGetMemHandle(&offer.handle, memory));
    OK(infinirtIpcGetMemHandle(&again.handle, static_cast<char*>(memory) + 50));  // the whole allocation is meant
    CHECK_EQ(std::memcmp(&offer, &again, sizeof offer), 0);
    CHECK(all_are(contents(memory, size), 0x21));
    send_value(peer.channel, offer);
    CHECK_EQ(receive<int>(peer.channel), 1);
    CHECK(all_are(contents(memory, size), 0x42));  // what the other process wrote
    CHECK(all_are(contents(before, 700), 0x0b));
    CHECK(all_are(contents(after, 700), 0x0a));
    void* pointer = nullptr;
    CHECK_EQ(infinirtIpcOpenMemHandle(&pointer, offer.handle, infinirtIpcMemLazyEnablePeerAccess),
             infinirtErrorDeviceUninitialized);
    CHECK(says("own memory"));
    OK(infinirtFree(memory));
    OK(infinirtFree(before));
    OK(infinirtFree(after));
  }
  send_value(peer.channel, Offer{});
  CHECK_EQ(peer.join(), 0);
}

TEST(memory_is_seen_by_both_processes) { share_memory(); }
CHILD(share_memory) { share_memory(); }

TEST(memory_is_seen_by_both_processes_isolated) {
  skip_on_native(kSchedule);
  CHECK_EQ(child::run("share_memory", {"INFINIRT_CPU_MEMORY=isolated"}), 0);
}

TEST(memory_is_seen_by_both_processes_guarded) {
  skip_on_native(kSchedule);
  CHECK_EQ(child::run("share_memory", {"INFINIRT_CPU_MEMORY=guarded"}), 0);
}

CHILD(stale_importer) {
  for (Offer offer; receive_value(kChannel, &offer) && offer.size != 0;) {
    void* pointer = nullptr;
    const infinirtError_t error = infinirtIpcOpenMemHandle(&pointer, offer.handle, infinirtIpcMemLazyEnablePeerAccess);
    send_value(kChannel, static_cast<int>(error));
  }
}

TEST(handles_of_freed_memory_and_damaged_handles_are_errors) {
  skip_on_native(kInventedHandle);
  if (sharing_is_refused()) return;
  Peer peer("stale_importer");
  for (size_t size : {size_t{1000}, size_t{1} << 20}) {
    void* memory = nullptr;
    OK(infinirtMalloc(&memory, size));
    Offer offer = {{}, size};
    OK(infinirtIpcGetMemHandle(&offer.handle, memory));
    Offer damaged = offer;
    damaged.handle.reserved[20] = static_cast<char>(damaged.handle.reserved[20] ^ 0x7f);  // the offset
    damaged.handle.reserved[23] = 0x7f;
    damaged.handle.reserved[40] = static_cast<char>(damaged.handle.reserved[40] ^ 1);  // where the token is
    send_value(peer.channel, damaged);
    CHECK_NE(receive<int>(peer.channel), infinirtSuccess);
    OK(infinirtFree(memory));
    send_value(peer.channel, offer);
    CHECK_EQ(receive<int>(peer.channel), infinirtErrorMapBufferObjectFailed);
    void* next = nullptr;
    OK(infinirtMalloc(&next, size));
    Offer unlike = {{}, size};
    OK(infinirtIpcGetMemHandle(&unlike.handle, next));
    CHECK_NE(std::memcmp(&unlike, &offer, sizeof offer), 0);
    OK(infinirtFree(next));
  }
  send_value(peer.channel, Offer{{}, 1});  // all zeros
  CHECK_EQ(receive<int>(peer.channel), infinirtErrorInvalidValue);
  send_value(peer.channel, Offer{});
  CHECK_EQ(peer.join(), 0);
}

CHILD(exporter) {
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, 100000));
  fill(memory, 0x33, 100000);
  Offer offer = {{}, 100000};
  OK(infinirtIpcGetMemHandle(&offer.handle, memory));
  send_value(kChannel, offer);
  receive<int>(kChannel);  // never comes: this process is killed
}

TEST(memory_outlives_a_killed_exporter_and_its_handle_does_not) {
  skip_on_native("a real driver does not promise it");
  if (sharing_is_refused()) return;
  Peer peer("exporter");
  const auto offer = receive<Offer>(peer.channel);
  void *pointer = nullptr, *late = nullptr;
  OK(infinirtIpcOpenMemHandle(&pointer, offer.handle, infinirtIpcMemLazyEnablePeerAccess));
  peer.end();
  CHECK(all_are(contents(pointer, offer.size), 0x33));
  OK(infinirtIpcCloseMemHandle(pointer));
  CHECK_EQ(infinirtIpcOpenMemHandle(&late, offer.handle, infinirtIpcMemLazyEnablePeerAccess),
           infinirtErrorMapBufferObjectFailed);
  CHECK(says("has ended"));
}

TEST(only_plain_device_memory_has_a_handle) {
  infinirtIpcMemHandle_t handle = {};
  void *pinned = nullptr, *pooled = nullptr, *memory = nullptr, *opened = nullptr;
  OK(infinirtMallocHost(&pinned, 4096));
  OK(infinirtMallocAsync(&pooled, 4096, nullptr));
  OK(infinirtMalloc(&memory, 4096));
  CHECK_EQ(infinirtIpcGetMemHandle(&handle, pinned), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtIpcGetMemHandle(&handle, pooled), infinirtErrorInvalidValue);
  if (unless_native("the real library's words are its own")) CHECK(says("ExportToShareableHandle"));
  CHECK_EQ(infinirtIpcGetMemHandle(&handle, nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtIpcGetMemHandle(nullptr, memory), infinirtErrorInvalidValue);
  if (!sharing_is_refused()) OK(infinirtIpcGetMemHandle(&handle, memory));
  CHECK_EQ(infinirtIpcOpenMemHandle(&opened, handle, 0), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtIpcCloseMemHandle(memory), infinirtErrorInvalidValue);
  OK(infinirtFree(memory));
  OK(infinirtFreeAsync(pooled, nullptr));
  OK(infinirtFreeHost(pinned));
}

TEST(sharing_waits_for_work_and_keeps_what_it_wrote) {
  skip_on_native("memory that is shared from the start moves nowhere: nothing waits");
  if (sharing_is_refused()) return;
  constexpr size_t kSize = 200000;
  infinirtStream_t stream = nullptr;
  OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, kSize));
  Gate gate;
  OK(gate.hold(stream));
  OK(infinirtMemsetAsync(memory, 0x77, kSize, stream));
  std::thread opener([&gate] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    gate.open();
  });
  infinirtIpcMemHandle_t handle;
  OK(infinirtIpcGetMemHandle(&handle, memory));
  OK(infinirtStreamQuery(stream));
  CHECK(all_are(contents(memory, kSize), 0x77));
  opener.join();
  OK(infinirtFree(memory));
  OK(infinirtStreamDestroy(stream));
}

TEST(a_forked_child_does_not_write_into_what_the_parent_shares) {
  skip_on_native(kFork);
  if (sharing_is_refused()) return;
  for (size_t size : {size_t{1000}, size_t{300000}}) {
    void* memory = nullptr;
    OK(infinirtMalloc(&memory, size));
    fill(memory, 0x51, size);
    infinirtIpcMemHandle_t handle;
    OK(infinirtIpcGetMemHandle(&handle, memory));
    const pid_t process = fork();
    if (process == 0) {
      // A little at a time: small sets need no worker, which the thread sanitizer does not allow after a fork.
      const size_t part = std::min(size, size_t{4096});
      bool good = all_are(contents(memory, size), 0x51);
      good = good && infinirtMemset(memory, 0x52, part) == infinirtSuccess &&
             infinirtDeviceSynchronize() == infinirtSuccess;
      infinirtIpcMemHandle_t own;
      good = good && infinirtIpcGetMemHandle(&own, memory) == infinirtSuccess &&
             std::memcmp(&own, &handle, sizeof own) != 0;
      good = good && all_are(contents(memory, part), 0x52) && infinirtFree(memory) == infinirtSuccess;
      _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(process, &status, 0);
    CHECK_EQ(status, 0);
    CHECK(all_are(contents(memory, size), 0x51));
    OK(infinirtFree(memory));
  }
}

CHILD_MAIN()
