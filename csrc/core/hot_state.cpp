#include "core/hot_state.h"

#include "core/handle.h"

namespace infinirt {

// Without a range (before initialisation, or where none could be had) the base lies at the very top of the address space: no
// value a program can pass is within the span, so nothing resolves.
constinit HotState g_hot{.handles = {uintptr_t{0} - kHandleSpan, nullptr}};

}  // namespace infinirt
