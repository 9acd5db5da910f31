// Memory that graphs own, through the public API on the CPU device.
#include <chrono>
#include <cstdint>
#include <thread>

#include "graph_support.h"

namespace {

constexpr const char* kCounting = "a GPU reserves at the first launch, and counts as used until a trim";

uint64_t attribute(enum infinirtGraphMemAttributeType which) {
  uint64_t value = 0;
  OK(infinirtDeviceGetGraphMemAttribute(0, which, &value));
  return value;
}

infinirtMemAllocNodeParams alloc_params(size_t bytes) {
  infinirtMemAllocNodeParams params{};
  params.poolProps.allocType = infinirtMemAllocationTypePinned;
  params.poolProps.location = {infinirtMemLocationTypeDevice, 0};
  params.bytesize = bytes;
  return params;
}

// alloc → memset(value) → copy to `out`, and free if wanted.
struct Scratch {
  infinirtGraph_t graph = make_graph();
  infinirtMemAllocNodeParams params;
  infinirtGraphNode_t alloc = nullptr, set = nullptr, copy = nullptr, free = nullptr;
  Scratch(size_t bytes, int value, void* out, bool frees) : params(alloc_params(bytes)) {
    OK(infinirtGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &params));
    CHECK(params.dptr != nullptr);
    infinirtMemsetParams fill = {params.dptr, 0, static_cast<unsigned>(value), 1, bytes, 1};
    OK(infinirtGraphAddMemsetNode(&set, graph, &alloc, 1, &fill));
    OK(infinirtGraphAddMemcpyNode1D(&copy, graph, &set, 1, out, params.dptr, bytes, infinirtMemcpyDeviceToHost));
    if (frees) OK(infinirtGraphAddMemFreeNode(&free, graph, &copy, 1, params.dptr));
  }
  ~Scratch() { OK(infinirtGraphDestroy(graph)); }
};

}  // namespace

TEST(freeing_memory_behind_a_pending_graph_waits_for_it) {
  for (const bool in_order : {false, true}) {
    infinirtStream_t stream = nullptr;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    void* memory = nullptr;
    OK(infinirtMalloc(&memory, 4096));
    infinirtGraph_t graph = nullptr;
    infinirtGraphExec_t exec = nullptr;
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed));
    OK(infinirtLaunchHostFunc(
        stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, nullptr));
    OK(infinirtMemsetAsync(memory, 1, 4096, stream));
    OK(infinirtStreamEndCapture(stream, &graph));
    OK(infinirtGraphInstantiate(&exec, graph, 0));
    OK(infinirtGraphLaunch(exec, stream));
    if (in_order) {
      OK(infinirtFreeAsync(memory, stream));
      if (unless_native("the real library takes plain memory a second time, and breaks"))
        FAILS(infinirtFreeAsync(memory, stream), infinirtErrorInvalidValue);
    } else {
      OK(infinirtFree(memory));
    }
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(infinirtFree(memory), infinirtErrorInvalidValue);
    (void)infinirtGetLastError();
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtStreamDestroy(stream));
  }
}

TEST(a_graph_uses_memory_of_its_own) {
  std::vector<unsigned char> out(4096);
  infinirtStream_t stream = make_stream();
  const uint64_t used = attribute(infinirtGraphMemAttrUsedMemCurrent);
  {
    Scratch scratch(out.size(), 0x5a, out.data(), true);
    infinirtMemAllocNodeParams got{};
    OK(infinirtGraphMemAllocNodeGetParams(scratch.alloc, &got));
    CHECK(got.dptr == scratch.params.dptr);
    CHECK_EQ(got.bytesize, out.size());
    void* freed = nullptr;
    OK(infinirtGraphMemFreeNodeGetParams(scratch.free, &freed));
    CHECK(freed == scratch.params.dptr);
    infinirtGraphExec_t exec = instantiate(scratch.graph);
    for (int i = 0; i < 5; ++i) {
      std::fill(out.begin(), out.end(), 0);
      launch_and_wait(exec, stream);
      CHECK_EQ(out.front(), 0x5a);
      CHECK_EQ(out.back(), 0x5a);
    }
    if (unless_native(kCounting)) CHECK_EQ(attribute(infinirtGraphMemAttrUsedMemCurrent), used);
    CHECK_GE(attribute(infinirtGraphMemAttrUsedMemHigh), used + out.size());
    OK(infinirtGraphExecDestroy(exec));
  }
  OK(infinirtStreamDestroy(stream));
}

