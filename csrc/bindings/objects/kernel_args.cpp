#include "bindings/objects/kernel_args.h"

#include <cstring>
#include <string>
#include <utility>

#include "bindings/objects/arguments.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/capture.h"
#include "bindings/objects/deferred.h"

namespace infinirt::objects {

size_t parameter_size(char code) {
  switch (code) {
    case '?':
    case 'b':
    case 'B':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    case 'q':
    case 'Q':
    case 'd':
    case 'P':
      return 8;
    default:
      return 0;
  }
}

namespace {

bool fits(long long value, char code) {
  switch (code) {
    case 'b':
      return value >= -128 && value <= 127;
    case 'B':
      return value >= 0 && value <= 255;
    case 'h':
      return value >= -32768 && value <= 32767;
    case 'H':
      return value >= 0 && value <= 65535;
    case 'i':
      return value >= INT32_MIN && value <= INT32_MAX;
    case 'I':
      return value >= 0 && value <= UINT32_MAX;
    default:
      return true;
  }
}

bool pack_integer(PyObject* value, char code, Py_ssize_t index, unsigned long long* slot) {
  python::Ref number(PyNumber_Index(value));
  if (!number) return false;
  long long converted = 0;
  if (code == 'Q') {
    *slot = PyLong_AsUnsignedLongLong(number.get());
  } else {
    converted = PyLong_AsLongLong(number.get());
    std::memcpy(slot, &converted, sizeof converted);  // little endian: the low bytes are the smaller type's value
  }
  if (!PyErr_Occurred() && fits(converted, code)) return true;
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "kernel argument %zd, %R, does not fit into parameter type '%c'", index, value,
               code);
  return false;
}

bool pack_float(PyObject* value, char code, unsigned long long* slot) {
  const double converted = PyFloat_AsDouble(value);
  if (converted == -1.0 && PyErr_Occurred()) return false;
  const float narrow = static_cast<float>(converted);
  code == 'f' ? std::memcpy(slot, &narrow, sizeof narrow) : std::memcpy(slot, &converted, sizeof converted);
  return true;
}

}  // namespace

KernelArguments::~KernelArguments() {
  for (PyObject* object : kept_) Py_XDECREF(object);
}

bool KernelArguments::pack_pointer(PyObject* value, void** slot) {
  if (value == Py_None) return true;
  if (is_buffer(value)) {
    auto* buffer = reinterpret_cast<BufferObject*>(value);
    if (!check_open(buffer)) return false;
    *slot = buffer->pointer;
    kept_.push_back(Py_NewRef(value));
    return true;
  }
  if (PyLong_Check(value)) return read_pointer(value, "a kernel argument", slot);
  // PyTorch, Triton and others: tensors know their address.
  python::Ref address(PyObject_CallMethod(value, "data_ptr", nullptr));
  if (!address) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "a pointer is given as Buffer, address, None or an object with data_ptr(), not as %.100s",
                 Py_TYPE(value)->tp_name);
    return false;
  }
  kept_.push_back(Py_NewRef(value));
  return read_pointer(address.get(), "a kernel argument", slot);
}

bool KernelArguments::pack(const char* codes, Py_ssize_t code_count, PyObject* values) {
  const Py_ssize_t count = PyTuple_GET_SIZE(values);
  if (count != code_count) {
    PyErr_Format(PyExc_TypeError, "the kernel takes %zd argument%s, %zd %s given", code_count,
                 code_count == 1 ? "" : "s", count, count == 1 ? "was" : "were");
    return false;
  }
  storage_.assign(static_cast<size_t>(count), 0);
  pointers_.resize(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* value = PyTuple_GET_ITEM(values, i);
    unsigned long long* slot = &storage_[static_cast<size_t>(i)];
    pointers_[static_cast<size_t>(i)] = slot;
    bool done;
    switch (codes[i]) {
      case 'P':
        done = pack_pointer(value, reinterpret_cast<void**>(slot));
        break;
      case 'f':
      case 'd':
        done = pack_float(value, codes[i], slot);
        break;
      case '?': {
        const int truth = PyObject_IsTrue(value);
        *slot = truth == 1;
        done = truth >= 0;
        break;
      }
      default:
        done = pack_integer(value, codes[i], i, slot);
    }
    if (!done) return false;
  }
  return true;
}

