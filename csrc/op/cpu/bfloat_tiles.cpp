// Compiled for AMX, as the only file. Includes nothing that has inline functions, which machines without these instructions could be given.
#include "op/cpu/bfloat_tiles.h"

#ifdef INFINIOP_TILE_REGISTERS
#include <immintrin.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace infiniop::cpu {

namespace {

// All eight registers have 16 rows of 64 bytes: four of sums, two of a, two of b.
void load_config() {
  struct alignas(64) Config {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  } config;
  for (int tile = 0; tile < 8; ++tile) {
    config.row_bytes[tile] = 64;
    config.rows[tile] = 16;
  }
  _tile_loadconfig(&config);
}

// In a process of its own, which shares the memory: an instruction that is not there ends only this one, and without a core file, for which systems
// end everybody who shares the memory.
int try_instructions(void*) {
  signal(SIGILL, [](int) { _exit(1); });
  load_config();
  _tile_zero(0);
  _tile_zero(4);
  _tile_zero(6);
  _tile_dpbf16ps(0, 4, 6);
  _tile_release();
  _exit(0);
}

void multiply(const float* a, const float* panel, int64_t lines) {
  constexpr int64_t kLine = 4 * kTileColumns, kLanes = 4 * kTileLanes;  // bytes
  for (int64_t i = 0; i < lines; i += kTileLanes, a += kTileRows * kTileLanes, panel += kTileLanes * kTileColumns) {
    _tile_loadd(4, a, kLanes);
    _tile_loadd(6, panel, kLine);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, panel + kTileLanes, kLine);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + 16 * kTileLanes, kLanes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

void begin(const float* sums, int64_t row) {
  if (sums) {
    _tile_loadd(0, sums, 4 * row);
    _tile_loadd(1, sums + 16, 4 * row);
    _tile_loadd(2, sums + 16 * row, 4 * row);
    _tile_loadd(3, sums + 16 * row + 16, 4 * row);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
}

void store(float* sums, int64_t row) {
  _tile_stored(0, sums, 4 * row);
  _tile_stored(1, sums + 16, 4 * row);
  _tile_stored(2, sums + 16 * row, 4 * row);
  _tile_stored(3, sums + 16 * row + 16, 4 * row);
}

}  // namespace

bool can_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return false;
  alignas(64) static char stack[64 << 10];
  const int child = clone(try_instructions, stack + sizeof stack, CLONE_VM | CLONE_VFORK, nullptr);
  int status = 0;
  return child > 0 && waitpid(child, &status, __WALL) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TilesInUse::TilesInUse() { load_config(); }
TilesInUse::~TilesInUse() { _tile_release(); }

void multiply_tiles(const float* a, const float* panel, int64_t lines, float* sums, int64_t row, bool adds) {
  begin(adds ? sums : nullptr, row);
  multiply(a, panel, lines);
  store(sums, row);
}

void round_tiles(int64_t rows, const float* a, const float* panel, int64_t lines, const float* sums, uint16_t* c,
                 int64_t row) {
  alignas(64) float all[kTileRows * kTileColumns];
  begin(sums, kTileColumns);
  multiply(a, panel, lines);
  store(all, kTileColumns);
  for (int64_t r = 0; r < rows; ++r) {
    const __m512 first = _mm512_load_ps(all + r * kTileColumns), second = _mm512_load_ps(all + r * kTileColumns + 16);
    _mm512_storeu_si512(c + r * row, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
  }
}

}  // namespace infiniop::cpu
#endif
