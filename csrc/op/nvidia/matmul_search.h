// Which of the library's proposals is the fastest: its first one was 4 % behind its best for bf16 matrices of 8192 x 8192 on an H200.
#pragma once

#include <vector>

#include "op/nvidia/matmul.h"

namespace infiniop::nvidia {

// So many of them are tried.
inline constexpr int kSearchedProposals = 16;

// The number of the one that INFINIOP_GEMM_PROPOSAL asks for, 0 to 63, for comparisons; -1: it asks for none.
int asked_proposal();

// Only for products that take long beside the search; INFINIOP_GEMM_SEARCH=0 never, =1 for every product.
bool worth_searching(const Product& product);

// Runs each proposal a few times, on memory and a stream of its own, and remembers the fastest one for this device and product as long
// as the process lives: descriptors of the same product compute the same bits. Without memory for it the first proposal is taken.
LtHeuristic fastest(LtHandle handle, const Matmul& matmul, const Product& product, infiniDtype_t dtype,
                    const std::vector<LtHeuristic>& proposals);

}  // namespace infiniop::nvidia
