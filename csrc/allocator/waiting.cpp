#include <new>

#include "allocator/impl.h"

namespace infinirt {

using Impl = CachingAllocator::Impl;

// Nothing is held while the order is asked to make the stream wait, so what is being negotiated is first taken out of
// everybody's reach, and put back when that fails.

bool Impl::wait_for(StreamKey stream, std::span<const Fence> fences) noexcept {
  for (Fence fence : fences) {
    if (!fence.timeline || order.passed(fence) || order.precedes(fence, stream)) continue;
    if (!order.make_wait(stream, fence)) return false;
  }
  return true;
}

LargeBlock* Impl::wait_for_run(const Request& request) noexcept try {
  std::vector<LargeBlock*> run;
  std::vector<Fence> fences;
  {
    Guard guard(heap.lock);
    if (!heap.find_run(request.bytes, &run)) return nullptr;
    fences.reserve(run.size());  // from here on nothing can fail for want of host memory
    heap.take_run(run);
    for (LargeBlock* block : run)
      if (StreamState* owner = block->owner.load(std::memory_order_relaxed))
        fences.push_back(heap.fence_of(owner, block->point));
    for (Fence fence : fences)
      if (fence.timeline) order.retain(fence);
  }
  bool ordered = wait_for(request.stream, fences);
  for (Fence fence : fences)
    if (fence.timeline) order.release(fence);
  Guard guard(heap.lock);
  if (!ordered) {
    for (LargeBlock* block : run) heap.put(block, block->owner.load(std::memory_order_relaxed), block->point);
    return nullptr;
  }
  LargeBlock* block = heap.join(run, request.bytes);
  // Several owners' memory, and now this stream's: its point is this stream's next one.
  Heap::set_owner(block, request.state);
  block->point = kUnknownPoint;
  return block;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void* Impl::wait_for_pending(const Request& request) noexcept {
  for (Shard& shard : shards) {
    StreamState* victim = nullptr;
    PendingFree* taken = nullptr;
    Fence own;
    {
      Guard guard(shard.lock);
      for (auto& [key, state] : shard.states) {
        if (state->pinned.load(std::memory_order_relaxed) && state != request.state) continue;
        PendingFree* previous = nullptr;
        for (PendingFree* pending = state->pending_first; pending; previous = pending, pending = pending->next) {
          if (!fits(pending, request, kExhaustive)) continue;
          victim = state;
          taken = pending;
          own = heap.fence_of(state, pending->own_point);
          detach(state, previous, pending);
          ++state->busy;
          break;
        }
        if (taken) break;
      }
    }
    if (!taken) continue;
    bool ordered = wait_for(request.stream, {&own, 1}) && wait_for(request.stream, taken->fences);
    void* ptr = nullptr;
    {
      Guard guard(shard.lock);
      --victim->busy;
      if (ordered)
        ptr = give_pending(victim, taken, request);
      else
        append(victim, taken);
    }
    if (ptr) raise_used_high(shard);
    return ptr;
  }
  return nullptr;
}

void* Impl::wait_for_slot(const Request& request) noexcept {
  if (request.state->pinned.load(std::memory_order_relaxed)) return nullptr;
  for (Shard& shard : shards) {
    StreamState* victim = nullptr;
    Slab* slab = nullptr;
    uint16_t slot = kNoSlot;
    Fence fence;
    uint64_t point = kAlwaysPassed;
    {
      Guard guard(shard.lock);
      for (auto& [key, state] : shard.states) {
        if (state->pinned.load(std::memory_order_relaxed)) continue;
        slab = state->with_room[request.class_index];
        if (!slab) continue;
        victim = state;
        slot = slab->free_head;
        if (slot != kNoSlot) {
          slab->free_head = slab->records()[slot].next;
          point = slab->records()[slot].point;
        } else {
          slot = slab->untouched++;
          point = slab->point;
        }
        fence = heap.fence_of(state, point);
        slab->records()[slot].state = Slot::pending;
        ++slab->in_use;
        if (!slab->has_room()) unlist(state, slab);
        ++state->busy;
        break;
      }
    }
    if (!slab) continue;
    bool ordered = wait_for(request.stream, {&fence, 1});
    void* ptr = nullptr;
    {
      Guard guard(shard.lock);
      --victim->busy;
      if (ordered) {
        ptr = hand_out(slab, slot, request.size, request.stream);
        count_in(shard, slab->size_class().block, request.size);
      } else {
        push(victim, slab, slot, point);
      }
    }
    if (ptr) raise_used_high(shard);
    return ptr;
  }
  return nullptr;
}

}  // namespace infinirt
