// The file that a process records its trace in.
//
// It grows by chunks, one thread's each, that are mapped into memory: a record is a few stores. The system keeps what was stored
// whatever becomes of the process, so nothing has to be drained or flushed, and no thread of ours writes anything.
//
//   file    header, then chunks of kChunkBytes
//   header  "InfiniRT", four numbers of 32 bits (version, sizes of header and chunk, bytes of text), two pairs of clocks (ticks and
//           nanoseconds; the second when the trace ends, else 0) at byte 24, how many records were lost at byte 56, text at byte 64
//   chunk   ChunkHeader, then records; `used` says how far they go
//   record  words of 64 bits; the first has its kind (bits 0-7) and its length in words (bits 8-15)
//
// src/infinirt/tracing/records.py reads it and must agree.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace infinirt {

inline constexpr uint32_t kTraceVersion = 1;
inline constexpr size_t kTraceHeaderBytes = 65536;
inline constexpr size_t kChunkBytes = 262144;

struct ChunkHeader {
  std::atomic<uint64_t> used;  // bytes, this header included; stored last
  uint32_t thread;  // numbered in the order of their first records
  uint32_t system_thread;  // gettid
  char name[16];  // the thread's, for people
  int64_t ticks, ns;  // the two clocks when the chunk was begun (core/observed_clock.h)
  uint64_t reserved[2];
};
static_assert(sizeof(ChunkHeader) == 64);

enum class RecordKind : uint8_t { Call = 1, Work = 2, Order = 3, Name = 4, RangePush = 5, RangePop = 6, Backend = 7 };

inline constexpr uint64_t record_head(RecordKind kind, size_t words) {
  return static_cast<uint64_t>(kind) | static_cast<uint64_t>(words) << 8;
}

extern std::atomic<uint64_t> g_trace_session;
inline uint64_t trace_session() { return g_trace_session.load(std::memory_order_relaxed); }  // 0: none runs

// A thread's place in the file of the trace that runs now.
struct ThreadTrace {
  uint64_t session = 0;  // of the trace that `chunk` belongs to; 0: none
  ChunkHeader* chunk = nullptr;
  size_t used = 0;
  uint32_t number = 0;
  uint64_t announced[64] = {};  // names that this thread has put into the file
};

// Room for a record of so many words (at most 255) in the thread's chunk; null when there is no trace, or no room any more. Fill it, then
// commit.
[[gnu::cold]] bool trace_claim(ThreadTrace& thread);  // another chunk for the thread
inline uint64_t* trace_reserve(ThreadTrace& thread, size_t words) {
  const bool fits = thread.chunk && thread.used + words * sizeof(uint64_t) <= kChunkBytes;
  if (!fits || thread.session != trace_session()) [[unlikely]] {
    if (!trace_claim(thread)) return nullptr;
  }
  return reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(thread.chunk) + thread.used);
}
inline void trace_commit(ThreadTrace& thread, size_t words) {
  thread.used += words * sizeof(uint64_t);
  thread.chunk->used.store(thread.used, std::memory_order_release);
}
void trace_thread_ended(ThreadTrace& thread);

// Null, or why it could not be: the text is the calling thread's until its next call.
const char* trace_open(const char* folder, bool* already);
void trace_close();
uint64_t trace_lost();

}  // namespace infinirt
