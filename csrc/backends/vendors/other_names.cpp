#include "backends/vendors/other_names.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "core/log.h"

namespace infinirt {

namespace {

struct OtherName {
  const char *theirs, *ours;
};
constexpr OtherName kOtherNames[] = {{"cuda", "nvidia"}, {"gpu", "nvidia"}, {"hip", "amd"},       {"rocm", "amd"},
                                     {"musa", "moore"},  {"npu", "ascend"}, {"mlu", "cambricon"}, {"xpu", "kunlun"}};
constexpr const char* kOurs[] = {"cpu",   "cpu-min",  "nvidia", "amd",    "hygon",     "moore",
                                 "metax", "iluvatar", "ali",    "ascend", "cambricon", "kunlun"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return text;
}

}  // namespace

void report_other_names(const char* list) {
  // Plugins have names of their own, which cannot be known here.
  const char* plugins = std::getenv("INFINIRT_PLUGIN_PATH");
  if (plugins && *plugins) return;
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
    if (meant == type || std::find(std::begin(kOurs), std::end(kOurs), meant) == std::end(kOurs)) continue;
    const std::string instead = "'" + meant + entry.substr(colon) +
                                "': unless a plugin or a backend in Python is called '" + type +
                                "', there is no such device type";
    report_setting("INFINIRT_VISIBLE_DEVICES", list, instead.c_str());
    return;
  }
}

}  // namespace infinirt
