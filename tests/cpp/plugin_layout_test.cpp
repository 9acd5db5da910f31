// The layouts of the plugin table: against what was measured in PaddlePaddle's headers, and how one is recognised.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "backends/plugin/layouts.h"
#include "check.h"
#include "engine/shown_addresses.h"

using namespace infinirt::plugin;  // NOLINT: the test is about nothing else

namespace {

constexpr Layout kAll[] = {Layout::V2_6, Layout::V3_0, Layout::V3_1, Layout::V3_2, Layout::V3_3};

struct Measured {
  Layout layout;
  const char* name;
  size_t offset;
};

const std::vector<Measured> kMeasured = {
#define MEASURED(LAYOUT, NAME, OFFSET) {Layout::LAYOUT, #NAME, OFFSET},
#define MEASURED_SIZES(LAYOUT, TABLE, PARAMS)
#include "../plugins/measured_offsets.inc"
#undef MEASURED
#undef MEASURED_SIZES
};

// As a plugin of that release begins.
void clear(PatternedTable& table, size_t bytes) { std::memset(static_cast<void*>(table.table()), 0, bytes); }

void put(PatternedTable& table, size_t offset, uintptr_t value) {
  std::memcpy(reinterpret_cast<char*>(table.table()) + offset, &value, sizeof value);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(every_entry_is_where_the_release_has_it) {
  std::map<Layout, size_t> counts;
  for (const Measured& measured : kMeasured) {
    EntryPlace place;
    REQUIRE(entry_at(measured.layout, counts[measured.layout]++, &place));
    CHECK_EQ(std::string(place.name), measured.name);
    CHECK_EQ(place.offset, measured.offset);
    CHECK_EQ(place.reserved, std::strncmp(measured.name, "reserved_", 9) == 0);
  }
  for (const Layout layout : kAll) {
    EntryPlace place;
    CHECK_GT(counts[layout], size_t{60});
    CHECK(!entry_at(layout, counts[layout], &place));
  }
}

TEST(sizes_are_those_of_the_releases) {
#define MEASURED(LAYOUT, NAME, OFFSET)
#define MEASURED_SIZES(LAYOUT, TABLE, PARAMS)          \
  CHECK_EQ(table_size(Layout::LAYOUT), size_t{TABLE}); \
  CHECK_EQ(params_size(Layout::LAYOUT), size_t{PARAMS});
#include "../plugins/measured_offsets.inc"
#undef MEASURED
#undef MEASURED_SIZES
}

TEST(a_cleared_table_tells_its_layout) {
  for (const Layout layout : kAll) {
    PatternedTable table(table_size(kNewest));
    CHECK(table.is_untouched());
    clear(table, table_size(layout));
    CHECK(!table.is_untouched());
    Layout found = kNewest;
    std::string why_not;
    CHECK(table.detect(&found, &why_not));
    CHECK_EQ(std::string(layout_name(found)), layout_name(layout));
  }
}

TEST(entries_arrive_where_the_newest_layout_has_them) {
  for (const Layout layout : kAll) {
    PatternedTable table(0);
    clear(table, table_size(layout));
    EntryPlace place;
    for (size_t i = 0; entry_at(layout, i, &place); ++i) {
      if (!place.reserved) put(table, place.offset, 1000 + i);
    }
    const infinirtPluginInterface read = table.read_as(layout);
    std::map<std::string, uintptr_t> expected;
    for (size_t i = 0; entry_at(layout, i, &place); ++i) {
      if (!place.reserved) expected[place.name] = 1000 + i;
    }
    for (size_t i = 0; entry_at(kNewest, i, &place); ++i) {
      uintptr_t value = 0;
      std::memcpy(&value, reinterpret_cast<const char*>(&read) + place.offset, sizeof value);
      CHECK_EQ(value, place.reserved ? 0 : expected[place.name]);  // null where the older layout has no such entry
    }
  }
}

TEST(other_sizes_are_refused_with_the_known_ones) {
  for (const size_t bytes : {size_t{8}, size_t{480}, size_t{704}, size_t{904}, size_t{1136}, size_t{2048}}) {
    PatternedTable table(0);
    clear(table, bytes);
    Layout found = kNewest;
    std::string why_not;
    CHECK(!table.detect(&found, &why_not));
    CHECK(bytes == 8 || contains(why_not, "has " + std::to_string(bytes) + " bytes"));
    CHECK(bytes == 8 || contains(why_not, "976 (3.1)"));
  }
  PatternedTable table(0);
  clear(table, PatternedTable::kBytes);
  Layout found = kNewest;
  std::string why_not;
  CHECK(!table.detect(&found, &why_not));
}

TEST(a_table_that_was_not_cleared_is_accepted_as_far_as_all_agree) {
  PatternedTable common(0);
  EntryPlace place;
  size_t first_different = 0;
  for (size_t i = 0; entry_at(kNewest, i, &place); ++i) {
    if (std::strcmp(place.name, "get_compute_capability") == 0) first_different = place.offset;
    if (first_different == 0 && !place.reserved && i % 2 == 0) put(common, place.offset, 77);
  }
  Layout found = Layout::V2_6;
  std::string why_not;
  CHECK(common.detect(&found, &why_not));
  const infinirtPluginInterface read = common.read_as(found);
  CHECK(read.initialize != nullptr);
  CHECK(read.finalize == nullptr);  // not written: no entry, whatever the memory held

  put(common, first_different, 77);
  CHECK(!common.detect(&found, &why_not));
  CHECK(contains(why_not, "INFINIRT_PLUGIN_LAYOUT"));
}

TEST(layouts_have_names) {
  for (const Layout layout : kAll) {
    Layout found = kNewest;
    CHECK(layout_named(layout_name(layout), &found));
    CHECK(found == layout);
  }
  Layout found = kNewest;
  CHECK(!layout_named("3.4", &found));
  CHECK(!layout_named("", &found));
}

TEST(substitute_addresses_are_distinct_and_come_back) {
  infinirt::AddressRange range;
  CHECK(!range.contains(&range));
  void* first = range.take(100);
  void* second = range.take(size_t{5} << 20);
  void* third = range.take(1);
  REQUIRE(first && second && third);
  CHECK_EQ(static_cast<char*>(second) - static_cast<char*>(first), ptrdiff_t{2} << 20);
  CHECK_EQ(static_cast<char*>(third) - static_cast<char*>(second), ptrdiff_t{6} << 20);
  CHECK(range.contains(first) && range.contains(static_cast<char*>(second) + 12345));
  CHECK(!range.contains(&range));
  range.give(first, 100);
  range.give(third, 1);
  range.give(second, size_t{5} << 20);
  CHECK_EQ(range.take(size_t{200} << 30), first);  // one span again
  CHECK(range.take(size_t{2} << 40) == nullptr);
}

TEST(addresses_once_seen_are_remembered_as_ranges) {
  infinirt::SeenAddresses seen;
  seen.add(1000, 100);
  seen.add(2000, 100);
  CHECK(!seen.contains(999) && seen.contains(1000) && seen.contains(1099) && !seen.contains(1100));
  CHECK(!seen.contains(1999) && seen.contains(2099) && !seen.contains(2100));
  seen.add(1100, 900);  // what touches becomes one
  CHECK(seen.contains(1100) && seen.contains(1999) && seen.contains(2050) && !seen.contains(2100));
  seen.add(500, 5000);
  CHECK(!seen.contains(499) && seen.contains(500) && seen.contains(5499) && !seen.contains(5500));
  seen.add(600, 10);
  CHECK(seen.contains(5499));
}

TEST(the_host_reads_its_own_memory_only) {
  const char own = 'x';
  CHECK(infinirt::host_can_read(&own));
  CHECK(!infinirt::host_can_read(nullptr));
  infinirt::AddressRange range;
  void* reserved = range.take(100);
  REQUIRE(reserved != nullptr);
  CHECK(!infinirt::host_can_read(reserved));
}

TEST_MAIN()
