#include <cstdio>

#include "allocator/impl.h"

namespace infinirt {

using Impl = CachingAllocator::Impl;

// ---- statistics

// The highest sum over all shards, without a counter that all threads write. Each shard has an allowance, and the
// allowances add up to no more than the highest sum so far; below its allowance a shard cannot make a new high, and need
// not look. Above it, it first takes what others do not need, and raises the high by what is still missing.
void Impl::raise_used_high(Shard& shard) noexcept {
  Guard high_guard(high_lock);
  if (shard.used.get() <= shard.allowance.get()) return;
  int64_t debt, found = 0;
  {
    Guard guard(shard.lock);
    debt = shard.used.get() - shard.allowance.get();
  }
  uint32_t in_use = shards_in_use.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < kShards && found < debt; ++i) {
    unsigned index = (slack_hint + i) % kShards;
    Shard& other = shards[index];
    if (!(in_use >> index & 1) || &other == &shard || other.allowance.get() <= other.used.get()) continue;
    Guard guard(other.lock);
    int64_t slack = other.allowance.get() - other.used.get();
    if (slack <= 0) continue;
    other.allowance.set(other.used.get());
    found += slack;
  }
  Guard guard(shard.lock);
  debt = shard.used.get() - shard.allowance.get();
  if (found < debt) {
    used_high.store(used_high.load(std::memory_order_relaxed) + debt - found, std::memory_order_relaxed);
    found = debt;
  }
  shard.allowance.add(found);
  slack_hint = static_cast<unsigned>(&shard - shards);
}

void Impl::reset_used_high() noexcept {
  Guard high_guard(high_lock);
  int64_t sum = 0;
  for (Shard& shard : shards) {
    Guard guard(shard.lock);
    shard.allowance.set(shard.used.get());
    sum += shard.used.get();
  }
  used_high.store(sum, std::memory_order_relaxed);
}

AllocatorStats Impl::stats() noexcept {
  AllocatorStats out;
  int64_t used = 0, requested = 0, allocations = 0, frees = 0;
  for (Shard& shard : shards) {
    Guard guard(shard.lock);
    used += shard.used.get();
    requested += shard.requested.get();
    allocations += shard.allocations.get();
    frees += shard.frees.get();
    for (auto& [key, state] : shard.states) out.pending_blocks += state->pending_count;
  }
  // Shards are read one after the other, so a block may be seen leaving one and not arriving in the other.
  auto clamp = [](int64_t value) { return value < 0 ? size_t{0} : static_cast<size_t>(value); };
  out.used_current = clamp(used);
  out.used_high = clamp(used_high.load(std::memory_order_relaxed));
  if (out.used_high < out.used_current) out.used_high = out.used_current;
  out.requested_current = clamp(requested);
  out.allocations = clamp(allocations);
  out.frees = clamp(frees);
  out.live_blocks = clamp(allocations - frees);
  out.out_of_memory = failures.load(std::memory_order_relaxed);
  Guard guard(heap.lock);
  out.reserved_current = heap.reserved;
  out.reserved_high = heap.reserved_high;
  out.segments = heap.segment_count;
  out.segment_maps = heap.maps;
  out.segment_unmaps = heap.unmaps;
  out.largest_free_block = heap.largest_free();
  return out;
}

AllocatorStats CachingAllocator::stats() const noexcept { return impl_->stats(); }
void CachingAllocator::reset_used_high() noexcept { impl_->reset_used_high(); }
void CachingAllocator::reset_reserved_high() noexcept {
  Impl::Guard guard(impl_->heap.lock);
  impl_->heap.reserved_high = impl_->heap.reserved;
}

// ---- blocks

void Impl::describe(const Slab* slab, uint16_t slot, BlockInfo* info) noexcept {
  const StreamState* owner = slab->owner.load(std::memory_order_relaxed);
  *info = {
      slab->base + size_t{slot} * slab->size_class().block, 0,           slab->size_class().block, BlockState::free,
      owner->pinned.load(std::memory_order_relaxed),        owner->key()};
  if (slot >= slab->untouched) return;
  const SlotRecord& record = slab->records()[slot];
  if (record.state == Slot::pending) info->state = BlockState::pending;
  if (record.state == Slot::live) {
    info->state = BlockState::live;
    info->requested = size_t{record.requested} + 1;
    info->stream = {record.point};
  }
}

void Impl::describe(const LargeBlock* block, BlockInfo* info) noexcept {
  const StreamState* owner = block->owner.load(std::memory_order_relaxed);
  Where where = block->where.load(std::memory_order_relaxed);
  *info = {block->base,
           0,
           block->size,
           BlockState::free,
           owner && owner->pinned.load(std::memory_order_relaxed),
           owner ? owner->key() : kNoStream};
  if (where == Where::pending) info->state = BlockState::pending;
  if (where == Where::live) {
    info->state = BlockState::live;
    info->requested = block->requested;
  }
}

