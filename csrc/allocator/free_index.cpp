#include "allocator/free_index.h"

#include <bit>

namespace infinirt::caching {

unsigned FreeIndex::list_of(size_t size) noexcept {
  size_t granules = size >> kGranuleBits;
  if (granules < 16) return static_cast<unsigned>(granules);
  unsigned top = static_cast<unsigned>(std::bit_width(granules)) - 1;
  return (top - 3) * 16 + ((granules >> (top - 4)) & 15);
}

unsigned FreeIndex::next_list(unsigned list) const noexcept {
  unsigned level = list / 16;
  if (level >= kLevels) return kLevels * 16;
  unsigned here = lists_[level] & (0xffffu << (list % 16));
  if (here & 0xffffu) return level * 16 + static_cast<unsigned>(std::countr_zero(here));
  uint64_t above = level == 63 ? 0 : levels_ & (~uint64_t{0} << (level + 1));
  if (!above) return kLevels * 16;
  level = static_cast<unsigned>(std::countr_zero(above));
  return level * 16 + static_cast<unsigned>(std::countr_zero(unsigned{lists_[level]}));
}

void FreeIndex::add(LargeBlock* block) noexcept {
  unsigned list = list_of(block->size);
  block->prev = nullptr;
  block->next = heads_[list];
  if (block->next) block->next->prev = block;
  heads_[list] = block;
  lists_[list / 16] = static_cast<uint16_t>(lists_[list / 16] | 1u << (list % 16));
  levels_ |= uint64_t{1} << (list / 16);
}

void FreeIndex::remove(LargeBlock* block) noexcept {
  unsigned list = list_of(block->size);
  if (block->next) block->next->prev = block->prev;
  if (block->prev) {
    block->prev->next = block->next;
  } else {
    heads_[list] = block->next;
    if (!block->next) {
      lists_[list / 16] = static_cast<uint16_t>(lists_[list / 16] & ~(1u << (list % 16)));
      if (!lists_[list / 16]) levels_ &= ~(uint64_t{1} << (list / 16));
    }
  }
  block->prev = block->next = nullptr;
}

LargeBlock* FreeIndex::find(size_t size, unsigned budget) const noexcept {
  unsigned own = list_of(size);
  for (unsigned list = next_list(own), tries = 0; list < kLevels * 16 && tries < 2;
       list = next_list(list + 1), ++tries) {
    LargeBlock* best = nullptr;
    unsigned left = budget;
    for (LargeBlock* block = heads_[list]; block && left; block = block->next, --left) {
      if (block->size < size || (best && block->size >= best->size)) continue;
      best = block;
      if (block->size == size) break;
    }
    if (best) return best;
    if (list != own) break;  // cannot happen: every block of a later list fits
  }
  return nullptr;
}

size_t FreeIndex::largest() const noexcept {
  if (!levels_) return 0;
  unsigned level = 63 - static_cast<unsigned>(std::countl_zero(levels_));
  unsigned list = level * 16 + static_cast<unsigned>(std::bit_width(unsigned{lists_[level]})) - 1;
  size_t most = 0;
  for (LargeBlock* block = heads_[list]; block; block = block->next)
    if (block->size > most) most = block->size;
  return most;
}

}  // namespace infinirt::caching
