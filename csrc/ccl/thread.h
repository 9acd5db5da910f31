// Threads of this library: detached, named, and out of the way of the program's signals.
#pragma once

#include <functional>

namespace infiniccl {

// Whether the thread runs; then `body` is called there once. The name has at most 15 characters.
bool start_thread(const char* name, std::function<void()> body);

}  // namespace infiniccl
