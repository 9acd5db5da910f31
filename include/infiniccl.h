/* infiniccl.h: collective operations among devices.
 *
 * A communicator is one rank among several: devices of one process (infinicclCommInitAll), or processes (infinicclCommInitRank).
 * Operations are work of the stream they are given: they are ordered with the stream's other work, they can be captured into
 * graphs, and they return before they are done. All ranks call the same operations of a communicator in the same order; which
 * rank is first, and how many threads issue them, does not matter. n-th calls belong together, sends and receives counted per
 * pair of ranks. Captured operations belong to captured ones, the n-th captured with the n-th, replay for replay.
 *
 * Element types: all numbers of infiniDtype_t; narrow floats are reduced in f32 and rounded once. BOOL is reduced as a truth
 * value (sum and max: or, prod and min: and; no avg). Complex numbers have sum, prod and avg. Averages of integers are the wrapped
 * sum divided by the number of ranks, rounded towards zero. Reductions go in the order of ranks: all ranks get the same bits.
 *
 * Buffers belong to the device of the communicator or to the host (where the device can reach it), hold `count` elements unless
 * stated otherwise, stay valid until the operation is done, and may be null when nothing is there. Send and receive buffer
 * must not overlap except *in place*, as said with each function.
 *
 * A call that is wrong returns a status, and infinirtXGetLastErrorMessage says what was wrong. What goes wrong later (a rank that does
 * not come in time, dies, or calls something else) fails the communicator on all ranks: open operations end, the next
 * synchronisation of their device returns an error, infinicclCommGetAsyncError says why, and later calls return it, too. Such a
 * communicator can only be destroyed.
 *
 * All functions may be called from any thread, none in a host function.
 */
#ifndef INFINICCL_H
#define INFINICCL_H

#include "infinicore.h"
#include "infinirt.h"

typedef enum {
  INFINICCL_SUM = 0,
  INFINICCL_PROD = 1,
  INFINICCL_MAX = 2,
  INFINICCL_MIN = 3,
  INFINICCL_AVG = 4
} infinicclReduceOp_t;

typedef struct InfinicclComm* infinicclComm_t;

/* Names a communicator that is about to be made. Plain bytes: send them to the other processes by whatever means there is. */
#define INFINICCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[INFINICCL_UNIQUE_ID_BYTES];
} infinicclUniqueId_t;

/* ---- Communicators ---- */

/* Communicators for devices of this process: comms[i] is rank i, on device device_ids[i]; null: devices 0 to ndevice - 1. On the CPU
 * a device may be named more than once. */
__INFINI_C __export infiniStatus_t infinicclCommInitAll(infiniDevice_t device_type, infinicclComm_t* comms, int ndevice,
                                                        const int* device_ids);

/* The same by the runtime's name of a device type ("cpu", "nvidia", that of a plugin), for types that InfiniCore has no number for. A
 * plugin's collectives are its own (the xccl entries of infinirt_plugin.h); where a type has none, operations go through page-locked
 * memory of the host, and a device may be named more than once. */
__INFINI_C __export infiniStatus_t infinicclCommInitAllOfType(const char* device_type, infinicclComm_t* comms,
                                                              int ndevice, const int* device_ids);

/* A new id. The calling process must live until all ranks have called infinicclCommInitRank; any process may make it, one of the
 * ranks usually does. For the device type that is current on the calling thread: where that has collectives of its own the id is theirs
 * (NCCL's, the plugin's), and all ranks are of that type; else they have to be on this machine. */
__INFINI_C __export infiniStatus_t infinicclGetUniqueId(infinicclUniqueId_t* unique_id);

/* Whether devices of the type have collectives of their own, which make ids of their own: `has` is 1 or 0. All device types can join by the
 * other ids, of shared memory and of MPI, and then beside ranks of other types; memory that the host cannot reach goes through page-locked
 * memory, in chunks. After a failure what was to be received there is undefined. */
__INFINI_C __export infiniStatus_t infinicclHasOwnCollectives(const char* device_type, int* has);

/* The id that all processes get who give the same name, with no message between them. The process of rank 0 must live until all ranks
 * have called infinicclCommInitRank. A name may be used again once its communicator has been made. At most 76 characters. */