TEST(only_one_instantiation_at_a_time) {
  std::vector<unsigned char> out(64);
  Scratch scratch(out.size(), 1, out.data(), true);
  infinirtGraphExec_t exec = instantiate(scratch.graph), second = nullptr;
  CHECK_EQ(infinirtGraphInstantiate(&second, scratch.graph, 0), infinirtErrorNotSupported);
  CHECK(says("instantiated already"));
  OK(infinirtGraphExecDestroy(exec));
  exec = instantiate(scratch.graph);
  OK(infinirtGraphExecDestroy(exec));
  infinirtGraph_t clone = nullptr;
  CHECK_EQ(infinirtGraphClone(&clone, scratch.graph), infinirtErrorNotSupported);
  CHECK_EQ(infinirtGraphDestroyNode(scratch.copy), infinirtErrorNotSupported);
  CHECK_EQ(infinirtGraphRemoveDependencies(scratch.graph, &scratch.alloc, &scratch.set, 1), infinirtErrorNotSupported);
  infinirtGraph_t parent = make_graph();
  infinirtGraphNode_t node;
  CHECK_EQ(infinirtGraphAddChildGraphNode(&node, parent, nullptr, 0, scratch.graph), infinirtErrorNotSupported);
  OK(infinirtGraphDestroy(parent));
}

