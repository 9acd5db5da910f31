#include "engine/engine.h"

#include <cstdlib>
#include <mutex>

#include "engine/capture.h"
#include "engine/event.h"
#include "engine/fork.h"
#include "engine/graph_run.h"
#include "engine/ipc.h"
#include "engine/memory.h"
#include "engine/random_schedule.h"
#include "engine/step.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

// Written before the count is raised, so readers need no lock.
Mutex engines_mutex;
Engine* engines[kMaxBackends];
std::atomic<size_t> engine_count{0};

void fill_table(Backend& backend) {
  backend.table = unsupported_table();
#define INFINIRT_FN(NAME)                                                     \
  if (engine_api::NAME) {                                                     \
    backend.table.NAME = engine_api::NAME;                                    \
    backend.support[static_cast<size_t>(FunctionId::NAME)] = Support::Native; \
  }
#include "infinirt/generated/api_list.inc"
#undef INFINIRT_FN
}

// The message a failed primitive left on this worker thread.
std::string take_pending_message(infinirtError_t error) {
  ThreadExtra& extra = thread_extra(thread_state());
  std::string text = extra.has_pending ? extra.pending_message : std::string(error_text(error));
  extra.has_pending = false;
  return text;
}

void call_host_function(void (*fn)(void*), void* data) {
  ThreadState& ts = thread_state();
  ++ts.call_barrier;
  {
    UserCodeScope scope;
    fn(data);
  }
  --ts.call_barrier;
}

// Who is to blame for a failure: the operation, the stream, what ran there before, and the call's stack where that is kept.
std::string origin_text(const Work& work, const WorkOrigin& origin) {
  if (!origin.stream) return "";
  std::string text = "; it was " + work_title(work.type, work.type == WorkType::Kernel ? work.kernel.kernel : nullptr);
  if (origin.in_graph) text += " of a graph";
  text += origin.stream->role == StreamRole::Created ? " on stream " + std::to_string(origin.stream->id)
                                                     : " on the default stream";
  const std::string before = recent_work(*origin.stream);
  if (!before.empty()) text += ", which had run before: " + before;
  if (origin.issued && origin.issued->stack) text += std::string("\nissued by\n") + origin.issued->stack;
  return text;
}

void call_stream_callback(EngineDevice& device, const CallbackWork& work) {
  const int sticky = device.sticky_error.load(std::memory_order_acquire);
  ThreadState& ts = thread_state();
  ++ts.call_barrier;
  {
    UserCodeScope scope;
    work.fn(work.stream, static_cast<infinirtError_t>(sticky), work.data);
  }
  --ts.call_barrier;
}

}  // namespace

void Engine::initialise(const char* name, const char* origin, int count) {
  if (backend.name != name) backend.name = name;  // of one that is registered others may be reading
  backend.origin = origin;
  backend.engine = this;
  fill_table(backend);
  for (int i = 0; i < count; ++i) {
    auto device = std::make_unique<EngineDevice>();
    device->engine = this;
    device->ordinal = i;
    device->legacy = create_stream(*device, 0, 0, StreamRole::Legacy);
    devices.push_back(std::move(device));
  }
  backend.extensions.LaunchHostFunc = engine_launch_host_func;
  backend.extensions.LaunchStep = engine_launch_step;
  backend.extensions.StreamUse = engine_stream_use;
  backend.extensions.StreamGetDevice = engine_stream_get_device;
  backend.extensions.QuietStreamQuery = engine_quiet_stream_query;
  backend.extensions.QuietEventQuery = engine_quiet_event_query;
  backend.extensions.QuietEventSynchronize = engine_quiet_event_synchronize;
  backend.extensions.QuietDeviceSynchronize = engine_quiet_device_synchronize;
  backend.extensions.SetMemoryLimit = [](Backend& b, int device, size_t bytes) {
    Engine& engine = *static_cast<Engine*>(b.engine);
    if (!device_at(engine, device, "device")) return infinirtErrorInvalidDevice;
    return engine.set_memory_limit(device, bytes);
  };
  backend.extensions.GetHostAddress = [](Backend& b, const void* pointer, void** host) {
    *host = static_cast<Engine*>(b.engine)->host_address(pointer);
    return *host ? infinirtSuccess
                 : fail(infinirtErrorNotSupported, "memory of device type '%s' cannot be reached by the host",
                        b.name.c_str());
  };
  backend.extensions.SeedSchedule = [](uint64_t seed) {
    if (!is_random_schedule())
      return fail(infinirtErrorInvalidValue,
                  "the schedule is not random; start the process with INFINIRT_CPU_SCHEDULE=random:SEED");
    random_schedule_seed(seed);
    return infinirtSuccess;
  };
  backend.extensions.Drain = [](Backend& b, int64_t timeout_ns) {
    return drain_engine(*static_cast<Engine*>(b.engine), timeout_ns);
  };
  {
    std::lock_guard guard(engines_mutex);
    const size_t place = engine_count.load(std::memory_order_relaxed);
    engines[place] = this;
    engine_count.store(place + 1, std::memory_order_release);
  }
  install_fork_handlers();
  install_capture_fork_handlers();
  if (is_random_schedule()) random_schedule_install();
}

