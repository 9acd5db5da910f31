// Memory of the host's that can be shut while work uses it: then the program's own accesses show.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infinirt {

// Memory in this range may be shut from now on: who works on it does so at other addresses. For ever.
void add_watchable(uintptr_t base, size_t size);

}  // namespace infinirt
