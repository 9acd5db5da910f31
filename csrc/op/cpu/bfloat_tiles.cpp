// Compiled for AMX, as byte_tiles.cpp alone is, too. Includes nothing that has inline functions, which machines without these instructions could be given.
#include "op/cpu/bfloat_tiles.h"

#ifdef INFINIOP_TILE_REGISTERS
#include <errno.h>
#include <immintrin.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "op/cpu/tile_sums.h"

namespace infiniop::cpu {

namespace {

// All eight registers have 16 rows of 64 bytes: four of sums, two of a, two of b.
struct alignas(64) Config {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Config kConfig;
static_assert(sizeof kConfig == 64);

void multiply(TileRows rows, const float* panel, int64_t lines) {
  constexpr int64_t kLine = 4 * kTileColumns;  // bytes
  const auto* upper = static_cast<const char*>(rows.at);
  const char* lower = upper + 16 * rows.row;
  for (int64_t i = 0; i < lines; i += kTileLanes, panel += kTileLanes * kTileColumns) {
    _tile_loadd(4, upper, rows.row);
    _tile_loadd(6, panel, kLine);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, panel + 16, kLine);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, lower, rows.row);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    upper += rows.next;
    lower += rows.next;
  }
}

// What the instruction or the system says of tiles that are not there.
constexpr int kFailures[] = {SIGILL, SIGSEGV, SIGBUS};

// In a process of its own, which shares the memory: an instruction that is not there ends only this one, and without a core file, for which systems
// end everybody who shares the memory. Every sum of ones has to be as many as there are.
int try_instructions(void*) {
  for (const int failure : kFailures) signal(failure, [](int) { _exit(1); });
  static uint32_t a[kTileRows * kTileLanes], panel[kTileLanes * kTileColumns];
  static float sums[kTileRows * kTileColumns];
  for (uint32_t& pair : a) pair = 0x3F803F80;
  for (uint32_t& pair : panel) pair = 0x3F803F80;
  asm volatile("" : : : "memory");  // compilers do not know what tiles read
  {
    const TilesInUse in_use;
    multiply_tiles({a, 4 * kTileLanes}, reinterpret_cast<float*>(panel), kTileLanes, sums, kTileColumns, false);
  }
  asm volatile("" : : : "memory");
  for (const float sum : sums) {
    if (sum != 2 * kTileLanes) _exit(1);
  }
  _exit(0);
}

}  // namespace

bool can_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return false;
  // The program's handlers are nothing for the child, which would run them in the program's memory.
  sigset_t before, others;
  sigfillset(&others);
  for (const int failure : kFailures) sigdelset(&others, failure);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  alignas(64) static char stack[64 << 10];
  const int child = clone(try_instructions, stack + sizeof stack, CLONE_VM | CLONE_VFORK, nullptr);
  int status = 0, ended = -1;
  while (child > 0 && (ended = waitpid(child, &status, __WALL)) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return child > 0 && ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Not by the compiler's own function: that of gcc 12 says that the instruction reads 8 bytes, and the other 56 need not be there.
TilesInUse::TilesInUse() { asm volatile("ldtilecfg %0" : : "m"(kConfig)); }
TilesInUse::~TilesInUse() { _tile_release(); }

void multiply_tiles(TileRows rows, const float* panel, int64_t lines, float* sums, int64_t row, bool adds) {
  begin_sums(adds ? sums : nullptr, row);
  multiply(rows, panel, lines);
  store_sums(sums, row);
}

void round_sums(const float* sums, int64_t rows, uint16_t* c, int64_t row) {
  for (int64_t r = 0; r < rows; ++r) {
    const __m512 first = _mm512_loadu_ps(sums + r * kTileColumns),
                 second = _mm512_loadu_ps(sums + r * kTileColumns + 16);
    _mm512_storeu_si512(c + r * row, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
  }
}

}  // namespace infiniop::cpu
#endif
