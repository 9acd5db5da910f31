#include "backends/cpu/share.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "engine/ipc.h"

namespace infinirt::cpu {

namespace {

constexpr size_t kTokens = size_t{1} << 16;  // allocations that can be shared at a time
constexpr size_t kTokenBytes = kTokens * sizeof(uint64_t);
constexpr size_t kPackedBelow = size_t{64} << 10;  // the heap packs smaller spans, several to a page

constexpr uintptr_t page_floor(uintptr_t address) { return address / kPage * kPage; }

infinirtError_t system_failure(const char* what) {
  return fail(infinirtErrorMapBufferObjectFailed, "%s: %s", what, std::strerror(errno));
}

// A place in the common file for every address, whatever is shared. Device memory spans 4 TiB at most, so no two of its
// addresses agree in these bits; the file has holes where nothing is shared.
size_t place_of(uintptr_t address) { return kTokenBytes + address % (size_t{1} << 43); }

}  // namespace

bool SharedMemory::open_file() {
  if (file_ >= 0) return true;
  const int file = create_shared_file(kTokenBytes);
  if (file < 0) return false;
  void* tokens = mmap(nullptr, kTokenBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (tokens == MAP_FAILED) {
    close(file);
    return false;
  }
  file_ = file;
  tokens_ = static_cast<uint64_t*>(tokens);
  return true;
}

bool SharedMemory::take_slot(SharedRange* range) {
  for (size_t slot = 0; slot < kTokens; ++slot) {
    if (tokens_[slot] != 0) continue;
    range->token = random_token();
    range->token_offset = slot * sizeof(uint64_t);
    return true;
  }
  return false;
}

// [first, last) are page addresses of the device range. The contents go by way of a copy: no system call turns private
// pages into a file's.
bool SharedMemory::move_pages(uintptr_t first, uintptr_t last, int file, size_t offset, bool keep) {
  void* memory = memory_.backing(reinterpret_cast<void*>(first));
  const size_t size = last - first;
  const auto end = static_cast<off_t>(offset + size);
  if (lseek(file, 0, SEEK_END) < end && ftruncate(file, end) != 0) return false;
  for (size_t done = 0; keep && done < size;) {
    const ssize_t written =
        pwrite(file, static_cast<char*>(memory) + done, size - done, static_cast<off_t>(offset + done));
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return mmap(memory, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset)) !=
         MAP_FAILED;
}

bool SharedMemory::restore_pages(uintptr_t first, uintptr_t last, bool keep) {
  void* memory = memory_.backing(reinterpret_cast<void*>(first));
  const size_t size = last - first;
  std::unique_ptr<char[]> contents;
  if (keep) {
    contents.reset(new (std::nothrow) char[size]);
    if (!contents) return false;
    std::memcpy(contents.get(), memory, size);
  }
  if (mmap(memory, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    return false;
  }
  if (keep) std::memcpy(memory, contents.get(), size);
  return true;
}

// Pages that are in the file already stay as they are: their other allocations may be in use by another process.
bool SharedMemory::move_packed(uintptr_t first, uintptr_t last) {
  for (uintptr_t page = first; page < last; page += kPage) {
    if (packed_.count(page)) continue;
    if (!move_pages(page, page + kPage, file_, place_of(page), true)) return false;
    packed_.insert(page);
  }
  return true;
}

void SharedMemory::copy_on_write(uintptr_t first, uintptr_t last, int file, size_t offset) {
  mmap(memory_.backing(reinterpret_cast<void*>(first)), last - first, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file, static_cast<off_t>(offset));
}

void SharedMemory::reset_in_child() {
  for (const auto& [base, shared] : by_base_) {
    const uintptr_t first = page_floor(base), last = page_floor(base + shared.size + kPage - 1);
    copy_on_write(first, last, shared.range.file, shared.range.offset - (base - first));
  }
  for (uintptr_t page : packed_) copy_on_write(page, page + kPage, file_, place_of(page));
  by_base_.clear();
  packed_.clear();
  count_.store(0, std::memory_order_relaxed);
  if (file_ >= 0) {
    munmap(tokens_, kTokenBytes);
    close(file_);
    file_ = -1;
  }
  mutex_.reset_after_fork();
}

infinirtError_t SharedMemory::share(void* base, size_t size, SharedRange* range) {
  const auto address = reinterpret_cast<uintptr_t>(base);
  const uintptr_t first = page_floor(address), last = page_floor(address + size + kPage - 1);
  std::lock_guard guard(mutex_);
  if (const auto found = by_base_.find(address); found != by_base_.end()) {
    *range = found->second.range;
    return infinirtSuccess;
  }
  if (!open_file()) return system_failure("no file for shared memory could be made");
  Shared shared;
  shared.size = size;
  shared.range.file = file_;
  shared.range.offset = place_of(address);
  if (!take_slot(&shared.range)) {
    return fail(infinirtErrorMapBufferObjectFailed, "%zu allocations are shared already; free some first", kTokens);
  }
  const bool moved =
      size < kPackedBelow ? move_packed(first, last) : move_pages(first, last, file_, place_of(first), true);
  if (!moved) return system_failure("memory could not be moved into a shared file");
  tokens_[shared.range.token_offset / sizeof(uint64_t)] = shared.range.token;
  by_base_.emplace(address, shared);
  count_.fetch_add(1, std::memory_order_release);
  *range = shared.range;
  return infinirtSuccess;
}

infinirtError_t SharedMemory::share_into(void* base, size_t size, int file, size_t offset) {
  const auto address = reinterpret_cast<uintptr_t>(base);
  if (address % kPage != 0 || size % kPage != 0 || offset % kPage != 0) {
    return fail(infinirtErrorInvalidValue, "only whole pages can be put into a file");
  }
  std::lock_guard guard(mutex_);
  if (!move_pages(address, address + size, file, offset, false))
    return system_failure("memory could not be put into a shared file");
  Shared shared;
  shared.size = size;
  shared.range.file = file;
  shared.range.offset = offset;
  by_base_[address] = shared;
  count_.fetch_add(1, std::memory_order_release);
  return infinirtSuccess;
}

void SharedMemory::make_private(void* base) {
  const auto address = reinterpret_cast<uintptr_t>(base);
  std::lock_guard guard(mutex_);
  const auto found = by_base_.find(address);
  if (found == by_base_.end()) return;
  const Shared shared = found->second;
  by_base_.erase(found);
  count_.fetch_sub(1, std::memory_order_release);
  if (shared.range.token == 0) {
    restore_pages(address, address + shared.size, false);
    return;
  }
  tokens_[shared.range.token_offset / sizeof(uint64_t)] = 0;
  // Pages with neighbours stay shared: somebody may be writing to them at this moment. Others are private again.
  const uintptr_t first = page_floor(address), last = page_floor(address + shared.size + kPage - 1);
  if (shared.size < kPackedBelow || !restore_pages(first, last, true)) return;
  packed_.erase(packed_.lower_bound(first), packed_.lower_bound(last));
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place_of(first)),
            static_cast<off_t>(last - first));
}

infinirtError_t SharedMemory::map(int device, int file, size_t offset, size_t size, void** out) {
  // Whole pages of the heap's own, so that isolated memory is isolated here too; then other memory is put behind them.
  const size_t span = round_up(std::max(size, kPackedBelow), kPage);
  void* pointer = nullptr;
  if (const infinirtError_t error = memory_.allocate(device, span, MemoryKind::Device, &pointer)) return error;
  void* memory = memory_.backing(pointer);
  if (mmap(memory, round_up(size, kPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    const infinirtError_t error = system_failure("memory of another process could not be mapped");
    memory_.release(device, pointer, span, MemoryKind::Device);
    return error;
  }
  *out = pointer;
  return infinirtSuccess;
}

void SharedMemory::unmap(int device, void* pointer, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  restore_pages(address, address + round_up(size, kPage), false);
  memory_.release(device, pointer, round_up(std::max(size, kPackedBelow), kPage), MemoryKind::Device);
}

}  // namespace infinirt::cpu
