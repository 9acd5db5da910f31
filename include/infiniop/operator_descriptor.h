/* infiniop/operator_descriptor.h: what all operator descriptors have in common. */
#ifndef INFINIOP_OPERATOR_DESCRIPTOR_H
#define INFINIOP_OPERATOR_DESCRIPTOR_H

#include "infinicore.h"

struct InfiniopDescriptor;

/* The device that the descriptor was made for. */
__INFINI_C __export infiniStatus_t infiniopGetDescriptorDeviceType(const struct InfiniopDescriptor* desc_ptr,
                                                                   infiniDevice_t* device_type);
__INFINI_C __export infiniStatus_t infiniopGetDescriptorDeviceId(const struct InfiniopDescriptor* desc_ptr,
                                                                 int* device_id);

#endif /* INFINIOP_OPERATOR_DESCRIPTOR_H */
