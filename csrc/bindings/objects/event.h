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

PyTypeObject* make_event_type();

inline bool is_event(PyObject* object) { return PyObject_TypeCheck(object, event_class); }

PyObject* new_event(infinirtEvent_t handle, DeviceObject* device, unsigned flags, bool owns);

/// Raises and returns false when the event was closed.
bool check_open(const EventObject* event);

}  // namespace infinirt::objects
