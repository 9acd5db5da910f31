#include "bindings/infinicore/operators.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bindings/infinicore/descriptors.h"
#include "bindings/infinicore/explain.h"
#include "bindings/infinicore/recording.h"
#include "bindings/infinicore/shapes.h"
#include "infiniop.h"

namespace infinicore {

namespace {

template <class Function>
bool find_function(const char* name, Function* place) {
  void* address = find_operator_function(name);
  if (address) std::memcpy(place, &address, sizeof address);
  return address != nullptr;
}

#include "infinicore/generated/operators_table.inc"

constexpr int kMaxParameters = kMaxInputs + kMaxAttributes + kMaxOutputs + 4;

// A function of one operator: its parameters' interned names, and where they stand.
struct Entry {
  const OperatorRow* row = nullptr;
  bool is_functional = false;
  int positional = 0;  // inputs, attributes, inplace
  int parameters = 0;  // and outputs, the last of all, by name only
  int input[kMaxInputs] = {};
  int output[kMaxOutputs] = {};
  int attribute = 0;  // the first
  int shape = -1, dim = -1, keepdim = -1;  // -1: it has none
  PyObject* names[kMaxParameters] = {};
  PyMethodDef definition = {};
};
Entry entries[2][kOperators];

// (value, dtype): the bytes of an element. Given by the Python side.
PyObject* encoder = nullptr;
const Entry* fill_entry = nullptr;
const Entry* copy_entry = nullptr;
const Entry* by_symbol[static_cast<int>(Symbol::Count)];
constexpr const char* kSymbols[] = {"+", "-",  "*",  "/",  "//", "%",  "**",       "&",   "|",   "^", "<<",    ">>",
                                    "<", "<=", "==", "!=", ">",  ">=", "* number", "neg", "abs", "~", "~ bool"};
static_assert(sizeof kSymbols / sizeof *kSymbols == static_cast<int>(Symbol::Count));

bool is_number(PyObject* object) {
  if (PyFloat_Check(object) || PyLong_Check(object)) return true;
  return PyNumber_Check(object) && !PySequence_Check(object) && !PyComplex_Check(object);
}

// Arguments into `values`, by position and by name. False with TypeError set.
bool read_arguments(const Entry& entry, PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** values) {
  const char* function = entry.row->name;
  if (count > entry.positional) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional argument%s (%zd given)", function, entry.positional,
                 entry.positional == 1 ? "" : "s", count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) values[i] = args[i];
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  const int parameters = entry.parameters;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    int at = 0;
    while (at < parameters && entry.names[at] != name) ++at;
    if (at == parameters) {
      for (at = 0; at < parameters && PyUnicode_Compare(entry.names[at], name) != 0;) ++at;
    }
    if (at == parameters) return explain_unknown(function, entry.names, parameters, name);
    if (values[at] != nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() was given '%U' twice", function, name);
      return false;
    }
    values[at] = args[count + i];
  }
  return true;
}

// One call, from its arguments to the launch.
class Call {
 public:
  Call(const Entry& entry, PyObject** values) : entry_(entry), row_(*entry.row), values_(values) {}

  // The output, a new reference; null with an exception.
  PyObject* run() try {
    if (!find_place() || !check_open(place_)) return nullptr;
    const Recording* recording = recording_of(place_);
    const size_t before = recording ? recording->size() : 0;
    if (make_and_issue()) return result();
    // Numbers as operands were recorded already. An argument's own code may have ended the recording.
    Recording* still = recording_of(place_);
    if (still && still == recording) still->shrink(before);
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }

 private:
  PyObject* result() const {
    if (row_.outputs == 1) [[likely]]
      return Py_NewRef(as_object(tensors_[0]));
    if (row_.patterns) return written_result();
    if (row_.outputs == 2) return PyTuple_Pack(2, as_object(tensors_[0]), as_object(tensors_[1]));
    return PyTuple_Pack(3, as_object(tensors_[0]), as_object(tensors_[1]), as_object(tensors_[2]));
  }

  // What was made, or, where nothing is, what was written in place.
  PyObject* written_result() const {
    const bool* is_parameter = row_.patterns->is_parameter;
    const auto made = std::count(is_parameter, is_parameter + row_.outputs, false);
    Ref all(PyTuple_New(made ? made : row_.outputs));
    if (!all) return nullptr;
    Py_ssize_t at = 0;
    for (int o = 0; o < row_.outputs; ++o) {
      if (made && is_parameter[o]) continue;
      if (made == 1) return Py_NewRef(as_object(tensors_[o]));
      PyTuple_SET_ITEM(all.get(), at++, Py_NewRef(tensors_[o] ? as_object(tensors_[o]) : Py_None));
    }
    return all.release();
  }

