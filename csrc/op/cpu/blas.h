// A library of linear algebra, OpenBLAS, found and loaded at run time.
#pragma once

#include <cstdint>
#include <string>

namespace infiniop::cpu {

struct Blas {
  std::string path;
  bool wide;  // 64-bit sizes
  void *sgemm, *dgemm;
};

// INFINIOP_BLAS_LIBRARY if set ("none": no library), the package scipy-openblas64, the system's. Null: there is none.
const Blas* find_blas();

// A matrix in rows of neighbours, or transposed.
template <class T>
struct Operand {
  const T* data;
  int64_t leading;
  bool transposed;
};

// c[m, n] = alpha * a[m, k] * b[k, n] + beta * c, on this thread alone; c in rows. False: sizes do not fit the library's integers.
template <class T>
bool multiply(const Blas& blas, int64_t m, int64_t n, int64_t k, T alpha, const Operand<T>& a, const Operand<T>& b,
              T beta, T* c, int64_t leading);

}  // namespace infiniop::cpu
