// For the tests: what the library gives NVIDIA's compiler and a launch for a plan, on machines without a GPU.
#include <cstring>
#include <iterator>

#include "op/nvidia/chain_source.h"
#include "op/nvidia/rows_source.h"
#include "op/nvidia/source.h"
#include "op/nvidia/written.h"
#include "op/tensor.h"

using namespace infiniop;

// `strides` in bytes, operand after operand, outermost dimension first. Returns the width; the text goes to `text`, zero-terminated.
extern "C" int describe(const char* name, int kind, int map, unsigned truths, int operands, const int* dtypes,
                        int dimensions, const int64_t* sizes, const int64_t* strides, char* text, size_t capacity,
                        Arguments* elements, Arguments* vectors, unsigned* blocks) {
  OperatorInfo info{};
  info.name = name;
  info.kind = static_cast<OperatorKind>(kind);
  info.map = map;
  info.inputs = operands - 1;
  info.truths = truths;
  Plan plan{};
  plan.info = &info;
  NestBuilder<kMaxOperands> builder(operands);
  for (int d = 0; d < dimensions; ++d) {
    int64_t steps[kMaxOperands] = {};
    for (int t = 0; t < operands; ++t) steps[t] = sizes[d] == 1 ? 0 : strides[t * dimensions + d];
    if (!builder.add(sizes[d], steps)) return 0;
  }
  plan.nest = builder.finish();
  for (int t = 0; t < operands; ++t) plan.dtype[t] = static_cast<infiniDtype_t>(dtypes[t]);
  const auto variant = nvidia::variant_of(plan);
  const std::string made = nvidia::variant_text(variant);
  if (made.size() >= capacity) return 0;
  std::memcpy(text, made.c_str(), made.size() + 1);
  *elements = nvidia::arguments_of(plan, variant, 1);
  *vectors = nvidia::arguments_of(plan, variant, variant.width);
  blocks[0] = nvidia::blocks_of(*elements, 1);
  blocks[1] = nvidia::blocks_of(*vectors, variant.width);
  blocks[2] = variant.tiling.edge > 0 ? nvidia::blocks_of(plan.nest, variant.tiling) : 0;
  return variant.width;
}

// As describe(), for a chain. `steps` has, of each step: kind, map, number of inputs, their type, the result's, three inputs, the output.
extern "C" int describe_chain(int operands, const int* dtypes, int dimensions, const int64_t* sizes,
                              const int64_t* strides, int count, const int* steps, const double* attributes,
                              const unsigned char* elements_of_steps, char* text, size_t capacity,
                              ChainArguments* elements, ChainArguments* vectors, unsigned* blocks) {
  ChainPlan plan{};
  OperatorInfo infos[kMaxChainSteps] = {};
  NestBuilder<kMaxChainOperands> builder(operands);
  for (int d = 0; d < dimensions; ++d) {
    int64_t at[kMaxChainOperands] = {};
    for (int t = 0; t < operands; ++t) at[t] = sizes[d] == 1 ? 0 : strides[t * dimensions + d];
    if (!builder.add(sizes[d], at)) return 0;
  }
  plan.nest = builder.finish();
  for (int t = 0; t < operands; ++t) plan.dtype[t] = static_cast<infiniDtype_t>(dtypes[t]);
  plan.steps = count;
  for (int s = 0; s < count; ++s) {
    const int* given = steps + s * 9;
    infos[s].kind = static_cast<OperatorKind>(given[0]);
    infos[s].map = given[1];
    infos[s].inputs = given[2];
    ChainStep& step = plan.step[s];
    step.info = &infos[s];
    step.in = static_cast<infiniDtype_t>(given[3]);
    step.out = static_cast<infiniDtype_t>(given[4]);
    for (int i = 0; i < 3; ++i) step.inputs[i] = static_cast<int8_t>(given[5 + i]);
    step.output = static_cast<int8_t>(given[8]);
    if (step.output >= 0) plan.is_written[step.output] = true;
    std::memcpy(step.attributes, attributes + 2 * s, sizeof step.attributes);
    std::memcpy(step.element, elements_of_steps + 16 * s, sizeof step.element);
  }
  const auto variant = nvidia::variant_of(plan);
  const std::string made = nvidia::variant_text(plan, variant);
  if (made.size() >= capacity) return 0;
  std::memcpy(text, made.c_str(), made.size() + 1);
  *elements = nvidia::arguments_of(plan, variant, 1);
  *vectors = nvidia::arguments_of(plan, variant, variant.width);
  blocks[0] = nvidia::blocks_of(*elements, 1);
  blocks[1] = nvidia::blocks_of(*vectors, variant.width);
  return variant.width;
}

