// What the engine tells observers (core/observe.h) about work. Called only while something observes.
#pragma once

#include "engine/work.h"

namespace infinirt {

struct Stream;
class GraphRun;
struct NodeBody;

// The operation has run; with the stream's mutex held, or by whoever runs the stream.
void report_stream_work(const Stream& stream, const Op& op);
// The same for work that the calling thread did at once, as the stream's next operation, with the stream's mutex held.
void report_inline_work(const Stream& stream, const Work& work, int64_t began);
// A copy that the calling thread did itself after waiting for its turn in the stream.
void report_copy_here(const Stream& stream, const CopyWork& copy, int64_t began);
void report_graph_node(const GraphRun& run, uint32_t node, const NodeBody& body, int64_t began);
// Work of `stream` from its next operation on comes after the point.
void report_stream_order(const Stream& stream, const Point& earlier);

// "copy, kernel add, host function": what the stream ran last, the latest at the end. By whoever runs the stream.
std::string recent_work(const Stream& stream);
// What the work is called in messages: "kernel add", "copy".
std::string work_title(WorkType type, const Kernel* kernel);

}  // namespace infinirt
