// For the tests: a product in cuBLASLt's terms, without a GPU. `strides` are those of c, a and b: rows, columns, batch.
#include "op/nvidia/matmul.h"

using namespace infiniop;

static Product product_of(const int64_t* sizes, const int64_t* strides) {
  const auto matrix = [&](int t) { return Matrix{strides[3 * t], strides[3 * t + 1], strides[3 * t + 2]}; };
  return {sizes[0], sizes[1], sizes[2], sizes[3], matrix(0), matrix(1), matrix(2)};
}

extern "C" int describe(const int64_t* sizes, const int64_t* strides, int dtype) {
  const nvidia::CublasLt* library = nvidia::find_cublaslt();
  if (!library) return infinirtErrorNotSupported;
  nvidia::Matmul matmul(*library);
  return matmul.describe(product_of(sizes, strides), static_cast<infiniDtype_t>(dtype));
}

// As the library's own, with a stand-in for it that computes on the host.
extern "C" int multiply(const int64_t* sizes, const int64_t* strides, int dtype, double alpha, double beta, void* c,
                        const void* a, const void* b) {
  const nvidia::CublasLt* library = nvidia::find_cublaslt();
  if (!library) return infinirtErrorNotSupported;
  nvidia::Matmul matmul(*library);
  if (auto error = matmul.describe(product_of(sizes, strides), static_cast<infiniDtype_t>(dtype))) return error;
  return matmul.enqueue(nullptr, {}, alpha, beta, c, a, b, nullptr, nullptr);
}
