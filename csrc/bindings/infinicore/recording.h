// Recording: operators that a thread calls on a place are kept, not run, and become a graph.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/infinicore/descriptors.h"
#include "bindings/infinicore/operators.h"

namespace infinicore {

/// One operator call, one call of a Python function, or work that was captured.
struct Step {
  Launch launch = {};
  std::shared_ptr<Descriptor> descriptor;
  Ref function;  // set: a Python function, and nothing of the above
  Ref captured;  // set: the infinirt.Graph of `graph`, and nothing of the above
  infinirtGraph_t graph = nullptr;
  std::string text;
  size_t bytes = 0;  // of the tensors that it touches
  bool can_be_captured = true;
};

/// What is recorded, and what keeps its memory in place. Handed over to the graph.
struct Recorded {
  PlaceObject* place = nullptr;  // a reference
  std::vector<Step> steps;
  std::vector<Ref> owners;  // of memory that was there before
  infinirtXCacheReserve_t reserve = 0;
  size_t reserved_bytes = 0;  // of the reserve, at addresses that differ

  /// Whether others read or write, in place, memory that this uses; under the interpreter's lock.
  bool touches_shared() const;

  Recorded() = default;
  Recorded(Recorded&&) noexcept;
  ~Recorded();
};

/// Belongs to one thread, which drops it at its end.
class Recording {
 public:
  Recording(PlaceObject* place, infinirtXCacheReserve_t reserve);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  infinirtXCacheReserve_t reserve() const { return recorded_.reserve; }

  /// All of these: false or null with an exception, and then nothing has changed.
  bool add(const Launch& launch, const std::shared_ptr<Descriptor>& descriptor, TensorObject* const* tensors,
           int count);
  bool add(PyObject* function);
  bool add(PyObject* captured, infinirtGraph_t graph, const char* text);
  PyObject* allocate(size_t size);

  /// How many steps there are; and back to that many. What the others used stays kept.
  size_t size() const { return recorded_.steps.size(); }
  void shrink(size_t size) {
    if (size < recorded_.steps.size()) recorded_.steps.resize(size);
  }

  Recorded take() { return std::move(recorded_); }

 private:
  friend Recording* recording_of(const PlaceObject* place);

  PlaceObject* place_;
  unsigned long thread_;
  Recording* next_;
  Recorded recorded_;
  std::unordered_set<const void*> owned_;
  std::unordered_map<const void*, size_t> blocks_;
};

/// What the calling thread records on the place; null: nothing.
inline Recording* recording_of(const PlaceObject* place) {
  if (place->recordings == nullptr) [[likely]]
    return nullptr;
  const unsigned long thread = PyThread_get_thread_ident();
  Recording* recording = place->recordings;
  while (recording && recording->thread_ != thread) recording = recording->next_;
  return recording;
}

PyObject* start_recording(PlaceObject* place);
PyObject* stop_recording(PlaceObject* place);
PyObject* cancel_recording(PlaceObject* place);
PyObject* record_call(PlaceObject* place, PyObject* function);
/// (infinirt.Graph, text)
PyObject* record_graph(PlaceObject* place, PyObject* args);

extern PyTypeObject* recording_class;
PyTypeObject* make_recording_type();

extern PyTypeObject* graph_class;
PyTypeObject* make_graph_type();

/// A graph that is ready to run, of what was recorded: a new reference, or null with an exception.
PyObject* make_graph(Recorded recorded);

}  // namespace infinicore