  // Tensors are outputs, then inputs; an input that may be None is null then.
  int given() const { return row_.outputs + row_.inputs; }

  bool make_and_issue() {
    if (!read_inputs() || !read_attributes() || !read_rows() || !find_outputs()) return false;
    if (!out_overlaps()) [[likely]]
      return compute();
    return row_.written < 0 && !row_.reads_outputs ? compute_aside() : read_aside() && compute();
  }

  bool compute() {
    Launch launch;
    return find_descriptor() && prepare(&launch) && issue(launch);
  }

  // Whether an element of the output could be written before it is read as another one's input. Elements of the same place are
  // read first, except by products.
  bool out_overlaps() const {
    for (int t = row_.outputs; t < given(); ++t) {
      for (int o = 0; o < row_.outputs; ++o) {
        if (is_overlapped(t, o)) return true;
      }
    }
    return false;
  }

  // Of two tensors of the call, which may be missing.
  bool is_overlapped(int t, int o) const {
    if (!tensors_[t] || !tensors_[o]) return false;
    const TensorObject &input = *tensors_[t], &out = *tensors_[o];
    // Two pieces of memory, unless one of them was given as an address.
    if (input.storage != out.storage && !input.storage->is_shared && !out.storage->is_shared) return false;
    // Of several outputs of a written operator each may be the input of its own number.
    const bool may_be_same = row_.patterns ? row_.patterns->in_place && (row_.outputs == 1 || t - row_.outputs == o)
                                           : row_.shape_rule != ShapeRule::Product;
    const bool same = may_be_same && input.data == out.data && input.dtype == out.dtype &&
                      input.ob_size == out.ob_size && std::equal(input.sizes, input.sizes + input.ob_size, out.sizes);
    return !same && extents_meet(input, out);
  }

  static bool extents_meet(const TensorObject& a, const TensorObject& b) {
    if (a.count == 0 || b.count == 0) return false;
    const auto extent = [](const TensorObject& tensor) {
      const char *low = tensor.data, *high = tensor.data + tensor.dtype->size;
      for (int d = 0; d < tensor.ndim(); ++d) {
        const Py_ssize_t reach = (tensor.shape()[d] - 1) * tensor.strides()[d] * Py_ssize_t(tensor.dtype->size);
        (reach < 0 ? low : high) += reach;
      }
      return std::pair(low, high);
    };
    const auto [a_low, a_high] = extent(a);
    const auto [b_low, b_high] = extent(b);
    return a_low < b_high && b_low < a_high;
  }

  // Into memory of its own first, and from there to where the output lies.
  bool compute_aside() {
    TensorObject* outs[kMaxOutputs];
    Ref aside[kMaxOutputs];
    for (int o = 0; o < row_.outputs; ++o) {
      outs[o] = tensors_[o];
      if (!outs[o]) continue;
      aside[o] = Ref(as_object(new_tensor(place_, outs[o]->dtype, outs[o]->ndim(), outs[o]->shape())));
      if (!aside[o]) return false;
      tensors_[o] = as_tensor(aside[o].get());
    }
    if (!compute()) return false;
    for (int o = 0; o < row_.outputs; ++o) {
      tensors_[o] = outs[o];
      if (outs[o] && !copy(aside[o].get(), as_object(outs[o]))) return false;
    }
    return true;
  }

  // What is read and written has one address, so that the other inputs have to make way.
  bool read_aside() {
    for (int t = row_.outputs; t < given(); ++t) {
      TensorObject* input = tensors_[t];
      bool meets = false;
      for (int o = 0; o < row_.outputs && input; ++o) meets = meets || is_overlapped(t, o);
      if (!meets) continue;
      Ref aside(as_object(new_tensor(place_, input->dtype, input->ndim(), input->shape())));
      if (!aside || !copy(as_object(input), aside.get())) return false;
      tensors_[t] = as_tensor(aside.get());
      aside_.push_back(std::move(aside));
    }
    return true;
  }

  static bool copy(PyObject* from, PyObject* to) {
    PyObject* values[kMaxParameters] = {from};
    values[copy_entry->positional] = to;
    Ref copied(Call(*copy_entry, values).run());
    return bool(copied);
  }

  PyObject* input(int i) const { return values_[entry_.input[i]]; }
  bool is_left_out(int i) const { return row_.may_be_none[i] && (input(i) == nullptr || input(i) == Py_None); }

