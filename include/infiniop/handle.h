/* infiniop/handle.h: operators of one device. */
#ifndef INFINIOP_HANDLE_H
#define INFINIOP_HANDLE_H

#include "infinicore.h"

typedef struct InfiniopHandle* infiniopHandle_t;

/* A handle for the device that is current on the calling thread. DEVICE_TYPE_NOT_SUPPORTED where the device type has no
 * operators. May be used by several threads. */
__INFINI_C __export infiniStatus_t infiniopCreateHandle(infiniopHandle_t* handle_ptr);

/* Descriptors that were made with the handle stay valid. */
__INFINI_C __export infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle);

#endif /* INFINIOP_HANDLE_H */
