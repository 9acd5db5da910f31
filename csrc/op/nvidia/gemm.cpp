#include "op/nvidia/gemm.h"

#include <algorithm>
#include <cstdio>

#include "op/nvidia/element_wise.h"
#include "op/nvidia/few_rows.h"
#include "op/nvidia/matmul.h"
#include "op/nvidia/matmul_search.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

constexpr size_t kAlignment = 256;  // of the parts of a workspace
constexpr uint32_t kVectorAlignment = 16;

// Parts of a product that are kernels of our own.
constexpr OperatorInfo kPack = {"infiniopGemm_pack",
                                0,
                                OperatorKind::Copy,
                                DtypeRule::Same,
                                -1,
                                1,
                                2,
                                {"a copy", "a matrix"},
                                0,
                                0,
                                false,
                                nullptr};
constexpr OperatorInfo kScale = {
    "infiniopGemm_scale", 0, OperatorKind::Scale, DtypeRule::Same, -1, 1, 2, {"c", "c"}, 0, 0, false, nullptr};

// An element-wise plan and what was made of it.
struct Part {
  Plan plan{};
  std::unique_ptr<Prepared> prepared;

  infinirtError_t make(const OperatorInfo& info, infiniDtype_t dtype, int64_t batch, int64_t rows, int64_t columns,
                       const Matrix& to, const Matrix& from) {
    const auto size = static_cast<int64_t>(size_of(dtype));
    plan.info = &info;
    plan.dtype[0] = plan.dtype[1] = dtype;
    NestBuilder<kMaxOperands> builder(2);
    const int64_t sizes[] = {batch, rows, columns};
    const int64_t steps[][2] = {{to.batch_stride * size, from.batch_stride * size},
                                {to.row_stride * size, from.row_stride * size},
                                {to.column_stride * size, from.column_stride * size}};
    for (int d = 0; d < 3; ++d) builder.add(sizes[d], steps[d]);
    plan.nest = builder.finish();
    infinirtError_t error = infinirtSuccess;
    prepared = prepare_element_wise(plan, &error);
    return error;
  }
  infinirtError_t launch(void* to, void* from, infinirtStream_t stream) const {
    void* const operands[] = {to, from};
    return prepared->launch(plan, operands, {}, stream);
  }
  infinirtError_t launch_with(double factor, void* to, infinirtStream_t stream) const {
    Plan scaled = plan;
    scaled.attributes[0] = factor;
    void* const operands[] = {to, to};
    return prepared->launch(scaled, operands, {}, stream);
  }
};

// A matrix that the library cannot take as it lies: it is copied to a place in the workspace, in rows.
struct Packed {
  bool needed = false;
  size_t offset = 0;
  Part in, out;
};

class PreparedGemm final : public Prepared {
 public:
  infinirtError_t prepare(const Plan& plan) {
    dtype_ = plan.dtype[0];
    product_ = plan.product;
    const Major c = major_of(product_.m, product_.n, product_.c);
    turned_ = c.possible && c.transposed;
    if (turned_) product_ = transposed(product_);
    const Product& p = product_;
    if (auto error = scale_.make(kScale, dtype_, p.batch, p.m, p.n, p.c, p.c)) return error;
    if (p.k == 0) return infinirtSuccess;
    if (auto error = few_rows_.prepare(plan.product, dtype_)) return error;
    library_ = find_cublaslt();
    if (!library_) return infinirtErrorNotSupported;
    if (auto error = find_lt_handle(*library_, &handle_)) return error;
    // Where the library has nothing for how the matrices lie, it has for copies of them.
    const auto first = configure(false);
    const auto error = first ? configure(true) : first;
    // What one of the ways was refused with is no error of the call that found another.
    if (!error && (first || !has_aligned_ || !has_any_)) api().GetLastError();
    return error;
  }

