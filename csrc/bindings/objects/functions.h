// Functions of `infinirt._core` off the hot path: each calls one function of the library and raises what fails.
#pragma once

#include "bindings/objects/library.h"

namespace infinirt::objects {

/// Ends with an empty entry.
extern PyMethodDef device_functions[];
extern PyMethodDef object_functions[];
extern PyMethodDef graph_functions[];
extern PyMethodDef kernel_functions[];
extern PyMethodDef observe_functions[];

}  // namespace infinirt::objects
