#include <algorithm>
#include <new>

#include "allocator/impl.h"

namespace infinirt {

using Impl = CachingAllocator::Impl;

namespace {
constexpr size_t kMuch = size_t{1} << 20;
}

// Where a block comes from, in this order: the stream's own lists; the heap (the stream's own memory, then nobody's); other
// streams' memory that is known to be free for this one; a new segment. When none can be had: the same again, looking
// everywhere; after giving idle segments back; and at last by making the stream wait for others.
Status Impl::allocate_slow(size_t size, StreamKey stream, void** out, uint64_t pin) noexcept {
  *out = nullptr;
  if (size == 0) return kStatusOk;
  if (stream == kNoStream) return kStatusInvalidValue;
  if (size > kMaxRequest) {
    failures.fetch_add(1, std::memory_order_relaxed);
    return kStatusOutOfMemory;
  }
  StreamState* state = state_for(stream, pin);
  if (!state) return pin ? kStatusInvalidValue : kStatusOutOfMemory;
  Request request{size, round_large(size), nullptr, 0, stream, state};
  if (size <= kMaxSmall) {
    request.class_index = class_of(size);
    request.small = &kSizeClasses[request.class_index];
    request.bytes = request.small->span;
  }
  uint64_t unmaps_before;
  {
    Guard guard(heap.lock);
    unmaps_before = heap.unmaps;
  }

  void* ptr = serve_from_lists(request);
  LargeBlock* block = nullptr;
  Status status = kStatusOk;
  if (!ptr) block = serve_from_heap(request, kBrief);
  if (!ptr && !block) {
    settle_pins();
    block = reuse_from_others(request, kBrief);
    if (!block) ptr = steal_from_others(request, kBrief);
    if (!ptr && !block) status = map_segment(request, &block);
  }
  if (status == kStatusOutOfMemory) {
    block = reuse_from_others(request, kExhaustive);
    if (!block) ptr = steal_from_others(request, kExhaustive);
    if (!ptr && !block) {
      // Another thread may have given memory back between our attempt and now: then there is reason to try as well.
      bool more = release_segments(0) > 0;
      {
        Guard guard(heap.lock);
        more = more || heap.unmaps != unmaps_before;
      }
      if (more) map_segment(request, &block);
    }
    if (!ptr && !block && internal_dependencies) {
      block = wait_for_run(request);
      if (!block) ptr = wait_for_pending(request);
      if (!ptr && !block && request.small) ptr = wait_for_slot(request);
    }
    if (ptr || block) status = kStatusOk;
  }
  if (block) {
    ptr = install(request, block);
    if (!ptr) status = kStatusOutOfMemory;
  }
  {
    Guard guard(state->shard->lock);
    --state->busy;
  }
  if (status == kStatusOutOfMemory) failures.fetch_add(1, std::memory_order_relaxed);
  *out = ptr;
  return status;
}

StreamState* Impl::state_for(StreamKey stream, uint64_t named_pin) noexcept {
  // Held until the state exists: a pin that is released afterwards finds it.
  std::unique_lock<ShortLock> pins_guard(pins_lock, std::defer_lock);
  uint64_t pin = named_pin;
  if (named_pin) {
    pins_guard.lock();
    if (!can_allocate_from(named_pin)) return nullptr;
  } else if (open_pins.load(std::memory_order_acquire) != 0) {
    pins_guard.lock();
    pin = pin_for(stream);
  }
  Shard& shard = shard_of(stream);
  Guard guard(shard.lock);
  StreamState* state = find_or_make_state(shard, stream, pin);
  if (!state) return nullptr;
  ++state->busy;
  if (!pin) shard.latest = state;
  return state;
}

StreamState* Impl::find_or_make_state(Shard& shard, StreamKey stream, uint64_t pin) noexcept {
  try {
    auto [place, is_new] = shard.states.try_emplace({stream.id, pin}, nullptr);
    if (!is_new) return place->second;
    StreamState* state = nullptr;
    if (!shard.spare.empty()) {
      state = shard.spare.back();
      shard.spare.pop_back();
    } else {
      state = new (std::nothrow) StreamState;
      // Room to put it aside later, so that forgetting a stream cannot fail.
      if (state) shard.spare.reserve(shard.states.size());
    }
    if (!state) {
      shard.states.erase(place);
      return nullptr;
    }
    place->second = state;
    state->shard = &shard;
    state->id = stream.id;
    state->pin = pin;
    state->pinned.store(pin != 0, std::memory_order_relaxed);
    state->retired = false;
    state->gone.store(false, std::memory_order_relaxed);
    state->last_point = kAlwaysPassed;
    shards_in_use.fetch_or(1u << (&shard - shards), std::memory_order_relaxed);
    Guard guard(heap.lock);
    heap.add_state(state);
    return state;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* Impl::serve_from_lists(const Request& request) noexcept {
  StreamState* state = request.state;
  Shard& shard = *state->shard;
  void* ptr = nullptr;
  bool over = false;
  {
    Guard guard(shard.lock);
    for (int attempt = 0; attempt < 2 && !ptr; ++attempt) {
      if (attempt == 1) {
        if (!state->pending_first) break;
        drain(state, opportunistic, follow_events, kBrief);
      }
      if (request.small) {
        Slab* slab = state->with_room[request.class_index];
        if (!slab) continue;
        ptr = pop(state, slab, request.size, request.stream);
        over = count_in(shard, slab->size_class().block, request.size);
      } else if (LargeBlock* block = quick_take(state, request.bytes)) {
        block->requested = request.size;
        block->where.store(Where::live, std::memory_order_release);
        ptr = block->base;
        over = count_in(shard, block->size, request.size);
      }
    }
  }
  if (over) raise_used_high(shard);
  return ptr;
}

LargeBlock* Impl::serve_from_heap(const Request& request, unsigned budget) noexcept {
  // Blocks in the quick lists are not joined with their neighbours. Where much memory is at stake they are, before a larger
  // block is cut; for less, only when nothing else is left.
  const bool much = request.bytes >= kMuch;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt == 1) {
      Guard guard(request.state->shard->lock);
      flush(request.state);
    }
    Guard guard(heap.lock);
    if (much && attempt == 1 && opportunistic) heap.promote_passed(request.state, 1);
    if (LargeBlock* block = heap.take_closest(request.state, request.bytes, budget, much && attempt == 0)) return block;
  }
  return nullptr;
}

LargeBlock* Impl::reuse_from_others(const Request& request, unsigned budget) noexcept {
  for (Shard& shard : shards) {
    Guard guard(shard.lock);
    for (auto& [key, state] : shard.states) {
      if (state->pinned.load(std::memory_order_relaxed) && state != request.state) continue;
      if (state->pending_first) drain(state, opportunistic, state == request.state && follow_events, budget);
      flush(state);
    }
  }
  Guard guard(heap.lock);
  heap.promote_passed(opportunistic, budget);
  if (LargeBlock* block = heap.take(request.state, request.bytes, budget)) return block;
  if (LargeBlock* block = heap.take(nullptr, request.bytes, budget)) return block;
  return heap.take_preceding(request.state, request.stream, request.bytes, follow_events, budget);
}

// A pool that is asked for ever new sizes would collect segments that fit none of them. Once it holds half as much again as
// was ever live together, it gives as much idle memory back as it is about to add.
void Impl::swap_idle_segments(size_t bytes) noexcept {
  constexpr size_t kNeverMind = size_t{32} << 20;
  size_t keep;
  {
    Guard guard(heap.lock);
    size_t high = static_cast<size_t>(used_high.load(std::memory_order_relaxed));
    if (heap.reserved + bytes <= high + high / 2 + kNeverMind) return;
    keep = heap.reserved > bytes ? heap.reserved - bytes : 0;
  }
  release_segments(keep);
}

Status Impl::map_segment(const Request& request, LargeBlock** block) noexcept {
  size_t needed = round_up(request.bytes, kChunk);
  size_t generous;
  {
    // Segments grow with the pool: few of them when much is used, little unused memory when little is.
    Guard guard(heap.lock);
    generous =
        heap.reserved == 0 ? first_segment : std::clamp(round_up(heap.reserved / 8, kChunk), min_segment, max_segment);
  }
  if (generous < needed) generous = needed;
  swap_idle_segments(generous);
  Status status = kStatusOutOfMemory;
  for (size_t bytes = generous;; bytes = needed) {
    bool within_limit;
    {
      Guard guard(heap.lock);
      within_limit = heap.reserve(bytes);
    }
    if (within_limit) {
      void* base = nullptr;
      status = source.map(bytes, kChunk, &base);
      bool mapped = status == kStatusOk;
      {
        Guard guard(heap.lock);
        if (mapped) *block = heap.add_segment(base, bytes);
        if (*block) {
          heap.shrink(*block, request.bytes);
          return kStatusOk;
        }
        heap.unreserve(bytes);
      }
      if (mapped) {
        source.unmap(base, bytes);
        return kStatusOutOfMemory;
      }
      if (status != kStatusOutOfMemory) return status;
    }
    if (bytes == needed) return kStatusOutOfMemory;
  }
}

// Turns a block from the heap into what was asked for. Null: no host memory for a slab's bookkeeping.
void* Impl::install(const Request& request, LargeBlock* block) noexcept {
  StreamState* state = request.state;
  Shard& shard = *state->shard;
  StreamState* before = block->owner.load(std::memory_order_relaxed);
  // Memory that came from another stream is free for this one only from here on.
  uint64_t point = before == state ? block->point : before ? kUnknownPoint : block->point;
  if (request.small) {
    Slab* slab;
    {
      Guard guard(heap.lock);
      slab = heap.new_slab(request.class_index);
      if (!slab) {
        heap.put(block, before, block->point);
        return nullptr;
      }
      Heap::set_owner(block, state);
      slab->span = block;
      slab->base = block->base;
      slab->point = point;
      slab->owner.store(state, std::memory_order_release);
      heap.cut(block, slab);
    }
    return install_slab(request, slab);
  }
  bool over;
  {
    Guard guard(shard.lock);
    block->requested = request.size;
    block->has_uses = false;
    Heap::set_owner(block, state);
    block->where.store(Where::live, std::memory_order_release);
    over = count_in(shard, block->size, request.size);
  }
  void* ptr = block->base;
  if (over) raise_used_high(shard);
  return ptr;
}

void* Impl::install_slab(const Request& request, Slab* slab) noexcept {
  StreamState* state = request.state;
  Shard& shard = *state->shard;
  void* ptr;
  bool over;
  {
    Guard guard(shard.lock);
    if (!slab->listed) list(state, slab);
    ptr = pop(state, slab, request.size, request.stream);
    over = count_in(shard, slab->size_class().block, request.size);
  }
  if (over) raise_used_high(shard);
  return ptr;
}

}  // namespace infinirt
