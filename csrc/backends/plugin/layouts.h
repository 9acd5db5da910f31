// The binary layouts of the plugin table that are in use, and which of them a plugin was built with.
//
// No part of this knows the runtime: the program that tries plugins out is built from it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "infinirt_plugin.h"

namespace infinirt::plugin {

// PaddlePaddle's releases whose tables differ.
enum class Layout : uint8_t { V2_6, V3_0, V3_1, V3_2, V3_3 };
inline constexpr int kLayoutCount = 5;
inline constexpr Layout kNewest = Layout::V3_3;

const char* layout_name(Layout layout);  // "3.1"
bool layout_named(const char* name, Layout* layout);

// In bytes: of the whole table, and of infinirtPluginParams as plugins of that layout know it.
size_t table_size(Layout layout);
size_t params_size(Layout layout);

// One entry or one block of reserved words.
struct EntryPlace {
  const char* name;
  size_t offset, words;
  bool reserved;
};
// The entries in order, `size` not counted; false after the last one.
bool entry_at(Layout layout, size_t index, EntryPlace* place);

// Calls an entry for a version or the compute capability, which takes a device only since 3.1.
using FactEntry = enum infinirtPluginStatus (*)(infinirtPluginDevice_t, size_t*);
inline enum infinirtPluginStatus call_fact(Layout layout, FactEntry entry, infinirtPluginDevice_t device,
                                           size_t* value) {
  if (layout >= Layout::V3_1) return entry(device, value);
  auto* any = reinterpret_cast<void (*)()>(entry);
  return reinterpret_cast<enum infinirtPluginStatus (*)(size_t*)>(any)(value);
}

// The memory a plugin fills in: larger than every layout, and patterned, so that what was written can be told from what was
// not.
class PatternedTable {
 public:
  static constexpr size_t kBytes = 4096;

  // `told_size` is what the plugin finds in `size`.
  explicit PatternedTable(size_t told_size);
  infinirtPluginInterface* table() { return reinterpret_cast<infinirtPluginInterface*>(words_); }

  bool is_untouched() const;

  // Which layout was filled in. False with a reason when that cannot be told.
  bool detect(Layout* layout, std::string* why_not) const;

  // The entries in the newest layout; what the layout has not, and what was not written, is null.
  infinirtPluginInterface read_as(Layout layout) const;

 private:
  static constexpr size_t kWords = kBytes / sizeof(uint64_t);
  static uint64_t pattern(size_t index) { return 0xA5C3'5A3C'0F1E'0000u | (index * 7 + 1); }
  bool written(size_t index) const { return words_[index] != pattern(index); }
  size_t extent() const;  // bytes up to the last word that was written

  alignas(64) uint64_t words_[kWords];
  size_t told_size_;
};

}  // namespace infinirt::plugin
