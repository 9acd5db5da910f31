// Sharing pools with other processes, for engine-run backends.
//
// A shareable pool's segments lie in one file. Its first page says whose it is; exporting the pool means handing out the
// file, exporting a pointer means saying where in the file the block lies.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "engine/ipc.h"
#include "engine/pool.h"

namespace infinirt {

namespace {

constexpr uint64_t kPoolMagic = 0x4952504f4f4c0001, kPointerMagic = 0x4952505452000001;

struct PoolPage {
  uint64_t magic;
  uint64_t token;
};

struct PointerData {
  uint64_t magic;
  uint64_t token;  // of the pool
  uint64_t offset;  // of the block in the file
  uint64_t size;
  uint64_t padding[4];
};
static_assert(sizeof(PointerData) == sizeof(infinirtMemPoolPtrExportData));

infinirtError_t check_handle_type(enum infinirtMemAllocationHandleType type, unsigned flags) {
  if (type != infinirtMemHandleTypePosixFileDescriptor) {
    return fail(infinirtErrorInvalidValue, "handleType %d: infinirtMemHandleTypePosixFileDescriptor (1) was expected",
                static_cast<int>(type));
  }
  return flags == 0 ? infinirtSuccess : fail(infinirtErrorInvalidValue, "flags 0x%x must be 0", flags);
}

infinirtError_t check_shares(const Engine& engine) {
  if (engine.shares_memory()) return infinirtSuccess;
  return fail(infinirtErrorNotSupported, "'%s' cannot share memory with other processes", engine.backend.name.c_str());
}

// The block that starts at `ptr`, and where it lies in its pool's file.
infinirtError_t locate(void* ptr, MemPool** pool, PointerData* data) {
  Allocation segment;
  if (!registry_find(ptr, &segment) || segment.kind != MemoryKind::Pool || !segment.owner) {
    return fail(infinirtErrorInvalidValue, "ptr %p is not memory of a pool", ptr);
  }
  MemPool& found = *static_cast<MemPool*>(segment.owner);
  if (auto error = check_shares(*found.device->engine)) return error;
  if (!found.shareable() || found.imported) {
    return fail(infinirtErrorInvalidValue,
                "ptr %p belongs to a pool that cannot be shared; create the pool with handleTypes "
                "infinirtMemHandleTypePosixFileDescriptor",
                ptr);
  }
  BlockInfo block;
  if (!found.allocator.block_info(ptr, &block) || block.base != ptr || block.state != BlockState::live) {
    return fail(infinirtErrorInvalidValue, "no live allocation starts at ptr %p", ptr);
  }
  std::lock_guard guard(found.mutex);
  const auto mapped = found.mapped.find(segment.base);
  if (mapped == found.mapped.end()) return fail(infinirtErrorInvalidValue, "ptr %p was freed meanwhile", ptr);
  *pool = &found;
  const auto distance = static_cast<size_t>(static_cast<char*>(ptr) - static_cast<char*>(mapped->second.memory));
  *data = {kPointerMagic, found.token, mapped->second.offset + distance, block.requested, {}};
  return infinirtSuccess;
}

}  // namespace

infinirtError_t open_pool_file(MemPool& pool) {
  const PoolPage page = {kPoolMagic, random_token()};
  const int file = create_shared_file(kPoolFileStart);
  if (file < 0 || pwrite(file, &page, sizeof page, 0) != sizeof page) {
    if (file >= 0) close(file);
    return fail(infinirtErrorMemoryAllocation, "the system gave no file for a shareable pool (too many open files?)");
  }
  std::lock_guard guard(pool.mutex);
  pool.file = file;
  pool.token = page.token;
  pool.file_end = kPoolFileStart;
  return infinirtSuccess;
}

namespace engine_api {

infinirtError_t MemPoolExportToShareableHandle(void* shareableHandle, infinirtMemPool_t memPool,
                                               enum infinirtMemAllocationHandleType handleType, unsigned int flags) {
  MemPool* pool = resolve_pool(memPool, "memPool");
  if (!pool) return infinirtErrorInvalidValue;
  if (!shareableHandle) return fail(infinirtErrorInvalidValue, "shareableHandle is null; it must point at an int");
  if (auto error = check_handle_type(handleType, flags)) return error;
  if (auto error = check_shares(*pool->device->engine)) return error;
  if (!pool->shareable() || pool->imported) {
    return fail(
        infinirtErrorInvalidValue, "memPool cannot be shared: %s",
        pool->imported ? "it was imported itself" : "it was created without infinirtMemHandleTypePosixFileDescriptor");
  }
  std::lock_guard guard(pool->mutex);
  const int file = fcntl(pool->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return fail(infinirtErrorMemoryAllocation, "too many open files: no descriptor is left for the handle");
  std::memcpy(shareableHandle, &file, sizeof file);
  return infinirtSuccess;
}

infinirtError_t MemPoolImportFromShareableHandle(infinirtMemPool_t* memPool, void* shareableHandle,
                                                 enum infinirtMemAllocationHandleType handleType, unsigned int flags) {
  if (!memPool) return fail(infinirtErrorInvalidValue, "memPool is null; it must point at where the pool goes");
  if (auto error = check_handle_type(handleType, flags)) return error;
  // The descriptor itself is the argument, as CUDA has it.
  const auto file = static_cast<int>(reinterpret_cast<intptr_t>(shareableHandle));
  PoolPage page = {};
  if (!is_shared_file(file) || pread(file, &page, sizeof page, 0) != sizeof page || page.magic != kPoolMagic) {
    return fail(infinirtErrorInvalidValue, "shareableHandle %d is no file descriptor of an exported pool", file);
  }
  EngineDevice& device = current_device(thread_state());
  if (!device.engine->shares_memory()) {
    return fail(infinirtErrorNotSupported, "'%s' cannot map memory of other processes",
                device.engine->backend.name.c_str());
  }
  const int kept = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (kept < 0) return fail(infinirtErrorMemoryAllocation, "too many open files: no descriptor is left for the pool");
  struct infinirtMemPoolProps properties = {};
  properties.allocType = infinirtMemAllocationTypePinned;
  properties.handleTypes = infinirtMemHandleTypePosixFileDescriptor;
  properties.location = {infinirtMemLocationTypeDevice, device.ordinal};
  MemPool* pool = create_pool(device, properties, true);
  if (!pool) {
    close(kept);
    return infinirtErrorMemoryAllocation;
  }
  {
    std::lock_guard guard(pool->mutex);
    pool->file = kept;
    pool->token = page.token;
  }
  *memPool = pool->handle;
  return infinirtSuccess;
}

infinirtError_t MemPoolExportPointer(struct infinirtMemPoolPtrExportData* exportData, void* ptr) {
  if (!exportData) return fail(infinirtErrorInvalidValue, "exportData is null; it must point at where the data goes");
  MemPool* pool = nullptr;
  PointerData data;
  if (auto error = locate(ptr, &pool, &data)) return error;
  std::memcpy(exportData, &data, sizeof data);
  return infinirtSuccess;
}

infinirtError_t MemPoolImportPointer(void** ptr, infinirtMemPool_t memPool,
                                     struct infinirtMemPoolPtrExportData* exportData) {
  MemPool* pool = resolve_pool(memPool, "memPool");
  if (!pool) return infinirtErrorInvalidValue;
  if (!ptr) return fail(infinirtErrorInvalidValue, "ptr is null; it must point at where the address goes");
  if (!exportData)
    return fail(infinirtErrorInvalidValue, "exportData is null; it comes from infinirtMemPoolExportPointer");
  if (!pool->imported)
    return fail(infinirtErrorInvalidValue, "memPool is a pool of this process's own, not an imported one");
  PointerData data;
  std::memcpy(&data, exportData, sizeof data);
  if (data.magic != kPointerMagic || data.token != pool->token) {
    return fail(infinirtErrorInvalidValue, "exportData %s",
                data.magic != kPointerMagic ? "did not come from infinirtMemPoolExportPointer" : "is of another pool");
  }
  const off_t end = lseek(pool->file, 0, SEEK_END);
  if (end < 0 || data.size == 0 || data.offset > static_cast<size_t>(end) ||
      data.size > static_cast<size_t>(end) - data.offset) {
    return fail(infinirtErrorInvalidValue, "exportData is damaged: it describes memory beyond the end of the pool");
  }
  EngineDevice& device = *pool->device;
  const size_t lead = data.offset % static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* mapped = nullptr;
  if (auto error = device.engine->map_shared(device.ordinal, pool->file, data.offset - lead, lead + data.size, &mapped))
    return error;
  Allocation memory;
  memory.base = reinterpret_cast<uintptr_t>(mapped) + lead;
  memory.size = data.size;
  memory.kind = MemoryKind::Pool;
  memory.device = device.ordinal;
  memory.backend = &device.engine->backend;
  memory.owner = pool;
  imported_block_added(*pool);
  if (!registry_insert(memory)) {
    device.engine->unmap_shared(device.ordinal, mapped, lead + data.size);
    imported_block_freed(*pool, true);
    imported_block_gone(*pool);
    return fail(infinirtErrorMapBufferObjectFailed, "the memory was mapped where other memory is registered already");
  }
  *ptr = reinterpret_cast<void*>(memory.base);
  return infinirtSuccess;
}

}  // namespace engine_api

}  // namespace infinirt
