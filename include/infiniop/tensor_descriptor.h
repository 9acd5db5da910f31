/* infiniop/tensor_descriptor.h: shape, strides and element type of a tensor; not its memory. */
#ifndef INFINIOP_TENSOR_DESCRIPTOR_H
#define INFINIOP_TENSOR_DESCRIPTOR_H

#include "infinicore.h"

typedef struct InfiniopTensorDescriptor* infiniopTensorDescriptor_t;

/* `shape` and `strides` have `ndim` entries each and are copied. Strides count elements; they may be 0 (an element is repeated;
 * inputs only) and negative (the tensor's address is that of its first element, others lie before it). Null strides: the tensor
 * is contiguous, its last dimension the densest. `ndim` 0 is a tensor of one element; a size of 0 makes an empty one. */
__INFINI_C __export infiniStatus_t infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t* desc_ptr, size_t ndim,
                                                                  const size_t* shape, const ptrdiff_t* strides,
                                                                  infiniDtype_t dtype);

/* Operator descriptors that were made from it stay valid. */
__INFINI_C __export infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc);

#endif /* INFINIOP_TENSOR_DESCRIPTOR_H */
