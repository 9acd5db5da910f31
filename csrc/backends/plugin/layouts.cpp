#include "backends/plugin/layouts.h"

#include <cstring>
#include <iterator>

namespace infinirt::plugin {

namespace {

struct Entry {
  const char* name;
  Layout since;
  size_t words;
  bool reserved;
};

constexpr Entry kEntries[] = {
#define INFINIRT_PLUGIN_ENTRY(NAME, SINCE) {#NAME, Layout::SINCE, 1, false},
#define INFINIRT_PLUGIN_RESERVED(NAME, WORDS) {#NAME, Layout::V2_6, WORDS, true},
#include "backends/plugin/entries.inc"
#undef INFINIRT_PLUGIN_ENTRY
#undef INFINIRT_PLUGIN_RESERVED
};

constexpr size_t kWord = sizeof(void*);

constexpr size_t offset_in(Layout layout, size_t index) {
  size_t words = 1;  // `size`
  for (size_t i = 0; i < index; ++i) {
    if (kEntries[i].since <= layout) words += kEntries[i].words;
  }
  return words * kWord;
}

constexpr size_t size_of(Layout layout) { return offset_in(layout, std::size(kEntries)); }

// Counts the entries as they are named, so that each can be compared with the header's own offset.
enum Position : size_t {
#define INFINIRT_PLUGIN_ENTRY(NAME, SINCE) kPosition_##NAME,
#define INFINIRT_PLUGIN_RESERVED(NAME, WORDS) kPosition_##NAME,
#include "backends/plugin/entries.inc"
#undef INFINIRT_PLUGIN_ENTRY
#undef INFINIRT_PLUGIN_RESERVED
};

#define INFINIRT_PLUGIN_ENTRY(NAME, SINCE) \
  static_assert(offsetof(infinirtPluginInterface, NAME) == offset_in(kNewest, kPosition_##NAME));
#define INFINIRT_PLUGIN_RESERVED(NAME, WORDS)                                                      \
  static_assert(offsetof(infinirtPluginInterface, NAME) == offset_in(kNewest, kPosition_##NAME) && \
                sizeof(infinirtPluginInterface::NAME) == (WORDS) * kWord);
#include "backends/plugin/entries.inc"
#undef INFINIRT_PLUGIN_ENTRY
#undef INFINIRT_PLUGIN_RESERVED

static_assert(sizeof(infinirtPluginInterface) == size_of(kNewest));
static_assert(size_of(Layout::V2_6) == 912 && size_of(Layout::V3_0) == 920 && size_of(Layout::V3_1) == 976 &&
              size_of(Layout::V3_2) == 1032 && size_of(Layout::V3_3) == 1128);
static_assert(PatternedTable::kBytes > 2 * size_of(kNewest));

// Up to here all layouts have the same entries with the same parameters.
constexpr size_t kCommonBytes = offset_in(kNewest, kPosition_get_compute_capability);
static_assert(kCommonBytes == offset_in(Layout::V2_6, kPosition_get_compute_capability));

constexpr const char* kNames[kLayoutCount] = {"2.6", "3.0", "3.1", "3.2", "3.3"};

std::string known_sizes() {
  std::string text;
  for (int i = 0; i < kLayoutCount; ++i) {
    text += (i ? ", " : "") + std::to_string(size_of(static_cast<Layout>(i))) + " (" + kNames[i] + ")";
  }
  return text;
}

}  // namespace

const char* layout_name(Layout layout) { return kNames[static_cast<int>(layout)]; }

bool layout_named(const char* name, Layout* layout) {
  for (int i = 0; i < kLayoutCount; ++i) {
    if (std::strcmp(kNames[i], name) == 0) return *layout = static_cast<Layout>(i), true;
  }
  return false;
}

size_t table_size(Layout layout) { return size_of(layout); }

size_t params_size(Layout layout) {
  // 2.6 has no pir_default_passes.
  return layout == Layout::V2_6 ? sizeof(infinirtPluginParams) - sizeof(void*) : sizeof(infinirtPluginParams);
}

bool entry_at(Layout layout, size_t index, EntryPlace* place) {
  for (size_t i = 0; i < std::size(kEntries); ++i) {
    if (kEntries[i].since > layout || index-- != 0) continue;
    *place = {kEntries[i].name, offset_in(layout, i), kEntries[i].words, kEntries[i].reserved};
    return true;
  }
  return false;
}

PatternedTable::PatternedTable(size_t told_size) : told_size_(told_size) {
  for (size_t i = 0; i < kWords; ++i) words_[i] = pattern(i);
  words_[0] = told_size;
}

size_t PatternedTable::extent() const {
  for (size_t i = kWords; i-- > 1;) {
    if (written(i)) return (i + 1) * kWord;
  }
  return 0;
}

bool PatternedTable::is_untouched() const { return words_[0] == told_size_ && extent() == 0; }

bool PatternedTable::detect(Layout* layout, std::string* why_not) const {
  const size_t end = extent();
  if (end == 0) return *why_not = "InitPlugin left the table empty", false;
  if (end == kBytes) return *why_not = "InitPlugin wrote beyond every known table", false;
  bool cleared = true;
  for (size_t i = 1; i < end / kWord; ++i) cleared &= written(i);
  if (!cleared) {
    if (end <= kCommonBytes) return *layout = kNewest, true;
    *why_not =
        "InitPlugin filled its table in without clearing it first, so its layout cannot be told; name the release it "
        "was built for with INFINIRT_PLUGIN_LAYOUT (2.6, 3.0, 3.1, 3.2 or 3.3)";
    return false;
  }
  for (int i = 0; i < kLayoutCount; ++i) {
    if (size_of(static_cast<Layout>(i)) == end) return *layout = static_cast<Layout>(i), true;
  }
  *why_not = "its table has " + std::to_string(end) + " bytes, which is no known layout: " + known_sizes() +
             "; if it was built for one of these releases, name it with INFINIRT_PLUGIN_LAYOUT";
  return false;
}

infinirtPluginInterface PatternedTable::read_as(Layout layout) const {
  infinirtPluginInterface result = {};
  auto* into = reinterpret_cast<unsigned char*>(&result);
  for (size_t i = 0; i < std::size(kEntries); ++i) {
    if (kEntries[i].since > layout || kEntries[i].reserved) continue;
    const size_t word = offset_in(layout, i) / kWord;
    if (written(word)) std::memcpy(into + offset_in(kNewest, i), &words_[word], kWord);
  }
  result.size = size_of(layout);
  return result;
}

}  // namespace infinirt::plugin