  // With room to begin at a multiple of kAlignment.
  size_t workspace_size() const override { return workspace_size_ > 0 ? workspace_size_ + kAlignment : 0; }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace& workspace,
                         infinirtStream_t stream) const override {
    const double alpha = plan.attributes[0], beta = plan.attributes[1];
    for (int t = 0; t < 3; ++t) {
      if (reinterpret_cast<uintptr_t>(operands[t]) % size_of(dtype_) != 0) return misplaced(plan, t, operands[t]);
    }
    void *c = operands[0], *a = operands[turned_ ? 2 : 1], *b = operands[turned_ ? 1 : 2];
    if (product_.k == 0 || alpha == 0) return scale_.launch_with(beta, c, stream);
    if (few_rows_.takes(operands)) return few_rows_.launch(operands, alpha, beta, stream);
    const auto given = reinterpret_cast<uintptr_t>(workspace.address);
    char* memory =
        workspace_size_ > 0 ? reinterpret_cast<char*>((given + kAlignment - 1) / kAlignment * kAlignment) : nullptr;
    if (a_.needed) {
      if (auto error = a_.in.launch(memory + a_.offset, a, stream)) return error;
      a = memory + a_.offset;
    }
    if (b_.needed) {
      if (auto error = b_.in.launch(memory + b_.offset, b, stream)) return error;
      b = memory + b_.offset;
    }
    void* result = c_.needed ? memory + c_.offset : c;
    if (c_.needed && beta != 0) {
      if (auto error = c_.in.launch(result, c, stream)) return error;
    }
    bool aligned = has_aligned_;
    for (const void* address :
         {static_cast<const void*>(a), static_cast<const void*>(b), static_cast<const void*>(result)}) {
      aligned = aligned && reinterpret_cast<uintptr_t>(address) % kVectorAlignment == 0;
    }
    if (!aligned && !has_any_) return unaligned();
    if (auto error = matmul_->enqueue(handle_, aligned ? aligned_ : any_, alpha, beta, result, a, b,
                                      memory ? memory + library_offset_ : nullptr, stream)) {
      return error;
    }
    return c_.needed ? c_.out.launch(c, result, stream) : infinirtSuccess;
  }

 private:
  // Decides what is packed, and lets the library choose.
  infinirtError_t configure(bool pack_all) {
    Product p = product_;
    workspace_size_ = 0;
    const auto pack = [&](Packed& packed, Matrix& matrix, int64_t rows, int64_t columns, bool is_result) {
      const Major major = major_of(rows, columns, matrix);
      packed = {};
      packed.needed = pack_all || !major.possible || matrix.batch_stride < 0 || (is_result && major.transposed);
      if (!packed.needed) return infinirtSuccess;
      // What is repeated is copied once.
      const int64_t batch = matrix.batch_stride == 0 ? 1 : p.batch;
      const Matrix place{columns, 1, matrix.batch_stride == 0 ? 0 : rows * columns};
      packed.offset = take(static_cast<size_t>(batch * rows * columns) * size_of(dtype_));
      if (auto error = packed.in.make(kPack, dtype_, batch, rows, columns, place, matrix)) return error;
      if (is_result) {
        if (auto error = packed.out.make(kPack, dtype_, batch, rows, columns, matrix, place)) return error;
      }
      matrix = place;
      return infinirtSuccess;
    };
    if (auto error = pack(a_, p.a, p.m, p.k, false)) return error;
    if (auto error = pack(b_, p.b, p.k, p.n, false)) return error;
    if (auto error = pack(c_, p.c, p.m, p.n, true)) return error;
    matmul_ = std::make_unique<Matmul>(*library_);
    if (auto error = matmul_->describe(p, dtype_)) return error;
    int device = 0, generation = 0;
    if (auto error = api().GetDevice(&device)) return error;
    if (auto error = api().DeviceGetAttribute(&generation, infinirtDevAttrComputeCapabilityMajor, device)) return error;
    // As much as the library's own defaults are: more from Hopper on.
    const size_t most = (generation >= 9 ? size_t{32} : size_t{4}) << 20;
    const int asked = asked_proposal();
    std::vector<LtHeuristic> proposals;
    has_aligned_ = matmul_->propose(handle_, most, kVectorAlignment, asked < 0 ? kSearchedProposals : asked + 1,
                                    &proposals) == infinirtSuccess;
    if (has_aligned_) {
      aligned_ = asked >= 0           ? proposals.back()
                 : worth_searching(p) ? fastest(handle_, *matmul_, p, dtype_, proposals)
                                      : proposals.front();
    }
    // For addresses that only an element's size divides.
    const auto other = matmul_->propose(handle_, most, static_cast<uint32_t>(size_of(dtype_)), 1, &proposals);
    has_any_ = other == infinirtSuccess;
    if (has_any_) any_ = proposals.front();
    if (!has_aligned_ && !has_any_) return other;
    library_offset_ = take(std::max(has_aligned_ ? aligned_.workspace_size : 0, has_any_ ? any_.workspace_size : 0));
    return infinirtSuccess;
  }

  size_t take(size_t bytes) {
    const size_t offset = workspace_size_;
    workspace_size_ = (offset + bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }

  infinirtError_t misplaced(const Plan& plan, int operand, const void* address) const {
    char text[256];
    std::snprintf(text, sizeof text, "%s is at %p, which is no multiple of %zu, the size of its elements",
                  plan.info->tensor_names[operand], address, size_of(dtype_));
    infinirtXSetLastError(infinirtErrorInvalidValue, text);
    return infinirtErrorInvalidValue;
  }
  static infinirtError_t unaligned() {
    infinirtXSetLastError(infinirtErrorInvalidValue,
                          "cuBLASLt has no algorithm for matrices at these addresses; place them at multiples of 16");
    return infinirtErrorInvalidValue;
  }

  infiniDtype_t dtype_ = INFINI_DTYPE_INVALID;
  Product product_{};  // c in rows, where it can be
  bool turned_ = false;
  Part scale_;
  FewRows few_rows_;
  Packed a_, b_, c_;
  const CublasLt* library_ = nullptr;
  LtHandle handle_ = nullptr;
  std::unique_ptr<Matmul> matmul_;
  bool has_aligned_ = false, has_any_ = false;
  LtHeuristic aligned_{}, any_{};
  size_t workspace_size_ = 0, library_offset_ = 0;
};

// Of products without elements.
class Nothing final : public Prepared {
  infinirtError_t launch(const Plan&, void* const*, const Workspace&, infinirtStream_t) const override {
    return infinirtSuccess;
  }
};

}  // namespace

std::unique_ptr<Prepared> prepare_gemm(const Plan& plan, infinirtError_t* error) {
  *error = infinirtSuccess;
  if (plan.nest.total == 0) return std::make_unique<Nothing>();
  auto prepared = std::make_unique<PreparedGemm>();
  if ((*error = prepared->prepare(plan))) return nullptr;
  return prepared;
}

}  // namespace infiniop::nvidia
