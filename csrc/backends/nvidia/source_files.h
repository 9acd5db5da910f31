// Which files a source includes, so that a change in one of them is a change of the source.
#pragma once

#include <string>
#include <vector>

#include "core/sha256.h"
#include "infinirt_ext.h"

namespace infinirt::nvidia {

// Whether the folder holds CUDA's own headers, which belong to the compiler.
bool has_cuda_headers(const std::string& folder);

// Adds everything that decides what the source, its headers and the files that they include say: more files than are
// really included are no harm, because conditions are not evaluated. False when it cannot be known: included by a macro,
// dates, precompiled headers. Options are the compiler's.
bool hash_source(const infinirtXCompileInfo& info, const std::vector<std::string>& options, Sha256& hash);

}  // namespace infinirt::nvidia
