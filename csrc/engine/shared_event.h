// Making events known to other processes, and knowing theirs.
#pragma once

#include <cstdint>

#include "engine/event.h"

namespace infinirt {

// Gives the event a page that other processes can map, on first use; `file` stays the event's. Whoever opens it proves by
// the token that it means this event.
infinirtError_t share_event(Event& event, int* file, uint64_t* token);

// Maps another process's page, for Event::shared.
infinirtError_t open_shared_event(int file, uint64_t token, void** page);

}  // namespace infinirt
