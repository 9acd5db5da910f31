// A long all-reduce over MPI in pieces around a ring: what has come is added up while it is in the cache, and the next pieces are
// under way meanwhile. MPI's own way adds up large buffers, from memory.
#pragma once

#include <vector>

#include "ccl/loops/loops.h"
#include "ccl/mpi/library.h"
#include "ccl/part.h"

namespace infiniccl::mpi {

class Ring {
 public:
  // Whether the part is one for this. All ranks decide alike: only what they have in common counts.
  static bool suits(const Part& part);

  Ring(const Functions& mpi, const Part& part, Handle comm);

  // Both: MPI's error code.
  int begin();
  int advance(bool* over);

 private:
  // A run of elements, cut into one segment for each rank. First each segment goes around and is added up (size - 1 steps), then the
  // sums go around (as many).
  struct Piece {
    uint64_t number = 0;
    int step = 0;
    Handle requests[2] = {};  // the send's and the receive's
    std::vector<std::byte> came;
  };
  struct Span {
    size_t begin, count;  // elements
  };

  int begin_piece(Piece& piece, uint64_t number);
  int begin_step(Piece& piece);
  void end_step(Piece& piece);
  Span segment(const Piece& piece, int number) const;
  int segment_sent(const Piece& piece) const;
  int segment_received(const Piece& piece) const;
  bool adds_up(const Piece& piece) const { return piece.step < ranks_ - 1; }
  int rank_at(int offset) const { return ((part_.rank + offset) % ranks_ + ranks_) % ranks_; }

  const Functions& mpi_;
  const Part& part_;
  const Handle comm_;
  const int ranks_;
  const size_t element_;
  const size_t per_segment_;
  const uint64_t pieces_;
  const ReduceLoop add_;
  uint64_t next_ = 0, done_ = 0;
  std::vector<Piece> under_way_;
};

}  // namespace infiniccl::mpi
