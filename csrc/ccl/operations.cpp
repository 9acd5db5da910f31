// The collective operations: arguments are checked, and become a part.
#include <cstring>
#include <new>
#include <optional>

#include "ccl/communicator.h"
#include "ccl/group.h"
#include "ccl/runtime.h"
#include "ccl/staged/stage.h"
#include "infinirt_plugin_host.h"

namespace infiniccl {

namespace {

// Which elements of the buffers a rank uses, and where the one lies in the other when an operation is in place.
struct Extent {
  size_t send = 0, recv = 0;  // elements; 0: the buffer does not matter
  bool may_be_in_place = false;
  std::ptrdiff_t send_in_recv = 0;  // elements; negative: recv lies in send
};

struct Call {
  const char* function;
  Operation operation;
  const void* send;
  void* recv;
  size_t count;
  infiniDtype_t dtype;
  infinicclReduceOp_t reduction = INFINICCL_SUM;
  int root = -1;
  const size_t* counts = nullptr;
  int counts_size = 0;
  const char* counts_name = nullptr;
};

// An enumerator that came through the C API, where any number can stand in its place.
template <class Enum>
int raw_value(const Enum& value) {
  int raw;
  static_assert(sizeof raw == sizeof value);
  std::memcpy(&raw, &value, sizeof raw);
  return raw;
}

infiniStatus_t check_numbers(const Call& call, const World& world) {
  const char* f = call.function;
  if (call.operation != Operation::Barrier && dtype_size(static_cast<infiniDtype_t>(raw_value(call.dtype))) == 0) {
    return fail(f, INFINI_STATUS_BAD_TENSOR_DTYPE, "datatype is %d, which is no element type of infiniDtype_t",
                raw_value(call.dtype));
  }
  if (reduces(call.operation)) {
    const int op = raw_value(call.reduction);
    if (op < INFINICCL_SUM || op > INFINICCL_AVG)
      return fail(f, INFINI_STATUS_BAD_PARAM, "op is %d; it must be sum (0), prod (1), max (2), min (3) or avg (4)",
                  op);
    if (!world.can_reduce(call.dtype, call.reduction)) {
      return fail(f, INFINI_STATUS_BAD_TENSOR_DTYPE, "there is no %s of %s", reduction_name(call.reduction),
                  dtype_name(call.dtype));
    }
  }
  if ((has_root(call.operation) || between_two(call.operation)) && (call.root < 0 || call.root >= world.size)) {
    return fail(f, INFINI_STATUS_BAD_PARAM, "%s is %d; the communicator has ranks 0 to %d",
                between_two(call.operation) ? "peer" : "root", call.root, world.size - 1);
  }
  if (call.counts_name && (!call.counts || call.counts_size != world.size)) {
    return call.counts ? fail(f, INFINI_STATUS_BAD_PARAM, "nranks is %d, but the communicator has %d ranks",
                              call.counts_size, world.size)
                       : fail(f, INFINI_STATUS_NULL_POINTER, "%s is null; it has one count for each of %d ranks",
                              call.counts_name, world.size);
  }
  // All sizes and offsets below are sums and products of these.
  size_t total = call.count, bytes;
  bool too_much = __builtin_mul_overflow(total, static_cast<size_t>(world.size), &total);
  for (int i = 0; i < call.counts_size && call.counts; ++i)
    too_much |= __builtin_add_overflow(total, call.counts[i], &total);
  too_much |= __builtin_mul_overflow(total, size_t{64} * static_cast<size_t>(world.size), &bytes);
  if (too_much) return fail(f, INFINI_STATUS_BAD_PARAM, "the counts make more bytes than there are addresses");
  return INFINI_STATUS_SUCCESS;
}

Extent extent_of(const Part& part, int size) {
  const auto n = static_cast<size_t>(size), rank = static_cast<size_t>(part.rank), count = part.count;
  const bool is_root = part.rank == part.root;
  const auto own = static_cast<std::ptrdiff_t>(rank * count);
  switch (part.operation) {
    case Operation::AllReduce:
      return {count, count, true, 0};
    case Operation::Broadcast:
      return {is_root ? count : 0, count, true, 0};
    case Operation::Reduce:
      return {count, is_root ? count : 0, true, 0};
    case Operation::AllGather:
      return {count, n * count, true, own};
    case Operation::ReduceScatter:
      return {n * count, count, true, -own};
    case Operation::AllGatherV:
      return {part.counts[rank], part.counts_before(size), true,
              static_cast<std::ptrdiff_t>(part.counts_before(part.rank))};
    case Operation::ReduceScatterV:
      return {part.counts_before(size), part.counts[rank], true,
              -static_cast<std::ptrdiff_t>(part.counts_before(part.rank))};
    case Operation::AllToAll:
      return {n * count, n * count, false, 0};
    case Operation::Gather:
      return {count, is_root ? n * count : 0, true, own};
    case Operation::Scatter:
      return {is_root ? n * count : 0, count, true, -own};
    case Operation::Send:
      return {count, 0, false, 0};
    case Operation::Recv:
      return {0, count, false, 0};
    case Operation::Barrier:
      break;
  }
  return {};
}

infiniStatus_t check_overlap(const Call& call, const Extent& extent, size_t element) {
  if (extent.send == 0 || extent.recv == 0) return INFINI_STATUS_SUCCESS;
  const auto send = reinterpret_cast<uintptr_t>(call.send), recv = reinterpret_cast<uintptr_t>(call.recv);
  if (send + extent.send * element <= recv || recv + extent.recv * element <= send) return INFINI_STATUS_SUCCESS;
  const auto offset = extent.send_in_recv * static_cast<std::ptrdiff_t>(element);
  if (extent.may_be_in_place && static_cast<std::ptrdiff_t>(send - recv) == offset) return INFINI_STATUS_SUCCESS;
  if (!extent.may_be_in_place)
    return fail(call.function, INFINI_STATUS_BAD_PARAM, "sendbuf %p and recvbuf %p overlap", call.send, call.recv);
  return fail(call.function, INFINI_STATUS_BAD_PARAM,
              "sendbuf %p and recvbuf %p overlap, but not in place: for that, sendbuf must be recvbuf %+td bytes",
              call.send, call.recv, offset);
}

infiniStatus_t issue(const Call& call, infinicclComm_t comm, infinirtStream_t stream) {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  const auto communicator = resolve(call.function, comm, &status);
  if (!communicator) return status;
  World& world = *communicator->world;
  if ((status = check_numbers(call, world))) return status;

  Part part;
  part.world = communicator->world;
  part.operation = call.operation;
  part.dtype = call.dtype;
  part.reduction = call.reduction;
  part.rank = communicator->rank;
  part.root = call.root;
  part.count = call.count;
  if (call.counts) part.counts.assign(call.counts, call.counts + call.counts_size);
  const Extent extent = extent_of(part, world.size);
  const size_t element = part.element();
  if ((status = check_overlap(call, extent, element))) return status;

  // The predefined streams are those of the communicator's device.
  std::optional<DeviceScope> scope;
  if (reinterpret_cast<uintptr_t>(stream) <= 2) {
    scope.emplace(communicator->device_type, communicator->device);
    if (scope->error()) return fail_as_runtime(call.function, scope->error());
  } else {
    const char* type = nullptr;
    int device = 0;
    if (auto error = infinirtXStreamGetDevice(stream, &type, &device)) return fail_as_runtime(call.function, error);
    if (device != communicator->device || std::strcmp(type, communicator->device_type) != 0) {
      return fail(call.function, INFINI_STATUS_BAD_PARAM,
                  "stream %p is of %s:%d, but rank %d of the communicator is on %s:%d", static_cast<void*>(stream),
                  type, device, communicator->rank, communicator->device_type, communicator->device);
    }
  }
  if (world.takes_streams()) {
    part.send = call.send;
    part.recv = call.recv;
    scope.reset();
    return submit(call.function, *communicator, std::move(part), stream);
  }
  // What the step's threads, the device's own library or the stage's copies will find the memory by.
  part.stage = communicator->stage;
  const auto use = [&](infinirtStream_t on, const void* pointer, size_t bytes, const char* argument, void** address) {
    if (part.stage) return part.stage->use(on, pointer, bytes, argument, address);
    return (world.has_native_memory() ? infinirtXStreamUseNative : infinirtXStreamUse)(on, pointer, bytes, argument,
                                                                                       address);
  };
  if (extent.send) {
    void* host = nullptr;
    if (auto error = use(stream, call.send, extent.send * element, "sendbuf", &host))
      return fail_as_runtime(call.function, error);
    part.send = host;
  }
  if (extent.recv) {
    if (auto error = use(stream, call.recv, extent.recv * element, "recvbuf", &part.recv))
      return fail_as_runtime(call.function, error);
  }
  scope.reset();
  return submit(call.function, *communicator, std::move(part), stream);
}

infiniStatus_t issue_call(const Call& call, infinicclComm_t comm, infinirtStream_t stream) try {
  return refuse_in_group(issue(call, comm, stream));
} catch (const std::bad_alloc&) {
  return refuse_in_group(fail(call.function, INFINI_STATUS_INTERNAL_ERROR, "out of host memory"));
}

}  // namespace

}  // namespace infiniccl