__INFINI_C __export infiniStatus_t infinicclGetNamedId(infinicclUniqueId_t* unique_id, const char* name);

/* The id of all processes that MPI's launcher started, on one machine or on several: rank and nranks are MPI's then. Needs an MPI library
 * with the standard ABI of MPI 5.0 (libmpi_abi.so.1), which is looked for when the first rank is made. Sums are made in
 * MPI's order. The collectives of one capture have to be the same on all ranks, and one executable graph of it runs at a time. */
__INFINI_C __export infiniStatus_t infinicclGetMpiId(infinicclUniqueId_t* unique_id);

/* Joins the communicator `comm_id` as `rank` of `nranks`, on the calling thread's current device; returns when all ranks have joined, or
 * with an error after INFINICCL_TIMEOUT seconds. Ranks may be threads of one process, too. */
__INFINI_C __export infiniStatus_t infinicclCommInitRank(infinicclComm_t* comm, int nranks, infinicclUniqueId_t comm_id,
                                                         int rank);

/* Returns at once; operations that were issued are still done. What other ranks wait for, and this one has not issued, fails there. */
__INFINI_C __export infiniStatus_t infinicclCommDestroy(infinicclComm_t comm);

/* Fails the communicator on all ranks that are reached: nothing of it waits any more. Each rank still has to be destroyed. */
__INFINI_C __export infiniStatus_t infinicclCommAbort(infinicclComm_t comm);

__INFINI_C __export infiniStatus_t infinicclCommGetRank(infinicclComm_t comm, int* rank);
__INFINI_C __export infiniStatus_t infinicclCommGetSize(infinicclComm_t comm, int* nranks);
/* Either pointer may be null. The type is INFINI_DEVICE_TYPE_COUNT where InfiniCore has no number for it. */
__INFINI_C __export infiniStatus_t infinicclCommGetDevice(infinicclComm_t comm, infiniDevice_t* device_type,
                                                          int* device_id);

/* The runtime's name of the device type; it lives as long as the process. */
__INFINI_C __export infiniStatus_t infinicclCommGetDeviceType(infinicclComm_t comm, const char** device_type);

/* Whether the communicator has failed. `status` is INFINI_STATUS_SUCCESS and `message` "" if not. The message, which may be left out by a
 * null pointer, is valid until the communicator is destroyed. */
__INFINI_C __export infiniStatus_t infinicclCommGetAsyncError(infinicclComm_t comm, infiniStatus_t* status,
                                                              const char** message);

/* How long an operation waits for other ranks; 0: for ever. The initial value is INFINICCL_TIMEOUT (in seconds), else 600 s. */
__INFINI_C __export infiniStatus_t infinicclCommSetTimeout(infinicclComm_t comm, unsigned int milliseconds);
__INFINI_C __export infiniStatus_t infinicclCommGetTimeout(infinicclComm_t comm, unsigned int* milliseconds);

/* ---- Groups: calls of this thread in between are issued together when the outermost group ends ----
 * Needed where one operation could otherwise wait for the next: sends and receives that cross. Operations of any communicators may stand
 * in a group, those of one stream are then one piece of work. If one is refused, all of the group are. The argument names any communicator,
 * or none (null). */
__INFINI_C __export infiniStatus_t infinicclGroupStart(infinicclComm_t comm);
__INFINI_C __export infiniStatus_t infinicclGroupEnd(infinicclComm_t comm);
/* Drops what the thread's group has collected and ends it, with all groups around it. */
__INFINI_C __export infiniStatus_t infinicclGroupCancel(infinicclComm_t comm);

/* ---- Collective operations ---- */

/* recvbuf on all ranks: the reduction of all sendbufs. In place: recvbuf == sendbuf. */
__INFINI_C __export infiniStatus_t infinicclAllReduce(void* sendbuf, void* recvbuf, size_t count,
                                                      infiniDtype_t datatype, infinicclReduceOp_t op,
                                                      infinicclComm_t comm, infinirtStream_t stream);

