// The functions that PyTorch's pluggable allocator calls, called here as it calls them, on the device type under test.
#include "torch/allocator.h"

#include <stdexcept>
#include <string>

#include "cache_support.h"
#include "gate.h"

namespace {

// As PyTorch does it: the type is settled before the first allocation.
infinirtXCache_t plugged() {
  static const bool settled = (infinirt_torch_use_device_type(device_type().c_str()), true);
  (void)settled;
  return infinirt_torch_cache(0);
}

}  // namespace

TEST(memory_comes_from_the_cache_of_the_device) {
  infinirtXCache_t cache = plugged();
  infinirtStream_t stream = make_stream();
  void* block = infinirt_torch_allocate(1000, 0, stream);
  CHECK(block != nullptr);
  CHECK_EQ(stats_of(cache).requestedCurrent, 1000u);
  size_t size = 0;
  void* base = infinirt_torch_base_allocation(block, &size);
  CHECK_LE(base, block);
  CHECK_GE(size, 1000u);
  CHECK_EQ(infinirt_torch_base_allocation(&size, &size), static_cast<void*>(&size));
  infinirt_torch_free(block, 1000, 0, stream);
  CHECK_EQ(infinirt_torch_allocate(1000, 0, stream), block);
  infinirt_torch_free(block, 1000, 0, stream);
  CHECK(infinirt_torch_allocate(0, 0, stream) == nullptr);
  infinirt_torch_free(nullptr, 0, 0, stream);
  OK(infinirtStreamSynchronize(stream));
  infinirt_torch_empty_cache();
  CHECK_EQ(stats_of(cache).reservedCurrent, 0u);
  OK(infinirtStreamDestroy(stream));
}

TEST(the_threads_own_device_type_stays) {
  plugged();
  const std::string before = device_type();
  infinirtStream_t stream = make_stream();
  infinirt_torch_free(infinirt_torch_allocate(1, 0, stream), 1, 0, stream);
  infinirt_torch_set_memory_fraction(1.0, 0);
  CHECK_EQ(device_type(), before);
  OK(infinirtStreamDestroy(stream));
}

TEST(a_recorded_stream_is_waited_for) {
  plugged();
  infinirtStream_t own = make_stream(), user = make_stream();
  void* block = infinirt_torch_allocate(kMiB, 0, own);
  infinirt_torch_record_stream(block, user);
  infinirt_torch_record_stream(&own, user);  // a tensor around memory of others
  OK(infinirtPeekAtLastError());
  Gate gate;
  OK(gate.hold(user));
  infinirt_torch_free(block, kMiB, 0, own);
  void* other = infinirt_torch_allocate(kMiB, 0, own);
  CHECK_NE(other, block);
  gate.open();
  OK(infinirtStreamSynchronize(user));
  infinirt_torch_free(other, kMiB, 0, own);
  OK(infinirtDeviceSynchronize());
  infinirt_torch_empty_cache();
  CHECK_EQ(stats_of(plugged()).reservedCurrent, 0u);
  OK(infinirtStreamDestroy(own));
  OK(infinirtStreamDestroy(user));
}

// PyTorch's order of calls for two graphs that share a pool.
TEST(graphs_have_memory_of_their_own) {
  infinirtXCache_t cache = plugged();
  infinirtStream_t stream = make_stream(), side = make_stream();
  const InfinirtTorchPool pool{0, 7};
  infinirtGraphExec_t execs[2] = {};
  void* kept = nullptr;
  for (auto& exec : execs) {
    infinirt_torch_begin_pool(0, pool, [stream](infinirtStream_t asked) { return asked == stream; });
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
    void* block = infinirt_torch_allocate(kMiB, 0, stream);
    CHECK(kept == nullptr || block == kept);  // the second graph has the first one's memory
    kept = block;
    OK(infinirtMemsetAsync(block, 3, kMiB, stream));
    void* elsewhere = infinirt_torch_allocate(kMiB, 0, side);  // takes no part
    infinirt_torch_free(elsewhere, kMiB, 0, side);
    infinirt_torch_free(block, kMiB, 0, stream);
    infinirtGraph_t graph = nullptr;
    OK(infinirtStreamEndCapture(stream, &graph));
    infinirt_torch_end_pool(0, pool);
    OK(infinirtGraphInstantiateWithFlags(&exec, graph, 0));
    OK(infinirtGraphDestroy(graph));
  }
  // Emptying the cache while the graphs live takes nothing of theirs.
  infinirt_torch_empty_cache();
  CHECK_GE(stats_of(cache).reservedCurrent, kMiB);
  void* others[8];
  for (void*& other : others) CHECK_NE(other = infinirt_torch_allocate(kMiB, 0, stream), kept);
  for (infinirtGraphExec_t exec : execs) OK(infinirtGraphLaunch(exec, stream));
  OK(infinirtStreamSynchronize(stream));
  for (void* other : others) infinirt_torch_free(other, kMiB, 0, stream);

  OK(infinirtGraphExecDestroy(execs[0]));
  infinirt_torch_release_pool(0, pool);
  infinirt_torch_empty_cache();
  CHECK_GE(stats_of(cache).reservedCurrent, kMiB);  // the second graph is still there
  OK(infinirtGraphExecDestroy(execs[1]));
  infinirt_torch_release_pool(0, pool);
  infinirt_torch_release_pool(0, pool);  // once too often
  infinirt_torch_empty_cache();
  CHECK_EQ(stats_of(cache).reservedCurrent, 0u);
  OK(infinirtStreamDestroy(stream));
  OK(infinirtStreamDestroy(side));
}

TEST(memory_that_is_not_there_is_an_exception) {
  infinirtXCache_t cache = plugged();
  infinirtStream_t stream = make_stream();
  infinirt_torch_set_memory_fraction(0.0, 0);
  std::string said;
  try {
    infinirt_torch_allocate(1, 0, stream);
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  CHECK(said.find("1 bytes were asked for") != std::string::npos);
  OK(infinirtXCacheSetMaxSize(cache, 2 * kMiB));
  try {
    infinirt_torch_allocate(64 * kMiB, 0, stream);
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  CHECK(said.find("67108864 bytes were asked for") != std::string::npos);
  said.clear();
  try {
    infinirt_torch_allocate(1, 100, stream);
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  CHECK(said.find("100") != std::string::npos);
  OK(infinirtPeekAtLastError());  // an exception has told it
  OK(infinirtXCacheSetMaxSize(cache, 0));
  (void)infinirtGetLastError();
  OK(infinirtStreamDestroy(stream));
}

TEST_MAIN()