  // The place and the element type are those of the first tensor among the inputs, or of the output.
  bool find_place() {
    const bool writes_first = row_.patterns && row_.patterns->is_parameter[0];
    PyObject* out = values_[writes_first ? entry_.output[0] : entry_.positional];
    for (int i = 0; i < row_.inputs && place_ == nullptr; ++i) {
      if (input(i) == nullptr && !row_.may_be_none[i]) {
        PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", row_.name, row_.parameters[i]);
        return false;
      }
      if (input(i) == nullptr || !is_tensor(input(i)) || row_.holds_truth[i]) continue;
      place_ = as_tensor(input(i))->place();
      dtype_ = as_tensor(input(i))->dtype;
    }
    if (place_ == nullptr && out != nullptr && is_tensor(out) && row_.inputs == 0) {
      place_ = as_tensor(out)->place();
      dtype_ = as_tensor(out)->dtype;
    }
    if (place_ != nullptr) return true;
    int at = 0;
    while (at < row_.inputs && row_.holds_truth[at]) ++at;
    PyObject* first = row_.inputs ? input(at) : out;
    PyErr_Format(PyExc_TypeError, "%s(): %s must be a Tensor, not %.100s", row_.name,
                 row_.inputs ? row_.parameters[at] : row_.output_parameters[0],
                 first ? Py_TYPE(first)->tp_name : "nothing");
    return false;
  }

  bool read_inputs() {
    for (int i = 0; i < row_.inputs; ++i) {
      PyObject* given = input(i);
      if (given != nullptr && is_tensor(given)) [[likely]] {
        tensors_[row_.outputs + i] = as_tensor(given);
        if (!is_on_place(as_tensor(given), row_.parameters[i])) return false;
      } else if (is_left_out(i)) {
        continue;
      } else if (given == nullptr) {
        PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", row_.name, row_.parameters[i]);
        return false;
      } else if (row_.shape_rule == ShapeRule::Rows || row_.patterns) {
        PyErr_Format(PyExc_TypeError, "%s(): %s must be a Tensor%s, not %.100s", row_.name, row_.parameters[i],
                     row_.may_be_none[i] ? " or None" : "", Py_TYPE(given)->tp_name);
        return false;
      } else if (i == row_.written) {
        PyErr_Format(PyExc_TypeError, "%s(): %s is written, and must be a Tensor, not %.100s", row_.name,
                     row_.parameters[i], Py_TYPE(given)->tp_name);
        return false;
      } else if (!make_scalar(i)) {
        return false;
      }
    }
    return true;
  }

  // A number where a tensor is expected is a tensor of one element, of the others' type.
  bool make_scalar(int i) {
    PyObject* given = input(i);
    if (!is_number(given) || encoder == nullptr) {
      PyErr_Format(PyExc_TypeError, "%s(): %s must be a Tensor or a number, not %.100s", row_.name, row_.parameters[i],
                   Py_TYPE(given)->tp_name);
      return false;
    }
    DtypeObject* dtype = row_.holds_truth[i] ? dtype_of(INFINI_DTYPE_BOOL) : dtype_;
    Ref bytes(PyObject_CallFunctionObjArgs(encoder, given, reinterpret_cast<PyObject*>(dtype), nullptr));
    if (!bytes) return false;
    made_inputs_[i] = Ref(as_object(new_tensor(place_, dtype, 0, nullptr)));
    if (!made_inputs_[i]) return false;
    tensors_[i + 1] = as_tensor(made_inputs_[i].get());
    return fill(bytes.get(), made_inputs_[i].get());
  }

  bool is_on_place(const TensorObject* tensor, const char* name) const {
    if (tensor->place() == place_) [[likely]]
      return true;
    const int same = PyObject_RichCompareBool(tensor->place()->device, place_->device, Py_EQ);
    if (same < 0) return false;
    if (same) {
      PyErr_Format(PyExc_ValueError,
                   "%s(): %s belongs to another Runtime of %S than other tensors of the call; bring them together with "
                   "copy_(), or use one Runtime",
                   row_.name, name, place_->device);
    } else {
      PyErr_Format(PyExc_ValueError,
                   "%s(): %s is on %S, but other tensors of the call are on %S; bring them together with .to()",
                   row_.name, name, tensor->place()->device, place_->device);
    }
    return false;
  }

