// Graphs built node by node, and what they compute, through the public API on the CPU device.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "graph_support.h"

namespace {

// out[i] = in[i] + amount, one block per element.
infinirtError_t add_amount(const infinirtXBlock* block, void** args) {
  int* out = *static_cast<int**>(args[0]);
  const int* in = *static_cast<const int**>(args[1]);
  const int amount = *static_cast<int*>(args[2]);
  out[block->blockIdx.x] = in[block->blockIdx.x] + amount;
  return infinirtSuccess;
}

void register_add_amount() {
  static const size_t sizes[] = {sizeof(int*), sizeof(const int*), sizeof(int)};
  static const infinirtXKernelInfo info = {"add_amount", add_amount, sizes, 3, 0};
  OK(infinirtXRegisterKernel(&info));
}

// Arguments of one launch of add_amount.
struct AddAmount {
  int* out;
  const int* in;
  int amount;
  unsigned count;
  void* pointers[3];
  infinirtKernelNodeParams params() {
    pointers[0] = &out;
    pointers[1] = &in;
    pointers[2] = &amount;
    return {reinterpret_cast<void*>(add_amount), {count, 1, 1}, {1, 1, 1}, 0, pointers, nullptr};
  }
};

size_t node_count(infinirtGraph_t graph) {
  size_t count = 0;
  OK(infinirtGraphGetNodes(graph, nullptr, &count));
  return count;
}

}  // namespace

