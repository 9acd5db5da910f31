// Work that the host does on device memory, in a stream's order.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "infinirt_plugin.h"

namespace infinirt::paddle {

struct Operand {
  const void* pointer;  // a device address
  size_t bytes;
  bool written;
};

// Where the host finds each operand, in the order given.
using HostWork = std::function<void(const std::vector<char*>&)>;

// Where the host reaches the memory, itself or through an alias, the work is enqueued as a host function. On other devices
// this call waits for the stream, and the operands are copied to the host and back. Raises std::runtime_error with the runtime's
// message.
void enqueue_host_work(infinirtPluginStream_t stream, const std::vector<Operand>& operands, HostWork work);

}  // namespace infinirt::paddle
