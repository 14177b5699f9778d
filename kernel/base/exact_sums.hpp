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

// The size of the largest term; not a number if one is not.
double largest_size(const Terms& terms);

// out[group] = Σ of the terms of the group; not a number if a term is not finite. group: of each term.
void sum_groups(const Terms& terms, const uint32_t* group, int64_t n_groups, double* out);

// The same in two steps, for terms in several parts: words (long_sums.hpp), which add up, and their values. power: that
// of the largest term and the number of terms of all parts.
void sum_group_words(const Terms& terms, const uint32_t* group, int64_t n_groups, int power, int64_t* out);
void round_group_words(const int64_t* words, int64_t n_groups, int power, double* out);

}  // namespace arboretum