TEST(an_allocation_left_behind_bars_the_next_launch) {
  std::vector<unsigned char> out(256), read(256);
  infinirtStream_t stream = make_stream();
  Scratch scratch(out.size(), 0x33, out.data(), false);
  infinirtGraphExec_t exec = instantiate(scratch.graph);
  const bool counts = unless_native(kCounting);
  const uint64_t used = attribute(infinirtGraphMemAttrUsedMemCurrent);
  CHECK_EQ(infinirtFreeAsync(scratch.params.dptr, stream), infinirtErrorInvalidValue);  // not allocated yet
  OK(infinirtGraphLaunch(exec, stream));
  if (counts) CHECK_EQ(attribute(infinirtGraphMemAttrUsedMemCurrent), used + out.size());
  CHECK_EQ(infinirtGraphLaunch(exec, stream), infinirtErrorInvalidValue);
  CHECK(says("infinirtFreeAsync"));
  OK(infinirtMemcpyAsync(read.data(), scratch.params.dptr, read.size(), infinirtMemcpyDeviceToHost, stream));
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(read[255], 0x33);
  OK(infinirtFreeAsync(scratch.params.dptr, stream));
  CHECK_EQ(infinirtFreeAsync(scratch.params.dptr, stream), infinirtErrorInvalidValue);
  if (counts) CHECK_EQ(attribute(infinirtGraphMemAttrUsedMemCurrent), used);
  launch_and_wait(exec, stream);
  OK(infinirtFree(scratch.params.dptr));
  OK(infinirtGraphExecDestroy(exec));
  exec = instantiate(scratch.graph, infinirtGraphInstantiateFlagAutoFreeOnLaunch);
  unsigned long long flags = 0;
  OK(infinirtGraphExecGetFlags(exec, &flags));
  CHECK_EQ(flags, static_cast<unsigned long long>(infinirtGraphInstantiateFlagAutoFreeOnLaunch));
  for (int i = 0; i < 3; ++i) launch_and_wait(exec, stream);
  OK(infinirtGraphExecDestroy(exec));
  // The memory outlives the executable graph until it is freed.
  OK(infinirtMemcpy(read.data(), scratch.params.dptr, read.size(), infinirtMemcpyDeviceToHost));
  OK(infinirtFreeAsync(scratch.params.dptr, stream));
  if (counts) CHECK_EQ(attribute(infinirtGraphMemAttrUsedMemCurrent), used);
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(another_graph_may_free_what_one_allocates) {
  std::vector<unsigned char> out(128);
  infinirtStream_t stream = make_stream();
  Scratch scratch(out.size(), 9, out.data(), false);
  infinirtGraph_t cleaner = make_graph();
  infinirtGraphNode_t node;
  CHECK_EQ(infinirtGraphAddMemFreeNode(&node, cleaner, nullptr, 0, out.data()), infinirtErrorInvalidValue);
  OK(infinirtGraphAddMemFreeNode(&node, cleaner, nullptr, 0, scratch.params.dptr));
  infinirtGraphExec_t allocates = instantiate(scratch.graph), frees = instantiate(cleaner);
  CHECK_EQ(infinirtGraphLaunch(frees, stream), infinirtErrorInvalidValue);
  for (int i = 0; i < 3; ++i) {
    OK(infinirtGraphLaunch(allocates, stream));
    OK(infinirtGraphLaunch(frees, stream));
  }
  OK(infinirtStreamSynchronize(stream));
  CHECK_EQ(out[0], 9);
  OK(infinirtGraphExecDestroy(allocates));
  OK(infinirtGraphExecDestroy(frees));
  OK(infinirtGraphDestroy(cleaner));
  OK(infinirtStreamDestroy(stream));
}

TEST(memory_is_shared_by_lifetimes_that_follow_each_other) {
  infinirtGraph_t graph = make_graph();
  infinirtGraphNode_t first, freed, second, beside, node;
  auto a = alloc_params(1 << 20), b = alloc_params(1 << 20), c = alloc_params(1 << 20);
  OK(infinirtGraphAddMemAllocNode(&first, graph, nullptr, 0, &a));
  OK(infinirtGraphAddMemFreeNode(&freed, graph, &first, 1, a.dptr));
  OK(infinirtGraphAddMemAllocNode(&second, graph, &freed, 1, &b));
  CHECK(b.dptr == a.dptr);
  OK(infinirtGraphAddMemAllocNode(&beside, graph, &freed, 1, &c));  // lives at the same time as the second
  CHECK(c.dptr != a.dptr);
  CHECK_EQ(infinirtGraphAddMemFreeNode(&node, graph, &second, 1, reinterpret_cast<char*>(b.dptr) + 8),
           infinirtErrorInvalidValue);
  OK(infinirtGraphAddMemFreeNode(&node, graph, &second, 1, b.dptr));
  CHECK_EQ(infinirtGraphAddMemFreeNode(&node, graph, &second, 1, b.dptr), infinirtErrorInvalidValue);
  OK(infinirtGraphDestroy(graph));
}

TEST(capturing_allocations_makes_nodes) {
  infinirtStream_t stream = make_stream();
  std::vector<int> out(1000, 0);
  void *pointer = nullptr, *outside = nullptr;
  OK(infinirtMallocAsync(&outside, 64, stream));
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  OK(infinirtMallocAsync(&pointer, out.size() * sizeof(int), stream));
  CHECK(pointer != nullptr);
  OK(infinirtMemsetAsync(pointer, 1, out.size() * sizeof(int), stream));
  OK(infinirtMemcpyAsync(out.data(), pointer, out.size() * sizeof(int), infinirtMemcpyDeviceToHost, stream));
  CHECK_EQ(infinirtFreeAsync(outside, stream), infinirtErrorInvalidValue);
  OK(infinirtFreeAsync(pointer, stream));
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(stream, &graph));
  REQUIRE(graph != nullptr);
  infinirtGraphNode_t nodes[4];
  size_t count = 4;
  OK(infinirtGraphGetNodes(graph, nodes, &count));
  CHECK_EQ(count, 4u);
  enum infinirtGraphNodeType type;
  OK(infinirtGraphNodeGetType(nodes[0], &type));
  CHECK_EQ(type, infinirtGraphNodeTypeMemAlloc);
  OK(infinirtGraphNodeGetType(nodes[3], &type));
  CHECK_EQ(type, infinirtGraphNodeTypeMemFree);
  infinirtGraphExec_t exec = instantiate(graph);
  for (int i = 0; i < 3; ++i) launch_and_wait(exec, stream);
  CHECK_EQ(out[999], 0x01010101);
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  CHECK_EQ(infinirtGraphLaunch(exec, stream), infinirtErrorStreamCaptureUnsupported);
  infinirtGraph_t none = nullptr;
  CHECK_EQ(infinirtStreamEndCapture(stream, &none), infinirtErrorStreamCaptureInvalidated);
  CHECK(names("infinirtGraphLaunch"));
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtFreeAsync(outside, stream));
  OK(infinirtStreamSynchronize(stream));
  OK(infinirtStreamDestroy(stream));
}

