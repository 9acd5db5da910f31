#include "backends/vendors/vendor_engine.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <utility>

#include "core/visible_devices.h"

namespace infinirt::vendors {

namespace {

constexpr int kMostDevices = 64;
constexpr size_t kHostAlignment = 4096;

VendorEngine& engine_of(const Backend& backend) {
  return *static_cast<VendorEngine*>(static_cast<Engine*>(backend.engine));
}

}  // namespace

VendorEngine::VendorEngine(Vendor vendor) : vendor_(std::move(vendor)) {
  backend.name = vendor_.type;
  backend.engine = static_cast<Engine*>(this);
  backend.is_accelerator = true;
  backend.table = unsupported_table();
  backend.device_count = [](const Backend& b) { return engine_of(b).count_devices(); };
}

int VendorEngine::count_devices() {
  std::call_once(loading_, [this] { load(); });
  return loaded_.load(std::memory_order_acquire) ? static_cast<int>(visible_.size()) : 0;
}

std::string VendorEngine::words(int status) {
  const std::string text = native_->text_of(status);
  return "error " + std::to_string(status) + (text.empty() ? "" : ": " + text);
}

void VendorEngine::load() {
  Opened opened = open_library(vendor_);
  native_ = std::move(opened.native);
  path_ = opened.path;
  backend.problem = opened.problem;
  if (!native_) {
    backend.origin = path_;
    return;
  }
  int devices = 0, status = native_->start();
  const char* first = status ? "it cannot be started" : "it finds no device";
  if (!status) status = native_->count_devices(&devices);
  backend.origin = path_;
  if (const std::string version = native_->version(); !version.empty()) backend.origin += " (version " + version + ")";
  for (const std::string& name : opened.absent)
    backend.origin += (&name == opened.absent.data() ? ", without " : ", ") + name;
  if (status || devices <= 0) {
    backend.problem = path_ + ": " + first + (status ? " (" + words(status) + ")" : "");
  } else if (devices > kMostDevices) {
    backend.problem = path_ + ": it counts " + std::to_string(devices) + " devices; " + std::to_string(kMostDevices) +
                      " are the most that a type can have";
  } else {
    visible_ = visible_devices(vendor_.type, devices, &backend.problem);
    if (!visible_.empty()) use(static_cast<int>(visible_.size()));
  }
}

void VendorEngine::use(int devices) {
  RequiredFunctions functions;
  functions.device_count = devices;
  functions.thread_safe = true;
  functions.shared_with_others = true;
  const std::string origin = backend.origin;
  initialise_emulated(vendor_.type, origin.c_str(), functions);
  mark_support();
  backend.extensions.CopyNow = copy_with_host;
  backend.extensions.NativeAddress = [](const Backend& b, const void* pointer) -> void* {
    return engine_of(b).shown_.native(pointer);
  };
  if (native_->has(Ability::Streams)) offer_native_streams();
  loaded_.store(true, std::memory_order_release);
}

void VendorEngine::mark_support() {
  const auto mark = [this](Ability ability, std::initializer_list<FunctionId> functions) {
    if (!native_->has(ability)) return;
    for (const FunctionId function : functions) backend.support[static_cast<size_t>(function)] = Support::Native;
  };
  mark(Ability::Fill, {FunctionId::Memset});
  mark(Ability::PeerCopy, {FunctionId::MemcpyPeer});
  mark(Ability::MemoryInfo, {FunctionId::MemGetInfo});
  mark(Ability::HostMemory, {FunctionId::MallocHost, FunctionId::HostAlloc, FunctionId::FreeHost});
}

infinirtError_t VendorEngine::checked(int status, const char* doing) {
  if (status == 0) [[likely]]
    return infinirtSuccess;
  return fail(native_->code_of(status), "%s failed on device type '%s' (%s)", doing, vendor_.type,
              words(status).c_str());
}

infinirtError_t VendorEngine::set_current(int device) {
  return checked(native_->set_device(physical(device)), "choosing the device");
}

infinirtError_t VendorEngine::wait_for_others(int device) {
  Entry entry(*this, device);
  return entry.error() ? entry.error() : checked(native_->wait_for_device(), "waiting for the device");
}

infinirtError_t VendorEngine::take_memory(int device, size_t size, void** out) {
  void* address = nullptr;
  if (const int status = native_->allocate(&address, size)) {
    const infinirtError_t code = native_->code_of(status);
    if (code != infinirtErrorMemoryAllocation) return checked(status, "allocating memory");
    return fail(code, "out of memory: %s:%d has no %zu bytes (%s); free or trim memory first", vendor_.type, device,
                size, words(status).c_str());
  }
  if (!address) return fail(infinirtErrorMemoryAllocation, "out of memory: %s:%d gave none", vendor_.type, device);
  if ((*out = shown_.show(address, size))) return infinirtSuccess;
  native_->release(address);
  return fail(infinirtErrorMemoryAllocation, "no address for %zu bytes of %s:%d", size, vendor_.type, device);
}

void VendorEngine::give_memory(int, void* pointer) {
  const ShownAddresses::Block block = shown_.hide(pointer);
  if (block.native) native_->release(block.native);
}

template <class Work>
infinirtError_t VendorEngine::with_stream(int device, const char* doing, Work&& work) {
  if (!native_->works_on_streams()) return checked(work(nullptr), doing);
  void* stream = nullptr;
  if (auto error = take_native_stream(device, &stream)) return error;
  const infinirtError_t error = checked(work(stream), doing);
  native_streams(device).give(stream);
  return error;
}

infinirtError_t VendorEngine::make_native_stream(int, void** stream) {
  return checked(native_->create_stream(stream), "creating a stream");
}

infinirtError_t VendorEngine::wait_for_native_stream(int device, void* stream) {
  Entry entry(*this, device);
  return entry.error() ? entry.error() : checked(native_->wait_for_stream(stream), "work on a native stream");
}

infinirtError_t VendorEngine::move(int device, void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind) {
  void* const to = kind == infinirtMemcpyDeviceToHost ? dst : shown_.native(dst);
  const void* const from = kind == infinirtMemcpyHostToDevice ? src : shown_.native(src);
  return with_stream(device, "a copy", [&](void* stream) { return native_->copy(to, from, bytes, kind, stream); });
}

infinirtError_t VendorEngine::move_between(int dst_device, int src_device, void* dst, const void* src, size_t bytes) {
  if (!native_->has(Ability::PeerCopy)) return infinirtErrorNotSupported;
  return with_stream(dst_device, "a copy between devices", [&](void* stream) {
    return native_->copy_between(shown_.native(dst), physical(dst_device), shown_.native(src), physical(src_device),
                                 bytes, stream);
  });
}

infinirtError_t VendorEngine::set_bytes(int device, void* dst, unsigned char value, size_t bytes) {
  if (!native_->has(Ability::Fill)) return infinirtErrorNotSupported;
  return with_stream(device, "a fill",
                     [&](void* stream) { return native_->fill(shown_.native(dst), value, bytes, stream); });
}

infinirtError_t VendorEngine::allocate(int device, size_t size, MemoryKind kind, unsigned flags, void** out) {
  if (kind != MemoryKind::Pinned || !native_->has(Ability::HostMemory))
    return EmulatedEngine::allocate(device, size, kind, flags, out);
  Entry entry(*this, device);
  if (entry.error()) return entry.error();
  void* memory = nullptr;
  // More than wanted, so that an aligned part lies inside wherever it begins.
  const size_t bytes = size + kHostAlignment - 1;
  if (auto error = checked(native_->host_allocate(&memory, bytes), "allocating host memory")) return error;
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(memory) + kHostAlignment - 1) & ~(kHostAlignment - 1);
  std::lock_guard guard(host_blocks_mutex_);
  host_blocks_[aligned] = memory;
  *out = reinterpret_cast<void*>(aligned);
  return infinirtSuccess;
}

