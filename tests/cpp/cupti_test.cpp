// From CUPTI's records to a trace's: made here as NVIDIA's header lays them out, since there need be no GPU.
#include "backends/nvidia/cupti.h"
#include "backends/nvidia/cupti_records.h"
#include "support.h"
#include "trace_support.h"

using namespace infinirt;  // NOLINT
using namespace infinirt::nvidia;  // NOLINT

namespace {

cupti::KernelRecord kernel(uint32_t correlation, uint64_t start, const char* name, uint64_t node = 0) {
  cupti::KernelRecord record{};
  record.kind = cupti::kConcurrentKernel;
  record.start = start;
  record.end = start + 500;
  record.stream = 7;
  record.correlation = correlation;
  record.name = name;
  record.graph_node = node;
  return record;
}

cupti::ExternalRecord issued_by(uint32_t correlation, uint64_t call) {
  cupti::ExternalRecord record{};
  record.kind = cupti::kExternalCorrelation;
  record.external_kind = cupti::kCustomCorrelation;
  record.external = call;
  record.correlation = correlation;
  return record;
}

std::map<uint64_t, Record> by_call(const Contents& contents) {
  std::map<uint64_t, Record> found;
  for (const Record& record : contents.records.at(RecordKind::Work)) found[record[1]] = record;
  return found;
}

}  // namespace

TEST(records_become_work_of_the_calls_that_issued_them) {
  Folder folder;
  int device = 0;
  OK(infinirtGetDevice(&device));  // there is a backend 0 from here on
  OK(infinirtXTraceBegin(folder.path.c_str()));
  ActivityReader reader(0);
  const auto first = issued_by(1, 101);
  reader.take(&first, 0);
  const auto named = kernel(1, 1000, "_Z5saxpyPff");
  reader.take(&named, 50);
  cupti::MemcpyRecord copy{};
  copy.kind = cupti::kMemcpy;
  copy.bytes = 4096;
  copy.start = 2000;
  copy.end = 2600;
  copy.stream = 8;
  copy.correlation = 2;
  reader.take(&copy, 50);  // before it is known who issued it
  const auto second = issued_by(2, 102);
  reader.take(&second, 50);
  const auto node = kernel(3, 3000, "in_graph", 5);
  const auto launch = issued_by(3, 103);
  reader.take(&launch, 50);
  reader.take(&node, 50);
  const auto nobody = kernel(9, 4000, "of another library");
  reader.take(&nobody, 50);
  cupti::ExternalRecord other = issued_by(9, 104);
  other.external_kind = 1;  // somebody else's numbers
  reader.take(&other, 50);
  reader.report_waiting();
  OK(infinirtXTraceEnd());

  const Contents contents = only_file(folder);
  const auto work = by_call(contents);
  REQUIRE(work.size() == 4);
  CHECK(contents.has_name("saxpy(float*, float)"));
  CHECK_EQ(work.at(101)[2], uint64_t{1050});
  CHECK_EQ(work.at(101)[3] & 0xffffffffffff, uint64_t{500});
  CHECK_EQ(work.at(101)[0] >> 24 & 1, uint64_t{1});  // nanoseconds
  CHECK_EQ(work.at(101)[4], uint64_t{7});
  CHECK_EQ(work.at(102)[0] >> 16 & 0xff, uint64_t{1});
  CHECK_EQ(work.at(102)[10], uint64_t{1} << 63 | 4096);
  CHECK_EQ(work.at(103)[9], uint64_t{103});  // the launch
  CHECK_EQ(work.at(103)[10], uint64_t{5});
  CHECK_EQ(work.count(0), size_t{1});
}

TEST_MAIN()
