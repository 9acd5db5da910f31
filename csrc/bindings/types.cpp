#include "bindings/types.h"

#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace infinirt::python {

EnumType enum_types[kEnumCount];
PyTypeObject* handle_types[kHandleCount];
PyTypeObject* struct_types[kStructCount];

namespace {

template <class T>
void construct(void* place) {
  ::new (place) T;
}

}  // namespace

#define INFINIRT_FLAT_SECTION_TYPES
#include "infinirt/generated/flat.inc"
#undef INFINIRT_FLAT_SECTION_TYPES

namespace {

// A class without a name of its own (a nested struct) is not in the module; its name says where it belongs.
bool add_class(PyObject* module, const char* qualified, PyObject* type) {
  const char* name = std::strrchr(qualified, '.');
  name = name == nullptr ? qualified : name + 1;
  return name[0] == '_' || PyModule_AddObjectRef(module, name, type) == 0;
}

bool make_types() {
  if (struct_types[kStructCount - 1] != nullptr) return true;
  for (int i = 0; i < kEnumCount; ++i) {
    if (!make_enum(enum_descriptions[i], &enum_types[i])) return false;
  }
  for (int i = 0; i < kHandleCount; ++i) {
    if ((handle_types[i] = make_handle_type(handle_descriptions[i])) == nullptr) return false;
  }
  for (int i = 0; i < kStructCount; ++i) {
    if ((struct_types[i] = make_struct_type(struct_descriptions[i])) == nullptr) return false;
  }
  return true;
}

}  // namespace

bool add_types(PyObject* module) {
  if (!make_types()) return false;
  for (int i = 0; i < kEnumCount; ++i) {
    if (!add_class(module, enum_descriptions[i].name, enum_types[i].type)) return false;
  }
  for (int i = 0; i < kHandleCount; ++i) {
    if (!add_class(module, handle_descriptions[i].name, reinterpret_cast<PyObject*>(handle_types[i]))) return false;
  }
  for (int i = 0; i < kStructCount; ++i) {
    if (!add_class(module, struct_descriptions[i].name, reinterpret_cast<PyObject*>(struct_types[i]))) return false;
  }
  for (const SecondName& entry : second_names) {
    Ref type(PyObject_GetAttrString(module, entry.of));
    if (!type || PyModule_AddObjectRef(module, entry.name, type.get()) < 0) return false;
  }
  for (const Constant& constant : constants) {
    if (PyModule_AddIntConstant(module, constant.name, constant.value) < 0) return false;
  }
  return true;
}

}  // namespace infinirt::python
