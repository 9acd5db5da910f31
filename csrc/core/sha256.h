// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace infinirt {

class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  void update(const void* data, size_t size);

  // The length goes in first, so that no two sequences of fields are the same bytes.
  void field(std::string_view text);
  void field(uint64_t number);

  // Once, at the end.
  Digest digest();

  static Digest of(std::string_view text);

 private:
  void block(const uint8_t* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_{};
  size_t pending_size_ = 0;
  uint64_t total_ = 0;
};

std::string hex(const Sha256::Digest& digest);

}  // namespace infinirt
