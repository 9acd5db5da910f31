#include "ccl/mpi/transfer.h"

#include <cstring>

#include "op/narrow.h"

namespace infiniccl::mpi {

namespace {

Handle datatype(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_I8:
      return constant(0x240);
    case INFINI_DTYPE_I16:
      return constant(0x248);
    case INFINI_DTYPE_U16:
      return constant(0x249);
    case INFINI_DTYPE_I32:
      return constant(0x250);
    case INFINI_DTYPE_U32:
      return constant(0x251);
    case INFINI_DTYPE_I64:
      return constant(0x258);
    case INFINI_DTYPE_U64:
      return constant(0x259);
    case INFINI_DTYPE_F32:
      return constant(0x210);
    case INFINI_DTYPE_F64:
      return constant(0x214);
    case INFINI_DTYPE_C64:
      return constant(0x212);
    case INFINI_DTYPE_C128:
      return constant(0x216);
    default:
      return constant(0x241);  // MPI_UINT8_T: bytes and truth
  }
}

bool is_narrow(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F8 || dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 ||
         dtype == INFINI_DTYPE_C16 || dtype == INFINI_DTYPE_C32;
}

// Narrow complex numbers are pairs of narrow floats.
bool is_pair(infiniDtype_t dtype) { return dtype == INFINI_DTYPE_C16 || dtype == INFINI_DTYPE_C32; }

Handle reduction(const Part& part) {
  if (part.dtype == INFINI_DTYPE_BOOL)
    return constant(part.reduction == INFINICCL_PROD || part.reduction == INFINICCL_MIN ? kAnd : kOr);
  constexpr uintptr_t operations[] = {kSum, kProd, kMax, kMin, kSum};
  return constant(operations[part.reduction]);
}

float read_narrow(infiniDtype_t dtype, const void* memory, size_t index) {
  switch (dtype) {
    case INFINI_DTYPE_F8:
    case INFINI_DTYPE_C16:
      return infiniop::from_float8(static_cast<const uint8_t*>(memory)[index]);
    case INFINI_DTYPE_BF16:
      return infiniop::from_bfloat16(static_cast<const uint16_t*>(memory)[index]);
    default:
      return infiniop::from_float16(static_cast<const uint16_t*>(memory)[index]);
  }
}

void write_narrow(infiniDtype_t dtype, void* memory, size_t index, float value) {
  switch (dtype) {
    case INFINI_DTYPE_F8:
    case INFINI_DTYPE_C16:
      static_cast<uint8_t*>(memory)[index] = infiniop::to_float8(value);
      break;
    case INFINI_DTYPE_BF16:
      static_cast<uint16_t*>(memory)[index] = infiniop::to_bfloat16(value);
      break;
    default:
      static_cast<uint16_t*>(memory)[index] = infiniop::to_float16(value);
  }
}

template <class T>
void divide(void* memory, size_t count, int by) {
  auto* values = static_cast<T*>(memory);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i] / static_cast<T>(by));
}

void divide_elements(infiniDtype_t dtype, void* memory, size_t count, int by) {
  switch (dtype) {
    case INFINI_DTYPE_F32:
      return divide<float>(memory, count, by);
    case INFINI_DTYPE_F64:
      return divide<double>(memory, count, by);
    case INFINI_DTYPE_C64:
      return divide<float>(memory, 2 * count, by);
    case INFINI_DTYPE_C128:
      return divide<double>(memory, 2 * count, by);
    case INFINI_DTYPE_I8: {
      auto* values = static_cast<int8_t*>(memory);
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<int8_t>(values[i] / by);
      return;
    }
    case INFINI_DTYPE_I16:
      return divide<int16_t>(memory, count, by);
    case INFINI_DTYPE_I32:
      return divide<int32_t>(memory, count, by);
    case INFINI_DTYPE_I64:
      return divide<int64_t>(memory, count, by);
    case INFINI_DTYPE_U16:
      return divide<uint16_t>(memory, count, by);
    case INFINI_DTYPE_U32:
      return divide<uint32_t>(memory, count, by);
    case INFINI_DTYPE_U64:
      return divide<uint64_t>(memory, count, by);
    default: {
      auto* values = static_cast<uint8_t*>(memory);
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint8_t>(values[i] / by);
    }
  }
}

}  // namespace

