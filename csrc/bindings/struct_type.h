// C structs as Python objects: attributes read and write the C memory, nested structs are views of it, `getPtr()` is its
// address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bindings/python.h"

namespace infinirt::python {

enum class FieldKind : std::uint8_t {
  UInt8,
  UInt16,
  Int32,
  UInt32,
  Int64,
  UInt64,
  Float,
  Enum,  // `type`: index of the enum
  Pointer,  // void*; an int, or an object whose buffer is meant
  Address,  // void**; an int only
  Handle,  // `type`: index of the handle class; read as a view of the field
  HostFunction,  // as Handle; also takes ctypes functions
  KernelParams,  // void**; arguments of a kernel
  Struct,  // `type`: index of the struct; read as a view of the field
  StructList,  // pointer to structs, as a list; `count_offset` is where the number of them stands
  HandleList,  // pointer to handles, likewise
  Text,  // char[]: bytes up to the first zero
  Bytes,  // char[] or unsigned char[]: all bytes
  Int32Array,  // int[] as a list
  UInt32Array,
};

struct Field {
  const char* name;
  FieldKind kind;
  bool read_only;
  std::uint16_t type;
  std::uint32_t offset;
  std::uint32_t length;  // of arrays
  std::uint32_t count_offset;  // of lists: a size_t or an unsigned int, see count_is_size
  bool count_is_size;
};

struct StructDescription {
  const char* name;
  const char* doc;
  std::size_t size;
  const Field* fields;
  std::uint16_t field_count;
  void (*construct)(void*);  // for types that a new object does not have all zero; else null
};

/// `data` is either the storage behind the object, or memory that `owner` (maybe nobody) keeps alive.
struct StructObject {
  PyObject_VAR_HEAD char* data;
  PyObject* owner;  // the struct this is a part of
  PyObject* kept;  // place -> object that the struct's pointers refer to; only where owner is null
};

/// Builds the class `Name(_ptr=0)`. Null with an exception set.
PyTypeObject* make_struct_type(const StructDescription& description);

/// A new, cleared struct.
StructObject* new_struct(PyTypeObject* type, std::size_t size);

/// A new object for memory that `owner` (a StructObject or null) keeps alive.
PyObject* new_struct_view(PyTypeObject* type, char* data, PyObject* owner);

/// Keeps `object` (null: nothing any more) alive for as long as the place in the struct refers to it.
bool keep_for(StructObject* self, const void* place, PyObject* object);

}  // namespace infinirt::python
