// Arguments of the graph functions: from handles to objects, or out of the function with the error.
#pragma once

#include "engine/graph.h"

#define GRAPH_OR_RETURN(name, handle)                   \
  Graph* name##_found = resolve_graph(handle, #handle); \
  if (!name##_found) return infinirtErrorInvalidValue;  \
  Graph& name = *name##_found

#define NODE_OR_RETURN(name, handle)                       \
  GraphNode* name##_found = resolve_node(handle, #handle); \
  if (!name##_found) return infinirtErrorInvalidValue;     \
  GraphNode& name = *name##_found

#define EXEC_OR_RETURN(name, handle)                       \
  GraphExec* name##_found = resolve_exec(handle, #handle); \
  if (!name##_found) return infinirtErrorInvalidValue;     \
  GraphExec& name = *name##_found

namespace infinirt {

// Annotations other than "a plain full dependency" mean something to device code only: NotSupported.
infinirtError_t check_edge_data(const infinirtGraphEdgeData* edges, size_t count, const char* argument);

// The calling thread's device of this engine, whatever its current device type is.
EngineDevice& current_device_of(const Engine& engine);

}  // namespace infinirt
