// What a stream or a graph node does: a small tagged value that can be copied, executed and described.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/observe.h"
#include "engine/timeline.h"
#include "infinirt_ext.h"

namespace infinirt {

struct Backend;
struct Event;
struct Kernel;
struct Stream;
class GraphRun;

enum class WorkType : uint8_t {
  Nothing,   // a place in the order, no more
  Copy,      // 1D to 3D
  Fill,      // 1D to 3D
  Host,      // a host function
  Callback,  // infinirtStreamAddCallback: also called after an error, with it
  Kernel,
  Record,    // stamps an event's time
  Wait,      // parks until a point is reached
  WaitShared,  // waits for an event of another process
  RecordShared,  // publishes an event to other processes
  Graph,     // runs an executable graph
  Step,      // parks until a library says that it is over (infinirtXLaunchStep)
};

// Rows of `width` bytes, `height` rows per slice, `depth` slices. 1D: height = depth = 1, pitches unused.
struct CopyWork {
  void* dst;
  const void* src;
  size_t dst_pitch, src_pitch;  // bytes from row to row
  size_t dst_slice, src_slice;  // bytes from slice to slice
  size_t width, height, depth;
  void* staging;                // owned copy of the source that goes when the work has run; null usually
  int16_t dst_device, src_device;  // -1: host memory
  const Backend*
      other;         // the device type that one side belongs to if not the stream's, and that does the copy; or null
};

struct FillWork {
  void* dst;
  size_t pitch, slice;
  size_t width, height, depth;  // width in bytes
  uint32_t value;
  uint8_t element_size;         // 1, 2 or 4
  int16_t device;               // -1: host memory
};

struct HostWork {
  void (*fn)(void*);
  void* data;
  void (*destroy)(void*);  // called once, after fn or instead of it; may be null
};

struct CallbackWork {
  infinirtStreamCallback_t fn;
  infinirtStream_t stream;
  void* data;
};

struct KernelWork {
  const Kernel* kernel;
  void* args;              // owned: one block with the parameters at the kernel's offsets
  void** values;  // where the arguments lie instead, while a launch runs in the thread that makes it; or null
  unsigned grid[3], block[3];
  uint32_t shared_bytes;
  bool cooperative;  // all blocks run at the same time, each on a thread of its own
  uint32_t block_ns;  // about what a block takes; 0: not known
};

struct RecordWork {
  Event* event;
  uint64_t serial;  // stamps only if the event has not been recorded again since
};

struct SharedWork {
  void* page;  // the event's shared page (ipc)
  uint64_t value;
};

struct StepWork {
  infinirtXStepResult (*run)(void*, infinirtXStep_t, int in_caller);
  void* data;
  void (*destroy)(void*);  // called once, after the step or instead of it; may be null
};

struct GraphWork {
  GraphRun* run;  // owned by the launch
  uint64_t computes_ns;  // about how long it takes if it is a chain of nodes that merely compute; else 0
};

struct Work {
  WorkType type = WorkType::Nothing;
  union {
    CopyWork copy;
    FillWork fill;
    HostWork host;
    CallbackWork callback;
    KernelWork kernel;
    RecordWork record;
    Point wait;
    SharedWork shared;
    GraphWork graph;
    StepWork step;
  };
  Work() {}
};

// Gives back what the work owns (staged data, kernel arguments, a host function's data). Called exactly once per work
// that was accepted, after it has run or instead of it.
void dispose_work(Work& work);

struct Op {
  Op* next = nullptr;
  uint64_t value = 0;  // what the stream's timeline reaches when this is done
  int64_t began = 0;  // when it began to run, if something observes; else 0
  Issued issued;
  Work work;
};

}  // namespace infinirt
