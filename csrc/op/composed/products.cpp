// Addbmm, Addr, Inner and MatrixPower: matrix products of Gemm's kind.
#include "infiniop/generated/maps.h"
#include "infiniop/generated/written.h"
#include "op/composed.h"

namespace infiniop::composed {

namespace {

// out = beta * input + alpha * a * b, where `input` is repeated as broadcasting does. With `beta` 0 it is not read.
void add_product(Composer& composer, const Part& out, const Part& input, const Part& a, const Part& b, double alpha,
                 double beta) {
  if (beta != 0) composer.copy(out, input);
  composer.call(kGemmNumber, {out, a, b}, {alpha, beta});
}

}  // namespace

// The sum of products of as many matrices is one product of matrices that stand side by side, and is rounded once.
void addbmm(Composer& composer) {
  using namespace infiniop::addbmm;
  const Part left = composer.flat(composer.tensor(tensor::batch1).transposed(0, 1), 1, 2);
  const Part right = composer.flat(composer.tensor(tensor::batch2), 0, 2);
  add_product(composer, composer.tensor(tensor::out), composer.tensor(tensor::input), left, right,
              composer.attribute(attribute::alpha), composer.attribute(attribute::beta));
}

void addr(Composer& composer) {
  using namespace infiniop::addr;
  add_product(composer, composer.tensor(tensor::out), composer.tensor(tensor::input),
              composer.tensor(tensor::vec1).with_dimension(1), composer.tensor(tensor::vec2).with_dimension(0),
              composer.attribute(attribute::alpha), composer.attribute(attribute::beta));
}

void inner(Composer& composer) {
  using namespace infiniop::inner;
  const Part input = composer.tensor(tensor::input), other = composer.tensor(tensor::other);
  const Part out = composer.tensor(tensor::out);
  const size_t rows = input.view.shape.size() - 1, columns = other.view.shape.size() - 1;
  // As matrices, both of rows of the dimension that goes.
  const Part a = composer.flat(input, 0, rows), b = composer.flat(other, 0, columns).transposed(0, 1);
  std::optional<Part> c = out.merged(rows, columns);
  if (c) c = c->merged(0, rows);
  if (c) {
    composer.call(kGemmNumber, {*c, a, b}, {1, 0});
    return;
  }
  const Part made = composer.room(out.view.dtype, out.view.shape);
  composer.call(kGemmNumber, {*made.merged(rows, columns)->merged(0, rows), a, b}, {1, 0});
  composer.copy(out, made);
}

// By squares: about twice the logarithm of n products. Of narrow types what is between the first and the last is float.
void matrix_power(Composer& composer) {
  using namespace infiniop::matrix_power;
  const Part y = composer.tensor(tensor::y), x = composer.tensor(tensor::x);
  auto n = static_cast<uint64_t>(composer.attribute(attribute::n));
  if (n == 0) {
    Part diagonal = y;
    diagonal.view.shape.pop_back();
    const ptrdiff_t column = diagonal.view.strides.back();
    diagonal.view.strides.pop_back();
    diagonal.view.strides.back() += column;
    composer.call(kZerosNumber, {y, y});
    composer.call(kOnesNumber, {diagonal, diagonal});
    return;
  }
  if (n == 1) {
    composer.copy(y, x);
    return;
  }
  const infiniDtype_t dtype = x.view.dtype == INFINI_DTYPE_F64 ? INFINI_DTYPE_F64 : INFINI_DTYPE_F32;
  const auto size = static_cast<size_t>(composer.plan().size[size::m]);
  const auto matrices = static_cast<size_t>(composer.plan().rest);
  const std::vector<size_t> shape = {matrices, size, size};
  const auto whole = [&](Part part) {  // with the dimensions that x has
    part.view = composer.tensor(tensor::x).view;
    part.view.dtype = dtype;
    ptrdiff_t stride = 1;
    for (size_t d = part.view.shape.size(); d-- > 0;) {
      part.view.strides[d] = stride;
      stride *= static_cast<ptrdiff_t>(part.view.shape[d]);
    }
    return part;
  };
  // One of two rooms is read while the other is written.
  Part square = composer.room(dtype, shape), next_square = composer.room(dtype, shape);
  Part power = composer.room(dtype, shape), next_power = composer.room(dtype, shape);
  bool has_power = false;
  const auto multiply = [&](const Part& c, const Part& a, const Part& b) {
    composer.call(kGemmNumber, {c, a, b}, {1, 0});
  };
  composer.call(kCastNumber, {whole(square), x});
  for (;;) {
    if (n & 1) {
      if (has_power) {
        multiply(next_power, power, square);
        std::swap(power, next_power);
      } else {
        composer.copy(power, square);
        has_power = true;
      }
    }
    n >>= 1;
    if (n == 0) break;
    multiply(next_square, square, square);
    std::swap(square, next_square);
  }
  composer.call(kCastNumber, {y, whole(power)});
}

}  // namespace infiniop::composed
