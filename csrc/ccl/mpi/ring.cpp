#include "ccl/mpi/ring.h"

#include <algorithm>

#include "ccl/world.h"

namespace infiniccl::mpi {

namespace {

constexpr size_t kLong = size_t{4} << 20;       // bytes
constexpr size_t kSegment = size_t{256} << 10;  // bytes: a few of them stay in a core's cache
constexpr uint64_t kUnderWay = 4;               // pieces
constexpr int kMostRanks = 8;                   // a ring has a message for each: MPI knows better for many
constexpr uint64_t kTags = 30'000;

}  // namespace

bool Ring::suits(const Part& part) {
  const int ranks = part.world->size;
  if (part.operation != Operation::AllReduce || ranks < 2 || ranks > kMostRanks) return false;
  if (part.count * part.element() < kLong) return false;
  switch (part.dtype) {
    case INFINI_DTYPE_BOOL:
    case INFINI_DTYPE_F8:
    case INFINI_DTYPE_F16:
    case INFINI_DTYPE_BF16:
    case INFINI_DTYPE_C16:
    case INFINI_DTYPE_C32:
      return false;  // rounded once, and not at every rank
    default:
      return true;
  }
}

Ring::Ring(const Functions& mpi, const Part& part, Handle comm)
    : mpi_(mpi),
      part_(part),
      comm_(comm),
      ranks_(part.world->size),
      element_(part.element()),
      per_segment_(kSegment / element_),
      pieces_((part.count + per_segment_ * static_cast<size_t>(ranks_) - 1) /
              (per_segment_ * static_cast<size_t>(ranks_))),
      add_(find_reduce_loop(part.dtype, part.reduction == INFINICCL_AVG ? INFINICCL_SUM : part.reduction)),
      under_way_(static_cast<size_t>(std::min(kUnderWay, pieces_))) {}

Ring::Span Ring::segment(const Piece& piece, int number) const {
  const auto n = static_cast<size_t>(ranks_);
  const size_t whole = per_segment_ * n, begin = piece.number * whole;
  const size_t count = std::min(whole, part_.count - begin), each = (count + n - 1) / n;
  const size_t from = std::min(count, static_cast<size_t>(number) * each);
  return {begin + from, std::min(each, count - from)};
}

int Ring::segment_sent(const Piece& piece) const {
  return adds_up(piece) ? rank_at(-piece.step) : rank_at(1 - (piece.step - (ranks_ - 1)));
}

int Ring::segment_received(const Piece& piece) const {
  return adds_up(piece) ? rank_at(-piece.step - 1) : rank_at(-(piece.step - (ranks_ - 1)));
}

int Ring::begin_step(Piece& piece) {
  const Span out = segment(piece, segment_sent(piece)), in = segment(piece, segment_received(piece));
  const void* from = piece.step == 0 ? part_.send : part_.recv;
  std::byte* into = adds_up(piece) ? piece.came.data() : static_cast<std::byte*>(part_.recv) + in.begin * element_;
  const int tag = 1 + static_cast<int>((part_.number * kUnderWay + piece.number % kUnderWay) % kTags);
  const int error = mpi_.Irecv_c(into, static_cast<Count>(in.count * element_), constant(kByte), rank_at(-1), tag,
                                 comm_, &piece.requests[1]);
  if (error != kSuccess) return error;
  return mpi_.Isend_c(static_cast<const std::byte*>(from) + out.begin * element_,
                      static_cast<Count>(out.count * element_), constant(kByte), rank_at(1), tag, comm_,
                      &piece.requests[0]);
}

void Ring::end_step(Piece& piece) {
  if (adds_up(piece)) {
    const Span in = segment(piece, segment_received(piece));
    const size_t offset = in.begin * element_;
    const void* inputs[] = {static_cast<const std::byte*>(part_.send) + offset, piece.came.data()};
    void* output = static_cast<std::byte*>(part_.recv) + offset;
    if (in.count > 0) add_(inputs, 2, &output, 1, in.count, false);
  }
  ++piece.step;
}

int Ring::begin_piece(Piece& piece, uint64_t number) {
  piece.number = number;
  piece.step = 0;
  return begin_step(piece);
}

int Ring::begin() {
  for (Piece& piece : under_way_) {
    piece.came.resize(per_segment_ * element_);
    if (const int error = begin_piece(piece, next_++); error != kSuccess) return error;
  }
  return kSuccess;
}

int Ring::advance(bool* over) {
  *over = false;
  for (Piece& piece : under_way_) {
    if (piece.step == 2 * (ranks_ - 1)) continue;  // it was the last one here
    int done[2] = {};
    for (int i = 0; i < 2; ++i) {  // a request that is over stays so
      if (const int error = mpi_.Test(&piece.requests[i], &done[i], nullptr); error != kSuccess) return error;
    }
    if (!done[0] || !done[1]) continue;
    end_step(piece);
    int error = kSuccess;
    if (piece.step < 2 * (ranks_ - 1)) {
      error = begin_step(piece);
    } else {
      ++done_;
      if (next_ < pieces_) {
        const uint64_t number = next_;
        next_ += 1;
        error = begin_piece(piece, number);
      }
    }
    if (error != kSuccess) return error;
  }
  *over = done_ == pieces_;
  return kSuccess;
}

}  // namespace infiniccl::mpi
