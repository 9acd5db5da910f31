// The table of CUDA-shaped vendors. docs/vendors.md names the source of every name and number.
#include "backends/vendors/cuda_shaped.h"
#include "backends/vendors/vendor.h"

namespace infinirt::vendors {

namespace {

constexpr unsigned kNonBlocking = 1;  // CUDA's, HIP's and MACA's

std::unique_ptr<Native> make_hip() {
  return std::make_unique<CudaShaped>(
      CudaNames{"hip", {{"HostAlloc", "hipHostMalloc"}, {"FreeHost", "hipHostFree"}}, kNonBlocking});
}

std::unique_ptr<Native> make_musa() { return std::make_unique<CudaShaped>(CudaNames{"musa", {}, 0}); }

std::unique_ptr<Native> make_maca() {
  return std::make_unique<CudaShaped>(CudaNames{"mc", {{"HostAlloc", "mcMallocHost"}}, kNonBlocking});
}

std::unique_ptr<Native> make_cuda() { return std::make_unique<CudaShaped>(CudaNames{"cuda", {}, kNonBlocking}); }

}  // namespace

std::span<const Vendor> cuda_shaped_vendors() {
  static const auto* const vendors = new std::vector<Vendor>{
      {"amd",
       "AMD's HIP runtime",
       "INFINIRT_AMD_LIBRARY",
       "libamdhip64",
       {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
       {{"ROCM_PATH", "lib"}, {nullptr, "/opt/rocm/lib"}},
       false,
       make_hip},
      {"hygon",
       "Hygon's HIP runtime (DTK)",
       "INFINIRT_HYGON_LIBRARY",
       "libgalaxyhip",
       {"libgalaxyhip.so", "libgalaxyhip.so.5"},
       {{"ROCM_PATH", "hip/lib"}, {"ROCM_PATH", "lib"}, {nullptr, "/opt/dtk/hip/lib"}, {nullptr, "/opt/dtk/lib"}},
       false,
       make_hip},
      {"moore",
       "Moore Threads' MUSA runtime",
       "INFINIRT_MOORE_LIBRARY",
       "libmusart",
       {"libmusart.so", "libmusart.so.5", "libmusart.so.4"},
       {{"MUSA_HOME", "lib"}, {"MUSA_PATH", "lib"}, {"MUSA_ROOT", "lib"}, {nullptr, "/usr/local/musa/lib"}},
       false,
       make_musa},
      {"metax",
       "MetaX's MACA runtime",
       "INFINIRT_METAX_LIBRARY",
       "libmcruntime",
       {"libmcruntime.so"},
       {{"MACA_PATH", "lib"}, {nullptr, "/opt/maca/lib"}},
       false,
       make_maca},
      {"iluvatar",
       "Iluvatar's CUDA runtime (CoreX)",
       "INFINIRT_ILUVATAR_LIBRARY",
       "libcudart",
       {"libcudart.so"},
       {{nullptr, "/usr/local/corex/lib64"}},
       true,
       make_cuda},
      {"ali",
       "T-Head's CUDA runtime (PPU SDK)",
       "INFINIRT_ALI_LIBRARY",
       "libcudart",
       {"libcudart.so"},
       {{"PPU_SDK", "CUDA_SDK/lib64"}, {nullptr, "/usr/local/PPU_SDK/CUDA_SDK/lib64"}},
       true,
       make_cuda}};
  return *vendors;
}

}  // namespace infinirt::vendors
