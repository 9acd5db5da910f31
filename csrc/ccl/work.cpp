#include "ccl/work.h"

#include <algorithm>

#include "ccl/loops/loops.h"

namespace infiniccl {

namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;  // of one buffer: what a thread takes at a time
constexpr size_t kWorthSharing = size_t{512} << 10;  // traffic
constexpr size_t kPastCache = size_t{64} << 20;  // traffic that no cache holds

// From some inputs to some outputs, element by element.
struct Job {
  size_t first_input, first_output;
  int inputs, outputs;
  size_t count;
  size_t pieces_end;  // number of pieces up to and including this job
  bool past_cache;
};

struct Plan {
  ReduceLoop loop = nullptr;  // null: jobs with one input, counted in bytes
  size_t element = 1;
  size_t piece = 0;  // elements
  bool large = false;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<Job> jobs;

  void begin(ReduceLoop reduce_loop, size_t element_size, bool is_large) {
    loop = reduce_loop;
    element = element_size;
    piece = kPieceBytes / element;
    large = is_large;
    inputs.clear();
    outputs.clear();
    jobs.clear();
  }

  // The inputs and outputs that were added since the last job.
  void add_job(size_t count) {
    Job job{};
    if (!jobs.empty()) {
      job.first_input = jobs.back().first_input + static_cast<size_t>(jobs.back().inputs);
      job.first_output = jobs.back().first_output + static_cast<size_t>(jobs.back().outputs);
      job.pieces_end = jobs.back().pieces_end;
    }
    job.inputs = static_cast<int>(inputs.size() - job.first_input);
    job.outputs = static_cast<int>(outputs.size() - job.first_output);
    job.count = count;
    job.pieces_end += (count + piece - 1) / piece;
    // In place, the lines are in the cache already.
    job.past_cache =
        large && std::none_of(outputs.begin() + static_cast<std::ptrdiff_t>(job.first_output), outputs.end(),
                              [&](const void* out) {
                                return std::find(inputs.begin() + static_cast<std::ptrdiff_t>(job.first_input),
                                                 inputs.end(), out) != inputs.end();
                              });
    jobs.push_back(job);
  }

  void add_copy(void* out, const void* in, size_t bytes) {
    inputs.push_back(in);
    outputs.push_back(out);
    add_job(bytes);
  }

  size_t pieces() const { return jobs.empty() ? 0 : jobs.back().pieces_end; }

  void run_part(const Job& job, size_t begin, size_t end) const {
    constexpr int kFew = 16;
    const void* few_in[kFew];
    void* few_out[kFew];
    std::vector<const void*> many_in(job.inputs > kFew ? static_cast<size_t>(job.inputs) : 0);
    std::vector<void*> many_out(job.outputs > kFew ? static_cast<size_t>(job.outputs) : 0);
    const void** in = many_in.empty() ? few_in : many_in.data();
    void** out = many_out.empty() ? few_out : many_out.data();
    for (int i = 0; i < job.inputs; ++i)
      in[i] = static_cast<const char*>(inputs[job.first_input + static_cast<size_t>(i)]) + begin * element;
    for (int i = 0; i < job.outputs; ++i)
      out[i] = static_cast<char*>(outputs[job.first_output + static_cast<size_t>(i)]) + begin * element;
    if (loop) {
      loop(in, job.inputs, out, job.outputs, end - begin, job.past_cache);
    } else {
      copy_to_all(in[0], out, job.outputs, (end - begin) * element, job.past_cache);
    }
  }

