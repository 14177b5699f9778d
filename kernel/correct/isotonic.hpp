// The rising sequence that is nearest to given values by weighted squares: pool adjacent violators (Ayer et al. 1955).
#pragma once

#include <cstdint>

namespace arboretum {

// Blocks of equal values are kept on a stack; one that is not above the block before it joins it. Weights are positive.
void pool_adjacent_violators(const double* values, const double* weight, int64_t n, double* out);

}  // namespace arboretum
