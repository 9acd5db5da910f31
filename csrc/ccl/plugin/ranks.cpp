#include "ccl/plugin/ranks.h"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "ccl/runtime.h"

namespace infiniccl::plugin {

namespace {

constexpr size_t kScratch = 64;
constexpr int64_t kFirstNap_ns = 2'000, kLongestNap_ns = 1'000'000;

const char* at(const void* base, size_t bytes) { return static_cast<const char*>(base) + bytes; }
char* at(void* base, size_t bytes) { return static_cast<char*>(base) + bytes; }

// The entries take what they only read as writable, too.
void* writable(const void* memory) { return const_cast<void*>(memory); }

void nap(int64_t ns) {
  const timespec time{0, ns};
  nanosleep(&time, nullptr);
}

}  // namespace

std::string make_unique_id(const Library& library, int device, infinicclUniqueId_t* id) {
  const infinirtPluginInterface& table = library.table();
  size_t size = 0;
  std::string problem = library.call(device, "xccl_get_unique_id_size",
                                     [&](infinirtPluginDevice_t) { return table.xccl_get_unique_id_size(&size); });
  if (!problem.empty()) return problem;
  if (size > sizeof id->internal)
    return format_text("ids of device type '%s' have %zu bytes, of which an infinicclUniqueId_t has room for %zu",
                       library.type(), size, sizeof id->internal);
  *id = {};
  infinirtPluginUniqueId theirs{size, id->internal};
  return library.call(device, "xccl_get_unique_id",
                      [&](infinirtPluginDevice_t) { return table.xccl_get_unique_id(&theirs); });
}

Ranks::~Ranks() {
  const infinirtPluginInterface& table = library_->table();
  for (Rank& rank : ranks_) {
    if (broken_) break;
    library_->call(rank.device, "xccl_destroy_comm", [&](infinirtPluginDevice_t device) {
      if (rank.scratch) table.device_memory_deallocate(device, rank.scratch, kScratch);
      if (rank.stream) table.destroy_stream(device, rank.stream);
      return rank.comm ? table.xccl_destroy_comm(rank.comm) : infinirtPluginSuccess;
    });
  }
}

std::string Ranks::make_stream(Rank& rank) const {
  const infinirtPluginInterface& table = library_->table();
  if (!table.create_stream || !table.destroy_stream || !table.synchronize_stream) return "";  // null is a legal one
  return library_->call(rank.device, "create_stream",
                        [&](infinirtPluginDevice_t device) { return table.create_stream(device, &rank.stream); });
}

std::string Ranks::join(const std::vector<int>& devices) {
  const infinirtPluginInterface& table = library_->table();
  const size_t count = devices.size();
  if (count > 1 && !library_->has_groups())
    return format_text(
        "the plugin of device type '%s' has no xccl_group_start and xccl_group_end, so each of its ranks needs "
        "a process of its own (infinicclCommInitRank)",
        library_->type());
  infinicclUniqueId_t id;
  std::string problem = make_unique_id(*library_, devices[0], &id);
  if (!problem.empty()) return problem;
  ranks_.resize(count);
  const auto group = [&](const char* name, enum infinirtPluginStatus (*entry)()) {
    return count > 1 ? library_->call(devices[0], name, [&](infinirtPluginDevice_t) { return entry(); }) : "";
  };
  problem = group("xccl_group_start", table.xccl_group_start);
  if (!problem.empty()) return problem;
  for (size_t i = 0; i < count && problem.empty(); ++i) {
    Rank& rank = ranks_[i];
    rank.number = static_cast<int>(i);
    rank.device = devices[i];
    infinirtPluginUniqueId theirs{sizeof id.internal, id.internal};
    problem = library_->call(rank.device, "xccl_comm_init_rank", [&](infinirtPluginDevice_t) {
      return table.xccl_comm_init_rank(count, &theirs, i, &rank.comm);
    });
  }
  const std::string ended = group("xccl_group_end", table.xccl_group_end);
  if (problem.empty()) problem = ended;
  for (Rank& rank : ranks_) {
    if (problem.empty()) problem = make_stream(rank);
  }
  return problem;
}

std::string Ranks::join_one(const infinicclUniqueId_t& id, int size, int number, int device) {
  const infinirtPluginInterface& table = library_->table();
  infinicclUniqueId_t copy = id;
  infinirtPluginUniqueId theirs{sizeof copy.internal, copy.internal};
  ranks_.resize(1);
  Rank& rank = ranks_[0];
  rank.number = number;
  rank.device = device;
  // Waits for the other ranks, who may be threads of this process: not alone.
  std::string problem = library_->call(
      device, "xccl_comm_init_rank",
      [&](infinirtPluginDevice_t) {
        return table.xccl_comm_init_rank(static_cast<size_t>(size), &theirs, static_cast<size_t>(number), &rank.comm);
      },
      false);
  if (problem.empty()) problem = make_stream(rank);
  if (problem.empty()) {
    problem = library_->call(device, "device_memory_allocate", [&](infinirtPluginDevice_t handle) {
      return table.device_memory_allocate(handle, &rank.scratch, kScratch);
    });
  }
  return problem;
}

const Rank& Ranks::rank_of(const Part& part) const {
  return *std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& rank) { return rank.number == part.rank; });
}

