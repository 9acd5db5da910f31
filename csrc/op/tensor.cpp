#include "op/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>

#include "infiniop/tensor_descriptor.h"
#include "op/runtime.h"

namespace infiniop {

namespace {

struct Facts {
  const char* name;
  size_t size;
};

// By the number of the type.
constexpr Facts kFacts[] = {{"no type", 0}, {"BYTE", 1}, {"BOOL", 1}, {"I8", 1},  {"I16", 2},   {"I32", 4}, {"I64", 8},
                            {"U8", 1},      {"U16", 2},  {"U32", 4},  {"U64", 8}, {"F8", 1},    {"F16", 2}, {"F32", 4},
                            {"F64", 8},     {"C16", 2},  {"C32", 4},  {"C64", 8}, {"C128", 16}, {"BF16", 2}};
static_assert(sizeof kFacts / sizeof *kFacts == INFINI_DTYPE_BF16 + 1);

const Facts& facts(infiniDtype_t dtype) {
  const auto number = static_cast<unsigned>(dtype);
  return kFacts[number <= INFINI_DTYPE_BF16 ? number : 0];
}

constexpr size_t kMaxDimensions = 64;
// Offsets of elements, in bytes, stay far from the ends of a signed number, so that sums of them cannot overflow.
constexpr auto kMaxBytes = static_cast<double>(PTRDIFF_MAX / 4);

}  // namespace

size_t size_of(infiniDtype_t dtype) { return facts(dtype).size; }
bool is_whole(infiniDtype_t dtype) { return dtype >= INFINI_DTYPE_BOOL && dtype <= INFINI_DTYPE_U64; }

const char* name_of(infiniDtype_t dtype) { return facts(dtype).name; }

bool Tensor::is_empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

std::vector<size_t> Tensor::dimensions_by_stride() const {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(strides[a]) > std::abs(strides[b]); });
  return order;
}

std::string show(const std::vector<size_t>& shape) {
  std::string text = "(";
  for (size_t d = 0; d < shape.size(); ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + ")";
}

}  // namespace infiniop

using namespace infiniop;

infiniStatus_t infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t* desc_ptr, size_t ndim, const size_t* shape,
                                              const ptrdiff_t* strides, infiniDtype_t dtype) try {
  if (!desc_ptr) return fail(__func__, INFINI_STATUS_NULL_POINTER, "desc_ptr is null; the descriptor goes there");
  if (ndim > 0 && !shape) {
    return fail(__func__, INFINI_STATUS_NULL_POINTER, "shape is null, but ndim is %zu", ndim);
  }
  if (ndim > kMaxDimensions) {
    return fail(__func__, INFINI_STATUS_BAD_TENSOR_SHAPE, "ndim is %zu; at most %zu are possible", ndim,
                kMaxDimensions);
  }
  const size_t size = size_of(dtype);
  if (size == 0) {
    return fail(__func__, INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype %d is not a type of elements",
                static_cast<int>(dtype));
  }
  auto tensor = std::make_unique<Tensor>();
  tensor->dtype = dtype;
  tensor->shape.assign(shape, shape + ndim);
  tensor->strides.resize(ndim);
  double count = 1, extent = 0;
  const bool empty = tensor->is_empty();
  ptrdiff_t contiguous = 1;
  for (size_t d = ndim; d-- > 0;) {
    count *= static_cast<double>(empty ? 1 : shape[d]);
    if (count * static_cast<double>(size) > kMaxBytes) {
      return fail(__func__, INFINI_STATUS_BAD_TENSOR_SHAPE,
                  "shape: from dimension %zu on there are %.3g elements of %zu "
                  "bytes, more than memory can hold",
                  d, count, size);
    }
    tensor->strides[d] = strides ? strides[d] : contiguous;
    const double reach = static_cast<double>(tensor->strides[d]) * static_cast<double>(empty ? 0 : shape[d] - 1);
    extent += reach < 0 ? -reach : reach;
    if (extent * static_cast<double>(size) > kMaxBytes) {
      return fail(__func__, INFINI_STATUS_BAD_TENSOR_STRIDES,
                  "strides[%zu] is %td: its elements lie further apart than "
                  "memory is large",
                  d, tensor->strides[d]);
    }
    if (!empty) contiguous *= static_cast<ptrdiff_t>(shape[d]);
  }
  void* pointer = publish(Kind::Tensor, std::move(tensor));
  if (!pointer) return fail(__func__, INFINI_STATUS_INTERNAL_ERROR, "no room for another descriptor");
  *desc_ptr = static_cast<infiniopTensorDescriptor_t>(pointer);
  return INFINI_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return fail("infiniopCreateTensorDescriptor", INFINI_STATUS_INTERNAL_ERROR, "out of host memory");
}

infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc) {
  if (withdraw(Kind::Tensor, desc)) return INFINI_STATUS_SUCCESS;
  return fail(__func__, desc ? INFINI_STATUS_BAD_PARAM : INFINI_STATUS_NULL_POINTER,
              "desc %p is not a tensor descriptor, or was destroyed", static_cast<void*>(desc));
}
