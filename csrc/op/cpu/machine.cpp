#include "op/cpu/machine.h"

#include "op/cpu/bfloat_tiles.h"
#include "op/cpu/tiles.h"
#include "op/runtime.h"

namespace infiniop::cpu {

#ifdef INFINIOP_X86_LEVELS
namespace {

// A level that was asked for has nothing beyond it.
bool has_beyond_v4() { return &tiles() == &tiles_v4 && !asked_for_level(); }

// AMD's with AVX-512 are Zen 4 and what came after it.
bool is_after_zen4() {
  static const bool answer = has_beyond_v4() && __builtin_cpu_is("amd") && !halves_vectors();
  return answer;
}

}  // namespace
#endif

int64_t processors() {
  int count = 0;
  const bool known = api().DeviceGetAttribute(&count, infinirtDevAttrMultiProcessorCount, 0) == infinirtSuccess;
  return known && count > 0 ? count : 1;
}

bool multiplies_pairs() {
#ifdef INFINIOP_X86_LEVELS
  static const bool answer = has_beyond_v4() && __builtin_cpu_supports("avx512bf16");
  return answer;
#else
  return false;
#endif
}

bool multiplies_tiles() {
#ifdef INFINIOP_X86_LEVELS
  static const bool answer =
      multiplies_pairs() && __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") && can_use_tiles();
  return answer;
#else
  return false;
#endif
}

bool multiplies_byte_tiles() {
#ifdef INFINIOP_X86_LEVELS
  static const bool answer =
      multiplies_tiles() && __builtin_cpu_supports("amx-int8") && __builtin_cpu_supports("avx512vnni");
  return answer;
#else
  return false;
#endif
}

bool halves_vectors() {
#ifdef INFINIOP_X86_LEVELS
  // Zen 3 is of this family, too, and has no longer ones anyway.
  static const bool answer = has_beyond_v4() && __builtin_cpu_is("amdfam19h");
  return answer;
#else
  return false;
#endif
}

bool follows_rows() {
#ifdef INFINIOP_X86_LEVELS
  return is_after_zen4();
#else
  return false;
#endif
}

bool streams_results() {
#ifdef INFINIOP_X86_LEVELS
  return !is_after_zen4();
#else
  return true;
#endif
}

bool asks_for_light_results() {
#ifdef INFINIOP_X86_LEVELS
  // What the processor is, not whether tiles may be used: to find that out changes the process.
  static const bool answer = !(has_beyond_v4() && __builtin_cpu_supports("amx-tile"));
  return answer;
#else
  return true;
#endif
}

bool asks_ahead() {
#if defined(__x86_64__)
  static const bool answer = [] {
    __builtin_cpu_init();
    return !__builtin_cpu_is("amd");
  }();
  return answer;
#else
  return true;
#endif
}

}  // namespace infiniop::cpu
