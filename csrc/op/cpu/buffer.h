// Memory of a worker's own.
#pragma once

#include <cstddef>

namespace infiniop::cpu {

// At least so many bytes, at a multiple of 64, kept for the thread's next block. Null: there is no memory.
char* worker_buffer(size_t size);

}  // namespace infiniop::cpu
