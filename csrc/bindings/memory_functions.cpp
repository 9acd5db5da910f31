// Functions about memory and pools whose Python shape does not follow from the C one.
#include "bindings/arrays.h"
#include "bindings/functions.h"
#include "bindings/gil.h"
#include "bindings/result.h"

namespace infinirt::python {
namespace {

bool is_list_attribute(infinirtMemRangeAttribute attribute) { return attribute == infinirtMemRangeAttributeAccessedBy; }

PyObject* range_value(infinirtMemRangeAttribute attribute, const int* values, size_t bytes) {
  if (!is_list_attribute(attribute)) return PyLong_FromLong(values[0]);
  const size_t count = bytes / sizeof(int);
  Ref list(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!list) return nullptr;
  for (size_t i = 0; i < count; ++i) {
    PyObject* item = PyLong_FromLong(values[i]);
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list.release();
}

// Room for `bytes` bytes and for one int, whichever is more.
size_t ints_for(size_t bytes) { return bytes / sizeof(int) + 2; }

// The reuse switches are ints, everything else is a 64-bit number.
bool is_switch(infinirtMemPoolAttr attribute) {
  return attribute == infinirtMemPoolReuseFollowEventDependencies ||
         attribute == infinirtMemPoolReuseAllowOpportunistic ||
         attribute == infinirtMemPoolReuseAllowInternalDependencies;
}

union PoolValue {
  int number;
  unsigned long long size;
};

}  // namespace

PyObject* py_infinirtMemAdvise(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtMemAdvise, 4)
  PointerArgument pointer;
  size_t count = 0;
  infinirtMemoryAdvise advice{};
  if (!pointer.take(args[0], "devPtr") || !to_size(args[1], "count", &count) || !to_enum(args[2], "advice", &advice)) {
    return nullptr;
  }
  if (is_struct(args[3], kStruct_infinirtMemLocation)) {
    infinirtMemLocation location;
    if (!to_struct(args[3], kStruct_infinirtMemLocation, "location", &location)) return nullptr;
    return status(blocking_call([&] { return api.infinirtMemAdvise_v2(pointer.get(), count, advice, location); }));
  }
  int device = 0;  // 12.9's shape
  if (!to_int(args[3], "location", &device)) return nullptr;
  return status(blocking_call([&] { return api.infinirtMemAdvise(pointer.get(), count, advice, device); }));
}

PyObject* py_infinirtMemcpyBatchAsync(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtMemcpyBatchAsync, 8)
  PointerArray destinations;
  PointerArray sources;
  Array<size_t> sizes;
  size_t count = 0;
  Array<infinirtMemcpyAttributes> attributes;
  Array<size_t> first_copies;
  size_t attribute_count = 0;
  infinirtStream_t stream = nullptr;
  if (!destinations.take(args[0], "dsts") || !sources.take(args[1], "srcs") ||
      !to_size_array(args[2], "sizes", &sizes) || !to_size(args[3], "count", &count) ||
      !to_struct_array(args[4], kStruct_infinirtMemcpyAttributes, "attrs", &attributes) ||
      !to_size_array(args[5], "attrsIdxs", &first_copies) || !to_size(args[6], "numAttrs", &attribute_count) ||
      !to_handle(args[7], kHandle_infinirtStream_t, "stream", &stream) || !destinations.has(count, "dsts") ||
      !sources.has(count, "srcs") || !sizes.has(count, "sizes") || !attributes.has(attribute_count, "attrs") ||
      !first_copies.has(attribute_count, "attrsIdxs")) {
    return nullptr;
  }
  size_t failed = 0;
  return status(blocking_call([&] {
    return api.infinirtMemcpyBatchAsync(destinations.get(), sources.get(), sizes.get(), count, attributes.get(),
                                        first_copies.get(), attribute_count, &failed, stream);
  }));
}

PyObject* py_infinirtMemcpy3DBatchAsync(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtMemcpy3DBatchAsync, 4)
  size_t count = 0;
  Array<infinirtMemcpy3DBatchOp> operations;
  unsigned long long flags = 0;
  infinirtStream_t stream = nullptr;
  if (!to_size(args[0], "numOps", &count) ||
      !to_struct_array(args[1], kStruct_infinirtMemcpy3DBatchOp, "opList", &operations) ||
      !to_u64(args[2], "flags", &flags) || !to_handle(args[3], kHandle_infinirtStream_t, "stream", &stream) ||
      !operations.has(count, "opList")) {
    return nullptr;
  }
  size_t failed = 0;
  return status(
      blocking_call([&] { return api.infinirtMemcpy3DBatchAsync(count, operations.get(), &failed, flags, stream); }));
}

