#include "op/cpu/chain.h"

#include <algorithm>
#include <cstring>

#include "infinirt_ext.h"
#include "op/cpu/gather.h"
#include "op/cpu/kernel.h"
#include "op/cpu/types.h"
#include "op/tensor.h"

namespace infiniop::cpu {

namespace {

constexpr int kChainTile = kTile / 2;  // there are more tiles at once than in a single operator
constexpr int kRegisters = kMaxChainOperands + kMaxChainSteps;
constexpr int kRegisterBytes = kChainTile * 8;

// How a value gets between memory and the type that it is computed in.
struct Type {
  int32_t size, computed;
  ConvertTile load, store;  // null: it is computed in
};

struct StepWork {
  OperatorKind kind;
  int8_t inputs[3];  // registers
  int8_t result;
  int8_t output;     // operand, or -1
  MapTile map;       // of Map
  ConvertTile cast;  // of Cast
  Type type;         // of the result
  double attributes[kMaxMapAttributes];
  unsigned char element[16];
};

// The first argument, by value; the operands' addresses follow, each an argument of its own.
struct ChainWork {
  int64_t block_elements;
  int32_t steps;
  bool is_read[kMaxChainOperands];
  Type type[kMaxChainOperands];  // of the operands, which are the first registers
  ChainNest nest;
  StepWork step[kMaxChainSteps];
};

class ChainWorker {
 public:
  ChainWorker(const ChainWork& work, void** operands) : work_(work), nest_(work.nest) {
    for (int t = 0; t < nest_.operands; ++t) {
      memory_[t] = *static_cast<char**>(operands[t]);
      linear_[t] = nest_.is_linear(t, work.type[t].size);
      scalar_[t] = nest_.is_scalar(t);
    }
  }

  void run(int64_t begin, int64_t end) {
    const int64_t most = std::min<int64_t>(kChainTile, end - begin);
    for (int t = 0; t < nest_.operands; ++t) {
      if (work_.is_read[t] && scalar_[t]) fetch(t, Position(nest_, begin), begin, most);
    }
    for (int s = 0; s < work_.steps; ++s) {
      if (is_constant(work_.step[s].kind)) repeat(work_.step[s]);
    }
    while (begin < end) {
      const int64_t count = std::min<int64_t>(kChainTile, end - begin);
      compute(Position(nest_, begin), begin, count);
      begin += count;
    }
  }

 private:
  // Where `count` elements lie side by side, or null.
  char* in_place(int operand, const Position& position, int64_t begin, int64_t count) const {
    return side_by_side(nest_, nest_.stride[operand], work_.type[operand].size, linear_[operand], position, begin,
                        count, memory_[operand]);
  }

  void fetch(int operand, const Position& position, int64_t begin, int64_t count) {
    const Type& type = work_.type[operand];
    char* packed = in_place(operand, position, begin, count);
    if (!packed) {
      packed = type.load ? raw_ : registers_[operand];
      gather(nest_, nest_.stride[operand], type.size, position, count, memory_[operand], packed);
    }
    if (type.load) {
      type.load(static_cast<size_t>(count), registers_[operand], packed);
      packed = registers_[operand];
    }
    value_[operand] = packed;
  }

  void repeat(const StepWork& step) {
    const auto size = static_cast<size_t>(step.type.size);
    char* target = step.type.load ? raw_ : registers_[step.result];
    for (size_t i = 0; i < kChainTile; ++i) std::memcpy(target + i * size, step.element, size);
    if (step.type.load) step.type.load(kChainTile, registers_[step.result], raw_);
    value_[step.result] = registers_[step.result];
  }

