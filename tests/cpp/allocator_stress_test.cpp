// Random programs against a model, and many threads at once.
//
// The model knows every range that was ever freed and the points after which it is really free. Whenever a block is
// handed out, each of those points must have been passed, or must come before the stream's next work.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "allocator_fakes.h"
#include "check.h"

using namespace infinirt;

namespace {

constexpr size_t KiB = 1024, MiB = 1024 * KiB;

unsigned rounds(unsigned usual) {
  const char* factor = std::getenv("INFINIRT_TEST_FACTOR");
  return usual * static_cast<unsigned>(factor ? std::atoi(factor) : 1);
}

struct Live {
  size_t size;
  StreamKey stream;
  std::vector<Fence> uses;
};

struct Past {
  uintptr_t begin, end;
  std::vector<Fence> fences;
};

class Program {
 public:
  explicit Program(unsigned seed)
      : random_(seed),
        source_(capacity()),
        order_(kStreams),
        allocator_(new CachingAllocator(source_, order_, options())) {}

  void run(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
      step();
      if (i % 64 == 0) CHECK_EQ(allocator_->stats().used_high, high_);
      if (pick(1000) == 0) {
        allocator_->reset_used_high();
        high_ = used_;
      }
    }
    finish();
  }

 private:
  static constexpr size_t kStreams = 6;

  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  StreamKey stream() { return {1 + pick(kStreams)}; }
  size_t capacity() { return (2 + pick(20)) * 2 * MiB; }
  AllocatorOptions options() {
    AllocatorOptions o;
    o.reuse_follow_event_dependencies = pick(4) != 0;
    o.reuse_allow_opportunistic = pick(4) != 0;
    o.reuse_allow_internal_dependencies = pick(4) != 0;
    if (pick(2)) o.limit = source_.capacity / 2 + 2 * MiB;
    return o;
  }
  size_t size() {
    switch (pick(4)) {
      case 0:
        return 1 + pick(2 * KiB);
      case 1:
        return 1 + pick(40 * KiB);
      case 2:
        return 600 + 100 * pick(3);
      default:
        return 1 + pick(1 + static_cast<unsigned>(source_.capacity / 4));
    }
  }

  void step() {
    switch (pick(20)) {
      case 0:
        order_.enqueue(stream());
        break;
      case 1:
        order_.wait(stream(), order_.now(stream()));
        break;
      case 2:
      case 3:
        order_.advance(stream(), 1 + pick(8));
        break;
      case 4:
        if (pick(10) == 0) allocator_->trim_to(pick(static_cast<unsigned>(source_.capacity)));
        break;
      case 5:
        if (pick(10) == 0) toggle_pin();
        break;
      case 6:
        record_use();
        break;
      case 7:
        if (pick(30) == 0) allocator_->set_policy(static_cast<ReusePolicy>(pick(3)), pick(2) != 0);
        if (pick(30) == 0) order_.refuse_waits = !order_.refuse_waits;
        break;
      default:
        if (pick(100) < (growing_ ? 60u : 40u))
          allocate();
        else
          free_one();
        if (pick(400) == 0) growing_ = !growing_;
    }
  }

  void allocate() {
    StreamKey on = stream();
    size_t bytes = size();
    void* ptr = nullptr;
    Status status = allocator_->allocate(bytes, on, &ptr);
    if (status == kStatusOutOfMemory) {
      if (live_.empty()) growing_ = true;
      return;
    }
    CHECK_EQ(status, kStatusOk);
    BlockInfo info;
    REQUIRE(allocator_->block_info(ptr, &info));
    CHECK_GE(info.size, bytes);
    uintptr_t begin = reinterpret_cast<uintptr_t>(ptr), end = begin + info.size;
    auto next = live_.lower_bound(begin);
    CHECK(next == live_.end() || next->first >= end);
    CHECK(next == live_.begin() || std::prev(next)->first + std::prev(next)->second.size <= begin);
    for (size_t i = 0; i < past_.size();) {
      Past& past = past_[i];
      if (past.end <= begin || end <= past.begin) {
        ++i;
        continue;
      }
      for (Fence fence : past.fences) CHECK(order_.passed(fence) || order_.precedes(fence, on));
      if (begin <= past.begin && past.end <= end) {
        past = past_.back();  // the new block's own free comes after all of these
        past_.pop_back();
      } else {
        ++i;
      }
    }
    live_[begin] = {info.size, on, {}};
    used_ += info.size;
    high_ = std::max(high_, used_);
    order_.enqueue(on);
  }

