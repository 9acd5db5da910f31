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
constinit thread_local bool t_has_device_type [[gnu::tls_model("initial-exec")]] = false;

bool ask_whether_to_keep_gil() {
#ifdef Py_GIL_DISABLED
  return !every_call_may_block;
#else
  if (every_call_may_block || api.infinirtXCallMayWait(nullptr) != 0) return false;
  t_has_device_type = true;  // it says yes of those that have none
  return true;
#endif
}

void initialise_gil_policy() {
  introduce_interpreter();
  const char* blocking = std::getenv("INFINIRT_LAUNCH_BLOCKING");
  const char* schedule = std::getenv("INFINIRT_CPU_SCHEDULE");
  const bool launches_block = blocking != nullptr && std::strcmp(blocking, "1") == 0;
  const bool asynchronous = schedule == nullptr || schedule[0] == '\0' || std::strcmp(schedule, "async") == 0;
  const char* release = std::getenv("INFINIRT_PYTHON_RELEASE_GIL");
  const bool always = release != nullptr && std::strcmp(release, "1") == 0;
  every_call_may_block = launches_block || !asynchronous || always;
  if (!every_call_may_block) some_call_may_wait = infinirtXSomeCallMayWait();
}

}  // namespace infinirt::python