  void compute(const Position& position, int64_t begin, int64_t count) {
    for (int t = 0; t < nest_.operands; ++t) {
      if (work_.is_read[t] && !scalar_[t]) fetch(t, position, begin, count);
    }
    const auto n = static_cast<size_t>(count);
    for (int s = 0; s < work_.steps; ++s) {
      const StepWork& step = work_.step[s];
      if (is_constant(step.kind)) continue;
      if (step.kind == OperatorKind::Copy) {
        copy(step, n);
        continue;
      }
      char* result = registers_[step.result];
      // What nobody reads any more, and what is written after everything else, needs no way round.
      char* target = nullptr;
      if (s + 1 == work_.steps && step.output >= 0 && !step.type.store && !pending_reads()) {
        target = in_place(step.output, position, begin, count);
      }
      if (target) result = target;
      if (step.kind == OperatorKind::Cast) {
        step.cast(n, result, value_[step.inputs[0]]);
      } else {
        const void* inputs[3];
        for (int i = 0; i < 3; ++i) inputs[i] = step.inputs[i] < 0 ? nullptr : value_[step.inputs[i]];
        step.map(n, result, inputs, step.attributes);
      }
      if (step.type.store) {  // as if it had been written and read
        step.type.store(n, raw_, result);
        step.type.load(n, result, raw_);
      }
      value_[step.result] = result;
      if (target) done_ = s;
    }
    for (int s = 0; s < work_.steps; ++s) {
      if (work_.step[s].output >= 0 && s != done_) store(work_.step[s], position, begin, count);
    }
    done_ = -1;
  }

  // Operands may lie where results go: what is copied has to be taken out of there, unless it is the only result.
  void copy(const StepWork& step, size_t count) {
    const char* source = value_[step.inputs[0]];
    if (pending_reads()) {
      std::memcpy(registers_[step.result], source, count * static_cast<size_t>(step.type.computed));
      source = registers_[step.result];
    }
    value_[step.result] = source;
  }

  // Whether a store is still to come: it could be of elements that lie where the last result goes.
  bool pending_reads() const {
    for (int s = 0; s + 1 < work_.steps; ++s) {
      if (work_.step[s].output >= 0) return true;
    }
    return false;
  }

  void store(const StepWork& step, const Position& position, int64_t begin, int64_t count) {
    const Type& type = step.type;
    const char* packed = value_[step.result];
    char* target = in_place(step.output, position, begin, count);
    if (type.store) {
      type.store(static_cast<size_t>(count), target ? target : raw_, packed);
      if (target) return;
      packed = raw_;
    }
    if (target) {
      if (target != packed) std::memcpy(target, packed, static_cast<size_t>(count * type.size));
    } else {
      scatter(nest_, nest_.stride[step.output], type.size, position, count, packed, memory_[step.output]);
    }
  }

