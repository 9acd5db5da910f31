// Graphs and executable graphs as Python objects: owners of a handle.
#pragma once

#include "bindings/objects/stream.h"

namespace infinirt::objects {

PyTypeObject* make_graph_type();
PyTypeObject* make_graph_exec_type();

/// Makes a graph the next step of what a stream captures. Needs no lock.
infinirtError_t embed_in_capture(infinirtStream_t stream, infinirtGraph_t child);

/// Destroys an executable graph now, or at the next call that can. Never fails, never raises.
void destroy_graph_exec(infinirtGraphExec_t exec);

}  // namespace infinirt::objects