using namespace infiniccl;

infiniStatus_t infinicclAllReduce(void* sendbuf, void* recvbuf, size_t count, infiniDtype_t datatype,
                                  infinicclReduceOp_t op, infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::AllReduce, sendbuf, recvbuf, count, datatype, op}, comm, stream);
}

infiniStatus_t infinicclBroadcast(const void* sendbuf, void* recvbuf, size_t count, infiniDtype_t datatype, int root,
                                  infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::Broadcast, sendbuf, recvbuf, count, datatype, INFINICCL_SUM, root}, comm,
                    stream);
}

infiniStatus_t infinicclReduce(const void* sendbuf, void* recvbuf, size_t count, infiniDtype_t datatype,
                               infinicclReduceOp_t op, int root, infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::Reduce, sendbuf, recvbuf, count, datatype, op, root}, comm, stream);
}

infiniStatus_t infinicclAllGather(void* sendbuf, void* recvbuf, size_t send_count, infiniDtype_t datatype,
                                  infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::AllGather, sendbuf, recvbuf, send_count, datatype}, comm, stream);
}

infiniStatus_t infinicclAllGatherV(void* sendbuf, void* recvbuf, const size_t* recv_counts, int nranks,
                                   infiniDtype_t datatype, infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::AllGatherV, sendbuf, recvbuf, 0, datatype, INFINICCL_SUM, -1, recv_counts,
                     nranks, "recv_counts"},
                    comm, stream);
}

