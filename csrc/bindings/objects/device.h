// Devices as Python objects: one per (type, ordinal), for the life of the process.
#pragma once

#include <atomic>

#include "bindings/objects/library.h"

namespace infinirt::objects {

struct DeviceObject {
  PyObject ob_base;
  const char* type;        // the library's own string: equal pointers, equal types
  int ordinal;
  bool is_accelerator;  // memory of it is not the host's
  bool is_only;  // the type has no other device: if the type is current, so is the device
  // Calls enter a driver, or may wait inside: the interpreter's lock is released around each of them.
  MayBlock may_block;
  PyObject* resource;  // what allocate() uses; null until first wanted
  PyObject* legacy;  // the default streams; null until first wanted
  PyObject* per_thread;
};

/// Makes a device current for a scope. Costs one or two short calls when it is current already.
class OnDevice {
 public:
  explicit OnDevice(const DeviceObject* device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  /// What making it current came to; to be looked at before anything is called.
  infinirtError_t error() const { return error_; }

 private:
  const DeviceObject* device_;
  const char* previous_type_ = nullptr;  // null: the thread had chosen none
  int previous_ordinal_ = -1;            // -1: not asked for
  infinirtError_t error_;
};

/// The class that device objects get; registered by the Python side, a subclass of DeviceBase.
extern PyTypeObject* device_class;

PyTypeObject* make_device_type();

/// The thread's current device (borrowed: devices are never freed), or null with an exception.
DeviceObject* current_device();
/// A device by type and ordinal (borrowed), or null with an exception.
DeviceObject* device_at(const char* type, int ordinal);
/// None (the current device), a device, an ordinal of the current type, "type" or "type:ordinal". Borrowed.
DeviceObject* device_from(PyObject* given);

/// Whether any device object was ever made.
bool devices_were_used();

/// Loads the plugins that installed packages announce, once; whether that brought any.
bool load_entry_points();

/// Whether "the default stream" means the per-thread one.
extern std::atomic<bool> per_thread_default;

/// The device's default stream (borrowed) or null with an exception.
PyObject* default_stream(DeviceObject* device);

inline bool is_device(PyObject* object) { return PyObject_TypeCheck(object, device_class); }

}  // namespace infinirt::objects
