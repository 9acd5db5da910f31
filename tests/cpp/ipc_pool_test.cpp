// Pools shared between processes, through the public API on the CPU device.
#include "ipc_support.h"

struct PoolOffer {
  struct infinirtMemPoolPtrExportData data;
  size_t size;
};

CHILD(pool_importer) {
  const int file = receive_file(kChannel);
  infinirtMemPool_t pool = nullptr;
  OK(infinirtMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                              infinirtMemHandleTypePosixFileDescriptor, 0));
  close(file);
  void* none = nullptr;
  CHECK_EQ(infinirtMallocFromPoolAsync(&none, 8, pool, nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceSetMemPool(0, pool), infinirtErrorInvalidValue);
  std::vector<void*> imported;
  for (PoolOffer offer; receive_value(kChannel, &offer) && offer.size != 0;) {
    void* pointer = nullptr;
    OK(infinirtMemPoolImportPointer(&pointer, pool, &offer.data));
    CHECK(all_are(contents(pointer, offer.size), 0x21));
    if (unless_native("a real driver shares whole pages"))
      CHECK_EQ(infinirtMemset(pointer, 1, offer.size + 1), infinirtErrorInvalidValue);
    fill(pointer, 0x42, offer.size);
    imported.push_back(pointer);
    if (unless_native(kInventedHandle)) {
      offer.data.reserved[17] ^= 0x55;  // the offset
      offer.data.reserved[22] ^= 0x55;
      CHECK_EQ(infinirtMemPoolImportPointer(&none, pool, &offer.data), infinirtErrorInvalidValue);
    }
    send_value(kChannel, int{check::failures() == 0});
  }
  CHECK_EQ(infinirtMemPoolDestroy(pool), infinirtErrorInvalidValue);  // unlike a pool of one's own
  bool in_order = true;
  for (void* pointer : imported) {
    OK(in_order ? infinirtFreeAsync(pointer, nullptr) : infinirtFree(pointer));
    CHECK_EQ(infinirtFreeAsync(pointer, nullptr), infinirtErrorInvalidValue);
    in_order = !in_order;
  }
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtDeviceSynchronize());
}

void share_pool() {
  if (sharing_is_refused()) return;
  Peer peer("pool_importer");
  struct infinirtMemPoolProps properties = {};
  properties.allocType = infinirtMemAllocationTypePinned;
  properties.location = {infinirtMemLocationTypeDevice, 0};
  infinirtMemPool_t plain = nullptr, pool = nullptr;
  OK(infinirtMemPoolCreate(&plain, &properties));
  properties.handleTypes = infinirtMemHandleTypePosixFileDescriptor;
  OK(infinirtMemPoolCreate(&pool, &properties));
  int file = -1;
  CHECK_EQ(infinirtMemPoolExportToShareableHandle(&file, plain, infinirtMemHandleTypePosixFileDescriptor, 0),
           infinirtErrorInvalidValue);
  CHECK_EQ(infinirtMemPoolExportToShareableHandle(&file, pool, infinirtMemHandleTypePosixFileDescriptor, 1),
           infinirtErrorInvalidValue);
  CHECK_EQ(infinirtMemPoolExportToShareableHandle(&file, pool, infinirtMemHandleTypeNone, 0),
           infinirtErrorInvalidValue);
  OK(infinirtMemPoolExportToShareableHandle(&file, pool, infinirtMemHandleTypePosixFileDescriptor, 0));
  send_file(peer.channel, file);
  close(file);
  std::vector<void*> blocks;
  for (size_t size :
       {size_t{600}, size_t{5000}, size_t{300000}, size_t{9} << 20}) {  // later ones in segments made after the export
    void* block = nullptr;
    OK(infinirtMallocFromPoolAsync(&block, size, pool, nullptr));
    fill(block, 0x21, size);
    PoolOffer offer = {{}, size};
    CHECK_EQ(infinirtMemPoolExportPointer(&offer.data, static_cast<char*>(block) + 256), infinirtErrorInvalidValue);
    OK(infinirtMemPoolExportPointer(&offer.data, block));
    send_value(peer.channel, offer);
    CHECK_EQ(receive<int>(peer.channel), 1);
    CHECK(all_are(contents(block, size), 0x42));
    blocks.push_back(block);
  }
  void* other = nullptr;
  struct infinirtMemPoolPtrExportData data;
  OK(infinirtMallocFromPoolAsync(&other, 64, plain, nullptr));
  CHECK_EQ(infinirtMemPoolExportPointer(&data, other), infinirtErrorInvalidValue);
  OK(infinirtFreeAsync(other, nullptr));
  send_value(peer.channel, PoolOffer{});
  CHECK_EQ(peer.join(), 0);
  for (void* block : blocks) OK(infinirtFreeAsync(block, nullptr));
  OK(infinirtDeviceSynchronize());
  OK(infinirtMemPoolDestroy(pool));
  OK(infinirtMemPoolDestroy(plain));
}

TEST(pools_are_shared_by_a_file_descriptor) { share_pool(); }
CHILD(share_pool) { share_pool(); }

TEST(pools_are_shared_by_a_file_descriptor_isolated) {
  skip_on_native(kSchedule);
  CHECK_EQ(child::run("share_pool", {"INFINIRT_CPU_MEMORY=isolated"}), 0);
}

TEST(pools_are_shared_by_a_file_descriptor_guarded) {
  skip_on_native(kSchedule);
  CHECK_EQ(child::run("share_pool", {"INFINIRT_CPU_MEMORY=guarded"}), 0);
}

TEST(what_is_no_pool_cannot_be_imported) {
  infinirtMemPool_t pool = nullptr;
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  for (int file : {ends[0], -1, 9999}) {
    CHECK_EQ(
        infinirtMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                                 infinirtMemHandleTypePosixFileDescriptor, 0),
        unless_native("the real driver calls it an unknown error") ? infinirtErrorInvalidValue : infinirtErrorUnknown);
  }
  close(ends[0]);
  close(ends[1]);
}

CHILD_MAIN()
