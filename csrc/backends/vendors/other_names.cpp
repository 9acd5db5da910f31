#include "backends/vendors/other_names.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "core/log.h"

namespace infinirt {

namespace {

// What a plugin may be called cannot be known here.
struct OtherName {
  const char *theirs, *ours;
};
constexpr OtherName kOtherNames[] = {{"cuda", "nvidia"}, {"gpu", "nvidia"}, {"hip", "amd"},       {"rocm", "amd"},
                                     {"musa", "moore"},  {"npu", "ascend"}, {"mlu", "cambricon"}, {"xpu", "kunlun"}};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return text;
}

}  // namespace

void report_other_names(const char* list) {
  const std::string text = list;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    std::string entry = text.substr(start, end - start);
    entry.erase(0, entry.find_first_not_of(" \t"));
    start = end + 1;
    const size_t colon = entry.find(':');
    if (colon == std::string::npos) continue;
    const std::string type = entry.substr(0, colon), known = lower(type);
    const auto* other = std::find_if(std::begin(kOtherNames), std::end(kOtherNames),
                                     [&](const OtherName& name) { return known == name.theirs; });
    const std::string meant = other != std::end(kOtherNames) ? other->ours : known;
    if (meant == type) continue;
    report_setting("INFINIRT_VISIBLE_DEVICES", list,
                   ("'" + meant + entry.substr(colon) + "': '" + type + "' is no device type").c_str());
    return;
  }
}

}  // namespace infinirt