  bool read_attributes() {
    for (int i = 0; i < row_.attributes; ++i) {
      PyObject* given = values_[entry_.attribute + i];
      if (given == nullptr && row_.is_required[i]) {
        PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", row_.name, row_.parameters[row_.inputs + i]);
        return false;
      }
      if (given == Py_None && std::isinf(row_.defaults[i])) given = nullptr;  // no limit
      attributes_[i] = !given ? row_.defaults[i] : row_.choices[i] ? read_choice(i, given) : PyFloat_AsDouble(given);
      if (attributes_[i] == -1 && PyErr_Occurred()) {
        const char* expected = row_.is_whole[i] ? "an integer" : "a number";
        return !row_.choices[i] && explain_argument(row_.name, row_.parameters[row_.inputs + i], expected, given);
      }
      if (row_.is_whole[i] && !(attributes_[i] >= INT_MIN && attributes_[i] <= INT_MAX &&
                                attributes_[i] == static_cast<int>(attributes_[i]))) {
        PyErr_Format(PyExc_ValueError, "%s(): %s is %R; a whole number of 32 bits was expected", row_.name,
                     row_.parameters[row_.inputs + i], given);
        return false;
      }
    }
    if (row_.patterns && row_.patterns->dim_attribute >= 0 &&
        !resolve_dim(row_.name, *row_.patterns, tensors_, given(), attributes_))
      return false;
    if (!row_.takes_element) return true;
    PyObject* bytes = values_[0];
    if (bytes == nullptr || !PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) != dtype_->size) {
      PyErr_Format(PyExc_TypeError, "%s(): the bytes of one element of %s were expected", row_.name, dtype_->name);
      return false;
    }
    std::memcpy(element_, PyBytes_AS_STRING(bytes), dtype_->size);
    return true;
  }

  // The number of one of the words "none|mean|sum"; -1 with an exception.
  double read_choice(int i, PyObject* given) const {
    const char* text = PyUnicode_Check(given) ? PyUnicode_AsUTF8(given) : nullptr;
    const std::string wanted = text ? text : "";
    std::string words = row_.choices[i];
    for (int number = 0; !wanted.empty() && !words.empty(); ++number) {
      const size_t end = std::min(words.find('|'), words.size());
      if (words.compare(0, end, wanted) == 0) return number;
      words.erase(0, end + 1);
    }
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s(): %s is %R; one of %s was expected", row_.name,
                 row_.parameters[row_.inputs + i], given, row_.choices[i]);
    return -1;
  }

  // The dimensions of a row, and a shape that the caller names for us to compare.
  bool read_rows() {
    if (row_.along == RowsAlong::None) [[likely]]
      return true;
    const auto at = [&](int place) { return place < 0 ? nullptr : values_[place]; };
    const TensorObject& first = *tensors_[row_.outputs];
    if (!read_dimensions(row_.name, row_.along, at(entry_.dim), at(entry_.keepdim), first.ndim(), &dimensions_))
      return false;
    PyObject* shape = at(entry_.shape);
    if (entry_.shape < 0) return true;
    if (shape == nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", row_.name, row_.shape_parameter);
      return false;
    }
    return check_shape(shape);
  }

  // Without weights it is the number of columns that it has to name.
  bool check_shape(PyObject* shape) const {
    const TensorObject &first = *tensors_[row_.outputs], *second = tensors_[row_.outputs + 1];
    int is_right = 0;
    if (second) {
      is_right = is_shape_of(shape, *second);
    } else {
      Ref number(PySequence_Size(shape) == 1 ? PySequence_GetItem(shape, 0) : nullptr);
      const Py_ssize_t size = number ? PyNumber_AsSsize_t(number.get(), nullptr) : -1;
      is_right = PyErr_Occurred() ? -1 : first.ndim() > 0 && size == first.shape()[first.ndim() - 1];
    }
    if (is_right < 0) return explain_argument(row_.name, row_.shape_parameter, "a list of integers", shape);
    if (!is_right) {
      PyErr_Format(PyExc_ValueError, "%s(): %s is %R, but %s has shape %s%s", row_.name, row_.shape_parameter, shape,
                   row_.parameters[second ? 1 : 0], text_of(second ? *second : first).c_str(),
                   second ? "" : ", of which it has to be the last dimension");
    }
    return is_right != 0;
  }

  bool find_outputs() {
    if (row_.outputs == 1 && !row_.patterns) [[likely]]
      return find_output(0, values_[entry_.positional]);
    if (row_.patterns) return find_written_outputs();
    PyObject *first = values_[entry_.positional], *second = values_[entry_.positional + 1];
    if (first && PyTuple_Check(first)) {
      if (PyTuple_GET_SIZE(first) != 2 || second) {
        PyErr_Format(PyExc_TypeError, "%s(): out must be a Tensor, or a tuple of two and no %s beside it", row_.name,
                     row_.output_parameters[1]);
        return false;
      }
      second = PyTuple_GET_ITEM(first, 1);
      first = PyTuple_GET_ITEM(first, 0);
    }
    return find_output(0, first) && find_output(1, second);
  }

  // Those that are read as well are arguments; the first of the others may be a tuple of all.
  bool find_written_outputs() {
    PyObject* given[kMaxOutputs] = {};
    int first = -1, others = 0;
    for (int o = 0; o < row_.outputs; ++o) {
      given[o] = values_[entry_.output[o]];
      if (row_.patterns->is_parameter[o]) continue;
      if (others++ == 0) first = o;
    }
    if (first >= 0 && given[first] && PyTuple_Check(given[first])) {
      PyObject* all = given[first];
      if (PyTuple_GET_SIZE(all) != others) {
        PyErr_Format(PyExc_TypeError, "%s(): out must be a Tensor, or a tuple of %d", row_.name, others);
        return false;
      }
      for (int o = first, i = 0; o < row_.outputs; ++o) {
        if (!row_.patterns->is_parameter[o]) given[o] = PyTuple_GET_ITEM(all, i++);
      }
    }
    for (int o = 0; o < row_.outputs; ++o) {
      if (row_.patterns->may_be_none[o] && (given[o] == nullptr || given[o] == Py_None)) continue;
      if (row_.patterns->is_parameter[o] && (given[o] == nullptr || !is_tensor(given[o]))) {
        PyErr_Format(PyExc_TypeError, "%s(): %s is written, and must be a Tensor, not %.100s", row_.name,
                     row_.output_parameters[o], given[o] ? Py_TYPE(given[o])->tp_name : "nothing");
        return false;
      }
      if (!find_output(o, given[o])) return false;
    }
    return true;
  }

  bool find_output(int o, PyObject* out) {
    if (row_.written >= 0) {
      tensors_[0] = tensors_[row_.written + 1];
      return true;
    }
    if (out == Py_None) out = nullptr;
    if (entry_.is_functional && row_.takes_inplace) {
      PyObject* wish = values_[entry_.positional - 1];
      const int inplace = wish ? PyObject_IsTrue(wish) : 0;
      if (inplace < 0) return explain_argument(row_.name, "inplace", "True or False", wish);
      if (inplace && out != nullptr) {
        PyErr_Format(PyExc_ValueError, "%s(): either inplace or out, not both", row_.name);
        return false;
      }
      if (inplace) out = as_object(tensors_[1]);
    }
    if (out == nullptr) return make_output(o);
    if (!is_tensor(out)) {
      PyErr_Format(PyExc_TypeError, "%s(): %s must be a Tensor, not %.100s", row_.name, row_.output_parameters[o],
                   Py_TYPE(out)->tp_name);
      return false;
    }
    tensors_[o] = as_tensor(out);
    return is_on_place(tensors_[o], row_.output_parameters[o]);
  }

  // The operator's shapes, and its types.
  bool make_written(int o) {
    Py_ssize_t shape[kMaxDimensions];
    int ndim = 0;
    if (!pattern_shape(row_.name, *row_.patterns, o, tensors_, given(), attributes_, shape, &ndim)) {
      return explain_dimensions(row_, tensors_, attributes_);
    }
    const int made_as = row_.patterns->made_as[o];
    DtypeObject* dtype = made_as < 0 ? tensors_[~made_as]->dtype : dtype_of(static_cast<infiniDtype_t>(made_as));
    made_[o] = Ref(as_object(new_tensor(place_, dtype, ndim, shape)));
    if (made_[o]) tensors_[o] = as_tensor(made_[o].get());
    return bool(made_[o]);
  }

  bool make_output(int o) {
    if (row_.patterns) return make_written(o);
    if (row_.shape_rule == ShapeRule::Given || row_.dtype_rule == DtypeRule::Cast) {
      PyErr_Format(PyExc_TypeError, "%s() needs the argument 'out'", row_.name);
      return false;
    }
    Py_ssize_t shape[kMaxDimensions];
    int ndim = 0;
    const bool known = output_shape(row_, o, tensors_, dimensions_, shape, &ndim);
    if (!known) return false;
    DtypeObject* dtype = row_.dtype_rule == DtypeRule::Truth ? dtype_of(INFINI_DTYPE_BOOL) : dtype_;
    const bool is_whole = dtype_->kind == 'i' || dtype_->kind == 'u' || dtype_->kind == 'b';
    if (row_.dtype_rule == DtypeRule::Wide && is_whole) dtype = dtype_of(INFINI_DTYPE_I64);
    made_[o] = Ref(as_object(new_tensor(place_, dtype, ndim, shape)));
    if (made_[o]) tensors_[o] = as_tensor(made_[o].get());
    return bool(made_[o]);
  }

  bool find_descriptor() {
    int64_t words[4 + kMaxTensors * (1 + 2 * kMaxDimensions) + kMaxAttributes];
    size_t count = 0;
    words[count++] = &row_ - rows;
    if (row_.along != RowsAlong::None) {
      uint64_t named = 0;
      for (size_t i = 0; i < dimensions_.count; ++i) named |= uint64_t{1} << dimensions_.dims[i];
      words[count++] = static_cast<int64_t>(named);
      words[count++] = dimensions_.axis * 2 + dimensions_.keeps;
    }
    for (int t = 0; t < given(); ++t) {
      const TensorObject* tensor = tensors_[t];
      if (tensor == nullptr) {
        words[count++] = -1;
        continue;
      }
      words[count++] = tensor->dtype->number << 8 | tensor->ndim();
      for (Py_ssize_t i = 0; i < tensor->ob_size; ++i) words[count++] = tensor->sizes[i];
    }
    if (row_.attributes_are_early) {
      std::memcpy(words + count, attributes_, sizeof(double) * static_cast<size_t>(row_.attributes));
      count += static_cast<size_t>(row_.attributes);
    }
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < count; ++i) {
      hash = (hash ^ static_cast<uint64_t>(words[i])) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    }
    const DescriptorKey key = {words, count, hash};
    descriptor_ = place_->descriptors->find(key);
    if (descriptor_) [[likely]]
      return true;
    descriptor_ = create_descriptor();
    if (!descriptor_) return false;
    place_->descriptors->insert(key, descriptor_);
    return true;
  }

  std::shared_ptr<Descriptor> create_descriptor() const try {
    if (!check_open(place_)) return nullptr;
    auto made = std::make_shared<Descriptor>();
    made->destroy = row_.destroy;
    const std::shared_ptr<void> life = *place_->handle_life;  // another thread may close the place meanwhile
    const infiniopHandle_t handle = place_->handle;
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    // A device type may have to compile the operator.
    const infinirtError_t error = without_lock(true, [&] {
      return on_device(place_->stream, [&] {
        infiniopTensorDescriptor_t described[kMaxTensors] = {};
        for (int t = 0; t < row_.tensors && !status; ++t) {
          // What is not used stands in the signature only, and has the output's shape; or may be null, as what is left out.
          const bool is_null = (row_.along != RowsAlong::None || row_.patterns) && tensors_[t] == nullptr;
          if (is_null) continue;
          const TensorObject* tensor = tensors_[t < given() ? t : 0];
          status = frame.CreateTensorDescriptor(&described[t], static_cast<size_t>(tensor->ndim()),
                                                reinterpret_cast<const size_t*>(tensor->shape()), tensor->strides(),
                                                tensor->dtype->number);
        }
        if (!status) status = row_.create(handle, &made->handle, described, attributes_, dimensions_);
        if (!status) status = row_.workspace_size(made->handle, &made->workspace_size);
        for (auto* tensor : described) {
          if (tensor) frame.DestroyTensorDescriptor(tensor);
        }
        return infinirtSuccess;
      });
    });
    if (error != infinirtSuccess) objects->raise_error(error);
    if (error == infinirtSuccess && status != INFINI_STATUS_SUCCESS) explain(status, row_, tensors_, dimensions_);
    return PyErr_Occurred() ? nullptr : made;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return nullptr;
  }

  bool prepare(Launch* launch) {
    launch->row = &row_;
    launch->descriptor = descriptor_->handle;
    for (int t = 0; t < row_.tensors; ++t)
      launch->addresses[t] = t < given() && tensors_[t] ? tensors_[t]->data : nullptr;
    std::memcpy(launch->attributes, attributes_, sizeof attributes_);
    std::memcpy(launch->element, element_, sizeof element_);
    launch->workspace = nullptr;
    launch->workspace_size = descriptor_->workspace_size;
    if (launch->workspace_size == 0) [[likely]]
      return true;
    workspace_ = Ref(allocate(place_, launch->workspace_size));  // freed in the stream's order
    size_t size = 0;
    return workspace_ && objects->buffer_memory(workspace_.get(), &launch->workspace, &size);
  }

  bool issue(const Launch& launch) {
    if (Recording* recording = recording_of(place_)) return recording->add(launch, descriptor_, tensors_, given());
    if (place_->waiting_reserves && !has_values()) [[unlikely]]
      return false;
    const infinirtStream_t stream = place_->stream_handle;
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    const bool release = objects->may_block(place_->stream);
    if (!place_->needs_device && !release) [[likely]] {
      status = launch(stream);
    } else {
      auto enqueue = [&] {
        status = launch(stream);
        return infinirtSuccess;
      };
      const infinirtError_t error =
          without_lock(release, [&] { return place_->needs_device ? on_device(place_->stream, enqueue) : enqueue(); });
      if (error != infinirtSuccess) return objects->raise_error(error) != nullptr;
    }
    if (status != INFINI_STATUS_SUCCESS) return raise_status(status, row_.name) != nullptr;
    return !touches_shared() || synchronise(place_);
  }

  // False, with an error: an input is the result of a recording, and its graph has not run.
  bool has_values() const {
    for (int t = row_.outputs; t < given(); ++t) {
      if (!tensors_[t] || !waits_for_run(tensors_[t])) continue;
      PyErr_Format(PyExc_RuntimeError,
                   "%s(): an input was made by a recording whose graph has not run: it has elements after graph.run()",
                   row_.name);
      return false;
    }
    return true;
  }

  bool touches_shared() const {
    bool shared = false;
    for (int t = 0; t < given(); ++t) shared |= tensors_[t] && tensors_[t]->storage->is_shared;
    return shared && place_->is_host;
  }

  const Entry& entry_;
  const OperatorRow& row_;
  PyObject** values_;
  PlaceObject* place_ = nullptr;
  DtypeObject* dtype_ = nullptr;
  TensorObject* tensors_[kMaxTensors] = {};
  Ref made_inputs_[kMaxNumbers];
  std::vector<Ref> aside_;
  Ref made_[kMaxOutputs], workspace_;
  Dimensions dimensions_;
  double attributes_[kMaxAttributes] = {};
  unsigned char element_[16] = {};
  std::shared_ptr<Descriptor> descriptor_;
};

