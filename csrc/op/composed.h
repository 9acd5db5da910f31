// Operators that are made of others, for all device types at once: `composed/<name>.cpp` says which calls follow one another. Each is
// checked, planned and prepared as if a caller had made a descriptor for it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "op/operator.h"
#include "op/tensor.h"

namespace infiniop {

// A tensor of the operator that is composed, or room in its workspace; or a view of either.
struct Part {
  static constexpr int kNone = -1;  // no tensor: what may be null is
  static constexpr int kRoom = -2;

  int base = kNone;  // the operator's tensor of that number, or kRoom
  int64_t offset = 0;  // from there to the first element, in bytes
  Tensor view;

  size_t size(size_t dimension) const { return view.shape[dimension]; }
  // The same elements in a dimension more, of size 1, before `dimension`.
  Part with_dimension(size_t dimension) const;
  Part transposed(size_t one, size_t other) const;
  // Dimensions from `first` on, `count` of them, as one; none where strides do not allow it.
  std::optional<Part> merged(size_t first, size_t count) const;
};

class Composer {
 public:
  Composer(const char* function, const Device& device, const Plan& plan)
      : function_(function), device_(device), plan_(plan) {}

  const WrittenPlan& plan() const { return *plan_.written; }
  double attribute(int number) const { return plan_.attributes[number]; }
  // A tensor of the operator's; one that was not given is none.
  Part tensor(int number) const;
  // Memory of its own, without gaps between elements.
  Part room(infiniDtype_t dtype, const std::vector<size_t>& shape);
  // The part with dimensions from `first` on as one; copied where strides do not allow that.
  Part flat(const Part& part, size_t first, size_t count);

  // One more call, of the operator with that number of the schema (kGemmNumber). Parts are its outputs, then its inputs. Does nothing
  // after a call that failed.
  void call(int number, const std::vector<Part>& parts, std::initializer_list<double> attributes = {});
  void copy(const Part& to, const Part& from);

  infiniStatus_t finish(std::unique_ptr<Prepared>* prepared);

 private:
  struct Step {
    std::unique_ptr<Descriptor> descriptor;
    std::vector<Part> parts;
  };
  class Calls;

  const char* function_;
  const Device& device_;
  const Plan& plan_;
  std::vector<Step> steps_;
  size_t room_ = 0;
  infiniStatus_t status_ = INFINI_STATUS_SUCCESS;
};

}  // namespace infiniop
