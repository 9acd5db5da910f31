// Kernels and the shapes of their launches as Python objects: what a launch reads lies in the objects themselves.
#pragma once

#include "bindings/objects/library.h"

namespace infinirt::objects {

struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes;
  bool cooperative;
  dim3 cluster;  // 0: no clusters

  /// The attributes of the launch that have no parameter of their own. Returns how many.
  unsigned attributes(infinirtLaunchAttribute (&list)[2]) const;
};

/// What LaunchConfig is made of.
struct ShapeObject {
  PyObject ob_base;
  LaunchShape shape;
};

/// What Kernel is made of.
struct KernelObject {
  PyObject ob_base;
  void* address;
  PyObject* layout;  // see KernelArguments; null: not known
};

PyTypeObject* make_shape_type();
PyTypeObject* make_kernel_type();

/// A new reference to the layout; null where nothing is known. Converting arguments may run code that changes it.
inline PyObject* layout_of(const KernelObject* kernel) {
  return field_of(const_cast<KernelObject*>(kernel), kernel->layout);
}

/// A borrowed view of the object; null, with TypeError set, if it is something else.
const LaunchShape* shape_from(PyObject* config);
const KernelObject* kernel_from(PyObject* kernel);

}  // namespace infinirt::objects
