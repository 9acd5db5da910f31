#include "bindings/infinicore/explain.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace infinicore {

std::string text_of(const TensorObject& tensor) {
  std::string text = "[";
  for (int d = 0; d < tensor.ndim(); ++d) text += (d ? ", " : "") + std::to_string(tensor.shape()[d]);
  return text + "]";
}

bool row_shape(const OperatorRow& row, int output, const TensorObject& input, const Dimensions& dimensions,
               Py_ssize_t* shape, int* ndim) {
  if (row.is_reduced[output]) {
    reduce_shape(input, dimensions, shape, ndim);
  } else {
    *ndim = input.ndim();
    std::copy_n(input.shape(), *ndim, shape);
  }
  return true;
}

namespace {

class Explanation {
 public:
  Explanation(const OperatorRow& row, TensorObject* const* tensors, const Dimensions& dimensions)
      : row_(row), tensors_(tensors), dimensions_(dimensions) {}

  void run(infiniStatus_t status) const {
    if (row_.patterns) {
      // The library's words name tensors and sizes.
    } else if (status == INFINI_STATUS_BAD_TENSOR_DTYPE) {
      explain_dtypes();
    } else if (status == INFINI_STATUS_BAD_TENSOR_SHAPE) {
      explain_shapes();
    } else if (status == INFINI_STATUS_BAD_TENSOR_STRIDES) {
      explain_strides();
    }
    if (PyErr_Occurred()) {
      runtime.GetLastError();
    } else {
      raise_status(status, row_.name);
    }
  }

 private:
  int given() const { return row_.outputs + row_.inputs; }

  const char* name_of(int tensor) const {
    if (tensor < row_.outputs && row_.written < 0) return row_.output_parameters[tensor];
    return row_.parameters[tensor == 0 ? row_.written : tensor - row_.outputs];
  }

  void explain_dtypes() const {
    int first = row_.outputs;
    while (first + 1 < given() && row_.holds_truth[first - row_.outputs]) ++first;
    const auto holds_truth = [&](int t) { return t >= row_.outputs && row_.holds_truth[t - row_.outputs]; };
    for (int t = given() - 1; t >= (row_.dtype_rule == DtypeRule::Same && row_.inputs > 0 ? 0 : first + 1); --t) {
      if (!tensors_[t] || tensors_[t]->dtype == tensors_[first]->dtype || holds_truth(t)) continue;
      PyErr_Format(PyExc_TypeError, "%s(): %s is %s, but %s is %s; they must be the same, and .to() converts",
                   row_.name, name_of(t), tensors_[t]->dtype->name, name_of(first), tensors_[first]->dtype->name);
      return;
    }
    const std::string message = infinirtXGetLastErrorMessage();
    const size_t list = message.find("possible are ");
    if (list == std::string::npos) return;
    // Of the output's types, where they are not the inputs', or of the inputs'.
    const bool is_out = message.find(": " + std::string(row_.output) + " has type") != std::string::npos;
    int wrong = is_out || !row_.inputs ? 0 : first;
    for (int t = row_.outputs; t < given(); ++t) {
      if (holds_truth(t) && message.find(": " + std::string(name_of(t)) + " has type") != std::string::npos) wrong = t;
    }
    PyErr_Format(PyExc_TypeError, "%s(): %s is %s; possible are %s, and .to() converts", row_.name, name_of(wrong),
                 tensors_[wrong]->dtype->name,
                 names_of_dtypes(message.substr(list + sizeof "possible are " - 1)).c_str());
  }

  static bool repeats_to(const TensorObject& input, const TensorObject& out) {
    const int missing = out.ndim() - input.ndim();
    for (int d = 0; missing >= 0 && d < input.ndim(); ++d) {
      if (input.shape()[d] != 1 && input.shape()[d] != out.shape()[missing + d]) return false;
    }
    return missing >= 0;
  }

  // C's names of an operator on rows are not Python's: each tensor is compared with what it has to be.
  void explain_row_shapes() const {
    const TensorObject& first = *tensors_[row_.outputs];
    for (int o = 0; o < row_.outputs; ++o) {
      Py_ssize_t shape[kMaxDimensions];
      int ndim = 0;
      row_shape(row_, o, first, dimensions_, shape, &ndim);
      const TensorObject& out = *tensors_[o];
      if (out.ndim() == ndim && std::equal(shape, shape + ndim, out.shape())) continue;
      std::string expected;
      for (int d = 0; d < ndim; ++d) expected += (d ? ", " : "") + std::to_string(shape[d]);
      PyErr_Format(PyExc_ValueError, "%s(): %s has shape %s; with %s of shape %s it must have [%s]", row_.name,
                   name_of(o), text_of(out).c_str(), row_.parameters[0], text_of(first).c_str(), expected.c_str());
      return;
    }
    for (int t = row_.outputs + 1; t < given(); ++t) {
      const TensorObject* other = tensors_[t];
      const bool is_column = other && row_.may_be_none[t - row_.outputs];
      const Py_ssize_t length = first.ndim() ? first.shape()[first.ndim() - 1] : 0;
      if (!other || (is_column ? other->ndim() == 1 && other->shape()[0] == length : text_of(*other) == text_of(first)))
        continue;
      PyErr_Format(PyExc_ValueError, "%s(): %s has shape %s; with %s of shape %s it must have %s", row_.name,
                   name_of(t), text_of(*other).c_str(), row_.parameters[0], text_of(first).c_str(),
                   is_column ? ("[" + std::to_string(length) + "]").c_str() : text_of(first).c_str());
      return;
    }
    PyErr_Format(PyExc_ValueError, "%s(): %s has shape %s, of which it cannot be computed: %s", row_.name,
                 row_.parameters[0], text_of(first).c_str(), reason().c_str());
  }