infinirtError_t KernelArguments::keep(infinirtGraph_t graph) {
  infinirtError_t error = infinirtSuccess;
  for (PyObject*& object : kept_) {
    if (error != infinirtSuccess) break;
    if (is_buffer(object)) whole(reinterpret_cast<BufferObject*>(object))->in_graphs.store(true);
    error = graph_keeps(graph, std::exchange(object, nullptr), drop_object);
  }
  return error;
}

infinirtError_t KernelArguments::keep(StreamObject* stream) {
  infinirtError_t error = infinirtSuccess;
  for (PyObject*& object : kept_) {
    if (error != infinirtSuccess) break;
    if (is_buffer(object)) {
      error = note_use(reinterpret_cast<BufferObject*>(object), stream);
      continue;
    }
    error = on_stream(stream, [&](infinirtStream_t s) {
      const CaptureState capture = capture_state(s);
      PyObject* kept = std::exchange(object, nullptr);
      return capture.active ? graph_keeps(capture.graph, kept, drop_object)
                            : infinirtXLaunchHostFunc(s, run_nothing, kept, drop_object);
    });
  }
  return error;
}

bool read_shape(PyObject* tuple, LaunchShape* shape) {
  unsigned long long shared = 0;
  int cooperative = 0;
  if (!PyArg_ParseTuple(tuple, "IIIIIIKp", &shape->grid.x, &shape->grid.y, &shape->grid.z, &shape->block.x,
                        &shape->block.y, &shape->block.z, &shared, &cooperative)) {
    return false;
  }
  shape->shared_bytes = shared;
  shape->cooperative = cooperative != 0;
  return true;
}

PyObject* launch_kernel(PyObject*, PyObject* const* args, Py_ssize_t count) {
  drain_deferred();
  if (count != 5) return PyErr_Format(PyExc_TypeError, "launch_kernel() takes 5 arguments (%zd given)", count);
  python::Ref reference(stream_from(args[0], nullptr));
  void* address = nullptr;
  LaunchShape shape{};
  if (!reference || !read_pointer(args[1], "kernel", &address) || !read_shape(args[2], &shape)) return nullptr;
  KernelArguments arguments;
  if (!arguments.pack(PyBytes_AS_STRING(args[3]), PyBytes_GET_SIZE(args[3]), args[4])) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  const auto launch = shape.cooperative ? rt.LaunchCooperativeKernel : rt.LaunchKernel;
  infinirtError_t error = without_gil(true, [&] {
    return on_stream(stream, [&](infinirtStream_t s) {
      return launch(address, shape.grid, shape.block, arguments.pointers(), shape.shared_bytes, s);
    });
  });
  if (error == infinirtSuccess) error = arguments.keep(stream);
  return none_or_raise(error);
}

PyObject* register_kernel(PyObject*, PyObject* args) {
  unsigned long long address = 0;
  const char *name = nullptr, *codes = nullptr;
  Py_ssize_t count = 0;
  if (!PyArg_ParseTuple(args, "Ksy#", &address, &name, &codes, &count)) return nullptr;
  std::vector<size_t> sizes(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) sizes[static_cast<size_t>(i)] = parameter_size(codes[i]);
  infinirtXKernelInfo info{};
  info.name = name;
  info.function = reinterpret_cast<infinirtXKernelFn>(address);
  info.paramSizes = sizes.data();
  info.paramCount = sizes.size();
  return none_or_raise(infinirtXRegisterKernel(&info));
}

}  // namespace infinirt::objects