infiniStatus_t infinicclReduceScatter(void* sendbuf, void* recvbuf, size_t recv_count, infiniDtype_t datatype,
                                      infinicclReduceOp_t op, infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::ReduceScatter, sendbuf, recvbuf, recv_count, datatype, op}, comm, stream);
}

infiniStatus_t infinicclReduceScatterV(void* sendbuf, void* recvbuf, const size_t* send_counts, int nranks,
                                       infiniDtype_t datatype, infinicclReduceOp_t op, infinicclComm_t comm,
                                       infinirtStream_t stream) {
  return issue_call(
      {__func__, Operation::ReduceScatterV, sendbuf, recvbuf, 0, datatype, op, -1, send_counts, nranks, "send_counts"},
      comm, stream);
}

infiniStatus_t infinicclAllToAll(const void* sendbuf, void* recvbuf, size_t count, infiniDtype_t datatype,
                                 infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::AllToAll, sendbuf, recvbuf, count, datatype}, comm, stream);
}

infiniStatus_t infinicclGather(const void* sendbuf, void* recvbuf, size_t count, infiniDtype_t datatype, int root,
                               infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::Gather, sendbuf, recvbuf, count, datatype, INFINICCL_SUM, root}, comm,
                    stream);
}

infiniStatus_t infinicclScatter(const void* sendbuf, void* recvbuf, size_t count, infiniDtype_t datatype, int root,
                                infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::Scatter, sendbuf, recvbuf, count, datatype, INFINICCL_SUM, root}, comm,
                    stream);
}

infiniStatus_t infinicclSend(const void* sendbuf, size_t count, infiniDtype_t datatype, int peer, infinicclComm_t comm,
                             infinirtStream_t stream) {
  return issue_call({__func__, Operation::Send, sendbuf, nullptr, count, datatype, INFINICCL_SUM, peer}, comm, stream);
}

infiniStatus_t infinicclRecv(void* recvbuf, size_t count, infiniDtype_t datatype, int peer, infinicclComm_t comm,
                             infinirtStream_t stream) {
  return issue_call({__func__, Operation::Recv, nullptr, recvbuf, count, datatype, INFINICCL_SUM, peer}, comm, stream);
}

infiniStatus_t infinicclBarrier(infinicclComm_t comm, infinirtStream_t stream) {
  return issue_call({__func__, Operation::Barrier, nullptr, nullptr, 0, INFINI_DTYPE_BYTE}, comm, stream);
}
