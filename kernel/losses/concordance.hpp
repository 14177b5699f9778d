// Concordance of risks with times that may be censored (Harrell, Califf, Pryor, Lee, Rosati 1982), in O(n log n).
//
// Two rows can be compared if one has its event while the other is still at risk: at a later time, or censored at the
// same one. They agree if the first has the higher risk. A Fenwick tree over ranks of risk holds the rows that outlive
// the time at hand.
#pragma once

#include <cstdint>

namespace arboretum {

struct Concordance {
    double agreeing = 0, disagreeing = 0, tied = 0;  // Σ of products of weights
};

struct ConcordanceRows {
    const double* time;
    const uint8_t* event;
    const double* risk;
    const double* weight;  // or null
    int64_t n;

    double weight_of(int64_t i) const { return weight != nullptr ? weight[i] : 1.0; }
};

// tolerance: risks that differ by no more are tied.
Concordance concordance(const ConcordanceRows& rows, double tolerance);

}  // namespace arboretum