PyObject* py_infinirtMemRangeGetAttribute(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtMemRangeGetAttribute, 4)
  size_t bytes = 0;
  infinirtMemRangeAttribute attribute{};
  PointerArgument pointer;
  size_t count = 0;
  Array<int> values;
  if (!to_size(args[0], "dataSize", &bytes) || !to_enum(args[1], "attribute", &attribute) ||
      !pointer.take(args[2], "devPtr") || !to_size(args[3], "count", &count) || !values.resize(ints_for(bytes))) {
    return nullptr;
  }
  const infinirtError_t error = blocking_call(
      [&] { return api.infinirtMemRangeGetAttribute(values.get(), bytes, attribute, pointer.get(), count); });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(range_value(attribute, values.get(), bytes));
}

PyObject* py_infinirtMemRangeGetAttributes(PyObject*, PyObject* const* args, Py_ssize_t given,
                                           PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtMemRangeGetAttributes, 5)
  Array<size_t> sizes;
  Array<infinirtMemRangeAttribute> attributes;
  size_t number = 0;
  PointerArgument pointer;
  size_t count = 0;
  if (!to_size_array(args[0], "dataSizes", &sizes) || !to_enum_array(args[1], "attributes", &attributes) ||
      !to_size(args[2], "numAttributes", &number) || !pointer.take(args[3], "devPtr") ||
      !to_size(args[4], "count", &count) || !sizes.has(number, "dataSizes") || !attributes.has(number, "attributes")) {
    return nullptr;
  }
  size_t total = 0;
  for (size_t i = 0; i < number; ++i) total += ints_for(sizes[i]);
  Array<int> values;
  Array<void*> places;
  if (!values.resize(total) || !places.resize(number)) return nullptr;
  int* next = values.get();
  for (size_t i = 0; i < number; ++i) {
    places[i] = next;
    next += ints_for(sizes[i]);
  }
  const infinirtError_t error = blocking_call([&] {
    return api.infinirtMemRangeGetAttributes(places.get(), sizes.get(), attributes.get(), number, pointer.get(), count);
  });
  if (error != infinirtSuccess) return failure(error, 1);
  Ref list(PyList_New(static_cast<Py_ssize_t>(number)));
  if (!list) return nullptr;
  for (size_t i = 0; i < number; ++i) {
    PyObject* value = range_value(attributes[i], static_cast<int*>(places[i]), sizes[i]);
    if (value == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), value);
  }
  return success(list.release());
}

PyObject* py_infinirtMemPoolSetAttribute(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtMemPoolSetAttribute, 3)
  infinirtMemPool_t pool = nullptr;
  infinirtMemPoolAttr attribute{};
  PoolValue value;
  if (!to_handle(args[0], kHandle_infinirtMemPool_t, "memPool", &pool) || !to_enum(args[1], "attr", &attribute) ||
      !(is_switch(attribute) ? to_int(args[2], "value", &value.number) : to_u64(args[2], "value", &value.size))) {
    return nullptr;
  }
  return status(blocking_call([&] { return api.infinirtMemPoolSetAttribute(pool, attribute, &value); }));
}

PyObject* py_infinirtMemPoolGetAttribute(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtMemPoolGetAttribute, 2)
  infinirtMemPool_t pool = nullptr;
  infinirtMemPoolAttr attribute{};
  if (!to_handle(args[0], kHandle_infinirtMemPool_t, "memPool", &pool) || !to_enum(args[1], "attr", &attribute)) {
    return nullptr;
  }
  PoolValue value;
  value.size = 0;
  const infinirtError_t error = quick_call([&] { return api.infinirtMemPoolGetAttribute(pool, attribute, &value); });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(is_switch(attribute) ? PyLong_FromLong(value.number)
                                      : new_handle(handle_types[kHandle_cuuint64_t], value.size));
}

PyObject* py_infinirtMemPoolExportToShareableHandle(PyObject*, PyObject* const* args, Py_ssize_t given,
                                                    PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtMemPoolExportToShareableHandle, 3)
  infinirtMemPool_t pool = nullptr;
  infinirtMemAllocationHandleType kind{};
  unsigned int flags = 0;
  if (!to_handle(args[0], kHandle_infinirtMemPool_t, "memPool", &pool) || !to_enum(args[1], "handleType", &kind) ||
      !to_uint(args[2], "flags", &flags)) {
    return nullptr;
  }
  union {
    int descriptor;
    char fabric[64];  // the largest handle there is
  } handle = {};
  const infinirtError_t error =
      blocking_call([&] { return api.infinirtMemPoolExportToShareableHandle(&handle, pool, kind, flags); });
  if (error != infinirtSuccess) return failure(error, 1);
  const bool is_descriptor = kind == infinirtMemHandleTypeNone || kind == infinirtMemHandleTypePosixFileDescriptor;
  return success(is_descriptor ? PyLong_FromLong(handle.descriptor)
                               : PyBytes_FromStringAndSize(handle.fabric, sizeof handle.fabric));
}

}  // namespace infinirt::python
