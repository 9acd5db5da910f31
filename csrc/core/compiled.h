// What a compiler made of a source: see infinirtXCompile.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace infinirt {

struct Compiled {
  std::string code;
  std::string log;
  std::string compiler;
  std::vector<std::pair<std::string, std::string>> lowered_names;  // name expression, symbol
  bool from_cache = false;
  void* handle = nullptr;
};

// The parts that are kept on disk, as bytes; reading is false, with `compiled` unchanged, for bytes that are not whole.
std::string to_bytes(const Compiled& compiled);
bool from_bytes(const std::string& bytes, Compiled* compiled);

}  // namespace infinirt