  const ChainWork& work_;
  const ChainNest& nest_;
  int done_ = -1;  // the step whose result went straight to memory
  char* memory_[kMaxChainOperands];
  bool linear_[kMaxChainOperands];
  bool scalar_[kMaxChainOperands];
  const char* value_[kRegisters];
  alignas(64) char raw_[kRegisterBytes];  // elements as they are in memory
  alignas(64) char registers_[kRegisters][kRegisterBytes];
};

infinirtError_t run_chain(const infinirtXBlock* block, void** args) {
  const auto& work = *static_cast<const ChainWork*>(args[0]);
  const int64_t begin = int64_t{block->blockIdx.x} * work.block_elements;
  ChainWorker worker(work, args + 1);
  worker.run(begin, std::min(begin + work.block_elements, work.nest.total));
  return infinirtSuccess;
}

Type type_of(infiniDtype_t dtype) {
  return {static_cast<int32_t>(size_of(dtype)), computed_size(dtype), from_memory(dtype), to_memory(dtype)};
}

StepWork work_of(const ChainStep& step) {
  StepWork work{};
  work.kind = step.info->kind;
  work.output = step.output;
  work.type = type_of(step.out);
  if (work.kind == OperatorKind::Map) work.map = map_tile(step.info->map, step.in);
  if (work.kind == OperatorKind::Cast) {
    const int to = step.out == INFINI_DTYPE_BOOL ? static_cast<int>(kComputed) : computed_as(step.out);
    work.cast = casts[to][computed_as(step.in)];
  }
  std::memcpy(work.attributes, step.attributes, sizeof work.attributes);
  std::memcpy(work.element, step.element, sizeof work.element);
  return work;
}

// A result takes the register of a value that nobody reads or writes to memory any more, so that a long chain stays in the cache.
void assign_registers(const ChainPlan& plan, ChainWork* work) {
  const int operands = plan.nest.operands, values = operands + plan.steps;
  int last_use[kRegisters], of[kRegisters];
  bool is_free[kRegisters] = {};
  for (int v = 0; v < values; ++v) last_use[v] = v < operands ? -1 : v - operands;
  for (int s = 0; s < plan.steps; ++s) {
    for (int i = 0; i < plan.step[s].info->inputs; ++i) last_use[plan.step[s].inputs[i]] = s;
  }
  const auto stays = [&](int value) {  // beyond its last use
    if (value < operands) return true;  // repeated operands are brought once
    const ChainStep& step = plan.step[value - operands];
    return step.output >= 0 || is_constant(step.info->kind);
  };
  int used = operands;
  for (int v = 0; v < operands; ++v) of[v] = v;
  for (int s = 0; s < plan.steps; ++s) {
    const ChainStep& step = plan.step[s];
    StepWork& target = work->step[s];
    for (int i = 0; i < 3; ++i) {
      target.inputs[i] = static_cast<int8_t>(i < step.info->inputs ? of[step.inputs[i]] : -1);
    }
    // Copies share their source's memory, so neither may be given away; constants are there before the first tile.
    const bool shares = step.info->kind == OperatorKind::Copy;
    const bool takes_new = shares || is_constant(step.info->kind);
    int found = -1;
    for (int r = operands; r < used && found < 0 && !takes_new; ++r) {
      if (is_free[r]) found = r;
    }
    if (found < 0) found = used++;
    is_free[found] = false;
    of[operands + s] = found;
    target.result = static_cast<int8_t>(found);
    for (int v = operands; v < operands + s && !shares; ++v) {
      bool copied = plan.step[v - operands].info->kind == OperatorKind::Copy;
      for (int c = v - operands + 1; c < plan.steps && !copied; ++c) {
        copied = plan.step[c].info->kind == OperatorKind::Copy && plan.step[c].inputs[0] == v;
      }
      if (last_use[v] == s && !stays(v) && !copied) is_free[of[v]] = true;
    }
  }
}

class PreparedWork final : public PreparedChain {
 public:
  explicit PreparedWork(const ChainPlan& plan) : work_{} {
    work_.nest = plan.nest;
    work_.steps = plan.steps;
    work_.block_elements = std::max<int64_t>(16 * kTile, plan.nest.total / kMostBlocks + 1);
    for (int t = 0; t < plan.nest.operands; ++t) work_.type[t] = type_of(plan.dtype[t]);
    for (int s = 0; s < plan.steps; ++s) {
      work_.step[s] = work_of(plan.step[s]);
      for (int i = 0; i < plan.step[s].info->inputs; ++i) {
        if (plan.step[s].inputs[i] < plan.nest.operands) work_.is_read[plan.step[s].inputs[i]] = true;
      }
    }
    assign_registers(plan, &work_);
  }

  infinirtError_t launch(void* const* operands, infinirtStream_t stream) const override {
    ChainWork work = work_;
    void* addresses[kMaxChainOperands] = {};
    void* args[1 + kMaxChainOperands] = {&work};
    for (int t = 0; t < kMaxChainOperands; ++t) {
      if (t < work.nest.operands) addresses[t] = operands[t];
      args[1 + t] = &addresses[t];
    }
    const auto blocks = static_cast<unsigned>((work.nest.total + work.block_elements - 1) / work.block_elements);
    const auto cost = static_cast<unsigned long long>(kElement_ns * static_cast<double>(work.nest.total * work.steps));
    return infinirtXLaunchComputation(reinterpret_cast<const void*>(run_chain), {blocks, 1, 1}, args, cost, stream);
  }

 private:
  ChainWork work_;
};

}  // namespace

std::unique_ptr<PreparedChain> prepare_chain(const ChainPlan& plan, infinirtError_t* error) {
  size_t sizes[1 + kMaxChainOperands] = {sizeof(ChainWork)};
  std::fill(sizes + 1, std::end(sizes), sizeof(void*));
  const infinirtXKernelInfo info{"Chain", run_chain, sizes, 1 + kMaxChainOperands, 0};
  if ((*error = infinirtXRegisterKernel(&info))) return nullptr;
  return std::make_unique<PreparedWork>(plan);
}

}  // namespace infiniop::cpu
