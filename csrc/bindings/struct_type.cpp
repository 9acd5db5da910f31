#include "bindings/struct_type.h"

#include "bindings/convert.h"
#include "bindings/field.h"

namespace infinirt::python {
namespace {

StructObject* as_struct(PyObject* self) { return reinterpret_cast<StructObject*>(self); }

StructObject* root_of(StructObject* self) {
  while (self->owner != nullptr) self = as_struct(self->owner);
  return self;
}

PyObject* struct_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static char place_name[] = "_ptr";
  static char* names[] = {place_name, nullptr};
  PyObject* place = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &place)) return nullptr;
  unsigned long long address = 0;
  if (place != nullptr && !to_u64(place, "_ptr", &address)) return nullptr;
  if (address != 0) return new_struct_view(type, reinterpret_cast<char*>(address), nullptr);
  const StructDescription* description = description_of(type);
  StructObject* made = new_struct(type, description->size);
  if (made != nullptr && description->construct != nullptr) description->construct(made->data);
  return reinterpret_cast<PyObject*>(made);
}

int struct_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_struct(self)->owner);
  Py_VISIT(as_struct(self)->kept);
  return 0;
}

int struct_clear(PyObject* self) {
  Py_CLEAR(as_struct(self)->owner);
  Py_CLEAR(as_struct(self)->kept);
  return 0;
}

void struct_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  struct_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* struct_address(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(as_struct(self)->data); }

// One line per attribute; nested structs are indented below their name.
PyObject* struct_repr(PyObject* self) {
  const StructDescription* description = description_of(Py_TYPE(self));
  Ref lines(PyList_New(0));
  Ref newline(PyUnicode_FromString("\n"));
  if (!lines || !newline) return nullptr;
  for (int i = 0; i < description->field_count; ++i) {
    const Field& field = description->fields[i];
    Ref value(get_field(self, field));
    if (!value) return nullptr;
    Ref line;
    if (field.kind == FieldKind::Struct) {
      Ref text(PyObject_Str(value.get()));
      Ref parts(text ? PyUnicode_Splitlines(text.get(), 0) : nullptr);
      Ref indent(PyUnicode_FromString("\n    "));
      Ref joined(parts && indent ? PyUnicode_Join(indent.get(), parts.get()) : nullptr);
      if (joined) line = Ref(PyUnicode_FromFormat("%s :\n    %U", field.name, joined.get()));
    } else if (field.kind == FieldKind::Pointer) {
      Ref text(PyNumber_ToBase(value.get(), 16));
      if (text) line = Ref(PyUnicode_FromFormat("%s : %U", field.name, text.get()));
    } else if (field.kind == FieldKind::Bytes) {
      Ref text(PyObject_CallMethod(value.get(), "hex", nullptr));
      if (text) line = Ref(PyUnicode_FromFormat("%s : %U", field.name, text.get()));
    } else if (field.kind == FieldKind::Text) {
      Ref text(PyUnicode_DecodeUTF8(PyBytes_AS_STRING(value.get()), PyBytes_GET_SIZE(value.get()), "replace"));
      if (text) line = Ref(PyUnicode_FromFormat("%s : %U", field.name, text.get()));
    } else {
      line = Ref(PyUnicode_FromFormat("%s : %S", field.name, value.get()));
    }
    if (!line || PyList_Append(lines.get(), line.get()) < 0) return nullptr;
  }
  return PyUnicode_Join(newline.get(), lines.get());
}

// The struct that all views share is locked: it has the memory and keeps the objects.
PyObject* attribute_get(PyObject* self, void* field) {
  PyObject* value = nullptr;
  INFINIRT_BEGIN_LOCKED(reinterpret_cast<PyObject*>(root_of(as_struct(self))));
  value = get_field(self, *static_cast<const Field*>(field));
  INFINIRT_END_LOCKED();
  return value;
}

int attribute_set(PyObject* self, PyObject* value, void* field) {
  const Field& target = *static_cast<const Field*>(field);
  if (value == nullptr) {
    PyErr_Format(PyExc_AttributeError, "%s cannot be deleted", target.name);
    return -1;
  }
  bool done = false;
  INFINIRT_BEGIN_LOCKED(reinterpret_cast<PyObject*>(root_of(as_struct(self))));
  done = set_field(self, target, value);
  INFINIRT_END_LOCKED();
  return done ? 0 : -1;
}

PyMethodDef struct_methods[] = {
    {"getPtr", struct_address, METH_NOARGS, "The address of the struct's memory."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* make_struct_type(const StructDescription& description) {
  // The type refers to these for as long as it lives, which is always.
  auto* attributes = static_cast<PyGetSetDef*>(PyMem_Calloc(description.field_count + 1u, sizeof(PyGetSetDef)));
  if (attributes == nullptr) return reinterpret_cast<PyTypeObject*>(PyErr_NoMemory());
  for (int i = 0; i < description.field_count; ++i) {
    const Field& field = description.fields[i];
    attributes[i].name = field.name;
    attributes[i].get = attribute_get;
    attributes[i].set = field.read_only ? nullptr : attribute_set;
    attributes[i].closure = const_cast<Field*>(&field);
  }
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(struct_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(struct_dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(struct_traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(struct_clear)},
      {Py_tp_repr, reinterpret_cast<void*>(struct_repr)},
      {Py_tp_methods, struct_methods},
      {Py_tp_getset, attributes},
      {Py_tp_doc, const_cast<char*>(description.doc)},
      {0, nullptr},
  };
  PyType_Spec spec = {description.name, sizeof(StructObject), 1,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

const StructDescription* description_of(PyTypeObject* type) {
  for (int i = 0; i < kStructCount; ++i) {
    if (type == struct_types[i]) return &struct_descriptions[i];
  }
  return description_of(type->tp_base);  // a subclass written in Python
}

StructObject* new_struct(PyTypeObject* type, std::size_t size) {
  // tp_alloc clears the memory behind the object as well.
  PyObject* made = type->tp_alloc(type, static_cast<Py_ssize_t>(size));
  if (made == nullptr) return nullptr;
  as_struct(made)->data = reinterpret_cast<char*>(made) + sizeof(StructObject);
  return as_struct(made);
}

PyObject* new_struct_view(PyTypeObject* type, char* data, PyObject* owner) {
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  as_struct(made)->data = data;
  Py_XINCREF(owner);
  as_struct(made)->owner = owner;
  return made;
}

bool keeps_something(StructObject* self) { return root_of(self)->kept != nullptr; }

bool keep_for(StructObject* self, const void* place, PyObject* object) {
  self = root_of(self);
  if (self->kept == nullptr) {
    if (object == nullptr) return true;
    self->kept = PyDict_New();
    if (self->kept == nullptr) return false;
  }
  Ref key(PyLong_FromVoidPtr(const_cast<void*>(place)));
  if (!key) return false;
  if (object != nullptr) return PyDict_SetItem(self->kept, key.get(), object) == 0;
  const int present = PyDict_Contains(self->kept, key.get());
  return present == 0 || (present > 0 && PyDict_DelItem(self->kept, key.get()) == 0);
}

PyObject* kept_for(StructObject* self, const void* place) {
  self = root_of(self);
  if (self->kept == nullptr) return nullptr;
  Ref key(PyLong_FromVoidPtr(const_cast<void*>(place)));
  PyObject* found = key ? PyDict_GetItemWithError(self->kept, key.get()) : nullptr;
  if (found == nullptr) PyErr_Clear();
  return found;
}

}  // namespace infinirt::python
