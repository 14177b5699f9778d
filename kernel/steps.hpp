// How far a tree moves raw predictions: leaf values times a weight, and a bound on steps that are too long to trust.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "losses.hpp"

namespace arboretum {

// Where raw is the logarithm of a mean or of odds, a hessian H may grow to H·e^|v| over a step v, so that
//
//   L(raw + v) <= L + G·v + H·(e^|v| − |v| − 1),      least at |v| = ln(1 + |newton|),   newton = −G/H
//
// (self-concordance: Bach 2010; Sun & Tran-Dinh 2019). Longer steps may raise the loss, without bound where H is almost
// 0. A step of up to 2 is always granted: longer ones come only from where Newton's overshoots, since in a leaf of one
// class and probability p it is 1/p.
inline double longest_step(double newton) { return std::max(2.0, logarithm(1 + std::abs(newton))); }

// Values times a weight, all finite, and no longer than `limit` of the longest step.
inline std::vector<double> weighted_values(std::span<const double> values, double weight, double limit) {
    std::vector<double> weighted;
    weighted.reserve(values.size());
    for (double value : values) {
        double moved = value * weight;
        if (!std::isfinite(moved)) throw std::overflow_error("a leaf value is not finite");
        if (std::isfinite(limit)) moved = std::copysign(std::min(std::abs(moved), limit * longest_step(value)), moved);
        weighted.push_back(moved);
    }
    return weighted;
}

}  // namespace arboretum
