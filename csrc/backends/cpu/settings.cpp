#include "backends/cpu/settings.h"

#include <cstdlib>

#include "backends/cpu/memory.h"
#include "core/visible_devices.h"

namespace infinirt::cpu {

std::vector<int> visible_devices(const char* type, std::string* problem) {
  int count = 1;
  const char* wanted = std::getenv("INFINIRT_CPU_DEVICES");
  if (wanted && *wanted && (!parse_number(wanted, &count) || count < 1 || count > kMaxDevices)) {
    *problem =
        std::string("INFINIRT_CPU_DEVICES=") + wanted + " is not a number from 1 to " + std::to_string(kMaxDevices);
    return {};
  }
  return infinirt::visible_devices(type, count, problem);
}

}  // namespace infinirt::cpu
