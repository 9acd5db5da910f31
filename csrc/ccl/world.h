// A world: what all ranks of a communicator share, as far as this process knows it. One kind for each transport.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ccl/part.h"
#include "infinirt_ext.h"

namespace infiniccl {

class Execution;

// Why a communicator does not work any more.
struct Failure {
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  infinirtError_t error = infinirtSuccess;  // what the devices report
  std::string message;
};

class World : public std::enable_shared_from_this<World> {
 public:
  explicit World(int size);
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const int size;

  // ---- the transport
  // The rank's stream has got to the part. Ends with execution.part_done(), now or later, on any thread; before that no more is done
  // with the part than its key says. `step` may be used for parallel work until this returns.
  virtual void arrive(Part& part, Execution& execution, infinirtXStep_t step) = 0;
  // All parts of this world have arrived that one step has.
  virtual void batch_arrived() {}
  // Whether arriving now may mean more work than the thread that issues should do.
  virtual bool is_much(const Part& part) = 0;
  // Transports whose parts are no steps but calls on the stream itself: enqueue() takes one stream's share of a group, and says what
  // was wrong ("": nothing). Buffers are the device's own addresses then.
  virtual bool takes_streams() const { return false; }
  virtual std::string enqueue(std::span<Part>, infinirtStream_t) { return ""; }
  // Around the shares of several streams: the ranks of one thread must not wait for one another in between.
  virtual void begin_group() {}
  virtual std::string end_group() { return ""; }
  // Whether parts have the addresses that the device's own library knows, instead of the host's.
  virtual bool has_native_memory() const { return false; }
  virtual bool can_reduce(infiniDtype_t dtype, infinicclReduceOp_t op) const;
  // Whether buffers of parts that have ended with a failure may still be written to.
  virtual bool may_write_after_failure() const { return false; }
  // The rank issues nothing more.
  virtual void leave(int rank) = 0;
  // Called now and then by the monitor: looks for timeouts. True while anything waits.
  virtual bool look(int64_t now) = 0;
  // A part that was issued has not arrived and never will.
  virtual void part_dropped(const Part& part) = 0;

  // ---- parts get their numbers when they are issued
  void issue(Part& part, infinirtStream_t stream);
  // Why the part, which has no number yet, could never run on this stream; "" if it could.
  virtual std::string conflict(const Part&, infinirtStream_t) { return ""; }
  void take_back(const Part& part);  // the latest one of its kind: it could not be put on its stream

  // ---- failure, once
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Valid once failed() is true, and for ever then.
  const Failure& failure() const { return failure_; }
  // The first failure counts. Everything that waits ends.
  void fail_with(Failure failure);

  void set_timeout(unsigned milliseconds) { timeout_ms_.store(milliseconds, std::memory_order_relaxed); }
  unsigned timeout_ms() const { return timeout_ms_.load(std::memory_order_relaxed); }

 protected:
  // Ends whatever waits; called once, without locks, after the failure is known.
  virtual void end_all() = 0;
  // Eager parts that were issued and have not arrived: one more or less.
  virtual void count_issued(const Part& part, int change) = 0;
  virtual void note_stream(const Part&, infinirtStream_t) {}
  uint64_t next_number(const Part& part) { return counter(part).load(std::memory_order_relaxed); }

 private:
  struct Counters {
    std::atomic<uint64_t> eager{0}, captured{0};
    // By peer: eager and captured sends, eager and captured receives.
    std::unique_ptr<std::atomic<uint64_t>[]> pairs;
  };
  std::atomic<uint64_t>& counter(const Part& part);

  std::vector<Counters> counters_;
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  Failure failure_;
  std::atomic<unsigned> timeout_ms_;
};

// INFINICCL_TIMEOUT in milliseconds, else the default.
unsigned initial_timeout_ms();

}  // namespace infiniccl