template <int Number, bool Functional>
PyObject* enter(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Entry& entry = entries[Functional][Number];
  PyObject* values[kMaxParameters] = {};
  if (!read_arguments(entry, args, count, names, values)) return nullptr;
  return Call(entry, values).run();
}

using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <bool Functional, int... Numbers>
Function function_of(int number, std::integer_sequence<int, Numbers...>) {
  static constexpr Function all[] = {enter<Numbers, Functional>...};
  return all[number];
}

bool add_function(PyObject* dict, PyObject* module_name, int number, bool functional) {
  const OperatorRow& row = rows[number];
  Entry& entry = entries[functional][number];
  entry.row = &row;
  entry.is_functional = functional;
  const auto add = [&](const char* parameter) {
    entry.names[entry.positional] = PyUnicode_InternFromString(parameter);
    return entry.positional++;
  };
  for (int a = 0; row.patterns && a < row.patterns->arguments; ++a) {
    const int tensor = row.patterns->argument[a];
    if (tensor < row.outputs) {
      entry.output[tensor] = add(row.output_parameters[tensor]);
    } else {
      entry.input[tensor - row.outputs] = add(row.parameters[tensor - row.outputs]);
    }
  }
  for (int i = 0; i < row.inputs && !row.patterns; ++i) {
    entry.input[i] = add(row.parameters[i]);
    if (i == 0 && *row.shape_parameter) entry.shape = add(row.shape_parameter);
  }
  if (row.along == RowsAlong::Axis || row.along == RowsAlong::Dims) entry.dim = add("dim");
  entry.attribute = entry.positional;
  for (int i = 0; i < row.attributes; ++i) add(row.parameters[row.inputs + i]);
  if (row.along == RowsAlong::Dims) entry.keepdim = add("keepdim");
  if (row.takes_element) add("value");
  if (functional && row.takes_inplace) add("inplace");
  entry.parameters = entry.positional;
  for (int o = 0; o < row.outputs && row.written < 0; ++o) {
    if (row.patterns && row.patterns->is_parameter[o]) continue;
    entry.output[o] = entry.parameters;
    entry.names[entry.parameters++] = PyUnicode_InternFromString(row.output_parameters[o]);
  }
  constexpr auto numbers = std::make_integer_sequence<int, kOperators>();
  const Function function = functional ? function_of<true>(number, numbers) : function_of<false>(number, numbers);
  entry.definition = {row.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
                      METH_FASTCALL | METH_KEYWORDS, functional ? row.functional_doc : row.doc};
  Ref made(PyCFunction_NewEx(&entry.definition, nullptr, module_name));
  return made && PyDict_SetItemString(dict, row.name, made.get()) == 0;
}

