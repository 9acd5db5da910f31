// Collectives: PaddlePaddle's process groups on our communicators.
#include <cstdio>
#include <cstring>

#include "infiniccl.h"
#include "runtime.h"

namespace infinirt::paddle {

namespace {

using Comm = infinirtPluginComm_t;
using Stream = infinirtPluginStream_t;
using Type = enum infinirtPluginDataType;
using Reduction = enum infinirtPluginReduction;

Status status_from(infiniStatus_t status) {
  return status == INFINI_STATUS_SUCCESS ? infinirtPluginSuccess : infinirtPluginError;
}

infinicclComm_t comm_of(Comm comm) { return reinterpret_cast<infinicclComm_t>(comm); }

infiniDtype_t type_of(Type type) {
  // In the order of infinirtPluginDataType. What has no number here is refused by the call.
  constexpr infiniDtype_t types[] = {INFINI_DTYPE_INVALID, INFINI_DTYPE_BOOL, INFINI_DTYPE_U8,  INFINI_DTYPE_U16,
                                     INFINI_DTYPE_U32,     INFINI_DTYPE_U64,  INFINI_DTYPE_I8,  INFINI_DTYPE_I16,
                                     INFINI_DTYPE_I32,     INFINI_DTYPE_I64,  INFINI_DTYPE_F16, INFINI_DTYPE_F32,
                                     INFINI_DTYPE_F64,     INFINI_DTYPE_BF16, INFINI_DTYPE_C64, INFINI_DTYPE_C128};
  const auto number = static_cast<size_t>(type);
  return number < sizeof types / sizeof *types ? types[number] : INFINI_DTYPE_INVALID;
}

infinicclReduceOp_t reduction_of(Reduction reduction) {
  constexpr infinicclReduceOp_t reductions[] = {INFINICCL_SUM, INFINICCL_AVG, INFINICCL_MAX, INFINICCL_MIN,
                                                INFINICCL_PROD};
  const auto number = static_cast<size_t>(reduction);
  return number < sizeof reductions / sizeof *reductions ? reductions[number]
                                                         : static_cast<infinicclReduceOp_t>(number);
}

size_t size_of(infiniDtype_t type) {
  constexpr size_t sizes[] = {0, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 16, 2};
  return sizes[type];
}

Status get_comm_name(Comm comm, char* name) {
  std::snprintf(name, 32, "infiniccl-%p", static_cast<void*>(comm));
  return infinirtPluginSuccess;
}

Status get_unique_id_size(size_t* size) {
  *size = sizeof(infinicclUniqueId_t);
  return infinirtPluginSuccess;
}

Status get_unique_id(infinirtPluginUniqueId* id) {
  const TypeScope scope;
  infinicclUniqueId_t ours;
  if (scope.error() || id->size < sizeof ours) return infinirtPluginError;
  const Status status = status_from(infinicclGetUniqueId(&ours));
  if (status == infinirtPluginSuccess) std::memcpy(id->data, &ours, sizeof ours);
  return status;
}

// On the device that is current, as PaddlePaddle has made it.
Status comm_init_rank(size_t ranks, infinirtPluginUniqueId* id, size_t rank, Comm* comm) {
  const TypeScope scope;
  infinicclUniqueId_t ours;
  if (scope.error() || id->size < sizeof ours) return infinirtPluginError;
  std::memcpy(&ours, id->data, sizeof ours);
  return status_from(infinicclCommInitRank(reinterpret_cast<infinicclComm_t*>(comm), static_cast<int>(ranks), ours,
                                           static_cast<int>(rank)));
}

Status destroy_comm(Comm comm) { return status_from(infinicclCommDestroy(comm_of(comm))); }

Status all_reduce(void* send, void* receive, size_t count, Type type, Reduction reduction, Comm comm, Stream stream) {
  return status_from(infinicclAllReduce(send, receive, count, type_of(type), reduction_of(reduction), comm_of(comm),
                                        stream_of(stream)));
}

Status broadcast(void* buffer, size_t count, Type type, size_t root, Comm comm, Stream stream) {
  return status_from(infinicclBroadcast(buffer, buffer, count, type_of(type), static_cast<int>(root), comm_of(comm),
                                        stream_of(stream)));
}

Status reduce(void* send, void* receive, size_t count, Type type, Reduction reduction, size_t root, Comm comm,
              Stream stream) {
  return status_from(infinicclReduce(send, receive, count, type_of(type), reduction_of(reduction),
                                     static_cast<int>(root), comm_of(comm), stream_of(stream)));
}

Status all_gather(void* send, void* receive, size_t count, Type type, Comm comm, Stream stream) {
  return status_from(infinicclAllGather(send, receive, count, type_of(type), comm_of(comm), stream_of(stream)));
}

Status reduce_scatter(void* send, void* receive, size_t count, Type type, Reduction reduction, Comm comm,
                      Stream stream) {
  return status_from(infinicclReduceScatter(send, receive, count, type_of(type), reduction_of(reduction), comm_of(comm),
                                            stream_of(stream)));
}

Status group_start() { return status_from(infinicclGroupStart(nullptr)); }
Status group_end() { return status_from(infinicclGroupEnd(nullptr)); }

Status send_to(void* send, size_t count, Type type, size_t peer, Comm comm, Stream stream) {
  return status_from(
      infinicclSend(send, count, type_of(type), static_cast<int>(peer), comm_of(comm), stream_of(stream)));
}

Status receive_from(void* receive, size_t count, Type type, size_t peer, Comm comm, Stream stream) {
  return status_from(
      infinicclRecv(receive, count, type_of(type), static_cast<int>(peer), comm_of(comm), stream_of(stream)));
}

// Parts of any sizes: sends and receives in one group, as bytes, since the two sides may name their types differently.
Status all_to_all(const void** send, const size_t* send_counts, const Type* send_types, void** receive,
                  const size_t* receive_counts, const Type* receive_types, size_t, size_t ranks, Comm comm,
                  Stream stream) {
  if (infinicclGroupStart(nullptr) != INFINI_STATUS_SUCCESS) return infinirtPluginError;
  for (size_t peer = 0; peer < ranks; ++peer) {
    const auto number = static_cast<int>(peer);
    const size_t out = send_counts[peer] * size_of(type_of(send_types[peer]));
    const size_t in = receive_counts[peer] * size_of(type_of(receive_types[peer]));
    if (out > 0) infinicclSend(send[peer], out, INFINI_DTYPE_BYTE, number, comm_of(comm), stream_of(stream));
    if (in > 0) infinicclRecv(receive[peer], in, INFINI_DTYPE_BYTE, number, comm_of(comm), stream_of(stream));
  }
  return status_from(infinicclGroupEnd(nullptr));  // fails if one of them was refused
}

}  // namespace

void fill_in_collectives(infinirtPluginInterface& table) {
  table.xccl_get_comm_name = get_comm_name;
  table.xccl_get_unique_id_size = get_unique_id_size;
  table.xccl_get_unique_id = get_unique_id;
  table.xccl_comm_init_rank = comm_init_rank;
  table.xccl_destroy_comm = destroy_comm;
  table.xccl_all_reduce = all_reduce;
  table.xccl_broadcast = broadcast;
  table.xccl_reduce = reduce;
  table.xccl_all_gather = all_gather;
  table.xccl_reduce_scatter = reduce_scatter;
  table.xccl_group_start = group_start;
  table.xccl_group_end = group_end;
  table.xccl_send = send_to;
  table.xccl_recv = receive_from;
  table.xccl_all_to_all = all_to_all;
}

}  // namespace infinirt::paddle
