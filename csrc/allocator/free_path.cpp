#include <new>

#include "allocator/impl.h"

namespace infinirt {

using Impl = CachingAllocator::Impl;

// ---- a stream's lists

void Impl::emptied(StreamState* state, Slab* slab) noexcept {
  // The last slab of a class is kept: a stream that goes on allocating and freeing one block must not come here each time.
  bool others = slab->prev || slab->next;
  if (others || state->retired) retire_slab(state, slab);
}

void Impl::retire_slab(StreamState* state, Slab* slab) noexcept {
  if (slab->listed) unlist(state, slab);
  slab->owner.store(nullptr, std::memory_order_release);
  Guard guard(heap.lock);
  heap.uncut(slab);
  heap.put(slab->span, state, slab->point);
  heap.recycle_slab(slab);
}

LargeBlock* Impl::quick_take(StreamState* state, size_t size) noexcept {
  LargeBlock** link = &state->quick[quick_list(size)];
  for (LargeBlock* block = *link; block; link = &block->next, block = *link) {
    if (block->size != size) continue;
    *link = block->next;
    block->next = nullptr;
    --state->quick_count;
    return block;
  }
  return nullptr;
}

void Impl::quick_put(StreamState* state, LargeBlock* block, uint64_t point) noexcept {
  block->requested = 0;
  block->point = point;
  if (state->retired) {
    block->where.store(Where::moving, std::memory_order_release);
    Guard guard(heap.lock);
    heap.put(block, state, point);
    return;
  }
  LargeBlock*& head = state->quick[quick_list(block->size)];
  block->next = head;
  head = block;
  block->where.store(Where::quick, std::memory_order_release);
  if (++state->quick_count > kQuickBlocks) flush_quick(state);
}

void Impl::flush_quick(StreamState* state) noexcept {
  if (state->quick_count == 0) return;
  Guard guard(heap.lock);
  for (LargeBlock*& head : state->quick) {
    for (LargeBlock *block = head, *next; block; block = next) {
      next = block->next;
      block->where.store(Where::moving, std::memory_order_release);
      heap.put(block, state, block->point);
    }
    head = nullptr;
  }
  state->quick_count = 0;
}

void Impl::flush(StreamState* state) noexcept {
  flush_quick(state);
  for (Slab* slab : state->with_room) {
    for (Slab* next; slab; slab = next) {
      next = slab->next;
      if (slab->in_use == 0) retire_slab(state, slab);
    }
  }
}

// ---- frees that have to wait

Status Impl::record_use(void* ptr, Fence fence) noexcept {
  if (!fence.timeline) return kStatusOk;
  for (;;) {
    Segment* segment = heap.map.find(ptr);
    GranuleEntry* entry = segment ? segment->entry(ptr) : nullptr;
    uintptr_t value = entry ? entry->load(std::memory_order_acquire) : 0;
    if (!value) return kStatusInvalidValue;
    Slab* slab = value & 1 ? reinterpret_cast<Slab*>(value - 1) : nullptr;
    LargeBlock* block = slab ? nullptr : reinterpret_cast<LargeBlock*>(value);
    std::atomic<StreamState*>& owner_field = slab ? slab->owner : block->owner;
    StreamState* owner = owner_field.load(std::memory_order_acquire);
    if (!owner) return kStatusInvalidValue;
    Shard& shard = *owner->shard;
    Guard guard(shard.lock);
    if (owner_field.load(std::memory_order_relaxed) != owner || entry->load(std::memory_order_relaxed) != value)
      continue;
    bool* has_uses;
    if (slab) {
      uint64_t offset = static_cast<uint64_t>(static_cast<char*>(ptr) - slab->base);
      uint64_t slot = offset / slab->size_class().block;
      if (offset % slab->size_class().block || slot >= slab->untouched || slab->records()[slot].state != Slot::live)
        return kStatusInvalidValue;
      has_uses = &slab->records()[slot].has_uses;
    } else {
      if (reinterpret_cast<uintptr_t>(ptr) % kGranule || block->where.load(std::memory_order_relaxed) != Where::live)
        return kStatusInvalidValue;
      has_uses = &block->has_uses;
    }
    try {
      std::vector<Fence>& uses = shard.uses[ptr];
      for (Fence& use : uses) {
        if (use.timeline != fence.timeline) continue;
        if (fence.value > use.value) use.value = fence.value;
        return kStatusOk;
      }
      uses.push_back(fence);
    } catch (const std::bad_alloc&) {
      return kStatusOutOfMemory;
    }
    order.retain(fence);
    *has_uses = true;
    return kStatusOk;
  }
}

PendingFree* Impl::make_pending(StreamState* owner, void* ptr, bool has_uses, StreamKey stream, Fence freed,
                                bool known) noexcept {
  PendingFree* pending = new (std::nothrow) PendingFree;
  if (!pending) return nullptr;
  if (own_point(owner, stream, freed, known, &pending->own_point)) {
    heap.fence_of(owner, pending->own_point);  // settles it now, if it was left open
  } else {
    pending->own_point = kAlwaysPassed;
    if (!known) freed = order.now(stream);
    if (freed.timeline) {
      try {
        pending->fences.push_back(freed);
        if (has_uses) pending->fences.reserve(1 + owner->shard->uses[ptr].size());
      } catch (const std::bad_alloc&) {
        delete pending;
        return nullptr;
      }
      order.retain(freed);
    }
  }
  if (has_uses) {
    auto recorded = owner->shard->uses.find(ptr);
    if (recorded != owner->shard->uses.end()) {
      if (pending->fences.empty()) {
        pending->fences = std::move(recorded->second);
      } else {
        for (Fence use : recorded->second) pending->fences.push_back(use);  // there is room for them
      }
      owner->shard->uses.erase(recorded);
    }
  }
  return pending;
}

void Impl::append_or_settle(StreamState* owner, PendingFree* pending) noexcept {
  if (!try_settle(owner, pending, opportunistic, follow_events)) append(owner, pending);
}

void Impl::append(StreamState* owner, PendingFree* pending) noexcept {
  pending->next = nullptr;
  (owner->pending_last ? owner->pending_last->next : owner->pending_first) = pending;
  owner->pending_last = pending;
  ++owner->pending_count;
}

void Impl::detach(StreamState* owner, PendingFree* previous, PendingFree* pending) noexcept {
  (previous ? previous->next : owner->pending_first) = pending->next;
  if (owner->pending_last == pending) owner->pending_last = previous;
  pending->next = nullptr;
  --owner->pending_count;
}

void Impl::drop(PendingFree* pending) noexcept {
  for (Fence fence : pending->fences) order.release(fence);
  delete pending;
}

void Impl::settle(StreamState* owner, PendingFree* pending, uint64_t point) noexcept {
  if (pending->slab) {
    push(owner, pending->slab, pending->slot, point);
  } else {
    pending->block->where.store(Where::moving, std::memory_order_release);
    pending->block->requested = 0;
    Guard guard(heap.lock);
    heap.put(pending->block, owner, point);
  }
  drop(pending);
}

bool Impl::try_settle(StreamState* owner, PendingFree* pending, bool passed_will_do, bool preceding_will_do) noexcept {
  bool all_passed = true;
  bool gone = owner->gone.load(std::memory_order_relaxed);
  for (Fence fence : pending->fences) {
    if ((passed_will_do || gone) && order.passed(fence)) continue;
    all_passed = false;
    if (gone || !preceding_will_do || !order.precedes(fence, owner->key())) return false;
  }
  uint64_t point = pending->own_point;
  if (!all_passed) {
    // The owner's next work comes after the fences; for others that means: after the owner's last point now.
    uint64_t now = kUnknownPoint;
    heap.fence_of(owner, now);
    if (now > point) point = now;
  }
  settle(owner, pending, point);
  return true;
}

void Impl::drain(StreamState* owner, bool passed_will_do, bool preceding_will_do, unsigned budget) noexcept {
  PendingFree* previous = nullptr;
  unsigned misses = 0;
  for (PendingFree *pending = owner->pending_first, *next; pending && misses < budget; pending = next) {
    next = pending->next;
    // Settling frees the entry, so it leaves the list first and returns to its place when it has to stay.
    detach(owner, previous, pending);
    if (try_settle(owner, pending, passed_will_do, preceding_will_do)) continue;
    pending->next = next;
    (previous ? previous->next : owner->pending_first) = pending;
    if (!next) owner->pending_last = pending;
    ++owner->pending_count;
    previous = pending;
    ++misses;
  }
}

}  // namespace infinirt
