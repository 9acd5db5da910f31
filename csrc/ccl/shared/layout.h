// The memory that the processes of a communicator share.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ccl/part.h"

namespace infiniccl::shared {

inline constexpr int kSlots = 32;  // operations that are under way at the same time
inline constexpr size_t kHalf = size_t{128} << 10;  // bytes that a rank hands over at a time; there are two halves
inline constexpr size_t kMessage = 1000;

// What a participant of an operation has done so far. Only its own process writes it.
struct alignas(64) Progress {
  std::atomic<uint64_t> handed_over;  // chunks that lie in its halves, or have; 0: it has not come yet
  std::atomic<uint64_t> taken;        // chunks that it has taken from all others
  PartFacts facts;                    // valid once handed_over is not 0
};

// Participants are the ranks, or sender and receiver.
struct Slot {
  uint32_t participants;  // under the mutex, like the key; 0: it has never been used
  Key key;
  std::atomic<uint32_t> finished;  // participants that need nothing of it any more; all: it is free

  bool is_free() const { return finished.load(std::memory_order_acquire) == participants; }
};

struct alignas(64) Rank {
  std::atomic<uint32_t> doorbell;  // changes when there may be something to do for it
  std::atomic<uint32_t> sleeping;
  std::atomic<uint32_t> left;      // its communicator was destroyed, and nothing of it is under way
  std::atomic<uint32_t> dead;      // its process ended without a farewell
  // Its latest part, for messages.
  std::atomic<int64_t> last_time;  // 0: none yet
  std::atomic<uint64_t> last_number;
  std::atomic<uint32_t> last_operation;
  std::atomic<uint64_t> last_count;
  std::atomic<uint32_t> last_dtype;
};

struct Header {
  int32_t size;
  std::atomic<uint32_t> failed;  // 0: no; 1: somebody writes the message; 2: it can be read
  int32_t failed_status, failed_error;
  char message[kMessage];
  pthread_mutex_t mutex;  // of all slots; robust
  Slot slots[kSlots];
};

// Where things are: header, ranks, progress of each slot's participants, their halves.
struct Map {
  std::byte* base = nullptr;
  int size = 0;

  static size_t ranks_at() { return (sizeof(Header) + 4095) / 4096 * 4096; }
  size_t progress_at() const { return ranks_at() + static_cast<size_t>(size) * sizeof(Rank); }
  size_t halves_at() const {
    return (progress_at() + static_cast<size_t>(kSlots) * participants() * sizeof(Progress) + 4095) / 4096 * 4096;
  }
  size_t bytes() const { return halves_at() + static_cast<size_t>(kSlots) * participants() * 2 * kHalf; }
  size_t participants() const { return static_cast<size_t>(size < 2 ? 2 : size); }

  Header& header() const { return *reinterpret_cast<Header*>(base); }
  Rank& rank(int number) const { return reinterpret_cast<Rank*>(base + ranks_at())[number]; }
  Progress& progress(int slot, size_t participant) const {
    return reinterpret_cast<Progress*>(base + progress_at())[static_cast<size_t>(slot) * participants() + participant];
  }
  std::byte* half(int slot, size_t participant, uint64_t chunk) const {
    const size_t number = (static_cast<size_t>(slot) * participants() + participant) * 2 + chunk % 2;
    return base + halves_at() + number * kHalf;
  }
};

void ring(Rank& rank);
// Sleeps until the rank's doorbell has another value than `seen`, at most so long.
void sleep_at(Rank& rank, uint32_t seen, int64_t at_most_ns);

// Writes what is in a fresh memory of map.bytes() zero bytes.
bool initialise(const Map& map);

// Not held if another process keeps the lock for long: one that was stopped must not stop the others, who have to notice.
class SlotsLock {
 public:
  explicit SlotsLock(const Map& map);
  ~SlotsLock();
  bool held() const { return held_; }
  SlotsLock(const SlotsLock&) = delete;
  SlotsLock& operator=(const SlotsLock&) = delete;

 private:
  pthread_mutex_t& mutex_;
  bool held_ = false;
};

}  // namespace infiniccl::shared
