#include "ccl/communicator.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "ccl/generation.h"
#include "ccl/local/world.h"
#include "ccl/monitor.h"
#include "ccl/mpi/world.h"
#include "ccl/nccl/world.h"
#include "ccl/plugin/world.h"
#include "ccl/runtime.h"
#include "ccl/shared/world.h"
#include "infinirt_plugin_host.h"

namespace infiniccl {

namespace {

// A handle is an address in a range that nobody can touch: its slot, and how often the slot was used before. So one that was
// destroyed or made up is told from a live one, and never followed.
constexpr size_t kSlots = size_t{1} << 16;
constexpr size_t kGenerations = size_t{1} << 12;

struct Slot {
  std::shared_ptr<const Communicator> communicator;
  size_t generation = 0;
};

struct Handles {
  std::mutex mutex;
  uintptr_t base = 0;
  std::vector<Slot> slots;
  std::vector<size_t> free;
};

// How often this process came into being by fork(): asking the system who one is takes as long as a small operation.
std::atomic<int> forks{0};

Handles& handles();

Handles& handles() {
  static Handles* instance = [] {
    auto* made = new Handles;
    void* range = mmap(nullptr, kSlots * kGenerations, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range != MAP_FAILED) made->base = reinterpret_cast<uintptr_t>(range);
    // A child that forks while another thread looks a handle up must still be able to.
    pthread_atfork([] { handles().mutex.lock(); }, [] { handles().mutex.unlock(); },
                   [] {
                     forks.fetch_add(1, std::memory_order_relaxed);
                     handles().mutex.unlock();
                   });
    return made;
  }();
  return *instance;
}

int this_process() { return forks.load(std::memory_order_relaxed); }

// With the mutex held; null when the handle is not a live one.
Slot* slot_of(Handles& h, infinicclComm_t handle) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - h.base;
  if (h.base == 0 || offset >= h.slots.size() * kGenerations) return nullptr;
  Slot& slot = h.slots[offset / kGenerations];
  return slot.communicator && slot.generation == offset % kGenerations ? &slot : nullptr;
}

constexpr char kOurIds[] = "infiniccl:";  // what ids of ours begin with
constexpr char kMpiId[] = "infiniccl:m:";

// What connects the ranks of a device type by itself: memory of the host, a library of the vendor's, or, where there is neither, memory
// of the host by copies.
enum class Transport { HostMemory, Nccl, Plugin, Staged };

const infinirtPluginInterface* plugin_table(const char* type) {
  const bool clean = api().PeekAtLastError() == infinirtSuccess;
  const infinirtPluginInterface* table = nullptr;
  if (infinirtXGetPluginTable(type, &table) == infinirtSuccess) return table;
  if (clean) api().GetLastError();  // asking was no mistake of the caller's
  return nullptr;
}

Transport transport_of(const char* type) {
  if (std::strcmp(type, "cpu") == 0) return Transport::HostMemory;
  if (std::strcmp(type, "nvidia") == 0) return Transport::Nccl;
  std::string unused;
  return plugin_table(type) && plugin::Library::find(type, &unused) ? Transport::Plugin : Transport::Staged;
}

std::shared_ptr<World> make_world(const char* type, const std::vector<int>& devices, std::string* problem) {
  switch (transport_of(type)) {
    case Transport::Nccl:
      return nccl::NcclWorld::make_all(devices, problem);
    case Transport::Plugin:
      return plugin::PluginWorld::make_all(type, devices, problem);
    default:
      return std::make_shared<LocalWorld>(static_cast<int>(devices.size()));
  }
}

bool is_reached(const char* type) { return std::strcmp(type, "cpu") == 0; }

std::shared_ptr<staged::Stage> make_stage(const char* type, int device, const std::shared_ptr<World>& world) {
  staged::Place place{type, device, true};
  if (is_reached(type)) return std::make_shared<staged::Stage>(place, staged::Memory::Reached, world);
  enum infinirtXSupport streams = infinirtXSupportEmulated;
  infinirtXGetSupport(&streams, type, "infinirtStreamCreateWithFlags");
  place.takes_steps = streams != infinirtXSupportNative;
  const auto memory = plugin_table(type) ? staged::Memory::OfPlugin : staged::Memory::OfVendor;
  return std::make_shared<staged::Stage>(place, memory, world);
}

// By the transport that the id is of, and by the device's type. *staged: some rank's memory cannot be reached.
std::shared_ptr<World> join_world(const char* type, int device, const infinicclUniqueId_t& id, int size, int rank,
                                  bool* staged, std::string* problem) {
  if (std::strncmp(id.internal, kOurIds, sizeof kOurIds - 1) != 0) {
    switch (transport_of(type)) {
      case Transport::Nccl:
        return nccl::NcclWorld::join(id, size, rank, problem);
      case Transport::Plugin:
        return plugin::MemberWorld::join(type, device, id, size, rank, problem);
      default:
        *problem = format_text(
            "comm_id was not made by infinicclGetUniqueId, infinicclGetNamedId or infinicclGetMpiId, and device type "
            "'%s' has no collectives of its own whose id it could be",
            type);
        return nullptr;
    }
  }
  *staged = !is_reached(type);
  if (std::strncmp(id.internal, kMpiId, sizeof kMpiId) == 0) return mpi::MpiWorld::join(size, rank, staged, problem);
  shared::Joined joined;
  if (!shared::join(id, size, rank, *staged, int64_t{initial_timeout_ms()} * 1'000'000, &joined, problem))
    return nullptr;
  *staged = joined.staged;
  return std::make_shared<shared::SharedWorld>(joined, rank);
}

infiniStatus_t not_a_communicator(const char* function, infinicclComm_t handle) {
  return fail(function, handle ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
              handle ? "comm %p is not a communicator, or was destroyed" : "comm is null (%p)",
              static_cast<void*>(handle));
}

}  // namespace

