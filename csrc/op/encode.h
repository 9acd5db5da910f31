// A number as an element of a given type.
#pragma once

#include "infinicore.h"

namespace infiniop {

// Writes size_of(dtype) bytes; for complex types `value` is the real part.
void encode(double value, infiniDtype_t dtype, unsigned char* element);

}  // namespace infiniop
