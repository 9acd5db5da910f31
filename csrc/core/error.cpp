#include "core/error.h"

#include <cstdarg>
#include <cstdio>
#include <string>
#include <utility>

#include "core/log.h"

namespace infinirt {

infinirtError_t fail(infinirtError_t code, const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ThreadExtra& extra = thread_extra(thread_state());
  extra.pending_message = text;
  extra.pending_code = code;
  extra.has_pending = true;
  return code;
}

namespace {

infinirtError_t finish(ThreadState& ts, const char* function, infinirtError_t error) {
  ThreadExtra& extra = thread_extra(ts);
  if (error == infinirtErrorNotReady) {
    extra.has_pending = false;
    return error;
  }
  if (auto hook = std::exchange(extra.on_failure, nullptr)) hook(function);
  ts.last_error = error;
  extra.last_message = function;
  extra.last_message += ": ";
  extra.last_message += extra.has_pending ? extra.pending_message : error_text(error);
  extra.has_pending = false;
  if (log_enabled(LogLevel::Error)) log_line(error_name(error), extra.last_message.c_str());
  return error;
}

}  // namespace

infinirtError_t finish_error(ThreadState& ts, FunctionId function, infinirtError_t error) {
  return finish(ts, kFunctionNames[static_cast<size_t>(function)], error);
}

infinirtError_t finish_error(const char* function, infinirtError_t error) {
  return error == infinirtSuccess ? error : finish(thread_state(), function, error);
}

namespace {
thread_local std::string* t_kernel_message = nullptr;
}

KernelMessage::KernelMessage() : outer_(t_kernel_message) { t_kernel_message = &text_; }
KernelMessage::~KernelMessage() { t_kernel_message = outer_; }

infinirtError_t set_last_error(infinirtError_t error, const char* message) {
  if (error == infinirtSuccess || error == infinirtErrorNotReady) return error;
  if (t_kernel_message) {  // it is the stream's error that this will be part of, not the thread's
    *t_kernel_message = message ? message : "";
    return error;
  }
  ThreadState& ts = thread_state();
  ts.last_error = error;
  std::string& kept = thread_extra(ts).last_message;
  // `message` may be the text of the last error itself.
  std::string fresh = message ? message : error_text(error);
  kept.swap(fresh);
  if (log_enabled(LogLevel::Error)) log_line(error_name(error), kept.c_str());
  return error;
}

infinirtError_t refuse_barred() {
  return fail(infinirtErrorNotPermitted, "called from a host function, which may not call the API");
}

bool is_sticky(infinirtError_t error) {
  const int code = static_cast<int>(error);
  return code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719) || code == 721;
}

const char* last_error_message(ThreadState& ts) {
  return ts.last_error == infinirtSuccess || !ts.extra ? "" : ts.extra->last_message.c_str();
}

}  // namespace infinirt

// The `core` functions of the error group: they need no backend and may be called everywhere but in host functions.
using infinirt::thread_state;

extern "C" infinirtError_t infinirtGetLastError(void) {
  auto& ts = thread_state();
  if (ts.call_barrier) return infinirtErrorNotPermitted;
  const infinirtError_t error = ts.last_error;
  ts.last_error = infinirtSuccess;
  return error;
}

extern "C" infinirtError_t infinirtPeekAtLastError(void) {
  auto& ts = thread_state();
  return ts.call_barrier ? infinirtErrorNotPermitted : ts.last_error;
}

extern "C" const char* infinirtGetErrorName(infinirtError_t error) { return infinirt::error_name(error); }

extern "C" const char* infinirtGetErrorString(infinirtError_t error) { return infinirt::error_text(error); }
