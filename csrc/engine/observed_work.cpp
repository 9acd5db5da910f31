#include "engine/observed_work.h"

#include "engine/copy_geometry.h"
#include "engine/graph_exec.h"
#include "engine/kernel.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

// The names of work_kind_name() are in this order.
static_assert(static_cast<int>(WorkType::Copy) == 1 && static_cast<int>(WorkType::Kernel) == 5 &&
              static_cast<int>(WorkType::Wait) == 7 && static_cast<int>(WorkType::Step) == 11);
constexpr uint8_t kMemoryNode = 12;

void add_access(WorkReport& report, const void* pointer, size_t bytes, bool writes) {
  report.accesses[report.access_count++] = {pointer, bytes, writes, 0};
}

void describe(WorkReport& report, const Work& work) {
  report.kind = static_cast<uint8_t>(work.type);
  size_t span = 0;
  switch (work.type) {
    case WorkType::Copy: {
      const CopyWork& copy = work.copy;
      if (region_span(copy.width, copy.height, copy.depth, copy.dst_pitch, copy.dst_slice, &span))
        add_access(report, copy.dst, span, true);
      if (region_span(copy.width, copy.height, copy.depth, copy.src_pitch, copy.src_slice, &span))
        add_access(report, copy.src, span, false);
      break;
    }
    case WorkType::Fill: {
      const FillWork& fill = work.fill;
      if (region_span(fill.width, fill.height, fill.depth, fill.pitch, fill.slice, &span))
        add_access(report, fill.dst, span, true);
      break;
    }
    case WorkType::Kernel:
      report.name = work.kernel.kernel->name.c_str();
      break;
    default:
      break;
  }
}

void place(WorkReport& report, const Stream& stream) {
  report.backend = stream.device->engine->backend.index;
  report.device = stream.device->ordinal;
  report.stream = stream.id;
  report.handle = stream.role == StreamRole::Created  ? stream.handle
                  : stream.role == StreamRole::Legacy ? infinirtStreamLegacy
                                                      : infinirtStreamPerThread;
  report.order = stream.timeline->number;
}

}  // namespace

void report_stream_work(const Stream& stream, const Op& op) {
  WorkReport report;
  report.issued = op.issued;
  report.begin = op.began;
  report.end = observed_ticks();
  place(report, stream);
  report.position = op.value;
  describe(report, op.work);
  report_work(report);
}

void report_inline_work(const Stream& stream, const Work& work, int64_t began) {
  WorkReport report;
  report.issued = issued_now(thread_state());
  report.begin = began;
  report.end = observed_ticks();
  place(report, stream);
  report.position = stream.enqueued.load(std::memory_order_relaxed) + 1;
  describe(report, work);
  report_work(report);
}

void report_copy_here(const Stream& stream, const CopyWork& copy, int64_t began) {
  Work work;
  work.type = WorkType::Copy;
  work.copy = copy;
  WorkReport report;
  report.issued = issued_now(thread_state());
  report.begin = began;
  report.end = observed_ticks();
  place(report, stream);
  report.position = stream.enqueued.load(std::memory_order_relaxed);
  describe(report, work);
  report_work(report);
}

void report_graph_node(const GraphRun& run, uint32_t node, const NodeBody& body, int64_t began) {
  WorkReport report;
  report.issued = body.made_by;
  if (report.issued.call == 0) report.issued.call = run.issued.call;
  report.begin = began;
  report.end = observed_ticks();
  place(report, *run.stream);
  report.position = run.position;
  report.graph_launch = run.issued.call;
  report.node = static_cast<int>(node);
  describe(report, body.work);
  if (body.type == infinirtGraphNodeTypeMemAlloc || body.type == infinirtGraphNodeTypeMemFree) {
    report.kind = kMemoryNode;
  } else if (body.type == infinirtGraphNodeTypeEventRecord) {
    report.kind = static_cast<uint8_t>(WorkType::Record);
  } else if (body.type == infinirtGraphNodeTypeWaitEvent) {
    report.kind = static_cast<uint8_t>(WorkType::Wait);
  }
  report_work(report);
}

void report_stream_order(const Stream& stream, const Point& earlier) {
  report_order(thread_state().call, stream.timeline->number, stream.enqueued.load(std::memory_order_relaxed) + 1,
               earlier.timeline->number, earlier.value);
}

std::string work_title(WorkType type, const Kernel* kernel) {
  if (type == WorkType::Kernel && kernel) return "kernel " + kernel->name;
  if (type == WorkType::Host) return "host function";
  return work_kind_name(static_cast<uint8_t>(type));
}

std::string recent_work(const Stream& stream) {
  std::string text;
  const uint32_t count = stream.recent_count < Stream::kRecentWork ? stream.recent_count : Stream::kRecentWork;
  for (uint32_t i = stream.recent_count - count; i != stream.recent_count; ++i) {
    const Stream::Recent& work = stream.recent[i % Stream::kRecentWork];
    if (!text.empty()) text += ", ";
    text += work_title(work.type, work.kernel);
  }
  return text;
}

}  // namespace infinirt
