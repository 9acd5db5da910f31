// Recording: operators that a thread calls on a place are kept, not run, and become a graph.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/infinicore/descriptors.h"
#include "bindings/infinicore/operators.h"
#include "infinirt_observe.h"

namespace infinicore {

/// A tensor as an operator sees it, kept without keeping its memory.
struct View {
  char* data = nullptr;
  char *low = nullptr, *high = nullptr;  // the first byte, and the one behind the last
  const DtypeObject* dtype = nullptr;
  size_t count = 0;
  std::vector<Py_ssize_t> sizes;  // the shape, then the strides in elements
  std::shared_ptr<bool> life;  // of memory that the recording allocated: whether a tensor has it still; else null

  size_t ndim() const { return sizes.size() / 2; }
  bool meets(const View& other) const { return low < other.high && other.low < high; }
  /// Element on element.
  bool is(const View& other) const { return data == other.data && dtype == other.dtype && sizes == other.sizes; }
  bool has_shape_of(const View& other) const {
    return ndim() == other.ndim() && std::equal(sizes.begin(), sizes.begin() + Py_ssize_t(ndim()), other.sizes.begin());
  }
};

/// One operator call, several of them in one pass, one call of a Python function, or work that was captured.
struct Step {
  Launch launch = {};
  std::shared_ptr<Descriptor> descriptor;
  std::vector<View> views;  // of the outputs, then of the inputs
  size_t outputs = 1;
  /// Work that is not ours may read the output: a tensor had it when that work was recorded.
  bool escapes = false;
  bool is_chain = false;  // `descriptor` is one of infiniopXChain, with these
  void* addresses[INFINIOPX_MAX_CHAIN_OPERANDS] = {};
  std::vector<std::string> parts;  // texts of the calls that it is made of; empty: it is one itself
  Ref function;  // set: a Python function, and nothing of the above
  Ref captured;  // set: the infinirt.Graph of `graph`, and nothing of the above
  infinirtGraph_t graph = nullptr;
  std::string text;
  size_t bytes = 0;  // of the tensors that it touches
  bool can_be_captured = true;

  infiniStatus_t enqueue(infinirtStream_t stream) const {
    if (!is_chain) return launch(stream);
    const auto chain = static_cast<infiniopXChainDescriptor_t>(descriptor->handle);
    if (!infinirtXObserved()) return frame.Chain(chain, addresses, stream);
    infinirtXNameNextWork(text.c_str());  // its kernel is called the same whatever it computes
    const infiniStatus_t status = frame.Chain(chain, addresses, stream);
    infinirtXNameNextWork(nullptr);
    return status;
  }
};

/// What is done to a graph before it runs; each can be left out.
struct Optimisations {
  bool remove_unused = true;  // calls whose results nobody can see, and copies that others can do without
  bool fuse = true;           // element-wise operators that follow one another, in one pass
  bool share_memory = true;   // results that are not needed any more make room for later ones
};

/// What is recorded, and what keeps its memory in place. Handed over to the graph.
struct Recorded {
  PlaceObject* place = nullptr;  // a reference
  Optimisations wanted;
  size_t calls = 0;  // that were recorded, whatever became of them
  std::vector<Step> steps;
  std::vector<std::pair<std::string, const char*>> removed;  // calls that are not made, and why
  std::vector<std::pair<std::string, std::string>> refused;  // calls that could not be fused, and what the device said
  std::vector<Ref> owners;  // of memory that was there before, or is not shared
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
  Recording(PlaceObject* place, infinirtXCacheReserve_t reserve, Optimisations wanted);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  infinirtXCacheReserve_t reserve() const { return recorded_.reserve; }

  /// All of these: false or null with an exception, and then nothing has changed.
  bool add(const Launch& launch, const std::shared_ptr<Descriptor>& descriptor, TensorObject* const* tensors,
           int count);
  bool add(PyObject* function);
  /// `tensors`, a tuple or null, have memory that the captured work uses: it is kept as that of operators is.
  bool add(PyObject* captured, infinirtGraph_t graph, const char* text, PyObject* tensors);
  PyObject* allocate(size_t size);

  /// From here on work that is not ours may read what the program has now.
  void let_escape();

  /// How many steps there are; and back to that many. What the others used stays kept.
  size_t size() const { return recorded_.steps.size(); }
  void shrink(size_t size) {
    if (size < recorded_.steps.size()) recorded_.steps.resize(size);
    seen_ = std::min(seen_, recorded_.steps.size());
  }

  Recorded take() { return std::move(recorded_); }

 private:
  friend Recording* recording_of(const PlaceObject* place);

  void keep(const TensorObject* tensor);  // its memory, as long as what is recorded

  PlaceObject* place_;
  unsigned long thread_;
  Recording* next_;
  Recorded recorded_;
  size_t seen_ = 0;  // steps that let_escape() has looked at
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

PyObject* start_recording(PlaceObject* place, Optimisations wanted);
PyObject* stop_recording(PlaceObject* place);
PyObject* cancel_recording(PlaceObject* place);
PyObject* record_call(PlaceObject* place, PyObject* function);
/// What the program has now may be read by work that is recorded next, and let go of by it.
PyObject* expect_others(PlaceObject* place);
/// (infinirt.Graph, text), and a tuple of the tensors that it uses
PyObject* record_graph(PlaceObject* place, PyObject* args);

extern PyTypeObject* recording_class;
PyTypeObject* make_recording_type();

extern PyTypeObject* graph_class;
PyTypeObject* make_graph_type();

/// A graph that is ready to run, of what was recorded: a new reference, or null with an exception.
PyObject* make_graph(Recorded recorded);

}  // namespace infinicore