bool drain_engine(Engine& engine, int64_t timeout_ns) {
  const int64_t deadline = monotonic_ns() + timeout_ns;
  for (auto& device : engine.devices) {
    std::vector<Point> points;
    {
      std::lock_guard guard(device->mutex);
      points.push_back(device->legacy->tail());
      for (Stream* stream : device->streams) points.push_back(stream->tail());
    }
    for (const Point& point : points) {
      if (!wait_for_limited(point, deadline - monotonic_ns())) return false;
    }
  }
  return true;
}

void engines_lock_for_fork() { engines_mutex.lock(); }
void engines_unlock_after_fork() { engines_mutex.unlock(); }

std::span<Engine* const> all_engines() { return {engines, engine_count.load(std::memory_order_acquire)}; }

EngineDevice* device_at(Engine& engine, int ordinal, const char* argument) {
  const auto count = static_cast<int>(engine.devices.size());
  if (ordinal >= 0 && ordinal < count) return engine.devices[static_cast<size_t>(ordinal)].get();
  if (count == 0) {
    fail(infinirtErrorNoDevice, "device type '%s' has no device%s%s", engine.backend.name.c_str(),
         engine.backend.problem.empty() ? "" : ": ", engine.backend.problem.c_str());
  } else {
    fail(infinirtErrorInvalidDevice, "%s %d is out of range; '%s' has %d device%s (0 to %d)", argument, ordinal,
         engine.backend.name.c_str(), count, count == 1 ? "" : "s", count - 1);
  }
  return nullptr;
}

infinirtError_t sticky_failure(const EngineDevice& device, int error) {
  auto& writable = const_cast<EngineDevice&>(device);
  std::string cause;
  {
    std::lock_guard guard(writable.mutex);
    cause = device.async_message;
  }
  return fail(static_cast<infinirtError_t>(error),
              "%s:%d failed earlier, and every call on it fails until infinirtDeviceReset: %s",
              device.engine->backend.name.c_str(), device.ordinal, cause.c_str());
}

void report_async_error(EngineDevice& device, infinirtError_t error, const char* message) {
  std::lock_guard guard(device.mutex);
  int expected = 0;
  auto& slot = is_sticky(error) ? device.sticky_error : device.async_error;
  if (device.sticky_error.load() != 0) return;  // the first failure is the cause
  if (slot.compare_exchange_strong(expected, static_cast<int>(error))) device.async_message = message;
}

infinirtError_t take_async_error(EngineDevice& device) {
  if (device.sticky_error.load(std::memory_order_acquire) != 0) return check_device(device);
  if (device.async_error.load(std::memory_order_relaxed) == 0) return infinirtSuccess;
  std::string cause;
  int error;
  {
    std::lock_guard guard(device.mutex);
    error = device.async_error.exchange(0);
    cause = device.async_message;
  }
  return error == 0 ? infinirtSuccess
                    : fail(static_cast<infinirtError_t>(error), "an earlier operation on %s:%d failed: %s",
                           device.engine->backend.name.c_str(), device.ordinal, cause.c_str());
}

void dispose_work(Work& work) {
  switch (work.type) {
    case WorkType::Copy:
      std::free(work.copy.staging);
      break;
    case WorkType::Kernel:
      std::free(work.kernel.args);
      break;
    case WorkType::Host:
      if (work.host.destroy) call_host_function(work.host.destroy, work.host.data);
      break;
    case WorkType::Step:
      dispose_step(work.step);
      break;
    case WorkType::Graph:
      if (work.graph.run) drop_graph_run(work.graph.run);
      break;
    default:
      break;
  }
  work.type = WorkType::Nothing;
}

void execute_work(EngineDevice& device, Work& work, const WorkOrigin& origin) {
  const bool failed = device.sticky_error.load(std::memory_order_relaxed) != 0;
  infinirtError_t error = infinirtSuccess;
  switch (work.type) {
    case WorkType::Copy:
      if (!failed) error = perform_copy(*device.engine, work.copy);
      break;
    case WorkType::Fill:
      if (!failed) error = device.engine->fill(work.fill);
      break;
    case WorkType::Kernel:
      if (!failed) error = device.engine->run_kernel(work.kernel, device.ordinal);
      break;
    case WorkType::Host:
      if (!failed) call_host_function(work.host.fn, work.host.data);
      break;
    case WorkType::Callback:
      call_stream_callback(device, work.callback);
      break;
    // The order goes on after a failure: nobody must wait for ever.
    case WorkType::Record:
      stamp_event(*work.record.event, work.record.serial, monotonic_ns());
      break;
    case WorkType::RecordShared: {
      UserCodeScope scope;  // may wait for an older record, of another stream or another process
      shared_event_finish(work.shared.page, work.shared.value);
      break;
    }
    case WorkType::WaitShared: {
      UserCodeScope scope;
      if (!shared_event_wait_value(work.shared.page, work.shared.value)) {
        error = fail(infinirtErrorLaunchFailure,
                     "the process that recorded an interprocess event ended before the event completed");
      }
      break;
    }
    case WorkType::Nothing:
    case WorkType::Wait:
    case WorkType::Graph:
    case WorkType::Step:
      break;
  }
  if (error != infinirtSuccess) {
    const std::string message = take_pending_message(error) + origin_text(work, origin);
    report_async_error(device, error, message.c_str());
  }
}

}  // namespace infinirt