infinicclComm_t publish(std::unique_ptr<Communicator> communicator) {
  Handles& h = handles();
  communicator->process = this_process();
  std::lock_guard guard(h.mutex);
  size_t number;
  if (h.slots.size() < kSlots / 2 || (h.free.empty() && h.slots.size() < kSlots)) {
    number = h.slots.size();  // old handles stay recognisable for as long as possible
    h.slots.emplace_back();
  } else if (!h.free.empty()) {
    number = h.free.front();
    h.free.erase(h.free.begin());
  } else {
    return nullptr;
  }
  if (h.base == 0) return nullptr;
  h.slots[number].communicator = std::move(communicator);
  return reinterpret_cast<infinicclComm_t>(h.base + number * kGenerations + h.slots[number].generation);
}

std::shared_ptr<const Communicator> find(infinicclComm_t handle) {
  Handles& h = handles();
  std::lock_guard guard(h.mutex);
  const Slot* slot = slot_of(h, handle);
  return slot ? slot->communicator : nullptr;
}

std::shared_ptr<const Communicator> withdraw(infinicclComm_t handle) {
  Handles& h = handles();
  std::lock_guard guard(h.mutex);
  Slot* slot = slot_of(h, handle);
  if (!slot) return nullptr;
  slot->generation = (slot->generation + 1) % kGenerations;
  h.free.push_back(static_cast<size_t>(slot - h.slots.data()));
  return std::move(slot->communicator);
}

std::shared_ptr<const Communicator> resolve(const char* function, infinicclComm_t handle, infiniStatus_t* status) {
  auto communicator = find(handle);
  if (!communicator) {
    *status = not_a_communicator(function, handle);
    return nullptr;
  }
  if (communicator->process != this_process()) {
    *status = fail(function, INFINI_STATUS_BAD_PARAM,
                   "comm %p was made before the process forked; a child makes communicators of its own",
                   static_cast<void*>(handle));
    return nullptr;
  }
  if (communicator->world->failed()) {
    const Failure& failure = communicator->world->failure();
    *status = fail(function, failure.status, "the communicator of rank %d failed: %s; destroy it and make a new one",
                   communicator->rank, failure.message.c_str());
    return nullptr;
  }
  return communicator;
}

}  // namespace infiniccl