  // What the operator library said, without the name of its function and of the tensor.
  static std::string reason() {
    const std::string message = infinirtXGetLastErrorMessage();
    size_t at = message.find("): ");
    if (at == std::string::npos) at = message.find("); ");
    return at == std::string::npos ? message : message.substr(at + 3);
  }

  void explain_shapes() const {
    if (row_.shape_rule == ShapeRule::Rows) return explain_row_shapes();
    for (int t = 1; row_.shape_rule == ShapeRule::Broadcast && t <= row_.inputs; ++t) {
      if (repeats_to(*tensors_[t], *tensors_[0])) continue;
      PyErr_Format(PyExc_ValueError, "%s(): %s has shape %s, which cannot be repeated to %s of shape %s", row_.name,
                   name_of(t), text_of(*tensors_[t]).c_str(), name_of(0), text_of(*tensors_[0]).c_str());
      return;
    }
  }

  void explain_strides() const {
    for (int o = 0; o < row_.outputs; ++o) {
      if (!tensors_[o]) continue;
      const TensorObject& out = *tensors_[o];
      for (int d = 0; d < out.ndim(); ++d) {
        if (out.shape()[d] <= 1 || out.strides()[d] != 0) continue;
        PyErr_Format(PyExc_ValueError,
                     "%s(): %s has one element for all %zd of dimension %d (its stride is 0), and cannot be written; "
                     "contiguous() makes a tensor that can",
                     row_.name, name_of(o), out.shape()[d], d);
        return;
      }
    }
  }

  const OperatorRow& row_;
  TensorObject* const* tensors_;
  const Dimensions& dimensions_;
};

}  // namespace

bool explain_argument(const char* function, const char* parameter, const char* expected, PyObject* given) {
  const bool is_too_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0 && PyLong_Check(given);
  if (!is_too_large && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
    return false;
  const PyNumberMethods* number = Py_TYPE(given)->tp_as_number;
  const bool has_code = number && (number->nb_float || number->nb_index);
  if (!is_too_large && has_code && !is_tensor(given) && PyErr_ExceptionMatches(PyExc_ValueError)) return false;
  PyErr_Clear();
  if (is_too_large) {  // how large is not said: Python refuses to print the longest
    PyErr_Format(PyExc_OverflowError, "%s(): %s is too large", function, parameter);
  } else if (is_tensor(given)) {
    PyErr_Format(PyExc_TypeError, "%s(): %s must be %s, not a Tensor of shape %s", function, parameter, expected,
                 text_of(*as_tensor(given)).c_str());
  } else if (PyList_Check(given) || PyTuple_Check(given)) {
    PyErr_Format(PyExc_TypeError, "%s(): %s must be %s, not %R", function, parameter, expected, given);
  } else {
    PyErr_Format(PyExc_TypeError, "%s(): %s must be %s, not %.100s", function, parameter, expected,
                 Py_TYPE(given)->tp_name);
  }
  return false;
}

bool explain_dimensions(const OperatorRow& row, TensorObject* const* tensors, const double* attributes) {
  for (int t = row.outputs; t < row.outputs + row.inputs; ++t) {
    const int least = least_dimensions(row.patterns->tensor[t], attributes);
    if (!tensors[t] || tensors[t]->ndim() >= least) continue;
    PyErr_Format(PyExc_ValueError, "%s(): %s has shape %s; at least %d dimension%s expected", row.name,
                 row.parameters[t - row.outputs], text_of(*tensors[t]).c_str(), least, least == 1 ? " was" : "s were");
    break;
  }
  return false;
}

void explain(infiniStatus_t status, const OperatorRow& row, TensorObject* const* tensors,
             const Dimensions& dimensions) {
  Explanation(row, tensors, dimensions).run(status);
}

bool explain_unknown(const char* function, PyObject* const* parameters, int count, PyObject* name) {
  constexpr std::pair<const char*, const char*> kElsewhere[] = {
      {"axis", "dim"}, {"keepdims", "keepdim"}, {"dim", "axis"}, {"a", "input"}, {"x", "input"}, {"tensor", "input"}};
  std::string known, hint;
  for (int i = 0; i < count; ++i) {
    const char* text = PyUnicode_AsUTF8(parameters[i]);
    known += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + std::string(text ? text : "");
    for (const auto& [elsewhere, here] : kElsewhere) {
      if (text && std::strcmp(text, here) == 0 && PyUnicode_CompareWithASCIIString(name, elsewhere) == 0)
        hint = std::string(", which is ") + here + " here";
    }
  }
  if (PyUnicode_CompareWithASCIIString(name, "stream") == 0)
    hint = ": operators run on the stream that infinicore.get_stream() is";
  PyErr_Format(PyExc_TypeError, "%s() has no parameter '%U'%s; it takes %s", function, name, hint.c_str(),
               known.c_str());
  return false;
}

}  // namespace infinicore
