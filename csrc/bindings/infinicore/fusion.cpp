#include "bindings/infinicore/fusion.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "bindings/infinicore/liveness.h"

namespace infinicore {

namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

bool is_element_wise(const Step& step) {
  if (step.views.empty() || step.is_chain || step.launch.workspace_size || step.views[0].count == 0) return false;
  const OperatorRow& row = *step.launch.row;
  if (row.shape_rule != ShapeRule::Broadcast && row.shape_rule != ShapeRule::Given) return false;
  if (row.written >= 0) return false;  // its inputs have an order of their own
  return std::all_of(step.views.begin(), step.views.end(), [](const View& view) { return view.dtype->kind != 'c'; });
}

bool gives_number(const Step& step) {
  return is_element_wise(step) && step.views.size() == 1 && step.views[0].count == 1;
}

// Of operator calls that are no chains; these have nothing of Python's in them.
Step duplicate(const Step& step) {
  Step copy;
  copy.launch = step.launch;
  copy.descriptor = step.descriptor;
  copy.views = step.views;
  copy.text = step.text;
  copy.bytes = step.bytes;
  return copy;
}

class Fusion {
 public:
  explicit Fusion(Recorded* recorded)
      : recorded_(*recorded), steps_(recorded->steps), live_(steps_), is_number_(steps_.size()) {}

  void run() {
    for (size_t i = 0; i < steps_.size(); ++i) find_readers_of_number(i);
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (is_number_[i]) continue;
      if (!is_element_wise(steps_[i])) {
        finish();
        out_.push_back(std::move(steps_[i]));
      } else if (!try_add(i)) {
        finish();
        if (!try_add(i)) leave_alone(i);  // its output overlaps an input
      }
    }
    finish();
    steps_ = std::move(out_);
  }

 private:
  // A number that only element-wise operators read needs no memory.
  void find_readers_of_number(size_t number) {
    if (!gives_number(steps_[number]) || live_.is_visible(number) || live_.readers(number).empty()) return;
    const View& value = steps_[number].views[0];
    const size_t last = live_.last_use(number);
    for (size_t i = number + 1; i < last; ++i) {  // in another shape, say
      if (!steps_[i].views.empty() && steps_[i].views[0].meets(value)) return;
    }
    for (const size_t reader : live_.readers(number)) {
      if (!is_element_wise(steps_[reader])) return;
      for (const View& view : steps_[reader].views) {
        const bool is_input = &view != &steps_[reader].views[0];
        if (is_input && view.meets(value) && (view.low != value.low || view.high != value.high)) return;
      }
    }
    is_number_[number] = true;
    for (const size_t reader : live_.readers(number)) {
      for (size_t t = 1; t < steps_[reader].views.size(); ++t) {
        if (steps_[reader].views[t].meets(value)) number_of_[{reader, t}] = number;
      }
    }
  }

  size_t number_of(size_t step, size_t input) const {
    const auto found = number_of_.find({step, input});
    return found == number_of_.end() ? kNone : found->second;
  }

  // The latest member of the group that writes where the view lies.
  size_t writer_of(const View& view, size_t before) const {
    for (size_t m = before; m-- > 0;) {
      if (steps_[members_[m]].views[0].meets(view)) return m;
    }
    return kNone;
  }

