/* infiniop/chain.h: several element-wise operators in one pass over memory.
 *
 * An extension of this library. Each result is rounded to its element type as if it had been written to memory and read again,
 * so a chain gives the elements that its operators give one by one (of what is not a number, another representation may come
 * out). */
#ifndef INFINIOP_CHAIN_H
#define INFINIOP_CHAIN_H

#include "infiniop/handle.h"
#include "infiniop/operator_descriptor.h"
#include "infiniop/tensor_descriptor.h"

#define INFINIOPX_MAX_CHAIN_OPERANDS 8
#define INFINIOPX_MAX_CHAIN_STEPS 16

typedef struct infiniopXChainStep {
  /* What is computed: a descriptor of an element-wise operator. Its element types count; its shapes and strides do not. */
  const struct InfiniopDescriptor* operation;
  /* The operator's inputs, in its order: n below operand_count is operand n, others are the result of step n - operand_count,
   * which has to be an earlier one. */
  int inputs[3];
  /* The operand that the result is written to; -1: it is not written. */
  int output;
  /* As of a call of the operator. Where its descriptor was made with attributes, those count. */
  double attributes[2];
  unsigned char element[16]; /* of Fill */
} infiniopXChainStep;

typedef struct InfiniopDescriptor* infiniopXChainDescriptor_t;

/* Operands that are written have one shape, and others are broadcast to it. An operand that is read is read before anything is
 * written. Two operands lie in the same memory with the same strides, or do not overlap. INFINI_STATUS_NOT_IMPLEMENTED: an
 * operation is not element-wise, or its elements are only ever copied (complex numbers). */
__INFINI_C __export infiniStatus_t infiniopXCreateChainDescriptor(infiniopHandle_t handle,
                                                                  infiniopXChainDescriptor_t* desc_ptr,
                                                                  const infiniopTensorDescriptor_t* operands,
                                                                  size_t operand_count, const infiniopXChainStep* steps,
                                                                  size_t step_count);

/* `addresses` of the operands. As any compute: asynchronous, allocates nothing, can be captured. */
__INFINI_C __export infiniStatus_t infiniopXChain(infiniopXChainDescriptor_t desc, void* const* addresses,
                                                  void* stream);

__INFINI_C __export infiniStatus_t infiniopXDestroyChainDescriptor(infiniopXChainDescriptor_t desc);

#endif /* INFINIOP_CHAIN_H */
