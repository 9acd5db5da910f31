#include "engine/event.h"

#include <time.h>

#include <mutex>
#include <utility>
#include <vector>

#include "core/object_pool.h"
#include "engine/ipc.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

struct EventList {
  Mutex mutex;
  std::vector<Event*> all;  // every event ever made, alive or recycled
};

EventList& event_list() {
  static auto* list = new EventList;
  return *list;
}

ObjectPool<Event>& event_pool() {
  static auto* pool = new ObjectPool<Event>;
  return *pool;
}

}  // namespace

int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

void events_lock_for_fork() {
  event_list().mutex.lock();
  for (Event* event : event_list().all) event->mutex.lock();
}

void events_unlock_after_fork() {
  for (Event* event : event_list().all) event->mutex.unlock();
  event_list().mutex.unlock();
}

Event* resolve_event(infinirtEvent_t handle, const char* argument) {
  if (auto* event = handle_resolve<Event>(handle, HandleKind::Event)) return event;
  char text[160];
  fail(infinirtErrorInvalidResourceHandle, "%s %s", argument,
       describe_handle(handle, HandleKind::Event, text, sizeof text));
  return nullptr;
}

Point event_point(Event& event) {
  std::lock_guard guard(event.mutex);
  return event.recorded ? event.point : Point{};
}

uint64_t set_event_point(Event& event, const Point& point) {
  std::lock_guard guard(event.mutex);
  event.recorded = true;
  event.capture_id = 0;
  event.point = point;
  event.stamp_ns = 0;
  return ++event.serial;
}

void stamp_event(Event& event, uint64_t serial, int64_t now_ns) {
  std::lock_guard guard(event.mutex);
  if (event.serial == serial) event.stamp_ns = now_ns;
}

infinirtError_t record_event(Event& event, Stream& stream) {
  const bool timed = !(event.flags & infinirtEventDisableTiming);
  if (event.shared) {
    Work work;
    work.type = WorkType::RecordShared;
    work.shared = {event.shared, shared_event_begin_record(event)};
    const Point point = enqueue(stream, work);
    if (!point.timeline) {
      shared_event_finish(work.shared.page,
                          work.shared.value);  // its number is taken: nobody must wait for it for ever
      return stream_destroyed_meanwhile();
    }
    set_event_point(event, point);
    return infinirtSuccess;
  }
  if (begin_inline(stream)) {  // nothing is pending: the record is done at once
    const Point tail = stream.tail();
    stream.mutex.unlock();
    const uint64_t serial = set_event_point(event, tail);
    if (timed) stamp_event(event, serial, monotonic_ns());
    return infinirtSuccess;
  }
  Work work;
  if (!timed) {
    const Point point = enqueue(stream, work);
    if (!point.timeline) return stream_destroyed_meanwhile();
    set_event_point(event, point);
    return infinirtSuccess;
  }
  // The operation may run before enqueue() returns, so it gets its serial first; no lock is held meanwhile.
  uint64_t serial;
  int64_t earlier_stamp;
  {
    std::lock_guard guard(event.mutex);
    serial = ++event.serial;
    earlier_stamp = std::exchange(event.stamp_ns, 0);
  }
  work.type = WorkType::Record;
  work.record = {&event, serial};
  const Point point = enqueue(stream, work);
  std::lock_guard guard(event.mutex);
  if (!point.timeline) {
    if (event.serial == serial) {
      --event.serial;
      event.stamp_ns = earlier_stamp;
    }
    return stream_destroyed_meanwhile();
  }
  if (event.serial != serial)
    return infinirtSuccess;  // recorded again by another thread meanwhile: that one is the latest
  event.recorded = true;
  event.capture_id = 0;
  event.point = point;
  return infinirtSuccess;
}

Event* create_event(EngineDevice& device, unsigned flags) {
  Event* event = event_pool().acquire();
  const bool fresh = event->serial == 0 && event->device == nullptr;
  {
    std::lock_guard guard(event->mutex);
    event->device = &device;
    event->flags = flags;
    event->recorded = false;
    event->point = {};
    event->stamp_ns = 0;
    event->capture_id = 0;
    event->shared = nullptr;
    ++event->serial;
    event->alive = true;
  }
  if (fresh) {
    std::lock_guard guard(event_list().mutex);
    event_list().all.push_back(event);
  }
  event->handle = static_cast<infinirtEvent_t>(handle_create(HandleKind::Event, device.engine->backend.index, event));
  if (!event->handle) {
    event->alive = false;
    event_pool().release(event);
    return nullptr;
  }
  return event;
}

void destroy_event(Event& event) {
  handle_destroy(event.handle);
  void* shared;
  {
    std::lock_guard guard(event.mutex);
    if (!event.alive) return;
    event.alive = false;
    event.recorded = false;
    ++event.serial;  // a pending time stamp finds nothing to write to
    shared = event.shared;
    event.shared = nullptr;
  }
  if (shared) shared_event_close(shared);
  event_pool().release(&event);
}

void destroy_all_events(EngineDevice& device) {
  std::vector<Event*> events;
  {
    std::lock_guard guard(event_list().mutex);
    events = event_list().all;
  }
  for (Event* event : events) {
    bool mine;
    {
      std::lock_guard guard(event->mutex);
      mine = event->alive && event->device == &device;
    }
    if (mine) destroy_event(*event);
  }
}

}  // namespace infinirt
