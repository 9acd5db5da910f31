// Who reads what a recorded call wrote, and whether the program can see it in the end.
#pragma once

#include <unordered_map>
#include <vector>

#include "bindings/infinicore/recording.h"

namespace infinicore {

/// Of the steps as they are when it is made. Steps that are no operator calls read what was alive when they were recorded, which
/// Step::escapes says.
class Liveness {
 public:
  explicit Liveness(const std::vector<Step>& steps);

  /// Whether somebody else than later operator calls sees the step's result.
  bool is_visible(size_t step) const { return visible_[step]; }
  /// The operator calls that read it, in their order. Not known, and empty, for memory that was there before the recording.
  const std::vector<size_t>& readers(size_t step) const { return readers_[step]; }
  /// The last of them, or the step itself.
  size_t last_use(size_t step) const { return readers_[step].empty() ? step : readers_[step].back(); }

 private:
  void follow(const std::vector<Step>& steps, size_t written, const std::vector<size_t>& candidates);

  std::vector<bool> visible_;
  std::vector<std::vector<size_t>> readers_;
};

}  // namespace infinicore
