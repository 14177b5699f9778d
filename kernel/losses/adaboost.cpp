#include "losses/adaboost.hpp"

#include <bit>
#include <cmath>

#include "base/parallel.hpp"
#include "base/simd.hpp"

namespace arboretum {

namespace {

// 1 for the second class: its gradients are negative. The sign outlives a float that underflows to 0 while the weight,
// a double, does not.
[[gnu::always_inline]] inline uint32_t class_of(float gradient) { return std::bit_cast<uint32_t>(gradient) >> 31; }
[[gnu::always_inline]] inline uint32_t class_of(double gradient) {
    return static_cast<uint32_t>(std::bit_cast<uint64_t>(gradient) >> 63);
}

// target_clones cannot be put on a template. No branches: which rows are wrong is unpredictable.
#define ARBORETUM_REWEIGHT(Real)                                                                                       \
    ARBORETUM_CLONES void reweight_rows(const uint32_t* leaf_of_row, const double* factors, int64_t n, double* weight, \
                                        Real* gradients, Real* hessians) {                                             \
        ARBORETUM_INDEPENDENT                                                                                          \
        for (int64_t i = 0; i < n; ++i) {                                                                              \
            weight[i] *= factors[2 * leaf_of_row[i] + class_of(gradients[i])];                                         \
            hessians[i] = static_cast<Real>(weight[i]);                                                                \
            gradients[i] = std::copysign(hessians[i], gradients[i]);                                                   \
        }                                                                                                              \
    }
ARBORETUM_REWEIGHT(float)
ARBORETUM_REWEIGHT(double)
#undef ARBORETUM_REWEIGHT

}  // namespace

template <class Real>
void reweight(std::span<const uint32_t> leaf_of_row, const double* factors, double* weight, Real* gradients,
              Real* hessians, int threads) {
    parallel_blocks(static_cast<int64_t>(leaf_of_row.size()), 16384, threads, [&](int64_t begin, int64_t end, int) {
        reweight_rows(leaf_of_row.data() + begin, factors, end - begin, weight + begin, gradients + begin,
                      hessians + begin);
    });
}

#define ARBORETUM_INSTANTIATE(Real) \
    template void reweight(std::span<const uint32_t>, const double*, double*, Real*, Real*, int)
ARBORETUM_INSTANTIATE(float);
ARBORETUM_INSTANTIATE(double);
#undef ARBORETUM_INSTANTIATE

}  // namespace arboretum