// The generated functions of the operators lead here. Of operators on rows and written ones the plan is kept, all else is not asked for.
namespace infiniop {

static Plan row_plan;
static RowsPlan rows_of_plan;
static WrittenPlan written_of_plan;

infiniStatus_t create_operator(const char* function, const OperatorInfo& info, void*, void**,
                               const void* const* pointers, const double* attributes, const RowDimensions& dimensions) {
  if (!info.rows && !info.written) return INFINI_STATUS_NOT_IMPLEMENTED;
  const Tensor* tensors[kMaxTensors] = {};
  row_plan = {};
  rows_of_plan = {};
  row_plan.info = &info;
  row_plan.rows = &rows_of_plan;
  for (int t = 0; t < info.tensors; ++t) {
    tensors[t] = static_cast<const Tensor*>(find(Kind::Tensor, pointers[t]));
  }
  if (info.written) {
    row_plan.written = &written_of_plan;
    if (attributes) std::memcpy(row_plan.attributes, attributes, sizeof row_plan.attributes);
    return make_written(function, info, tensors, row_plan.attributes, &written_of_plan);
  }
  for (int t = 0; t < info.tensors; ++t) row_plan.dtype[t] = tensors[tensors[t] ? t : info.outputs]->dtype;
  return make_rows(function, info, tensors, dimensions, &rows_of_plan);
}

infiniStatus_t get_workspace_size(const char*, const OperatorInfo&, const void*, size_t*) {
  return INFINI_STATUS_NOT_IMPLEMENTED;
}
infiniStatus_t compute(const char*, const OperatorInfo&, const void*, void* const*, void*, const CallValues&) {
  return INFINI_STATUS_NOT_IMPLEMENTED;
}
infiniStatus_t plan_operator(const char*, const OperatorInfo&, const Tensor* const*, const double*,
                             const RowDimensions&, Descriptor*) {
  return INFINI_STATUS_NOT_IMPLEMENTED;
}
infiniStatus_t prepare_operator(const char*, const Device&, Descriptor*) { return INFINI_STATUS_NOT_IMPLEMENTED; }
infiniStatus_t destroy_operator(const char*, const OperatorInfo&, const void*) { return INFINI_STATUS_NOT_IMPLEMENTED; }

}  // namespace infiniop

// As describe(), for the operator on rows that was created last. `numbers` are threads and items of the kernel for vectors, and threads of
// the other; `blocks` as there.
extern "C" int describe_rows(char* text, size_t capacity, RowArguments* arguments, int* numbers, unsigned* blocks) {
  const auto variant = nvidia::row_variant_of(row_plan);
  const std::string made = nvidia::row_variant_text(row_plan, variant);
  if (made.size() >= capacity) return 0;
  std::memcpy(text, made.c_str(), made.size() + 1);
  *arguments = nvidia::row_arguments_of(row_plan);
  numbers[0] = variant.threads;
  numbers[1] = variant.items;
  numbers[2] = variant.element_threads;
  blocks[0] = nvidia::row_blocks(arguments->rows, variant.element_threads);
  blocks[1] = nvidia::row_blocks(arguments->rows, variant.threads);
  return variant.width;
}

// The program of the written operator that was created last; "variant.h" goes to `text`. Null: no room.
extern "C" const char* describe_written(char* text, size_t capacity) {
  const char* program = nullptr;
  const std::string made = nvidia::written_source(row_plan, &program);
  if (made.size() >= capacity) return nullptr;
  std::memcpy(text, made.c_str(), made.size() + 1);
  return program;
}

// Its launches: the names of kernels, with spaces between them, go to `names`, and of each grid and block (with the second dimension 1)
// to `sizes`. Returns how many bytes its workspace has.
extern "C" size_t plan_written(void* const* addresses, const double* attributes, void* workspace,
                               WrittenArguments* arguments, char* names, unsigned* sizes) {
  *arguments = {};
  arguments->plan = written_of_plan;
  std::memcpy(arguments->attributes, attributes, sizeof arguments->attributes);
  std::memcpy(row_plan.attributes, attributes, sizeof arguments->attributes);
  std::memcpy(arguments->address, addresses, sizeof arguments->address);
  arguments->workspace = workspace;
  size_t needed = 0;
  *names = 0;
  for (const auto& each : nvidia::written_launches(row_plan, addresses, &needed)) {
    std::strcat(std::strcat(names, each.kernel.c_str()), " ");
    *sizes++ = each.grid[0];
    *sizes++ = each.block[0];
  }
  return needed;
}

extern "C" const char* rows_program() { return nvidia::rows_program_text(); }

extern "C" const char* chain_program() { return nvidia::chain_program_text(); }

extern "C" const char* program() { return nvidia::program_text(); }

extern "C" const char* option(int index) {
  return index < static_cast<int>(std::size(nvidia::kCompileOptions)) ? nvidia::kCompileOptions[index] : nullptr;
}

extern "C" int file(int index, const char** name, const char** text) {
  const auto files = nvidia::program_files();
  if (index >= static_cast<int>(files.size())) return 0;
  *name = files[static_cast<size_t>(index)].first;
  *text = files[static_cast<size_t>(index)].second;
  return 1;
}
