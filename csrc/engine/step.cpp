#include "engine/step.h"

#include "core/log.h"
#include "engine/memory.h"
#include "engine/stream.h"

namespace infinirt {

infinirtXStepResult call_step(StepHost& host, EngineDevice& device, const StepWork& work, bool in_caller) {
  if (device.sticky_error.load(std::memory_order_relaxed) != 0) return infinirtXStepDone;
  ThreadState& ts = thread_state();
  ++ts.call_barrier;
  const infinirtXStepResult result = work.run(work.data, step_token(host), in_caller);
  --ts.call_barrier;
  return result;
}

bool run_step(StepHost& host, EngineDevice& device, const StepWork& work, bool in_caller) {
  return call_step(host, device, work, in_caller) != infinirtXStepParked;
}

void dispose_step(const StepWork& work) {
  if (!work.destroy) return;
  ThreadState& ts = thread_state();
  ++ts.call_barrier;
  work.destroy(work.data);
  --ts.call_barrier;
}

void run_step_parallel(int64_t count, int64_t grain, void (*body)(long long, long long, void*), void* context) {
  struct Call {
    void (*body)(long long, long long, void*);
    void* context;
  } call{body, context};
  parallel_for(
      count, grain,
      [](int64_t begin, int64_t end, void* opaque) {
        const auto& c = *static_cast<const Call*>(opaque);
        c.body(begin, end, c.context);
      },
      &call, Helpers::OfStep);
}

void step_as_host_function(void*) {
  log_line("host node",
           "was made from the parameters of a library's step, which only that library can make; nothing is done");
}

infinirtError_t engine_stream_use(infinirtStream_t handle, const void* pointer, size_t bytes, const char* argument,
                                  void** host) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  Engine& engine = *stream->device->engine;
  const Operand operand = find_operand(pointer);
  if (auto wrong = check_operand(engine, operand, pointer, bytes, argument)) return wrong;
  *host = const_cast<void*>(pointer);
  if (operand.place == Place::Device) {
    const auto* theirs = static_cast<const Engine*>(operand.backend->engine);
    *host = theirs ? theirs->host_address(pointer) : nullptr;
    if (!*host) {
      return fail(infinirtErrorNotSupported, "%s %p is memory of %s:%d, which threads of the host cannot reach",
                  argument, pointer, operand.backend->name.c_str(), operand.device);
    }
  }
  note_use(*stream, operand);
  return infinirtSuccess;
}

infinirtError_t engine_launch_step(infinirtStream_t handle, const infinirtXStepInfo& info) {
  Work work;  // owns the data from here on
  work.type = WorkType::Step;
  work.step = {info.run, info.data, info.destroy};
  infinirtError_t error = infinirtSuccess;
  if (Stream* stream = resolve_stream(thread_state(), handle, &error))
    return submit_step(*stream, work, info.mayRunInCaller != 0);
  dispose_work(work);
  return error;
}

}  // namespace infinirt
