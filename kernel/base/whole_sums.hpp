// Sums as whole numbers: the same for any order of the terms, and as fast as sums of doubles.
//
//   term · unit, rounded ──► integers, summed ──► sum / unit
//
// The unit is a power of two that follows from the largest term and the number of terms: n of them fill 62 bits, and
// each has up to 51, so that it is rounded by adding 1.5 · 2^52. Sums of terms that are not known in advance are taken
// with a guess, and again if the largest turns out to need another unit.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace arboretum {

constexpr double integer_shift = 6755399441055744.0;  // 1.5 · 2^52

// The low bits are the nearest integer, in any instruction set.
[[gnu::always_inline]] inline uint64_t integer_bits(double x) {
    double shifted = x + integer_shift;
    uint64_t bits;
    std::memcpy(&bits, &shifted, 8);
    return bits;
}

// The nearest integer, modulo 2^64.
[[gnu::always_inline]] inline uint64_t whole(double x) {
    return integer_bits(x) - std::bit_cast<uint64_t>(integer_shift);
}

// step: units are 2^(step · k). With wide steps a guess is right more often, and terms have up to step − 1 bits less.
inline double whole_unit(double largest, int64_t n_terms, int step = 1) {
    if (!(largest > 0) || !std::isfinite(largest)) return 1;
    const int room = std::min(51, 62 - static_cast<int>(std::bit_width(static_cast<uint64_t>(n_terms))));
    const int power = std::min(room - 1 - std::ilogb(largest), 1000);
    const int down = (power % step + step) % step;
    return std::ldexp(1.0, power - down);
}

// Gives n kinds of terms the units that suit their largest; returns whether any was another.
inline bool change_units(double* units, const double* largest, int64_t n, int64_t n_terms, int step) {
    bool changed = false;
    for (int64_t i = 0; i < n; ++i) {
        const double right = whole_unit(largest[i], n_terms, step);
        changed |= right != units[i];
        units[i] = right;
    }
    return changed;
}

// What is not a number counts as larger than all.
inline void raise(double& largest, double x) {
    if (x > largest || std::isnan(x)) largest = x;
}

}  // namespace arboretum
