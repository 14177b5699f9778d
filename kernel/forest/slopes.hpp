// Slopes of linear leaves, and the one way to evaluate them: training and prediction both add up here, in the order of
// the terms, so that they agree to the last bit.
//
//   leaf(x) = value + Σ weight · (min(max(x, low), high) − centre)        the term of a missing x is 0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace arboretum {

struct SlopeTerm {
    int32_t feature;
    double weight, centre;
    double low, high;  // of the leaf's training rows: beyond, the leaf is flat

    double at(double x) const { return std::isnan(x) ? 0.0 : weight * (std::clamp(x, low, high) - centre); }
};

// number_of: a term → the row's number in its column.
template <class NumberOf>
inline double linear_value(double value, std::span<const SlopeTerm> terms, NumberOf&& number_of) {
    for (const SlopeTerm& term : terms) value += term.at(number_of(term));
    return value;
}

}  // namespace arboretum
