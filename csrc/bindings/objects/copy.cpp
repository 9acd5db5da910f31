// Copies and fills of buffers, in stream order.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "bindings/objects/arguments.h"
#include "bindings/objects/buffer.h"
#include "bindings/objects/callable.h"
#include "bindings/objects/capture.h"
#include "bindings/objects/deferred.h"
#include "infinirt_observe.h"

namespace infinirt::objects {

namespace {

// Objects say in their own words, by exceptions of their own, that they do not show their memory; what one can do about it is ours to say.
void say_why_not(PyObject* object, bool writable) {
  Py_buffer view;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const auto shows = [&](int how) {
    if (PyObject_GetBuffer(object, &view, how) < 0) return PyErr_Clear(), false;
    PyBuffer_Release(&view);
    return true;
  };
  if (writable && shows(PyBUF_ANY_CONTIGUOUS)) {
    PyErr_Format(type, "dst, an object of '%s', is read-only", Py_TYPE(object)->tp_name);
  } else if (shows(PyBUF_FULL_RO)) {
    PyErr_Format(type,
                 "the elements of %s, an object of '%s', do not lie side by side; numpy.ascontiguousarray(...) makes "
                 "an array whose elements do",
                 writable ? "dst" : "src", Py_TYPE(object)->tp_name);
  } else {
    return PyErr_Restore(type, value, trace);
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

void say_what_is_taken(PyObject* object, bool writable) {
  const bool is_text = PyUnicode_Check(object) || PyObject_HasAttrString(object, "__fspath__");
  const bool is_list = PyList_Check(object) || PyTuple_Check(object);
  const char* advice = "";
  if (writable) {
    if (is_text) advice = "; to write a file, copy to an array and save that: array.tofile(path)";
    if (is_list) advice = "; numpy.empty(size, numpy.uint8) is an array to copy to";
  } else {
    if (is_text) advice = "; text.encode() makes bytes of text, numpy.fromfile(path, numpy.uint8) reads a file";
    if (is_list) advice = "; numpy.asarray(...) makes an array of a list";
    if (PyLong_Check(object) || PyFloat_Check(object)) advice = "; fill() writes one value everywhere";
  }
  if (PyObject_HasAttrString(object, "__dlpack__")) advice = "; infinirt.as_buffer(...) makes a Buffer of it";
  PyErr_Format(PyExc_TypeError,
               "%s must be a Buffer, or an object that shows its memory, such as a NumPy array or %s, not %.100s%s",
               writable ? "dst" : "src", writable ? "a bytearray" : "bytes", Py_TYPE(object)->tp_name, advice);
}

// One side of a copy: a Buffer, or host memory behind the buffer protocol.
class Side {
 public:
  Side() = default;
  ~Side() {
    if (view_) drop_buffer_view(view_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  bool open(PyObject* object, bool writable) {
    if (is_buffer(object)) {
      buffer_ = reinterpret_cast<BufferObject*>(object);
      pointer = buffer_->pointer;
      size = buffer_->size;
      if (writable && buffer_->read_only) {
        raise_error(infinirtErrorInvalidValue, "the destination is read-only memory");
        return false;
      }
      return check_open(buffer_);
    }
    auto view = std::make_unique<Py_buffer>();
    if (!PyObject_CheckBuffer(object)) {
      return say_what_is_taken(object, writable), false;
    }
    if (PyObject_GetBuffer(object, view.get(), PyBUF_ANY_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0)
      return say_why_not(object, writable), false;
    view_ = view.release();
    pointer = static_cast<char*>(view_->buf);
    size = static_cast<size_t>(view_->len);
    return true;
  }

  // After the work is enqueued: whatever it still needs must outlive it.
  infinirtError_t keep(StreamObject* stream, const CaptureState& capture) {
    if (buffer_) return note_use(buffer_, stream, capture);
    if (capture.active) return graph_keeps(capture.graph, std::exchange(view_, nullptr), drop_buffer_view);
    if (is_unregistered(pointer, stream->device))
      return infinirtSuccess;  // the copy was complete, or staged, when the call returned
    return on_stream(stream, [&](infinirtStream_t s) {
      return infinirtXLaunchHostFunc(s, run_nothing, std::exchange(view_, nullptr), drop_buffer_view);
    });
  }

  // Memory that was allocated in stream order on devices of that type: no host memory that may be pageable.
  bool is_pool_memory_of(const char* type) const {
    return buffer_ != nullptr && buffer_->device->type == type && whole(buffer_)->from_pool;
  }

  char* pointer = nullptr;
  size_t size = 0;

 private:
  BufferObject* buffer_ = nullptr;
  Py_buffer* view_ = nullptr;
};

bool copy(PyObject* to, PyObject* from, StreamObject* stream) {
  Side source, target;
  if (!source.open(from, false) || !target.open(to, true)) return false;
  if (source.size != target.size) {
    raise_error(infinirtErrorInvalidValue,
                "the source has %zu bytes, the destination %zu; copy parts of buffers by slicing, buffer[start:stop]",
                source.size, target.size);
    return false;
  }
  if (source.size == 0) return true;
  const char* type = stream->device ? stream->device->type : nullptr;
  const bool is_quick = source.is_pool_memory_of(type) && target.is_pool_memory_of(type);
  infinirtError_t error = without_gil(!is_quick || stream->may_block, [&] {
    return on_stream(stream, [&](infinirtStream_t s) {
      return rt.MemcpyAsync(target.pointer, source.pointer, source.size, infinirtMemcpyDefault, s);
    });
  });
  CaptureState capture;
  if (error == infinirtSuccess) error = look_at_capture(stream, &capture);
  if (error == infinirtSuccess) error = source.keep(stream, capture);
  if (error == infinirtSuccess) error = target.keep(stream, capture);
  if (error == infinirtSuccess) return true;
  raise_error(error);
  return false;
}

constexpr size_t kPatternBytes = size_t{16} << 10;

// Writes repetitions of `pattern`: a first piece from the host, which doubles itself.
infinirtError_t fill_pattern(BufferObject* buffer, const char* pattern, size_t period, StreamObject* stream) {
  const size_t first = std::min(buffer->size, std::max(period, kPatternBytes / period * period));
  python::Ref piece(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(first)));
  if (!piece) {
    PyErr_Clear();
    return infinirtErrorMemoryAllocation;
  }
  char* bytes = PyBytes_AS_STRING(piece.get());
  for (size_t at = 0; at < first; at += period) std::memcpy(bytes + at, pattern, period);
  const bool is_observed = infinirtXObserved() != 0;
  const auto copy = [&](char* target, const char* source, size_t size, infinirtStream_t s) {
    if (is_observed) infinirtXNameNextWork("fill with a pattern");  // it ends with the call
    return rt.MemcpyAsync(target, source, size, infinirtMemcpyDefault, s);
  };
  infinirtError_t error = without_gil(true, [&] {
    return on_stream(stream, [&](infinirtStream_t s) {
      infinirtError_t failed = copy(buffer->pointer, bytes, first, s);
      for (size_t done = first; done < buffer->size && failed == infinirtSuccess; done *= 2)
        failed = copy(buffer->pointer + done, buffer->pointer, std::min(done, buffer->size - done), s);
      return failed;
    });
  });
  CaptureState capture;
  look_at_capture(stream, &capture);
  if (error == infinirtSuccess && capture.active) error = graph_keeps(capture.graph, piece.release(), drop_object);
  return error;
}

bool all_equal(const char* bytes, size_t count) { return std::memcmp(bytes, bytes + 1, count - 1) == 0; }

// Memory that the runtime did not allocate, imported from NumPy say: it can be copied to, but not set.
bool is_plain_host_memory(BufferObject* buffer) {
  if (whole(buffer)->from_pool || whole(buffer)->cache) return false;
  return is_unregistered(buffer->pointer, buffer->device);
}

// Whether somebody keeps the memory alive. An address alone, that nobody knows anything about, may be a mistake.
bool is_vouched_for(BufferObject* buffer) {
  return whole(buffer)->resource != nullptr || whole(buffer)->owner != nullptr;
}

}  // namespace

PyObject* buffer_copy_to(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* buffer = reinterpret_cast<BufferObject*>(self);
  drain_deferred();
  static const Signature signature("copy_to", {"dst", "stream"}, 1);
  PyObject* values[2] = {Py_None, Py_None};
  if (!signature.read(args, count, names, values) || !check_open(buffer)) return nullptr;
  python::Ref stream(stream_for(buffer, values[1]));
  if (!stream) return nullptr;
  python::Ref target(Py_NewRef(values[0]));
  if (values[0] == Py_None) {
    python::Ref resource(field_of(whole(buffer), whole(buffer)->resource));
    PyObject* source = resource ? resource.get() : reinterpret_cast<PyObject*>(buffer->device);
    python::Ref allocate(PyObject_GetAttrString(source, "allocate")), size(PyLong_FromSize_t(buffer->size));
    if (!allocate || !size) return nullptr;
    PyObject* call[] = {size.get(), stream.get()};
    static PyObject* const keywords = Py_BuildValue("(s)", "stream");
    target = python::Ref(PyObject_Vectorcall(allocate.get(), call, 1, keywords));
    if (!target) return nullptr;
  }
  return copy(target.get(), self, reinterpret_cast<StreamObject*>(stream.get())) ? target.release() : nullptr;
}

PyObject* buffer_copy_from(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* buffer = reinterpret_cast<BufferObject*>(self);
  drain_deferred();
  static const Signature signature("copy_from", {"src", "stream"}, 1);
  PyObject* values[2] = {nullptr, Py_None};
  if (!signature.read(args, count, names, values) || !check_open(buffer)) return nullptr;
  if (values[0] == nullptr) return PyErr_Format(PyExc_TypeError, "copy_from() needs a source");
  python::Ref stream(stream_for(buffer, values[1]));
  if (!stream || !copy(self, values[0], reinterpret_cast<StreamObject*>(stream.get()))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* buffer_fill(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  auto* buffer = reinterpret_cast<BufferObject*>(self);
  drain_deferred();
  static const Signature signature("fill", {"value", "stream"}, 1);
  PyObject* values[2] = {nullptr, Py_None};
  if (!signature.read(args, count, names, values) || !check_open(buffer)) return nullptr;
  if (values[0] == nullptr) return PyErr_Format(PyExc_TypeError, "fill() needs a value");
  if (buffer->read_only) return raise_error(infinirtErrorInvalidValue, "the buffer is read-only memory");
  python::Ref reference(stream_for(buffer, values[1]));
  if (!reference) return nullptr;
  auto* stream = reinterpret_cast<StreamObject*>(reference.get());
  std::string pattern;
  if (PyLong_Check(values[0])) {
    const long value = PyLong_AsLong(values[0]);
    if (PyErr_Occurred() || value < 0 || value > 255) {
      PyErr_Clear();
      return raise_error(infinirtErrorInvalidValue,
                         "fill() takes a byte, 0 to 255, or the bytes of a larger pattern (bytes, NumPy scalar)");
    }
    pattern.assign(1, static_cast<char>(value));
  } else {
    if (!PyObject_CheckBuffer(values[0])) {
      return PyErr_Format(
          PyExc_TypeError,
          "fill() takes a byte, 0 to 255, or the bytes of a larger pattern (bytes, NumPy scalar), and not '%s'; "
          "numpy.float32(1.0) is a pattern of 4 bytes",
          Py_TYPE(values[0])->tp_name);
    }
    Py_buffer view;
    if (PyObject_GetBuffer(values[0], &view, PyBUF_ANY_CONTIGUOUS) < 0) return nullptr;
    pattern.assign(static_cast<const char*>(view.buf), static_cast<size_t>(view.len));
    PyBuffer_Release(&view);
  }
  if (pattern.empty() || buffer->size % pattern.size() != 0) {
    return raise_error(infinirtErrorInvalidValue, "a pattern of %zu bytes does not divide a buffer of %zu bytes",
                       pattern.size(), buffer->size);
  }
  if (buffer->size == 0) Py_RETURN_NONE;
  const bool is_plain = is_plain_host_memory(buffer);
  if (is_plain && !is_vouched_for(buffer)) {
    return raise_error(
        infinirtErrorInvalidValue,
        "fill(): the memory at %p was freed, or is not memory of this runtime; if it is host memory, say "
        "who keeps it alive: Buffer.from_handle(..., owner=...)",
        static_cast<void*>(buffer->pointer));
  }
  infinirtError_t error;
  if (all_equal(pattern.data(), pattern.size()) && !is_plain) {
    error = without_gil(stream->may_block, [&] {
      return on_stream(stream, [&](infinirtStream_t s) {
        return rt.MemsetAsync(buffer->pointer, static_cast<unsigned char>(pattern[0]), buffer->size, s);
      });
    });
  } else {
    error = fill_pattern(buffer, pattern.data(), pattern.size(), stream);
    if (error != infinirtSuccess) return raise_error_as("fill()", error);
  }
  if (error == infinirtSuccess) error = note_use(buffer, stream);
  return none_or_raise(error);
}

}  // namespace infinirt::objects
