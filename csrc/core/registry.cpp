#include "core/registry.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

#include "core/mutex.h"

// Entries lie sorted in chunks, chunks in one sorted index. A reader searches the index, then one chunk, and checks that
// neither changed meanwhile (both carry a version that is odd during a change). Chunks are recycled, never freed, and an
// index that was outgrown stays where it is, so a reader that lost the race reads stale numbers, never foreign memory.
//
// Ordering without fences: a reader loads every word with acquire, a writer stores every word with release after it has
// made the version odd. Whoever sees one word of a change therefore sees the odd version when it looks again.

namespace infinirt {

namespace {

constexpr size_t kChunkEntries = 32;

// Packed so that an entry costs a reader four loads after it was found.
struct Entry {
  std::atomic<size_t> size;
  std::atomic<uint64_t> attributes;  // flags << 32 | device << 8 | kind
  std::atomic<const Backend*> backend;
  std::atomic<void*> owner;
};

struct alignas(64) Chunk {
  std::atomic<uint64_t> version{0};
  std::atomic<size_t> count{0};
  std::atomic<uintptr_t> bases[kChunkEntries] = {};
  Entry entries[kChunkEntries] = {};
  Chunk* next_free = nullptr;
};

struct Index {
  std::atomic<uint64_t> version{0};
  std::atomic<size_t> count{0};
  size_t capacity = 0;
  // Exactly each chunk's lowest base: a stale, lower one would hide a new allocation of the chunk before that reaches
  // over it. Apart from the chunks, so that the search touches few cache lines.
  std::atomic<uintptr_t>* firsts = nullptr;
  std::atomic<Chunk*>* chunks = nullptr;
  Index* outgrown = nullptr;  // the index before this one; readers may still be in it
};

size_t relaxed(const std::atomic<size_t>& value) { return value.load(std::memory_order_relaxed); }

constinit std::atomic<Index*> g_index{nullptr};
constinit Mutex g_mutex;  // held by every change
constinit Chunk* g_free_chunks = nullptr;

// Before the allocation can be found.
void widen_bounds(const Allocation& a) {
  if (a.base < relaxed(g_hot.registered.begin)) g_hot.registered.begin.store(a.base, std::memory_order_release);
  if (a.base + a.size > relaxed(g_hot.registered.end))
    g_hot.registered.end.store(a.base + a.size, std::memory_order_release);
}

uint64_t pack(const Allocation& a) {
  return static_cast<uint64_t>(a.flags) << 32 | (static_cast<uint64_t>(a.device) & 0xffffff) << 8 |
         static_cast<uint64_t>(a.kind);
}

void unpack(uint64_t attributes, Allocation* a) {
  a->kind = static_cast<MemoryKind>(attributes & 0xff);
  a->device = static_cast<int32_t>(static_cast<uint32_t>(attributes)) >> 8;  // arithmetic: keeps a negative device
  a->flags = static_cast<unsigned>(attributes >> 32);
}

Allocation read_entry(const Chunk& chunk, size_t i) {
  const Entry& entry = chunk.entries[i];
  Allocation a;
  a.base = chunk.bases[i].load(std::memory_order_acquire);
  a.size = entry.size.load(std::memory_order_acquire);
  unpack(entry.attributes.load(std::memory_order_acquire), &a);
  a.backend = entry.backend.load(std::memory_order_acquire);
  a.owner = entry.owner.load(std::memory_order_acquire);
  return a;
}

void write_entry(Chunk& chunk, size_t i, const Allocation& a) {
  Entry& entry = chunk.entries[i];
  chunk.bases[i].store(a.base, std::memory_order_release);
  entry.size.store(a.size, std::memory_order_release);
  entry.attributes.store(pack(a), std::memory_order_release);
  entry.backend.store(a.backend, std::memory_order_release);
  entry.owner.store(a.owner, std::memory_order_release);
}

// Around a change to a chunk or to the index; only with the lock held.
template <class T>
class Change {
 public:
  explicit Change(T& target) : target_(target), version_(target.version.load(std::memory_order_relaxed)) {
    target_.version.store(version_ + 1, std::memory_order_relaxed);
  }
  ~Change() { target_.version.store(version_ + 2, std::memory_order_release); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  T& target_;
  uint64_t version_;
};

// Position of the last of `n` (> 0) keys that is <= `key`, or 0. One conditional move per step: random addresses would
// make every second branch a misprediction.
template <class Key>
size_t last_not_above(size_t n, uintptr_t key, Key&& at) {
  size_t low = 0;
  while (n > 1) {
    const size_t half = n / 2;
    low = at(low + half) <= key ? low + half : low;
    n -= half;
  }
  return low;
}

size_t find_chunk(const Index& index, size_t n, uintptr_t key) {
  return last_not_above(n, key, [&](size_t i) { return index.firsts[i].load(std::memory_order_acquire); });
}

size_t find_entry(const Chunk& chunk, size_t n, uintptr_t key) {
  return last_not_above(n, key, [&](size_t i) { return chunk.bases[i].load(std::memory_order_acquire); });
}

// A writer that lost its processor in the middle of a change must not be spun upon for a whole time slice.
[[gnu::noinline]] void let_writer_finish(unsigned attempt) {
  cpu_pause();
  if (attempt % 64 == 0) {
    std::lock_guard guard(g_mutex);
  }
}

// Calls read(chunk, i) for the entry that `key` lies in and returns true, or returns false. What `read` took out is only
// valid after true; it may be called more than once.
template <class Read>
bool lookup(uintptr_t key, Read&& read) {
  for (unsigned attempt = 0;; ++attempt) {
    if (attempt != 0) [[unlikely]]
      let_writer_finish(attempt);
    const Index* index = g_index.load(std::memory_order_acquire);
    if (!index) return false;
    const uint64_t index_version = index->version.load(std::memory_order_acquire);
    if (index_version & 1) continue;
    const size_t chunks = index->count.load(std::memory_order_acquire);
    bool found = false;
    if (chunks > 0) {
      const Chunk* chunk = index->chunks[find_chunk(*index, chunks, key)].load(std::memory_order_acquire);
      // All lines of the search at once: one after another, each would be a cache miss of its own.
      for (size_t i = 0; i < kChunkEntries; i += 8) __builtin_prefetch(&chunk->bases[i]);
      const uint64_t chunk_version = chunk->version.load(std::memory_order_acquire);
      if (chunk_version & 1) continue;
      const size_t n = chunk->count.load(std::memory_order_acquire);
      if (n > 0) {
        const size_t i = find_entry(*chunk, n, key);
        // One comparison for both ends: below the base the difference wraps round.
        found = key - chunk->bases[i].load(std::memory_order_acquire) <
                chunk->entries[i].size.load(std::memory_order_acquire);
        if (found) read(*chunk, i);
      }
      if (chunk->version.load(std::memory_order_relaxed) != chunk_version) continue;
    }
    if (index->version.load(std::memory_order_relaxed) == index_version &&
        g_index.load(std::memory_order_relaxed) == index) {
      return found;
    }
  }
}

// ------------------------------------------------------------------ changes: all below with the lock held

struct Place {
  Index* index;
  size_t chunk_at;  // position in the index
  Chunk* chunk;
  size_t n;         // entries in the chunk
  size_t i;         // the last entry that starts at or below the key, or 0
};

// False when the registry is empty.
bool locate(uintptr_t key, Place* place) {
  Index* index = g_index.load(std::memory_order_relaxed);
  if (!index || relaxed(index->count) == 0) return false;
  place->index = index;
  place->chunk_at = find_chunk(*index, relaxed(index->count), key);
  place->chunk = index->chunks[place->chunk_at].load(std::memory_order_relaxed);
  place->n = relaxed(place->chunk->count);
  place->i = find_entry(*place->chunk, place->n, key);
  return true;
}

Chunk* take_chunk() {
  Chunk* chunk = g_free_chunks;
  if (!chunk) return new (std::nothrow) Chunk;
  g_free_chunks = chunk->next_free;
  return chunk;
}

void give_chunk(Chunk* chunk) {
  Change change(*chunk);
  chunk->count.store(0, std::memory_order_release);
  chunk->next_free = g_free_chunks;
  g_free_chunks = chunk;
}

Index* make_index(size_t capacity) {
  auto* index = new (std::nothrow) Index;
  if (!index) return nullptr;
  index->firsts = new (std::nothrow) std::atomic<uintptr_t>[capacity]();
  index->chunks = new (std::nothrow) std::atomic<Chunk*>[capacity]();
  if (!index->firsts || !index->chunks) {
    delete[] index->firsts;
    delete[] index->chunks;
    delete index;
    return nullptr;
  }
  index->capacity = capacity;
  return index;
}

void copy_item(Index& to, size_t i, const Index& from, size_t j) {
  to.firsts[i].store(from.firsts[j].load(std::memory_order_relaxed), std::memory_order_release);
  to.chunks[i].store(from.chunks[j].load(std::memory_order_relaxed), std::memory_order_release);
}

// The index, with room for one more chunk; null when there is no memory. Doubling, the outgrown ones together take no more
// than the one in use.
Index* roomy_index() {
  Index* old = g_index.load(std::memory_order_relaxed);
  const size_t n = old ? relaxed(old->count) : 0;
  if (old && n < old->capacity) return old;
  Index* index = make_index(old ? old->capacity * 2 : 16);
  if (!index) return nullptr;
  for (size_t i = 0; i < n; ++i) copy_item(*index, i, *old, i);
  index->count.store(n, std::memory_order_relaxed);
  index->outgrown = old;
  g_index.store(index, std::memory_order_release);
  return index;
}

void index_insert(Index& index, size_t at, Chunk* chunk) {
  const size_t n = relaxed(index.count);
  for (size_t i = n; i > at; --i) copy_item(index, i, index, i - 1);
  index.firsts[at].store(chunk->bases[0].load(std::memory_order_relaxed), std::memory_order_release);
  index.chunks[at].store(chunk, std::memory_order_release);
  index.count.store(n + 1, std::memory_order_release);
}

void index_remove(Index& index, size_t at) {
  const size_t n = relaxed(index.count);
  for (size_t i = at; i + 1 < n; ++i) copy_item(index, i, index, i + 1);
  index.count.store(n - 1, std::memory_order_release);
}

// Moves the upper half of a full chunk into a new one behind it.
bool split(size_t chunk_at) {
  Index* index = roomy_index();
  Chunk* upper = index ? take_chunk() : nullptr;
  if (!upper) return false;
  Chunk* lower = index->chunks[chunk_at].load(std::memory_order_relaxed);
  constexpr size_t kept = kChunkEntries / 2;
  Change index_change(*index);
  Change lower_change(*lower);
  Change upper_change(*upper);
  for (size_t i = kept; i < kChunkEntries; ++i) write_entry(*upper, i - kept, read_entry(*lower, i));
  upper->count.store(kChunkEntries - kept, std::memory_order_release);
  lower->count.store(kept, std::memory_order_release);
  index_insert(*index, chunk_at + 1, upper);
  return true;
}

bool insert_first(const Allocation& a) {
  Index* index = roomy_index();
  Chunk* chunk = index ? take_chunk() : nullptr;
  if (!chunk) return false;
  Change index_change(*index);
  Change chunk_change(*chunk);
  write_entry(*chunk, 0, a);
  chunk->count.store(1, std::memory_order_release);
  index_insert(*index, 0, chunk);
  return true;
}

// The base of the entry that follows, or the end of the address space.
uintptr_t base_after(const Place& p, size_t i) {
  if (i < p.n) return p.chunk->bases[i].load(std::memory_order_relaxed);
  if (p.chunk_at + 1 == relaxed(p.index->count)) return UINTPTR_MAX;
  return p.index->firsts[p.chunk_at + 1].load(std::memory_order_relaxed);
}

// Keeps chunks from thinning out: joins the chunk with the next one when both fit into half a chunk.
void join_with_next(const Place& p) {
  if (p.chunk_at + 1 >= relaxed(p.index->count)) return;
  Chunk* next = p.index->chunks[p.chunk_at + 1].load(std::memory_order_relaxed);
  const size_t n = relaxed(p.chunk->count), more = relaxed(next->count);
  if (n + more > kChunkEntries / 2) return;
  Change index_change(*p.index);
  {
    Change chunk_change(*p.chunk);
    for (size_t i = 0; i < more; ++i) write_entry(*p.chunk, n + i, read_entry(*next, i));
    p.chunk->count.store(n + more, std::memory_order_release);
  }
  index_remove(*p.index, p.chunk_at + 1);
  give_chunk(next);
}

void erase(const Place& p) {
  if (p.n == 1) {
    Change index_change(*p.index);
    index_remove(*p.index, p.chunk_at);
    give_chunk(p.chunk);
    if (relaxed(p.index->count) == 0) {
      g_hot.registered.begin.store(UINTPTR_MAX, std::memory_order_release);
      g_hot.registered.end.store(0, std::memory_order_release);
    }
    return;
  }
  {
    Change chunk_change(*p.chunk);
    for (size_t i = p.i; i + 1 < p.n; ++i) write_entry(*p.chunk, i, read_entry(*p.chunk, i + 1));
    p.chunk->count.store(p.n - 1, std::memory_order_release);
    if (p.i == 0) {
      Change index_change(*p.index);
      p.index->firsts[p.chunk_at].store(p.chunk->bases[0].load(std::memory_order_relaxed), std::memory_order_release);
    }
  }
  join_with_next(p);
}

}  // namespace

bool registry_insert(const Allocation& a) {
  if (a.size == 0 || a.base > UINTPTR_MAX - a.size) return false;
  std::lock_guard guard(g_mutex);
  Place p;
  if (!locate(a.base, &p)) {
    widen_bounds(a);
    return insert_first(a);
  }

  const uintptr_t below = p.chunk->bases[p.i].load(std::memory_order_relaxed);
  const bool has_below = below <= a.base;
  if (has_below && a.base - below < relaxed(p.chunk->entries[p.i].size)) return false;
  const size_t at = has_below ? p.i + 1 : 0;  // has_below fails only in front of everything: chunk 0, entry 0
  if (base_after(p, at) < a.base + a.size) return false;

  if (p.n == kChunkEntries) {
    if (!split(p.chunk_at)) return false;
    locate(a.base, &p);
  }
  const size_t position = has_below ? p.i + 1 : 0;
  widen_bounds(a);
  Change chunk_change(*p.chunk);
  for (size_t i = p.n; i > position; --i) write_entry(*p.chunk, i, read_entry(*p.chunk, i - 1));
  write_entry(*p.chunk, position, a);
  p.chunk->count.store(p.n + 1, std::memory_order_release);
  if (position == 0) {
    Change index_change(*p.index);
    p.index->firsts[p.chunk_at].store(a.base, std::memory_order_release);
  }
  return true;
}

bool registry_remove(const void* base, Allocation* removed) {
  const auto key = reinterpret_cast<uintptr_t>(base);
  std::lock_guard guard(g_mutex);
  Place p;
  if (!locate(key, &p) || p.chunk->bases[p.i].load(std::memory_order_relaxed) != key) return false;
  if (removed) *removed = read_entry(*p.chunk, p.i);
  erase(p);
  return true;
}

bool registry_find(const void* pointer, Allocation* found) {
  if (!registry_may_hold(pointer)) return false;
  return lookup(reinterpret_cast<uintptr_t>(pointer),
                [&](const Chunk& chunk, size_t i) { *found = read_entry(chunk, i); });
}

const Backend* registry_owner(const void* pointer) {
  if (!registry_may_hold(pointer)) return nullptr;
  const Backend* owner = nullptr;
  const bool found = lookup(reinterpret_cast<uintptr_t>(pointer), [&](const Chunk& chunk, size_t i) {
    owner = chunk.entries[i].backend.load(std::memory_order_acquire);
  });
  return found ? owner : nullptr;
}

bool registry_update(const void* base, void (*change)(Allocation&, void*), void* context) {
  const auto key = reinterpret_cast<uintptr_t>(base);
  std::lock_guard guard(g_mutex);
  Place p;
  if (!locate(key, &p) || p.chunk->bases[p.i].load(std::memory_order_relaxed) != key) return false;
  const Allocation before = read_entry(*p.chunk, p.i);
  Allocation after = before;
  change(after, context);
  after.base = before.base;
  after.size = before.size;
  Change chunk_change(*p.chunk);
  write_entry(*p.chunk, p.i, after);
  return true;
}

void registry_for_each(const Backend* backend, void (*visit)(const Allocation&, void*), void* context) {
  std::lock_guard guard(g_mutex);
  const Index* index = g_index.load(std::memory_order_relaxed);
  const size_t chunks = index ? relaxed(index->count) : 0;
  for (size_t c = 0; c < chunks; ++c) {
    const Chunk& chunk = *index->chunks[c].load(std::memory_order_relaxed);
    const size_t n = relaxed(chunk.count);
    for (size_t i = 0; i < n; ++i) {
      const Allocation a = read_entry(chunk, i);
      if (!backend || a.backend == backend) visit(a, context);
    }
  }
}

void registry_lock_for_fork() { g_mutex.lock(); }
void registry_unlock_after_fork() { g_mutex.unlock(); }

}  // namespace infinirt
