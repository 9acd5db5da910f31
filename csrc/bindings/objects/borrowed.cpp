// Memory that is somebody else's: its owner is let go of when our work on the memory is done.
#include <utility>
#include <vector>

#include "bindings/objects/deferred.h"
#include "bindings/objects/release.h"

namespace infinirt::objects {

namespace {

// An owner on its way out, and what has to be done before.
struct Borrowed {
  PyObject* owner;
  std::vector<python::Ref> streams;     // where it is not known yet how far that is
  std::vector<infinirtEvent_t> events;  // where it is: the last of our work
};

// Asks a stream or an event. An asynchronous failure that is told only once must not be lost here.
template <class Ask>
bool is_done(Ask ask, infinirtError_t* failure) {
  const infinirtError_t error = ask();
  if (error == infinirtErrorNotReady) return false;
  if (error != infinirtSuccess && ask() != error) *failure = error;
  return true;
}

// True when the stream is dealt with: it is done, or an event says when.
bool look_at(const StreamObject* stream, Borrowed* borrowed, infinirtError_t* failure) {
  if (is_out_of_reach(stream)) return !stream->end || is_done([&] { return rt.EventQuery(stream->end); }, failure);
  const auto look = [&](infinirtStream_t s) {
    if (is_in_capture(s)) return infinirtErrorNotReady;
    if (is_done([&] { return rt.StreamQuery(s); }, failure)) return infinirtSuccess;
    OnDevice guard(stream->device);
    infinirtEvent_t event = nullptr;
    infinirtError_t error = guard.error();
    if (error == infinirtSuccess) error = rt.EventCreateWithFlags(&event, infinirtEventDisableTiming);
    if (error == infinirtSuccess) error = rt.EventRecord(event, s);
    if (error == infinirtSuccess) {
      borrowed->events.push_back(event);
    } else if (event) {
      rt.EventDestroy(event);
    }
    return error;
  };
  return on_stream(stream, look) == infinirtSuccess;
}

void report(infinirtError_t failure, PyObject* owner) {
  if (failure == infinirtSuccess) return;
  raise_error(failure);
  PyErr_WriteUnraisable(owner);
}

Outcome let_go(void* data) {
  auto* borrowed = static_cast<Borrowed*>(data);
  if (is_in_host_function()) return Outcome::NotNow;
  const RelaxedCaptureScope relaxed(nullptr);  // somebody else may be capturing
  infinirtError_t failure = infinirtSuccess;
  bool may_block = false;
  for (const auto& stream : borrowed->streams)
    may_block = may_block || reinterpret_cast<StreamObject*>(stream.get())->may_block;
  std::vector<python::Ref> left;
  std::vector<char> done(borrowed->streams.size());
  without_gil(may_block, [&] {
    for (size_t i = 0; i < done.size(); ++i)
      done[i] = look_at(reinterpret_cast<StreamObject*>(borrowed->streams[i].get()), borrowed, &failure);
    std::erase_if(borrowed->events, [&](infinirtEvent_t event) {
      if (!is_done([&] { return rt.EventQuery(event); }, &failure)) return false;
      rt.EventDestroy(event);
      return true;
    });
    return 0;
  });
  for (size_t i = 0; i < done.size(); ++i) {
    if (!done[i]) left.push_back(std::move(borrowed->streams[i]));
  }
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  report(failure, borrowed->owner);
  borrowed->streams = std::move(left);
  const bool finished = borrowed->streams.empty() && borrowed->events.empty();
  if (finished) {
    Py_DECREF(borrowed->owner);
    delete borrowed;
  }
  PyErr_Restore(type, value, trace);
  return finished ? Outcome::Done : Outcome::NotNow;
}

}  // namespace

void release_owner(BufferObject* buffer) {
  PyObject *owner = nullptr, *stream = nullptr;
  exclusively(buffer, [&] {
    owner = std::exchange(buffer->owner, nullptr);
    if (owner) stream = Py_XNewRef(buffer->stream);
  });
  if (owner == nullptr) return;
  std::vector<python::Ref> streams = other_streams(buffer, false);
  if (stream) streams.emplace_back(stream);
  if (streams.empty()) {
    Py_DECREF(owner);
    return;
  }
  do_or_defer(let_go, new Borrowed{owner, std::move(streams), {}});
}

}  // namespace infinirt::objects
