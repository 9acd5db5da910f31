// infinirtXCompile: what it refuses, without any compiler being there. What it compiles is tested where one is installed.
#include <cstdlib>
#include <string>

#include "check.h"
#include "infinirt_ext.h"

namespace {

infinirtXCompileInfo some_info() {
  infinirtXCompileInfo info{};
  info.structSize = sizeof info;
  info.source = "__global__ void f() {}";
  info.architecture = "sm_90";
  return info;
}

// The error of an info that was changed by `change`; a compiler that would be needed is not there.
template <class Change>
infinirtError_t error_of(Change change) {
  infinirtXCompileInfo info = some_info();
  change(info);
  auto compiled = reinterpret_cast<infinirtXCompiled_t>(1);
  const infinirtError_t error = infinirtXCompile(&compiled, &info);
  CHECK(compiled == nullptr);
  CHECK_EQ(infinirtPeekAtLastError(), error);
  return error;
}

bool message_has(const char* text) {
  return std::string(infinirtXGetLastErrorMessage()).find(text) != std::string::npos;
}

const bool no_compiler = setenv("INFINIRT_NVRTC_LIBRARY", "/nowhere/libnvrtc.so", 1) == 0;

}  // namespace

TEST(arguments_are_checked) {
  infinirtXCompiled_t compiled = nullptr;
  infinirtXCompileInfo info = some_info();
  CHECK_EQ(infinirtXCompile(nullptr, &info), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtXCompile(&compiled, nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(error_of([](auto& i) { i.structSize = 8; }), infinirtErrorInvalidValue);
  CHECK(message_has("structSize is 8"));
  CHECK_EQ(error_of([](auto& i) { i.source = nullptr; }), infinirtErrorInvalidValue);
  CHECK_EQ(error_of([](auto& i) { i.codeType = static_cast<infinirtXCodeType>(7); }), infinirtErrorInvalidValue);
  CHECK_EQ(error_of([](auto& i) { i.optionCount = 1; }), infinirtErrorInvalidValue);
  CHECK(message_has("info->options has 1 entries, of which number 0 is null"));
  CHECK_EQ(error_of([](auto& i) { i.nameExpressionCount = 1; }), infinirtErrorInvalidValue);
  CHECK_EQ(error_of([](auto& i) { i.headerCount = 1; }), infinirtErrorInvalidValue);
}

TEST(device_types_without_a_compiler) {
  CHECK_EQ(error_of([](auto& i) { i.deviceType = "no such"; }), infinirtErrorInvalidDevice);
  CHECK_EQ(error_of([](auto& i) { i.deviceType = "cpu"; }), infinirtErrorNotSupported);
  CHECK(message_has("deviceType 'cpu' has no compiler"));
}

TEST(a_compiler_that_is_absent_is_named_with_the_remedy) {
  REQUIRE(no_compiler);
  CHECK_EQ(error_of([](auto&) {}), infinirtErrorNotSupported);
  CHECK(message_has("infinirtXCompile: "));
  CHECK(message_has("/nowhere/libnvrtc.so"));
  CHECK(message_has("pip install 'infinirt[cuda]'"));
}

TEST(handles_are_checked) {
  infinirtXCompiledInfo info;
  const char* name = nullptr;
  infinirtStream_t stream = nullptr;
  REQUIRE(infinirtXSetDeviceType("cpu") == infinirtSuccess);
  REQUIRE(infinirtStreamCreate(&stream) == infinirtSuccess);
  for (void* wrong : {static_cast<void*>(nullptr), static_cast<void*>(&info), static_cast<void*>(stream)}) {
    const auto handle = static_cast<infinirtXCompiled_t>(wrong);
    CHECK_EQ(infinirtXCompiledGetInfo(&info, handle), infinirtErrorInvalidResourceHandle);
    CHECK_EQ(infinirtXCompiledGetLoweredName(&name, handle, "f"), infinirtErrorInvalidResourceHandle);
    CHECK_EQ(infinirtXCompiledDestroy(handle), infinirtErrorInvalidResourceHandle);
  }
  CHECK_EQ(infinirtXCompiledGetInfo(nullptr, nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtStreamDestroy(stream), infinirtSuccess);
}

TEST_MAIN()
