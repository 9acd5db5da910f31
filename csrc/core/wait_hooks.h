// Callbacks around waits inside calls that seldom wait: see infinirtXSetWaitHooks.
#pragma once

#include <atomic>

namespace infinirt {

struct WaitHooks {
  void* (*begin)();
  void (*end)(void* state);
};

// Never freed once set: a thread may be between the two callbacks.
inline std::atomic<const WaitHooks*> g_wait_hooks{nullptr};

inline void set_wait_hooks(const WaitHooks& hooks) {
  g_wait_hooks.store(hooks.begin ? new WaitHooks(hooks) : nullptr, std::memory_order_release);
}

// Around such a wait. No lock of the runtime may be held.
class RareWaitScope {
 public:
  RareWaitScope() : hooks_(g_wait_hooks.load(std::memory_order_acquire)), state_(hooks_ ? hooks_->begin() : nullptr) {}
  ~RareWaitScope() noexcept(false) {  // an interpreter that is ending unwinds the thread here
    if (hooks_) hooks_->end(state_);
  }
  RareWaitScope(const RareWaitScope&) = delete;
  RareWaitScope& operator=(const RareWaitScope&) = delete;

 private:
  const WaitHooks* hooks_;
  void* state_;
};

}  // namespace infinirt
