// When a call gives the interpreter lock away.
//
// - Blocking functions always do.
// - Quick functions keep it while they cannot have to wait for a host function that needs it (infinirtXCallMayWait): releasing
//   costs more than the call. On the CPU device they never wait; a vendor's library may when its queue is full, so there the
//   lock is released while host functions are pending. Device types whose calls run foreign code always release.
//   INFINIRT_PYTHON_RELEASE_GIL=1: every call releases. For programs in which other libraries enqueue Python functions.
// - Freeing device memory is blocking: a driver waits for the device. Allocating is quick on the interpreter's only thread: a driver
//   does not wait for the device there, but for another thread that frees.
// - A copy in stream order between two places in device memory is quick, any other blocking.
// - A synchronise on the CPU device asks first: if there is nothing to wait for, the lock stays.
// - A quick function that has to wait after all (an allocation at the limit of memory), or that computes what the program is
//   about to wait for, gives the lock away at that moment: the library calls back (infinirtXSetWaitHooks).
// In the test modes in which an enqueuing call may run the work itself (INFINIRT_LAUNCH_BLOCKING, a schedule that is not
// asynchronous) every call can block, and all release.
#pragma once

#include <cstring>

#include "bindings/runtime_api.h"

namespace infinirt::python {

/// Reads the environment. Called once, at import.
void initialise_gil_policy();

extern bool every_call_may_block;

/// Points at a number that is 0 while no quick function may wait on threads that have chosen a device type; else it has to be asked.
extern const int* some_call_may_wait;

/// Whether this thread has: a first call may load a vendor's library.
extern constinit thread_local bool t_has_device_type [[gnu::tls_model("initial-exec")]];

bool ask_whether_to_keep_gil();

/// Whether a quick function may hold the lock.
inline bool may_keep_gil() {
  if (__atomic_load_n(some_call_may_wait, __ATOMIC_RELAXED) == 0 && t_has_device_type) [[likely]]
    return true;
  return ask_whether_to_keep_gil();
}

/// Whether the thread has chosen the CPU device.
inline bool is_cpu() {
  const char* type = infinirtXGetChosenDeviceType();
  return type != nullptr && *type == 'c' && std::strcmp(type, "cpu") == 0;
}

template <class Call>
auto blocking_call(Call call) {
  GilReleased released;
  return call();
}

template <class Call>
auto quick_call(Call call) {
  if (may_keep_gil()) [[likely]]
    return call();
  return blocking_call(call);
}

/// Whether the interpreter has no other thread. The list changes without the lock: one that comes meanwhile waits for the call.
inline bool is_only_thread() {
  const PyThreadState* own = PyThreadState_Get();
  return !__atomic_load_n(&own->prev, __ATOMIC_RELAXED) && !__atomic_load_n(&own->next, __ATOMIC_RELAXED);
}

/// For allocations of device memory. Among several threads the lock is given away: one may be freeing, and wait with the driver's lock
/// for a collective that another has yet to take part in.
template <class Call>
auto allocation_call(Call call) {
  if (may_keep_gil() && is_only_thread()) [[likely]]
    return call();
  return blocking_call(call);
}

/// For copies in stream order.
template <class Call>
auto copy_call(infinirtMemcpyKind kind, Call call) {
  if (kind == infinirtMemcpyDeviceToDevice && may_keep_gil()) [[likely]]
    return call();
  return blocking_call(call);
}

/// `query` says whether there is something to wait for. The wait is made even if not: it may have effects beyond waiting.
/// An error that the query reports is the answer: asynchronous errors are reported once.
template <class Query, class Wait>
infinirtError_t query_first(Query query, Wait wait) {
  if (!is_cpu() || !may_keep_gil()) return blocking_call(wait);  // elsewhere a question costs as much as the wait
  const infinirtError_t state = query();
  if (state == infinirtSuccess) return wait();
  if (state == infinirtErrorNotReady) return blocking_call(wait);
  if (state != infinirtErrorInvalidResourceHandle) return state;
  // The wait says so in its own name, if it is the handle's fault; if work failed with this, the query has taken the error.
  const infinirtError_t again = wait();
  return again == infinirtSuccess ? state : again;
}

}  // namespace infinirt::python
