// Sums of arrays that do not depend on the order of their terms: exact ones (exact_sum.hpp), and sums of groups as whole
// numbers (long_sums.hpp).
#pragma once

#include <cstdint>

namespace arboretum {

struct Terms {
    const double* values;
    const double* factor;  // what multiplies each, or null
    int64_t n;

    double operator[](int64_t i) const { return factor != nullptr ? values[i] * factor[i] : values[i]; }
};

// out: the words of an ExactSum, carried.
void sum_exactly(const Terms& terms, int threads, int64_t* out);

// The double nearest to a sum, given by its words, which may be those of parts added up.
double round_sum(const int64_t* words);

// out[group] = Σ of the terms of the group; not a number if a term is not finite. group: of each term.
void sum_groups(const Terms& terms, const uint32_t* group, int64_t n_groups, double* out);

}  // namespace arboretum
