#include "core/backend.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/error.h"

namespace infinirt {

namespace {

struct Registrar {
  int priority;
  Backend* (*make)();
};

struct BackendList {
  std::recursive_mutex mutex;  // a registrar may look other backends up
  Backend* items[kMaxBackends] = {};
  std::atomic<int> count{0};
  std::atomic<bool> builtins_done{false};
  bool started = false;  // under the mutex
  std::vector<Registrar> registrars;
  const Backend* chosen = nullptr;
  int chosen_device = 0;  // written before `chosen` is, read after
};

BackendList& list() {
  static auto* instance = new BackendList;
  return *instance;
}

void ensure_builtins() {
  auto& l = list();
  if (l.builtins_done.load(std::memory_order_acquire)) return;
  std::lock_guard guard(l.mutex);
  if (l.started) return;  // done, or this thread is in the middle of it
  l.started = true;
  std::stable_sort(l.registrars.begin(), l.registrars.end(),
                   [](const Registrar& a, const Registrar& b) { return a.priority < b.priority; });
  for (const auto& r : l.registrars) {
    if (Backend* backend = r.make()) register_backend(backend);
  }
  l.builtins_done.store(true, std::memory_order_release);
}

}  // namespace

BuiltinBackend::BuiltinBackend(int priority, Backend* (*make)()) {
  auto& l = list();
  std::lock_guard guard(l.mutex);
  l.registrars.push_back({priority, make});
}

bool register_backend(Backend* backend) {
  auto& l = list();
  std::lock_guard guard(l.mutex);
  const int n = l.count.load(std::memory_order_relaxed);
  if (n == kMaxBackends) return false;
  for (int i = 0; i < n; ++i) {
    if (l.items[i]->name == backend->name) return false;
  }
  backend->index = static_cast<uint8_t>(n);
  l.items[n] = backend;
  l.count.store(n + 1, std::memory_order_release);
  return true;
}

int backend_count() {
  ensure_builtins();
  return list().count.load(std::memory_order_acquire);
}

Backend* backend_at(int index) { return index >= 0 && index < backend_count() ? list().items[index] : nullptr; }

Backend* find_backend(const char* name) {
  const int n = backend_count();
  for (int i = 0; i < n; ++i) {
    if (list().items[i]->name == name) return list().items[i];
  }
  return nullptr;
}

const Backend* default_backend() {
  ensure_builtins();
  auto& l = list();
  std::lock_guard guard(l.mutex);
  if (l.chosen) return l.chosen;
  const char* wanted = std::getenv("INFINIRT_DEVICE");
  if (wanted && *wanted) {
    const std::string type(wanted, std::strcspn(wanted, ":"));
    if (Backend* backend = find_backend(type.c_str())) {
      char* end = nullptr;
      const char* number = wanted + type.size();
      const long ordinal = *number ? std::strtol(number + 1, &end, 10) : 0;
      const int count = backend->device_count(*backend);
      if (*number && (end == number + 1 || *end || ordinal < 0 || (count > 0 && ordinal >= count))) {
        fail(infinirtErrorInvalidDevice, "INFINIRT_DEVICE=%s: '%s' is not the number of a device; '%s' has %d device%s",
             wanted, number + 1, type.c_str(), count, count == 1 ? "" : "s");
        return nullptr;
      }
      l.chosen_device = static_cast<int>(ordinal);
      return l.chosen = backend;
    }
    std::string known;
    for (int i = 0; i < backend_count(); ++i) known += (i ? ", " : "") + l.items[i]->name;
    fail(infinirtErrorInvalidDevice, "INFINIRT_DEVICE=%s names no device type; known types: %s", wanted, known.c_str());
    return nullptr;
  }
  for (int i = 0; i < backend_count(); ++i) {
    Backend* backend = l.items[i];
    if (backend->is_accelerator && backend->device_count(*backend) > 0) return l.chosen = backend;
  }
  Backend* fallback = find_backend("cpu");
  if (!fallback) fail(infinirtErrorNoDevice, "there is no device of any type");
  return l.chosen = fallback;
}

const Backend* current_backend(ThreadState& ts) {
  if (!ts.backend) {
    const Backend* backend = default_backend();
    if (backend && backend->device_count(*backend) == 0) {
      fail(backend->problem_code, "device type '%s' has no device: %s", backend->name.c_str(),
           backend->problem.c_str());
      return nullptr;
    }
    if (backend) {
      ts.device[backend->index] = list().chosen_device;
      choose_backend(ts, backend);
      if (list().chosen_device != 0 && backend->native_handles) backend->table.SetDevice(list().chosen_device);
    }
  }
  return ts.backend;
}

void choose_backend(ThreadState& ts, const Backend* backend) {
  static const bool first = (g_hot.may_wait.fetch_sub(1, std::memory_order_relaxed), true);
  (void)first;
  if (backend->native_handles) g_hot.native_backend.store(backend, std::memory_order_release);
  ts.backend = backend;
}

infinirtError_t unsupported_call(FunctionId function) {
  const Backend* backend = thread_state().backend;
  if (backend && !backend->refusal.empty()) return fail(backend->refusal_code, "%s", backend->refusal.c_str());
  return fail(infinirtErrorNotSupported, "not supported on device type '%s'; infinirtXGetSupport tells what is (%s)",
              backend ? backend->name.c_str() : "?", kFunctionNames[static_cast<size_t>(function)]);
}

}  // namespace infinirt
