#include "core/visible_devices.h"

#include <algorithm>
#include <cstdlib>

namespace infinirt {

namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool parse_number(const std::string& text, int* number) {
  if (text.empty() || text.size() > 6 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  *number = std::atoi(text.c_str());
  return true;
}

std::vector<int> visible_devices(const char* type, int count, std::string* problem) {
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) devices.push_back(i);
  const char* visible = std::getenv("INFINIRT_VISIBLE_DEVICES");
  if (!visible) return devices;

  // A list in which no entry speaks of this type says nothing about it; plain numbers speak of every type.
  const std::string prefix = std::string(type) + ":", list = visible;
  bool concerns_us = trimmed(list).empty();
  std::vector<int> chosen;
  for (size_t start = 0; start < list.size();) {
    const size_t end = std::min(list.find(',', start), list.size());
    std::string entry = trimmed(list.substr(start, end - start));
    start = end + 1;
    if (entry.find(':') != std::string::npos && entry.compare(0, prefix.size(), prefix) != 0) continue;
    concerns_us = true;
    if (entry.compare(0, prefix.size(), prefix) == 0) entry.erase(0, prefix.size());
    int number = 0;
    // As CUDA does: what follows an entry that names no device is not looked at.
    if (!parse_number(entry, &number) || number >= count) {
      *problem = "INFINIRT_VISIBLE_DEVICES=" + list + " names '" + entry + "', but " + type + " devices are 0 to " +
                 std::to_string(count - 1);
      if (entry == type) *problem += "; entries are a number, or a type and a number: '" + entry + ":0'";
      break;
    }
    if (std::find(chosen.begin(), chosen.end(), number) == chosen.end()) chosen.push_back(number);
  }
  if (!concerns_us) return devices;
  if (chosen.empty() && problem->empty())
    *problem = "INFINIRT_VISIBLE_DEVICES=" + list + " hides every " + type + " device";
  if (!chosen.empty()) problem->clear();
  return chosen;
}

}  // namespace infinirt
