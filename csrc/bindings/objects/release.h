// Giving memory back, after everybody who used it.
#pragma once

#include "bindings/objects/buffer.h"

namespace infinirt::objects {

/// Lets go of the buffer's memory on `stream` (null: its own stream), explicitly: errors are raised, and the memory is not
/// tried again. Where nothing could be tried, because of a capture or in a host function, the buffer keeps its resource.
/// False with an exception set.
bool release_memory(BufferObject* buffer, StreamObject* stream);

/// The same from a destructor: never raises, and waits for a better moment where a capture or a host function is in the way.
void release_memory_at_end(BufferObject* buffer);

/// Lets go of the owner of memory that is not the buffer's, once the work of our API on that memory is done. Never raises,
/// never waits: what is not done now is looked at again by later calls.
void release_owner(BufferObject* buffer);

}  // namespace infinirt::objects