  std::map<uintptr_t, Live>::iterator any() {
    auto found = live_.lower_bound(live_.begin()->first +
                                   random_() % (std::prev(live_.end())->first - live_.begin()->first + 1));
    return found == live_.end() ? live_.begin() : found;
  }

  void record_use() {
    if (live_.empty()) return;
    auto block = any();
    StreamKey on = stream();
    order_.wait(on, order_.now(block->second.stream));
    Fence use = order_.enqueue(on);
    CHECK_EQ(allocator_->record_use(reinterpret_cast<void*>(block->first), on, use), kStatusOk);
    block->second.uses.push_back(use);
  }

  void free_one() {
    if (live_.empty()) return;
    auto block = any();
    StreamKey on = block->second.stream;
    if (pick(5) == 0) {
      // A free on another stream is legal when that stream comes after the uses on the first one.
      StreamKey other = stream();
      order_.wait(other, order_.now(on));
      on = other;
    }
    void* ptr = reinterpret_cast<void*>(block->first);
    Fence freed = order_.now(on);
    FreeResult result = pick(3) ? allocator_->free(ptr, on, freed) : allocator_->free(ptr, on);
    CHECK_EQ(result, FreeResult::ok);
    if (pick(20) == 0) CHECK_NE(allocator_->free(ptr, on), FreeResult::ok);
    std::vector<Fence> fences = block->second.uses;
    fences.push_back(freed);
    past_.push_back({block->first, block->first + block->second.size, std::move(fences)});
    used_ -= block->second.size;
    live_.erase(block);
    if (pick(2)) order_.enqueue(on);
  }

  void toggle_pin() {
    if (!pin_) {
      pin_ = pick(2) ? allocator_->begin_pin() : allocator_->begin_pin(stream());
    } else if (!pin_ended_) {
      CHECK_EQ(allocator_->end_pin(pin_), kStatusOk);
      pin_ended_ = true;
    } else {
      CHECK_EQ(allocator_->release_pin(pin_, order_.now(stream())), kStatusOk);
      pin_ = {};
      pin_ended_ = false;
    }
  }

  void finish() {
    CHECK_EQ(allocator_->stats().used_current, used_);
    CHECK_EQ(allocator_->stats().live_blocks, live_.size());
    CHECK_EQ(allocator_->stats().reserved_current, source_.mapped);
    while (!live_.empty()) free_one();
    if (pin_) CHECK_EQ(allocator_->release_pin(pin_), kStatusOk);
    order_.finish_everything();
    allocator_->trim_to(0);
    CHECK_EQ(source_.mapped, 0u);
    CHECK_EQ(allocator_->stats().used_current, 0u);
    CHECK_EQ(allocator_->stats().pending_blocks, 0u);
    allocator_.reset();
    CHECK(order_.balanced());
    CHECK_EQ(source_.bad_unmaps, 0);
  }

  std::mt19937_64 random_;
  fake::Source source_;
  fake::Order order_;
  std::unique_ptr<CachingAllocator> allocator_;
  std::map<uintptr_t, Live> live_;
  std::vector<Past> past_;
  size_t used_ = 0, high_ = 0;
  PinToken pin_{};
  bool pin_ended_ = false;
  bool growing_ = true;
};

}  // namespace

TEST(random_programs_keep_stream_order) {
  for (unsigned seed = 1; seed <= rounds(100); ++seed) {
    unsigned long before = check::failures();
    Program(seed).run(4000);
    if (check::failures() != before) {
      std::fprintf(stderr, "seed %u\n", seed);
      return;
    }
  }
}

// ---- threads

