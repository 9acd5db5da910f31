// Device types that have operators. One folder each; this file names none of them.
#pragma once

#include <memory>
#include <string>

#include "infinicore.h"
#include "op/chain.h"
#include "op/object.h"
#include "op/operator.h"

namespace infiniop {

class Device {
 public:
  virtual ~Device() = default;
  virtual const char* type() const = 0;  // the runtime's name of the device type
  virtual infiniDevice_t number() const = 0;
  virtual bool is_host() const { return false; }  // its memory is the host's
  // Chooses kernels for a plan on the thread's current device. Null: a runtime call failed with *error.
  virtual std::unique_ptr<Prepared> prepare(const Plan& plan, infinirtError_t* error) const = 0;
  virtual std::unique_ptr<PreparedChain> prepare_chain(const ChainPlan& plan, infinirtError_t* error) const = 0;
};

// Null when the type has no operators.
const Device* find_device(const char* type);
const Device* find_device(int number);  // of infiniDevice_t
std::string list_of_devices();  // for messages

struct Handle final : Object {
  const Device* device;
  const char* device_type;
  int device_id;
};

// What has to hold when a descriptor is made with a handle, and when one is used on a stream.
infiniStatus_t check_current_device(const char* function, const Handle& handle);
infiniStatus_t check_stream(const char* function, infinirtStream_t stream, const char* device_type, int device_id);

}  // namespace infiniop
