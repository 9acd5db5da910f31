// One launch of an executable graph.
#pragma once

namespace infinirt {

class GraphRun;
struct Stream;

// Called by the stream's runner when the launch is at the head of the stream. Returns true when the run has finished
// already; false when it goes on elsewhere and will call graph_work_finished(stream) at its end. Owns the run.
bool start_graph_run(GraphRun* run, Stream& stream);

// Gives back a run that will never be started (the device failed, the process forked).
void drop_graph_run(GraphRun* run);

}  // namespace infinirt
