// What a vendor's runtime library is asked to do, in one shape: the few functions on which an emulated engine stands.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "infinirt.h"

namespace infinirt::vendors {

// A function that is looked up in the library.
struct Symbol {
  std::string name;
  void** slot;  // where its address goes; null when the library lacks it
  bool required;
};

// What a library may lack besides.
enum class Ability { Fill, PeerCopy, MemoryInfo, HostMemory, Streams };

// Every call answers with the library's own number; 0 is success. All but the first three are made with a device current in
// the calling thread, and an optional one only where has() says so. Thread-safe, as all these libraries are.
class Native {
 public:
  virtual ~Native() = default;

  virtual std::vector<Symbol> symbols() = 0;  // bound before anything else is called
  virtual bool has(Ability ability) const = 0;

  virtual int start() { return 0; }
  virtual int count_devices(int* count) = 0;
  virtual int set_device(int device) = 0;
  virtual int wait_for_device() = 0;
  virtual int allocate(void** out, size_t bytes) = 0;
  virtual int release(void* pointer) = 0;

  // Copies and fills: complete on return, of at least one byte. `stream` is one of the library's own, free at the moment, where
  // works_on_streams(); else null.
  virtual bool works_on_streams() const = 0;
  virtual int copy(void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind, void* stream) = 0;
  virtual int copy_between(void* dst, int dst_device, const void* src, int src_device, size_t bytes, void* stream) = 0;
  virtual int fill(void* dst, unsigned char value, size_t bytes, void* stream) = 0;

  virtual int memory_info(size_t* free_bytes, size_t* total_bytes) = 0;
  virtual int host_allocate(void** out, size_t bytes) = 0;
  virtual int host_release(void* pointer) = 0;
  virtual int create_stream(void** stream) = 0;
  virtual int wait_for_stream(void* stream) = 0;

  virtual std::string device_name(int /*device*/) { return {}; }  // empty: not known
  virtual std::string version() { return {}; }                    // of the library, for people; empty: not known

  // What a number other than 0 means: CUDA's code, and the library's words (called right after the failure, on its thread).
  virtual infinirtError_t code_of(int status) const = 0;
  virtual std::string text_of(int status) = 0;
};

}  // namespace infinirt::vendors
