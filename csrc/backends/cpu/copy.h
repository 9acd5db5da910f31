// Copies and sets on memory the host can reach. Every address here is a backing address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/work.h"

namespace infinirt::cpu {

// A row that overlaps its own copy is copied as memmove does. Overlap between different rows is undefined, as in CUDA.
void copy_memory(const CopyWork& work, void* dst, const void* src);
void fill_memory(const FillWork& work, void* dst);

}  // namespace infinirt::cpu