using namespace infiniccl;

namespace {

infiniStatus_t init_all(const char* f, const char* type, infinicclComm_t* comms, int ndevice, const int* device_ids) {
  std::string problem;
  int count = 0;
  {
    const DeviceScope scope(type, 0);
    if (scope.error()) return fail_as_runtime(f, scope.error());
    if (auto error = api().GetDeviceCount(&count)) return fail_as_runtime(f, error);
  }
  std::vector<int> devices;
  for (int i = 0; i < ndevice; ++i) {
    const int device = device_ids ? device_ids[i] : i;
    devices.push_back(device);
    if (device >= 0 && device < count) continue;
    return fail(f, INFINI_STATUS_DEVICE_NOT_FOUND, "rank %d is to be on %s:%d, but there are %d such devices%s", i,
                type, device, count, is_reached(type) ? " (INFINIRT_CPU_DEVICES says how many)" : "");
  }
  if (transport_of(type) == Transport::Nccl) {
    for (int i = 0; i < ndevice; ++i) {
      const auto first = std::find(devices.begin(), devices.begin() + i, devices[static_cast<size_t>(i)]);
      if (first == devices.begin() + i) continue;
      return fail(
          f, INFINI_STATUS_BAD_PARAM,
          "ranks %d and %d are both to be on %s:%d, and NCCL takes one rank of each GPU; ranks that share a GPU "
          "join by infinicclCommInitRank with an id of infinicclGetNamedId or infinicclGetMpiId, or try the "
          "program on CPU devices",
          static_cast<int>(first - devices.begin()), i, type, *first);
    }
  }
  const std::shared_ptr<World> world = make_world(type, devices, &problem);
  if (!world) return fail(f, INFINI_STATUS_INTERNAL_ERROR, "%s", problem.c_str());
  monitor_add(world);
  const bool staged = transport_of(type) == Transport::Staged;
  for (int i = 0; i < ndevice; ++i) {
    auto communicator = std::make_unique<Communicator>();
    communicator->world = world;
    if (staged) communicator->stage = make_stage(type, devices[static_cast<size_t>(i)], world);
    communicator->rank = i;
    communicator->device_type = type;
    communicator->device = devices[static_cast<size_t>(i)];
    comms[i] = publish(std::move(communicator));
    if (comms[i]) continue;
    while (i-- > 0) withdraw(comms[i]);
    return fail(f, INFINI_STATUS_INTERNAL_ERROR, "no room for another communicator");
  }
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t check_init_all(const char* f, const infinicclComm_t* comms, int ndevice) {
  if (!comms) return fail(f, INFINI_STATUS_NULL_POINTER, "comms is null; %d communicators go there", ndevice);
  if (ndevice < 1 || ndevice > kMaxRanks)
    return fail(f, INFINI_STATUS_BAD_PARAM, "ndevice is %d; it must be 1 to %d", ndevice, kMaxRanks);
  return INFINI_STATUS_SUCCESS;
}

// The runtime's own text of a device type's name, which lives as long as the process; null: there is no such type.
const char* lasting_name(const char* type) {
  int count = 0;
  if (infinirtXGetDeviceTypeCount(&count) != infinirtSuccess) return nullptr;
  for (int i = 0; i < count; ++i) {
    const char* name = nullptr;
    int accelerator = 0;
    if (infinirtXGetDeviceTypeName(&name, &accelerator, i) == infinirtSuccess && std::strcmp(name, type) == 0)
      return name;
  }
  return nullptr;
}

}  // namespace

infiniStatus_t infinicclCommInitAll(infiniDevice_t device_type, infinicclComm_t* comms, int ndevice,
                                    const int* device_ids) try {
  if (auto status = check_init_all(__func__, comms, ndevice)) return status;
  const char* type = device_type_name(static_cast<int>(device_type));
  if (!type) {
    return fail(
        __func__, INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
        "device_type is %d; there are collectives for INFINI_DEVICE_CPU (0) and INFINI_DEVICE_NVIDIA (1), and by "
        "infinicclCommInitAllOfType for plugins",
        static_cast<int>(device_type));
  }
  return init_all(__func__, type, comms, ndevice, device_ids);
} catch (const std::bad_alloc&) {
  return fail("infinicclCommInitAll", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

infiniStatus_t infinicclCommInitAllOfType(const char* device_type, infinicclComm_t* comms, int ndevice,
                                          const int* device_ids) try {
  if (auto status = check_init_all(__func__, comms, ndevice)) return status;
  if (!device_type) return fail(__func__, INFINI_STATUS_NULL_POINTER, "device_type is null");
  const char* type = lasting_name(device_type);
  if (!type) return fail(__func__, INFINI_STATUS_DEVICE_NOT_FOUND, "there is no device type '%s'", device_type);
  return init_all(__func__, type, comms, ndevice, device_ids);
} catch (const std::bad_alloc&) {
  return fail("infinicclCommInitAllOfType", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

infiniStatus_t infinicclGetUniqueId(infinicclUniqueId_t* unique_id) try {
  if (!unique_id) return fail(__func__, INFINI_STATUS_NULL_POINTER, "unique_id is null");
  std::string problem;
  const char* type = nullptr;
  int device = 0;
  if (auto error = current_device(&type, &device)) return fail_as_runtime(__func__, error);
  switch (transport_of(type)) {
    case Transport::Nccl:
      problem = nccl::make_unique_id(unique_id);
      break;
    case Transport::Plugin:
      if (const auto library = plugin::Library::find(type, &problem))
        problem = plugin::make_unique_id(*library, device, unique_id);
      break;
    default:
      shared::make_unique_id(unique_id, &problem);
  }
  if (problem.empty()) return INFINI_STATUS_SUCCESS;
  return fail(__func__, INFINI_STATUS_INTERNAL_ERROR, "%s", problem.c_str());
} catch (const std::bad_alloc&) {
  return fail("infinicclGetUniqueId", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

infiniStatus_t infinicclHasOwnCollectives(const char* device_type, int* has) try {
  if (!device_type || !has)
    return fail(__func__, INFINI_STATUS_NULL_POINTER, "%s is null", device_type ? "has" : "device_type");
  const char* type = lasting_name(device_type);
  if (!type) return fail(__func__, INFINI_STATUS_DEVICE_NOT_FOUND, "there is no device type '%s'", device_type);
  const Transport transport = transport_of(type);
  *has = transport == Transport::Nccl || transport == Transport::Plugin;
  return INFINI_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return fail("infinicclHasOwnCollectives", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

infiniStatus_t infinicclGetNamedId(infinicclUniqueId_t* unique_id, const char* name) {
  if (!unique_id || !name)
    return fail(__func__, INFINI_STATUS_NULL_POINTER, "%s is null", unique_id ? "name" : "unique_id");
  std::string problem;
  if (shared::make_named_id(unique_id, name, &problem)) return INFINI_STATUS_SUCCESS;
  return fail(__func__, INFINI_STATUS_BAD_PARAM, "%s", problem.c_str());
}

infiniStatus_t infinicclGetMpiId(infinicclUniqueId_t* unique_id) {
  if (!unique_id) return fail(__func__, INFINI_STATUS_NULL_POINTER, "unique_id is null");
  *unique_id = {};
  std::memcpy(unique_id->internal, kMpiId, sizeof kMpiId);
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommInitRank(infinicclComm_t* comm, int nranks, infinicclUniqueId_t comm_id, int rank) try {
  if (!comm) return fail(__func__, INFINI_STATUS_NULL_POINTER, "comm is null; the communicator goes there");
  if (nranks < 1 || nranks > kMaxRanks)
    return fail(__func__, INFINI_STATUS_BAD_PARAM, "nranks is %d; it must be 1 to %d", nranks, kMaxRanks);
  if (rank < 0 || rank >= nranks)
    return fail(__func__, INFINI_STATUS_BAD_PARAM, "rank is %d; of %d ranks it must be 0 to %d", rank, nranks,
                nranks - 1);
  const char* type = nullptr;
  int device = 0;
  if (auto error = current_device(&type, &device)) return fail_as_runtime(__func__, error);
  std::string problem;
  bool staged = false;
  const std::shared_ptr<World> world = join_world(type, device, comm_id, nranks, rank, &staged, &problem);
  if (!world) return fail(__func__, INFINI_STATUS_INTERNAL_ERROR, "rank %d could not join: %s", rank, problem.c_str());
  monitor_add(world);
  auto communicator = std::make_unique<Communicator>();
  communicator->world = world;
  if (staged) communicator->stage = make_stage(type, device, world);
  communicator->rank = rank;
  communicator->device_type = type;
  communicator->device = device;
  *comm = publish(std::move(communicator));
  return *comm ? INFINI_STATUS_SUCCESS
               : fail(__func__, INFINI_STATUS_INTERNAL_ERROR, "no room for another communicator");
} catch (const std::bad_alloc&) {
  return fail("infinicclCommInitRank", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

infiniStatus_t infinicclCommDestroy(infinicclComm_t comm) {
  const auto communicator = withdraw(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  if (communicator->process == this_process()) {
    communicator->world->leave(communicator->rank);
    if (communicator->stage) communicator->stage->close();
  }
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommAbort(infinicclComm_t comm) {
  const auto communicator = find(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  if (communicator->process == this_process()) {
    communicator->world->fail_with(
        {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown, format_text("rank %d aborted it", communicator->rank)});
  }
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommGetRank(infinicclComm_t comm, int* rank) {
  const auto communicator = find(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  if (!rank) return fail(__func__, INFINI_STATUS_NULL_POINTER, "rank is null");
  *rank = communicator->rank;
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommGetSize(infinicclComm_t comm, int* nranks) {
  const auto communicator = find(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  if (!nranks) return fail(__func__, INFINI_STATUS_NULL_POINTER, "nranks is null");
  *nranks = communicator->world->size;
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommGetDevice(infinicclComm_t comm, infiniDevice_t* device_type, int* device_id) {
  const auto communicator = find(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  const int number = device_type_number(communicator->device_type);
  if (device_type) *device_type = number < 0 ? INFINI_DEVICE_TYPE_COUNT : static_cast<infiniDevice_t>(number);
  if (device_id) *device_id = communicator->device;
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommGetDeviceType(infinicclComm_t comm, const char** device_type) {
  const auto communicator = find(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  if (!device_type) return fail(__func__, INFINI_STATUS_NULL_POINTER, "device_type is null");
  *device_type = communicator->device_type;
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommGetAsyncError(infinicclComm_t comm, infiniStatus_t* status, const char** message) {
  const auto communicator = find(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  if (!status) return fail(__func__, INFINI_STATUS_NULL_POINTER, "status is null");
  const bool failed = communicator->world->failed();
  *status = failed ? communicator->world->failure().status : INFINI_STATUS_SUCCESS;
  if (message) *message = failed ? communicator->world->failure().message.c_str() : "";
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommSetTimeout(infinicclComm_t comm, unsigned int milliseconds) {
  const auto communicator = find(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  communicator->world->set_timeout(milliseconds);
  return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinicclCommGetTimeout(infinicclComm_t comm, unsigned int* milliseconds) {
  const auto communicator = find(comm);
  if (!communicator) return not_a_communicator(__func__, comm);
  if (!milliseconds) return fail(__func__, INFINI_STATUS_NULL_POINTER, "milliseconds is null");
  *milliseconds = communicator->world->timeout_ms();
  return INFINI_STATUS_SUCCESS;
}
