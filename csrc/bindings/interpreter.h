// What the modules tell the library about the interpreter when they are imported.
#pragma once

#include <sys/stat.h>

#include "bindings/python.h"
#include "infinirt_ext.h"

namespace infinirt::python {

/// A call that seldom waits gives the interpreter's lock away while it has to wait after all.
inline void install_wait_hooks() {
  infinirtXSetWaitHooks(
      []() -> void* { return Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr; },
      [](void* state) {
        if (state) restore_or_stay(static_cast<PyThreadState*>(state));
      });
}

/// Whether libraries may be loaded from there. Not from the current folder, which `python -m` puts into the path, nor from one that
/// is named relative to it: whoever can write a file there could choose what this process runs.
inline bool is_trusted_folder(const char* folder) {
  if (*folder != '/') return false;
  struct stat here, there;
  return stat(".", &here) != 0 || stat(folder, &there) != 0 || here.st_dev != there.st_dev ||
         here.st_ino != there.st_ino;
}

/// Vendors' wheels lie where this interpreter's packages do.
inline void announce_package_folders() {
  PyObject* path = PySys_GetObject("path");  // borrowed
  if (path == nullptr || !PyList_Check(path)) return;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(path); ++i) {
    PyObject* entry = PyList_GET_ITEM(path, i);
    const char* folder = PyUnicode_Check(entry) ? PyUnicode_AsUTF8(entry) : nullptr;
    if (folder != nullptr && is_trusted_folder(folder)) infinirtXAddLibraryFolder(folder);
  }
  PyErr_Clear();  // an entry that is no text is none of ours
}

inline void introduce_interpreter() {
  install_wait_hooks();
  announce_package_folders();
}

}  // namespace infinirt::python
