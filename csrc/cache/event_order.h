// The order of streams as any backend can tell it: by events.
//
// A fence is a mark on a stream's timeline. Marks are made only when somebody asks (another stream wants the memory), so that a
// stream which lives on its own memory records no event at all. While a stream captures, it cannot be marked: such a mark stays
// open, and is put down at the first question after the capture, which is later than necessary and therefore safe.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/stream_order.h"
#include "core/backend.h"
#include "core/mutex.h"

namespace infinirt::cache {

// A stream's name for the allocator: its handle; 1 for the legacy stream; for a thread's own stream the thread's number, with the
// topmost bit set, which no address has.
StreamKey key_of(infinirtStream_t stream);
StreamKey key_of_thread(uint64_t number);
bool is_of_thread(StreamKey key);

// Lives as long as the process, as the cache it is a part of: events are never given back.
class EventOrder final : public StreamOrder {
 public:
  // The device is that of the predefined streams.
  EventOrder(const Backend& backend, int device) : backend_(backend), device_(device) {}
  EventOrder(const EventOrder&) = delete;
  EventOrder& operator=(const EventOrder&) = delete;

  Fence now(StreamKey stream) noexcept override;
  bool passed(Fence fence) noexcept override;
  bool precedes(Fence fence, StreamKey stream) noexcept override;
  bool make_wait(StreamKey stream, Fence fence) noexcept override;
  void retain(Fence fence) noexcept override;
  void release(Fence fence) noexcept override;

  // A mark on the calling thread's own stream, which other threads cannot make: for them its last mark is its end.
  Fence mark_own_stream() noexcept;

  // The stream is about to go, and its last mark has been made: its name may come back for another one.
  void forget(StreamKey stream) noexcept;

  // Until all marks that have an event, or can be given one, have been passed. Unlike waiting for the device this does not touch
  // streams that capture. Called with no lock held.
  void wait_for_marks() noexcept;
  // The device has come to rest since the last mark was made: all are passed, also those that could not be put down.
  void device_was_idle() noexcept;

  // The device's events are gone with it, and so is whatever they stood for.
  void device_was_reset(int device) noexcept;

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct Mark {
    uint64_t value;
    infinirtEvent_t event;  // null: open
  };
  struct Timeline {
    uint64_t number;  // tells timelines apart whose streams had the same name
    StreamKey key;
    infinirtStream_t stream;
    int device;
    uint64_t last = 0;  // value of the newest mark
    uint64_t passed = 0;  // up to here everything is done
    std::deque<Mark> marks;  // not known to be passed, oldest first
    size_t references = 0;
    bool forgotten = false;
    std::vector<std::pair<uint64_t, uint64_t>> waited;  // number and value of marks that the stream waited for
  };

  Timeline* timeline_of(StreamKey stream);
  bool is_capturing(const Timeline& timeline);
  Fence mark(Timeline& timeline) noexcept;
  // Takes back events of the oldest marks: where nobody asks about marks, they would pile up while the stream is busy.
  void collect_passed(Timeline& timeline) noexcept;
  bool is_done(const Timeline& timeline, infinirtEvent_t event) noexcept;
  // Whether the stream has nothing left to do: then a mark on it is passed, and needs no event.
  bool is_idle(const Timeline& timeline) noexcept;
  bool record(Timeline& timeline, infinirtEvent_t* event) noexcept;
  // The first mark at or after the value that has an event, after putting down open ones; null when none can have one now.
  const Mark* settled_mark(Timeline& timeline, uint64_t value) noexcept;
  void advance(Timeline& timeline, uint64_t value) noexcept;
  void drop(Timeline* timeline) noexcept;

  const Backend& backend_;
  const int device_;
  Mutex mutex_;
  uint64_t timelines_made_ = 0;
  std::unordered_map<uint64_t, Timeline*> timelines_;  // by the stream's name
  std::unordered_map<int, std::vector<infinirtEvent_t>> spare_events_;  // by device
  std::vector<Timeline*> orphans_;  // of streams that are gone, while fences name them
};

}  // namespace infinirt::cache
