#include "bindings/gil.h"

#include <cstdlib>
#include <cstring>

#include "bindings/interpreter.h"

namespace infinirt::python {

bool every_call_may_block = false;
const char* cpu_type_name = nullptr;

void initialise_gil_policy() {
  introduce_interpreter();
  const char* blocking = std::getenv("INFINIRT_LAUNCH_BLOCKING");
  const char* schedule = std::getenv("INFINIRT_CPU_SCHEDULE");
  const bool launches_block = blocking != nullptr && std::strcmp(blocking, "1") == 0;
  const bool asynchronous = schedule == nullptr || schedule[0] == '\0' || std::strcmp(schedule, "async") == 0;
  every_call_may_block = launches_block || !asynchronous;
}

bool is_cpu_type(const char* type) {
  if (std::strcmp(type, "cpu") != 0) return false;
  // Device type names live as long as the process: from now on a comparison of pointers is enough.
  cpu_type_name = type;
  return true;
}

}  // namespace infinirt::python
