#include "bindings/infinicore/optimise.h"

#include <utility>

#include "bindings/infinicore/fusion.h"
#include "bindings/infinicore/liveness.h"

namespace infinicore {

namespace {

bool writes_into(const Step& step, const View& view) {
  for (size_t t = 0; t < step.outputs; ++t) {
    if (step.views[t].meets(view)) return true;
  }
  const char* workspace = static_cast<const char*>(step.launch.workspace);
  return workspace && workspace < view.high && view.low < workspace + step.launch.workspace_size;
}

// Whether everybody who reads the copy can read what it was made from: that lies in memory in the same way, and nothing is written to
// either before the last one has read.
bool can_be_forwarded(const std::vector<Step>& steps, const Liveness& live, size_t copy) {
  const View &to = steps[copy].views[0], &from = steps[copy].views[1];
  if (!to.life || live.is_visible(copy) || to.dtype != from.dtype || to.sizes != from.sizes) return false;
  if (live.readers(copy).empty()) return false;
  for (const size_t reader : live.readers(copy)) {
    if (steps[reader].launch.row->written >= 0) return false;  // an input has the output's address
    for (size_t t = steps[reader].outputs; t < steps[reader].views.size(); ++t) {
      const View& view = steps[reader].views[t];
      if (!view.meets(to) || view.is(to)) continue;
      // Between the elements of a copy that is not dense lies what is not in its source.
      const bool is_dense = static_cast<size_t>(to.high - to.low) == to.count * to.dtype->size;
      if (!is_dense || view.low < to.low || view.high > to.high) return false;
    }
  }
  const size_t last = live.last_use(copy);
  for (size_t i = copy + 1; i <= last; ++i) {
    if (steps[i].views.empty() || writes_into(steps[i], from)) return false;
    if (i < last && writes_into(steps[i], to)) return false;
  }
  return true;
}

void forward(std::vector<Step>& steps, const Liveness& live, size_t copy) {
  const View to = steps[copy].views[0], from = steps[copy].views[1];
  const ptrdiff_t distance = from.data - to.data;
  for (const size_t reader : live.readers(copy)) {
    for (size_t t = steps[reader].outputs; t < steps[reader].views.size(); ++t) {
      View& view = steps[reader].views[t];
      if (!view.meets(to)) continue;
      view.data += distance;
      view.low += distance;
      view.high += distance;
      view.life = from.life;
      steps[reader].launch.addresses[t] = view.data;
    }
  }
}

bool is_copy(const Step& step) { return step.views.size() == 2 && step.launch.row->copies; }

// Takes out the steps for which there is a reason.
void drop(Recorded* recorded, const std::vector<const char*>& reason) {
  std::vector<Step> kept;
  kept.reserve(recorded->steps.size());
  for (size_t i = 0; i < recorded->steps.size(); ++i) {
    Step& step = recorded->steps[i];
    if (reason[i]) {
      recorded->removed.emplace_back(std::move(step.text), reason[i]);
    } else {
      kept.push_back(std::move(step));
    }
  }
  recorded->steps = std::move(kept);
}

void remove_copies_to_themselves(Recorded* recorded) {
  std::vector<const char*> reason;
  for (const Step& step : recorded->steps) {
    const bool is_idle = is_copy(step) && step.views[0].is(step.views[1]);
    reason.push_back(is_idle ? "it copies to where the elements are" : nullptr);
  }
  drop(recorded, reason);
}

void remove_unused(Recorded* recorded) {
  auto& steps = recorded->steps;
  std::vector<const char*> reason(steps.size());
  Liveness live(steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!is_copy(steps[i]) || !can_be_forwarded(steps, live, i)) continue;
    forward(steps, live, i);  // changes nobody's readers but those of its source, which were written before
    reason[i] = "what it copies is read in its place";
  }
  live = Liveness(steps);
  for (size_t i = steps.size(); i-- > 0;) {
    if (reason[i] || steps[i].views.empty() || live.is_visible(i)) continue;
    bool is_read = false;
    for (const size_t reader : live.readers(i)) is_read = is_read || !reason[reader];
    if (!is_read) reason[i] = "nobody reads its result";
  }
  drop(recorded, reason);
}

}  // namespace

void optimise(Recorded* recorded) {
  if (recorded->wanted.remove_unused) {
    remove_copies_to_themselves(recorded);  // first: such a copy seems to write over what it reads
    remove_unused(recorded);
  }
  if (recorded->wanted.fuse) fuse(recorded);
}

}  // namespace infinicore