TEST(nodes_run_after_what_they_depend_on) {
  Diary diary(5);
  infinirtGraph_t graph = make_graph();
  auto a = add_host(graph, diary, 0);
  auto b = add_host(graph, diary, 1, {a});
  auto c = add_host(graph, diary, 2, {a});
  add_host(graph, diary, 3, {b, c});
  add_host(graph, diary, 4);
  infinirtGraphExec_t exec = instantiate(graph);
  infinirtStream_t stream = make_stream();
  for (int round = 0; round < 50; ++round) {
    launch_and_wait(exec, stream);
    const auto seen = diary.take();
    REQUIRE(seen.size() == 5u);
    CHECK_LT(place_of(seen, 0), place_of(seen, 1));
    CHECK_LT(place_of(seen, 0), place_of(seen, 2));
    CHECK_LT(place_of(seen, 1), place_of(seen, 3));
    CHECK_LT(place_of(seen, 2), place_of(seen, 3));
  }
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

TEST(independent_branches_run_at_the_same_time) {
  skip_on_native(kHostFunctions);
  // Each of two host functions waits for the other: only possible when both are under way.
  struct Meeting {
    std::atomic<int> arrived{0}, met{0};
    static void arrive(void* data) {
      auto* meeting = static_cast<Meeting*>(data);
      ++meeting->arrived;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (meeting->arrived < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      meeting->met += meeting->arrived == 2;
    }
  } meeting;
  infinirtGraph_t graph = make_graph();
  const infinirtHostNodeParams params = {Meeting::arrive, &meeting};
  infinirtGraphNode_t nodes[2];
  for (auto& node : nodes) OK(infinirtGraphAddHostNode(&node, graph, nullptr, 0, &params));
  infinirtGraphExec_t exec = instantiate(graph);
  infinirtStream_t stream = make_stream();
  launch_and_wait(exec, stream);
  CHECK_EQ(meeting.met.load(), 2);
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtStreamDestroy(stream));
}

TEST(copies_sets_and_kernels_compute) {
  // Without a kernel of the CPU device a copy takes its place, and nothing is added.
  const bool kernels = unless_native(kCpuKernel);
  const int added = kernels ? 7 : 0;
  if (kernels) register_add_amount();
  constexpr unsigned n = 64;
  int *x = device_array(n), *y = device_array(n);
  std::vector<int> input(n), output(n);
  for (unsigned i = 0; i < n; ++i) input[i] = static_cast<int>(i);
  infinirtGraph_t graph = make_graph();
  infinirtGraphNode_t set, in, kernel, out;
  infinirtMemsetParams fill = {y, 0, 0x01020304, 4, n, 1};
  OK(infinirtGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
  OK(infinirtGraphAddMemcpyNode1D(&in, graph, &set, 1, x, input.data(), n * sizeof(int), infinirtMemcpyHostToDevice));
  AddAmount add = {y, x, added, n - 1, {}};
  infinirtKernelNodeParams launch = add.params();
  OK(kernels ? infinirtGraphAddKernelNode(&kernel, graph, &in, 1, &launch)
             : infinirtGraphAddMemcpyNode1D(&kernel, graph, &in, 1, y, x, (n - 1) * sizeof(int),
                                            infinirtMemcpyDeviceToDevice));
  add.amount = 1000;  // the node has its own copy of the arguments
  OK(infinirtGraphAddMemcpyNode1D(&out, graph, &kernel, 1, output.data(), y, n * sizeof(int),
                                  infinirtMemcpyDeviceToHost));
  infinirtGraphExec_t exec = instantiate(graph);
  OK(infinirtGraphDestroy(graph));  // the executable graph lives on
  infinirtStream_t stream = make_stream();
  launch_and_wait(exec, stream);
  for (unsigned i = 0; i + 1 < n; ++i) CHECK_EQ(output[i], static_cast<int>(i) + added);
  CHECK_EQ(output[n - 1], 0x01020304);
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtFree(x));
  OK(infinirtFree(y));
  OK(infinirtStreamDestroy(stream));
}

TEST(getters_of_kernel_nodes_give_back_what_was_set) {
  skip_on_native(kCpuKernel);
  register_add_amount();
  int *x = device_array(8), *y = device_array(8);
  infinirtGraph_t graph = make_graph();
  infinirtGraphNode_t kernel;
  AddAmount add = {y, x, 5, 8, {}};
  infinirtKernelNodeParams launch = add.params(), got{};
  OK(infinirtGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch));
  OK(infinirtGraphKernelNodeGetParams(kernel, &got));
  CHECK(got.func == launch.func);
  CHECK_EQ(got.gridDim.x, 8u);
  REQUIRE(got.kernelParams != nullptr);
  CHECK_EQ(*static_cast<int*>(got.kernelParams[2]), 5);
  add.amount = 6;
  OK(infinirtGraphKernelNodeSetParams(kernel, &launch));
  OK(infinirtGraphKernelNodeGetParams(kernel, &got));
  CHECK_EQ(*static_cast<int*>(got.kernelParams[2]), 6);
  infinirtHostNodeParams none{};
  CHECK_EQ(infinirtGraphHostNodeGetParams(kernel, &none), infinirtErrorInvalidValue);
  CHECK(says("kernel node"));

  infinirtKernelNodeAttrValue value{}, value_back{};
  value.priority = -2;
  OK(infinirtGraphKernelNodeSetAttribute(kernel, infinirtLaunchAttributePriority, &value));
  OK(infinirtGraphKernelNodeGetAttribute(kernel, infinirtLaunchAttributePriority, &value_back));
  CHECK_EQ(value_back.priority, -2);
  infinirtGraphNode_t twin;
  OK(infinirtGraphAddKernelNode(&twin, graph, nullptr, 0, &launch));
  OK(infinirtGraphKernelNodeCopyAttributes(kernel, twin));
  value_back = {};
  OK(infinirtGraphKernelNodeGetAttribute(twin, infinirtLaunchAttributePriority, &value_back));
  CHECK_EQ(value_back.priority, -2);
  OK(infinirtGraphDestroy(graph));
  OK(infinirtFree(x));
  OK(infinirtFree(y));
}

