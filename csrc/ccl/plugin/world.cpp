#include "ccl/plugin/world.h"

#include <cstring>

#include "ccl/runtime.h"

namespace infiniccl::plugin {

namespace {

std::string refusal(const Library& library, const Part& part) {
  const char* missing = library.missing_entry(part.operation);
  if (!missing) return "";
  return format_text("device type '%s' has no %s: its plugin has no %s", library.type(), operation_name(part.operation),
                     missing);
}

bool has_type(infiniDtype_t dtype) {
  enum infinirtPluginDataType type;
  size_t each;
  return datatype(dtype, true, &type, &each);
}

}  // namespace

std::shared_ptr<PluginWorld> PluginWorld::make_all(const char* type, const std::vector<int>& devices,
                                                   std::string* problem) {
  auto library = Library::find(type, problem);
  if (!library) return nullptr;
  auto ranks = std::make_unique<Ranks>(std::move(library));
  *problem = ranks->join(devices);
  if (!problem->empty()) return nullptr;
  return std::make_shared<PluginWorld>(static_cast<int>(devices.size()), std::move(ranks));
}

bool PluginWorld::can_reduce(infiniDtype_t dtype, infinicclReduceOp_t op) const {
  return has_type(dtype) && LocalWorld::can_reduce(dtype, op);
}

std::string PluginWorld::conflict(const Part& part, infinirtStream_t stream) {
  std::string refused = refusal(carrier_.library(), part);
  return refused.empty() ? LocalWorld::conflict(part, stream) : refused;
}

void PluginWorld::work(std::span<const Part* const> parts, std::span<Execution* const> executions, infinirtXStep_t) {
  Job job;
  job.parts.assign(parts.begin(), parts.end());
  job.executions.assign(executions.begin(), executions.end());
  carrier_.take(shared_from_this(), std::move(job));
}

void PluginWorld::leave(int rank) {
  LocalWorld::leave(rank);
  if (left_.fetch_add(1) + 1 == size) carrier_.close();
}

bool PluginWorld::look(int64_t now) {
  const bool waiting = LocalWorld::look(now);
  return carrier_.look(*this, now) || waiting;
}

std::shared_ptr<MemberWorld> MemberWorld::join(const char* type, int device, const infinicclUniqueId_t& id, int size,
                                               int rank, std::string* problem) {
  auto library = Library::find(type, problem);
  if (!library) return nullptr;
  auto ranks = std::make_unique<Ranks>(std::move(library));
  *problem = ranks->join_one(id, size, rank, device);
  if (!problem->empty()) return nullptr;
  return std::make_shared<MemberWorld>(size, std::move(ranks));
}

bool MemberWorld::can_reduce(infiniDtype_t dtype, infinicclReduceOp_t op) const {
  return has_type(dtype) && World::can_reduce(dtype, op);
}

std::string MemberWorld::conflict(const Part& part, infinirtStream_t) {
  if (part.captured)
    return format_text(
        "collectives of device type '%s' between processes cannot be captured into graphs: their plugin needs "
        "one order of all operations, which graphs have not",
        carrier_.library().type());
  return refusal(carrier_.library(), part);
}

void MemberWorld::arrive(Part& part, Execution& execution, infinirtXStep_t) {
  {
    std::lock_guard guard(mutex_);
    if (!failed()) {
      early_[{lane_of(part), part.number}] = {&part, &execution};
      return;
    }
  }
  execution.part_failed(failure());
}

// Sends and receives of one group go to the plugin together, behind the group's collectives: two ranks whose groups name them in
// another order must not wait for each other.
void MemberWorld::batch_arrived() {
  std::vector<Job> collectives;
  Job pairs;
  std::lock_guard order(handing_on_);  // the order of jobs is the order of numbers
  std::unique_lock guard(mutex_);
  for (bool found = true; found;) {
    found = false;
    for (auto it = early_.begin(); it != early_.end();) {
      const auto [lane, number] = it->first;
      if (number != next_[lane]) {
        ++it;
        continue;
      }
      ++next_[lane];
      found = true;
      Job& job = lane == 0 ? collectives.emplace_back() : pairs;
      job.parts.push_back(it->second.part);
      job.executions.push_back(it->second.execution);
      it = early_.erase(it);
    }
  }
  guard.unlock();
  for (Job& job : collectives) carrier_.take(shared_from_this(), std::move(job));
  if (!pairs.parts.empty()) carrier_.take(shared_from_this(), std::move(pairs));
}

void MemberWorld::part_dropped(const Part& part) {
  fail_with({INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown,
             format_text("rank %d will never take part in %s (operation %llu): its device failed before it came to it",
                         part.rank, describe(part).c_str(), static_cast<unsigned long long>(part.number))});
}

void MemberWorld::end_all() {
  std::map<std::pair<int, uint64_t>, Arrived> ended;
  {
    std::lock_guard guard(mutex_);
    ended.swap(early_);
  }
  for (auto& [key, arrived] : ended) arrived.execution->part_failed(failure());
}

}  // namespace infiniccl::plugin
