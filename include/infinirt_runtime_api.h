/* For programs that were written for CUDA: what `#include <cuda_runtime_api.h>` becomes when `cuda` is replaced by `infinirt`, and the names of
 * its header that do not contain `cuda`. */
#ifndef INFINIRT_RUNTIME_API_H
#define INFINIRT_RUNTIME_API_H

#include "infinirt.h"

#ifndef CUDART_CB
#define CUDART_CB
#endif
#ifndef CUDART_VERSION
#define CUDART_VERSION 12090 /* the version whose names and shapes infinirt.h has */
#endif

#endif
