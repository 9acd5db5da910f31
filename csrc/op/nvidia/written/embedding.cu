// Rows that indices name; a block copies a row after the other.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

struct alignas(16) Piece16 {
  uint64_t low, high;
};

// Strides count elements; where Piece is wider than one, elements lie side by side.
template <class Piece>
__device__ __forceinline__ void copy_rows(const WrittenArguments& a, int size) {
  using namespace embedding;
  const WrittenPlan& plan = a.plan;
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input], &weight = plan.tensor[tensor::weight];
  const long long per_piece = sizeof(Piece) / size;
  const long long pieces = plan.size[size::d] / per_piece;
  const long long step_out = per_piece == 1 ? output.stride[output.ndim - 1] : 1, step_in = per_piece == 1 ? weight.stride[1] : 1;
  for (long long item = blockIdx.x; item < plan.rest; item += gridDim.x) {
    const long long row = static_cast<const Index*>(a.address[tensor::input])[offset_of_rest(input, item)];
    if (row < 0 || row >= plan.size[size::v]) __trap();
    auto* to = reinterpret_cast<Piece*>(static_cast<char*>(a.address[tensor::output]) + offset_of_rest(output, item) * size);
    const auto* from = reinterpret_cast<const Piece*>(static_cast<const char*>(a.address[tensor::weight]) + row * weight.stride[0] * size);
    for (long long i = threadIdx.x; i < pieces; i += blockDim.x) to[i * step_out] = from[i * step_in];
  }
}

__device__ __forceinline__ int element_size(const WrittenArguments& a) {
  // The element types' numbers are those of infiniDtype_t.
  switch (a.plan.tensor[embedding::tensor::output].dtype) {
    case 4: case 8: case 12: case 19: return 2;
    case 5: case 9: case 13: return 4;
    case 6: case 10: case 14: return 8;
    default: return 1;
  }
}

}  // namespace infiniop

#define INFINIOP_COPY_ROWS(bytes, Piece)                                                                             \
  extern "C" __global__ void copy_rows_##bytes(const __grid_constant__ infiniop::WrittenArguments a) {             \
    infiniop::copy_rows<Piece>(a, infiniop::element_size(a));                                                        \
  }

INFINIOP_COPY_ROWS(1, uint8_t)
INFINIOP_COPY_ROWS(2, uint16_t)
INFINIOP_COPY_ROWS(4, uint32_t)
INFINIOP_COPY_ROWS(8, uint64_t)
INFINIOP_COPY_ROWS(16, infiniop::Piece16)
