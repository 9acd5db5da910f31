// Events that several processes use: a page with the numbers of the records and what has become of them.
//
// Each record takes the next number and a place in a ring, where its process says that it is complete. A wait is for one
// number, so re-recording does not disturb it, whichever process does it.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "engine/ipc.h"
#include "engine/shared_event.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

constexpr uint32_t kMagic = 0x49524556;
constexpr size_t kPageSize = 4096;
constexpr size_t kRing = 160;

struct Place {
  std::atomic<uint64_t> recorder[2];  // ProcessId of whoever took it, in even and in odd rounds
  std::atomic<uint64_t> complete;  // the latest number of this place that is complete
};

struct Page {
  uint32_t magic;
  uint32_t reserved;
  uint64_t token;
  std::atomic<uint64_t> taken;  // the last number given out
  std::atomic<uint64_t> recorded;  // the latest record; 0: none yet
  std::atomic<uint32_t> changes;  // sleepers watch this
  uint32_t padding[7];
  Place places[kRing];
};
static_assert(sizeof(Page) <= kPageSize && std::atomic<uint64_t>::is_always_lock_free);

// A page as this process has it. Destroyed events leave theirs to the works that were enqueued before.
struct Mapping {
  int file = -1;  // own ones only
  int users = 0;  // threads in a function here
  bool closed = false;
  std::vector<Point> works;  // of a closed page: after these no work uses it
};

struct Mappings {
  Mutex mutex;
  std::map<Page*, Mapping> all;
};

Mappings& mappings() {
  static auto* instance = [] {
    pthread_atfork(nullptr, nullptr, [] { mappings().mutex.reset_after_fork(); });  // the holder is not in the child
    return new Mappings;
  }();
  return *instance;
}

Page& page_at(void* page) { return *static_cast<Page*>(page); }
Place& place_of(Page& page, uint64_t value) { return page.places[value % kRing]; }

std::atomic<uint64_t>& recorder_of(Page& page, uint64_t value) {
  return place_of(page, value).recorder[value / kRing % 2];
}

uint64_t packed(const ProcessId& process) { return uint64_t{process.number} << 32 | process.start; }
ProcessId unpacked(uint64_t process) { return {static_cast<uint32_t>(process >> 32), static_cast<uint32_t>(process)}; }

uint64_t own_id() {
  // Asked for again after a fork: the child is another process.
  thread_local uint32_t number = 0;
  thread_local uint64_t id = 0;
  if (const auto now = static_cast<uint32_t>(getpid()); now != number) {
    number = now;
    id = packed(this_process());
  }
  return id;
}

bool complete(Page& page, uint64_t value) {
  return place_of(page, value).complete.load(std::memory_order_acquire) >= value;
}

