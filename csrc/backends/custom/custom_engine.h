// A device type that the program itself registered (infinirtXRegisterBackend): an emulated engine over its functions.
#pragma once

#include <map>
#include <string>

#include "engine/address_range.h"
#include "engine/emulated_engine.h"
#include "infinirt_ext.h"

namespace infinirt::custom {

class CustomEngine final : public EmulatedEngine {
 public:
  explicit CustomEngine(const infinirtXBackend& functions);

  void properties(int device, struct infinirtDeviceProp* properties) override;
  bool memory_size_known(int device) const override;
  bool in_device_range(const void* pointer) const override;
  void lock_for_fork() override;
  void unlock_after_fork(bool in_child) override;

 private:
  // What the program calls a block, and how large it is.
  struct Block {
    void* name;
    size_t size;
  };
  struct Place {
    void* name;
    size_t offset;
  };

  infinirtError_t set_current(int) override { return infinirtSuccess; }
  infinirtError_t wait_for_all(int device) override;
  infinirtError_t take_memory(int device, size_t size, void** out) override;
  void give_memory(int device, void* pointer) override;
  infinirtError_t move(int device, void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind) override;
  infinirtError_t set_bytes(int device, void* dst, unsigned char value, size_t bytes) override;
  bool moves_within_device() const override { return functions_.copy != nullptr; }

  infinirtXBackendFacts facts(int device) const;
  infinirtError_t checked(infinirtError_t error, const char* function) const;
  Place place_of(const void* pointer);

  const std::string type_, origin_;
  infinirtXBackend functions_;
  Mutex blocks_mutex_;
  AddressRange addresses_;
  std::map<uintptr_t, Block> blocks_;  // by the address at which this runtime knows them
};

}  // namespace infinirt::custom
