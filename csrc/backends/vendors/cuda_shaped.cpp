#include "backends/vendors/cuda_shaped.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace infinirt::vendors {

std::string CudaShaped::name_of(const char* cuda) const {
  for (const CudaNames::Renamed& renamed : names_.renamed) {
    if (std::strcmp(renamed.cuda, cuda) == 0) return renamed.name;
  }
  return std::string(names_.prefix) + cuda;
}

std::vector<Symbol> CudaShaped::symbols() {
  std::vector<Symbol> wanted;
#define INFINIRT_VENDOR_FN(NAME, REQUIRED, PARAMETERS) \
  wanted.push_back({name_of(#NAME), reinterpret_cast<void**>(&call_.NAME), REQUIRED});
#include "backends/vendors/cuda_functions.inc"
#undef INFINIRT_VENDOR_FN
  wanted.push_back({name_of("GetErrorString"), reinterpret_cast<void**>(&call_.GetErrorString), true});
  return wanted;
}

bool CudaShaped::has(Ability ability) const {
  switch (ability) {
    case Ability::Fill:
      return call_.MemsetAsync != nullptr;
    case Ability::PeerCopy:
      return call_.MemcpyPeerAsync != nullptr;
    case Ability::MemoryInfo:
      return call_.MemGetInfo != nullptr;
    case Ability::HostMemory:
      return call_.HostAlloc && call_.FreeHost;
    case Ability::Streams:
      return true;
  }
  return false;
}

// The enumerators have CUDA's values in all of them.
int CudaShaped::copy(void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind, void* stream) {
  return after(call_.MemcpyAsync(dst, src, bytes, kind, stream), stream);
}

int CudaShaped::copy_between(void* dst, int dst_device, const void* src, int src_device, size_t bytes, void* stream) {
  return after(call_.MemcpyPeerAsync(dst, dst_device, src, src_device, bytes, stream), stream);
}

int CudaShaped::fill(void* dst, unsigned char value, size_t bytes, void* stream) {
  return after(call_.MemsetAsync(dst, value, bytes, stream), stream);
}

int CudaShaped::create_stream(void** stream) {
  return call_.StreamCreateWithFlags && names_.non_blocking ? call_.StreamCreateWithFlags(stream, names_.non_blocking)
                                                            : call_.StreamCreate(stream);
}

// The properties differ between vendors and between versions, but begin with the name in each that we have seen: only that is
// read, and only when it looks like one.
std::string CudaShaped::device_name(int device) {
  constexpr size_t kNameBytes = 256, kRoom = 16384;
  std::vector<char> properties(kRoom);
  if (!call_.GetDeviceProperties || call_.GetDeviceProperties(properties.data(), device) != 0) return {};
  const std::string name(properties.data(), strnlen(properties.data(), kNameBytes));
  const bool readable =
      name.size() < kNameBytes && std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return readable ? name : std::string();
}

std::string CudaShaped::version() {
  int version = 0;
  return call_.RuntimeGetVersion && call_.RuntimeGetVersion(&version) == 0 ? std::to_string(version) : std::string();
}

// The numbers are CUDA's where CUDA has such an error.
infinirtError_t CudaShaped::code_of(int status) const {
  const auto code = static_cast<infinirtError_t>(status);
  return std::strcmp(error_name(code), "unrecognized error code") == 0 ? infinirtErrorUnknown : code;
}

std::string CudaShaped::text_of(int status) {
  const char* text = call_.GetErrorString(status);
  call_.GetLastError();  // the failure has been heard of; others in the process shall not find it
  return text ? text : "";
}

}  // namespace infinirt::vendors
