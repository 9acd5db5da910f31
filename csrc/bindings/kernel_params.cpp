#include "bindings/kernel_params.h"

#include <atomic>
#include <cstring>
#include <iterator>
#include <memory>

#include "bindings/convert.h"

namespace infinirt::python {
namespace {

// Packs values with ctypes itself: `type(value)` is what a C call would do with the value, and `bytes()` of the result
// is its memory. Only plain numbers, which most arguments are, are packed here.
constexpr Py_ssize_t kAlignment = 16;

// The bytes of one argument.
PyObject* packed(PyObject* value, PyObject* type) {
  if (type == Py_None) {
    for (int i = 0; i < kStructCount; ++i) {
      if (is_struct(value, i)) {
        return PyBytes_FromStringAndSize(struct_data(value), static_cast<Py_ssize_t>(struct_descriptions[i].size));
      }
    }
    for (int i = 0; i < kHandleCount; ++i) {
      if (PyObject_TypeCheck(value, handle_types[i])) {
        return PyBytes_FromStringAndSize(reinterpret_cast<char*>(reinterpret_cast<HandleObject*>(value)->place),
                                         sizeof(std::uintptr_t));
      }
    }
    if (PyLong_Check(value) && !PyLong_CheckExact(value)) {  // an enum member
      int number = 0;
      if (!to_int(value, "kernelParams", &number)) return nullptr;
      return PyBytes_FromStringAndSize(reinterpret_cast<char*>(&number), sizeof number);
    }
    if (PyObject_CheckBuffer(value)) return PyBytes_FromObject(value);  // a ctypes structure or array
    PyErr_Format(PyExc_TypeError, "kernelParams: a value of type %s needs a ctypes type", Py_TYPE(value)->tp_name);
    return nullptr;
  }
  const int already = PyObject_IsInstance(value, type);
  if (already < 0) return nullptr;
  if (already) return PyBytes_FromObject(value);
  Ref plain(new_reference(value));
  if (PyObject_HasAttrString(value, "getPtr")) {  // as a pointer: a handle by its value, a struct by its address
    bool is_handle = false;
    for (int i = 0; i < kHandleCount; ++i) is_handle = is_handle || PyObject_TypeCheck(value, handle_types[i]);
    plain = Ref(is_handle ? PyNumber_Long(value) : PyObject_CallMethod(value, "getPtr", nullptr));
  } else if (PyObject_CheckBuffer(value) && PyObject_HasAttrString(value, "value")) {  // another simple ctypes type
    plain = Ref(PyObject_GetAttrString(value, "value"));
  }
  if (!plain) return nullptr;
  Ref made(PyObject_CallOneArg(type, plain.get()));
  return made ? PyBytes_FromObject(made.get()) : nullptr;
}

// ---- Plain numbers of the simple types ---------------------------------------------------------------------------------

struct SimpleType {
  const char* name;
  char code;  // ctypes' own: the `_type_` of the class
  std::uint8_t size;
};
// Those that kernels take most often first.
constexpr SimpleType kSimpleTypes[] = {
    {"c_void_p", 'P', 8}, {"c_int", 'i', 4},   {"c_float", 'f', 4},  {"c_uint", 'I', 4},
    {"c_long", 'l', 8},   {"c_ulong", 'L', 8}, {"c_double", 'd', 8}, {"c_bool", '?', 1},
    {"c_byte", 'b', 1},   {"c_ubyte", 'B', 1}, {"c_short", 'h', 2},  {"c_ushort", 'H', 2},
};
constexpr size_t kSimpleTypeCount = std::size(kSimpleTypes);

// The classes themselves, in the same order, and the class that all of them derive from.
struct SimpleClasses {
  PyObject* classes[kSimpleTypeCount] = {};
  PyObject* base = nullptr;
};

// Null with an exception set. Looked up once: whoever takes ctypes out of sys.modules meanwhile gets the slow way.
const SimpleClasses* simple_classes() {
  static std::atomic<const SimpleClasses*> ready{nullptr};
  if (const SimpleClasses* found = ready.load(std::memory_order_acquire)) return found;
  auto made = std::make_unique<SimpleClasses>();
  Ref module(PyImport_ImportModule("ctypes"));
  if (!module || (made->base = PyObject_GetAttrString(module.get(), "_SimpleCData")) == nullptr) return nullptr;
  for (size_t i = 0; i < kSimpleTypeCount; ++i) {
    made->classes[i] = PyObject_GetAttrString(module.get(), kSimpleTypes[i].name);
    if (made->classes[i] == nullptr) return nullptr;
  }
  const SimpleClasses* expected = nullptr;
  return ready.compare_exchange_strong(expected, made.get()) ? made.release() : expected;
}

// One argument: the bits of a number, or the bytes of something larger.
struct Part {
  unsigned long long bits;
  Py_ssize_t size;
  PyObject* bytes;  // owned by Parts
};

// All of a launch, filled one after the other.
class Parts {
 public:
  explicit Parts(Py_ssize_t count)
      : many_(count > kFew ? new Part[static_cast<size_t>(count)] : nullptr), parts_(many_ ? many_.get() : few_) {}
  ~Parts() {
    for (Py_ssize_t i = 0; i < filled_; ++i) Py_XDECREF(parts_[i].bytes);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  Part& add() {
    Part& part = parts_[filled_++];
    part.bytes = nullptr;
    return part;
  }
  const Part& operator[](Py_ssize_t i) const { return parts_[i]; }

 private:
  static constexpr Py_ssize_t kFew = 16;

  Part few_[kFew];  // not set before it is used
  std::unique_ptr<Part[]> many_;
  Part* parts_;
  Py_ssize_t filled_ = 0;
};

// What `type(value)` would hold, without making it: ctypes cuts integers to size. False: no plain number for that type.
bool pack_number(PyObject* value, const SimpleType& type, Part* part) {
  part->size = type.size;
  part->bits = 0;
  const bool is_integer = PyLong_CheckExact(value) || PyBool_Check(value);
  switch (type.code) {
    case 'f':
    case 'd': {
      if (!PyFloat_CheckExact(value)) return false;
      const double wide = PyFloat_AS_DOUBLE(value);
      const auto narrow = static_cast<float>(wide);
      type.code == 'f' ? std::memcpy(&part->bits, &narrow, sizeof narrow)
                       : std::memcpy(&part->bits, &wide, sizeof wide);
      return true;
    }
    case '?':
      part->bits = value == Py_True;
      return PyBool_Check(value);
    case 'P':
      if (value == Py_None) return true;
      [[fallthrough]];
    default:
      if (!is_integer) return false;
      part->bits = PyLong_AsUnsignedLongMask(value);  // little endian: the low bytes are the smaller type's value
      return true;
  }
}

bool pack_part(PyObject* value, PyObject* type, const SimpleClasses& simple, Part* part) {
  for (size_t i = 0; i < kSimpleTypeCount; ++i) {
    if (type != simple.classes[i]) continue;
    if (pack_number(value, kSimpleTypes[i], part)) return true;
    break;
  }
  const bool fits =
      type == Py_None || (PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type),
                                                                 reinterpret_cast<PyTypeObject*>(simple.base)));
  if (!fits) {
    PyErr_Format(PyExc_TypeError, "kernelParams: %R is not a simple ctypes type", type);
    return false;
  }
  part->bytes = packed(value, type);
  if (part->bytes == nullptr) return false;
  part->size = PyBytes_GET_SIZE(part->bytes);
  return true;
}

// The array and the values behind it, in memory that `allocate(size)` gives, which is aligned for pointers. Null with an
// exception set.
template <class Allocate>
void** pack(PyObject* values, PyObject* types, Allocate allocate) {
  const Py_ssize_t count = PyTuple_GET_SIZE(values);
  if (count != PyTuple_GET_SIZE(types)) {
    PyErr_Format(PyExc_TypeError, "kernelParams: %zd values but %zd types", count, PyTuple_GET_SIZE(types));
    return nullptr;
  }
  const SimpleClasses* simple = simple_classes();
  if (simple == nullptr) return nullptr;
  Parts parts(count);
  Py_ssize_t size = count * static_cast<Py_ssize_t>(sizeof(void*)) + kAlignment;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Part& part = parts.add();
    if (!pack_part(PyTuple_GET_ITEM(values, i), PyTuple_GET_ITEM(types, i), *simple, &part)) return nullptr;
    size += (part.size + kAlignment - 1) / kAlignment * kAlignment;
  }
  auto** array = reinterpret_cast<void**>(allocate(size));
  if (array == nullptr) return nullptr;
  auto next = reinterpret_cast<std::uintptr_t>(array + count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    next = (next + kAlignment - 1) & ~static_cast<std::uintptr_t>(kAlignment - 1);
    array[i] = reinterpret_cast<void*>(next);
    const Part& part = parts[i];
    if (part.bytes == nullptr) {
      std::memcpy(array[i], &part.bits, sizeof part.bits);  // every argument has the room of at least one alignment
    } else {
      std::memcpy(array[i], PyBytes_AS_STRING(part.bytes), static_cast<size_t>(part.size));
    }
    next += static_cast<std::uintptr_t>(part.size);
  }
  return array;
}

