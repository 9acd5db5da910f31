// Libraries of kernels: loading, looking up, unloading.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "gate.h"
#include "support.h"

namespace {

constexpr dim3 kOne = {1, 1, 1};

// A library of kernels, made by the compiler that every build of this test has needed anyway.
class BuiltLibrary {
 public:
  explicit BuiltLibrary(const char* code) {
    char folder[] = "/tmp/infinirt-kernels-XXXXXX";
    folder_ = mkdtemp(folder);
    std::ofstream(folder_ + "/kernels.c") << "#include \"infinirt_ext.h\"\n" << code;
    std::string include = __FILE__;
    include = include.substr(0, include.rfind('/')) + "/../../include";
    const std::string command = "cc -shared -fPIC -I'" + include + "' -o " + path() + " " + folder_ + "/kernels.c";
    good_ = std::system(command.c_str()) == 0;
  }
  ~BuiltLibrary() { (void)!std::system(("rm -r " + folder_).c_str()); }
  bool good() const { return good_; }
  std::string path() const { return folder_ + "/kernels.so"; }
  std::vector<char> bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string folder_;
  bool good_ = false;
};

constexpr const char* kTwoKernels = R"(
static infinirtError_t set(const infinirtXBlock *b, void **args) { (*(int **)args[0])[b->blockIdx.x] = *(int *)args[1]; return infinirtSuccess; }
static infinirtError_t twice(const infinirtXBlock *b, void **args) { (*(int **)args[0])[b->blockIdx.x] *= 2; return infinirtSuccess; }
static const size_t sizes[] = {8, 4};
const infinirtXKernelInfo infinirtXKernelTable[] = {{"set", set, sizes, 2, 0}, {"twice", twice, sizes, 1, 0}, {0}};
)";

