#include "bindings/infinicore/dtype.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace infinicore {

PyTypeObject* dtype_class = nullptr;

namespace {

struct Facts {
  infiniDtype_t number;
  uint8_t size;
  char kind;
  const char* name;
};

constexpr Facts kFacts[] = {{INFINI_DTYPE_BYTE, 1, 'u', "byte"},     {INFINI_DTYPE_BOOL, 1, 'b', "bool"},
                            {INFINI_DTYPE_I8, 1, 'i', "int8"},       {INFINI_DTYPE_I16, 2, 'i', "int16"},
                            {INFINI_DTYPE_I32, 4, 'i', "int32"},     {INFINI_DTYPE_I64, 8, 'i', "int64"},
                            {INFINI_DTYPE_U8, 1, 'u', "uint8"},      {INFINI_DTYPE_U16, 2, 'u', "uint16"},
                            {INFINI_DTYPE_U32, 4, 'u', "uint32"},    {INFINI_DTYPE_U64, 8, 'u', "uint64"},
                            {INFINI_DTYPE_F8, 1, 'f', "float8"},     {INFINI_DTYPE_F16, 2, 'f', "float16"},
                            {INFINI_DTYPE_F32, 4, 'f', "float32"},   {INFINI_DTYPE_F64, 8, 'f', "float64"},
                            {INFINI_DTYPE_C16, 2, 'c', "complex16"}, {INFINI_DTYPE_C32, 4, 'c', "complex32"},
                            {INFINI_DTYPE_C64, 8, 'c', "complex64"}, {INFINI_DTYPE_C128, 16, 'c', "complex128"},
                            {INFINI_DTYPE_BF16, 2, 'f', "bfloat16"}};
constexpr int kCount = sizeof kFacts / sizeof *kFacts;
static_assert(kCount == INFINI_DTYPE_BF16);

DtypeObject* all[INFINI_DTYPE_BF16 + 1];

constexpr const char* kNamesInC[] = {"BYTE", "BOOL", "I8",  "I16", "I32", "I64", "U8",  "U16",  "U32", "U64",
                                     "F8",   "F16",  "F32", "F64", "C16", "C32", "C64", "C128", "BF16"};
static_assert(sizeof kNamesInC / sizeof *kNamesInC == kCount);

DtypeObject* as_dtype(PyObject* object) { return reinterpret_cast<DtypeObject*>(object); }

PyObject* get_name(PyObject* self, void*) { return PyUnicode_FromString(as_dtype(self)->name); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromLong(as_dtype(self)->size); }
PyObject* get_number(PyObject* self, void*) { return PyLong_FromLong(as_dtype(self)->number); }
PyObject* get_is_floating(PyObject* self, void*) { return PyBool_FromLong(as_dtype(self)->kind == 'f'); }
PyObject* get_is_complex(PyObject* self, void*) { return PyBool_FromLong(as_dtype(self)->kind == 'c'); }
PyObject* get_is_signed(PyObject* self, void*) {
  const char kind = as_dtype(self)->kind;
  return PyBool_FromLong(kind == 'i' || kind == 'f' || kind == 'c');
}

PyObject* dtype_repr(PyObject* self) { return PyUnicode_FromFormat("infinicore.%s", as_dtype(self)->name); }
// By its name in the package, which gives the one object there is.
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  Ref module(PyImport_ImportModule("infinicore._core"));
  Ref find(module ? PyObject_GetAttrString(module.get(), "dtype_by_number") : nullptr);
  return find ? Py_BuildValue("O(i)", find.get(), static_cast<int>(as_dtype(self)->number)) : nullptr;
}

PyMethodDef methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"name", get_name, nullptr, "The name, as in infinicore.", nullptr},
    {"itemsize", get_size, nullptr, "Bytes of an element.", nullptr},
    {"number", get_number, nullptr, "The value of infiniDtype_t.", nullptr},
    {"is_floating_point", get_is_floating, nullptr, "Whether it is a real floating-point type.", nullptr},
    {"is_complex", get_is_complex, nullptr, "Whether it is a complex type.", nullptr},
    {"is_signed", get_is_signed, nullptr, "Whether it has negative numbers.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_doc, const_cast<char*>("The type of a tensor's elements. There is one object for each.")},
                       {0, nullptr}};

PyType_Spec spec = {"infinicore.dtype", sizeof(DtypeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

PyTypeObject* make_dtype_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

DtypeObject* dtype_of(infiniDtype_t number) { return all[number]; }

PyObject* make_dtypes() {
  Ref tuple(PyTuple_New(kCount));
  if (!tuple) return nullptr;
  for (int i = 0; i < kCount; ++i) {
    auto* made = as_dtype(dtype_class->tp_alloc(dtype_class, 0));
    if (made == nullptr) return nullptr;
    made->number = kFacts[i].number;
    made->size = kFacts[i].size;
    made->kind = kFacts[i].kind;
    made->name = kFacts[i].name;
    all[made->number] = made;  // for ever
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(reinterpret_cast<PyObject*>(made)));
  }
  return tuple.release();
}

std::string names_of_dtypes(const std::string& text) {
  const auto is_of_a_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && is_of_a_word(text[end])) ++end;
    const std::string word = text.substr(begin, end - begin);
    const auto* found = std::find(std::begin(kNamesInC), std::end(kNamesInC), word);
    result += found == std::end(kNamesInC) ? word : kFacts[found - std::begin(kNamesInC)].name;
    if (end < text.size()) result += text[end];
    begin = end + 1;
  }
  return result;
}

}  // namespace infinicore