TEST(getters_give_back_what_was_set) {
  int *x = device_array(8), *y = device_array(8);
  infinirtGraph_t graph = make_graph();
  infinirtGraphNode_t fill, copy, host;
  infinirtMemsetParams set = {x, 16, 9, 2, 4, 2}, set_back{};
  OK(infinirtGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
  OK(infinirtGraphMemsetNodeGetParams(fill, &set_back));
  CHECK_EQ(std::memcmp(&set, &set_back, sizeof set), 0);

  infinirtMemcpy3DParms parms{}, parms_back{};
  parms.srcPtr = {x, 16, 16, 2};
  parms.dstPtr = {y, 16, 16, 2};
  parms.extent = {8, 2, 1};
  parms.kind = infinirtMemcpyDeviceToDevice;
  OK(infinirtGraphAddMemcpyNode(&copy, graph, nullptr, 0, &parms));
  OK(infinirtGraphMemcpyNodeGetParams(copy, &parms_back));
  CHECK(parms_back.srcPtr.ptr == x);
  CHECK_EQ(parms_back.extent.height, 2u);

  Diary diary(1);
  infinirtHostNodeParams params = diary.node(0), params_back{};
  OK(infinirtGraphAddHostNode(&host, graph, nullptr, 0, &params));
  OK(infinirtGraphHostNodeGetParams(host, &params_back));
  CHECK(params_back.fn == params.fn && params_back.userData == params.userData);

  CHECK_EQ(infinirtGraphHostNodeGetParams(copy, &params_back), infinirtErrorInvalidValue);
  CHECK(says("memcpy node"));
  enum infinirtGraphNodeType type;
  OK(infinirtGraphNodeGetType(copy, &type));
  CHECK_EQ(type, infinirtGraphNodeTypeMemcpy);
  OK(infinirtGraphDestroy(graph));
  OK(infinirtFree(x));
  OK(infinirtFree(y));
}

TEST(edges_are_listed_added_and_removed) {
  Diary diary(3);
  infinirtGraph_t graph = make_graph();
  auto a = add_host(graph, diary, 0), b = add_host(graph, diary, 1, {a}), c = add_host(graph, diary, 2);
  OK(infinirtGraphAddDependencies(graph, &b, &c, 1));
  CHECK_EQ(infinirtGraphAddDependencies(graph, &b, &c, 1), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtGraphRemoveDependencies(graph, &a, &c, 1), infinirtErrorInvalidValue);
  infinirtGraphNode_t from[4], to[4];
  size_t count = 4;
  OK(infinirtGraphGetEdges(graph, from, to, &count));
  REQUIRE(count == 2u);
  CHECK(from[0] == a && to[0] == b && from[1] == b && to[1] == c);
  CHECK(from[2] == nullptr);
  // Of two pairs the second is wrong: neither is added.
  infinirtGraphNode_t starts[2] = {a, a}, ends[2] = {c, b};
  if (unless_native("the real library adds the first")) {
    CHECK_EQ(infinirtGraphAddDependencies(graph, starts, ends, 2), infinirtErrorInvalidValue);
  }
  OK(infinirtGraphNodeGetDependencies(c, nullptr, &count));
  CHECK_EQ(count, 1u);
  OK(infinirtGraphNodeGetDependentNodes(a, nullptr, &count));
  CHECK_EQ(count, 1u);
  OK(infinirtGraphRemoveDependencies(graph, &b, &c, 1));
  OK(infinirtGraphGetRootNodes(graph, nullptr, &count));
  CHECK_EQ(count, 2u);
  OK(infinirtGraphDestroyNode(b));
  CHECK_EQ(node_count(graph), 2u);
  if (unless_native(kGoneHandle)) {
    CHECK_EQ(infinirtGraphDestroyNode(b), infinirtErrorInvalidValue);
    CHECK(says("destroyed"));
  }
  OK(infinirtGraphDestroy(graph));
  CHECK_EQ(infinirtGraphDestroy(graph), infinirtErrorInvalidValue);
}

TEST(bad_arguments_are_errors) {
  Diary diary(2);
  infinirtGraph_t graph = make_graph(), other = make_graph();
  auto a = add_host(graph, diary, 0);
  infinirtGraphNode_t node = nullptr;
  CHECK_EQ(infinirtGraphAddEmptyNode(&node, other, &a, 1), infinirtErrorInvalidValue);
  CHECK(says("another graph"));
  infinirtGraphNode_t twice[2] = {a, a};
  CHECK_EQ(infinirtGraphAddEmptyNode(&node, graph, twice, 2), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtGraphAddEmptyNode(&node, graph, nullptr, 1), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtGraphAddEmptyNode(nullptr, graph, nullptr, 0), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtGraphAddEmptyNode(&node, nullptr, nullptr, 0), infinirtErrorInvalidValue);
  if (unless_native(kInventedHandle)) {
    CHECK_EQ(infinirtGraphAddEmptyNode(&node, reinterpret_cast<infinirtGraph_t>(&diary), nullptr, 0),
             infinirtErrorInvalidValue);
  }
  int* x = device_array(4);
  CHECK_EQ(infinirtGraphAddMemcpyNode1D(&node, graph, nullptr, 0, x, &diary, 400, infinirtMemcpyHostToDevice),
           infinirtErrorInvalidValue);
  infinirtMemsetParams fill = {x, 0, 0, 3, 1, 1};
  CHECK_EQ(infinirtGraphAddMemsetNode(&node, graph, nullptr, 0, &fill), infinirtErrorInvalidValue);
  infinirtGraphExec_t exec = nullptr;
  if (unless_native("a GPU has conditional nodes and launches graphs itself")) {
    infinirtGraphNodeParams params{};
    params.type = infinirtGraphNodeTypeConditional;
    CHECK_EQ(infinirtGraphAddNode(&node, graph, nullptr, 0, &params), infinirtErrorNotSupported);
    CHECK_EQ(infinirtGraphInstantiate(&exec, graph, infinirtGraphInstantiateFlagDeviceLaunch),
             infinirtErrorNotSupported);
  }
  CHECK_EQ(infinirtGraphInstantiate(&exec, graph, 1ull << 40), infinirtErrorInvalidValue);
  CHECK_EQ(infinirtGraphLaunch(nullptr, nullptr), infinirtErrorInvalidValue);
  CHECK_EQ(node_count(graph), 1u);
  OK(infinirtFree(x));
  OK(infinirtGraphDestroy(graph));
  OK(infinirtGraphDestroy(other));
}

TEST(a_cycle_is_found_at_instantiation) {
  Diary diary(3);
  infinirtGraph_t graph = make_graph();
  auto a = add_host(graph, diary, 0), b = add_host(graph, diary, 1, {a}), c = add_host(graph, diary, 2, {b});
  OK(infinirtGraphAddDependencies(graph, &c, &b, 1));
  infinirtGraphExec_t exec = nullptr;
  infinirtGraphInstantiateParams params{};
  CHECK_EQ(infinirtGraphInstantiateWithParams(&exec, graph, &params), infinirtErrorInvalidValue);
  CHECK(says("cycle"));
  CHECK_EQ(params.result_out, infinirtGraphInstantiateInvalidStructure);
  CHECK(params.errNode_out == b || params.errNode_out == c);
  OK(infinirtGraphRemoveDependencies(graph, &c, &b, 1));
  OK(infinirtGraphInstantiateWithParams(&exec, graph, &params));
  CHECK_EQ(params.result_out, infinirtGraphInstantiateSuccess);
  OK(infinirtGraphExecDestroy(exec));
  CHECK_EQ(infinirtGraphExecDestroy(exec), infinirtErrorInvalidValue);
  OK(infinirtGraphDestroy(graph));
}

TEST(clones_are_independent_and_nodes_are_found_in_them) {
  Diary diary(4);
  infinirtGraph_t graph = make_graph(), inner = make_graph();
  add_host(inner, diary, 2);
  auto a = add_host(graph, diary, 0);
  infinirtGraphNode_t child, found = nullptr;
  OK(infinirtGraphAddChildGraphNode(&child, graph, &a, 1, inner));
  add_host(inner, diary, 3);  // too late: the node has a copy
  OK(infinirtGraphDestroy(inner));
  infinirtGraph_t clone = nullptr;
  OK(infinirtGraphClone(&clone, graph));
  OK(infinirtGraphNodeFindInClone(&found, a, clone));
  CHECK(found != a);
  infinirtHostNodeParams changed = diary.node(1);
  OK(infinirtGraphHostNodeSetParams(found, &changed));
  auto late = add_host(graph, diary, 3);
  CHECK_EQ(infinirtGraphNodeFindInClone(&found, late, clone), infinirtErrorInvalidValue);
  infinirtGraph_t embedded = nullptr;
  OK(infinirtGraphChildGraphNodeGetGraph(child, &embedded));
  if (unless_native("what a node owns is not to be destroyed: the real library does not look"))
    CHECK_EQ(infinirtGraphDestroy(embedded), infinirtErrorInvalidValue);
  OK(infinirtGraphDestroy(graph));
  infinirtGraphExec_t exec = instantiate(clone);
  infinirtStream_t stream = make_stream();
  launch_and_wait(exec, stream);
  CHECK(diary.take() == (std::vector<int>{1, 2}));
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(clone));
  OK(infinirtStreamDestroy(stream));
}

