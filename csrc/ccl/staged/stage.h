// The stage of a communicator whose operations go through page-locked memory: copies in, the transport's step there, copies out.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ccl/staged/cut.h"
#include "ccl/staged/lanes.h"

namespace infiniccl::staged {

// What threads of the host can do with memory of the rank's device.
enum class Memory : uint8_t {
  Reached,  // all: only cuts are made, as the other ranks make them
  OfPlugin,  // nothing; the runtime knows its extent
  OfVendor,  // nothing; the copies tell whether it is valid
};

// A copy between the device and the stage.
struct Copy {
  void* to;
  const void* from;
  size_t bytes;
};

class Stage {
 public:
  Stage(const Place& place, Memory memory, std::shared_ptr<World> world);
  ~Stage() { close(); }

  // Where the operation's work finds a buffer of the caller's, after what can be checked was.
  infinirtError_t use(infinirtStream_t stream, const void* pointer, size_t bytes, const char* argument,
                      void** address) const;
  // Nothing more is issued. What was still runs, and then everything is freed.
  void close();

 private:
  friend class Fork;

  // What one chunk needs, and the part that it is for the transport. Its memory is given by `place`.
  struct Piece {
    Part part;
    std::vector<Copy> in, out;
  };

  size_t bytes_of(const Part& part, const Chunk& chunk) const;
  Piece piece_of(const Part& part, const Chunk& chunk, std::byte* memory) const;
  // Whether the rank's buffer itself is what the transport gets; null where it has none.
  bool lies_still(const std::vector<Run>& runs) const {
    return runs.empty() || (memory_ == Memory::Reached && runs.size() == 1);
  }
  infinirtError_t copy(const std::vector<Copy>& copies, bool in, infinirtStream_t stream) const;
  infinirtError_t lanes_for(const Part& part, infinirtStream_t stream, std::shared_ptr<Lanes>* lanes);
  // *issued: the transport has something of it now.
  infinirtError_t put_chunk(const Part& part, size_t number, Lanes& lanes, Lane& lane, infinirtStream_t identity,
                            bool* issued);

  const Place place_;
  const Memory memory_;
  const std::shared_ptr<World> world_;
  std::mutex mutex_;
  std::shared_ptr<Lanes> eager_;
  std::vector<std::pair<uint64_t, std::weak_ptr<Lanes>>> captured_;  // by capture; the graphs have them
};

// What one stream is given at once, which forks into the lanes of all parts and joins them again: parts of one stream must not wait
// for one another.
class Fork {
 public:
  // `identity` is the stream's, of all devices.
  Fork(infinirtStream_t stream, infinirtStream_t identity) : stream_(stream), identity_(identity) {}

  // Issues the part.
  infinirtError_t add(const Part& part);
  // The stream goes on when all parts are done. Also after an add() that failed: what has begun is waited for.
  infinirtError_t join();

 private:
  struct Begun {
    std::shared_ptr<Stage> stage;
    std::shared_ptr<Lanes> lanes;
    infinirtEvent_t mark;
  };
  struct Out {
    std::shared_ptr<Stage> stage;
    std::vector<Copy> copies;
  };

  infinirtError_t add_whole(const Part& part, Lanes& lanes);
  // The world cannot be left as it is: other ranks wait for what could not be issued.
  static infinirtError_t broken(const Part& part, infinirtError_t error);

  const infinirtStream_t stream_, identity_;
  std::vector<Begun> begun_;
  // In captures on streams that take no steps: done by one host function, which waits for all.
  std::vector<Part> whole_;
  std::vector<Out> outs_;
};

}  // namespace infiniccl::staged
