// Ordered classes, one raw score per row: P(class <= j) = σ(θ_j − raw), θ_0 < θ_1 < … (losses/ordinal.py). With
// a = θ_y − raw and b = θ_{y−1} − raw, +∞ and −∞ at the ends:
//
//   g = 1 − σ(a) − σ(b)      h = σ'(a) + σ'(b)
#pragma once

#include <cstdint>
#include <vector>

namespace arboretum {

struct OrdinalRows {
    const double* y;  // class codes
    const double* raw;
    const double* weight;  // or null
    int64_t n;

    double times(int64_t i) const { return weight != nullptr ? weight[i] : 1.0; }
};

// What the best thresholds need of the rows of a class, as whole numbers (base/whole_sums.hpp): no term exceeds w.
struct OrdinalSums {
    uint64_t weight = 0, below_slope = 0, below_curvature = 0;  // Σ w, Σ w (1 − σ(a)), Σ w σ'(a)
    uint64_t above_slope = 0, above_curvature = 0;              // Σ w σ(b), Σ w σ'(b)
};

std::vector<double> class_bounds(const double* thresholds, int64_t n_thresholds);

template <class Real>
void compute_ordinal_gradients(const OrdinalRows& rows, const std::vector<double>& bounds, int threads, Real* gradients,
                               Real* hessians);

// out: one per class. unit: what terms are multiplied by, that of the largest weight.
void sum_ordinal(const OrdinalRows& rows, const std::vector<double>& bounds, double unit, int threads,
                 OrdinalSums* out);

}  // namespace arboretum
