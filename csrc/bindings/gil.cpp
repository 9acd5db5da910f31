#include "bindings/gil.h"

#include <cstdlib>
#include <cstring>

#include "bindings/interpreter.h"

namespace infinirt::python {

bool every_call_may_block = false;

namespace {
constexpr int kYes = 1;
}
const int* some_call_may_wait = &kYes;

void initialise_gil_policy() {
  introduce_interpreter();
  const char* blocking = std::getenv("INFINIRT_LAUNCH_BLOCKING");
  const char* schedule = std::getenv("INFINIRT_CPU_SCHEDULE");
  const bool launches_block = blocking != nullptr && std::strcmp(blocking, "1") == 0;
  const bool asynchronous = schedule == nullptr || schedule[0] == '\0' || std::strcmp(schedule, "async") == 0;
  const char* release = std::getenv("INFINIRT_PYTHON_RELEASE_GIL");
  const bool always = release != nullptr && std::strcmp(release, "1") == 0;
  every_call_may_block = launches_block || !asynchronous || always;
#ifdef Py_GIL_DISABLED
  static constexpr int no = 0;  // there is nothing to release
  if (!every_call_may_block) some_call_may_wait = &no;
#else
  if (!every_call_may_block) some_call_may_wait = infinirtXSomeCallMayWait();
#endif
}

}  // namespace infinirt::python
