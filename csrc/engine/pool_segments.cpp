#include <fcntl.h>

#include <mutex>
#include <new>

#include "engine/pool.h"

namespace infinirt {

namespace {

// The memory of the next segment, from the engine and with the alignment that was asked for. Engines promise 512 bytes;
// where that is all they give, more memory is taken than used.
infinirtError_t take_memory(const EngineDevice& device, size_t bytes, size_t alignment, MemPool::Segment* segment,
                            void** base) {
  Engine& engine = *device.engine;
  size_t wanted = bytes;
  for (int attempt = 0; attempt < 2; ++attempt, wanted = bytes + alignment) {
    void* memory = nullptr;
    const infinirtError_t error = engine.allocate(device.ordinal, wanted, MemoryKind::Pool, 0, &memory);
    if (error != infinirtSuccess) return error;
    const auto address = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t aligned = (address + alignment - 1) & ~(alignment - 1);
    if (aligned - address + bytes <= wanted) {
      *segment = {memory, wanted, 0};
      *base = reinterpret_cast<void*>(aligned);
      return infinirtSuccess;
    }
    engine.release(device.ordinal, memory, wanted, MemoryKind::Pool);
  }
  return infinirtErrorMemoryAllocation;
}

}  // namespace

Status PoolSegments::map(size_t bytes, size_t alignment, void** base) noexcept try {
  const EngineDevice& device = *pool_.device;
  Engine& engine = *device.engine;
  MemPool::Segment segment;
  infinirtError_t error = take_memory(device, bytes, alignment, &segment, base);
  if (error != infinirtSuccess) return error;
  const auto address = reinterpret_cast<uintptr_t>(*base);
  int file = -1;
  {
    std::lock_guard guard(pool_.mutex);
    file = pool_.file;
    segment.offset = pool_.file_end;
    if (file >= 0) pool_.file_end += segment.size;
    pool_.mapped.emplace(address, segment);
  }
  if (file >= 0) error = engine.share_into(device.ordinal, segment.memory, segment.size, file, segment.offset);
  if (error == infinirtSuccess) {
    Allocation allocation;
    allocation.base = address;
    allocation.size = bytes;
    allocation.kind = MemoryKind::Pool;
    allocation.device = device.ordinal;
    allocation.backend = &engine.backend;
    allocation.owner = &pool_;
    if (registry_insert(allocation)) return kStatusOk;
    error = fail(infinirtErrorUnknown, "the memory of a pool overlaps memory that is registered already");
  }
  {
    std::lock_guard guard(pool_.mutex);
    pool_.mapped.erase(address);
  }
  engine.release(device.ordinal, segment.memory, segment.size, MemoryKind::Pool);
  return error;
} catch (const std::bad_alloc&) {
  return kStatusOutOfMemory;
}

void PoolSegments::unmap(void* base, size_t) noexcept {
  const EngineDevice& device = *pool_.device;
  Allocation removed;
  registry_remove(base, &removed);
  MemPool::Segment segment;
  int file = -1;
  {
    std::lock_guard guard(pool_.mutex);
    const auto found = pool_.mapped.find(reinterpret_cast<uintptr_t>(base));
    segment = found->second;
    pool_.mapped.erase(found);
    file = pool_.file;
  }
  device.engine->release(device.ordinal, segment.memory, segment.size, MemoryKind::Pool);
  if (file >= 0) {
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(segment.offset),
              static_cast<off_t>(segment.size));
  }
}

}  // namespace infinirt
