// When a call gives the interpreter lock away.
//
// - Blocking functions always do.
// - Quick functions keep it while the thread works on the CPU device: there they neither block nor run foreign code, and
//   releasing costs more than the call. On any other device type every call enters a foreign library, so they release.
// - A synchronise asks first: if there is nothing to wait for, the lock stays.
// - A quick function that has to wait after all (an allocation at the limit of memory) gives the lock away at that moment:
//   the library calls back (infinirtXSetWaitHooks).
// In the test modes in which an enqueuing call may run the work itself (INFINIRT_LAUNCH_BLOCKING, a schedule that is not
// asynchronous) every call can block, and all release.
#pragma once

#include "bindings/runtime_api.h"

namespace infinirt::python {

/// Reads the environment. Called once, at import.
void initialise_gil_policy();

extern bool every_call_may_block;
extern const char* cpu_type_name;

bool is_cpu_type(const char* type);

/// Whether a quick function may hold the lock.
inline bool may_keep_gil() {
#ifdef Py_GIL_DISABLED
  return !every_call_may_block;
#else
  if (every_call_may_block) return false;
  const char* type = nullptr;
  if (api.infinirtXGetDeviceType(&type) != infinirtSuccess) return true;  // the call itself will fail in the same way
  return type == cpu_type_name || is_cpu_type(type);
#endif
}

class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;
  // In a process that is ending, the interpreter ends a daemon thread here, by unwinding its stack.
  ~GilReleased() noexcept(false) { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

template <class Call>
auto blocking_call(Call call) {
  GilReleased released;
  return call();
}

template <class Call>
auto quick_call(Call call) {
  if (may_keep_gil()) return call();
  return blocking_call(call);
}

/// `query` says whether there is something to wait for. The wait is made even if not: it may have effects beyond waiting.
/// An error that the query reports is the answer: asynchronous errors are reported once.
template <class Query, class Wait>
infinirtError_t query_first(Query query, Wait wait) {
  if (!may_keep_gil()) return blocking_call(wait);
  const infinirtError_t state = query();
  if (state == infinirtSuccess) return wait();
  if (state == infinirtErrorNotReady) return blocking_call(wait);
  return state;
}

}  // namespace infinirt::python
