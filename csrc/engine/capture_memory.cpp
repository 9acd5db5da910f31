// Allocations and frees on capturing streams.
#include "engine/capture_state.h"
#include "engine/graph_memory.h"

namespace infinirt {

namespace {

infinirtError_t ended_meanwhile() {
  return fail(infinirtErrorIllegalState, "the capture of the stream was ended by another thread during this call");
}

}  // namespace

infinirtError_t capture_malloc(Stream& stream, size_t size, const struct infinirtMemPoolProps& props, void** out) {
  infinirtMemAllocNodeParams params{};
  params.poolProps = props;
  params.bytesize = size;
  EngineDevice* device = device_at(*stream.device->engine, props.location.id, "the pool's location.id");
  if (!device) return infinirtErrorInvalidDevice;
  std::shared_ptr<GraphBlock> block;
  const Graph* graph;
  {
    CaptureLock lock;
    Capture* capture = lock.of(stream);
    if (!capture) return ended_meanwhile();
    if (!capture->valid) return capture_is_broken(*capture);
    block = reusable_block(*capture->graph, lock.part(*capture, stream).tail, *device, size);
    graph = capture->graph;
  }
  infinirtError_t error = infinirtSuccess;
  NodeBodyPtr body = make_alloc_body(*graph, params, std::move(block), &error);
  if (!body) return error;
  void* pointer = body->allocation->block->pointer;
  error = capture_node(stream, std::move(body));
  if (error == infinirtSuccess) *out = pointer;
  return error;
}

infinirtError_t capture_free(Stream& stream, void* pointer) {
  infinirtError_t error = infinirtSuccess;
  NodeBodyPtr body;  // goes after the lock
  CaptureLock lock;
  Capture* capture = lock.of(stream);
  if (!capture) return ended_meanwhile();
  if (!capture->valid) return capture_is_broken(*capture);
  auto& part = lock.part(*capture, stream);
  body = make_free_body(*capture->graph, *stream.device, pointer, &error);
  if (!body) return error;
  GraphNode* node = add_node(*capture->graph, part.tail, body);
  if (!node) return infinirtErrorMemoryAllocation;
  part.tail.assign(1, node);
  return infinirtSuccess;
}

}  // namespace infinirt
