// Matrix products of BF16 by registers of whole tiles (AMX), only to be called where multiplies_tiles() (machine.h).
#pragma once

#include "op/cpu/packed_product.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

// False: there is no host memory.
bool multiply_tiled(const PackedProduct& product);

}  // namespace infiniop::cpu::INFINIOP_LEVEL
