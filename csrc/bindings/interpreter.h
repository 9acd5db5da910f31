// What the modules tell the library about the interpreter when they are imported.
#pragma once

#include "bindings/python.h"
#include "infinirt_ext.h"

namespace infinirt::python {

/// A call that seldom waits gives the interpreter's lock away while it has to wait after all.
inline void install_wait_hooks() {
  infinirtXSetWaitHooks(
      []() -> void* { return Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr; },
      [](void* state) {
        if (state) PyEval_RestoreThread(static_cast<PyThreadState*>(state));
      });
}

/// Vendors' wheels lie where this interpreter's packages do.
inline void announce_package_folders() {
  PyObject* path = PySys_GetObject("path");  // borrowed
  if (path == nullptr || !PyList_Check(path)) return;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(path); ++i) {
    PyObject* entry = PyList_GET_ITEM(path, i);
    const char* folder = PyUnicode_Check(entry) ? PyUnicode_AsUTF8(entry) : nullptr;
    if (folder != nullptr && *folder != '\0') infinirtXAddLibraryFolder(folder);
  }
  PyErr_Clear();  // an entry that is no text is none of ours
}

inline void introduce_interpreter() {
  install_wait_hooks();
  announce_package_folders();
}

}  // namespace infinirt::python
