#include "allocator/impl.h"

namespace infinirt {

using Impl = CachingAllocator::Impl;

// Single blocks, out of slabs that other streams go on using and out of frees that still wait for somebody.
void* Impl::steal_from_others(const Request& request, unsigned budget) noexcept {
  bool pinned = request.state->pinned.load(std::memory_order_relaxed);
  for (Shard& shard : shards) {
    void* ptr = nullptr;
    Slab* adopted = nullptr;
    {
      Guard guard(shard.lock);
      for (auto& [key, state] : shard.states) {
        if (state->pinned.load(std::memory_order_relaxed) || state == request.state) continue;
        // A pin must own whole slabs: a single block would return to a slab that others use.
        if (request.small && !pinned) {
          if (state->retired) adopted = adopt_slab(state, request);
          // One block at a time is slow, and so is its free: better than failing, but not than mapping a segment.
          if (!adopted && budget == kExhaustive) ptr = steal_slot(state, request);
        }
        if (!ptr && !adopted && state->pending_first && follow_events) ptr = steal_pending(state, request, budget);
        if (ptr || adopted) break;
      }
    }
    if (adopted) ptr = install_slab(request, adopted);
    if (ptr) {
      if (!adopted) raise_used_high(shard);
      return ptr;
    }
  }
  return nullptr;
}

void* Impl::steal_slot(StreamState* victim, const Request& request) noexcept {
  bool same_stream = victim->id == request.stream.id;
  auto allowed = [&](uint64_t& point) {
    if (point == kAlwaysPassed || same_stream) return true;
    return ((opportunistic || victim->retired) && heap.passed(victim, point)) ||
           (follow_events && heap.precedes(victim, point, request.stream));
  };
  for (Slab* slab = victim->with_room[request.class_index]; slab; slab = slab->next) {
    uint16_t slot = kNoSlot;
    for (uint16_t* link = &slab->free_head; *link != kNoSlot; link = &slab->records()[*link].next) {
      if (!allowed(slab->records()[*link].point)) continue;
      slot = *link;
      *link = slab->records()[slot].next;
      break;
    }
    if (slot == kNoSlot) {
      if (slab->untouched == slab->size_class().count || !allowed(slab->point)) continue;
      slot = slab->untouched++;
    }
    ++slab->in_use;
    if (!slab->has_room()) unlist(victim, slab);
    count_in(*victim->shard, slab->size_class().block, request.size);
    return hand_out(slab, slot, request.size, request.stream);
  }
  return nullptr;
}

// Streams that are gone leave slabs with some live blocks behind; whoever can use the rest takes the slab over.
Slab* Impl::adopt_slab(StreamState* victim, const Request& request) noexcept {
  Slab* slab = victim->with_room[request.class_index];
  if (!slab || !heap.passed(victim, slab->point)) return nullptr;
  // Recorded uses are kept by the shard, and would be lost by moving to another.
  for (uint16_t slot = 0; slot < slab->untouched; ++slot)
    if (slab->records()[slot].has_uses) return nullptr;
  for (PendingFree* pending = victim->pending_first; pending; pending = pending->next)
    if (pending->slab == slab) return nullptr;
  unlist(victim, slab);
  slab->point = kAlwaysPassed;
  for (uint16_t slot = slab->free_head; slot != kNoSlot; slot = slab->records()[slot].next)
    slab->records()[slot].point = kAlwaysPassed;
  Heap::set_owner(slab->span, request.state);
  slab->owner.store(request.state, std::memory_order_release);
  return slab;
}

bool Impl::fits(const PendingFree* pending, const Request& request, unsigned budget) const noexcept {
  if (pending->slab)
    return request.small && pending->slab->class_index == request.class_index &&
           !request.state->pinned.load(std::memory_order_relaxed);
  // It cannot be split: all of it waits for the same fences.
  size_t size = pending->block->size;
  return !request.small && size >= request.bytes &&
         (budget == kExhaustive || size - request.bytes <= request.bytes / 4);
}

void* Impl::steal_pending(StreamState* victim, const Request& request, unsigned budget) noexcept {
  const bool pinned = request.state->pinned.load(std::memory_order_relaxed);  // see Heap::take_preceding
  auto allowed = [&](Fence fence) {
    return !fence.timeline || (opportunistic && order.passed(fence)) ||
           (!pinned && order.precedes(fence, request.stream));
  };
  PendingFree* previous = nullptr;
  for (PendingFree* pending = victim->pending_first; pending && budget; previous = pending, pending = pending->next) {
    if (!fits(pending, request, budget)) continue;
    if (budget != kExhaustive) --budget;
    bool free = allowed(heap.fence_of(victim, pending->own_point));
    for (Fence fence : pending->fences) free = free && allowed(fence);
    if (!free) continue;
    detach(victim, previous, pending);
    return give_pending(victim, pending, request);
  }
  return nullptr;
}

// The victim's shard lock is held; the entry is in no list any more.
void* Impl::give_pending(StreamState* victim, PendingFree* pending, const Request& request) noexcept {
  void* ptr;
  if (pending->slab) {
    ptr = hand_out(pending->slab, pending->slot, request.size, request.stream);
    count_in(*victim->shard, pending->slab->size_class().block, request.size);
  } else {
    // From now on another shard's lock guards the block, so everything is written before it becomes live.
    LargeBlock* block = pending->block;
    count_in(*victim->shard, block->size, request.size);
    block->requested = request.size;
    ptr = block->base;
    Heap::set_owner(block, request.state);
    block->where.store(Where::live, std::memory_order_release);
  }
  drop(pending);
  return ptr;
}

}  // namespace infinirt
