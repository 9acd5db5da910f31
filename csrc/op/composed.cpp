#include "op/composed.h"

#include <algorithm>
#include <utility>

#include "infiniop/generated/maps.h"
#include "op/device.h"
#include "op/runtime.h"

namespace infiniop {

namespace {

constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Part Part::with_dimension(size_t dimension) const {
  Part more = *this;
  const auto at = static_cast<ptrdiff_t>(dimension);
  more.view.shape.insert(more.view.shape.begin() + at, 1);
  more.view.strides.insert(more.view.strides.begin() + at, 1);
  return more;
}

Part Part::transposed(size_t one, size_t other) const {
  Part turned = *this;
  std::swap(turned.view.shape[one], turned.view.shape[other]);
  std::swap(turned.view.strides[one], turned.view.strides[other]);
  return turned;
}

std::optional<Part> Part::merged(size_t first, size_t count) const {
  size_t elements = 1;
  ptrdiff_t stride = 1;  // of the last dimension that has one
  bool any = false;
  for (size_t d = first + count; d-- > first;) {
    const size_t size = view.shape[d];
    if (size > 1 && !any) {
      stride = view.strides[d];
      any = true;
    } else if (size > 1 && view.strides[d] != stride * static_cast<ptrdiff_t>(elements) && !view.is_empty()) {
      return std::nullopt;
    }
    elements *= size;
  }
  Part one = *this;
  auto& shape = one.view.shape;
  auto& strides = one.view.strides;
  const auto begin = static_cast<ptrdiff_t>(first), end = static_cast<ptrdiff_t>(first + count);
  shape.erase(shape.begin() + begin, shape.begin() + end);
  strides.erase(strides.begin() + begin, strides.begin() + end);
  shape.insert(shape.begin() + begin, elements);
  strides.insert(strides.begin() + begin, stride);
  return one;
}

Part Composer::tensor(int number) const {
  const TensorView& view = plan().tensor[number];
  Part part;
  if (!view.is_given) return part;
  part.base = number;
  part.view.dtype = static_cast<infiniDtype_t>(view.dtype);
  part.view.shape.assign(view.shape, view.shape + view.ndim);
  part.view.strides.assign(view.stride, view.stride + view.ndim);
  return part;
}

Part Composer::room(infiniDtype_t dtype, const std::vector<size_t>& shape) {
  Part part;
  part.base = Part::kRoom;
  part.offset = static_cast<int64_t>(room_);
  part.view.dtype = dtype;
  part.view.shape = shape;
  part.view.strides.resize(shape.size());
  size_t elements = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    part.view.strides[d] = static_cast<ptrdiff_t>(elements);
    elements *= shape[d];
  }
  room_ += aligned(elements * size_of(dtype));
  return part;
}

Part Composer::flat(const Part& part, size_t first, size_t count) {
  if (auto one = part.merged(first, count)) return *one;
  const Part copied = room(part.view.dtype, part.view.shape);
  copy(copied, part);
  return *copied.merged(first, count);
}

void Composer::call(int number, const std::vector<Part>& parts, std::initializer_list<double> attributes) {
  if (status_) return;
  const Tensor* tensors[kMaxTensors] = {};
  for (size_t t = 0; t < parts.size(); ++t) {
    if (parts[t].base != Part::kNone) tensors[t] = &parts[t].view;
  }
  double values[kMaxAttributes] = {};
  std::copy(attributes.begin(), attributes.end(), values);
  auto descriptor = std::make_unique<Descriptor>();
  status_ = plan_operator(function_, info_of_operator(number), tensors, values, {}, descriptor.get());
  if (status_ || descriptor->plan.nest.total == 0) return;
  status_ = prepare_operator(function_, device_, descriptor.get());
  if (!status_) steps_.push_back({std::move(descriptor), parts});
}

void Composer::copy(const Part& to, const Part& from) { call(kRearrangeNumber, {to, from}); }

// What is launched one after the other. The workspace is the rooms, and behind them one for all calls, since they do not run together.
class Composer::Calls final : public Prepared {
 public:
  Calls(std::vector<Step> steps, size_t room) : steps_(std::move(steps)), room_(room) {
    for (const Step& step : steps_) shared_ = std::max(shared_, step.descriptor->prepared->workspace_size());
  }

  size_t workspace_size() const override { return room_ + shared_; }

  infinirtError_t launch(const Plan&, void* const* operands, const Workspace& workspace,
                         infinirtStream_t stream) const override {
    auto* rooms = static_cast<char*>(workspace.address);
    for (const Step& step : steps_) {
      void* addresses[kMaxTensors] = {};
      for (size_t t = 0; t < step.parts.size(); ++t) {
        const Part& part = step.parts[t];
        if (part.base == Part::kNone) continue;
        addresses[t] = (part.base == Part::kRoom ? rooms : static_cast<char*>(operands[part.base])) + part.offset;
      }
      const Workspace own = {rooms ? rooms + room_ : nullptr, shared_};
      if (auto error = step.descriptor->prepared->launch(step.descriptor->plan, addresses, own, stream)) return error;
    }
    return infinirtSuccess;
  }

 private:
  std::vector<Step> steps_;
  size_t room_, shared_ = 0;
};

infiniStatus_t Composer::finish(std::unique_ptr<Prepared>* prepared) {
  if (!status_) *prepared = std::make_unique<Calls>(std::move(steps_), room_);
  return status_;
}

}  // namespace infiniop
