// Giving memory back, after everybody who used it.
#pragma once

#include "bindings/objects/buffer.h"

namespace infinirt::objects {

/// Lets go of the buffer's memory on `stream` (null: its own stream), explicitly: errors are raised, and the buffer stays as
/// it was. False with an exception set.
bool release_memory(BufferObject* buffer, StreamObject* stream);

/// The same from a destructor: never raises, and waits for a better moment where a capture or a host function is in the way.
void release_memory_at_end(BufferObject* buffer);

}  // namespace infinirt::objects