bool is_values_and_types(PyObject* object) {
  return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 2 && PyTuple_Check(PyTuple_GET_ITEM(object, 0)) &&
         PyTuple_Check(PyTuple_GET_ITEM(object, 1));
}

}  // namespace

bool to_kernel_params(PyObject* object, const char* what, void*** params, PyObject** keeper) {
  *params = nullptr;
  *keeper = nullptr;
  if (object == Py_None) return true;
  if (is_values_and_types(object)) {
    *params = pack(PyTuple_GET_ITEM(object, 0), PyTuple_GET_ITEM(object, 1), [&](Py_ssize_t size) {
      *keeper = PyBytes_FromStringAndSize(nullptr, size);
      return *keeper == nullptr ? nullptr : PyBytes_AS_STRING(*keeper);
    });
    return *params != nullptr;
  }
  if (!PyLong_Check(object) && PyObject_CheckBuffer(object)) {
    *keeper = PyMemoryView_FromObject(object);
    if (*keeper == nullptr) return false;
    *params = static_cast<void**>(PyMemoryView_GET_BUFFER(*keeper)->buf);
    return true;
  }
  if (!PyLong_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s: expected None, an int, an object with a buffer or ((values), (types)), not %s",
                 what, Py_TYPE(object)->tp_name);
    return false;
  }
  unsigned long long address = 0;
  if (!to_u64(object, what, &address)) return false;
  *params = reinterpret_cast<void**>(address);
  return true;
}

bool KernelParams::take_some(PyObject* object, const char* what) {
  if (!is_values_and_types(object)) {
    PyObject* made = nullptr;
    const bool taken = to_kernel_params(object, what, &params_, &made);
    keeper_ = Ref(made);
    return taken;
  }
  params_ = pack(PyTuple_GET_ITEM(object, 0), PyTuple_GET_ITEM(object, 1), [&](Py_ssize_t size) {
    if (size <= static_cast<Py_ssize_t>(kRoom)) return room_;
    keeper_ = Ref(PyBytes_FromStringAndSize(nullptr, size));
    return keeper_ ? PyBytes_AS_STRING(keeper_.get()) : nullptr;
  });
  return params_ != nullptr;
}

}  // namespace infinirt::python
