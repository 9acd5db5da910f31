// One part's way through shared memory: chunk after chunk it hands over what others need and takes what it needs itself.
#pragma once

#include "ccl/batch.h"
#include "ccl/shared/layout.h"

namespace infiniccl::shared {

class Transfer {
 public:
  Transfer(const Map& map, Part& part, Execution& execution);

  enum class State { Waiting, Moved, Done, Failed };
  // Does what can be done now, and never waits. Failed: the parts do not fit together; problem() says why.
  State advance();

  Execution& execution() const { return execution_; }
  const Part& part() const { return part_; }
  const std::string& problem() const { return problem_; }
  int64_t since() const { return since_; }
  std::vector<int> missing() const;  // ranks that have not come
  std::vector<int> behind() const;  // once all have: those that have done the least

 private:
  bool find_slot();
  bool all_arrived();
  bool compare();
  bool hand_over();
  bool take();
  void take_chunk(uint64_t chunk);
  void ring_others() const;
  size_t participants() const { return between_two(part_.operation) ? 2 : static_cast<size_t>(map_.size); }
  int rank_of(size_t participant) const;
  bool gives() const;  // whether it hands anything over
  bool takes() const;
  size_t count_of(int rank) const;  // elements of that rank's part of the whole
  // The elements of `chunk` in a vector of `count`.
  size_t chunk_begin(uint64_t chunk, size_t count) const;
  size_t chunk_size(uint64_t chunk, size_t count) const;
  const std::byte* half_of(size_t participant, uint64_t chunk) const { return map_.half(slot_, participant, chunk); }

  const Map& map_;
  Part& part_;
  Execution& execution_;
  const Key key_;
  const int64_t since_;
  const size_t self_;  // among the participants
  size_t per_chunk_ = 0;  // elements, of each destination where they differ
  uint64_t chunks_ = 0;
  int slot_ = -1;
  bool compared_ = false;
  uint64_t handed_over_ = 0, taken_ = 0;
  std::string problem_;
};

}  // namespace infiniccl::shared
