// Enumerations as Python classes: `int` subclasses with one object per member, made in bulk and cheaply at import.
//
// They behave as the enums of cuda.bindings do: members are ints with `name` and `value`, `E(3)` gives the member or
// ValueError, `len`, iteration and `in` work on the class, `__members__` maps names. `E["name"]` works too.
#pragma once

#include "bindings/python.h"

namespace infinirt::python {

struct EnumMember {
  const char* name;
  int value;
};

struct EnumDescription {
  const char* name;
  const char* doc;
  const EnumMember* members;
  int member_count;
};

/// An enum class and its members by value; members beyond the table are found through the class.
struct EnumType {
  PyObject* type;
  PyObject** by_value;
  int table_size;
};

/// Builds the class. False with an exception set.
bool make_enum(const EnumDescription& description, EnumType* made);

/// The member (a new reference) for a value that came from C. A value that has no name is still an instance of the class,
/// so that a newer library's code is not lost.
PyObject* enum_member_slow(const EnumType& type, int value);
inline PyObject* enum_member(const EnumType& type, int value) {
  if (static_cast<unsigned>(value) < static_cast<unsigned>(type.table_size)) {
    PyObject* member = type.by_value[value];
    if (member != nullptr) return new_reference(member);
  }
  return enum_member_slow(type, value);
}

}  // namespace infinirt::python
