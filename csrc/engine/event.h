// Events: named points in streams' orders, with time stamps.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/handle.h"
#include "core/mutex.h"
#include "engine/engine.h"
#include "engine/timeline.h"

namespace infinirt {

struct Capture;
struct GraphNode;
struct Stream;

// Type-stable; `serial` grows with every record and over recycling, so that a late time stamp finds out it is stale.
struct Event {
  Mutex mutex;
  EngineDevice* device = nullptr;
  infinirtEvent_t handle = nullptr;
  unsigned flags = 0;
  bool alive = false;
  bool recorded = false;
  uint64_t serial = 0;
  Point point;               // what the latest record captured
  int64_t stamp_ns = 0;      // when the latest record executed; 0: not yet

  // Last recorded inside a capture (capture.cpp): identifies the capture and the nodes the record stands for.
  uint64_t capture_id = 0;   // 0: the latest record is an ordinary one

  void* shared = nullptr;    // page shared with other processes (infinirtEventInterprocess)
};

// Null with a message (infinirtErrorInvalidResourceHandle).
Event* resolve_event(infinirtEvent_t handle, const char* argument);

// The event's latest ordinary record, consistently read. An event never recorded gives a reached point.
Point event_point(Event& event);

// Records now: everything enqueued on the stream so far. The stream does not capture. Fails, with nothing changed, when
// another thread has destroyed the stream meanwhile.
infinirtError_t record_event(Event& event, Stream& stream);

// Makes the event stand for a point that will be reached later (graph launches); returns the serial for stamp_event.
uint64_t set_event_point(Event& event, const Point& point);
// Writes the time stamp if the event has not been recorded again since.
void stamp_event(Event& event, uint64_t serial, int64_t now_ns);

Event* create_event(EngineDevice& device, unsigned flags);
void destroy_event(Event& event);
void destroy_all_events(EngineDevice& device);

int64_t monotonic_ns();

void events_lock_for_fork();    // the list and every event, so that the child finds no half-written one
void events_unlock_after_fork();  // in parent and child

}  // namespace infinirt
