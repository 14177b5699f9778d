// The middle of two numbers: the one rule for thresholds, bounds and medians.
#pragma once

namespace arboretum {

// Halves are added, since the sum of two large numbers may overflow.
inline double midpoint(double a, double b) { return a / 2 + b / 2; }

// A threshold t with a <= t < b: the middle, or a if there is no number, or only an infinity, between the two.
inline double threshold_between(double a, double b) {
    const double middle = midpoint(a, b);
    return middle >= a && middle < b ? middle : a;
}

}  // namespace arboretum
