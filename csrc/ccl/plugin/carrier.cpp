#include "ccl/plugin/carrier.h"

#include "ccl/monitor.h"
#include "ccl/runtime.h"
#include "ccl/thread.h"

namespace infiniccl::plugin {

namespace {

constexpr auto kIdle = std::chrono::milliseconds(500);

}  // namespace

void Carrier::take(std::shared_ptr<World> world, Job job) {
  {
    std::lock_guard guard(mutex_);
    jobs_.push_back(std::move(job));
    if (!thread_runs_) thread_runs_ = start_thread("infiniccl-plug", [this, world] { work(*world); });
    if (!thread_runs_) job = std::move(jobs_.back()), jobs_.pop_back();
  }
  changed_.notify_one();
  monitor_wake();
  if (job.parts.empty()) return;
  world->fail_with(
      {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorUnknown, "no thread could be started for the plugin's calls"});
  for (Execution* execution : job.executions) execution->part_failed(world->failure());
}

void Carrier::close() {
  {
    std::lock_guard guard(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

void Carrier::work(World& world) {
  for (;;) {
    Job job;
    {
      std::unique_lock guard(mutex_);
      since_ = 0;
      changed_.wait_for(guard, kIdle, [&] { return closed_ || !jobs_.empty(); });
      if (jobs_.empty()) {
        thread_runs_ = false;
        return;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
      since_ = now_ns();
      what_ = describe(*job.parts[0]);
    }
    std::string problem;
    const bool given_up = world.failed();
    if (!given_up) problem = ranks_->carry_out(job, world.size, [](const World& w) { return w.failed(); }, world);
    if (!problem.empty())
      world.fail_with({INFINI_STATUS_INTERNAL_ERROR, infinirtErrorExternalDevice,
                       format_text("%s (operation %llu): %s", describe(*job.parts[0]).c_str(),
                                   static_cast<unsigned long long>(job.parts[0]->number), problem.c_str())});
    const bool failed = given_up || !problem.empty();
    for (Execution* execution : job.executions) {
      if (failed) {
        execution->part_failed(world.failure());
      } else {
        execution->part_done();
      }
    }
  }
}

bool Carrier::look(World& world, int64_t now) {
  Failure found;
  {
    std::lock_guard guard(mutex_);
    const int64_t limit = int64_t{world.timeout_ms()} * 1'000'000;
    if (since_ == 0) return !jobs_.empty();
    if (limit == 0 || now - since_ < limit) return true;
    found = {INFINI_STATUS_INTERNAL_ERROR, infinirtErrorTimeout,
             format_text("%s has waited %.1f s inside the plugin of device type '%s'", what_.c_str(),
                         static_cast<double>(now - since_) * 1e-9, library().type())};
  }
  world.fail_with(std::move(found));
  return true;
}

}  // namespace infiniccl::plugin
