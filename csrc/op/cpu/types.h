// Element types on the CPU: in which type one is computed, and the way there and back.
#pragma once

#include "infinicore.h"
#include "op/cpu/tiles.h"

namespace infiniop::cpu {

Computed computed_as(infiniDtype_t dtype);
int computed_size(infiniDtype_t dtype);  // of the type that it is computed in

// The loops for what waits for memory more than it computes (machine.h).
const Tiles& light_tiles();
// The loop of an operator that is an expression, for elements of that type.
MapTile map_tile(int map, infiniDtype_t dtype);

// Null: the type itself is computed in.
ConvertTile from_memory(infiniDtype_t dtype);
ConvertTile to_memory(infiniDtype_t dtype);

}  // namespace infiniop::cpu