  void run_pieces(size_t begin, size_t end) const {
    auto job = std::upper_bound(jobs.begin(), jobs.end(), begin,
                                [](size_t value, const Job& j) { return value < j.pieces_end; });
    for (size_t at = begin; at < end; ++job) {
      const size_t before = job == jobs.begin() ? 0 : (job - 1)->pieces_end;
      const size_t last = std::min(end, job->pieces_end);
      if (last > at) run_part(*job, (at - before) * piece, std::min(job->count, (last - before) * piece));
      at = std::max(at, last);
    }
  }
};

const char* at(const void* base, size_t bytes) { return static_cast<const char*>(base) + bytes; }
char* at(void* base, size_t bytes) { return static_cast<char*>(base) + bytes; }

void plan_jobs(Plan& plan, std::span<const Part* const> parts) {
  const Part& first = *parts[0];
  const size_t n = parts.size();
  const size_t bytes = first.count * first.element();
  const auto root = static_cast<size_t>(std::max(first.root, 0));
  switch (first.operation) {
    case Operation::AllReduce:
    case Operation::Reduce:
      for (const Part* part : parts) plan.inputs.push_back(part->send);
      for (size_t r = 0; r < n; ++r) {
        if (first.operation == Operation::AllReduce || r == root) plan.outputs.push_back(parts[r]->recv);
      }
      plan.add_job(first.count);
      break;
    case Operation::ReduceScatter:
    case Operation::ReduceScatterV: {
      size_t before = 0;
      for (size_t r = 0; r < n; ++r) {
        const size_t count = first.operation == Operation::ReduceScatter ? first.count : first.counts[r];
        for (const Part* part : parts) plan.inputs.push_back(at(part->send, before * first.element()));
        plan.outputs.push_back(parts[r]->recv);
        plan.add_job(count);
        before += count;
      }
      break;
    }
    case Operation::Broadcast:
      plan.inputs.push_back(parts[root]->send);
      for (const Part* part : parts) plan.outputs.push_back(part->recv);
      plan.add_job(bytes);
      break;
    case Operation::AllGather:
    case Operation::AllGatherV: {
      size_t before = 0;
      for (size_t r = 0; r < n; ++r) {
        const size_t size = first.operation == Operation::AllGather ? bytes : first.counts[r] * first.element();
        plan.inputs.push_back(parts[r]->send);
        for (const Part* part : parts) plan.outputs.push_back(at(part->recv, before));
        plan.add_job(size);
        before += size;
      }
      break;
    }
    case Operation::AllToAll:
      for (size_t from = 0; from < n; ++from) {
        for (size_t to = 0; to < n; ++to)
          plan.add_copy(at(parts[to]->recv, from * bytes), at(parts[from]->send, to * bytes), bytes);
      }
      break;
    case Operation::Gather:
      for (size_t r = 0; r < n; ++r) plan.add_copy(at(parts[root]->recv, r * bytes), parts[r]->send, bytes);
      break;
    case Operation::Scatter:
      for (size_t r = 0; r < n; ++r) plan.add_copy(parts[r]->recv, at(parts[root]->send, r * bytes), bytes);
      break;
    case Operation::Send:
    case Operation::Recv:
      plan.add_copy(parts[1]->recv, parts[0]->send, bytes);
      break;
    case Operation::Barrier:
      break;
  }
}

}  // namespace

void perform(std::span<const Part* const> parts, infinirtXStep_t step) {
  const Part& first = *parts[0];
  if (first.operation == Operation::Barrier) return;
  thread_local Plan plan;
  const bool loop = reduces(first.operation);
  const size_t total = traffic(first, static_cast<int>(parts.size()));
  plan.begin(loop ? find_reduce_loop(first.dtype, first.reduction) : nullptr, loop ? first.element() : 1,
             total >= kPastCache);
  plan_jobs(plan, parts);
  const size_t pieces = plan.pieces();
  if (step && total >= kWorthSharing) {
    infinirtXStepParallel(
        step, static_cast<long long>(pieces), 1,
        [](long long begin, long long end, void* context) {
          static_cast<const Plan*>(context)->run_pieces(static_cast<size_t>(begin), static_cast<size_t>(end));
        },
        &plan);
  } else {
    plan.run_pieces(0, pieces);
  }
}

}  // namespace infiniccl
