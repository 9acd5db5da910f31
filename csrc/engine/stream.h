// Streams: ordered queues of work, run by the scheduler.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/handle.h"
#include "core/mutex.h"
#include "core/step.h"
#include "engine/engine.h"
#include "engine/observed_work.h"
#include "engine/scheduler.h"
#include "engine/timeline.h"
#include "engine/work.h"

namespace infinirt {

struct Capture;

enum class StreamRole : uint8_t { Created, Legacy, PerThread };

// Kept and given back; the engine acts on none of them.
struct StreamAttributes {
  enum infinirtSynchronizationPolicy sync_policy = infinirtSyncPolicyAuto;
  struct infinirtAccessPolicyWindow window = {};
  infinirtLaunchMemSyncDomain domain = infinirtLaunchMemSyncDomainDefault;
  infinirtLaunchMemSyncDomainMap domain_map = {};
};

struct Stream final : Runnable, Waiter, StepHost {
  // --- fixed from creation to recycling
  EngineDevice* device = nullptr;
  Timeline* timeline = nullptr;
  infinirtStream_t handle = nullptr;  // null for the legacy and per-thread streams
  uint64_t id = 0;                    // never reused
  unsigned flags = 0;                 // infinirtStreamNonBlocking or 0
  int priority = 0;
  StreamRole role = StreamRole::Created;
  bool blocking = true;               // takes part in the legacy stream's ordering

  // --- the queue, under `mutex`
  Mutex mutex;
  Op* first = nullptr;
  Op* last = nullptr;
  Op* spare = nullptr;                // recycled operations
  enum class State : uint8_t { Idle, Active } state = State::Idle;  // Active: the scheduler has it, or it is parked
  bool destroyed = false;             // its handle is gone; recycled when it drains
  uint64_t legacy_seen = 0;           // latest value of the legacy timeline that this stream waits for
  StreamAttributes attributes;
  std::vector<Point> known;           // latest point of each other stream that this one is ordered after

  // --- what ran last, for the message of a failure; only whoever runs the stream
  static constexpr uint32_t kRecentWork = 8;
  struct Recent {
    WorkType type;
    const Kernel* kernel;
  } recent[kRecentWork] = {};
  uint32_t recent_count = 0;

  std::atomic<uint64_t> enqueued{0};  // value of the last operation; written under `mutex`
  std::atomic<uint32_t> for_workers{0};  // operations in the queue and in the batch that do more than compute

  // --- only whoever runs the stream
  Op* batch = nullptr;                // operations taken from the queue
  Op* done = nullptr;                 // executed ones, to be recycled

  // --- the native backend's, for waits for its events: see Backend::extensions
  void* native_lane = nullptr;

  // --- capture.cpp: null unless capturing; written under the capture lock
  std::atomic<Capture*> capture{nullptr};

  bool take_batch();  // false: there is nothing to run, and the stream is idle, or gone

  // Whether all that was enqueued so far has finished.
  bool idle() const { return timeline->reached(enqueued.load(std::memory_order_acquire)); }
  Point tail() const { return {timeline, enqueued.load(std::memory_order_acquire)}; }

