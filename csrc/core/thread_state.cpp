#include "core/thread_state.h"

#include <pthread.h>

#include <mutex>
#include <vector>

#include "core/mutex.h"

namespace infinirt {

constinit thread_local ThreadState t_thread_state [[gnu::tls_model("initial-exec")]] = {};

namespace {

struct ExitHooks {
  Mutex mutex;
  std::vector<ThreadExitHook> hooks;
};

ExitHooks& exit_hooks() {
  static auto* hooks = new ExitHooks;  // leaked: threads may end after static destruction
  return *hooks;
}

void thread_ended(void* extra_ptr) {
  auto* extra = static_cast<ThreadExtra*>(extra_ptr);
  std::vector<ThreadExitHook> hooks;
  {
    std::lock_guard guard(exit_hooks().mutex);
    hooks = exit_hooks().hooks;
  }
  for (auto hook : hooks) hook(*extra);
  t_thread_state.extra = nullptr;
  delete extra;
}

pthread_key_t extra_key() {
  static pthread_key_t key = [] {
    pthread_key_t k;
    pthread_key_create(&k, thread_ended);
    return k;
  }();
  return key;
}

}  // namespace

ThreadExtra& thread_extra(ThreadState& ts) {
  if (!ts.extra) [[unlikely]] {
    ts.extra = new ThreadExtra;
    pthread_setspecific(extra_key(), ts.extra);
  }
  return *ts.extra;
}

void thread_hooks_reset_in_child() { exit_hooks().mutex.reset_after_fork(); }

void add_thread_exit_hook(ThreadExitHook hook) {
  std::lock_guard guard(exit_hooks().mutex);
  exit_hooks().hooks.push_back(hook);
}

}  // namespace infinirt
