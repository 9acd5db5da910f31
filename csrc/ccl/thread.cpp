#include "ccl/thread.h"

#include <pthread.h>
#include <signal.h>

#include <memory>

namespace infiniccl {

bool start_thread(const char* name, std::function<void()> body) {
  struct Start {
    const char* name;
    std::function<void()> body;
  };
  auto start = std::make_unique<Start>(Start{name, std::move(body)});
  sigset_t others, before;
  sigfillset(&others);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
    sigdelset(&others, fault);  // masked, they end the process
  pthread_sigmask(SIG_SETMASK, &others, &before);
  pthread_t thread;
  const auto run = [](void* opaque) -> void* {
    const std::unique_ptr<Start> mine(static_cast<Start*>(opaque));
    pthread_setname_np(pthread_self(), mine->name);
    mine->body();
    return nullptr;
  };
  const bool runs = pthread_create(&thread, nullptr, run, start.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (runs) {
    start.release();
    pthread_detach(thread);
  }
  return runs;
}

}  // namespace infiniccl
