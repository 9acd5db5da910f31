// Device types that a C program registers (infinirtXRegisterBackend).
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "support.h"

namespace {

// A device whose blocks are vectors, and whose functions can be told to fail.
struct Chip {
  std::atomic<int> live{0};
  std::atomic<int> fills{0};
  std::atomic<infinirtError_t> next_failure{infinirtSuccess};

  infinirtError_t failure() { return next_failure.exchange(infinirtSuccess); }
};

using Bytes = std::vector<unsigned char>;
Bytes& bytes(void* block) { return *static_cast<Bytes*>(block); }
Chip& chip(void* context) { return *static_cast<Chip*>(context); }

infinirtXBackend functions_of(Chip& the_chip, const char* type) {
  infinirtXBackend backend = {};
  backend.structSize = sizeof backend;
  backend.type = type;
  backend.deviceCount = 2;
  backend.context = &the_chip;
  backend.allocate = [](void* context, int, size_t size, void** block) {
    if (auto error = chip(context).failure()) return error;
    ++chip(context).live;
    *block = new Bytes(size);
    return infinirtSuccess;
  };
  backend.release = [](void* context, int, void* block, size_t size) {
    CHECK_EQ(bytes(block).size(), size);
    --chip(context).live;
    delete &bytes(block);
    return infinirtSuccess;
  };
  backend.write = [](void* context, int, void* block, size_t offset, const void* host, size_t size) {
    if (auto error = chip(context).failure()) return error;
    CHECK_LE(offset + size, bytes(block).size());
    std::memcpy(bytes(block).data() + offset, host, size);
    return infinirtSuccess;
  };
  backend.read = [](void*, int, void* block, size_t offset, void* host, size_t size) {
    CHECK_LE(offset + size, bytes(block).size());
    std::memcpy(host, bytes(block).data() + offset, size);
    return infinirtSuccess;
  };
  return backend;
}

// For the life of the test program.
class Using {
 public:
  explicit Using(const char* type) : before_(device_type()) { OK(infinirtXSetDeviceType(type)); }
  ~Using() { OK(infinirtXSetDeviceType(before_.c_str())); }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  std::string before_;
};

}  // namespace