void announce(Page& page) {
  page.changes.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &page.changes, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

// Marks the number complete, and any older one of the same place with it.
void mark(Page& page, uint64_t value) {
  auto& done = place_of(page, value).complete;
  uint64_t seen = done.load(std::memory_order_relaxed);
  while (seen < value && !done.compare_exchange_weak(seen, value, std::memory_order_release)) {
  }
  announce(page);
}

bool wait_until_complete(Page& page, uint64_t value) {
  constexpr timespec kLook = {0, 50'000'000};  // how often a sleeper makes sure that the other process still lives
  while (!complete(page, value)) {
    const uint32_t seen = page.changes.load(std::memory_order_seq_cst);
    if (complete(page, value)) break;
    const long woken = syscall(SYS_futex, &page.changes, FUTEX_WAIT, seen, &kLook, nullptr, 0);
    if (woken == 0 || complete(page, value)) continue;
    const uint64_t recorder = recorder_of(page, value).load(std::memory_order_acquire);
    if (recorder != 0 && !process_is_alive(unpacked(recorder)) && !complete(page, value)) return false;
  }
  return true;
}

// Works of destroyed events that are done with their pages.
void sweep(Mappings& m) {
  for (auto it = m.all.begin(); it != m.all.end();) {
    Mapping& mapping = it->second;
    std::erase_if(mapping.works, [](const Point& p) { return p.reached(); });
    if (mapping.closed && mapping.users == 0 && mapping.works.empty()) {
      munmap(it->first, kPageSize);
      it = m.all.erase(it);
    } else {
      ++it;
    }
  }
}

void drop_use(Page* page) {
  auto& m = mappings();
  std::lock_guard guard(m.mutex);
  Mapping& mapping = m.all[page];
  --mapping.users;
  if (mapping.closed) sweep(m);
}

// Keeps the event's page mapped while a thread looks at it. Null: the event was destroyed meanwhile.
class PageUse {
 public:
  explicit PageUse(Event& event) {
    std::lock_guard guard(event.mutex);
    page_ = static_cast<Page*>(event.shared);
    if (!page_) return;
    std::lock_guard table_guard(mappings().mutex);
    ++mappings().all[page_].users;
  }
  ~PageUse() {
    if (page_) drop_use(page_);
  }
  PageUse(const PageUse&) = delete;
  PageUse& operator=(const PageUse&) = delete;
  Page* get() const { return page_; }

 private:
  Page* page_ = nullptr;
};

Page* map_page(int file) {
  void* mapped = mmap(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<Page*>(mapped);
}

// Completes the record that was made before the event was shared, when its point is reached. A user of the page.
struct LateFinish final : Waiter {
  explicit LateFinish(Page* p) : page(p) {}
  Page* page;
  void wake() override {
    mark(*page, 1);
    drop_use(page);
    delete this;
  }
};

}  // namespace

infinirtError_t share_event(Event& event, int* file, uint64_t* token) {
  auto& m = mappings();
  Point pending;
  Page* page;
  {
    std::lock_guard event_guard(event.mutex);
    std::lock_guard guard(m.mutex);
    page = static_cast<Page*>(event.shared);
    if (page) {
      const Mapping& mapping = m.all[page];
      if (mapping.file < 0) {
        return fail(infinirtErrorInvalidResourceHandle,
                    "event was itself opened from another process; its handle comes from there");
      }
      *file = mapping.file;
      *token = page->token;
      return infinirtSuccess;
    }
    const int created = create_shared_file(kPageSize);
    page = created < 0 ? nullptr : map_page(created);
    if (!page) {
      if (created >= 0) close(created);
      return fail(infinirtErrorMapBufferObjectFailed,
                  "the system gave no page to share the event with (too many open files?)");
    }
    page->magic = kMagic;
    page->token = random_token();
    Mapping& mapping = m.all[page];
    mapping.file = *file = created;
    *token = page->token;
    if (event.recorded && !event.point.reached()) {
      pending = event.point;
      page->taken = page->recorded = 1;
      recorder_of(*page, 1) = own_id();
      ++mapping.users;
    }
    event.shared = page;
  }
  if (pending.timeline) {
    auto* late = new LateFinish(page);
    if (!pending.timeline->park(late, pending.value)) late->wake();
  }
  return infinirtSuccess;
}

infinirtError_t open_shared_event(int file, uint64_t token, void** out) {
  if (lseek(file, 0, SEEK_END) < static_cast<off_t>(kPageSize)) {
    return fail(infinirtErrorMapBufferObjectFailed, "handle does not lead to an event");
  }
  Page* page = map_page(file);
  if (!page || page->magic != kMagic || page->token != token) {
    if (page) munmap(page, kPageSize);
    return fail(infinirtErrorMapBufferObjectFailed, "handle is of an event that has been destroyed, or is damaged");
  }
  std::lock_guard guard(mappings().mutex);
  mappings().all[page] = Mapping{};
  *out = page;
  return infinirtSuccess;
}

bool shared_event_done(Event& event) {
  PageUse use(event);
  if (!use.get()) return true;
  Page& page = *use.get();
  const uint64_t value = page.recorded.load(std::memory_order_acquire);
  if (value == 0 || complete(page, value)) return true;
  const uint64_t recorder = recorder_of(page, value).load(std::memory_order_acquire);
  return recorder != own_id() && !process_is_alive(unpacked(recorder));
}

void shared_event_wait(Event& event) {
  PageUse use(event);
  if (!use.get()) return;
  const uint64_t value = use.get()->recorded.load(std::memory_order_acquire);
  if (value == 0) return;
  // In a random schedule nobody but the waiting thread runs this process's own work.
  if (is_random_schedule()) wait_for(event_point(event));
  wait_until_complete(*use.get(), value);
}

uint64_t shared_event_begin_record(Event& event) {
  Page& page = page_at(event.shared);
  const uint64_t value = page.taken.fetch_add(1, std::memory_order_relaxed) + 1;
  recorder_of(page, value).store(own_id(), std::memory_order_release);
  uint64_t latest = page.recorded.load(std::memory_order_relaxed);
  while (latest < value && !page.recorded.compare_exchange_weak(latest, value, std::memory_order_release)) {
  }
  return value;
}

void shared_event_finish(void* page, uint64_t value) {
  // The place still belongs to the record a round before: it must be complete before its number is overwritten, else
  // whoever waits for it would be released too early.
  if (value > kRing) wait_until_complete(page_at(page), value - kRing);
  mark(page_at(page), value);
}

SharedWork shared_event_snapshot(Event& event) {
  return {event.shared, page_at(event.shared).recorded.load(std::memory_order_acquire)};
}

bool shared_event_wait_value(void* page, uint64_t value) {
  return value == 0 || wait_until_complete(page_at(page), value);
}

void shared_event_close(void* page) {
  std::vector<Point> works;
  for (Engine* engine : all_engines()) {
    for (auto& device : engine->devices) {
      std::lock_guard guard(device->mutex);
      if (!device->legacy->idle()) works.push_back(device->legacy->tail());
      for (const Stream* stream : device->streams) {
        if (!stream->idle()) works.push_back(stream->tail());
      }
    }
  }
  auto& m = mappings();
  std::lock_guard guard(m.mutex);
  Mapping& mapping = m.all[static_cast<Page*>(page)];
  if (mapping.file >= 0) close(mapping.file);
  mapping.file = -1;
  mapping.closed = true;
  mapping.works.insert(mapping.works.end(), works.begin(), works.end());
  sweep(m);
}

}  // namespace infinirt
