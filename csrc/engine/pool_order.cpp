#include "engine/pool_order.h"

#include <mutex>

namespace infinirt {

namespace {

Stream& stream_of(StreamKey key) { return *reinterpret_cast<Stream*>(key.id >> 20 << 4); }

class TimelineOrder final : public StreamOrder {
 public:
  Fence now(StreamKey stream) noexcept override {
    return stream == kHostKey ? Fence{} : fence_at(point_of_free(stream_of(stream)));
  }
  bool passed(Fence fence) noexcept override { return point(fence).reached(); }
  bool precedes(Fence fence, StreamKey stream) noexcept override {
    if (!fence.timeline) return true;
    return stream != kHostKey && ordered_after(stream_of(stream), point(fence));
  }
  bool make_wait(StreamKey stream, Fence fence) noexcept override {
    if (stream == kHostKey) return false;
    Stream& waiting = stream_of(stream);
    if (waiting.capture.load(std::memory_order_acquire)) return false;
    stream_wait_point(waiting, point(fence));
    return true;
  }
  // Timelines are never freed.
  void retain(Fence) noexcept override {}
  void release(Fence) noexcept override {}

 private:
  static Point point(Fence fence) { return {static_cast<Timeline*>(fence.timeline), fence.value}; }
};

}  // namespace

bool next_work_waits(Stream& stream) {
  EngineDevice& device = *stream.device;
  if (stream.role != StreamRole::Legacy) return stream.blocking && !device.legacy->idle();
  std::lock_guard guard(device.mutex);
  for (const Stream* other : device.streams) {
    if (other->blocking && !other->idle()) return true;
  }
  return false;
}

Point point_of_free(Stream& stream) {
  if (next_work_waits(stream)) [[unlikely]] {
    const Point point = enqueue(stream, Work{});
    if (point.timeline) return point;
    // Destroyed meanwhile: nothing can be enqueued, and what was freed on it before carries its own point.
  }
  return stream.tail();
}

StreamOrder& timeline_order() {
  static auto* order = new TimelineOrder;
  return *order;
}

}  // namespace infinirt
