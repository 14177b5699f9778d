// The weights of AdaBoost between two rounds, in the form that the next tree is grown from.
#pragma once

#include <cstdint>
#include <span>

namespace arboretum {

// weight[row] *= factors[2 · leaf of row + class of row], then hessian = weight and gradient = ±weight.
template <class Real>
void reweight(std::span<const uint32_t> leaf_of_row, const double* factors, double* weight, Real* gradients,
              Real* hessians, int threads);

}  // namespace arboretum
