// The places of many values among rising cuts.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

namespace arboretum {

constexpr int search_chunk = 256;

// The largest T not above x: `value <= x` and `value <= round_down(x)` agree for every T value.
template <class T>
T round_down(double x) {
    T rounded = static_cast<T>(x);
    return rounded > x ? std::nextafter(rounded, -std::numeric_limits<T>::infinity()) : rounded;
}

// Cuts as search_cuts wants them: padded with +inf to a power of two.
template <class T>
std::vector<T> padded_cuts(const std::vector<double>& cuts);

// codes[i] = number of cuts below values[i], for at most search_chunk values, float or double. Up to 15 of the cuts,
// evenly spread, are counted for all values (vectorised); the part between two of them is halved.
template <class T>
void search_cuts(const T* values, int n, const std::vector<T>& cuts, int* codes);

}  // namespace arboretum
