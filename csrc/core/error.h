// Errors: CUDA's code for programs, a sentence for people.
#pragma once

#include <string>

#include "core/thread_state.h"
#include "infinirt/generated/table.h"

namespace infinirt {

// Leaves a message for the call in progress and returns `code`. The dispatch stub adds the function's name in front, so
// the message starts with the argument: fail(infinirtErrorInvalidValue, "size 0 ...").
[[gnu::format(printf, 2, 3), gnu::cold]] infinirtError_t fail(infinirtError_t code, const char* format, ...);

// Used by generated stubs: makes `error` the thread's last error (NotReady is no error and is only passed through) and
// attaches the pending message or, without one, the error's standard text. Returns `error`.
[[gnu::cold]] infinirtError_t finish_error(ThreadState& ts, FunctionId function, infinirtError_t error);

// The same for functions of infinirt_ext.h, which are not in the generated list.
infinirtError_t finish_error(const char* function, infinirtError_t error);

// Makes an error of another library the thread's last one; null stands for the error's standard text. Returns `error`.
infinirtError_t set_last_error(infinirtError_t error, const char* message);

// While it lives, set_last_error() on its thread says why a kernel is about to fail, and touches nothing else.
class KernelMessage {
 public:
  KernelMessage();
  ~KernelMessage();
  KernelMessage(const KernelMessage&) = delete;
  KernelMessage& operator=(const KernelMessage&) = delete;
  std::string& text() { return text_; }

 private:
  std::string text_;
  std::string* outer_;
};

// NotPermitted, with a message, while a host function runs on this thread.
[[gnu::cold]] infinirtError_t refuse_barred();
inline infinirtError_t barred() { return thread_state().call_barrier ? refuse_barred() : infinirtSuccess; }

// Generated from the specification.
const char* error_name(infinirtError_t error);
const char* error_text(infinirtError_t error);

// Errors after which every call on the device fails until it is reset.
bool is_sticky(infinirtError_t error);

// The message of the thread's last error; "" when there is none.
const char* last_error_message(ThreadState& ts);

}  // namespace infinirt