  // Whether the step can be part of the group, behind the others: it goes over the same elements in the same order, and nobody needs
  // memory that the group no longer writes, or writes too early.
  bool try_add(size_t step) {
    const View& result = steps_[step].views[0];
    if (!members_.empty() && !result.has_shape_of(steps_[members_[0]].views[0])) return false;
    std::vector<View> loads = loads_;
    std::vector<size_t> numbers = numbers_;
    for (size_t t = 1; t < steps_[step].views.size(); ++t) {
      const View& view = steps_[step].views[t];
      if (const size_t number = number_of(step, t); number != kNone) {
        if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
        continue;
      }
      if (const size_t writer = writer_of(view, members_.size()); writer != kNone) {
        if (!view.is(steps_[members_[writer]].views[0])) return false;
        continue;
      }
      if (find(loads, view) == kNone) loads.push_back(view);
    }
    for (const View& load : loads) {
      if (result.meets(load) && !result.is(load)) return false;
    }
    std::vector<bool> is_lost = is_lost_;
    for (size_t m = 0; m < members_.size(); ++m) {
      const View& earlier = steps_[members_[m]].views[0];
      if (!result.meets(earlier)) continue;
      if (!result.is(earlier) && (live_.is_visible(members_[m]) || live_.last_use(members_[m]) > step)) return false;
      is_lost[m] = true;
    }
    is_lost.push_back(false);
    if (members_.size() + 1 + numbers.size() > INFINIOPX_MAX_CHAIN_STEPS) return false;
    members_.push_back(step);
    std::swap(is_lost, is_lost_);
    std::swap(loads, loads_);
    std::swap(numbers, numbers_);
    if (operands().size() <= INFINIOPX_MAX_CHAIN_OPERANDS) return true;
    members_.pop_back();
    is_lost_ = std::move(is_lost);
    loads_ = std::move(loads);
    numbers_ = std::move(numbers);
    return false;
  }

  static size_t find(const std::vector<View>& views, const View& view) {
    const auto found = std::find_if(views.begin(), views.end(), [&](const View& other) { return other.is(view); });
    return found == views.end() ? kNone : static_cast<size_t>(found - views.begin());
  }

  // Whether a member's result is needed in memory, if the group ends here.
  bool is_stored(size_t member) const {
    const size_t step = members_[member];
    return !is_lost_[member] && (live_.is_visible(step) || live_.last_use(step) > members_.back());
  }

  std::vector<View> operands() const {
    std::vector<View> all = loads_;
    for (size_t m = 0; m < members_.size(); ++m) {
      const View& result = steps_[members_[m]].views[0];
      if (is_stored(m) && find(all, result) == kNone) all.push_back(result);
    }
    return all;
  }

  void finish() {
    if (members_.empty()) return;
    bool is_seen = false;
    for (size_t m = 0; m < members_.size(); ++m) is_seen = is_seen || is_stored(m);
    if (!is_seen) {
      leave_as_it_is();  // nobody reads it, but it was not to be left out
    } else if (members_.size() == 1 && numbers_.empty()) {
      out_.push_back(std::move(steps_[members_[0]]));
    } else {
      std::string message;
      Step chain = make_chain(&message);
      if (chain.descriptor) {
        out_.push_back(std::move(chain));
      } else {
        recorded_.refused.emplace_back(names(), std::move(message));
        leave_as_it_is();
      }
    }
    members_.clear();
    is_lost_.clear();
    loads_.clear();
    numbers_.clear();
  }

  void leave_alone(size_t step) {
    members_ = {step};
    for (size_t t = 1; t < steps_[step].views.size(); ++t) {
      if (const size_t number = number_of(step, t); number != kNone) numbers_.push_back(number);
    }
    leave_as_it_is();
    members_.clear();
    numbers_.clear();
  }

  // The calls as they were recorded, with their numbers.
  void leave_as_it_is() {
    std::vector<size_t> all = members_;
    all.insert(all.end(), numbers_.begin(), numbers_.end());
    std::sort(all.begin(), all.end());
    for (const size_t i : all) out_.push_back(duplicate(steps_[i]));
  }

  std::string names() const {
    std::string text;
    for (const size_t m : members_) text += (text.empty() ? "" : " + ") + std::string(steps_[m].launch.row->name);
    return text;
  }

