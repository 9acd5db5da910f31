// Events as Python objects.
#pragma once

#include "bindings/objects/device.h"

namespace infinirt::objects {

struct EventObject {
  PyObject ob_base;
  infinirtEvent_t handle;
  DeviceObject* device;   // borrowed
  std::atomic<bool> closed;
  bool owns;
  MayBlock may_block;
  unsigned flags;         // as created: infinirtEventDisableTiming, ...
  PyObject* weak_references;
};

extern PyTypeObject* event_class;
extern PyTypeObject* event_options_class;  // null before the Python side has registered it

PyTypeObject* make_event_type();

inline bool is_event(PyObject* object) { return PyObject_TypeCheck(object, event_class); }

inline bool is_event_options(PyObject* object) {
  return event_options_class != nullptr && PyObject_TypeCheck(object, event_options_class);
}

PyObject* new_event(infinirtEvent_t handle, DeviceObject* device, unsigned flags, bool owns);

/// Raises and returns false when the event was closed.
bool check_open(const EventObject* event);

}  // namespace infinirt::objects
