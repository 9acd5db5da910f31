#include "ccl/shared/layout.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <new>

namespace infiniccl::shared {

namespace {

constexpr long kLock_ns = 50'000'000;

}  // namespace

void ring(Rank& rank) {
  rank.doorbell.fetch_add(1, std::memory_order_seq_cst);
  if (rank.sleeping.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &rank.doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void sleep_at(Rank& rank, uint32_t seen, int64_t at_most_ns) {
  rank.sleeping.fetch_add(1, std::memory_order_seq_cst);
  if (rank.doorbell.load(std::memory_order_seq_cst) == seen) {
    const timespec limit = {at_most_ns / 1'000'000'000, at_most_ns % 1'000'000'000};
    syscall(SYS_futex, &rank.doorbell, FUTEX_WAIT, seen, &limit, nullptr, 0);
  }
  rank.sleeping.fetch_sub(1, std::memory_order_seq_cst);
}

bool initialise(const Map& map) {
  Header& header = *new (map.base) Header{};
  header.size = map.size;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const bool made = pthread_mutex_init(&header.mutex, &attributes) == 0;
  pthread_mutexattr_destroy(&attributes);
  for (int r = 0; r < map.size; ++r) new (&map.rank(r)) Rank{};
  return made;
}

SlotsLock::SlotsLock(const Map& map) : mutex_(map.header().mutex) {
  // Whoever died with it left at worst a slot that nobody frees; the communicator fails anyway.
  int error = pthread_mutex_trylock(&mutex_);
  if (error == EBUSY) {
    // By the system's time, which may be set: the sanitizers do not know the function that takes another clock.
    timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += kLock_ns;
    if (limit.tv_nsec >= 1'000'000'000) ++limit.tv_sec, limit.tv_nsec -= 1'000'000'000;
    error = pthread_mutex_timedlock(&mutex_, &limit);
  }
  if (error == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  held_ = error == 0 || error == EOWNERDEAD;
}

SlotsLock::~SlotsLock() {
  if (held_) pthread_mutex_unlock(&mutex_);
}

}  // namespace infiniccl::shared
