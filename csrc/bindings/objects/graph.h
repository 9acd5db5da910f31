// Graphs and executable graphs as Python objects: owners of a handle.
#pragma once

#include "bindings/objects/stream.h"

namespace infinirt::objects {

PyTypeObject* make_graph_type();
PyTypeObject* make_graph_exec_type();

}  // namespace infinirt::objects
