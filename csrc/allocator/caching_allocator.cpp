#include "allocator/caching_allocator.h"

#include <algorithm>

#include "allocator/impl.h"

namespace infinirt {

// ---- the warm path

Status CachingAllocator::Impl::allocate(size_t size, StreamKey stream, void** out) noexcept {
  if (open_pins.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return allocate_slow(size, stream, out);
  bool over;
  Shard& shard = shard_of(stream);
  if (size - 1 < kMaxSmall) [[likely]] {
    unsigned index = class_of(size);
    Guard guard(shard.lock);
    StreamState* state = shard.latest;
    if (state->id != stream.id) [[unlikely]] {
      auto found = shard.states.find({stream.id, 0});
      if (found == shard.states.end()) goto slow;
      shard.latest = state = found->second;
    }
    Slab* slab = state->with_room[index];
    if (!slab) [[unlikely]]
      goto slow;
    *out = pop(state, slab, size, stream);
    over = count_in(shard, slab->size_class().block, size);
  } else {
    if (size == 0) {
      *out = nullptr;
      return kStatusOk;
    }
    if (size > kMaxRequest) goto slow;
    Guard guard(shard.lock);
    StreamState* state = shard.latest;
    if (state->id != stream.id) {
      auto found = shard.states.find({stream.id, 0});
      if (found == shard.states.end()) goto slow;
      shard.latest = state = found->second;
    }
    LargeBlock* block = quick_take(state, round_large(size));
    if (!block) goto slow;
    block->requested = size;
    block->where.store(Where::live, std::memory_order_release);
    *out = block->base;
    over = count_in(shard, block->size, size);
  }
  if (over) [[unlikely]]
    raise_used_high(shard);
  return kStatusOk;
slow:
  return allocate_slow(size, stream, out);
}

FreeResult CachingAllocator::Impl::free(void* ptr, StreamKey stream, Fence freed, bool known) noexcept {
  for (;;) {
    Segment* segment = heap.map.find(ptr);
    if (!segment) [[unlikely]]
      return FreeResult::not_ours;
    GranuleEntry* entry = segment->entry(ptr);
    if (!entry) [[unlikely]]
      return FreeResult::not_ours;
    uintptr_t value = entry->load(std::memory_order_acquire);
    if (value & 1) [[likely]] {
      Slab* slab = reinterpret_cast<Slab*>(value - 1);
      StreamState* owner = slab->owner.load(std::memory_order_acquire);
      if (!owner) [[unlikely]] {
        // Between the last free of its blocks and its return to the heap.
        if (entry->load(std::memory_order_acquire) == value) return FreeResult::double_free;
        continue;
      }
      Guard guard(owner->shard->lock);
      if (slab->owner.load(std::memory_order_relaxed) != owner || entry->load(std::memory_order_relaxed) != value)
          [[unlikely]]
        continue;
      return free_slot(owner, slab, ptr, stream, freed, known);
    }
    if (value == 0 || reinterpret_cast<uintptr_t>(ptr) % kGranule != 0) [[unlikely]]
      return FreeResult::interior_pointer;
    LargeBlock* block = reinterpret_cast<LargeBlock*>(value);
    StreamState* owner = block->owner.load(std::memory_order_acquire);
    if (!owner) [[unlikely]] {
      // Nobody's blocks are free; a block that is just changing hands has a null owner for no time at all.
      if (block->where.load(std::memory_order_acquire) != Where::live) return FreeResult::double_free;
      continue;
    }
    Guard guard(owner->shard->lock);
    if (block->owner.load(std::memory_order_relaxed) != owner || entry->load(std::memory_order_relaxed) != value)
        [[unlikely]]
      continue;
    return free_block(owner, block, ptr, stream, freed, known);
  }
}

FreeResult CachingAllocator::Impl::free_slot(StreamState* owner, Slab* slab, void* ptr, StreamKey stream, Fence freed,
                                             bool known) noexcept {
  const SizeClass& size_class = slab->size_class();
  uint64_t offset = static_cast<uint64_t>(static_cast<char*>(ptr) - slab->base);
  uint16_t slot = static_cast<uint16_t>(offset * size_class.reciprocal >> 40);
  if (slot >= size_class.count || offset != uint64_t{slot} * size_class.block) [[unlikely]]
    return FreeResult::interior_pointer;
  if (slot >= slab->untouched || slab->records()[slot].state != Slot::live) [[unlikely]]
    return FreeResult::double_free;
  SlotRecord& record = slab->records()[slot];
  size_t requested = size_t{record.requested} + 1;
  uint64_t point;
  if (record.has_uses || !own_point(owner, stream, freed, known, &point)) [[unlikely]] {
    PendingFree* pending = make_pending(owner, ptr, record.has_uses, stream, freed, known);
    if (!pending) return FreeResult::out_of_memory;
    pending->slab = slab;
    pending->slot = slot;
    record.state = Slot::pending;
    record.has_uses = false;
    count_out(*owner->shard, size_class.block, requested);
    append_or_settle(owner, pending);
    return FreeResult::ok;
  }
  count_out(*owner->shard, size_class.block, requested);
  push(owner, slab, slot, point);
  return FreeResult::ok;
}

FreeResult CachingAllocator::Impl::free_block(StreamState* owner, LargeBlock* block, void* ptr, StreamKey stream,
                                              Fence freed, bool known) noexcept {
  if (block->where.load(std::memory_order_acquire) != Where::live) [[unlikely]]
    return FreeResult::double_free;
  uint64_t point;
  if (block->has_uses || !own_point(owner, stream, freed, known, &point)) [[unlikely]] {
    PendingFree* pending = make_pending(owner, ptr, block->has_uses, stream, freed, known);
    if (!pending) return FreeResult::out_of_memory;
    pending->block = block;
    block->where.store(Where::pending, std::memory_order_release);
    block->has_uses = false;
    count_out(*owner->shard, block->size, block->requested);
    append_or_settle(owner, pending);
    return FreeResult::ok;
  }
  count_out(*owner->shard, block->size, block->requested);
  quick_put(owner, block, point);
  return FreeResult::ok;
}

// ---- the public functions

CachingAllocator::CachingAllocator(SegmentSource& source, StreamOrder& order, const AllocatorOptions& options)
    : impl_(std::make_unique<Impl>(source, order, options)) {}
CachingAllocator::~CachingAllocator() = default;

Status CachingAllocator::allocate(size_t size, StreamKey stream, void** out) noexcept {
  return impl_->allocate(size, stream, out);
}
FreeResult CachingAllocator::free(void* ptr, StreamKey stream) noexcept {
  if (!ptr) return FreeResult::ok;
  return impl_->free(ptr, stream, {}, false);
}
FreeResult CachingAllocator::free(void* ptr, StreamKey stream, Fence freed) noexcept {
  if (!ptr) return FreeResult::ok;
  return impl_->free(ptr, stream, freed, true);
}
Status CachingAllocator::record_use(void* ptr, StreamKey, Fence fence) noexcept {
  return impl_->record_use(ptr, fence);
}

bool CachingAllocator::owns(const void* ptr) const noexcept { return impl_->heap.map.find(ptr) != nullptr; }
bool CachingAllocator::block_info(const void* ptr, BlockInfo* info) const noexcept {
  return impl_->block_info(ptr, info);
}

void CachingAllocator::retire_stream(StreamKey stream) noexcept { impl_->retire_stream(stream); }
size_t CachingAllocator::trim_to(size_t min_bytes_to_keep) noexcept { return impl_->trim_to(min_bytes_to_keep); }

void CachingAllocator::set_policy(ReusePolicy policy, bool on) noexcept {
  switch (policy) {
    case ReusePolicy::follow_event_dependencies:
      impl_->follow_events = on;
      break;
    case ReusePolicy::allow_opportunistic:
      impl_->opportunistic = on;
      break;
    case ReusePolicy::allow_internal_dependencies:
      impl_->internal_dependencies = on;
      break;
  }
}
bool CachingAllocator::policy(ReusePolicy policy) const noexcept {
  switch (policy) {
    case ReusePolicy::follow_event_dependencies:
      return impl_->follow_events;
    case ReusePolicy::allow_opportunistic:
      return impl_->opportunistic;
    case ReusePolicy::allow_internal_dependencies:
      return impl_->internal_dependencies;
  }
  return false;
}
void CachingAllocator::set_release_threshold(size_t bytes) noexcept { impl_->release_threshold = bytes; }
size_t CachingAllocator::release_threshold() const noexcept { return impl_->release_threshold; }
void CachingAllocator::set_limit(size_t bytes) noexcept {
  Impl::Guard guard(impl_->heap.lock);
  impl_->heap.limit = bytes;
}
void CachingAllocator::set_segment_sizes(const SegmentSizes& sizes) noexcept {
  const auto chunks = [](size_t bytes) {
    return bytes == 0 ? kChunk : bytes > SIZE_MAX - kChunk ? bytes / kChunk * kChunk : round_up(bytes, kChunk);
  };
  Impl::Guard guard(impl_->heap.lock);
  impl_->first_segment = chunks(sizes.first);
  impl_->min_segment = chunks(sizes.least);
  impl_->max_segment = std::max(chunks(sizes.most), impl_->min_segment);
}
size_t CachingAllocator::limit() const noexcept {
  Impl::Guard guard(impl_->heap.lock);
  return impl_->heap.limit;
}

namespace {
// Tells threads apart: each has its own at another address, and no system call is needed.
thread_local char this_thread;
}  // namespace

PinToken CachingAllocator::begin_pin() noexcept { return impl_->begin_pin(&this_thread, kNoStream, true); }
PinToken CachingAllocator::begin_pin(StreamKey stream) noexcept { return impl_->begin_pin(nullptr, stream, true); }
PinToken CachingAllocator::make_pin() noexcept { return impl_->begin_pin(nullptr, kNoStream, false); }
Status CachingAllocator::allocate(size_t size, StreamKey stream, PinToken pin, void** out) noexcept {
  return impl_->allocate_slow(size, stream, out, pin.id);
}
Status CachingAllocator::end_pin(PinToken token) noexcept { return impl_->end_pin(token); }
Status CachingAllocator::release_pin(PinToken token, Fence last_use) noexcept {
  return impl_->release_pin(token, last_use);
}

void CachingAllocator::release_pins() noexcept { impl_->release_pins(); }

uint64_t CachingAllocator::Impl::pin_for(StreamKey stream) const noexcept {
  for (auto pin = pins.rbegin(); pin != pins.rend(); ++pin)
    if (pin->open && (pin->thread ? pin->thread == &this_thread : pin->stream == stream)) return pin->id;
  return 0;
}

void CachingAllocator::prepare_fork() noexcept {
  impl_->pins_lock.lock();
  impl_->high_lock.lock();
  impl_->lock_everything();
}
void CachingAllocator::after_fork_parent() noexcept {
  impl_->unlock_everything();
  impl_->high_lock.unlock();
  impl_->pins_lock.unlock();
}
void CachingAllocator::after_fork_child() noexcept { after_fork_parent(); }

}  // namespace infinirt
