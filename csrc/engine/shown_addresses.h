// Under which addresses device memory of a foreign library is known here: its own where that can be, else substitutes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/mutex.h"
#include "engine/address_range.h"

namespace infinirt {

// Ranges of addresses that were device memory once, and that the host could not read then.
class SeenAddresses {
 public:
  void add(uintptr_t begin, size_t bytes);
  bool contains(uintptr_t address) const;

 private:
  std::map<uintptr_t, uintptr_t> ranges_;  // begin → end, neither touching nor overlapping
};

// Whether the host may read the byte. The kernel answers; no signal is involved.
bool host_can_read(const void* address);

// The blocks that a library has given out. Thread-safe.
class ShownAddresses {
 public:
  struct Block {
    char* native = nullptr;
    size_t size = 0;
  };

  // The address under which the memory is to be known. It is the library's own unless that looks like null, lies beyond what
  // programs can have, or is somebody else's in this process already. Null: there is no room for a substitute.
  void* show(void* native, size_t bytes);
  // Forgets the block that begins at `shown`, and says what it was; native is null when there is none.
  Block hide(const void* shown);
  // The library's address of a byte.
  char* native(const void* shown) const;
  // Whether the address was device memory and cannot be anything else now: see Engine::in_device_range.
  bool in_device_range(const void* pointer) const;

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  bool can_be_shown(const char* native, size_t bytes) const;

  mutable Mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  // by the address shown
  AddressRange substitutes_;
  SeenAddresses seen_;
};

}  // namespace infinirt