  std::vector<infiniopXChainStep> chain_steps(const std::vector<View>& all) const {
    std::vector<infiniopXChainStep> made;
    const auto add = [&](size_t i) -> infiniopXChainStep& {
      const Launch& launch = steps_[i].launch;
      infiniopXChainStep step = {};
      step.operation = static_cast<const InfiniopDescriptor*>(launch.descriptor);
      step.output = -1;
      std::memcpy(step.attributes, launch.attributes, sizeof step.attributes);
      std::memcpy(step.element, launch.element, sizeof step.element);
      made.push_back(step);
      return made.back();
    };
    for (const size_t number : numbers_) add(number);
    const auto first_member = static_cast<int>(all.size() + numbers_.size());
    for (size_t m = 0; m < members_.size(); ++m) {
      infiniopXChainStep& step = add(members_[m]);
      const auto& views = steps_[members_[m]].views;
      for (size_t t = 1; t < views.size(); ++t) {
        size_t value;
        if (const size_t number = number_of(members_[m], t); number != kNone) {
          const auto place = std::find(numbers_.begin(), numbers_.end(), number);
          value = all.size() + static_cast<size_t>(place - numbers_.begin());
        } else if (const size_t writer = writer_of(views[t], m); writer != kNone) {
          value = static_cast<size_t>(first_member) + writer;
        } else {
          value = find(all, views[t]);
        }
        step.inputs[t - 1] = static_cast<int>(value);
      }
      if (is_stored(m)) step.output = static_cast<int>(find(all, views[0]));
    }
    return made;
  }

  Step make_chain(std::string* message) const {
    static_assert(sizeof(infiniopXChainStep::attributes) <= sizeof(Launch::attributes));
    const std::vector<View> all = operands();
    const std::vector<infiniopXChainStep> steps = chain_steps(all);
    Step chain;
    auto descriptor = std::make_shared<Descriptor>();
    descriptor->destroy = [](void* handle) {
      return frame.DestroyChainDescriptor(static_cast<infiniopXChainDescriptor_t>(handle));
    };
    const PlaceObject* place = recorded_.place;
    if (!place->handle_life) {
      *message = "the runtime was closed";
      return chain;
    }
    const std::shared_ptr<void> life = *place->handle_life;  // another thread may close the place meanwhile
    const infiniopHandle_t handle = place->handle;
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    // A device type may have to compile it.
    const infinirtError_t error = without_lock(true, [&] {
      return on_device(place->stream, [&] {
        status = create(handle, all, steps, &descriptor->handle);
        if (status) *message = infinirtXGetLastErrorMessage();
        return infinirtSuccess;
      });
    });
    if (error || status) {
      if (error) *message = infinirtXGetLastErrorMessage();
      runtime.GetLastError();
      return chain;
    }
    chain.descriptor = std::move(descriptor);
    chain.is_chain = true;
    for (size_t t = 0; t < all.size(); ++t) {
      chain.addresses[t] = all[t].data;
      chain.bytes += all[t].count * all[t].dtype->size;
    }
    chain.text = names();
    std::vector<size_t> parts = members_;
    parts.insert(parts.end(), numbers_.begin(), numbers_.end());
    std::sort(parts.begin(), parts.end());
    for (const size_t i : parts) chain.parts.push_back(steps_[i].text);
    return chain;
  }

  static infiniStatus_t create(infiniopHandle_t handle, const std::vector<View>& all,
                               const std::vector<infiniopXChainStep>& steps, void** result) {
    infiniopTensorDescriptor_t described[INFINIOPX_MAX_CHAIN_OPERANDS] = {};
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    for (size_t t = 0; t < all.size() && !status; ++t) {
      const Py_ssize_t* sizes = all[t].sizes.data();
      status = frame.CreateTensorDescriptor(&described[t], all[t].ndim(), reinterpret_cast<const size_t*>(sizes),
                                            sizes + all[t].ndim(), all[t].dtype->number);
    }
    if (!status) {
      status = frame.CreateChainDescriptor(handle, reinterpret_cast<infiniopXChainDescriptor_t*>(result), described,
                                           all.size(), steps.data(), steps.size());
    }
    for (auto* tensor : described) {
      if (tensor) frame.DestroyTensorDescriptor(tensor);
    }
    return status;
  }

  Recorded& recorded_;
  std::vector<Step>& steps_;
  std::vector<Step> out_;
  const Liveness live_;
  std::vector<bool> is_number_;  // steps that are not made, because who reads them knows the number
  std::map<std::pair<size_t, size_t>, size_t> number_of_;  // (step, input): the step that gives it

  // The group that steps are being added to.
  std::vector<size_t> members_;
  std::vector<bool> is_lost_;  // of members: a later one writes over the result
  std::vector<View> loads_;
  std::vector<size_t> numbers_;
};

}  // namespace

void fuse(Recorded* recorded) { Fusion(recorded).run(); }

}  // namespace infinicore