TEST(child_graphs_keep_their_place_in_the_order) {
  Diary diary(6);
  infinirtGraph_t inner = make_graph(), graph = make_graph();
  add_host(inner, diary, 1);
  add_host(inner, diary, 2);
  auto first = add_host(graph, diary, 0);
  infinirtGraphNode_t child, empty_child;
  infinirtGraphNodeParams params{};
  params.type = infinirtGraphNodeTypeGraph;
  params.graph.graph = inner;
  params.graph.ownership = infinirtGraphChildGraphOwnershipMove;
  OK(infinirtGraphAddNode(&child, graph, &first, 1, &params));
  const bool owned = unless_native("what a node owns is not to be used: the real library does not look");
  if (owned) CHECK_EQ(infinirtGraphDestroy(inner), infinirtErrorInvalidValue);
  infinirtGraph_t nothing = make_graph();
  OK(infinirtGraphAddChildGraphNode(&empty_child, graph, &child, 1, nothing));
  OK(infinirtGraphDestroy(nothing));
  add_host(graph, diary, 3, {empty_child});
  // A graph cannot become a part of itself.
  params.graph.graph = graph;
  infinirtGraphNode_t node;
  if (owned) CHECK_EQ(infinirtGraphAddNode(&node, inner, nullptr, 0, &params), infinirtErrorInvalidValue);
  infinirtGraphExec_t exec = instantiate(graph);
  infinirtStream_t stream = make_stream();
  for (int i = 0; i < 20; ++i) {
    launch_and_wait(exec, stream);
    const auto seen = diary.take();
    REQUIRE(seen.size() == 4u);
    CHECK_EQ(seen.front(), 0);
    CHECK_EQ(seen.back(), 3);
  }
  OK(infinirtGraphExecDestroy(exec));
  OK(infinirtGraphDestroy(graph));
  if (owned) CHECK_EQ(infinirtGraphGetNodes(inner, nullptr, nullptr), infinirtErrorInvalidValue);  // with its owner
  OK(infinirtStreamDestroy(stream));
}

TEST(dot_output_shows_nodes_edges_and_children) {
  Diary diary(2);
  infinirtGraph_t graph = make_graph(), inner = make_graph();
  add_host(inner, diary, 0);
  auto a = add_host(graph, diary, 1);
  infinirtGraphNode_t child;
  OK(infinirtGraphAddChildGraphNode(&child, graph, &a, 1, inner));
  char path[] = "/tmp/infinirt_dot_XXXXXX";
  close(mkstemp(path));
  OK(infinirtGraphDebugDotPrint(graph, path, infinirtGraphDebugDotFlagsVerbose));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path);
  CHECK(text.str().find("digraph") == 0);
  if (unless_native("the words of the CPU device")) {
    CHECK(text.str().find("host function") != std::string::npos);
    CHECK(text.str().find("subgraph cluster_") != std::string::npos);
  }
  CHECK(text.str().find("->") != std::string::npos);
  CHECK_EQ(infinirtGraphDebugDotPrint(graph, "/no/such/folder/x.dot", 0), infinirtErrorOperatingSystem);
  OK(infinirtGraphDestroy(inner));
  OK(infinirtGraphDestroy(graph));
}

TEST_MAIN()
