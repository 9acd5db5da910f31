// What the tests of stream capture share.
#pragma once

#include "graph_support.h"

inline infinirtGraph_t end_capture(infinirtStream_t stream, infinirtError_t expected = infinirtSuccess) {
  infinirtGraph_t graph = reinterpret_cast<infinirtGraph_t>(&expected);
  CHECK_EQ(infinirtStreamEndCapture(stream, &graph), expected);
  if (expected != infinirtSuccess) CHECK(graph == nullptr);
  return graph;
}

inline enum infinirtStreamCaptureStatus status_of(infinirtStream_t stream) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  OK(infinirtStreamIsCapturing(stream, &status));
  return status;
}

inline void write_page(infinirtStream_t stream, Diary& diary, int number) {
  OK(infinirtLaunchHostFunc(stream, Diary::write, diary.page(number)));
}
