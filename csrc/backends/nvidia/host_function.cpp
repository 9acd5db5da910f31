#include "backends/nvidia/host_function.h"

#include <atomic>

#include "backends/nvidia/around_calls.h"
#include "backends/nvidia/real_library.h"

namespace infinirt::nvidia {

namespace {

std::atomic<long> g_pending{0};
std::atomic<bool> g_host_nodes{false};

void add_pending(int count) {
  g_pending.fetch_add(count, std::memory_order_relaxed);
  g_hot.may_wait.fetch_add(count, std::memory_order_relaxed);
}

// Pending from its birth to its end. One in a graph lives as long as the graph.
struct Call {
  infinirtHostFn_t fn;
  void* data;
  infinirtHostFn_t destroy;

  Call(infinirtHostFn_t f, void* d, infinirtHostFn_t end) : fn(f), data(d), destroy(end) { add_pending(1); }
  ~Call() { add_pending(-1); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

void run(void* opaque) {
  const BarredScope barred;  // NVIDIA's library refuses its own calls in a host function; this makes all of ours refuse
  const auto* call = static_cast<Call*>(opaque);
  call->fn(call->data);
}

void dispose(void* opaque) {
  const BarredScope barred;
  auto* call = static_cast<Call*>(opaque);
  if (call->destroy) call->destroy(call->data);
  delete call;
}

void run_once(void* opaque) {
  run(opaque);
  dispose(opaque);
}

// In a capture the graph owns the call: it goes with the last graph that holds the node.
infinirtError_t record(infinirtStream_t stream, infinirtGraph_t graph, Call* call) {
  infinirtUserObject_t owner = nullptr;
  if (auto error = real.UserObjectCreate(&owner, call, dispose, 1, infinirtUserObjectNoDestructorSync)) {
    dispose(call);
    return error;
  }
  if (auto error = real.GraphRetainUserObject(graph, owner, 1, infinirtGraphUserObjectMove)) {
    real.UserObjectRelease(owner, 1);
    return error;
  }
  return real.LaunchHostFunc(stream, run, call);
}

}  // namespace

infinirtError_t launch_host_func(infinirtStream_t stream, infinirtHostFn_t fn, void* data, infinirtHostFn_t destroy) {
  auto* call = new Call{fn, data, destroy};
  infinirtError_t error = infinirtSuccess;
  if (!fn) {
    error = fail(infinirtErrorInvalidValue, "fn is null; a host function was expected");
  } else if (is_dead(stream)) {
    error = refuse_dead(stream, "stream");
  }
  if (error != infinirtSuccess) {
    dispose(call);
    return error;
  }
  note_call(FunctionId::LaunchHostFunc, stream, nullptr);
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  infinirtGraph_t graph = nullptr;
  error = real.StreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr);
  if (error == infinirtSuccess && status == infinirtStreamCaptureStatusActive) {
    error = record(stream, graph, call);
  } else {
    error = real.LaunchHostFunc(stream, run_once, call);
    if (error != infinirtSuccess) dispose(call);
  }
  return error == infinirtSuccess ? error
                                  : failed(FunctionId::LaunchHostFunc, error, stream, "stream %p", shown(stream));
}

bool host_functions_pending() {
  return g_pending.load(std::memory_order_relaxed) > 0 || g_host_nodes.load(std::memory_order_relaxed);
}

void note_host_node() {
  if (!g_host_nodes.exchange(true, std::memory_order_relaxed)) g_hot.may_wait.fetch_add(1, std::memory_order_relaxed);
}

infinirtError_t LaunchHostFunc(infinirtStream_t stream, infinirtHostFn_t fn, void* userData) {
  return launch_host_func(stream, fn, userData, nullptr);
}

namespace {

struct Callback {
  infinirtStreamCallback_t function;
  void* data;

  Callback(infinirtStreamCallback_t f, void* d) : function(f), data(d) { add_pending(1); }
  ~Callback() { add_pending(-1); }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
};

void run_callback(infinirtStream_t stream, infinirtError_t status, void* opaque) {
  const BarredScope barred;
  auto* callback = static_cast<Callback*>(opaque);
  callback->function(stream, status, callback->data);
  delete callback;
}

}  // namespace

infinirtError_t StreamAddCallback(infinirtStream_t stream, infinirtStreamCallback_t callback, void* userData,
                                  unsigned int flags) {
  if (is_dead(stream)) return refuse_dead(stream, "stream");
  if (!callback) return fail(infinirtErrorInvalidValue, "callback is null");
  note_call(FunctionId::StreamAddCallback, stream, nullptr);
  auto* call = new Callback{callback, userData};
  const infinirtError_t error = real.StreamAddCallback(stream, run_callback, call, flags);
  if (error == infinirtSuccess) return error;
  delete call;
  return failed(FunctionId::StreamAddCallback, error, stream, "stream %p, flags 0x%x", shown(stream), flags);
}

}  // namespace infinirt::nvidia
