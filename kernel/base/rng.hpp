// Counter-based randomness: a draw is a hash of what it is for, so it never depends on who draws first.
#pragma once

#include <cmath>
#include <cstdint>

namespace arboretum {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64 bits with full avalanche.
constexpr uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

constexpr uint64_t draw(uint64_t seed, uint64_t counter) { return mix(seed ^ mix(counter)); }

constexpr uint64_t draw(uint64_t seed, uint64_t a, uint64_t b) { return draw(draw(seed, a), b); }

// Uniform in [0, 1).
constexpr double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Normal with mean 0 and variance 1 (Box, Muller 1958); 1 − unit is never 0.
inline double standard_normal(uint64_t bits) {
    constexpr double turn = 6.283185307179586477;
    return std::sqrt(-2 * std::log(1 - unit(mix(bits)))) * std::cos(turn * unit(bits));
}

}  // namespace arboretum