size_t Transfer::inputs() const {
  switch (part_.operation) {
    case Operation::ReduceScatter:
      return part_.count * static_cast<size_t>(part_.world->size);
    case Operation::ReduceScatterV:
      return part_.counts_before(part_.world->size);
    default:
      return part_.count;
  }
}

size_t Transfer::outputs() const {
  if (part_.operation == Operation::ReduceScatterV) return part_.counts[static_cast<size_t>(part_.rank)];
  return part_.operation == Operation::Reduce && part_.rank != part_.root ? 0 : part_.count;
}

// Narrow floats become f32; a product of narrow complex numbers needs complex numbers there.
void Transfer::widen() {
  const size_t numbers = is_pair(part_.dtype) ? 2 : 1;
  send_copy_.resize(inputs() * numbers * sizeof(float));
  recv_copy_.resize(outputs() * numbers * sizeof(float));
  auto* wide = reinterpret_cast<float*>(send_copy_.data());
  for (size_t i = 0; i < inputs() * numbers; ++i) wide[i] = read_narrow(part_.dtype, part_.send, i);
}

int Transfer::begin_reduction(Handle comm) {
  const void* send = part_.send;
  void* recv = part_.recv;
  Handle type = datatype(part_.dtype);
  if (is_narrow(part_.dtype)) {
    widen();
    send = send_copy_.data();
    recv = recv_copy_.data();
    type = datatype(is_pair(part_.dtype) ? INFINI_DTYPE_C64 : INFINI_DTYPE_F32);
  } else if (part_.dtype == INFINI_DTYPE_BOOL ||
             (send == recv && part_.operation != Operation::AllReduce && outputs() > 0) ||
             (recv > send && recv < static_cast<const std::byte*>(send) + inputs() * part_.element())) {
    const auto* bytes = static_cast<const std::byte*>(send);
    send_copy_.assign(bytes, bytes + inputs() * part_.element());
    send = send_copy_.data();
  } else if (send == recv) {
    send = reinterpret_cast<const void*>(kInPlace);
  }
  const Handle op = reduction(part_);
  const auto count = static_cast<Count>(part_.count);
  switch (part_.operation) {
    case Operation::AllReduce:
      return mpi_.Iallreduce_c(send, recv, count, type, op, comm, &request_);
    case Operation::Reduce:
      return mpi_.Ireduce_c(send, recv, count, type, op, part_.root, comm, &request_);
    case Operation::ReduceScatter:
      return mpi_.Ireduce_scatter_block_c(send, recv, count, type, op, comm, &request_);
    default:
      counts_.assign(part_.counts.begin(), part_.counts.end());
      return mpi_.Ireduce_scatter_c(send, recv, counts_.data(), type, op, comm, &request_);
  }
}

int Transfer::begin(Handle comm, int tag, bool check) {
  comm_ = comm;
  tag_ = tag;
  if (!check || between_two(part_.operation)) return begin_work();
  called_.resize(static_cast<size_t>(part_.world->size));
  called_[static_cast<size_t>(part_.rank)] = facts_of(part_);
  return mpi_.Iallgather_c(reinterpret_cast<const void*>(kInPlace), 0, constant(kByte), called_.data(),
                           sizeof(PartFacts), constant(kByte), comm_, &request_);
}

void Transfer::compare() {
  for (const PartFacts& other : called_) {
    if (problem_.empty()) problem_ = difference(called_[0], other, part_.number);
  }
  called_.clear();
}

