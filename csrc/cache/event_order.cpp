#include "cache/event_order.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

#include "cache/device_calls.h"

namespace infinirt::cache {

namespace {

constexpr uint64_t kOfThread = uint64_t{1} << 63;

const auto kLegacy = reinterpret_cast<infinirtStream_t>(1);
const auto kPerThread = reinterpret_cast<infinirtStream_t>(2);

infinirtStream_t stream_of(StreamKey key) {
  return is_of_thread(key) ? kPerThread : reinterpret_cast<infinirtStream_t>(key.id);
}

uint64_t number_of_this_thread() {
  static std::atomic<uint64_t> threads{1};
  ThreadExtra& extra = thread_extra(thread_state());
  if (extra.number == 0) extra.number = threads.fetch_add(1, std::memory_order_relaxed);
  return extra.number;
}

}  // namespace

bool is_of_thread(StreamKey key) { return (key.id & kOfThread) != 0; }
StreamKey key_of_thread(uint64_t number) { return {kOfThread | number}; }

StreamKey key_of(infinirtStream_t stream) {
  const auto value = reinterpret_cast<uintptr_t>(stream);
  if (value > 2) [[likely]]
    return {value};
  const bool own = value == 2 || (value == 0 && thread_state().implicit_stream == kPerThread);
  return own ? key_of_thread(number_of_this_thread()) : StreamKey{reinterpret_cast<uintptr_t>(kLegacy)};
}

EventOrder::Timeline* EventOrder::timeline_of(StreamKey stream) try {
  auto [place, is_new] = timelines_.try_emplace(stream.id, nullptr);
  if (!is_new) return place->second;
  auto* timeline = new (std::nothrow) Timeline;
  if (!timeline) {
    timelines_.erase(place);
    return nullptr;
  }
  timeline->number = ++timelines_made_;
  timeline->key = stream;
  timeline->stream = stream_of(stream);
  timeline->device = device_;
  if (reinterpret_cast<uintptr_t>(timeline->stream) > 2) {
    const DeviceCalls calls(backend_, device_);
    const auto ask = backend_.extensions.StreamGetDevice ? backend_.extensions.StreamGetDevice : calls->StreamGetDevice;
    if (ask(timeline->stream, &timeline->device) != infinirtSuccess) timeline->device = device_;
  }
  place->second = timeline;
  return timeline;
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool EventOrder::is_capturing(const Timeline& timeline) {
  const DeviceCalls calls(backend_, timeline.device);
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  // The legacy stream cannot be asked, nor marked, while another stream's capture bars it.
  return calls->StreamIsCapturing(timeline.stream, &status) != infinirtSuccess ||
         status != infinirtStreamCaptureStatusNone;
}

bool EventOrder::record(Timeline& timeline, infinirtEvent_t* event) noexcept try {
  *event = nullptr;
  const DeviceCalls calls(backend_, timeline.device);
  auto& spare = spare_events_[timeline.device];
  if (!spare.empty()) {
    *event = spare.back();
    spare.pop_back();
  } else if (calls->EventCreateWithFlags(event, infinirtEventDisableTiming) != infinirtSuccess) {
    return false;
  }
  if (calls->EventRecord(*event, timeline.stream) == infinirtSuccess) return true;
  calls->EventDestroy(*event);
  *event = nullptr;
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

bool EventOrder::is_idle(const Timeline& timeline) noexcept {
  const DeviceCalls calls(backend_, timeline.device);
  const auto query = backend_.extensions.QuietStreamQuery ? backend_.extensions.QuietStreamQuery : calls->StreamQuery;
  return query(timeline.stream) == infinirtSuccess;
}

Fence EventOrder::mark(Timeline& timeline) noexcept try {
  const bool is_capturing_now = is_capturing(timeline);
  if (!is_capturing_now && is_idle(timeline)) {
    advance(timeline, ++timeline.last);
    return {&timeline, timeline.last};
  }
  collect_passed(timeline);
  timeline.marks.push_back({timeline.last + 1, nullptr});
  ++timeline.last;
  if (!is_capturing_now) record(timeline, &timeline.marks.back().event);
  return {&timeline, timeline.last};
} catch (const std::bad_alloc&) {
  // No room for a mark: the next one stands for it.
  return {&timeline, ++timeline.last};
}

void EventOrder::collect_passed(Timeline& timeline) noexcept {
  for (int tries = 0; tries < 2 && !timeline.marks.empty(); ++tries) {
    const Mark oldest = timeline.marks.front();
    if (!oldest.event || !is_done(timeline, oldest.event)) return;
    advance(timeline, oldest.value);
  }
}

bool EventOrder::is_done(const Timeline& timeline, infinirtEvent_t event) noexcept {
  const DeviceCalls calls(backend_, timeline.device);
  // Whatever is neither done nor under way has failed, or went with a device or a process: nobody uses the memory any more.
  const auto query = backend_.extensions.QuietEventQuery ? backend_.extensions.QuietEventQuery : calls->EventQuery;
  return query(event) != infinirtErrorNotReady;
}

Fence EventOrder::now(StreamKey stream) noexcept {
  std::lock_guard guard(mutex_);
  Timeline* timeline = timeline_of(stream);
  if (!timeline) return {};  // without memory for a few words nothing else goes on, either
  if (is_of_thread(stream)) return {timeline, timeline->last};
  return mark(*timeline);
}

Fence EventOrder::mark_own_stream() noexcept {
  std::lock_guard guard(mutex_);
  Timeline* timeline = timeline_of(key_of(kPerThread));
  return timeline ? mark(*timeline) : Fence{};
}

const EventOrder::Mark* EventOrder::settled_mark(Timeline& timeline, uint64_t value) noexcept {
  const auto first = std::find_if(timeline.marks.begin(), timeline.marks.end(),
                                  [&](const Mark& mark) { return mark.value >= value && mark.event; });
  if (first != timeline.marks.end()) return &*first;
  // Open marks at the end: one event now stands for all of them.
  const bool is_mine = timeline.key == key_of(kPerThread);
  if (timeline.marks.empty() || timeline.forgotten || (is_of_thread(timeline.key) && !is_mine)) return nullptr;
  Mark& newest = timeline.marks.back();
  if (newest.event || is_capturing(timeline) || !record(timeline, &newest.event)) return nullptr;
  return newest.value >= value ? &newest : nullptr;
}

void EventOrder::advance(Timeline& timeline, uint64_t value) noexcept {
  timeline.passed = std::max(timeline.passed, value);
  while (!timeline.marks.empty() && timeline.marks.front().value <= value) {
    if (infinirtEvent_t event = timeline.marks.front().event) {
      try {
        spare_events_[timeline.device].push_back(event);
      } catch (const std::bad_alloc&) {
        const DeviceCalls calls(backend_, timeline.device);
        calls->EventDestroy(event);
      }
    }
    timeline.marks.pop_front();
  }
}

bool EventOrder::passed(Fence fence) noexcept {
  auto& timeline = *static_cast<Timeline*>(fence.timeline);
  std::lock_guard guard(mutex_);
  if (fence.value <= timeline.passed) return true;
  const Mark* mark = settled_mark(timeline, fence.value);
  if (!mark || !is_done(timeline, mark->event)) return false;
  advance(timeline, mark->value);
  return fence.value <= timeline.passed;
}

bool EventOrder::precedes(Fence fence, StreamKey stream) noexcept {
  const auto& timeline = *static_cast<Timeline*>(fence.timeline);
  std::lock_guard guard(mutex_);
  if (timeline.key == stream && !timeline.forgotten) return true;
  const auto found = timelines_.find(stream.id);
  if (found == timelines_.end()) return false;
  for (const auto& [number, value] : found->second->waited) {
    if (number == timeline.number && value >= fence.value) return true;
  }
  return false;
}

bool EventOrder::make_wait(StreamKey stream, Fence fence) noexcept try {
  auto& source = *static_cast<Timeline*>(fence.timeline);
  std::lock_guard guard(mutex_);
  Timeline* target = timeline_of(stream);
  if (!target || (is_of_thread(stream) && stream != key_of(kPerThread))) return false;
  if (fence.value <= source.passed) return true;
  const Mark* mark = settled_mark(source, fence.value);
  if (!mark || is_capturing(*target)) return false;
  auto& waited = target->waited;
  const auto known =
      std::find_if(waited.begin(), waited.end(), [&](const auto& entry) { return entry.first == source.number; });
  const bool is_new = known == waited.end();
  const auto index = known - waited.begin();
  if (is_new) waited.reserve(waited.size() + 1);
  const DeviceCalls calls(backend_, target->device);
  if (calls->StreamWaitEvent(target->stream, mark->event, 0) != infinirtSuccess) return false;
  if (is_new) waited.emplace_back(source.number, 0);
  uint64_t& value = waited[static_cast<size_t>(index)].second;
  value = std::max(value, mark->value);
  if (is_of_thread(stream))
    this->mark(*target);  // nobody else can, and what comes after the wait comes after its last mark
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void EventOrder::retain(Fence fence) noexcept {
  std::lock_guard guard(mutex_);
  ++static_cast<Timeline*>(fence.timeline)->references;
}

void EventOrder::release(Fence fence) noexcept {
  auto* timeline = static_cast<Timeline*>(fence.timeline);
  std::lock_guard guard(mutex_);
  if (--timeline->references == 0 && timeline->forgotten) drop(timeline);
}

void EventOrder::drop(Timeline* timeline) noexcept {
  std::erase(orphans_, timeline);
  for (const auto& [key, other] : timelines_) {
    std::erase_if(other->waited, [&](const auto& entry) { return entry.first == timeline->number; });
  }
  advance(*timeline, timeline->last);
  delete timeline;
}

void EventOrder::forget(StreamKey stream) noexcept {
  std::lock_guard guard(mutex_);
  const auto found = timelines_.find(stream.id);
  if (found == timelines_.end()) return;
  Timeline* timeline = found->second;
  try {
    orphans_.push_back(timeline);
  } catch (const std::bad_alloc&) {
    return;  // it stays, under a name that may come back: its marks are still true, for a stream that is longer than it was
  }
  timelines_.erase(found);
  timeline->forgotten = true;
  if (timeline->references == 0) drop(timeline);
}

void EventOrder::wait_for_marks() noexcept try {
  std::vector<std::pair<int, infinirtEvent_t>> events;
  {
    std::lock_guard guard(mutex_);
    const auto add = [&](Timeline& timeline) {
      settled_mark(timeline, timeline.last);
      const auto newest = std::find_if(timeline.marks.rbegin(), timeline.marks.rend(),
                                       [](const Mark& mark) { return mark.event != nullptr; });
      if (newest != timeline.marks.rend()) events.emplace_back(timeline.device, newest->event);
    };
    for (auto& [key, timeline] : timelines_) add(*timeline);
    for (Timeline* timeline : orphans_) add(*timeline);
  }
  // Events live on, also those that are used again meanwhile: then the wait is longer than necessary.
  for (const auto& [device, event] : events) {
    const DeviceCalls calls(backend_, device);
    const auto wait =
        backend_.extensions.QuietEventSynchronize ? backend_.extensions.QuietEventSynchronize : calls->EventSynchronize;
    wait(event);
  }
} catch (const std::bad_alloc&) {
  // Nothing has been waited for, and nothing is passed by that.
}

void EventOrder::device_was_idle() noexcept {
  std::lock_guard guard(mutex_);
  for (auto& [key, timeline] : timelines_) advance(*timeline, timeline->last);
  for (Timeline* timeline : orphans_) advance(*timeline, timeline->last);
}

void EventOrder::device_was_reset(int device) noexcept {
  std::lock_guard guard(mutex_);
  const auto clear = [device](Timeline& timeline) {
    if (timeline.device != device) return;
    timeline.passed = timeline.last;
    timeline.marks.clear();
    timeline.waited.clear();
  };
  for (auto& [key, timeline] : timelines_) clear(*timeline);
  for (Timeline* timeline : orphans_) clear(*timeline);
  spare_events_.erase(device);
}

}  // namespace infinirt::cache
