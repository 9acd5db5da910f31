#include "ccl/nccl/world.h"

#include <map>
#include <thread>

#include "ccl/monitor.h"
#include "ccl/runtime.h"

namespace infiniccl::nccl {

namespace {

constexpr char kType[] = "nvidia";
constexpr size_t kScratch = 16;

const std::byte* at(const void* base, size_t bytes) { return static_cast<const std::byte*>(base) + bytes; }
std::byte* at(void* base, size_t bytes) { return static_cast<std::byte*>(base) + bytes; }

// How many ranks each communicator has in this process.
struct RanksHere {
  std::mutex mutex;
  std::map<std::string, size_t> counts;
};
RanksHere& ranks_here() {
  static auto* instance = new RanksHere;  // worlds may end after static objects
  return *instance;
}

}  // namespace

void NcclWorld::note_ranks(std::string communicator, size_t count) {
  auto& here = ranks_here();
  const std::lock_guard guard(here.mutex);
  size_t& ranks = here.counts[communicator];
  if (ranks < 2 && ranks + count >= 2) infinirtXExpectWaits(1);
  ranks += count;
  communicator_ = std::move(communicator);
  ranks_ = count;
}

void NcclWorld::forget_ranks() {
  auto& here = ranks_here();
  const std::lock_guard guard(here.mutex);
  const auto found = here.counts.find(communicator_);
  const size_t left = found->second - ranks_;
  if (found->second >= 2 && left < 2) infinirtXExpectWaits(-1);
  found->second = left;
  if (left == 0) here.counts.erase(found);
}

bool NcclWorld::make_scratch(Rank& rank, std::string* problem) const {
  const DeviceScope scope(kType, rank.device);
  if (!scope.error() && api().Malloc(&rank.scratch, kScratch) == infinirtSuccess) return true;
  *problem = infinirtXGetLastErrorMessage();
  return false;
}

std::shared_ptr<NcclWorld> NcclWorld::make_all(const std::vector<int>& devices, std::string* problem) {
  const Functions* nccl = library(problem);
  if (!nccl) return nullptr;
  std::vector<Comm> comms(devices.size());
  const int error = nccl->CommInitAll(comms.data(), static_cast<int>(devices.size()), devices.data());
  if (error != kSuccess) {
    *problem = format_text("ncclCommInitAll: %s", nccl->GetErrorString(error));
    return nullptr;
  }
  auto world = std::make_shared<NcclWorld>(*nccl, static_cast<int>(devices.size()));
  world->note_ranks(format_text("%p", static_cast<void*>(world.get())), devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    world->comms_[i].comm = comms[i];
    world->comms_[i].device = devices[i];
  }
  for (Rank& rank : world->comms_) {
    if (!world->make_scratch(rank, problem)) return nullptr;
  }
  return world;
}

std::shared_ptr<NcclWorld> NcclWorld::join(const infinicclUniqueId_t& id, int size, int rank, std::string* problem) {
  const Functions* nccl = library(problem);
  if (!nccl) return nullptr;
  auto world = std::make_shared<NcclWorld>(*nccl, size);
  Rank& own = world->comms_[static_cast<size_t>(rank)];
  if (api().GetDevice(&own.device) != infinirtSuccess) {
    *problem = infinirtXGetLastErrorMessage();
    return nullptr;
  }
  UniqueId theirs;
  static_assert(sizeof theirs == sizeof id);
  __builtin_memcpy(&theirs, &id, sizeof theirs);
  // Before the ranks meet: from there on another thread may wait for what this one has yet to enqueue.
  world->note_ranks(std::string(theirs.internal, sizeof theirs.internal), 1);
  const int error = nccl->CommInitRank(&own.comm, size, theirs, rank);
  if (error != kSuccess) {
    *problem = format_text("ncclCommInitRank: %s", nccl->GetErrorString(error));
    return nullptr;
  }
  return world->make_scratch(own, problem) ? world : nullptr;
}

NcclWorld::~NcclWorld() {
  if (ranks_ > 0) forget_ranks();
  for (Rank& rank : comms_) {
    const DeviceScope scope(kType, rank.device);
    const OutsideCapture outside;
    if (rank.comm) nccl_.CommDestroy(rank.comm);
    if (rank.scratch) api().Free(rank.scratch);
  }
}

bool NcclWorld::can_reduce(infiniDtype_t dtype, infinicclReduceOp_t) const {
  int number;
  size_t each;
  return datatype(dtype, true, &number, &each);
}

int NcclWorld::call(const Part& part, Rank& rank, void* stream) const {
  int type = 0;
  size_t each = 1;
  datatype(part.dtype, reduces(part.operation), &type, &each);
  const size_t count = part.count * each, bytes = part.count * part.element();
  const int op = static_cast<int>(part.reduction);  // the same numbers
  int error = kSuccess;
  const auto keep = [&error](int result) { error = error == kSuccess ? result : error; };
  switch (part.operation) {
    case Operation::AllReduce:
      return nccl_.AllReduce(part.send, part.recv, count, type, op, rank.comm, stream);
    case Operation::Broadcast:
      return nccl_.Broadcast(part.send, part.recv, count, type, part.root, rank.comm, stream);
    case Operation::Reduce:
      return nccl_.Reduce(part.send, part.recv, count, type, op, part.root, rank.comm, stream);
    case Operation::AllGather:
      return nccl_.AllGather(part.send, part.recv, count, type, rank.comm, stream);
    case Operation::ReduceScatter:
      return nccl_.ReduceScatter(part.send, part.recv, count, type, op, rank.comm, stream);
    case Operation::Send:
      return nccl_.Send(part.send, count, type, part.root, rank.comm, stream);
    case Operation::Recv:
      return nccl_.Recv(part.recv, count, type, part.root, rank.comm, stream);
    case Operation::Barrier:  // whoever has the sum knows that all have come
      return nccl_.AllReduce(rank.scratch, rank.scratch, 1, 2, 0, rank.comm, stream);
    case Operation::AllGatherV: {  // every rank sends its part to all
      size_t before = 0;
      for (int r = 0; r < size; ++r) {
        const size_t own = part.counts[static_cast<size_t>(r)];
        if (own > 0) {
          void* target = at(part.recv, before * part.element());
          const void* source = r == part.rank ? part.send : target;
          keep(nccl_.Broadcast(source, target, own * each, type, r, rank.comm, stream));
        }
        before += own;
      }
      return error;
    }
    case Operation::ReduceScatterV: {
      size_t before = 0;
      for (int r = 0; r < size; ++r) {
        const size_t own = part.counts[static_cast<size_t>(r)];
        if (own > 0)
          keep(nccl_.Reduce(at(part.send, before * part.element()), part.recv, own * each, type, op, r, rank.comm,
                            stream));
        before += own;
      }
      return error;
    }
    case Operation::AllToAll:
      for (int r = 0; r < size && bytes > 0; ++r) {
        keep(nccl_.Send(at(part.send, static_cast<size_t>(r) * bytes), count, type, r, rank.comm, stream));
        keep(nccl_.Recv(at(part.recv, static_cast<size_t>(r) * bytes), count, type, r, rank.comm, stream));
      }
      return error;
    case Operation::Gather:
      if (bytes == 0) return kSuccess;
      keep(nccl_.Send(part.send, count, type, part.root, rank.comm, stream));
      for (int r = 0; r < size && part.rank == part.root; ++r)
        keep(nccl_.Recv(at(part.recv, static_cast<size_t>(r) * bytes), count, type, r, rank.comm, stream));
      return error;
    case Operation::Scatter:
      if (bytes == 0) return kSuccess;
      for (int r = 0; r < size && part.rank == part.root; ++r)
        keep(nccl_.Send(at(part.send, static_cast<size_t>(r) * bytes), count, type, r, rank.comm, stream));
      keep(nccl_.Recv(part.recv, count, type, part.root, rank.comm, stream));
      return error;
  }
  return kSuccess;
}

// The graph of a capture keeps the communicators whose operations it has: to destroy one, NCCL waits until all such graphs are gone,
// and programs close communicators first.
std::string NcclWorld::keep_for_graph(infinirtStream_t stream) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  unsigned long long capture = 0;
  infinirtGraph_t graph = nullptr;
  const infinirtGraphNode_t* nodes = nullptr;
  size_t count = 0;
  if (api().StreamGetCaptureInfo(stream, &status, &capture, &graph, &nodes, &count) != infinirtSuccess)
    return infinirtXGetLastErrorMessage();
  std::lock_guard guard(mutex_);
  if (!graph || capture == latest_capture_) return "";
  auto* kept = new std::shared_ptr<World>(shared_from_this());
  const auto let_go = [](void* pointer) {
    auto* held = static_cast<std::shared_ptr<World>*>(pointer);
    monitor_release(std::move(*held));  // the device's functions may not be called here
    delete held;
  };
  infinirtUserObject_t object = nullptr;
  if (api().UserObjectCreate(&object, kept, let_go, 1, infinirtUserObjectNoDestructorSync) != infinirtSuccess) {
    delete kept;
    return infinirtXGetLastErrorMessage();
  }
  if (api().GraphRetainUserObject(graph, object, 1, infinirtGraphUserObjectMove) != infinirtSuccess) {
    std::string problem = infinirtXGetLastErrorMessage();
    api().UserObjectRelease(object, 1);
    return problem;
  }
  latest_capture_ = capture;
  return "";
}

