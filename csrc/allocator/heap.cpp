#include "allocator/heap.h"

namespace infinirt::caching {

void Heap::set_owner(LargeBlock* block, StreamState* owner) noexcept {
  StreamState* was = block->owner.load(std::memory_order_relaxed);
  if (was == owner) return;
  if (owner) owner->attached.fetch_add(1, std::memory_order_relaxed);
  block->owner.store(owner, std::memory_order_release);
  if (was) was->attached.fetch_sub(1, std::memory_order_relaxed);
}

void Heap::insert(LargeBlock* block) noexcept {
  StreamState* owner = block->owner.load(std::memory_order_relaxed);
  index_of(owner).add(block);
  if (owner) {
    block->older = owner->youngest;
    block->younger = nullptr;
    (owner->youngest ? owner->youngest->younger : owner->oldest) = block;
    owner->youngest = block;
  }
  block->where.store(Where::heap, std::memory_order_release);
}

void Heap::extract(LargeBlock* block) noexcept {
  StreamState* owner = block->owner.load(std::memory_order_relaxed);
  index_of(owner).remove(block);
  if (owner) {
    (block->older ? block->older->younger : owner->oldest) = block->younger;
    (block->younger ? block->younger->older : owner->youngest) = block->older;
    block->older = block->younger = nullptr;
  }
  block->where.store(Where::moving, std::memory_order_release);
}

void Heap::absorb_next(LargeBlock* block) noexcept {
  LargeBlock* gone = block->after;
  block->segment->entry(gone->base)->store(0, std::memory_order_release);
  block->size += gone->size;
  block->after = gone->after;
  if (block->after) block->after->before = block;
  set_owner(gone, nullptr);
  gone->next = spare_blocks_;
  spare_blocks_ = gone;
}

void Heap::put(LargeBlock* block, StreamState* owner, uint64_t point) noexcept {
  if (point == kAlwaysPassed && !(owner && owner->pinned.load(std::memory_order_relaxed))) owner = nullptr;
  if (owner && point == kUnknownPoint) fence_of(owner, point);
  set_owner(block, owner);
  auto joins = [owner](LargeBlock* neighbour) {
    return neighbour && neighbour->where.load(std::memory_order_relaxed) == Where::heap &&
           neighbour->owner.load(std::memory_order_relaxed) == owner;
  };
  auto later = [](uint64_t a, uint64_t b) { return a > b ? a : b; };
  if (LargeBlock* next = block->after; joins(next)) {
    point = later(point, next->point);
    extract(next);
    absorb_next(block);
  }
  if (LargeBlock* previous = block->before; joins(previous)) {
    point = later(point, previous->point);
    extract(previous);
    absorb_next(previous);
    block = previous;
  }
  block->point = point;
  block->requested = 0;
  insert(block);
}

void Heap::shrink(LargeBlock* block, size_t size) noexcept {
  if (block->size == size) return;
  LargeBlock* rest = new_block();
  if (!rest) return;
  StreamState* owner = block->owner.load(std::memory_order_relaxed);
  rest->segment = block->segment;
  rest->base = block->base + size;
  rest->size = block->size - size;
  rest->before = block;
  rest->after = block->after;
  if (rest->after) rest->after->before = rest;
  block->after = rest;
  block->size = size;
  block->segment->entry(rest->base)->store(reinterpret_cast<uintptr_t>(rest), std::memory_order_release);
  put(rest, owner, block->point);
}

LargeBlock* Heap::take(StreamState* owner, size_t size, unsigned budget) noexcept {
  LargeBlock* block = index_of(owner).find(size, budget);
  if (!block) return nullptr;
  extract(block);
  shrink(block, size);
  return block;
}

LargeBlock* Heap::take_closest(StreamState* owner, size_t size, unsigned budget, bool exact) noexcept {
  LargeBlock* block = index_of(owner).find(size, budget);
  if (!block || block->size != size) {
    LargeBlock* other = nobodys_.find(size, budget);
    if (!block || (other && other->size < block->size)) block = other;
  }
  if (!block || (exact && block->size != size)) return nullptr;
  extract(block);
  shrink(block, size);
  return block;
}

LargeBlock* Heap::take_preceding(const StreamState* taker, StreamKey stream, size_t size, bool follow_events,
                                 unsigned budget) noexcept {
  // A graph runs on any stream: that memory is free for the stream of its capture says nothing.
  if (taker->pinned.load(std::memory_order_relaxed)) return nullptr;
  for (StreamState* state = states; state; state = state->heap_next) {
    if (state == taker || state->index.empty() || state->pinned.load(std::memory_order_relaxed)) continue;
    bool same_stream = state->id == stream.id;
    if (!same_stream && !follow_events) continue;
    LargeBlock* block = state->index.search(
        size, budget, [&](LargeBlock* candidate) { return same_stream || precedes(state, candidate->point, stream); });
    if (!block) continue;
    extract(block);
    shrink(block, size);
    return block;
  }
  return nullptr;
}

bool Heap::find_run(size_t size, std::vector<LargeBlock*>* run) const {
  auto available = [](LargeBlock* block) {
    if (block->where.load(std::memory_order_relaxed) != Where::heap) return false;
    StreamState* owner = block->owner.load(std::memory_order_relaxed);
    return !owner || !owner->pinned.load(std::memory_order_relaxed);
  };
  for (Segment* segment = segments; segment; segment = segment->next) {
    size_t total = 0;
    LargeBlock* first = segment->first;
    for (LargeBlock* last = first; last; last = last->after) {
      if (!available(last)) {
        total = 0;
        first = last->after;
        continue;
      }
      total += last->size;
      while (total - first->size >= size) {  // drop what the run does not need, so as not to wait for it
        total -= first->size;
        first = first->after;
      }
      if (total < size) continue;
      for (LargeBlock* block = first;; block = block->after) {
        run->push_back(block);
        if (block == last) break;
      }
      return true;
    }
  }
  return false;
}

void Heap::take_run(const std::vector<LargeBlock*>& run) noexcept {
  for (LargeBlock* block : run) extract(block);
}

LargeBlock* Heap::join(const std::vector<LargeBlock*>& run, size_t size) noexcept {
  LargeBlock* block = run.front();
  // Cut the last one before it is joined: what is left over keeps its own owner and point.
  size_t before_last = 0;
  for (size_t i = 0; i + 1 < run.size(); ++i) before_last += run[i]->size;
  shrink(run.back(), size - before_last);
  for (size_t i = 1; i < run.size(); ++i) absorb_next(block);
  return block;
}

void Heap::promote_passed(bool all_streams, unsigned budget) noexcept {
  for (StreamState* state = states; state; state = state->heap_next) {
    if (state->pinned.load(std::memory_order_relaxed)) continue;
    if (!all_streams && !state->retired.load(std::memory_order_relaxed)) continue;
    promote_passed(state, budget);
  }
}

void Heap::promote_passed(StreamState* state, unsigned budget) noexcept {
  if (state->pinned.load(std::memory_order_relaxed)) return;
  unsigned misses = 0;
  for (LargeBlock *block = state->oldest, *next; block && misses < budget; block = next) {
    next = block->younger;
    if (!passed(state, block->point)) {
      ++misses;
      continue;
    }
    extract(block);
    put(block, nullptr, kAlwaysPassed);
  }
}

size_t Heap::largest_free() const noexcept {
  size_t most = nobodys_.largest();
  for (StreamState* state = states; state; state = state->heap_next)
    if (!state->pinned.load(std::memory_order_relaxed) && state->index.largest() > most) most = state->index.largest();
  return most;
}

// ---- fences

bool Heap::set_timeline(StreamState* state, void* timeline) noexcept {
  void* known = state->timeline.load(std::memory_order_acquire);
  if (known) return known == timeline;
  order_.retain({timeline, 0});
  if (state->timeline.compare_exchange_strong(known, timeline, std::memory_order_acq_rel)) return true;
  order_.release({timeline, 0});
  return known == timeline;
}

Fence Heap::fence_of(StreamState* state, uint64_t& point) noexcept {
  if (point == kUnknownPoint) {
    if (state->gone.load(std::memory_order_acquire)) {
      point = state->last_point;
    } else {
      Fence now = order_.now(state->key());
      if (!now.timeline)
        point = kAlwaysPassed;
      else if (set_timeline(state, now.timeline))
        point = now.value;
      else
        return {now.timeline, kUnknownPoint};  // against the contract; never passed, which is safe
    }
  }
  if (point == kAlwaysPassed) return {};
  return {state->timeline.load(std::memory_order_acquire), point};
}

}  // namespace infinirt::caching
