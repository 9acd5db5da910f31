#include "bindings/enum_type.h"

namespace infinirt::python {
namespace {

PyObject* metatype = nullptr;  // the type of enum classes
PyObject* base = nullptr;      // the class that all enum classes derive from

// Class attributes: name -> member, and value -> member.
constexpr const char* kMembers = "__members__";
constexpr const char* kByValue = "_by_value_";

Ref members_of(PyObject* type) { return Ref(PyObject_GetAttrString(type, kMembers)); }

// ---- The class --------------------------------------------------------------------------------------------------------

PyObject* class_repr(PyObject* self) {
  return PyUnicode_FromFormat("<enum '%s'>", reinterpret_cast<PyTypeObject*>(self)->tp_name);
}

Py_ssize_t class_length(PyObject* self) {
  Ref members = members_of(self);
  return members ? PyObject_Size(members.get()) : -1;
}

PyObject* class_iterate(PyObject* self) {
  Ref members = members_of(self);
  if (!members) return nullptr;
  Ref values(PyDict_Values(members.get()));
  return values ? PyObject_GetIter(values.get()) : nullptr;
}

int class_contains(PyObject* self, PyObject* item) {
  Ref by_value(PyObject_GetAttrString(self, kByValue));
  return by_value ? PyDict_Contains(by_value.get(), item) : -1;
}

PyObject* class_by_name(PyObject* self, PyObject* name) {
  Ref members = members_of(self);
  return members ? PyObject_GetItem(members.get(), name) : nullptr;
}

PyType_Slot class_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(class_repr)},
    {Py_tp_iter, reinterpret_cast<void*>(class_iterate)},
    {Py_mp_length, reinterpret_cast<void*>(class_length)},
    {Py_mp_subscript, reinterpret_cast<void*>(class_by_name)},
    {Py_sq_contains, reinterpret_cast<void*>(class_contains)},
    {Py_tp_doc, const_cast<char*>("The type of the enumerations in this module.")},
    {0, nullptr},
};
PyType_Spec class_spec = {"infinirt.runtime._EnumType", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, class_slots};

// ---- Members ----------------------------------------------------------------------------------------------------------

PyObject* member_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static char value_name[] = "value";
  static char* names[] = {value_name, nullptr};
  PyObject* value = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &value)) return nullptr;
  Ref by_value(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), kByValue));
  if (!by_value) return nullptr;
  PyObject* member = PyDict_GetItemWithError(by_value.get(), value);
  if (member != nullptr) return new_reference(member);
  if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "%R is not a valid %s", value, type->tp_name);
  return nullptr;
}

// Two names may have one value, so the name is found by the object. Names are for people; nothing fast asks for them.
PyObject* member_name(PyObject* self, void*) {
  Ref members = members_of(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  if (!members) return nullptr;
  PyObject* name = nullptr;
  PyObject* member = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(members.get(), &position, &name, &member);) {
    if (member == self) return new_reference(name);
  }
  return PyUnicode_FromFormat("unknown_%ld", PyLong_AsLong(self));
}

PyObject* member_value(PyObject* self, void*) { return PyLong_FromLong(PyLong_AsLong(self)); }

PyObject* member_repr(PyObject* self) {
  Ref name(member_name(self, nullptr));
  return name ? PyUnicode_FromFormat("<%s.%U: %ld>", Py_TYPE(self)->tp_name, name.get(), PyLong_AsLong(self)) : nullptr;
}

// int is defined before str and repr: without this, str() would be the number.
PyGetSetDef member_attributes[] = {
    {"name", member_name, nullptr, "The member's name.", nullptr},
    {"value", member_value, nullptr, "The member's value, as a plain int.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot member_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(member_new)},          {Py_tp_repr, reinterpret_cast<void*>(member_repr)},
    {Py_tp_str, reinterpret_cast<void*>(member_repr)},         {Py_tp_getset, member_attributes},
    {Py_tp_doc, const_cast<char*>("An integer with a name.")}, {0, nullptr},
};
PyType_Spec member_spec = {"infinirt.runtime._Enum", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, member_slots};

bool make_bases() {
  if (base != nullptr) return true;
  Ref type_bases(PyTuple_Pack(1, reinterpret_cast<PyObject*>(&PyType_Type)));
  Ref int_bases(PyTuple_Pack(1, reinterpret_cast<PyObject*>(&PyLong_Type)));
  if (!type_bases || !int_bases) return false;
  metatype = PyType_FromSpecWithBases(&class_spec, type_bases.get());
  base = PyType_FromSpecWithBases(&member_spec, int_bases.get());
  return metatype != nullptr && base != nullptr;
}

PyObject* new_member(PyObject* type, int value) {
  Ref args(Py_BuildValue("(i)", value));
  return args ? PyLong_Type.tp_new(reinterpret_cast<PyTypeObject*>(type), args.get(), nullptr) : nullptr;
}

constexpr int kLargestTable = 1024;

}  // namespace

bool make_enum(const EnumDescription& description, EnumType* made) {
  if (!make_bases()) return false;
  Ref members(PyDict_New());
  Ref by_value(PyDict_New());
  if (!members || !by_value) return false;
  Ref namespace_(Py_BuildValue("{s:O,s:O,s:s,s:s,s:()}", kMembers, members.get(), kByValue, by_value.get(),
                               "__module__", "infinirt.runtime", "__doc__", description.doc, "__slots__"));
  if (!namespace_) return false;
  Ref type(PyObject_CallFunction(metatype, "s(O)O", description.name, base, namespace_.get()));
  if (!type) return false;

  int largest = -1;
  for (int i = 0; i < description.member_count; ++i) {
    const int value = description.members[i].value;
    if (value > largest && value < kLargestTable) largest = value;
  }
  made->table_size = largest + 1;
  made->by_value = static_cast<PyObject**>(PyMem_Calloc(static_cast<size_t>(made->table_size) + 1, sizeof(PyObject*)));
  if (made->by_value == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  for (int i = 0; i < description.member_count; ++i) {
    const EnumMember& entry = description.members[i];
    Ref member(new_member(type.get(), entry.value));
    Ref name(PyUnicode_InternFromString(entry.name));
    Ref number(PyLong_FromLong(entry.value));
    if (!member || !name || !number || PyDict_SetItem(members.get(), name.get(), member.get()) < 0 ||
        PyDict_SetItem(by_value.get(), number.get(), member.get()) < 0 ||
        PyType_Type.tp_setattro(type.get(), name.get(), member.get()) < 0) {
      return false;
    }
    // The table borrows: the class, which is never freed, owns the members. Of two names for one value the last counts.
    if (entry.value >= 0 && entry.value < made->table_size) made->by_value[entry.value] = member.get();
  }
  made->type = type.release();
  return true;
}

PyObject* enum_member_slow(const EnumType& type, int value) {
  Ref by_value(PyObject_GetAttrString(type.type, kByValue));
  Ref number(PyLong_FromLong(value));
  if (!by_value || !number) return nullptr;
  PyObject* member = PyDict_GetItemWithError(by_value.get(), number.get());
  if (member != nullptr) return new_reference(member);
  return PyErr_Occurred() ? nullptr : new_member(type.type, value);
}

}  // namespace infinirt::python