TEST(memory_goes_back_when_trimmed) {
  infinirtStream_t stream = make_stream();
  OK(infinirtDeviceGraphMemTrim(0));
  const bool reserves = unless_native(kCounting);
  const uint64_t before = attribute(infinirtGraphMemAttrReservedMemCurrent);
  std::vector<unsigned char> out(8 << 20);
  {
    Scratch scratch(out.size(), 2, out.data(), true);
    infinirtGraphExec_t exec = instantiate(scratch.graph);
    launch_and_wait(exec, stream);
    CHECK_GE(attribute(infinirtGraphMemAttrReservedMemCurrent), before + out.size());
    if (reserves) {
      OK(infinirtDeviceGraphMemTrim(0));  // in use by the graph: stays
      CHECK_GE(attribute(infinirtGraphMemAttrReservedMemCurrent), before + out.size());
    }
    OK(infinirtGraphExecDestroy(exec));
  }
  if (reserves) CHECK_GE(attribute(infinirtGraphMemAttrReservedMemCurrent), before + out.size());
  OK(infinirtDeviceGraphMemTrim(0));
  CHECK_EQ(attribute(infinirtGraphMemAttrReservedMemCurrent), before);
  CHECK_GE(attribute(infinirtGraphMemAttrReservedMemHigh), before + out.size());
  uint64_t zero = 0, one = 1;
  OK(infinirtDeviceSetGraphMemAttribute(0, infinirtGraphMemAttrReservedMemHigh, &zero));
  CHECK_EQ(attribute(infinirtGraphMemAttrReservedMemHigh), before);
  CHECK_EQ(infinirtDeviceSetGraphMemAttribute(0, infinirtGraphMemAttrUsedMemHigh, &one), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceSetGraphMemAttribute(0, infinirtGraphMemAttrUsedMemCurrent, &zero), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtDeviceGraphMemTrim(99), infinirtErrorInvalidDevice);
  OK(infinirtStreamDestroy(stream));
}

TEST(too_large_an_allocation_fails_and_leaves_nothing) {
  infinirtGraph_t graph = make_graph();
  auto params = alloc_params(size_t{1} << 50);
  infinirtGraphNode_t node = nullptr;
  CHECK_EQ(infinirtGraphAddMemAllocNode(&node, graph, nullptr, 0, &params), infinirtErrorMemoryAllocation);
  size_t count = 9;
  OK(infinirtGraphGetNodes(graph, nullptr, &count));
  CHECK_EQ(count, 0u);
  params = alloc_params(0);
  CHECK_EQ(infinirtGraphAddMemAllocNode(&node, graph, nullptr, 0, &params), infinirtErrorInvalidValue);
  OK(infinirtGraphDestroy(graph));
}

TEST(a_failed_capture_gives_its_memory_back) {
  infinirtStream_t stream = make_stream();
  OK(infinirtDeviceGraphMemTrim(0));
  const uint64_t used = attribute(infinirtGraphMemAttrUsedMemCurrent);
  const uint64_t reserved = attribute(infinirtGraphMemAttrReservedMemCurrent);
  for (int round = 0; round < 3; ++round) {
    void* pointer = nullptr;
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    OK(infinirtMallocAsync(&pointer, 8 << 20, stream));
    CHECK_EQ(infinirtStreamQuery(stream), infinirtErrorStreamCaptureUnsupported);
    infinirtGraph_t graph = nullptr;
    CHECK_EQ(infinirtStreamEndCapture(stream, &graph), infinirtErrorStreamCaptureInvalidated);
    if (unless_native(kCounting)) CHECK_EQ(attribute(infinirtGraphMemAttrUsedMemCurrent), used);
    CHECK_EQ(infinirtFreeAsync(pointer, stream), infinirtErrorInvalidValue);
  }
  OK(infinirtDeviceGraphMemTrim(0));
  CHECK_EQ(attribute(infinirtGraphMemAttrReservedMemCurrent), reserved);
  OK(infinirtStreamDestroy(stream));
}

TEST(out_of_memory_in_a_capture_is_reported_as_such) {
  infinirtStream_t stream = make_stream();
  OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
  void* pointer = nullptr;
  CHECK_EQ(infinirtMallocAsync(&pointer, size_t{1} << 45, stream), infinirtErrorMemoryAllocation);
  CHECK(says("graph allocation"));
  CHECK(pointer == nullptr);
  OK(infinirtMallocAsync(&pointer, 4096, stream));  // the capture goes on
  OK(infinirtFreeAsync(pointer, stream));
  infinirtGraph_t graph = nullptr;
  OK(infinirtStreamEndCapture(stream, &graph));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