namespace {

// One arena, and one flag per 256 bytes of it that says whether the bytes are somebody's.
class Arena : public SegmentSource {
 public:
  static constexpr size_t kBytes = 256 * MiB;
  Arena() : taken_(new std::atomic<uint8_t>[kBytes / 256]()) {
    void* range = mmap(nullptr, kBytes + 2 * MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    whole_ = range;
    base_ = (reinterpret_cast<uintptr_t>(range) + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
    chunks_.resize(kBytes / (2 * MiB));
  }
  ~Arena() override { munmap(whole_, kBytes + 2 * MiB); }

  Status map(size_t bytes, size_t, void** base) noexcept override {
    std::lock_guard guard(mutex_);
    size_t need = bytes / (2 * MiB), run = 0;
    for (size_t i = 0; i < chunks_.size(); ++i) {
      run = chunks_[i] ? 0 : run + 1;
      if (run < need) continue;
      for (size_t k = 0; k < need; ++k) chunks_[i - k] = true;
      *base = reinterpret_cast<void*>(base_ + (i + 1 - need) * 2 * MiB);
      return kStatusOk;
    }
    return kStatusOutOfMemory;
  }
  void unmap(void* base, size_t bytes) noexcept override {
    CHECK(claim(base, bytes));  // nobody's block may be in it
    disclaim(base, bytes);
    std::lock_guard guard(mutex_);
    size_t first = (reinterpret_cast<uintptr_t>(base) - base_) / (2 * MiB);
    for (size_t k = 0; k < bytes / (2 * MiB); ++k) chunks_[first + k] = false;
  }
  bool claim(void* ptr, size_t bytes) {
    bool good = true;
    for (size_t i = cell(ptr), n = (bytes + 255) / 256; n > 0; ++i, --n)
      good = taken_[i].exchange(1, std::memory_order_relaxed) == 0 && good;
    return good;
  }
  void disclaim(void* ptr, size_t bytes) {
    for (size_t i = cell(ptr), n = (bytes + 255) / 256; n > 0; ++i, --n) taken_[i].store(0, std::memory_order_relaxed);
  }

 private:
  size_t cell(void* ptr) const { return (reinterpret_cast<uintptr_t>(ptr) - base_) / 256; }
  std::unique_ptr<std::atomic<uint8_t>[]> taken_;
  void* whole_;
  uintptr_t base_;
  std::mutex mutex_;
  std::vector<bool> chunks_;
};

// Every stream is one counter, half done at any time, and waits for nobody.
class Counters : public StreamOrder {
 public:
  static constexpr size_t kStreams = 64;
  Fence now(StreamKey stream) noexcept override { return {&values_[stream.id], values_[stream.id].load()}; }
  bool passed(Fence fence) noexcept override {
    return static_cast<std::atomic<uint64_t>*>(fence.timeline)->load() >= fence.value + 8;
  }
  bool precedes(Fence fence, StreamKey stream) noexcept override { return fence.timeline == &values_[stream.id]; }
  bool make_wait(StreamKey, Fence) noexcept override { return true; }
  void retain(Fence) noexcept override { ++retained; }
  void release(Fence) noexcept override { --retained; }
  Fence tick(StreamKey stream) { return {&values_[stream.id], ++values_[stream.id]}; }
  std::atomic<int> retained{0};

 private:
  std::atomic<uint64_t> values_[kStreams] = {};
};

struct Block {
  void* ptr;
  size_t size;
  StreamKey stream;
};

}  // namespace

TEST(threads_never_share_a_block) {
  Arena arena;
  Counters order;
  {
    AllocatorOptions options;
    options.limit = 64 * MiB;
    CachingAllocator allocator(arena, order, options);
    std::mutex mailbox_mutex;
    std::vector<Block> mailbox;
    std::atomic<bool> stop{false};
    std::atomic<size_t> failures{0}, allocations{0};
    auto work = [&](unsigned seed) {
      std::mt19937 random(seed);
      std::vector<Block> mine;
      StreamKey home{seed + 1};
      auto release = [&](Block block) {
        StreamKey on = random() % 4 ? block.stream : home;
        arena.disclaim(block.ptr, block.size);
        CHECK_EQ(random() % 2 ? allocator.free(block.ptr, on, order.tick(on)) : allocator.free(block.ptr, on),
                 FreeResult::ok);
      };
      for (unsigned i = 0; i < rounds(30000); ++i) {
        unsigned what = random() % 100;
        if (what < 55) {
          StreamKey on = random() % 8 ? home : StreamKey{1 + random() % 8};
          size_t size = random() % 16 ? 1 + random() % 4096 : 1 + random() % (2 * MiB);
          void* ptr = nullptr;
          if (allocator.allocate(size, on, &ptr) != kStatusOk) {
            ++failures;
            for (size_t n = mine.size() / 2; n > 0; --n) {
              release(mine.back());
              mine.pop_back();
            }
            continue;
          }
          ++allocations;
          CHECK(arena.claim(ptr, size));
          mine.push_back({ptr, size, on});
        } else if (what < 90 && !mine.empty()) {
          size_t index = random() % mine.size();
          std::swap(mine[index], mine.back());
          release(mine.back());
          mine.pop_back();
        } else if (what < 94 && !mine.empty()) {
          std::lock_guard guard(mailbox_mutex);
          mailbox.push_back(mine.back());
          mine.pop_back();
        } else if (what < 98) {
          std::lock_guard guard(mailbox_mutex);
          if (!mailbox.empty()) {
            mine.push_back(mailbox.back());
            mailbox.pop_back();
          }
        } else if (!mine.empty()) {
          BlockInfo info;
          CHECK(allocator.block_info(mine.back().ptr, &info));
          CHECK_EQ(info.requested, mine.back().size);
          CHECK_EQ(allocator.record_use(mine.back().ptr, {9}, order.tick({9})), kStatusOk);
        }
        order.tick(home);
      }
      for (Block block : mine) release(block);
    };
    std::thread janitor([&] {
      std::mt19937 random(99);
      for (unsigned i = 0; !stop; ++i) {
        if (random() % 4 == 0) allocator.trim_to(random() % (64 * MiB));
        if (random() % 4 == 0) allocator.for_each_block([](const SegmentInfo&, const BlockInfo&) {});
        if (random() % 16 == 0) CHECK(!allocator.report().empty());
        allocator.stats();
        if (random() % 8 == 0) {
          PinToken token = allocator.begin_pin(StreamKey{1 + random() % 8});
          std::this_thread::yield();
          allocator.end_pin(token);
          allocator.release_pin(token);
        }
        StreamKey brief{20 + i % 40};
        void* ptr = nullptr;
        if (allocator.allocate(1000, brief, &ptr) == kStatusOk) CHECK_EQ(allocator.free(ptr, brief), FreeResult::ok);
        allocator.retire_stream(brief);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
    stop = true;
    janitor.join();
    for (Block block : mailbox) {
      arena.disclaim(block.ptr, block.size);
      CHECK_EQ(allocator.free(block.ptr, block.stream), FreeResult::ok);
    }
    CHECK_GT(allocations.load(), 1000u);
    CHECK_EQ(allocator.stats().used_current, 0u);
    CHECK_EQ(allocator.stats().live_blocks, 0u);
    allocator.trim_to(0);  // settles when the frees without a fence count as made
    for (uint64_t s = 1; s < Counters::kStreams; ++s)
      for (int i = 0; i < 16; ++i) order.tick({s});
    allocator.trim_to(0);
    CHECK_EQ(allocator.stats().reserved_current, 0u);
  }
  CHECK_EQ(order.retained.load(), 0);
}

TEST(threads_racing_for_one_free_have_one_winner) {
  fake::Source source;
  Counters order;
  CachingAllocator allocator(source, order);
  for (unsigned i = 0; i < rounds(300); ++i) {
    void* ptr = nullptr;
    CHECK_EQ(allocator.allocate(i % 2 ? 600 : 100 * KiB, {1}, &ptr), kStatusOk);
    std::atomic<int> winners{0}, ready{0};
    auto race = [&](StreamKey on) {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      winners += allocator.free(ptr, on) == FreeResult::ok;
    };
    std::thread other(race, StreamKey{2});
    race({1});
    other.join();
    CHECK_EQ(winners.load(), 1);
  }
}

TEST_MAIN()