std::string Ranks::copy(const Rank& rank, void* to, const void* from, size_t bytes) const {
  if (bytes == 0 || to == from) return "";
  const infinirtPluginInterface& table = library_->table();
  return library_->call(rank.device, "a copy within the device", [&](infinirtPluginDevice_t device) {
    if (table.async_memory_copy_d2d && rank.stream)
      return table.async_memory_copy_d2d(device, rank.stream, to, from, bytes);
    if (table.memory_copy_d2d) {
      const enum infinirtPluginStatus status = table.memory_copy_d2d(device, to, from, bytes);
      const bool good = status == infinirtPluginSuccess || status == infinirtPluginWarning;
      return good && table.synchronize_device ? table.synchronize_device(device) : status;
    }
    std::vector<char> through(bytes);
    const enum infinirtPluginStatus status = table.memory_copy_d2h(device, through.data(), from, bytes);
    const bool good = status == infinirtPluginSuccess || status == infinirtPluginWarning;
    return good ? table.memory_copy_h2d(device, to, through.data(), bytes) : status;
  });
}

// What stays on its rank: broadcasts are in place there, and no rank sends to itself.
std::string Ranks::copy_own_parts(const Part& part, const Rank& rank) const {
  const size_t bytes = part.count * part.element();
  const size_t own = static_cast<size_t>(part.rank) * bytes;
  const bool is_root = part.rank == part.root;
  switch (part.operation) {
    case Operation::Broadcast:
      return is_root ? copy(rank, part.recv, part.send, bytes) : "";
    case Operation::AllGatherV:
      return copy(rank, at(part.recv, part.counts_before(part.rank) * part.element()), part.send,
                  part.counts[static_cast<size_t>(part.rank)] * part.element());
    case Operation::AllToAll:
      return library_->table().xccl_all_to_all ? "" : copy(rank, at(part.recv, own), at(part.send, own), bytes);
    case Operation::Gather:
      return is_root ? copy(rank, at(part.recv, own), part.send, bytes) : "";
    case Operation::Scatter:
      return is_root ? copy(rank, part.recv, at(part.send, own), bytes) : "";
    default:
      return "";
  }
}

std::string Ranks::enqueue(const Part& part, const Rank& rank, int size) const {
  const infinirtPluginInterface& table = library_->table();
  enum infinirtPluginDataType type = infinirtPluginUint8;
  size_t each = 1;
  datatype(part.dtype, reduces(part.operation), &type, &each);
  const enum infinirtPluginReduction op = reduction(part.reduction);
  const size_t count = part.count * each, bytes = part.count * part.element();
  const auto root = static_cast<size_t>(std::max(part.root, 0));
  const auto ranks = static_cast<size_t>(size), own = static_cast<size_t>(part.rank);
  const auto call = [&](const char* name, auto&& body) {
    return library_->call(rank.device, name, [&](infinirtPluginDevice_t) { return body(); });
  };
  const auto send = [&](const void* from, size_t to) {
    return call("xccl_send", [&] { return table.xccl_send(writable(from), count, type, to, rank.comm, rank.stream); });
  };
  const auto receive = [&](void* into, size_t from) {
    return call("xccl_recv", [&] { return table.xccl_recv(into, count, type, from, rank.comm, rank.stream); });
  };
  std::string problem;
  switch (part.operation) {
    case Operation::Barrier:
      return call("xccl_all_reduce", [&] {
        return table.xccl_all_reduce(rank.scratch, rank.scratch, 1, infinirtPluginInt32, infinirtPluginMaximum,
                                     rank.comm, rank.stream);
      });
    case Operation::AllReduce:
      return call("xccl_all_reduce", [&] {
        return table.xccl_all_reduce(writable(part.send), part.recv, count, type, op, rank.comm, rank.stream);
      });
    case Operation::Broadcast:
      return call("xccl_broadcast",
                  [&] { return table.xccl_broadcast(part.recv, count, type, root, rank.comm, rank.stream); });
    case Operation::Reduce:
      return call("xccl_reduce", [&] {
        return table.xccl_reduce(writable(part.send), part.recv, count, type, op, root, rank.comm, rank.stream);
      });
    case Operation::AllGather:
      return call("xccl_all_gather", [&] {
        return table.xccl_all_gather(writable(part.send), part.recv, count, type, rank.comm, rank.stream);
      });
    case Operation::ReduceScatter:
      return call("xccl_reduce_scatter", [&] {
        return table.xccl_reduce_scatter(writable(part.send), part.recv, count, type, op, rank.comm, rank.stream);
      });
    case Operation::Send:
      return send(part.send, root);
    case Operation::Recv:
      return receive(part.recv, root);
    case Operation::AllGatherV:
    case Operation::ReduceScatterV:
      for (size_t r = 0, before = 0; r < ranks && problem.empty(); before += part.counts[r++]) {
        if (part.counts[r] == 0) continue;
        const size_t offset = before * part.element(), elements = part.counts[r] * each;
        if (part.operation == Operation::AllGatherV) {
          problem = call("xccl_broadcast", [&] {
            return table.xccl_broadcast(at(part.recv, offset), elements, type, r, rank.comm, rank.stream);
          });
        } else {
          problem = call("xccl_reduce", [&] {
            return table.xccl_reduce(writable(at(part.send, offset)), part.recv, elements, type, op, r, rank.comm,
                                     rank.stream);
          });
        }
      }
      return problem;
    case Operation::AllToAll: {
      if (table.xccl_all_to_all) {
        std::vector<const void*> from(ranks);
        std::vector<void*> into(ranks);
        const std::vector<size_t> counts(ranks, count);
        const std::vector<enum infinirtPluginDataType> types(ranks, type);
        for (size_t r = 0; r < ranks; ++r) {
          from[r] = at(part.send, r * bytes);
          into[r] = at(part.recv, r * bytes);
        }
        return call("xccl_all_to_all", [&] {
          return table.xccl_all_to_all(from.data(), counts.data(), types.data(), into.data(), counts.data(),
                                       types.data(), own, ranks, rank.comm, rank.stream);
        });
      }
      for (size_t r = 0; r < ranks && problem.empty(); ++r) {
        if (r == own) continue;
        problem = send(at(part.send, r * bytes), r);
        if (problem.empty()) problem = receive(at(part.recv, r * bytes), r);
      }
      return problem;
    }
    case Operation::Gather:
      if (own != root) return send(part.send, root);
      for (size_t r = 0; r < ranks && problem.empty(); ++r) {
        if (r != own) problem = receive(at(part.recv, r * bytes), r);
      }
      return problem;
    case Operation::Scatter:
      if (own != root) return receive(part.recv, root);
      for (size_t r = 0; r < ranks && problem.empty(); ++r) {
        if (r != own) problem = send(at(part.send, r * bytes), r);
      }
      return problem;
  }
  return "";
}

