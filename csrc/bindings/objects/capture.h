// What a stream's capture means for the objects that its work uses.
#pragma once

#include "bindings/objects/stream.h"

namespace infinirt::objects {

struct CaptureState {
  bool active = false;         // work goes into `graph`
  unsigned long long id = 0;
  infinirtGraph_t graph = nullptr;
};

/// Looks at a stream's capture; no error of the look itself is raised, the work's own call reports it.
inline CaptureState capture_state(infinirtStream_t stream) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  if (rt.StreamIsCapturing(stream, &status) != infinirtSuccess || status != infinirtStreamCaptureStatusActive)
    return {};
  CaptureState state;
  state.active =
      rt.StreamGetCaptureInfo_v2(stream, &status, &state.id, &state.graph, nullptr, nullptr) == infinirtSuccess &&
      status == infinirtStreamCaptureStatusActive;
  return state;
}

/// The same for a Stream. An error is that of making its device current.
inline infinirtError_t look_at_capture(const StreamObject* stream, CaptureState* capture) {
  return on_stream(stream, [&](infinirtStream_t s) { return *capture = capture_state(s), infinirtSuccess; });
}

}  // namespace infinirt::objects
