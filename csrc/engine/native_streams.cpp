#include "engine/native_streams.h"

#include <string>

#include "engine/emulated_engine.h"
#include "engine/stream.h"

namespace infinirt {

void EmulatedEngine::offer_native_streams() {
  backend.extensions.BeginNative = [](infinirtStream_t stream, void** native) {
    return static_cast<EmulatedEngine*>(static_cast<Engine*>(thread_state().backend->engine))
        ->begin_native(stream, native);
  };
  backend.extensions.EndNative = [](infinirtStream_t stream, void* native) {
    return static_cast<EmulatedEngine*>(static_cast<Engine*>(thread_state().backend->engine))
        ->end_native(stream, native);
  };
}

infinirtError_t EmulatedEngine::take_native_stream(int device, void** stream) {
  return native_streams(device).take_idle(stream) ? infinirtSuccess : make_native_stream(device, stream);
}

// The wait for a native stream, as work of the stream that it stood in for.
struct EmulatedEngine::Ending {
  EmulatedEngine* engine;
  int device;
  void* native;
};

infinirtError_t EmulatedEngine::begin_native(infinirtStream_t handle, void** native) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  if (stream->capture.load(std::memory_order_acquire)) {
    return fail(infinirtErrorStreamCaptureUnsupported,
                "the stream captures, and a capture sees this runtime's own calls only; end the capture first");
  }
  if ((error = wait_for_turn(*stream))) return error;
  const int device = stream->device->ordinal;
  Entry entry(*this, device);
  if (entry.error()) return entry.error();
  void* taken = nullptr;
  if ((error = take_native_stream(device, &taken))) return error;
  native_streams(device).lend(taken);
  *native = taken;
  return infinirtSuccess;
}

void EmulatedEngine::finish_native(void* data) {
  const auto& ending = *static_cast<Ending*>(data);
  EmulatedEngine& engine = *ending.engine;
  const infinirtError_t error = engine.wait_for_native_stream(ending.device, ending.native);
  if (!error) return;
  ThreadExtra& extra = thread_extra(thread_state());
  const std::string message = extra.has_pending ? extra.pending_message : std::string(error_text(error));
  extra.has_pending = false;
  report_async_error(*engine.devices[static_cast<size_t>(ending.device)], error, message.c_str());
}

infinirtError_t EmulatedEngine::end_native(infinirtStream_t handle, void* native) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  if (stream->capture.load(std::memory_order_acquire)) {
    return fail(infinirtErrorStreamCaptureUnsupported,
                "the stream captures by now; end the capture before the native stream");
  }
  const int device = stream->device->ordinal;
  if (!native_streams(device).take_back(native)) {
    return fail(infinirtErrorInvalidResourceHandle,
                "native %p is no stream that infinirtXStreamBeginNative gave out on %s:%d, or it was ended already",
                native, backend.name.c_str(), device);
  }
  return engine_launch_host_func(handle, finish_native, new Ending{this, device, native}, [](void* data) {
    const auto* ending = static_cast<Ending*>(data);
    ending->engine->native_streams(ending->device).give(ending->native);
    delete ending;
  });
}

}  // namespace infinirt