std::string Ranks::wait_for(const Rank& rank, bool (*given_up)(const World&), const World& world) const {
  const infinirtPluginInterface& table = library_->table();
  // Where it can be asked, others get their turn in between; the wait itself tells of failures.
  bool over = !table.query_stream || !rank.stream;
  for (int64_t time = kFirstNap_ns; !over; time = std::min(2 * time, kLongestNap_ns)) {
    const std::string problem = library_->call(rank.device, "query_stream", [&](infinirtPluginDevice_t device) {
      over = table.query_stream(device, rank.stream) == infinirtPluginSuccess;
      return infinirtPluginSuccess;
    });
    if (!problem.empty()) return problem;
    if (over) break;
    if (given_up(world)) return "it was given up";
    nap(time);
  }
  const bool may_wait = !table.query_stream;
  return library_->call(
      rank.device, rank.stream ? "synchronize_stream" : "synchronize_device",
      [&](infinirtPluginDevice_t device) {
        if (rank.stream) return table.synchronize_stream(device, rank.stream);
        return table.synchronize_device ? table.synchronize_device(device) : infinirtPluginSuccess;
      },
      !may_wait);
}

std::string Ranks::carry_out(const Job& job, int size, bool (*given_up)(const World&), const World& world) {
  const infinirtPluginInterface& table = library_->table();
  std::vector<const Part*> parts;
  for (const Part* part : job.parts) {
    const bool nothing = part->operation == Operation::Barrier ? ranks_.size() == static_cast<size_t>(size)
                         : part->counts.empty()                ? part->count == 0
                                                               : part->counts_before(size) == 0;
    if (!nothing) parts.push_back(part);  // of a barrier whose ranks are all here nothing is left to do
  }
  std::string problem;
  for (const Part* part : parts) {
    if (problem.empty()) problem = copy_own_parts(*part, rank_of(*part));
  }
  const auto group = [&](const char* name, enum infinirtPluginStatus (*entry)()) {
    if (!library_->has_groups() || parts.empty()) return std::string();
    return library_->call(ranks_[0].device, name, [&](infinirtPluginDevice_t) { return entry(); });
  };
  if (problem.empty()) problem = group("xccl_group_start", table.xccl_group_start);
  if (problem.empty()) {
    for (const Part* part : parts) {
      if (problem.empty()) problem = enqueue(*part, rank_of(*part), size);
    }
    const std::string ended = group("xccl_group_end", table.xccl_group_end);
    if (problem.empty()) problem = ended;
  }
  for (const Rank& rank : ranks_) {
    const bool used = std::any_of(parts.begin(), parts.end(), [&](const Part* p) { return p->rank == rank.number; });
    if (used && problem.empty()) problem = wait_for(rank, given_up, world);
  }
  broken_ |= !problem.empty();
  return problem;
}

}  // namespace infiniccl::plugin
