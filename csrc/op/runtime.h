// The runtime as this library uses it, and the errors that go back to the caller: one of InfiniCore's statuses for
// programs, and a sentence for people in the runtime's last-error text.
#pragma once

#include "infinicore.h"
#include "infinirt_ext.h"

namespace infiniop {

// Only infinirtX names are imported: a reference to an aligned name could be bound to another library of the process that
// defines it, in another shape.
struct Functions {
#define INFINIOP_RUNTIME_FUNCTION(name) decltype(&infinirt##name) name;
#include "op/functions.inc"
#undef INFINIOP_RUNTIME_FUNCTION
};
const Functions& api();

// Leaves "<function>: <text>" as the thread's last error and returns `status`.
[[gnu::format(printf, 3, 4), gnu::cold]] infiniStatus_t fail(const char* function, infiniStatus_t status,
                                                             const char* format, ...);

// The status of a runtime call that failed; the runtime's message stays, behind the name of our function.
[[gnu::cold]] infiniStatus_t fail_as_runtime(const char* function, infinirtError_t error);

}  // namespace infiniop