void VendorEngine::release(int device, void* pointer, size_t size, MemoryKind kind) {
  if (kind != MemoryKind::Pinned || !native_->has(Ability::HostMemory))
    return EmulatedEngine::release(device, pointer, size, kind);
  void* memory = nullptr;
  {
    std::lock_guard guard(host_blocks_mutex_);
    const auto found = host_blocks_.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == host_blocks_.end()) return;
    memory = found->second;
    host_blocks_.erase(found);
  }
  Entry entry(*this, device);
  if (!entry.error()) native_->host_release(memory);
}

bool VendorEngine::memory_size_known(int device) const {
  return native_->has(Ability::MemoryInfo) || memory_limit(device);
}

void VendorEngine::memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  EmulatedEngine::memory_info(device, free_bytes, total_bytes);
  if (!native_->has(Ability::MemoryInfo) || memory_limit(device)) return;
  Entry entry(*this, device);
  size_t free = 0, total = 0;
  if (entry.error()) return;
  if (const int status = native_->memory_info(&free, &total)) {
    native_->text_of(status);  // heard of
    return;
  }
  *total_bytes = total;
  *free_bytes = std::min(free, total);
}

void VendorEngine::properties(int device, struct infinirtDeviceProp* p) {
  describe_emulated(device, path_ + "/" + std::to_string(physical(device)), p);
  std::string name;
  {
    Entry entry(*this, device);
    if (!entry.error()) name = native_->device_name(physical(device));
  }
  if (name.empty()) name = std::string(vendor_.type) + " device " + std::to_string(physical(device));
  std::snprintf(p->name, sizeof p->name, "%s", name.c_str());
}

bool VendorEngine::in_device_range(const void* pointer) const { return shown_.in_device_range(pointer); }

void VendorEngine::lock_for_fork() {
  EmulatedEngine::lock_for_fork();
  shown_.lock_for_fork();
  host_blocks_mutex_.lock();
}

void VendorEngine::unlock_after_fork(bool in_child) {
  host_blocks_mutex_.unlock();
  shown_.unlock_after_fork();
  if (in_child) refuse_in_forked_child();
  EmulatedEngine::unlock_after_fork(in_child);
}

void VendorEngine::refuse_in_forked_child() {
  if (!loaded_.exchange(false)) return;
  backend.table = unsupported_table();
  backend.refusal_code = infinirtErrorInitializationError;
  backend.refusal = "the process was forked after the library of device type '" + backend.name +
                    "' had been started in its parent; start the process with spawn or exec, or fork before the first "
                    "use of the device";
  backend.problem = backend.refusal;
  backend.problem_code = backend.refusal_code;
}

}  // namespace infinirt::vendors
