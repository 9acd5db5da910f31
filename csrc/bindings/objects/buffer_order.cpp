// Streams that have to wait for a buffer's pending work.
#include "bindings/objects/buffer.h"
#include "bindings/objects/deferred.h"

namespace infinirt::objects {

bool order_after_work(BufferObject* given, StreamObject* target) {
  BufferObject* buffer = whole(given);
  // Graph launches are not noted per buffer, so here the host has to wait; in a capture that would break it.
  if (buffer->in_graphs.load()) {
    const bool free = on_stream(target, [](infinirtStream_t s) {
                        return is_in_capture(s) ? infinirtErrorNotReady : infinirtSuccess;
                      }) == infinirtSuccess;
    if (free) return wait_for_work(buffer);
    PyErr_SetString(PyExc_BufferError,
                    "graphs use the memory, and while a stream is being captured nobody can wait for them; wait before "
                    "the capture and ask for no order");
    return false;
  }
  std::vector<python::Ref> streams = other_streams(buffer, false);
  if (PyObject* own = field_of(buffer, buffer->stream)) streams.emplace_back(own);
  const infinirtError_t error = without_gil(true, [&] {
    return on_stream(target, [&](infinirtStream_t s) {
      infinirtError_t failed = infinirtSuccess;
      for (const auto& reference : streams) {
        auto* stream = reinterpret_cast<StreamObject*>(reference.get());
        if (failed == infinirtSuccess && !is_same_stream(stream, target)) failed = join(s, stream);
      }
      return failed;
    });
  });
  if (error == infinirtSuccess) return true;
  raise_error(error);
  return false;
}

PyObject* order_after(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *object = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &given, &object)) return nullptr;
  if (!is_buffer(object)) return PyErr_Format(PyExc_TypeError, "a Buffer was expected");
  auto* buffer = reinterpret_cast<BufferObject*>(object);
  if (!check_open(buffer)) return nullptr;
  python::Ref stream(stream_for(buffer, given));
  if (!stream || !order_after_work(buffer, reinterpret_cast<StreamObject*>(stream.get()))) return nullptr;
  return stream.release();
}

}  // namespace infinirt::objects
