#include "op/nvidia/few_rows.h"

#include "op/nvidia/program.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/few_rows.cu.inc"
    ;

// More rows are the tensor cores' business; with less columns than these most of a large GPU would have no warp.
constexpr int64_t kMostRows = 4, kFewestColumns = 512;
constexpr int64_t kBlock = 256;  // threads, as in elements.h; a warp for each column

}  // namespace

bool FewRows::fits(const Product& p, infiniDtype_t dtype) {
  if (dtype != INFINI_DTYPE_F32 && dtype != INFINI_DTYPE_F16 && dtype != INFINI_DTYPE_BF16) return false;
  const auto width = static_cast<int64_t>(16 / size_of(dtype));
  const bool shaped = p.m >= 1 && p.m <= kMostRows && p.n >= kFewestColumns && p.n <= INT32_MAX && p.k > 0 &&
                      p.k % width == 0 && p.batch < 65536;
  const bool in_rows = p.a.column_stride == 1 && p.b.row_stride == 1;
  const bool in_pieces = (p.m == 1 || p.a.row_stride % width == 0) && p.b.column_stride % width == 0 &&
                         p.a.batch_stride % width == 0 && p.b.batch_stride % width == 0;
  return shaped && in_rows && in_pieces;
}

std::string FewRows::variant(const Product& p, infiniDtype_t dtype) {
  return std::string("// few rows\n#pragma once\nnamespace infiniop {\nusing X = ") + element_type(dtype) +
         ";\nconstexpr int kRows = " + std::to_string(p.m) + ";\n}\n";
}

const char* FewRows::text() { return kText; }

infinirtError_t FewRows::prepare(const Product& product, infiniDtype_t dtype) {
  for (const bool turned : {false, true}) {
    product_ = turned ? transposed(product) : product;
    turned_ = turned;
    if (!fits(product_, dtype)) continue;
    const ProgramSource source{"few_rows", kText, variant(product_, dtype), "multiply_few_rows", "", false};
    Program program;
    if (auto error = find_program(source, &program)) return error;
    kernel_ = program.elements;
    width_ = static_cast<int64_t>(16 / size_of(dtype));
    return infinirtSuccess;
  }
  return infinirtSuccess;
}

bool FewRows::takes(void* const* operands) const {
  return kernel_ && (reinterpret_cast<uintptr_t>(operands[1]) | reinterpret_cast<uintptr_t>(operands[2])) % 16 == 0;
}

infinirtError_t FewRows::launch(void* const* operands, double alpha, double beta, infinirtStream_t stream) const {
  const Product& p = product_;
  // A transposed product is that of b and a.
  void *c = operands[0], *a = operands[turned_ ? 2 : 1], *b = operands[turned_ ? 1 : 2];
  auto factor = static_cast<float>(alpha), before = static_cast<float>(beta);
  long long columns = p.n, pieces = p.k / width_;
  long long steps[] = {p.a.row_stride,   p.b.column_stride, p.c.row_stride,  p.c.column_stride,
                       p.a.batch_stride, p.b.batch_stride,  p.c.batch_stride};
  void* args[] = {&c,        &a,        &b,        &columns,  &pieces,   &steps[0], &steps[1],
                  &steps[2], &steps[3], &steps[4], &steps[5], &steps[6], &factor,   &before};
  const auto blocks = static_cast<unsigned>((p.n * 32 + kBlock - 1) / kBlock);
  return api().LaunchKernel(reinterpret_cast<const void*>(kernel_), {blocks, static_cast<unsigned>(p.batch), 1},
                            {static_cast<unsigned>(kBlock), 1, 1}, args, 0, stream);
}

}  // namespace infiniop::nvidia