std::string NcclWorld::enqueue(std::span<Part> parts, infinirtStream_t stream) {
  if (parts.front().captured) {
    std::string problem = keep_for_graph(stream);
    if (!problem.empty()) return problem;
  }
  void* native = nullptr;
  if (infinirtXStreamBeginNative(stream, &native) != infinirtSuccess) return infinirtXGetLastErrorMessage();
  int error = nccl_.GroupStart();
  for (const Part& part : parts) {
    if (error != kSuccess) break;
    Rank& rank = comms_[static_cast<size_t>(part.rank)];
    const DeviceScope scope(kType, rank.device);
    error = scope.error() ? 1 : call(part, rank, native);
  }
  const int ended = nccl_.GroupEnd();
  infinirtXStreamEndNative(stream, native);
  if (error == kSuccess) error = ended == kInProgress ? kSuccess : ended;
  if (error == kSuccess) {
    monitor_wake();
    return "";
  }
  return format_text("NCCL: %s", nccl_.GetErrorString(error));
}

std::string NcclWorld::end_group() {
  const int error = nccl_.GroupEnd();
  return error == kSuccess || error == kInProgress ? "" : format_text("NCCL: %s", nccl_.GetErrorString(error));
}

// NCCL notices dead peers itself.
bool NcclWorld::look(int64_t) {
  Failure found;
  {
    std::lock_guard guard(mutex_);
    for (size_t r = 0; r < comms_.size(); ++r) {
      if (!comms_[r].comm) continue;
      int state = kSuccess;
      const int asked = nccl_.CommGetAsyncError(comms_[r].comm, &state);
      const int error = asked != kSuccess ? asked : state;
      if (error == kSuccess || error == kInProgress) continue;
      found = {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorExternalDevice,
               format_text("rank %zu: NCCL: %s", r, nccl_.GetErrorString(error))};
      break;
    }
  }
  if (found.status != INFINI_STATUS_SUCCESS) fail_with(std::move(found));
  return false;
}

void NcclWorld::leave(int rank) {
  std::lock_guard guard(mutex_);
  comms_[static_cast<size_t>(rank)].left = true;  // NCCL's own communicator goes with the last rank of this process
}

void NcclWorld::end_all() {
  std::lock_guard guard(mutex_);
  for (Rank& rank : comms_) {
    if (!rank.comm) continue;
    // Frees it. What runs ends at once, but the call waits for graphs to go, too, and whoever fails must not.
    const auto abort = [self = shared_from_this(), &nccl = nccl_, comm = rank.comm, device = rank.device] {
      const DeviceScope scope(kType, device);
      nccl.CommAbort(comm);
    };
    rank.comm = nullptr;
    if (latest_capture_ == 0) {
      abort();
    } else {
      std::thread(abort).detach();
    }
  }
}

}  // namespace infiniccl::nccl
