#include "engine/stream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "core/log.h"
#include "core/object_pool.h"
#include "core/wait_hooks.h"
#include "engine/capture.h"
#include "engine/graph_exec.h"
#include "engine/graph_run.h"
#include "engine/memory.h"
#include "engine/pool.h"
#include "engine/step.h"

namespace infinirt {

namespace {

constexpr size_t kKnownLimit = 16;  // beyond this, points that are reached anyway are forgotten

ObjectPool<Stream>& stream_pool() {
  static auto* pool = new ObjectPool<Stream>;
  return *pool;
}

// Streams that programs create are numbered from 1, as people count them in traces and reports; default streams are far behind.
constexpr uint64_t kDefaultStreams = uint64_t{1} << 32;
std::atomic<uint64_t> next_created_id{1}, next_default_id{kDefaultStreams};

// Retired streams rest here before they are recycled, first in, first out: a thread that looked a handle up just before
// another thread destroyed it then meets `destroyed`, not the next owner.
constexpr size_t kRestingStreams = 256;
struct RestingStreams {
  Mutex mutex;
  std::deque<Stream*> streams;
};
RestingStreams& resting_streams() {
  static auto* instance = new RestingStreams;
  return *instance;
}

// Runs no code of the user, waits for nobody, and may therefore run on any thread. The same before and after it has run.
bool merely_computes(const Stream& stream, const Work& work) {
  return computation_ns(*stream.device->engine, work) > 0;
}

// A thread that is inside a vendor's library may hold its locks until the device has come to rest: work that needs that library must
// not be what the device waits for.
bool calls_vendor(const Work& work) {
  switch (work.type) {
    case WorkType::Copy:
      return calls_vendor(work.copy);
    case WorkType::Wait:
      return work.wait.awaits_vendor();
    case WorkType::Graph:
      return calls_vendor(*work.graph.run);
    default:
      return false;
  }
}

// ---- the queue; all with stream.mutex held

Op* take_op(Stream& stream) {
  if (Op* op = stream.spare) {
    stream.spare = op->next;
    return op;
  }
  return new Op;
}

uint64_t append(Stream& stream, const Work& work, const Issued& issued) {
  Op* op = take_op(stream);
  op->next = nullptr;
  op->work = work;
  op->value = stream.enqueued.load(std::memory_order_relaxed) + 1;
  op->began = 0;
  op->issued = issued;
  if (!merely_computes(stream, work)) {
    stream.for_workers.fetch_add(1, std::memory_order_relaxed);
    if (calls_vendor(work)) [[unlikely]]
      stream.timeline->note_vendor_call(op->value);
  }
  if (stream.last) {
    stream.last->next = op;
  } else {
    stream.first = op;
  }
  stream.last = op;
  stream.enqueued.store(op->value, std::memory_order_release);
  return op->value;
}

uint64_t append(Stream& stream, const Work& work) { return append(stream, work, issued_now(thread_state())); }

void remember(Stream& stream, const Point& point) {
  for (Point& known : stream.known) {
    if (known.timeline == point.timeline) {
      known.value = std::max(known.value, point.value);
      return;
    }
  }
  if (stream.known.size() >= kKnownLimit) {
    std::erase_if(stream.known, [](const Point& p) { return p.reached(); });
  }
  stream.known.push_back(point);
}

void append_wait(Stream& stream, const Point& point) {
  Work wait;
  wait.type = WorkType::Wait;
  wait.wait = point;
  append(stream, wait, issued_for_runtime(thread_state()));
  remember(stream, point);
  if (observed()) [[unlikely]]
    report_stream_order(stream, point);
}

// Work of a blocking stream comes after all earlier work of the legacy stream.
void append_legacy_dependency(Stream& stream) {
  Stream& legacy = *stream.device->legacy;
  const Point tail = legacy.tail();
  if (tail.value > stream.legacy_seen) {
    stream.legacy_seen = tail.value;
    if (!tail.reached()) append_wait(stream, tail);
  }
}

bool owes_legacy(const Stream& stream) {
  const Point tail = stream.device->legacy->tail();
  return tail.value > stream.legacy_seen && !tail.reached();
}

// Makes an idle stream active; the caller hands it to the scheduler after unlocking.
bool activate(Stream& stream) {
  if (stream.state == Stream::State::Active) return false;
  stream.state = Stream::State::Active;
  stream.urgency = -stream.priority;
  return true;
}

// With stream.mutex held, which it releases: the calling thread becomes who runs the idle stream, and the work what it runs.
Point run_here(Stream& stream, Work& work) {
  const Point done{stream.timeline, append(stream, work)};
  work.type = WorkType::Nothing;  // the queue owns it now
  activate(stream);
  stream.batch = stream.first;
  stream.first = stream.last = nullptr;
  stream.mutex.unlock();
  return done;
}

// The last operation of the batch head has run.
void finish_head(Stream& stream) {
  Op* op = stream.batch;
  stream.batch = op->next;
  if (op->began != 0) [[unlikely]]
    report_stream_work(stream, *op);
  stream.recent[stream.recent_count++ % Stream::kRecentWork] = {
      op->work.type, op->work.type == WorkType::Kernel ? op->work.kernel.kernel : nullptr};
  if (!merely_computes(stream, op->work)) stream.for_workers.fetch_sub(1, std::memory_order_relaxed);
  dispose_work(op->work);
  const uint64_t value = op->value;
  op->next = stream.done;
  stream.done = op;
  stream.timeline->advance(value);
}

void recycle_done(Stream& stream) {
  while (Op* op = stream.done) {
    stream.done = op->next;
    op->next = stream.spare;
    stream.spare = op;
  }
}

// A destroyed stream has drained.
void retire(Stream* stream) {
  pools_stream_retired(*stream);
  EngineDevice& device = *stream->device;
  {
    std::lock_guard guard(device.mutex);
    std::erase(device.streams, stream);
  }
  release_timeline(stream->timeline);
  if (stream->native_lane)
    g_hot.native_backend.load(std::memory_order_acquire)->extensions.DropLane(&stream->native_lane);
  while (Op* op = stream->spare) {
    stream->spare = op->next;
    delete op;
  }
  Stream* rested = nullptr;
  {
    std::lock_guard guard(resting_streams().mutex);
    resting_streams().streams.push_back(stream);
    if (resting_streams().streams.size() > kRestingStreams) {
      rested = resting_streams().streams.front();
      resting_streams().streams.pop_front();
    }
  }
  if (rested) stream_pool().release(rested);
}

// A thread's default stream on one device. The id tells whether the (recycled) object is still that stream.
struct PerThreadStream {
  Stream* stream = nullptr;
  uint64_t id = 0;
  bool alive() const {
    if (!stream) return false;
    std::lock_guard guard(stream->mutex);  // another thread may be resetting the device
    return stream->id == id && !stream->destroyed;
  }
};
using PerThreadStreams = std::vector<PerThreadStream>;  // one per device

void thread_ended(ThreadExtra& extra) {
  for (void*& entry : extra.per_thread_streams) {
    auto* streams = static_cast<PerThreadStreams*>(entry);
    if (!streams) continue;
    for (const PerThreadStream& s : *streams) {
      if (s.stream) destroy_stream(*s.stream, s.id);
    }
    delete streams;
    entry = nullptr;
  }
}

Stream* per_thread_stream(ThreadState& ts) {
  static const bool hooked = (add_thread_exit_hook(thread_ended), true);
  (void)hooked;
  EngineDevice& device = current_device(ts);
  void*& entry = thread_extra(ts).per_thread_streams[device.engine->backend.index];
  if (!entry) entry = new PerThreadStreams(device.engine->devices.size());
  PerThreadStream& mine = (*static_cast<PerThreadStreams*>(entry))[static_cast<size_t>(device.ordinal)];
  if (!mine.alive()) {
    mine.stream = create_stream(device, 0, 0, StreamRole::PerThread);
    mine.id = mine.stream->id;
  }
  return mine.stream;
}

// Runs work in the calling thread, in the stream's order, if the stream is idle right now; a null timeline otherwise, with nothing done.
Point run_ahead(Stream& stream, Work& work) {
  const RareWaitScope waiting;
  if (!begin_inline(stream)) return {};
  const int64_t began = monotonic_ns();
  const Point done = run_here(stream, work);
  if (stream.run_for_waiter(done)) schedule(&stream);
  done.timeline->guess.ran_ahead(done.value, began);
  return done;
}

// The launch of a graph at the head of the stream. False: it goes on elsewhere, and graph_work_finished() brings the stream back.
bool start_graph(Stream& stream) {
  GraphRun* run = std::exchange(stream.batch->work.graph.run, nullptr);
  run->issued = stream.batch->issued;
  run->position = stream.batch->value;
  if (stream.device->sticky_error.load(std::memory_order_relaxed) != 0) {
    drop_graph_run(run);
    return true;
  }
  return start_graph_run(run, stream);
}

}  // namespace

bool launch_blocking() {
  static const bool blocking = [] {
    const char* value = std::getenv("INFINIRT_LAUNCH_BLOCKING");
    if (!value || !*value || std::strcmp(value, "0") == 0) return false;
    if (std::strcmp(value, "1") == 0) return true;
    report_setting("INFINIRT_LAUNCH_BLOCKING", value, "0 or 1; launches do not block");
    return false;
  }();
  return blocking;
}

bool Stream::take_batch() {
  if (batch) return true;
  mutex.lock();
  recycle_done(*this);
  batch = first;
  first = last = nullptr;
  const bool idle_now = !batch;
  if (idle_now) state = State::Idle;
  const bool dead = idle_now && destroyed;
  mutex.unlock();
  if (dead) retire(this);
  return !idle_now;
}

bool Stream::run(int budget) {
  for (;;) {
    if (!take_batch()) return false;
    // Looked at only now: a stream whose last operation is done is idle at once, not after another turn of nothing.
    if (budget-- <= 0) return true;
    Work& work = batch->work;
    if (observed() && batch->began == 0) [[unlikely]]
      batch->began = observed_ticks();
    if (work.type == WorkType::Wait) {
      if (work.wait.timeline->park(this, work.wait.value)) return false;  // wake() brings us back
    } else if (work.type == WorkType::Graph) {
      if (!start_graph(*this)) return false;
    } else if (work.type == WorkType::Step) {
      if (!run_step(*this, *device, work.step, false)) return false;  // finish_step() brings us back
    } else {
      execute_work(*device, work, {this, &batch->issued, false});
    }
    finish_head(*this);
  }
}

bool Stream::run_for_waiter(const Point& point) {
  for (;;) {
    if (!take_batch()) return false;
    if (point.reached() || !merely_computes(*this, batch->work)) return true;
    if (observed() && batch->began == 0) [[unlikely]]
      batch->began = observed_ticks();
    if (batch->work.type == WorkType::Graph) {
      if (!start_graph(*this)) return false;
    } else {
      execute_work(*device, batch->work, {this, &batch->issued, false});
    }
    finish_head(*this);
  }
}

void Stream::wake() { schedule(this); }

void Stream::finish_step() {
  finish_head(*this);
  // Nothing more to do, which is usual: then no worker has to find that out.
  if (is_random_schedule() || run(0)) schedule(this);
}

void Stream::fail_step(infinirtError_t error, const char* message) { report_async_error(*device, error, message); }

void Stream::run_parallel(int64_t count, int64_t grain, void (*body)(long long, long long, void*), void* context) {
  run_step_parallel(count, grain, body, context);
}

infinirtError_t submit_step(Stream& stream, Work& work, bool in_caller) {
  if (!in_caller || !begin_inline(stream)) return submit(stream, work);
  // The calling thread is the stream's worker for as long as the step's function runs.
  run_here(stream, work);
  if (observed()) [[unlikely]]
    stream.batch->began = observed_ticks();
  switch (call_step(stream, *stream.device, stream.batch->work.step, true)) {
    case infinirtXStepDone:
      stream.finish_step();
      break;
    case infinirtXStepLater:
      schedule(&stream);
      break;
    case infinirtXStepParked:
      break;
  }
  return infinirtSuccess;
}

void graph_work_finished(Stream& stream) {
  finish_head(stream);
  schedule(&stream);
}

Point enqueue(Stream& stream, const Work& work) {
  bool start;
  uint64_t value;
  if (stream.role == StreamRole::Legacy) {
    EngineDevice& device = *stream.device;
    std::lock_guard device_guard(device.mutex);
    std::lock_guard guard(stream.mutex);
    for (Stream* other : device.streams) {
      if (!other->blocking) continue;
      const Point tail = other->tail();
      if (!tail.reached()) append_wait(stream, tail);
    }
    value = append(stream, work);
    start = activate(stream);
  } else {
    std::lock_guard guard(stream.mutex);
    if (stream.destroyed) return {};  // another thread destroyed it between our look at the handle and now
    if (stream.blocking) append_legacy_dependency(stream);
    value = append(stream, work);
    start = activate(stream);
  }
  if (start) schedule(&stream);
  return {stream.timeline, value};
}

uint64_t computation_ns(const Engine& engine, const Work& work) {
  constexpr double kByte_ns = 0.1;
  const auto moving = [&engine](const auto& moved) -> uint64_t {
    if (engine.inline_limit() == 0) return 0;
    const double bytes =
        static_cast<double>(moved.width) * static_cast<double>(moved.height) * static_cast<double>(moved.depth);
    return 1 + static_cast<uint64_t>(kByte_ns * bytes);
  };
  switch (work.type) {
    case WorkType::Nothing:
    case WorkType::Record:
      return 1;
    case WorkType::Copy:
      return work.copy.other ? 0 : moving(work.copy);
    case WorkType::Fill:
      return moving(work.fill);
    case WorkType::Kernel:
      return uint64_t{work.kernel.block_ns} * work.kernel.grid[0] * work.kernel.grid[1] * work.kernel.grid[2];
    case WorkType::Graph:
      return work.graph.computes_ns;
    default:
      return 0;
  }
}

Point enqueue_or_run(Stream& stream, Work& work) {
  // What takes longer goes to a worker, however soon the program has waited so far; so does what takes no time, which nobody waits for.
  constexpr uint64_t kRunsAhead_ns = 2000000;
  stream.timeline->guess.gives_work();
  const uint64_t ns = computation_ns(*stream.device->engine, work);
  if (ns > 1 && ns <= kRunsAhead_ns && stream.timeline->guess.may_run_ahead()) {
    if (const Point done = run_ahead(stream, work); done.timeline) return done;
  }
  const Point done = enqueue(stream, work);
  if (done.timeline) done.timeline->guess.left_to_worker(ns > 1);  // now: waking the worker took its time
  return done;
}

infinirtError_t submit(Stream& stream, Work& work) {
  infinirtError_t error = check_device(*stream.device);
  if (error != infinirtSuccess) {
    dispose_work(work);
    return error;
  }
  if (stream.capture.load(std::memory_order_acquire)) return capture_work(stream, work);
  if (stream.role == StreamRole::Legacy && stream.device->blocking_captures.load(std::memory_order_relaxed) > 0) {
    error = capture_bars_legacy(*stream.device);
    if (error != infinirtSuccess) {
      dispose_work(work);
      return error;
    }
  }
  const Point done = enqueue_or_run(stream, work);
  if (!done.timeline) {
    dispose_work(work);
    return stream_destroyed_meanwhile();
  }
  // Host functions and steps stay asynchronous: one may wait for what its caller does next.
  const bool waits = launch_blocking() && work.type != WorkType::Host && work.type != WorkType::Callback &&
                     work.type != WorkType::Step;
  work.type = WorkType::Nothing;  // the queue owns it now
  if (waits) {
    const RareWaitScope waiting;
    help_until(done);
    return take_async_error(*stream.device);
  }
  return infinirtSuccess;
}

bool begin_inline(Stream& stream) {
  if (is_random_schedule() || stream.capture.load(std::memory_order_relaxed) || check_device(*stream.device))
    return false;
  if (stream.role == StreamRole::Legacy) {
    EngineDevice& device = *stream.device;
    if (device.blocking_captures.load(std::memory_order_relaxed) > 0) return false;
    std::lock_guard guard(device.mutex);
    for (Stream* other : device.streams) {
      if (other->blocking && !other->idle()) return false;
    }
  }
  stream.mutex.lock();
  if (stream.state == Stream::State::Idle && !stream.destroyed &&
      !(stream.blocking && stream.role != StreamRole::Legacy && owes_legacy(stream))) {
    return true;
  }
  stream.mutex.unlock();
  return false;
}

void finish_inline(Stream& stream) {
  const uint64_t value = stream.enqueued.load(std::memory_order_relaxed) + 1;
  stream.enqueued.store(value, std::memory_order_release);
  stream.timeline->advance(value);
  stream.mutex.unlock();
}

void stream_wait_point(Stream& stream, const Point& point) {
  if (!point.timeline || point.timeline == stream.timeline) return;
  bool start = false;
  {
    std::lock_guard guard(stream.mutex);
    if (stream.destroyed) return;  // as in enqueue(): there is no later work that could wait
    if (point.reached()) {
      remember(stream, point);
      if (observed()) [[unlikely]]
        report_stream_order(stream, point);
    } else {
      append_wait(stream, point);
      start = activate(stream);
    }
  }
  if (start) schedule(&stream);
}

void keep_legacy_order(Stream& stream) {
  if (stream.role != StreamRole::Legacy) return;
  {
    EngineDevice& device = *stream.device;
    std::lock_guard guard(device.mutex);
    const auto pending = [](const Stream* other) { return other->blocking && !other->idle(); };
    if (std::none_of(device.streams.begin(), device.streams.end(), pending)) return;
  }
  enqueue(stream, Work());
}

bool ordered_after(Stream& stream, const Point& point) {
  if (!point.timeline || point.timeline == stream.timeline) return true;
  if (stream.blocking && stream.role != StreamRole::Legacy && point.timeline == stream.device->legacy->timeline)
    return true;
  std::lock_guard guard(stream.mutex);
  for (const Point& known : stream.known) {
    if (known.timeline == point.timeline) return known.value >= point.value;
  }
  return false;
}

void collect_sync_points(Stream& stream, std::vector<Point>& points) {
  if (stream.role == StreamRole::Legacy) {
    std::lock_guard guard(stream.device->mutex);
    for (Stream* other : stream.device->streams) {
      // One that is ahead is done, and learns that it was waited for.
      if (other->blocking && (!other->idle() || other->timeline->guess.is_ahead())) points.push_back(other->tail());
    }
  }
  points.push_back(stream.tail());
}

bool stream_is_done(Stream& stream) {
  if (stream.role != StreamRole::Legacy) return stream.idle();
  std::vector<Point> points;
  collect_sync_points(stream, points);
  return std::all_of(points.begin(), points.end(), [](const Point& p) { return p.reached(); });
}

infinirtError_t synchronize_stream(Stream& stream) {
  const bool sleeps = stream.device->flags.load(std::memory_order_relaxed) & infinirtDeviceScheduleBlockingSync;
  const auto wait = [&](const Point& point) { sleeps ? wait_for(point, false) : help_until(point); };
  if (stream.role != StreamRole::Legacy) {
    wait(stream.tail());
  } else {
    std::vector<Point> points;
    collect_sync_points(stream, points);
    for (const Point& point : points) wait(point);
  }
  return take_async_error(*stream.device);
}

infinirtError_t wait_for_turn(Stream& stream) {
  if (stream.blocking && stream.role != StreamRole::Legacy) help_until(stream.device->legacy->tail());
  return synchronize_stream(stream);
}

infinirtError_t synchronize_device(EngineDevice& device) {
  wait_for_device(device);
  return take_async_error(device);
}

void wait_for_device(EngineDevice& device) {
  std::vector<Point> points;
  {
    std::lock_guard guard(device.mutex);
    points.push_back(device.legacy->tail());
    for (Stream* stream : device.streams) points.push_back(stream->tail());
  }
  for (const Point& point : points) help_until(point);
}

Stream* resolve_stream(ThreadState& ts, infinirtStream_t handle, infinirtError_t* error) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value <= 1) {
    Stream* stream = value == 0 ? implicit_stream(ts) : current_device(ts).legacy;
    return stream;
  }
  if (value == 2) return per_thread_stream(ts);
  if (auto* stream = handle_resolve<Stream>(handle, HandleKind::Stream)) return stream;
  char text[160];
  *error = fail(infinirtErrorInvalidResourceHandle, "stream %s",
                describe_handle(handle, HandleKind::Stream, text, sizeof text));
  return nullptr;
}

