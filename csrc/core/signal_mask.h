// Signals are for the program's own threads: a thread that the library starts inherits a mask that leaves them to those.
#pragma once

#include <signal.h>

namespace infinirt {

// While it lives, threads that the calling thread starts take no signals but those of their own faults: the system ends a
// process whose fault is masked, whoever handles it (Python's faulthandler, a debugger's helper, core/watched_memory.h).
class SignalsElsewhere {
 public:
  SignalsElsewhere() {
    sigset_t others;
    sigfillset(&others);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&others, fault);
    pthread_sigmask(SIG_SETMASK, &others, &before_);
  }
  ~SignalsElsewhere() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsElsewhere(const SignalsElsewhere&) = delete;
  SignalsElsewhere& operator=(const SignalsElsewhere&) = delete;

 private:
  sigset_t before_;
};

}  // namespace infinirt
