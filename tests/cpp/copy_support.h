// What the tests of copies and sets share.
#pragma once

#include <cstddef>
#include <vector>

#include "support.h"

inline constexpr size_t kSmall = 1024, kLarge = 4 << 20;

// One of each kind of memory, `size` bytes. A device without managed memory refuses it, and has device memory in its place.
struct Memory {
  char *device = nullptr, *device2 = nullptr, *pinned = nullptr, *managed = nullptr;
  std::vector<char> host, host2;
  explicit Memory(size_t size) : host(size), host2(size) {
    OK(infinirtMalloc(reinterpret_cast<void**>(&device), size));
    OK(infinirtMalloc(reinterpret_cast<void**>(&device2), size));
    OK(infinirtMallocHost(reinterpret_cast<void**>(&pinned), size));
    void** where = reinterpret_cast<void**>(&managed);
    const infinirtError_t error = infinirtMallocManaged(where, size, infinirtMemAttachGlobal);
    if (supported("infinirtMallocManaged")) {
      OK(error);
    } else {
      CHECK_EQ(error, infinirtErrorNotSupported);
      OK(infinirtMalloc(where, size));
      (void)infinirtGetLastError();
    }
    for (size_t i = 0; i < size; ++i) host[i] = static_cast<char>(i * 7 + i / 256);
  }
  ~Memory() {
    OK(infinirtFree(device));
    OK(infinirtFree(device2));
    OK(infinirtFreeHost(pinned));
    OK(infinirtFree(managed));
  }
};

struct NewStream {
  infinirtStream_t stream = nullptr;
  explicit NewStream(unsigned flags = infinirtStreamDefault) { OK(infinirtStreamCreateWithFlags(&stream, flags)); }
  ~NewStream() { OK(infinirtStreamDestroy(stream)); }
  operator infinirtStream_t() const { return stream; }
};
