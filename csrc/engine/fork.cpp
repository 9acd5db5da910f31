#include "engine/fork.h"

#include <pthread.h>

#include "core/handle.h"
#include "core/object_pool.h"
#include "core/registry.h"
#include "engine/engine.h"
#include "engine/event.h"
#include "engine/pool.h"
#include "engine/scheduler.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

template <class Visit>
void for_each_device(Visit&& visit) {
  for (Engine* engine : all_engines()) {
    for (auto& device : engine->devices) visit(*device);
  }
}

// Lock order as everywhere: allocators, device, stream, then the leaves. Nothing here waits for work.
void before_fork() {
  engines_lock_for_fork();
  pools_prepare_fork();
  for_each_device([](EngineDevice& device) {
    device.mutex.lock();
    device.legacy->mutex.lock();
    for (Stream* stream : device.streams) stream->mutex.lock();
  });
  streams_lock_for_fork();
  events_lock_for_fork();
  timelines_lock_for_fork();
  ObjectPoolBase::lock_all_for_fork();
  registry_lock_for_fork();
  handle_lock_for_fork();
  scheduler_lock_for_fork();
  for (Engine* engine : all_engines()) engine->lock_for_fork();
}

void after_fork_in_parent() {
  for (Engine* engine : all_engines()) engine->unlock_after_fork(false);
  scheduler_unlock_after_fork();
  handle_unlock_after_fork();
  registry_unlock_after_fork();
  ObjectPoolBase::unlock_all_after_fork();
  timelines_unlock_after_fork();
  events_unlock_after_fork();
  streams_unlock_after_fork();
  for_each_device([](EngineDevice& device) {
    for (Stream* stream : device.streams) stream->mutex.unlock();
    device.legacy->mutex.unlock();
    device.mutex.unlock();
  });
  pools_after_fork_parent();
  engines_unlock_after_fork();
}

// The operations are dropped, not disposed of: what they own (a Python reference, say) belongs to the parent.
void empty_stream(Stream& stream) {
  stream.timeline->abandon(stream.enqueued.load());
  stream.first = stream.last = stream.batch = stream.done = nullptr;
  stream.state = Stream::State::Idle;
  stream.for_workers.store(0);
  stream.called = nullptr;  // the parent's worker
  stream.mutex.reset_after_fork();
}

void after_fork_in_child() {
  for (Engine* engine : all_engines()) engine->unlock_after_fork(true);
  scheduler_reset_in_child();
  handle_unlock_after_fork();
  registry_unlock_after_fork();
  ObjectPoolBase::reset_all_in_child();
  timelines_unlock_after_fork();
  events_unlock_after_fork();
  streams_unlock_after_fork();
  thread_hooks_reset_in_child();
  pools_after_fork_child();
  // One-shot timelines of running graphs have no stream; what waited for them is gone with the streams' work.
  for_each_timeline([](Timeline& timeline) { timeline.abandon(timeline.completed()); });
  for_each_device([](EngineDevice& device) {
    empty_stream(*device.legacy);
    for (Stream* stream : device.streams) empty_stream(*stream);
    device.mutex.reset_after_fork();
  });
  engines_unlock_after_fork();
}

}  // namespace

void install_fork_handlers() {
  static const int installed = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)installed;
}

}  // namespace infinirt
