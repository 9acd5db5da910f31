// Products with few rows, as one token of a language model makes them: a kernel of our own reads the large matrix as fast as memory gives it.
#pragma once

#include <string>

#include "infinirt_ext.h"
#include "op/product.h"

namespace infiniop::nvidia {

class FewRows {
 public:
  // Whether it is such a product, its matrices lying so that rows are read 16 bytes at a time.
  static bool fits(const Product& product, infiniDtype_t dtype);
  // The text of "variant.h".
  static std::string variant(const Product& product, infiniDtype_t dtype);
  static const char* text();

  // Nothing happens where neither the product nor the transposed one fits. Compiles otherwise.
  infinirtError_t prepare(const Product& product, infiniDtype_t dtype);
  // With these addresses, in the order c, a, b.
  bool takes(void* const* operands) const;
  infinirtError_t launch(void* const* operands, double alpha, double beta, infinirtStream_t stream) const;

 private:
  Product product_{};
  infinirtKernel_t kernel_ = nullptr;
  int64_t width_ = 1;  // elements of 16 bytes
  bool turned_ = false;
};

}  // namespace infiniop::nvidia
