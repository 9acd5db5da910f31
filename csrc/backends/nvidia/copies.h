// Copies that do more than the real function: with memory of other device types, and staged.
#pragma once

#include "core/cross_copy.h"
#include "infinirt.h"

namespace infinirt::nvidia {

// Table entries.
infinirtError_t Memcpy(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind);
infinirtError_t MemcpyAsync(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind,
                            infinirtStream_t stream);
infinirtError_t Memcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                         enum infinirtMemcpyKind kind);
infinirtError_t Memcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              enum infinirtMemcpyKind kind, infinirtStream_t stream);
infinirtError_t Memcpy3D(const struct infinirtMemcpy3DParms* p);
infinirtError_t Memcpy3DAsync(const struct infinirtMemcpy3DParms* p, infinirtStream_t stream);

// For other backends' streams: copies, and is done when it returns.
infinirtError_t copy_now(const CrossCopy& copy);
// For their copies without a stream.
infinirtError_t wait_for_default_stream(const void* pointer);

}  // namespace infinirt::nvidia
