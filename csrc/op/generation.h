// Which generation of the runtime's API the programs of this library use beside it, and what that asks of a call. The library is built
// for each of them; generation/ has one file for each.
#pragma once

#include "infinicore.h"
#include "infinirt_ext.h"

namespace infiniop {

class Device;

// Held by every function that depends on the thread's current device: makes it the one that the program has chosen.
class CallScope {
 public:
  explicit CallScope(const char* function);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  infiniStatus_t status() const { return status_; }  // not success: nothing was changed, and there is a message

 private:
  const char* previous_ = nullptr;
  bool entered_ = false;
  infiniStatus_t status_ = INFINI_STATUS_SUCCESS;
};

// After work was enqueued on the stream.
infinirtError_t after_work(const Device& device, infinirtStream_t stream);

}  // namespace infiniop