bool Impl::block_info(const void* ptr, BlockInfo* info) noexcept {
  for (;;) {
    Segment* segment = heap.map.find(ptr);
    GranuleEntry* entry = segment ? segment->entry(ptr) : nullptr;
    if (!entry) return false;
    uintptr_t value = entry->load(std::memory_order_acquire);
    if (value & 1) {
      Slab* slab = reinterpret_cast<Slab*>(value - 1);
      StreamState* owner = slab->owner.load(std::memory_order_acquire);
      if (!owner) continue;  // on its way to the heap
      Guard guard(owner->shard->lock);
      if (slab->owner.load(std::memory_order_relaxed) != owner || entry->load(std::memory_order_relaxed) != value)
        continue;
      size_t slot = static_cast<size_t>(static_cast<const char*>(ptr) - slab->base) / slab->size_class().block;
      if (slot >= slab->size_class().count) return false;  // the unused end of a slab
      describe(slab, static_cast<uint16_t>(slot), info);
      return true;
    }
    LargeBlock* block;
    StreamState* owner;
    {
      Guard guard(heap.lock);
      if (heap.map.find(ptr) != segment) continue;
      while (!(value = entry->load(std::memory_order_relaxed)) && entry > segment->entries) --entry;
      if (!value || value & 1) continue;
      block = reinterpret_cast<LargeBlock*>(value);
      owner = block->owner.load(std::memory_order_relaxed);
      if (!owner) {
        *info = {block->base, 0, block->size, BlockState::free, false, kNoStream};
        return true;
      }
    }
    Guard guard(owner->shard->lock);
    Guard heap_guard(heap.lock);
    if (block->owner.load(std::memory_order_relaxed) != owner || entry->load(std::memory_order_relaxed) != value)
      continue;
    describe(block, info);
    return true;
  }
}

namespace {
struct Stopped {
  const Impl& impl;
  explicit Stopped(const Impl& impl) : impl(impl) { impl.lock_everything(); }
  ~Stopped() { impl.unlock_everything(); }
};
}  // namespace

void CachingAllocator::for_each_segment(const std::function<void(const SegmentInfo&)>& visit) const {
  Impl::Guard guard(impl_->heap.lock);
  for (Segment* segment = impl_->heap.segments; segment; segment = segment->next)
    visit({segment->base.load(std::memory_order_relaxed), segment->bytes});
}

void CachingAllocator::for_each_block(const std::function<void(const SegmentInfo&, const BlockInfo&)>& visit) const {
  Stopped stopped(*impl_);
  BlockInfo info;
  for (Segment* segment = impl_->heap.segments; segment; segment = segment->next) {
    SegmentInfo where{segment->base.load(std::memory_order_relaxed), segment->bytes};
    for (LargeBlock* block = segment->first; block; block = block->after) {
      uintptr_t value = segment->entry(block->base)->load(std::memory_order_relaxed);
      if (value & 1) {
        const Slab* slab = reinterpret_cast<const Slab*>(value - 1);
        for (uint16_t slot = 0; slot < slab->size_class().count; ++slot) {
          Impl::describe(slab, slot, &info);
          visit(where, info);
        }
      } else {
        Impl::describe(block, &info);
        visit(where, info);
      }
    }
  }
}

// ---- text

namespace {
std::string human(size_t bytes) {
  static const char* const kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}
}  // namespace

std::string CachingAllocator::report() const noexcept try {
  AllocatorStats s = stats();
  size_t nobodys = 0, of_streams = 0, pending = 0, pinned = 0;
  for_each_block([&](const SegmentInfo&, const BlockInfo& block) {
    if (block.pinned) pinned += block.size;
    if (block.state == BlockState::live || block.pinned) return;
    (block.state == BlockState::pending ? pending : block.stream == kNoStream ? nobodys : of_streams) += block.size;
  });
  size_t most = limit();
  std::string out = human(s.reserved_current) + " reserved in " + std::to_string(s.segments) + " segments";
  out += most ? " of a limit of " + human(most) : std::string(", no limit");
  out += " (at most " + human(s.reserved_high) + ")\n";
  out += human(s.used_current) + " in " + std::to_string(s.live_blocks) + " live blocks, " +
         human(s.requested_current) + " of it asked for (at most " + human(s.used_high) + ")\n";
  out += "free: " + human(nobodys) + " for any stream, " + human(of_streams) + " freed by a stream, " + human(pending) +
         " in " + std::to_string(s.pending_blocks) + " blocks waiting for other streams; largest free block " +
         human(s.largest_free_block) + "\n";
  if (pinned) out += "pinned for graphs: " + human(pinned) + "\n";
  return out;
} catch (const std::exception&) {
  return {};  // no host memory even for the text
}

}  // namespace infinirt
