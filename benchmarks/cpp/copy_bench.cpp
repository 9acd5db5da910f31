// Copy and set bandwidth of the CPU device beside memcpy and memset on the same buffers, and what fresh memory costs.
//
// Ratios are bandwidths: 1.00 is as fast as the C library, above is faster (large copies use several cores).
#include <cstring>

#include "infinirt.h"
#include "infinirt_ext.h"
#include "measure.h"

using measure::Candidate;

namespace {

constexpr size_t KiB = 1024, MiB = 1024 * KiB;

void report(const char* what, size_t bytes, const Candidate& ours, const Candidate& reference) {
  std::printf("  %-22s %8zu KiB  %7.2f GB/s   %5.2f of %s\n", what, bytes / KiB,
              static_cast<double>(bytes) / ours.median(), reference.median() / ours.median(), reference.name.c_str());
}

int batch_for(size_t bytes) { return static_cast<int>(std::max<size_t>(1, 16 * MiB / bytes)); }

void copies_and_sets(infinirtStream_t stream) {
  std::printf("copy and set, on the same buffers\n");
  for (size_t bytes : {64 * KiB, MiB, 16 * MiB, 64 * MiB}) {
    void *dst = nullptr, *src = nullptr;
    infinirtMalloc(&dst, bytes);
    infinirtMalloc(&src, bytes);
    std::memset(dst, 1, bytes);
    std::memset(src, 2, bytes);
    std::vector<Candidate> all = {{"memcpy",
                                   [=](int n) {
                                     while (n--) {
                                       std::memcpy(dst, src, bytes);
                                       asm volatile("" ::: "memory");
                                     }
                                   }},
                                  {"copy",
                                   [=](int n) {
                                     while (n--)
                                       infinirtMemcpyAsync(dst, src, bytes, infinirtMemcpyDeviceToDevice, stream);
                                     infinirtStreamSynchronize(stream);
                                   }},
                                  {"memset",
                                   [=](int n) {
                                     while (n--) {
                                       std::memset(dst, 3, bytes);
                                       asm volatile("" ::: "memory");
                                     }
                                   }},
                                  {"set", [=](int n) {
                                     while (n--) infinirtMemsetAsync(dst, 3, bytes, stream);
                                     infinirtStreamSynchronize(stream);
                                   }}};
    measure::compare(all, batch_for(bytes), 15);
    report("copy", bytes, all[1], all[0]);
    report("set", bytes, all[3], all[2]);
    infinirtFree(dst);
    infinirtFree(src);
  }
}

void fresh_memory() {
  std::printf("allocate, fill, free, beside a fill of warm memory\n");
  constexpr size_t bytes = 64 * MiB;
  void* warm = nullptr;
  infinirtMalloc(&warm, bytes);
  std::vector<Candidate> all = {{"a warm fill",
                                 [=](int n) {
                                   while (n--) {
                                     infinirtMemset(warm, 1, bytes);
                                     infinirtDeviceSynchronize();
                                   }
                                 }},
                                {"cycle", [=](int n) {
                                   while (n--) {
                                     void* p = nullptr;
                                     infinirtMalloc(&p, bytes);
                                     infinirtMemset(p, 1, bytes);
                                     infinirtFree(p);
                                   }
                                 }}};
  measure::compare(all, 1, 25);
  std::printf("  time %.2f x that of a warm fill (budget 1.10)\n", all[1].median() / all[0].median());
  infinirtFree(warm);
}

}  // namespace

int main() {
  infinirtStream_t stream;
  if (infinirtXSetDeviceType("cpu") != infinirtSuccess || infinirtStreamCreate(&stream) != infinirtSuccess) {
    std::fprintf(stderr, "%s\n", infinirtXGetLastErrorMessage());
    return 1;
  }
  copies_and_sets(stream);
  fresh_memory();
  return 0;
}
