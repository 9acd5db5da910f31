#include "bindings/infinicore/liveness.h"

#include <algorithm>

namespace infinicore {

namespace {

// Memory of the recording's own has one storage at a time: what another one's tensor reads there was written after.
bool reads(const Step& step, const View& written) {
  // A product is added to what is there.
  const bool adds =
      step.launch.row && step.launch.row->shape_rule == ShapeRule::Product && step.launch.attributes[1] != 0;
  const bool reads_outputs = adds || (step.launch.row && step.launch.row->reads_outputs);
  for (size_t t = reads_outputs ? 0 : step.outputs; t < step.views.size(); ++t) {
    const View& view = step.views[t];
    if (view.meets(written) && (!view.life || view.life == written.life)) return true;
  }
  return false;
}

}  // namespace

Liveness::Liveness(const std::vector<Step>& steps) : visible_(steps.size()), readers_(steps.size()) {
  std::unordered_map<const bool*, std::vector<size_t>> touching;
  char *low = nullptr, *high = nullptr;  // of all memory of the recording's own
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const View& view : steps[i].views) {
      if (!view.life) continue;
      auto& list = touching[view.life.get()];
      if (list.empty() || list.back() != i) list.push_back(i);
      if (view.count == 0) continue;
      if (!low || view.low < low) low = view.low;
      high = std::max(high, view.high);
    }
  }
  // Tensors that were made from the address alone: they may see any of that memory.
  std::vector<size_t> strangers;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (size_t t = steps[i].outputs; t < steps[i].views.size(); ++t) {
      const View& view = steps[i].views[t];
      if (view.life || view.low >= high || view.high <= low) continue;
      strangers.push_back(i);
      break;
    }
  }
  std::vector<size_t> candidates;
  for (size_t i = 0; i < steps.size(); ++i) {
    // Steps with several results are always made: only the first one is followed.
    if (steps[i].views.empty() || !steps[i].views[0].life || steps[i].escapes || steps[i].outputs > 1) {
      visible_[i] = true;
      if (steps[i].views.empty() || !steps[i].views[0].life) continue;
    }
    const auto& own = touching[steps[i].views[0].life.get()];
    candidates.clear();
    std::set_union(std::upper_bound(own.begin(), own.end(), i), own.end(),
                   std::upper_bound(strangers.begin(), strangers.end(), i), strangers.end(),
                   std::back_inserter(candidates));
    follow(steps, i, candidates);
  }
}

void Liveness::follow(const std::vector<Step>& steps, size_t written, const std::vector<size_t>& candidates) {
  const View& result = steps[written].views[0];
  for (const size_t i : candidates) {
    if (reads(steps[i], result)) readers_[written].push_back(i);
    if (steps[i].views[0].is(result)) return;  // written over
  }
  if (*result.life) visible_[written] = true;
}

}  // namespace infinicore
