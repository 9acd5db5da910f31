// DLPack: tensors for others, and theirs for us.
#pragma once

#include "bindings/python.h"

namespace infinicore {

/// export_dlpack(tensor, device_type, device_id, versioned), import_dlpack(capsule); ends with an empty entry.
extern PyMethodDef dlpack_functions[];

}  // namespace infinicore