int Transfer::begin_work() {
  if (Ring::suits(part_)) {
    ring_ = std::make_unique<Ring>(mpi_, part_, comm_);
    return ring_->begin();
  }
  if (reduces(part_.operation)) return begin_reduction(comm_);
  const size_t element = part_.element();
  const auto bytes = static_cast<Count>(part_.count * element);
  const Handle type = constant(kByte);
  const auto* in_place = reinterpret_cast<const void*>(kInPlace);
  const bool is_root = part_.rank == part_.root;
  const size_t own = static_cast<size_t>(part_.rank) * part_.count * element;
  switch (part_.operation) {
    case Operation::Barrier:
      return mpi_.Ibarrier(comm_, &request_);
    case Operation::Send:
      return mpi_.Isend_c(part_.send, bytes, type, part_.root, tag_, comm_, &request_);
    case Operation::Recv:
      return mpi_.Irecv_c(part_.recv, bytes, type, part_.root, tag_, comm_, &request_);
    case Operation::Broadcast:
      if (is_root && part_.send != part_.recv && bytes) std::memcpy(part_.recv, part_.send, static_cast<size_t>(bytes));
      return mpi_.Ibcast_c(part_.recv, bytes, type, part_.root, comm_, &request_);
    case Operation::AllGather:
      return mpi_.Iallgather_c(part_.send == static_cast<std::byte*>(part_.recv) + own ? in_place : part_.send, bytes,
                               type, part_.recv, bytes, type, comm_, &request_);
    case Operation::AllGatherV: {
      size_t before = 0;
      for (size_t count : part_.counts) {
        counts_.push_back(static_cast<Count>(count * element));
        offsets_.push_back(static_cast<intptr_t>(before * element));
        before += count;
      }
      const auto rank = static_cast<size_t>(part_.rank);
      const bool same = part_.send == static_cast<std::byte*>(part_.recv) + offsets_[rank];
      return mpi_.Iallgatherv_c(same ? in_place : part_.send, counts_[rank], type, part_.recv, counts_.data(),
                                offsets_.data(), type, comm_, &request_);
    }
    case Operation::AllToAll:
      return mpi_.Ialltoall_c(part_.send, bytes, type, part_.recv, bytes, type, comm_, &request_);
    case Operation::Gather:
      return mpi_.Igather_c(is_root && part_.send == static_cast<std::byte*>(part_.recv) + own ? in_place : part_.send,
                            bytes, type, part_.recv, bytes, type, part_.root, comm_, &request_);
    default: {
      void* recv = part_.recv;
      if (is_root && recv == static_cast<const std::byte*>(part_.send) + own) recv = reinterpret_cast<void*>(kInPlace);
      return mpi_.Iscatter_c(part_.send, bytes, type, recv, bytes, type, part_.root, comm_, &request_);
    }
  }
}

int Transfer::test(bool* over) {
  int flag = 0;
  const int error = ring_ ? ring_->advance(over) : mpi_.Test(&request_, &flag, nullptr);
  if (!ring_) *over = flag != 0;
  if (error != kSuccess || !*over) return error;
  if (!called_.empty()) {
    compare();
    if (!problem_.empty()) return error;
    *over = false;
    return begin_work();
  }
  finish();
  return error;
}

void Transfer::finish() {
  if (!reduces(part_.operation) || outputs() == 0) return;
  const int ranks = part_.world->size;
  const bool average = part_.reduction == INFINICCL_AVG;
  if (!is_narrow(part_.dtype)) {
    if (average) divide_elements(part_.dtype, part_.recv, outputs(), ranks);
    return;
  }
  const auto* wide = reinterpret_cast<const float*>(recv_copy_.data());
  const size_t numbers = outputs() * (is_pair(part_.dtype) ? 2 : 1);
  for (size_t i = 0; i < numbers; ++i)
    write_narrow(part_.dtype, part_.recv, i, average ? wide[i] / static_cast<float>(ranks) : wide[i]);
}

}  // namespace infiniccl::mpi
