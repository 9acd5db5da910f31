// Stores that go past the caches. A line that is stored to is read from memory first, unless it is written whole like this: a quarter of what
// an addition of large tensors moves. But it goes to memory at once, which is slower than a shared cache that has room for it: of results of 32 MiB
// and more it was 1.3 times as fast, of 8 MiB between 0.85 and 1.2 times, as others used the memory of the machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace infiniop::cpu {

#ifdef __SSE2__
inline constexpr bool kStreams = true;
#else
inline constexpr bool kStreams = false;  // the compilers have no such stores
#endif

// Whether results of so many bytes are written past the caches.
inline bool is_streamed(int64_t bytes) { return kStreams && bytes >= int64_t{32} << 20; }

#ifdef __SSE2__
// So many bytes, up to which `to` is not aligned, and with what is left after whole vectors.
inline size_t bytes_to_alignment(const char* to, size_t bytes) {
  return std::min(bytes, (16 - (reinterpret_cast<uintptr_t>(to) & 15)) & 15);
}

inline void stream_out(char* to, const char* from, size_t bytes) {
  const size_t head = bytes_to_alignment(to, bytes);
  std::memcpy(to, from, head);
  size_t at = head;
  for (; at + 16 <= bytes; at += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  }
  std::memcpy(to + at, from + at, bytes - at);
}

// `pattern` has 32 bytes or more, a whole number of elements in every 16, and `to` is where an element begins.
inline void stream_pattern(char* to, const char* pattern, size_t bytes) {
  const size_t head = bytes_to_alignment(to, bytes);
  std::memcpy(to, pattern, head);
  const __m128i vector = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pattern + head));
  size_t at = head;
  for (; at + 16 <= bytes; at += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), vector);
  std::memcpy(to + at, pattern + head, bytes - at);
}

// Before anybody is told that the results are there: such stores are ordered with no others.
inline void end_streaming() { _mm_sfence(); }
#else
inline void stream_out(char* to, const char* from, size_t bytes) { std::memcpy(to, from, bytes); }
inline void stream_pattern(char*, const char*, size_t) {}
inline void end_streaming() {}
#endif

}  // namespace infiniop::cpu