Stream* implicit_stream(ThreadState& ts) {
  return ts.implicit_stream ? per_thread_stream(ts) : current_device(ts).legacy;
}

Stream* create_stream(EngineDevice& device, unsigned flags, int priority, StreamRole role) {
  Stream* stream = stream_pool().acquire();
  std::unique_lock guard(stream->mutex);  // a thread with a stale pointer may be looking
  stream->device = &device;
  stream->timeline = acquire_timeline();
  stream->timeline->runner.store(stream, std::memory_order_release);
  stream->timeline->guess.note(false);
  stream->handle = nullptr;
  auto& next_id = role == StreamRole::Created ? next_created_id : next_default_id;
  stream->id = next_id.fetch_add(1, std::memory_order_relaxed);
  stream->flags = flags;
  stream->priority = priority;
  stream->urgency = -priority;
  stream->role = role;
  stream->blocking = !(flags & infinirtStreamNonBlocking);
  stream->first = stream->last = stream->batch = stream->done = nullptr;
  stream->recent_count = 0;
  stream->state = Stream::State::Idle;
  stream->destroyed = false;
  stream->known.clear();
  stream->attributes = {};
  stream->capture.store(nullptr);
  stream->enqueued.store(stream->timeline->completed());
  stream->for_workers.store(0);
  stream->legacy_seen = 0;
  guard.unlock();
  if (role != StreamRole::Legacy) {
    std::lock_guard device_guard(device.mutex);
    device.streams.push_back(stream);
  }
  if (role == StreamRole::Created) {
    stream->handle =
        static_cast<infinirtStream_t>(handle_create(HandleKind::Stream, device.engine->backend.index, stream));
    if (!stream->handle) {
      destroy_stream(*stream, stream->id);
      return nullptr;
    }
  }
  return stream;
}

bool destroy_stream(Stream& stream, uint64_t id) {
  bool drained;
  infinirtStream_t handle;
  {
    std::lock_guard guard(stream.mutex);
    if (stream.id != id || stream.destroyed) return false;  // somebody else was faster
    stream.destroyed = true;
    handle = stream.handle;
    drained = stream.state == Stream::State::Idle;
  }
  if (stream.capture.load(std::memory_order_acquire)) capture_stream_destroyed(stream);
  if (handle) handle_destroy(handle);
  if (drained) retire(&stream);
  return true;
}

void streams_lock_for_fork() { resting_streams().mutex.lock(); }
void streams_unlock_after_fork() { resting_streams().mutex.unlock(); }

void destroy_all_streams(EngineDevice& device) {
  std::vector<std::pair<Stream*, uint64_t>> streams;
  {
    std::lock_guard guard(device.mutex);
    for (Stream* stream : device.streams) streams.emplace_back(stream, stream->id);
  }
  for (const auto& [stream, id] : streams) destroy_stream(*stream, id);
}

infinirtError_t stream_destroyed_meanwhile() {
  return fail(infinirtErrorInvalidResourceHandle, "the stream was destroyed by another thread during this call");
}

}  // namespace infinirt
