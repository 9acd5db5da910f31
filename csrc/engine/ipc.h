// Memory and events shared with other processes.
//
// Memory travels by a handle that says where in which file of the exporting process it lies; the importer opens the file
// through /proc. Events travel by a page that both processes map. Every process is trusted as far as its own data goes:
// a handle that is stale, damaged or from a process that has ended is an error, never a crash.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/engine.h"
#include "engine/event.h"
#include "engine/work.h"

namespace infinirt {

// ---- files that carry memory

// A new file with this size, closed on exec. -1 when the system has none.
int create_shared_file(size_t size);

// Opens file number `file` of another process, if it is a file made by create_shared_file. -1 with a message
// (infinirtErrorMapBufferObjectFailed) otherwise.
int open_shared_file(uint32_t process, int file);
bool is_shared_file(int file);

// Never 0, not guessable.
uint64_t random_token();

// Names a process that lives now: its number, and when it started, for numbers are used again.
struct ProcessId {
  uint32_t number = 0;
  uint32_t start = 0;
};
ProcessId this_process();
bool process_is_alive(const ProcessId& process);

// ---- events: what event.cpp needs when Event::shared is set

// Whether the latest record, by whichever process, has been completed (or its process has ended).
bool shared_event_done(Event& event);
// Blocks until it has.
void shared_event_wait(Event& event);

// Takes the number of a new record, which becomes the event's latest; shared_event_finish must follow.
uint64_t shared_event_begin_record(Event& event);
void shared_event_finish(void* page, uint64_t value);

// What a wait that is issued now has to wait for.
SharedWork shared_event_snapshot(Event& event);
// Blocks until that record is complete; false when the process that made it has ended without completing it.
bool shared_event_wait_value(void* page, uint64_t value);

// The event is gone. Work that was enqueued before may still use the page.
void shared_event_close(void* page);

}  // namespace infinirt
