// The heap's segments and slabs, and where descriptors come from.
#include <bit>
#include <new>

#include "allocator/heap.h"

namespace infinirt::caching {

namespace {
constexpr size_t kBlockBatch = 64;
uintptr_t tagged(Slab* slab) { return reinterpret_cast<uintptr_t>(slab) | 1; }
}  // namespace

Heap::~Heap() {
  for (LargeBlock* batch : block_batches_) delete[] batch;
  for (Slab* slab : all_slabs_) ::operator delete(slab, std::align_val_t{alignof(Slab)});
  for (Segment* segment : all_segments_) {
    delete[] segment->entries;
    delete segment;
  }
}

// ---- segments

bool Heap::reserve(size_t bytes) noexcept {
  if (limit && (bytes > limit || reserved > limit - bytes)) return false;
  reserved += bytes;
  return true;
}

LargeBlock* Heap::add_segment(void* base, size_t bytes) noexcept {
  if (reinterpret_cast<uintptr_t>(base) % kChunk) return nullptr;  // against the contract
  Segment* segment = new_segment(bytes >> kGranuleBits);
  LargeBlock* block = segment ? new_block() : nullptr;
  if (block) {
    segment->base.store(static_cast<char*>(base), std::memory_order_relaxed);
    segment->bytes = bytes;
    segment->first = block;
    block->segment = segment;
    block->base = static_cast<char*>(base);
    block->size = bytes;
    segment->entries[0].store(reinterpret_cast<uintptr_t>(block), std::memory_order_release);
  }
  if (!block || !map.set(base, bytes, segment)) {
    if (block) {
      segment->entries[0].store(0, std::memory_order_relaxed);
      block->next = spare_blocks_;
      spare_blocks_ = block;
    }
    if (segment) {
      segment->next = spare_segments_;
      spare_segments_ = segment;
    }
    return nullptr;
  }
  segment->prev = nullptr;
  segment->next = segments;
  if (segments) segments->prev = segment;
  segments = segment;
  ++segment_count;
  ++maps;
  if (reserved > reserved_high) reserved_high = reserved;
  return block;
}

bool Heap::wholly_free(Segment* segment) noexcept {
  for (LargeBlock* block = segment->first; block; block = block->after) {
    if (block->where.load(std::memory_order_relaxed) != Where::heap) return false;
    StreamState* owner = block->owner.load(std::memory_order_relaxed);
    if (owner && (owner->pinned.load(std::memory_order_relaxed) || !passed(owner, block->point))) return false;
  }
  return true;
}

void Heap::take_free_segments(size_t keep, std::vector<MappedRange>* out) noexcept {
  for (Segment *segment = segments, *next; segment && reserved > keep; segment = next) {
    next = segment->next;
    if (reserved - segment->bytes < keep || !wholly_free(segment)) continue;
    char* base = segment->base.load(std::memory_order_relaxed);
    try {
      out->push_back({base, segment->bytes});
    } catch (const std::bad_alloc&) {
      return;
    }
    map.set(base, segment->bytes, nullptr);
    for (LargeBlock *block = segment->first, *after; block; block = after) {
      after = block->after;
      extract(block);
      set_owner(block, nullptr);
      segment->entry(block->base)->store(0, std::memory_order_release);
      block->next = spare_blocks_;
      spare_blocks_ = block;
    }
    (segment->prev ? segment->prev->next : segments) = segment->next;
    if (segment->next) segment->next->prev = segment->prev;
    reserved -= segment->bytes;
    --segment_count;
    ++unmaps;
    segment->first = nullptr;
    segment->next = spare_segments_;
    spare_segments_ = segment;
  }
}

// ---- slabs

void Heap::cut(LargeBlock* block, Slab* slab) noexcept {
  GranuleEntry* entries = block->segment->entry(block->base);
  for (size_t i = 0; i < block->size >> kGranuleBits; ++i) entries[i].store(tagged(slab), std::memory_order_release);
  block->where.store(Where::slab, std::memory_order_release);
}

void Heap::uncut(Slab* slab) noexcept {
  LargeBlock* block = slab->span;
  GranuleEntry* entries = block->segment->entry(block->base);
  for (size_t i = 1; i < block->size >> kGranuleBits; ++i) entries[i].store(0, std::memory_order_release);
  entries[0].store(reinterpret_cast<uintptr_t>(block), std::memory_order_release);
  block->where.store(Where::moving, std::memory_order_release);
}

// ---- descriptors and states

LargeBlock* Heap::new_block() noexcept {
  if (!spare_blocks_) {
    LargeBlock* batch = new (std::nothrow) LargeBlock[kBlockBatch];
    if (!batch) return nullptr;
    try {
      block_batches_.push_back(batch);
    } catch (const std::bad_alloc&) {
      delete[] batch;
      return nullptr;
    }
    for (size_t i = 0; i < kBlockBatch; ++i) {
      batch[i].next = spare_blocks_;
      spare_blocks_ = &batch[i];
    }
  }
  LargeBlock* block = spare_blocks_;
  spare_blocks_ = block->next;
  block->before = block->after = block->prev = block->next = block->older = block->younger = nullptr;
  block->where.store(Where::moving, std::memory_order_relaxed);
  block->point = kAlwaysPassed;
  block->requested = 0;
  block->has_uses = false;
  return block;
}

Segment* Heap::new_segment(size_t granules) noexcept {
  for (Segment** link = &spare_segments_; *link; link = &(*link)->next) {
    Segment* segment = *link;
    if (segment->capacity < granules || segment->capacity > 2 * granules) continue;
    *link = segment->next;
    return segment;
  }
  Segment* segment = new (std::nothrow) Segment;
  GranuleEntry* entries = segment ? new (std::nothrow) GranuleEntry[granules]() : nullptr;
  try {
    if (entries) all_segments_.push_back(segment);
  } catch (const std::bad_alloc&) {
    delete[] entries;
    entries = nullptr;
  }
  if (!entries) {
    delete segment;
    return nullptr;
  }
  segment->capacity = granules;
  segment->entries = entries;
  return segment;
}

// Slabs are recycled among classes with about the same number of blocks.
static unsigned slab_kind(const SizeClass& size_class) {
  return static_cast<unsigned>(std::bit_width((size_class.count - 1) / 4));
}

Slab* Heap::new_slab(unsigned class_index) noexcept {
  unsigned kind = slab_kind(kSizeClasses[class_index]);
  Slab* slab = spare_slabs_[kind];
  if (slab) {
    spare_slabs_[kind] = slab->next;
  } else {
    size_t bytes = sizeof(Slab) + (size_t{4} << kind) * sizeof(SlotRecord);
    void* memory = ::operator new(bytes, std::align_val_t{alignof(Slab)}, std::nothrow);
    if (!memory) return nullptr;
    slab = new (memory) Slab;
    new (slab->records()) SlotRecord[size_t{4} << kind];
    try {
      all_slabs_.push_back(slab);
    } catch (const std::bad_alloc&) {
      ::operator delete(memory, std::align_val_t{alignof(Slab)});
      return nullptr;
    }
  }
  slab->class_index = static_cast<uint8_t>(class_index);
  slab->free_head = kNoSlot;
  slab->untouched = slab->in_use = 0;
  slab->listed = false;
  slab->prev = slab->next = nullptr;
  return slab;
}

void Heap::recycle_slab(Slab* slab) noexcept {
  unsigned kind = slab_kind(slab->size_class());
  slab->next = spare_slabs_[kind];
  spare_slabs_[kind] = slab;
}

void Heap::add_state(StreamState* state) noexcept {
  state->heap_prev = nullptr;
  state->heap_next = states;
  if (states) states->heap_prev = state;
  states = state;
}

void Heap::remove_state(StreamState* state) noexcept {
  (state->heap_prev ? state->heap_prev->heap_next : states) = state->heap_next;
  if (state->heap_next) state->heap_next->heap_prev = state->heap_prev;
  state->heap_prev = state->heap_next = nullptr;
}

}  // namespace infinirt::caching
