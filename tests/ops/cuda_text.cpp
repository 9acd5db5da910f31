// For the tests: what the library gives NVIDIA's compiler and a launch for a plan, on machines without a GPU.
#include <cstring>
#include <iterator>

#include "op/nvidia/source.h"

using namespace infiniop;

// `strides` in bytes, operand after operand, outermost dimension first. Returns the width; the text goes to `text`, zero-terminated.
extern "C" int describe(const char* name, int kind, int map, int operands, const int* dtypes, int dimensions,
                        const int64_t* sizes, const int64_t* strides, char* text, size_t capacity, Arguments* elements,
                        Arguments* vectors, unsigned* blocks) {
  OperatorInfo info{};
  info.name = name;
  info.kind = static_cast<OperatorKind>(kind);
  info.map = map;
  Plan plan{};
  plan.info = &info;
  NestBuilder builder(operands);
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
  return variant.width;
}

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
