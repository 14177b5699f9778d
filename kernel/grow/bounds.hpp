// Limits that monotone ancestors set on the value of a node.
//
//   feature rises      values of the left child ≤ middle ≤ values of the right child
//   feature falls      values of the right child ≤ middle ≤ values of the left child
//
// The middle lies between the values of the two children; it bounds all nodes below them.
#pragma once

#include <algorithm>

#include "base/types.hpp"

namespace arboretum {

struct Bounds {
    double lower = -infinity, upper = infinity;

    double clip(double value) const { return std::clamp(value, lower, upper); }
    bool any() const { return lower > -infinity || upper < infinity; }
};

// direction: > 0 if the feature of the split rises, < 0 if it falls.
inline void part_bounds(int direction, double middle, Bounds& left, Bounds& right) {
    (direction > 0 ? left : right).upper = middle;
    (direction > 0 ? right : left).lower = middle;
}

}  // namespace arboretum