/* recvbuf on all ranks: root's sendbuf, which only matters there. In place: recvbuf == sendbuf. */
__INFINI_C __export infiniStatus_t infinicclBroadcast(const void* sendbuf, void* recvbuf, size_t count,
                                                      infiniDtype_t datatype, int root, infinicclComm_t comm,
                                                      infinirtStream_t stream);

/* recvbuf on root, and only there: the reduction of all sendbufs. In place: recvbuf == sendbuf. */
__INFINI_C __export infiniStatus_t infinicclReduce(const void* sendbuf, void* recvbuf, size_t count,
                                                   infiniDtype_t datatype, infinicclReduceOp_t op, int root,
                                                   infinicclComm_t comm, infinirtStream_t stream);

/* recvbuf (nranks x send_count) on all ranks: the sendbufs in order of ranks. In place: sendbuf == recvbuf + rank x send_count. */
__INFINI_C __export infiniStatus_t infinicclAllGather(void* sendbuf, void* recvbuf, size_t send_count,
                                                      infiniDtype_t datatype, infinicclComm_t comm,
                                                      infinirtStream_t stream);

/* The same with recv_counts[i] elements from rank i; the counts, one for each of the `nranks` ranks, are the same everywhere. In place:
 * sendbuf == recvbuf + what comes before this rank's elements. */
__INFINI_C __export infiniStatus_t infinicclAllGatherV(void* sendbuf, void* recvbuf, const size_t* recv_counts,
                                                       int nranks, infiniDtype_t datatype, infinicclComm_t comm,
                                                       infinirtStream_t stream);

/* recvbuf on rank i: the i-th part (recv_count elements) of the reduction of all sendbufs (nranks x recv_count). In place:
 * recvbuf == sendbuf + rank x recv_count. */
__INFINI_C __export infiniStatus_t infinicclReduceScatter(void* sendbuf, void* recvbuf, size_t recv_count,
                                                          infiniDtype_t datatype, infinicclReduceOp_t op,
                                                          infinicclComm_t comm, infinirtStream_t stream);

/* The same with send_counts[i] elements for rank i. In place: recvbuf == sendbuf + what comes before this rank's elements. */
__INFINI_C __export infiniStatus_t infinicclReduceScatterV(void* sendbuf, void* recvbuf, const size_t* send_counts,
                                                           int nranks, infiniDtype_t datatype, infinicclReduceOp_t op,
                                                           infinicclComm_t comm, infinirtStream_t stream);

/* Part i of sendbuf (`count` elements each) goes to part `rank` of recvbuf on rank i. Never in place. */
__INFINI_C __export infiniStatus_t infinicclAllToAll(const void* sendbuf, void* recvbuf, size_t count,
                                                     infiniDtype_t datatype, infinicclComm_t comm,
                                                     infinirtStream_t stream);

/* recvbuf (nranks x count) on root, and only there: the sendbufs in order of ranks. In place on root: sendbuf == recvbuf + root x count. */
__INFINI_C __export infiniStatus_t infinicclGather(const void* sendbuf, void* recvbuf, size_t count,
                                                   infiniDtype_t datatype, int root, infinicclComm_t comm,
                                                   infinirtStream_t stream);

/* recvbuf on rank i: part i of root's sendbuf (nranks x count), which only matters there. In place on root: recvbuf == sendbuf + root x
 * count. */
__INFINI_C __export infiniStatus_t infinicclScatter(const void* sendbuf, void* recvbuf, size_t count,
                                                    infiniDtype_t datatype, int root, infinicclComm_t comm,
                                                    infinirtStream_t stream);

/* Sent data is taken when the peer receives it, not before: ranks that send to each other and then receive do both in one group. */
__INFINI_C __export infiniStatus_t infinicclSend(const void* sendbuf, size_t count, infiniDtype_t datatype, int peer,
                                                 infinicclComm_t comm, infinirtStream_t stream);
__INFINI_C __export infiniStatus_t infinicclRecv(void* recvbuf, size_t count, infiniDtype_t datatype, int peer,
                                                 infinicclComm_t comm, infinirtStream_t stream);

/* The streams of all ranks have got here before any goes on. */
__INFINI_C __export infiniStatus_t infinicclBarrier(infinicclComm_t comm, infinirtStream_t stream);

#endif /* INFINICCL_H */
