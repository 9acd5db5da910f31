// The plan of a written operator, as kernels of every device type see it. This file is compiled into the library and, as text, by
// NVIDIA's compiler: plain types of the language only.
#pragma once

namespace infiniop {

constexpr int kMaxWrittenDims = 8;
constexpr int kMaxWrittenSizes = 12;
constexpr int kMaxWrittenTensors = 12;
constexpr int kMaxWrittenAttributes = 20;

struct TensorView {
  int dtype;  // infiniDtype_t
  int ndim;
  int rest_first, rest_dims;  // the dimensions that its pattern writes as "..." or "<"
  int after_dims;  // those that it writes as ">": the last ones
  bool is_given;
  long long shape[kMaxWrittenDims];
  long long stride[kMaxWrittenDims];  // in elements
};

struct WrittenPlan {
  long long size[kMaxWrittenSizes];  // by the names in the schema
  long long rest, before, after;  // how many elements those dimensions have
  int dim;  // what the attribute of that name says, counted from the first dimension
  TensorView tensor[kMaxWrittenTensors];
};

// What a launch passes to a GPU's kernel.
struct WrittenArguments {
  WrittenPlan plan;
  double attributes[kMaxWrittenAttributes];
  void* address[kMaxWrittenTensors];
  void* workspace;
};

#ifdef __CUDACC__
#define INFINIOP_ANYWHERE __device__ __forceinline__
#else
#define INFINIOP_ANYWHERE inline
#endif

// Where element `index` of `count` dimensions from `first` on lies, in elements.
INFINIOP_ANYWHERE long long offset_in(const TensorView& view, int first, int count, long long index) {
  long long offset = 0;
  for (int d = first + count - 1; d >= first; --d) {
    if (d == first) return offset + index * view.stride[d];
    const long long next = index / view.shape[d];
    offset += (index - next * view.shape[d]) * view.stride[d];
    index = next;
  }
  return offset;
}
// The same by divisions of type Count, 32 bits of which take a fraction of the time of 64 on a GPU.
template <class Count>
INFINIOP_ANYWHERE long long offset_as(const TensorView& view, int first, int count, Count index) {
  long long offset = 0;
  for (int d = first + count - 1; d > first; --d) {
    const Count size = static_cast<Count>(view.shape[d]), next = index / size;
    offset += static_cast<long long>(index - next * size) * view.stride[d];
    index = next;
  }
  return count > 0 ? offset + static_cast<long long>(index) * view.stride[first] : 0;
}
// Of the dimensions "..." or "<".
INFINIOP_ANYWHERE long long offset_of_rest(const TensorView& view, long long index) {
  return offset_in(view, view.rest_first, view.rest_dims, index);
}
// Of the dimensions ">".
INFINIOP_ANYWHERE long long offset_of_after(const TensorView& view, long long index) {
  return offset_in(view, view.ndim - view.after_dims, view.after_dims, index);
}

}  // namespace infiniop
