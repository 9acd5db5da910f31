#include "op/nvidia/matmul_search.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

constexpr double kLong = 5e11;  // operations: about 0.7 ms on an H200, where a search takes 30
constexpr int kRounds = 3, kRunsOfRound = 2;

using Key = std::array<int64_t, 15>;

Key key_of(int device, const Product& p, infiniDtype_t dtype) {
  return {device,
          p.batch,
          p.m,
          p.n,
          p.k,
          p.a.row_stride,
          p.a.batch_stride,
          p.a.column_stride,
          p.b.row_stride,
          p.b.batch_stride,
          p.b.column_stride,
          p.c.row_stride,
          p.c.batch_stride,
          p.c.column_stride,
          dtype};
}

size_t bytes_of(int64_t batch, int64_t rows, int64_t columns, const Matrix& m, infiniDtype_t dtype) {
  const int64_t last = (batch - 1) * m.batch_stride + (rows - 1) * m.row_stride + (columns - 1) * m.column_stride;
  return static_cast<size_t>(last + 1) * size_of(dtype);
}

// A stream with two events and memory on it, all given back at the end. Another thread may be capturing: these calls are none of its
// business, so the thread leaves the strict mode meanwhile.
class Bench {
 public:
  Bench() {
    api().ThreadExchangeStreamCaptureMode(&mode_);
    usable_ = !api().StreamCreateWithFlags(&stream_, infinirtStreamNonBlocking) && !api().EventCreate(&begin_) &&
              !api().EventCreate(&end_);
  }
  ~Bench() {
    for (void* address : memory_) {
      if (address) api().FreeAsync(address, stream_);
    }
    if (stream_) {
      api().StreamSynchronize(stream_);
      api().StreamDestroy(stream_);
    }
    for (infinirtEvent_t event : {begin_, end_}) {
      if (event) api().EventDestroy(event);
    }
    api().ThreadExchangeStreamCaptureMode(&mode_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // How fast a product is may depend on its numbers, by the power that they take: the same small ones for every proposal.
  bool take(int place, size_t bytes) {
    constexpr int kSmallNumbers = 0x3c;
    usable_ = usable_ && (bytes == 0 || (!api().MallocAsync(&memory_[place], bytes, stream_) &&
                                         !api().MemsetAsync(memory_[place], kSmallNumbers, bytes, stream_)));
    return usable_;
  }

  float milliseconds(LtHandle handle, const Matmul& matmul, const LtHeuristic& proposal, int runs) {
    constexpr float kNever = std::numeric_limits<float>::infinity();
    if (api().EventRecord(begin_, stream_)) return kNever;
    for (int run = 0; run < runs; ++run) {
      if (matmul.enqueue(handle, proposal, 1, 0, memory_[0], memory_[1], memory_[2], memory_[3], stream_))
        return kNever;
    }
    float time = kNever;
    if (api().EventRecord(end_, stream_) || api().EventSynchronize(end_)) return kNever;
    return api().EventElapsedTime(&time, begin_, end_) ? kNever : time;
  }

 private:
  infinirtStreamCaptureMode mode_ = infinirtStreamCaptureModeRelaxed;
  infinirtStream_t stream_ = nullptr;
  infinirtEvent_t begin_ = nullptr, end_ = nullptr;
  std::array<void*, 4> memory_{};  // c, a, b, the library's
  bool usable_ = false;
};

size_t search(LtHandle handle, const Matmul& matmul, const Product& p, infiniDtype_t dtype,
              const std::vector<LtHeuristic>& proposals) {
  size_t most = 0;
  for (const LtHeuristic& proposal : proposals) most = std::max(most, proposal.workspace_size);
  Bench bench;
  if (!bench.take(0, bytes_of(p.batch, p.m, p.n, p.c, dtype)) ||
      !bench.take(1, bytes_of(p.batch, p.m, p.k, p.a, dtype)) ||
      !bench.take(2, bytes_of(p.batch, p.k, p.n, p.b, dtype)) || !bench.take(3, most)) {
    return 0;
  }
  std::vector<float> best(proposals.size(), std::numeric_limits<float>::infinity());
  for (const LtHeuristic& proposal : proposals) bench.milliseconds(handle, matmul, proposal, 1);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < proposals.size(); ++i) {
      best[i] = std::min(best[i], bench.milliseconds(handle, matmul, proposals[i], kRunsOfRound));
    }
  }
  return static_cast<size_t>(std::min_element(best.begin(), best.end()) - best.begin());
}

}  // namespace

int asked_proposal() {
  const char* text = std::getenv("INFINIOP_GEMM_PROPOSAL");
  if (!text || !*text) return -1;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return *end == 0 && number >= 0 && number < 64 ? static_cast<int>(number) : -1;
}

bool worth_searching(const Product& p) {
  const char* wanted = std::getenv("INFINIOP_GEMM_SEARCH");
  if (wanted && std::strcmp(wanted, "0") == 0) return false;
  if (wanted && std::strcmp(wanted, "1") == 0) return true;
  const double operations = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) *
                            static_cast<double>(p.k);
  return operations >= kLong;
}

LtHeuristic fastest(LtHandle handle, const Matmul& matmul, const Product& product, infiniDtype_t dtype,
                    const std::vector<LtHeuristic>& proposals) {
  // Leaked on purpose: other threads may make descriptors while the process ends.
  static auto* const known = new std::map<Key, LtHeuristic>;
  static auto* const mutex = new std::mutex;
  int device = 0;
  if (proposals.size() == 1 || api().GetDevice(&device)) return proposals.front();
  const Key key = key_of(device, product, dtype);
  {
    std::lock_guard guard(*mutex);
    if (const auto found = known->find(key); found != known->end()) return found->second;
  }
  const LtHeuristic chosen = proposals[search(handle, matmul, product, dtype, proposals)];
  // A proposal that failed, or memory that was not to be had, is no error of the call.
  api().GetLastError();
  std::lock_guard guard(*mutex);
  return known->try_emplace(key, chosen).first->second;
}

}  // namespace infiniop::nvidia