PyObject* set_encoder(PyObject*, PyObject* function) {
  if (!PyCallable_Check(function)) return PyErr_Format(PyExc_TypeError, "a function was expected, not %R", function);
  PyObject* previous = encoder;
  encoder = Py_NewRef(function);
  Py_XDECREF(previous);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"set_encoder", set_encoder, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

void note_entry(const Entry& entry) {
  if (entry.row->takes_element) fill_entry = &entry;
  if (entry.row->copies) copy_entry = &entry;
  for (int i = 0; i < static_cast<int>(Symbol::Count); ++i) {
    if (std::strcmp(entry.row->symbol, kSymbols[i]) == 0) by_symbol[i] = &entry;
  }
}

}  // namespace

PyObject* apply(Symbol symbol, PyObject* first, PyObject* second, bool in_place) {
  const bool number = is_tensor(first) && (PyFloat_Check(second) || PyLong_Check(second));
  const bool reflected = is_tensor(second) && (PyFloat_Check(first) || PyLong_Check(first));
  if (!number && !reflected && !(is_tensor(first) && is_tensor(second)) &&
      !(is_tensor(first) ? is_number(second) : is_number(first))) {
    PyObject* other = is_tensor(first) ? second : first;
    if (!PyObject_HasAttrString(other, "__array_interface__")) Py_RETURN_NOTIMPLEMENTED;
    PyErr_Format(PyExc_TypeError, "a tensor and a %s: make a tensor of it first, infinicore.from_numpy(array)",
                 Py_TYPE(other)->tp_name);
    return nullptr;
  }
  PyObject* values[kMaxParameters] = {first, second};
  // A product with a number is one launch, not two; of integers the number must not lose what does not fit.
  if (symbol == Symbol::Mul && (number || reflected)) {
    PyObject* tensor = number ? first : second;
    if (as_tensor(tensor)->dtype->kind == 'f') {
      symbol = Symbol::MulNumber;
      values[0] = tensor;
      values[1] = number ? second : first;
    }
  }
  const Entry* entry = by_symbol[static_cast<int>(symbol)];
  if (entry == nullptr) Py_RETURN_NOTIMPLEMENTED;
  if (in_place) values[entry->positional] = first;
  return Call(*entry, values).run();
}

