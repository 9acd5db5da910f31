#include "op/cpu/buffer.h"

#include <new>

namespace infiniop::cpu {

char* worker_buffer(size_t size) {
  struct Kept {
    char* memory = nullptr;
    size_t size = 0;
    ~Kept() { ::operator delete(memory, std::align_val_t(64)); }
  };
  static thread_local Kept kept;
  if (kept.size < size) {
    ::operator delete(kept.memory, std::align_val_t(64));
    kept.memory = static_cast<char*>(::operator new(size, std::align_val_t(64), std::nothrow));
    kept.size = kept.memory ? size : 0;
  }
  return kept.memory;
}

}  // namespace infiniop::cpu
