#include "losses/ordinal.hpp"

#include <algorithm>

#include "base/elementary.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"
#include "base/types.hpp"
#include "base/whole_sums.hpp"
#include "losses/losses.hpp"

namespace arboretum {

namespace {

constexpr int64_t ordinal_chunk = 512;

ARBORETUM_CLONES void sigmoids(double* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x[i] = 1.0 / (1.0 + exponential(-x[i]));
}

// use(row, class, σ(a), σ(b)) for rows begin … end − 1. bounds: −∞, thresholds, +∞.
template <class Use>
void for_each_ordinal(const OrdinalRows& rows, const std::vector<double>& bounds, int64_t begin, int64_t end,
                      Use&& use) {
    double a[ordinal_chunk], b[ordinal_chunk];
    for (int64_t first = begin; first < end; first += ordinal_chunk) {
        const int64_t m = std::min(ordinal_chunk, end - first);
        for (int64_t i = 0; i < m; ++i) {
            const auto own = static_cast<size_t>(rows.y[first + i]);
            a[i] = bounds[own + 1] - rows.raw[first + i];
            b[i] = bounds[own] - rows.raw[first + i];
        }
        sigmoids(a, m);
        sigmoids(b, m);
        for (int64_t i = 0; i < m; ++i) use(first + i, static_cast<size_t>(rows.y[first + i]), a[i], b[i]);
    }
}

}  // namespace

std::vector<double> class_bounds(const double* thresholds, int64_t n_thresholds) {
    std::vector<double> bounds{-infinity};
    bounds.insert(bounds.end(), thresholds, thresholds + n_thresholds);
    bounds.push_back(infinity);
    return bounds;
}

template <class Real>
void compute_ordinal_gradients(const OrdinalRows& rows, const std::vector<double>& bounds, int threads, Real* gradients,
                               Real* hessians) {
    parallel_blocks(rows.n, gradient_block, threads, [&](int64_t begin, int64_t end, int) {
        for_each_ordinal(rows, bounds, begin, end, [&](int64_t i, size_t, double a, double b) {
            gradients[i] = static_cast<Real>((1.0 - a - b) * rows.times(i));
            hessians[i] = static_cast<Real>((a * (1.0 - a) + b * (1.0 - b)) * rows.times(i));
        });
    });
}

void sum_ordinal(const OrdinalRows& rows, const std::vector<double>& bounds, double unit, int threads,
                 OrdinalSums* out) {
    const size_t n_classes = bounds.size() - 1;
    std::vector<std::vector<OrdinalSums>> parts(std::clamp(threads, 1, max_threads));
    parallel_blocks(rows.n, 65536, threads, [&](int64_t begin, int64_t end, int worker) {
        std::vector<OrdinalSums>& own = parts[worker];
        own.resize(n_classes);
        for_each_ordinal(rows, bounds, begin, end, [&](int64_t i, size_t of_class, double a, double b) {
            OrdinalSums& sum = own[of_class];
            const double weight = rows.times(i) * unit;
            sum.weight += whole(weight);
            sum.below_slope += whole(weight * (1.0 - a));
            sum.below_curvature += whole(weight * (a * (1.0 - a)));
            sum.above_slope += whole(weight * b);
            sum.above_curvature += whole(weight * (b * (1.0 - b)));
        });
    });
    std::fill_n(out, n_classes, OrdinalSums{});
    for (const std::vector<OrdinalSums>& own : parts)
        for (size_t k = 0; k < own.size(); ++k) {
            out[k].weight += own[k].weight;
            out[k].below_slope += own[k].below_slope;
            out[k].below_curvature += own[k].below_curvature;
            out[k].above_slope += own[k].above_slope;
            out[k].above_curvature += own[k].above_curvature;
        }
}

#define ARBORETUM_INSTANTIATE(Real) \
    template void compute_ordinal_gradients(const OrdinalRows&, const std::vector<double>&, int, Real*, Real*)
ARBORETUM_INSTANTIATE(float);
ARBORETUM_INSTANTIATE(double);
#undef ARBORETUM_INSTANTIATE

}  // namespace arboretum