TEST(four_functions_make_a_device) {
  static Chip the_chip;
  const infinirtXBackend backend = functions_of(the_chip, "four");
  OK(infinirtXRegisterBackend(&backend));
  const Using four("four");
  int count = 0;
  OK(infinirtGetDeviceCount(&count));
  CHECK_EQ(count, 2);
  infinirtStream_t stream = make_stream();
  void *first = nullptr, *second = nullptr;
  OK(infinirtMallocAsync(&first, 1000, stream));
  OK(infinirtMallocAsync(&second, 1000, stream));
  OK(infinirtMemsetAsync(first, 5, 1000, stream));
  OK(infinirtMemcpyAsync(static_cast<char*>(second) + 10, first, 500, infinirtMemcpyDeviceToDevice, stream));
  unsigned char back[20] = {};
  OK(infinirtMemcpyAsync(back, second, 20, infinirtMemcpyDeviceToHost, stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(int{back[10]}, 5);
  CHECK_EQ(int{back[19]}, 5);
  OK(infinirtFreeAsync(first, stream));
  OK(infinirtFreeAsync(second, stream));
  OK(infinirtStreamDestroy(stream));
  // Between devices through the host.
  void* there = nullptr;
  OK(infinirtMalloc(&first, 64));
  OK(infinirtMemset(first, 7, 64));
  OK(infinirtSetDevice(1));
  OK(infinirtMalloc(&there, 64));
  OK(infinirtMemcpyPeer(there, 1, first, 0, 64));
  OK(infinirtMemcpy(back, there, 20, infinirtMemcpyDeviceToHost));
  CHECK_EQ(int{back[0]}, 7);
  OK(infinirtFree(there));
  OK(infinirtFree(first));
  OK(infinirtSetDevice(0));
  CHECK_EQ(infinirtFree(static_cast<char*>(first) + 1), infinirtErrorInvalidValue);
  (void)infinirtGetLastError();
}

TEST(more_functions_are_used) {
  static Chip the_chip;
  infinirtXBackend backend = functions_of(the_chip, "more");
  backend.fill = [](void* context, int, void* block, size_t offset, unsigned char value, size_t size) {
    ++chip(context).fills;
    std::memset(bytes(block).data() + offset, value, size);
    return infinirtSuccess;
  };
  backend.describe = [](void*, int device, infinirtXBackendFacts* facts) {
    std::snprintf(facts->name, sizeof facts->name, "chip number %d", device);
    facts->totalMemory = size_t{1} << 30;
    return infinirtSuccess;
  };
  OK(infinirtXRegisterBackend(&backend));
  const Using more("more");
  infinirtDeviceProp properties;
  OK(infinirtGetDeviceProperties(&properties, 1));
  CHECK_EQ(std::string(properties.name), "chip number 1");
  CHECK_EQ(properties.totalGlobalMem, size_t{1} << 30);
  infinirtDeviceProp first;
  OK(infinirtGetDeviceProperties(&first, 0));
  CHECK(std::memcmp(&first.uuid, &properties.uuid, sizeof first.uuid) != 0);
  char bus[32] = "";
  int found = -1;
  OK(infinirtDeviceGetPCIBusId(bus, sizeof bus, 1));
  OK(infinirtDeviceGetByPCIBusId(&found, bus));
  CHECK_EQ(found, 1);
  void* memory = nullptr;
  OK(infinirtMalloc(&memory, 100));
  OK(infinirtMemset(memory, 1, 100));
  OK(infinirtDeviceSynchronize());
  CHECK_GE(the_chip.fills.load(), 1);
  OK(infinirtFree(memory));
  CHECK_EQ(the_chip.live.load(), 0);
}

TEST(failures_have_the_devices_words) {
  static Chip the_chip;
  infinirtXBackend backend = functions_of(the_chip, "faulty");
  backend.lastError = [](void*) -> const char* { return "the fuse is blown"; };
  OK(infinirtXRegisterBackend(&backend));
  const Using faulty("faulty");
  the_chip.next_failure = infinirtErrorMemoryAllocation;
  void* memory = nullptr;
  CHECK_EQ(infinirtMalloc(&memory, 100), infinirtErrorMemoryAllocation);
  CHECK(names("allocate of device type 'faulty' failed: the fuse is blown"));
  (void)infinirtGetLastError();
  OK(infinirtMalloc(&memory, 100));
  the_chip.next_failure = infinirtErrorUnknown;
  OK(infinirtMemsetAsync(memory, 1, 100, infinirtStreamPerThread));
  CHECK_EQ(infinirtStreamSynchronize(infinirtStreamPerThread), infinirtErrorUnknown);
  CHECK(names("the fuse is blown"));
  (void)infinirtGetLastError();
  OK(infinirtFree(memory));
}

TEST(what_is_missing_is_named) {
  static Chip the_chip;
  FAILS(infinirtXRegisterBackend(nullptr), infinirtErrorInvalidValue);
  const auto refused = [](infinirtXBackend backend, const char* words) {
    CHECK_EQ(infinirtXRegisterBackend(&backend), infinirtErrorInvalidValue);
    CHECK(names(words));
    (void)infinirtGetLastError();
  };
  infinirtXBackend backend = functions_of(the_chip, "good-name");
  backend.structSize = 8;
  refused(backend, "structSize");
  backend = functions_of(the_chip, "good-name");
  backend.read = nullptr;
  refused(backend, "read is null");
  backend = functions_of(the_chip, "good-name");
  backend.deviceCount = -1;
  refused(backend, "deviceCount");
  refused(functions_of(the_chip, "cpu"), "exists already");
  for (const char* name : {"", "1st", "with blank", "colon:0"}) refused(functions_of(the_chip, name), "no name");
  refused(functions_of(the_chip, nullptr), "no name");
}

TEST_MAIN()
