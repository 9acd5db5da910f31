// What the tests of the CPU device's own parts share.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

inline constexpr size_t KiB = 1024, MiB = 1024 * KiB;

// Whether the host may read the byte; the kernel answers, no signal is involved.
inline bool readable(const void* pointer) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool yes = write(ends[1], pointer, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return yes;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