PyObject* apply(Symbol symbol, PyObject* tensor) {
  if (symbol == Symbol::Invert && as_tensor(tensor)->dtype->number == INFINI_DTYPE_BOOL) symbol = Symbol::InvertTruth;
  const Entry* entry = by_symbol[static_cast<int>(symbol)];
  if (entry == nullptr) Py_RETURN_NOTIMPLEMENTED;
  PyObject* values[kMaxParameters] = {tensor};
  return Call(*entry, values).run();
}

bool fill(PyObject* element, PyObject* tensor) {
  PyObject* values[kMaxParameters] = {element, tensor};
  return bool(Ref(Call(*fill_entry, values).run()));
}

bool add_operators(PyObject* module) {
  if (!load_operators() || PyModule_AddFunctions(module, functions) < 0) return false;
  Ref all(PyDict_New()), functional(PyDict_New()), hidden(PyDict_New());
  Ref name(PyUnicode_FromString("infinicore")), functional_name(PyUnicode_FromString("infinicore.nn.functional"));
  if (!all || !functional || !hidden || !name || !functional_name) return false;
  for (int number = 0; number < kOperators; ++number) {
    PyObject* dict = rows[number].is_public ? all.get() : hidden.get();
    if (!add_function(dict, name.get(), number, false)) return false;
    note_entry(entries[false][number]);
    if (rows[number].is_functional && !add_function(functional.get(), functional_name.get(), number, true))
      return false;
  }
  return PyModule_AddObjectRef(module, "operators", all.get()) == 0 &&
         PyModule_AddObjectRef(module, "functional", functional.get()) == 0 &&
         PyModule_AddObjectRef(module, "building_blocks", hidden.get()) == 0;
}

}  // namespace infinicore
