#include "leaves/steps.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/elementary.hpp"

namespace arboretum {

namespace {

// Where raw is the logarithm of a mean, of odds or of a hazard, a hessian H may grow to H·e^(k|v|) over a step v:
//
//   L(raw + v) <= L + G·v + H·(e^(k|v|) − k|v| − 1)/k²,      least at |v| = ln(1 + k|newton|)/k,   newton = −G/H
//
// (self-concordance: Bach 2010; Sun & Tran-Dinh 2019). Longer steps may raise the loss, without bound where H is almost
// 0. A step of up to 2/k is always granted: longer ones come only from where Newton's overshoots, since in a leaf of
// one class and probability p it is 1/p (k = 1).
double longest_step(double newton, double growth) {
    return std::max(2.0, logarithm(1 + growth * std::abs(newton))) / growth;
}

}  // namespace

std::vector<double> weighted_values(std::span<const double> values, double weight, double limit, double growth) {
    std::vector<double> weighted;
    weighted.reserve(values.size());
    for (double value : values) {
        double moved = value * weight;
        if (!std::isfinite(moved)) throw std::overflow_error("a leaf value is not finite");
        if (std::isfinite(limit))
            moved = std::copysign(std::min(std::abs(moved), limit * longest_step(value, growth)), moved);
        weighted.push_back(moved);
    }
    return weighted;
}

}  // namespace arboretum
