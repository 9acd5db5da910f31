// One product of matrices in cuBLASLt's terms. Nothing here launches anything.
#pragma once

#include <vector>

#include "op/nvidia/cublaslt.h"
#include "op/product.h"

namespace infiniop::nvidia {

// The library's matrices lie in columns. Our c in rows is its transposed in columns, and that is the product of b's and a's: so its first
// operand is our b.
class Matmul {
 public:
  explicit Matmul(const CublasLt& library) : library_(library) {}
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  // c must be in rows; a and b in rows or columns. `dtype` is the element type.
  infinirtError_t describe(const Product& product, infiniDtype_t dtype);
  // The library's proposals for operands at multiples of `alignment`, its favourite first; NotSupported where it has none.
  infinirtError_t propose(LtHandle handle, size_t most_workspace, uint32_t alignment, int most,
                          std::vector<LtHeuristic>* proposals) const;
  infinirtError_t enqueue(LtHandle handle, const LtHeuristic& chosen, double alpha, double beta, void* c, const void* a,
                          const void* b, void* workspace, infinirtStream_t stream) const;

 private:
  infinirtError_t make_layout(LtLayout* layout, int type, int64_t rows, int64_t columns, int64_t leading, int64_t batch,
                              int64_t batch_stride);

  const CublasLt& library_;
  LtMatmul matmul_ = nullptr;
  LtLayout first_ = nullptr, second_ = nullptr, result_ = nullptr;
  bool doubles_ = false;
};

}  // namespace infiniop::nvidia