infinirtError_t load_file(infinirtLibrary_t* library, const std::string& path) {
  return infinirtLibraryLoadFromFile(library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
}

void use_library(infinirtLibrary_t library) {
  unsigned count = 0;
  CHECK_EQ(infinirtLibraryGetKernelCount(&count, library), infinirtSuccess);
  CHECK_EQ(count, 2u);
  infinirtKernel_t set = nullptr, twice = nullptr, listed[3] = {};
  REQUIRE(infinirtLibraryGetKernel(&set, library, "set") == infinirtSuccess);
  REQUIRE(infinirtLibraryGetKernel(&twice, library, "twice") == infinirtSuccess);
  CHECK_EQ(infinirtLibraryEnumerateKernels(listed, 3, library), infinirtSuccess);
  CHECK(listed[0] == set && listed[1] == twice && listed[2] == nullptr);
  CHECK_EQ(infinirtLibraryGetKernel(&set, library, "thrice"), infinirtErrorSymbolNotFound);
  int data[4] = {}, value = 21;
  int* where = data;
  void* args[] = {&where, &value};
  CHECK_EQ(infinirtLaunchKernel(set, dim3{4, 1, 1}, kOne, args, 0, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(twice, dim3{3, 1, 1}, kOne, args, 0, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtSuccess);
  CHECK(data[0] == 42 && data[2] == 42 && data[3] == 21);
}

}  // namespace

TEST(libraries_load_from_files_and_from_memory) {
  const BuiltLibrary built(kTwoKernels);
  REQUIRE(built.good());
  infinirtLibrary_t from_file = nullptr, from_memory = nullptr, twice = nullptr;
  REQUIRE(load_file(&from_file, built.path()) == infinirtSuccess);
  use_library(from_file);
  std::vector<char> bytes = built.bytes();
  REQUIRE(infinirtLibraryLoadData(&from_memory, bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          infinirtSuccess);
  std::fill(bytes.begin(), bytes.end(), 0);  // the library is a copy
  use_library(from_memory);
  REQUIRE(load_file(&twice, built.path()) == infinirtSuccess);

  infinirtKernel_t kernel = nullptr;
  REQUIRE(infinirtLibraryGetKernel(&kernel, from_file, "set") == infinirtSuccess);
  CHECK_EQ(infinirtLibraryUnload(from_file), infinirtSuccess);
  CHECK_EQ(infinirtLibraryUnload(from_file), infinirtErrorInvalidResourceHandle);
  CHECK_EQ(infinirtLaunchKernel(kernel, kOne, kOne, nullptr, 0, nullptr), infinirtErrorInvalidDeviceFunction);
  CHECK_EQ(infinirtLibraryGetKernel(&kernel, from_file, "set"), infinirtErrorInvalidResourceHandle);
  use_library(twice);
  use_library(from_memory);
  CHECK_EQ(infinirtLibraryUnload(from_memory), infinirtSuccess);
  CHECK_EQ(infinirtLibraryUnload(twice), infinirtSuccess);
}

TEST(many_images_from_memory_stay_apart) {
  const BuiltLibrary built(kTwoKernels);
  REQUIRE(built.good());
  const std::vector<char> bytes = built.bytes();
  infinirtLibrary_t libraries[4] = {};
  for (auto& library : libraries) {
    REQUIRE(infinirtLibraryLoadData(&library, bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) ==
            infinirtSuccess);
  }
  for (auto library : libraries) {
    use_library(library);
    CHECK_EQ(infinirtLibraryUnload(library), infinirtSuccess);
  }
}

TEST(unloading_waits_for_launches) {
  const BuiltLibrary built(kTwoKernels);
  REQUIRE(built.good());
  infinirtLibrary_t library = nullptr;
  infinirtKernel_t set = nullptr;
  REQUIRE(load_file(&library, built.path()) == infinirtSuccess);
  REQUIRE(infinirtLibraryGetKernel(&set, library, "set") == infinirtSuccess);
  infinirtStream_t stream;
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  Gate gate;
  int data = 0, value = 5;
  int* where = &data;
  void* args[] = {&where, &value};
  CHECK_EQ(gate.hold(stream), infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(set, kOne, kOne, args, 0, stream), infinirtSuccess);
  std::thread opener([&] {
    usleep(20000);
    gate.open();
  });
  CHECK_EQ(infinirtLibraryUnload(library), infinirtSuccess);
  CHECK_EQ(data, 5);
  opener.join();
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

TEST(what_is_no_library_is_refused_with_a_reason) {
  infinirtLibrary_t library = nullptr;
  CHECK_EQ(load_file(&library, "/nowhere/kernels.so"), infinirtErrorFileNotFound);
  CHECK(says("/nowhere/kernels.so"));
  CHECK_EQ(load_file(&library, __FILE__), infinirtErrorInvalidKernelImage);
  CHECK(says("cannot be loaded"));
  const BuiltLibrary without("int answer = 42;\n");
  REQUIRE(without.good());
  CHECK_EQ(load_file(&library, without.path()), infinirtErrorInvalidKernelImage);
  CHECK(says("infinirtXKernelTable"));
  const char text[256] = "this is not an image of anything";
  CHECK_EQ(infinirtLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0),
           infinirtErrorInvalidKernelImage);
  CHECK_EQ(infinirtLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0),
           infinirtErrorInvalidValue);
  CHECK_EQ(infinirtLibraryLoadFromFile(&library, __FILE__, nullptr, nullptr, 1, nullptr, nullptr, 0),
           infinirtErrorInvalidValue);
}

TEST_MAIN()

TEST(what_failed_before_a_library_was_unloaded_is_told_afterwards) {
  const BuiltLibrary built(R"(
static infinirtError_t fail(const infinirtXBlock *b, void **args) { (void)b; (void)args; return infinirtErrorInvalidValue; }
const infinirtXKernelInfo infinirtXKernelTable[] = {{"fail", fail, 0, 0, 0}, {0}};
)");
  REQUIRE(built.good());
  infinirtLibrary_t library = nullptr;
  infinirtKernel_t kernel = nullptr;
  REQUIRE(load_file(&library, built.path()) == infinirtSuccess);
  REQUIRE(infinirtLibraryGetKernel(&kernel, library, "fail") == infinirtSuccess);
  CHECK_EQ(infinirtLaunchKernel(kernel, kOne, kOne, nullptr, 0, nullptr), infinirtSuccess);
  CHECK_EQ(infinirtLibraryUnload(library), infinirtSuccess);
  CHECK_EQ(infinirtDeviceSynchronize(), infinirtErrorInvalidValue);
  // What another call failed with is no reason of the device's.
  infinirtMemPoolProps props = {};
  props.allocType = infinirtMemAllocationTypePinned;
  props.location.type = infinirtMemLocationTypeDevice;
  props.maxSize = 4 << 20;
  infinirtMemPool_t pool = nullptr;
  REQUIRE(infinirtMemPoolCreate(&pool, &props) == infinirtSuccess);
  void* memory = nullptr;
  CHECK_EQ(infinirtMallocFromPoolAsync(&memory, 16 << 20, pool, nullptr), infinirtErrorMemoryAllocation);
  CHECK(std::string(infinirtXGetLastErrorMessage()).find("the device says") == std::string::npos);
  CHECK_EQ(infinirtMemPoolDestroy(pool), infinirtSuccess);
}
