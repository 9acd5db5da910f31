// infinirtXStreamBeginNative and infinirtXStreamEndNative for vendors with streams of their own.
#include "backends/vendors/vendor_engine.h"
#include "engine/stream.h"

namespace infinirt::vendors {

// The wait for a native stream, as work of the stream that it stood in for.
struct VendorEngine::Ending {
  VendorEngine* engine;
  int device;
  void* native;
};

infinirtError_t VendorEngine::begin_native(infinirtStream_t handle, void** native) {
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
  if ((error = checked(streams(device).take(*native_, &taken), "creating a stream"))) return error;
  streams(device).lend(taken);
  *native = taken;
  return infinirtSuccess;
}

void VendorEngine::finish_native(void* data) {
  const auto& ending = *static_cast<Ending*>(data);
  VendorEngine& engine = *ending.engine;
  Entry entry(engine, ending.device);
  infinirtError_t error = entry.error();
  if (!error) error = engine.checked(engine.native_->wait_for_stream(ending.native), "work on a native stream");
  if (!error) return;
  ThreadExtra& extra = thread_extra(thread_state());
  const std::string message = extra.has_pending ? extra.pending_message : std::string(error_text(error));
  extra.has_pending = false;
  report_async_error(*engine.devices[static_cast<size_t>(ending.device)], error, message.c_str());
}

infinirtError_t VendorEngine::end_native(infinirtStream_t handle, void* native) {
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(thread_state(), handle, &error);
  if (!stream) return error;
  if (stream->capture.load(std::memory_order_acquire)) {
    return fail(infinirtErrorStreamCaptureUnsupported,
                "the stream captures by now; end the capture before the native stream");
  }
  const int device = stream->device->ordinal;
  if (!streams(device).take_back(native)) {
    return fail(infinirtErrorInvalidResourceHandle,
                "native %p is no stream that infinirtXStreamBeginNative gave out on %s:%d, or it was ended already",
                native, vendor_.type, device);
  }
  return engine_launch_host_func(handle, finish_native, new Ending{this, device, native}, [](void* data) {
    const auto* ending = static_cast<Ending*>(data);
    ending->engine->streams(ending->device).give(ending->native);
    delete ending;
  });
}

}  // namespace infinirt::vendors
