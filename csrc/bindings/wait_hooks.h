// Gives the interpreter's lock away while a call that seldom waits has to wait after all.
#pragma once

#include "bindings/python.h"
#include "infinirt_ext.h"

namespace infinirt::python {

/// Called at import by each module that makes such calls with the lock held.
inline void install_wait_hooks() {
  infinirtXSetWaitHooks(
      []() -> void* { return Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr; },
      [](void* state) {
        if (state) PyEval_RestoreThread(static_cast<PyThreadState*>(state));
      });
}

}  // namespace infinirt::python
