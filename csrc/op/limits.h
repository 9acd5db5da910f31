// How much of everything there is room for.
#pragma once

namespace infiniop {

inline constexpr int kMaxTensors = 12;       // of an operator
inline constexpr int kMaxAttributes = 16;    // of an operator
inline constexpr int kMaxMapAttributes = 2;  // of one that is an expression, or steps over rows

}  // namespace infiniop
