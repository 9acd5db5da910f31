// Copies between pageable host memory and a GPU through page-locked chunks.
//
// The driver's own path for pageable memory copies with one thread. Here several threads fill (or empty) one chunk while the
// GPU moves another.
#pragma once

#include <cstddef>

#include "infinirt.h"

namespace infinirt::nvidia {

// Smaller copies gain nothing.
inline constexpr size_t kStagedCopyBytes = size_t{2} << 20;

enum class StagedCopy { Done, NotHere };

// Copies `bytes` bytes on the stream if one side is pageable memory and the other a GPU's, with the timing of the real call:
// from the host it returns when the source has been read, to the host when the bytes are there. NotHere: use the real
// call (other memory, a capture, staging in use by another thread). With Done, *error is the outcome.
StagedCopy copy_staged(void* dst, const void* src, size_t bytes, infinirtStream_t stream, infinirtError_t* error);

}  // namespace infinirt::nvidia
