#include <algorithm>
#include <new>

#include "allocator/impl.h"

namespace infinirt {

using Impl = CachingAllocator::Impl;

Impl::Impl(SegmentSource& source, StreamOrder& order, const AllocatorOptions& options)
    : source(source),
      order(order),
      first_segment(round_up(options.min_segment ? options.min_segment : kChunk, kChunk)),
      min_segment(first_segment),
      max_segment(options.max_segment / kChunk * kChunk),
      follow_events(options.reuse_follow_event_dependencies),
      opportunistic(options.reuse_allow_opportunistic),
      internal_dependencies(options.reuse_allow_internal_dependencies),
      release_threshold(options.release_threshold),
      heap(order) {
  if (max_segment < min_segment) max_segment = min_segment;
  heap.limit = options.limit;
  for (Shard& shard : shards) shard.latest = &nobody;
}

Impl::~Impl() {
  for (Shard& shard : shards) {
    for (auto& [ptr, uses] : shard.uses)
      for (Fence fence : uses) order.release(fence);
    for (auto& [key, state] : shard.states) {
      for (PendingFree *pending = state->pending_first, *next; pending; pending = next) {
        next = pending->next;
        drop(pending);
      }
      if (void* timeline = state->timeline.load()) order.release({timeline, 0});
      delete state;
    }
    for (StreamState* state : shard.spare) delete state;
  }
  for (Pin& pin : pins)
    if (pin.last_use.timeline) order.release(pin.last_use);
  for (Segment* segment = heap.segments; segment; segment = segment->next)
    source.unmap(segment->base.load(), segment->bytes);
}

// ---- streams

void Impl::retire_stream(StreamKey stream) noexcept {
  Shard& shard = shard_of(stream);
  bool known = false;
  {
    Guard guard(shard.lock);
    for (const auto& [key, state] : shard.states) known = known || key.stream == stream.id;
  }
  if (!known) return;
  Fence last = order.now(stream);
  Guard guard(shard.lock);
  for (;;) {
    const auto place = std::find_if(shard.states.begin(), shard.states.end(),
                                    [&](const auto& entry) { return entry.first.stream == stream.id; });
    if (place == shard.states.end()) break;
    StreamState* state = place->second;
    state->last_point = last.timeline && heap.set_timeline(state, last.timeline) ? last.value : kAlwaysPassed;
    state->gone.store(true, std::memory_order_release);
    rename(shard, place);
    if (!state->pinned.load(std::memory_order_relaxed)) retire(state);
  }
  sweep_states(shard);
}

// The stream's id may come back for another stream, which must not find what this one left.
void Impl::rename(Shard& shard, decltype(Shard::states)::iterator place) noexcept {
  const uint64_t id = kGoneStreams | gone_streams.fetch_add(1, std::memory_order_relaxed);
  auto node = shard.states.extract(place);  // putting it back needs no memory: there was room for it
  node.key().stream = id;
  {
    Guard heap_guard(heap.lock);
    node.mapped()->id = id;
  }
  shard.states.insert(std::move(node));
}

void Impl::retire(StreamState* state) noexcept {
  state->retired = true;
  if (state->shard->latest == state) state->shard->latest = &nobody;
  drain(state, opportunistic, false, kBrief);
  flush(state);
}

void Impl::sweep_states(Shard& shard) noexcept {
  for (auto place = shard.states.begin(); place != shard.states.end();) {
    StreamState* state = place->second;
    if (!state->retired || state->busy || state->pending_first || state->quick_count ||
        state->attached.load(std::memory_order_relaxed) != 0) {
      ++place;
      continue;
    }
    {
      Guard guard(heap.lock);
      heap.remove_state(state);
    }
    if (void* timeline = state->timeline.exchange(nullptr)) order.release({timeline, 0});
    if (shard.latest == state) shard.latest = &nobody;
    state->id = kNoStream.id;
    shard.spare.push_back(state);  // there is room: see find_or_make_state
    place = shard.states.erase(place);
  }
}

// ---- trimming

size_t Impl::trim_to(size_t keep) noexcept {
  {
    Guard guard(heap.lock);
    if (heap.reserved <= keep) return 0;
  }
  settle_pins();
  for (Shard& shard : shards) {
    Guard guard(shard.lock);
    for (auto& [key, state] : shard.states) {
      if (state->pinned.load(std::memory_order_relaxed)) continue;
      if (state->pending_first) drain(state, true, false, kExhaustive);
      flush(state);
      // Frees without a fence count from when they are first asked about: that is now, not when the slab is empty one day.
      for (Slab* slab : state->with_room)
        for (; slab; slab = slab->next)
          if (slab->point == kUnknownPoint) heap.fence_of(state, slab->point);
    }
  }
  size_t released = release_segments(keep);
  for (Shard& shard : shards) {
    Guard guard(shard.lock);
    sweep_states(shard);
  }
  return released;
}

size_t Impl::release_segments(size_t keep) noexcept {
  std::vector<MappedRange> ranges;
  {
    Guard guard(heap.lock);
    heap.take_free_segments(keep, &ranges);
  }
  size_t bytes = 0;
  for (const MappedRange& range : ranges) {
    source.unmap(range.base, range.bytes);
    bytes += range.bytes;
  }
  return bytes;
}

// ---- pins

PinToken Impl::begin_pin(const void* thread, StreamKey stream, bool open) noexcept {
  Guard guard(pins_lock);
  try {
    pins.push_back({next_pin, thread, stream, open, false, {}});
  } catch (const std::bad_alloc&) {
    return {};
  }
  if (open) open_pins.fetch_add(1, std::memory_order_release);
  return {next_pin++};
}

bool Impl::can_allocate_from(uint64_t pin) const noexcept {
  for (const Pin& known : pins)
    if (known.id == pin) return !known.released;
  return false;
}

Status Impl::end_pin(PinToken token) noexcept {
  Guard guard(pins_lock);
  for (Pin& pin : pins) {
    if (pin.id != token.id || !pin.open) continue;
    pin.open = false;
    open_pins.fetch_sub(1, std::memory_order_release);
    return kStatusOk;
  }
  return kStatusInvalidValue;
}

Status Impl::release_pin(PinToken token, Fence last_use) noexcept {
  {
    Guard guard(pins_lock);
    Pin* found = nullptr;
    for (Pin& pin : pins)
      if (pin.id == token.id && !pin.released) found = &pin;
    if (!found) return kStatusInvalidValue;
    if (found->open) open_pins.fetch_sub(1, std::memory_order_release);
    found->open = false;
    found->released = true;
    found->last_use = last_use;
    if (last_use.timeline) order.retain(last_use);
    released_pins.fetch_add(1, std::memory_order_release);
  }
  settle_pins();
  return kStatusOk;
}

void Impl::release_pins() noexcept {
  for (;;) {
    PinToken token;
    {
      Guard guard(pins_lock);
      for (const Pin& pin : pins)
        if (!pin.released) token.id = pin.id;
    }
    if (!token || release_pin(token, {}) != kStatusOk) return;
  }
}

void Impl::settle_pins() noexcept {
  while (released_pins.load(std::memory_order_acquire) != 0) {
    uint64_t free_pin = 0;
    {
      Guard guard(pins_lock);
      for (auto pin = pins.begin(); pin != pins.end(); ++pin) {
        if (!pin->released || (pin->last_use.timeline && !order.passed(pin->last_use))) continue;
        if (pin->last_use.timeline) order.release(pin->last_use);
        free_pin = pin->id;
        pins.erase(pin);
        released_pins.fetch_sub(1, std::memory_order_release);
        break;
      }
    }
    if (!free_pin) return;
    unpin(free_pin);
  }
}

void Impl::unpin(uint64_t pin) noexcept {
  for (Shard& shard : shards) {
    Guard guard(shard.lock);
    for (auto& [key, state] : shard.states) {
      if (key.pin != pin) continue;
      {
        // The heap looks at the mark under its own lock only.
        Guard heap_guard(heap.lock);
        state->pinned.store(false, std::memory_order_relaxed);
      }
      retire(state);
    }
    sweep_states(shard);
  }
}

// ---- everything at once, for snapshots and fork

void Impl::lock_everything() const noexcept {
  for (Shard& shard : shards) shard.lock.lock();
  heap.lock.lock();
}

void Impl::unlock_everything() const noexcept {
  heap.lock.unlock();
  for (Shard& shard : shards) shard.lock.unlock();
}

}  // namespace infinirt
