#include "bindings/objects/kernel.h"

#include <cstdint>
#include <utility>

#include "bindings/objects/arguments.h"

namespace infinirt::objects {

namespace {

PyTypeObject* shape_type = nullptr;
PyTypeObject* kernel_type = nullptr;

// ---- Shapes

PyObject* set_shape(PyObject* self, PyObject* args) {
  unsigned long long grid[3], block[3], cluster[3], shared = 0;
  int cooperative = 0;
  if (!PyArg_ParseTuple(args, "KKKKKKKpKKK", &grid[0], &grid[1], &grid[2], &block[0], &block[1], &block[2], &shared,
                        &cooperative, &cluster[0], &cluster[1], &cluster[2])) {
    return nullptr;
  }
  LaunchShape& shape = reinterpret_cast<ShapeObject*>(self)->shape;
  const auto set = [](const unsigned long long (&given)[3], dim3* sizes) {
    *sizes = dim3(static_cast<unsigned>(given[0]), static_cast<unsigned>(given[1]), static_cast<unsigned>(given[2]));
    return sizes->x == given[0] && sizes->y == given[1] && sizes->z == given[2];
  };
  if (!set(grid, &shape.grid) || !set(block, &shape.block) || !set(cluster, &shape.cluster)) {
    PyErr_Format(PyExc_ValueError, "a grid or block is larger than %u in one direction", UINT32_MAX);
    return nullptr;
  }
  shape.shared_bytes = shared;
  shape.cooperative = cooperative != 0;
  Py_RETURN_NONE;
}

PyMethodDef shape_methods[] = {{"_set_shape", set_shape, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyType_Slot shape_slots[] = {
    {Py_tp_methods, shape_methods},
    {Py_tp_doc, const_cast<char*>("What launch configurations are made of; use LaunchConfig.")},
    {0, nullptr}};

PyType_Spec shape_spec = {"infinirt._core.ShapeBase", sizeof(ShapeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          shape_slots};

// ---- Kernels

KernelObject* as_kernel(PyObject* object) { return reinterpret_cast<KernelObject*>(object); }

PyObject* get_handle(PyObject* self, void*) { return PyLong_FromVoidPtr(as_kernel(self)->address); }

int set_handle(PyObject* self, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "a kernel has a handle");
    return -1;
  }
  return read_pointer(value, "handle", &as_kernel(self)->address) ? 0 : -1;
}

PyObject* get_layout(PyObject* self, void*) {
  PyObject* layout = field_of(self, as_kernel(self)->layout);
  return layout ? layout : Py_NewRef(Py_None);
}

int set_layout(PyObject* self, PyObject* value, void*) {
  PyObject* changed = value == nullptr || value == Py_None ? nullptr : Py_NewRef(value);
  exclusively(self, [&] { std::swap(as_kernel(self)->layout, changed); });
  Py_XDECREF(changed);
  return 0;
}

void kernel_dealloc(PyObject* self) {
  Py_XDECREF(as_kernel(self)->layout);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyGetSetDef kernel_properties[] = {
    {"handle", get_handle, set_handle, "The address of the function, or the infinirtKernel_t, as an integer.", nullptr},
    {"_layout", get_layout, set_layout, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot kernel_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc)},
                              {Py_tp_getset, kernel_properties},
                              {Py_tp_doc, const_cast<char*>("What kernels are made of; use Kernel.")},
                              {0, nullptr}};

PyType_Spec kernel_spec = {"infinirt._core.KernelBase", sizeof(KernelObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, kernel_slots};

}  // namespace

PyTypeObject* make_shape_type() { return shape_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&shape_spec)); }
PyTypeObject* make_kernel_type() {
  return kernel_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kernel_spec));
}

const LaunchShape* shape_from(PyObject* config) {
  if (PyObject_TypeCheck(config, shape_type)) return &reinterpret_cast<ShapeObject*>(config)->shape;
  PyErr_Format(PyExc_TypeError, "config must be LaunchConfig, not %.100s", Py_TYPE(config)->tp_name);
  return nullptr;
}

const KernelObject* kernel_from(PyObject* kernel) {
  if (PyObject_TypeCheck(kernel, kernel_type)) return as_kernel(kernel);
  PyErr_Format(PyExc_TypeError, "kernel must be Kernel, not %.100s", Py_TYPE(kernel)->tp_name);
  return nullptr;
}

unsigned LaunchShape::attributes(infinirtLaunchAttribute (&list)[2]) const {
  unsigned count = 0;
  if (cooperative) {
    list[count].id = infinirtLaunchAttributeCooperative;
    list[count++].val.cooperative = 1;
  }
  if (cluster.x != 0) {
    list[count].id = infinirtLaunchAttributeClusterDimension;
    list[count].val.clusterDim.x = cluster.x;
    list[count].val.clusterDim.y = cluster.y;
    list[count++].val.clusterDim.z = cluster.z;
  }
  return count;
}

}  // namespace infinirt::objects
