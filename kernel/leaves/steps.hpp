// How far a tree moves raw predictions: leaf values times a weight, and a bound on steps that are too long to trust.
#pragma once

#include <span>
#include <vector>

namespace arboretum {

// Values times a weight, all finite, and no longer than `limit` of the longest step for this growth k (steps.cpp).
std::vector<double> weighted_values(std::span<const double> values, double weight, double limit, double growth);

}  // namespace arboretum
