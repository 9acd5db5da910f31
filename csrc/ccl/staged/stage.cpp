#include "ccl/staged/stage.h"

#include <algorithm>
#include <cstring>

#include "ccl/batch.h"
#include "ccl/runtime.h"
#include "infinirt_plugin_host.h"

namespace infiniccl::staged {

namespace {

constexpr size_t kLine = 64;  // results begin at a cache line of their own

size_t aligned(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// The runs follow one another in the memory of the stage.
template <class Add>
void for_runs(const std::vector<Run>& runs, size_t element, Add&& add) {
  size_t at = 0;
  for (const Run& run : runs) {
    if (run.count > 0) add(run.begin * element, at, run.count * element);
    at += run.count * element;
  }
}

}  // namespace

Stage::Stage(const Place& place, Memory memory, std::shared_ptr<World> world)
    : place_(place), memory_(memory), world_(std::move(world)) {}

infinirtError_t Stage::use(infinirtStream_t stream, const void* pointer, size_t bytes, const char* argument,
                           void** address) const {
  if (memory_ == Memory::Reached) return infinirtXStreamUse(stream, pointer, bytes, argument, address);
  *address = const_cast<void*>(pointer);
  void* native = nullptr;
  if (memory_ == Memory::OfPlugin) return infinirtXStreamUseNative(stream, pointer, bytes, argument, &native);
  if (pointer) return infinirtSuccess;
  return infinirtXSetLastError(infinirtErrorInvalidValue, (std::string(argument) + " is null").c_str());
}

void Stage::close() {
  std::lock_guard guard(mutex_);
  if (eager_) Lanes::end_behind_work(std::move(eager_));
  eager_ = nullptr;
}

size_t Stage::bytes_of(const Part& part, const Chunk& chunk) const {
  const size_t send = lies_still(chunk.send) ? 0 : chunk.send_elements() * part.element();
  const size_t recv = lies_still(chunk.recv) ? 0 : chunk.recv_elements() * part.element();
  return works_in_place(part.operation) ? std::max(send, recv) : aligned(send) + recv;
}

Stage::Piece Stage::piece_of(const Part& part, const Chunk& chunk, std::byte* memory) const {
  Piece piece;
  Part& own = piece.part;
  own.world = part.world;
  own.operation = part.operation;
  own.dtype = part.dtype;
  own.reduction = part.reduction;
  own.rank = part.rank;
  own.root = part.root;
  own.count = chunk.count;
  own.counts = chunk.counts;
  own.whole = part.count;
  own.captured = part.captured;
  own.capture = part.capture;
  const size_t element = part.element();
  const auto* send = static_cast<const std::byte*>(part.send);
  auto* recv = static_cast<std::byte*>(part.recv);
  if (lies_still(chunk.send)) {
    if (!chunk.send.empty() && send) own.send = send + chunk.send[0].begin * element;
  } else {
    own.send = memory;
    for_runs(chunk.send, element,
             [&](size_t offset, size_t at, size_t bytes) { piece.in.push_back({memory + at, send + offset, bytes}); });
  }
  if (lies_still(chunk.recv)) {
    if (!chunk.recv.empty() && recv) own.recv = recv + chunk.recv[0].begin * element;
    return piece;
  }
  const bool in_place = works_in_place(part.operation) || lies_still(chunk.send);
  std::byte* results = in_place ? memory : memory + aligned(chunk.send_elements() * element);
  own.recv = results;
  // Whoever broadcasts from where it receives has the result already.
  if (part.operation == Operation::Broadcast && part.rank == part.root && part.send == part.recv) return piece;
  for_runs(chunk.recv, element,
           [&](size_t offset, size_t at, size_t bytes) { piece.out.push_back({recv + offset, results + at, bytes}); });
  return piece;
}

infinirtError_t Stage::copy(const std::vector<Copy>& copies, bool in, infinirtStream_t stream) const {
  if (copies.empty()) return infinirtSuccess;
  if (memory_ == Memory::Reached) {  // a call that copies from the host to the host would wait for the stream
    const auto run = [](void* data) {
      for (const Copy& each : *static_cast<std::vector<Copy>*>(data)) std::memcpy(each.to, each.from, each.bytes);
    };
    const auto destroy = [](void* data) { delete static_cast<std::vector<Copy>*>(data); };
    return infinirtXLaunchHostFunc(stream, run, new std::vector<Copy>(copies), destroy);
  }
  const auto kind = in ? infinirtMemcpyDeviceToHost : infinirtMemcpyHostToDevice;
  for (const Copy& each : copies) {
    if (auto error = api().MemcpyAsync(each.to, each.from, each.bytes, kind, stream)) return error;
  }
  return infinirtSuccess;
}

infinirtError_t Stage::lanes_for(const Part& part, infinirtStream_t stream, std::shared_ptr<Lanes>* lanes) {
  if (!part.captured) {
    if (!eager_) eager_ = std::make_shared<Lanes>(place_, world_);
    *lanes = eager_;
    return infinirtSuccess;
  }
  std::erase_if(captured_, [](const auto& each) { return each.second.expired(); });
  for (const auto& [capture, known] : captured_) {
    if (capture == part.capture && (*lanes = known.lock())) return infinirtSuccess;
  }
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  unsigned long long capture = 0;
  infinirtGraph_t graph = nullptr;
  const infinirtGraphNode_t* nodes = nullptr;
  size_t count = 0;
  if (auto error = api().StreamGetCaptureInfo(stream, &status, &capture, &graph, &nodes, &count)) return error;
  *lanes = std::make_shared<Lanes>(place_, world_);
  if (auto error = infinirtXGraphKeep(graph, new std::shared_ptr<Lanes>(*lanes), let_go)) return error;
  captured_.emplace_back(part.capture, *lanes);
  return infinirtSuccess;
}

infinirtError_t Stage::put_chunk(const Part& part, size_t number, Lanes& lanes, Lane& lane, infinirtStream_t identity,
                                 bool* issued) {
  const Chunk chunk = chunk_of(part, number);
  Slot& slot = lane.slots[lane.next];
  if (auto error = lanes.reserve(slot, bytes_of(part, chunk))) return error;
  lane.next = (lane.next + 1) % lane.slots.size();
  Piece piece = piece_of(part, chunk, slot.memory);
  if (slot.used) {
    if (auto error = api().StreamWaitEvent(lane.in, slot.emptied, 0)) return error;
  }
  if (auto error = copy(piece.in, true, lane.in)) return error;
  if (auto error = api().EventRecord(slot.loaded, lane.in)) return error;
  if (auto error = api().StreamWaitEvent(lane.steps, slot.loaded, 0)) return error;

  piece.part.world->issue(piece.part, identity);
  std::vector<Part> parts;
  parts.push_back(std::move(piece.part));
  if (auto error = launch_batch(std::move(parts), lane.steps, part.captured, place_.takes_steps)) return error;
  *issued = true;

  if (auto error = api().EventRecord(slot.stepped, lane.steps)) return error;
  if (auto error = api().StreamWaitEvent(lane.out, slot.stepped, 0)) return error;
  if (auto error = copy(piece.out, false, lane.out)) return error;
  if (auto error = api().EventRecord(slot.emptied, lane.out)) return error;
  slot.used = true;
  return infinirtSuccess;
}

infinirtError_t Fork::broken(const Part& part, infinirtError_t error) {
  const std::string message = infinirtXGetLastErrorMessage();
  part.world->fail_with(
      {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown,
       format_text("%s of rank %d was issued in part only: %s", describe(part).c_str(), part.rank, message.c_str())});
  return infinirtXSetLastError(error, message.c_str());
}

infinirtError_t Fork::add(const Part& part) {
  Stage& stage = *part.stage;
  const DeviceScope scope(stage.place_.type, stage.place_.device);
  if (scope.error()) return scope.error();
  std::lock_guard guard(stage.mutex_);
  std::shared_ptr<Lanes> lanes;
  if (auto error = stage.lanes_for(part, stream_, &lanes)) return error;
  if (part.captured && !stage.place_.takes_steps) return add_whole(part, *lanes);

  Lane* lane = nullptr;
  infinirtEvent_t mark = nullptr;
  if (auto error = lanes->find(lane_of(part), &lane)) return error;
  if (auto error = lanes->take_mark(&mark)) return error;
  infinirtError_t error = api().EventRecord(mark, stream_);
  if (!error) error = api().StreamWaitEvent(lane->in, mark, 0);
  bool issued = false;
  const size_t chunks = chunks_in(part);
  for (size_t number = 0; number < chunks && !error; ++number)
    error = stage.put_chunk(part, number, *lanes, *lane, identity_, &issued);
  if (error && issued) broken(part, error);
  if (const infinirtError_t at_end = api().EventRecord(mark, lane->out); !error) error = at_end;
  begun_.push_back({part.stage, lanes, mark});
  return error;
}

infinirtError_t Fork::add_whole(const Part& part, Lanes& lanes) {
  const Stage& stage = *part.stage;
  std::vector<Stage::Piece> pieces;
  const size_t chunks = chunks_in(part);
  for (size_t number = 0; number < chunks; ++number) {
    const Chunk chunk = chunk_of(part, number);
    std::byte* memory = nullptr;
    if (auto error = lanes.allocate(stage.bytes_of(part, chunk), &memory)) return error;
    pieces.push_back(stage.piece_of(part, chunk, memory));
    if (auto error = stage.copy(pieces.back().in, true, stream_)) return error;
  }
  for (Stage::Piece& piece : pieces) {
    whole_.push_back(std::move(piece.part));
    outs_.push_back({part.stage, std::move(piece.out)});
  }
  return infinirtSuccess;
}

infinirtError_t Fork::join() {
  infinirtError_t error = infinirtSuccess;
  if (!whole_.empty()) {
    for (Part& part : whole_) part.world->issue(part, identity_);
    error = launch_blocking_batch(std::move(whole_), stream_);
    for (const Out& out : outs_) {
      if (!error) error = out.stage->copy(out.copies, false, stream_);
    }
  }
  for (const Begun& each : begun_) {
    if (const infinirtError_t waited = api().StreamWaitEvent(stream_, each.mark, 0); !error) error = waited;
    std::lock_guard guard(each.stage->mutex_);
    each.lanes->give_mark(each.mark);
  }
  return error;
}

}  // namespace infiniccl::staged