  bool run(int budget) override;  // Runnable
  bool only_computes() const override { return for_workers.load(std::memory_order_relaxed) == 0; }
  bool run_for_waiter(const Point& point) override;
  void wake() override;           // Waiter: the point waited for is reached
  void finish_step() override;    // StepHost: the step at the head is over
  void fail_step(infinirtError_t error, const char* message) override;
  void run_parallel(int64_t count, int64_t grain, void (*body)(long long, long long, void*), void* context) override;
};

// From a handle to a stream: 0 and infinirtStreamLegacy, infinirtStreamPerThread, or a handle of ours. Null with a message
// (infinirtErrorInvalidResourceHandle, or *error). Default streams are those of the thread's current device.
Stream* resolve_stream(ThreadState& ts, infinirtStream_t handle, infinirtError_t* error);

// The stream that calls without a stream argument use.
Stream* implicit_stream(ThreadState& ts);

// The entry for all asynchronous work: checks the device, records the work if the stream captures, else enqueues it, or runs
// it here if the program is about to wait for it, as far as its last calls tell (wait_guess.h): a lock that the thread may
// hold for an interpreter is given away meanwhile, as in a wait. On failure the work is disposed of and nothing has changed.
infinirtError_t submit(Stream& stream, Work& work);

// INFINIRT_LAUNCH_BLOCKING=1: device work is complete when the call that enqueued it returns, so that a debugger or a
// stack trace shows the call that failed. submit() sees to it; who calls enqueue() must.
bool launch_blocking();

// As submit() for a step; its function is called here if the stream is idle and `in_caller` says so.
infinirtError_t submit_step(Stream& stream, Work& work, bool in_caller);

// About how long work takes that runs no code of the user and waits for nobody, so that any thread may do it: a computation of
// infinirtXLaunchComputation, a copy or a set of memory that the host reaches, a place in the order. 0: it is something else.
uint64_t computation_ns(const Engine& engine, const Work& work);

// As enqueue(), or runs the work here (see submit).
Point enqueue_or_run(Stream& stream, Work& work);

// Only enqueues (no capture, no checks); returns the point at which the work is done, ordering with the legacy stream included.
// A null timeline when the stream was destroyed meanwhile: the work is then still the caller's.
Point enqueue(Stream& stream, const Work& work);

// `what` is what an observer hears of it. Runs `body` in the calling thread, in the stream's order, if the stream is idle right now and owes the legacy stream
// nothing; false otherwise, with nothing done. `body` is short and calls nothing of the API. Not in random schedules.
template <class Body>
bool try_run_inline(Stream& stream, const Work& what, Body&& body);

// Makes later work of `stream` wait for the point. Cheap when it is reached or known already.
void stream_wait_point(Stream& stream, const Point& point);

// For calls that are operations of their stream but leave no work in it (frees, waits for what is over): on the legacy stream
// they, too, come between what blocking streams have been given so far and what they are given later. Does nothing for others.
void keep_legacy_order(Stream& stream);

// Whether later work of the stream is ordered after the point, by what the stream has waited for (or reached already).
bool ordered_after(Stream& stream, const Point& point);

// All points that must be reached before "the stream is synchronised"; more than one for the legacy stream.
void collect_sync_points(Stream& stream, std::vector<Point>& points);
bool stream_is_done(Stream& stream);
// Blocks until the stream is synchronised; returns the device's errors.
infinirtError_t synchronize_stream(Stream& stream);
// Blocks until work that the calling thread is about to do itself, as the stream's next operation, may begin: the stream is
// done, and for a blocking stream the legacy stream too. Returns the device's errors.
infinirtError_t wait_for_turn(Stream& stream);
// Blocks until all streams of the device are done.
infinirtError_t synchronize_device(EngineDevice& device);
void wait_for_device(EngineDevice& device);  // the same, and errors stay where they are

// Called by a graph run (on any thread) when the Graph work at the head of the stream has finished.
void graph_work_finished(Stream& stream);

Stream* create_stream(EngineDevice& device, unsigned flags, int priority, StreamRole role);
// Destroys the stream if it is still the one with this id and nobody was faster; false otherwise.
bool destroy_stream(Stream& stream, uint64_t id);
// What a call fails with whose stream another thread destroyed under it.
[[gnu::cold]] infinirtError_t stream_destroyed_meanwhile();
// The list of retired streams.
void streams_lock_for_fork();
void streams_unlock_after_fork();  // in parent and child
// Drops every stream of the device after its work has been waited for (DeviceReset).
void destroy_all_streams(EngineDevice& device);

// ------------------------------------------------------------------ inline parts

bool begin_inline(Stream& stream);   // takes the stream's mutex on success
void finish_inline(Stream& stream);  // accounts one operation and releases it

template <class Body>
bool try_run_inline(Stream& stream, const Work& what, Body&& body) {
  if (!begin_inline(stream)) return false;
  if (observed()) [[unlikely]] {
    const int64_t began = observed_ticks();
    body();
    report_inline_work(stream, what, began);
  } else {
    body();
  }
  finish_inline(stream);
  return true;
}

}  // namespace infinirt
