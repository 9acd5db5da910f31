// Identities of devices whose makers gave them none.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "infinirt.h"

namespace infinirt {

// Sixteen bytes that are the same wherever the seed is.
inline infinirtUUID_t uuid_from(const std::string& seed) {
  uint64_t halves[2] = {0xcbf29ce484222325ull, 0x9ae16a3b2f90404full};  // FNV-1a with two starting values
  for (uint64_t& half : halves) {
    for (const char c : seed) half = (half ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  infinirtUUID_t uuid;
  std::memcpy(uuid.bytes, halves, sizeof uuid.bytes);
  uuid.bytes[6] = static_cast<char>((uuid.bytes[6] & 0x0f) | 0x80);  // version 8: made from data of our own
  uuid.bytes[8] = static_cast<char>((uuid.bytes[8] & 0x3f) | 0x80);
  return uuid;
}

}  // namespace infinirt
