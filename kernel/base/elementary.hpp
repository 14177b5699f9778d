// Elementary functions that give the same bits on every processor and in every instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace arboretum {

// e^x to about one unit in the last place, the same bits in every instruction set: x = k·ln 2 + r, |r| <= ½ ln 2,
// e^r by its Taylor series to degree 13 (remainder below 2^-56), 2^k by the exponent bits. Clipped at ±300, as in
// losses/links.py.
[[gnu::always_inline]] inline double exponential(double x) {
    x = x < -300 ? -300 : x;
    x = x > 300 ? 300 : x;
    constexpr double log2e = 1.4426950408889634074, ln2_high = 6.93147180369123816490e-01,
                     ln2_low = 1.90821492927058770002e-10, magic = 6755399441055744.0;
    double shifted = x * log2e + magic;
    double k = shifted - magic;
    double r = (x - k * ln2_high) - k * ln2_low;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    double power = 1.0 + (r + r * r * p);
    uint64_t exponent, bits;
    std::memcpy(&exponent, &shifted, 8);
    std::memcpy(&bits, &power, 8);
    bits += exponent << 52;
    double result;
    std::memcpy(&result, &bits, 8);
    return result;
}

// ln x for x > 0, the same bits on every processor: x = 2^k·m, √½ <= m < √2, ln m = 2·artanh((m − 1)/(m + 1)) by its
// series to degree 23 (remainder below 2^-60). ln 0 is about −710.
[[gnu::always_inline]] inline double logarithm(double x) {
    constexpr uint64_t root_half = 0x3fe6a09e667f3bcdull;
    uint64_t bits = std::bit_cast<uint64_t>(x);
    int64_t k = static_cast<int64_t>(bits - root_half) >> 52;
    double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(k) << 52));
    double s = (m - 1) / (m + 1), t = s * s, p = 0;
    for (int degree = 23; degree >= 3; degree -= 2) p = p * t + 1.0 / degree;
    return static_cast<double>(k) * 0.69314718055994530942 + 2 * (s + s * t * p);
}

// log₂ x for x > 0, exact for powers of two. The exponent is added at the end: x = 2^k·m, √½ <= m < √2, and of x just
// above or below 1, k = 0. Numbers below 2^−1022 are scaled first, since their exponent is not in its bits.
[[gnu::always_inline]] inline double logarithm2(double x) {
    constexpr uint64_t root_half = 0x3fe6a09e667f3bcdull;
    const bool tiny = x < 0x1p-1022;
    const uint64_t bits = std::bit_cast<uint64_t>(tiny ? x * 0x1p54 : x);
    const int64_t k = static_cast<int64_t>(bits - root_half) >> 52;
    const double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(k) << 52));
    return static_cast<double>(k - (tiny ? 54 : 0)) + logarithm(m) / 0.69314718055994530942;
}

// Coefficients of the highest degree first.
template <size_t n>
double polynomial(double x, const std::array<double, n>& coefficients) {
    double sum = 0;
    for (double c : coefficients) sum = sum * x + c;
    return sum;
}

// 1 − erf x to a few units in the last place, the same bits on every processor: the three rational functions of Cody
// (1969), Rational Chebyshev approximations for the error function. e^−x² is split into factors, because x is
// rounded when squared, and exponential() ends at −300.
inline double error_complement(double x) {
    const double y = std::abs(x), square = y * y;
    if (y <= 0.46875)
        return 1 - x *
                       polynomial<5>(square, {1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
                                              3.77485237685302021e2, 3.20937758913846947e3}) /
                       polynomial<5>(square, {1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
                                              2.84423683343917062e3});
    double tail;
    if (y <= 4) {
        tail = polynomial<9>(y, {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
                                 6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2,
                                 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3}) /
               polynomial<9>(
                   y, {1, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
                       3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3});
    } else {
        const double t = 1 / square;
        tail = t *
               polynomial<6>(t, {1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                                 1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4}) /
               polynomial<6>(t, {1, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1,
                                 6.05183413124413191e-2, 2.33520497626869185e-3});
        tail = (0.56418958354775628695 - tail) / y;
    }
    const double coarse = std::min(std::floor(y * 16) / 16, 1e3);
    const double quarter = exponential(coarse * coarse / -4), half = quarter * quarter;
    tail *= half * half * exponential((coarse - y) * (coarse + y));
    return x < 0 ? 2 - tail : tail;
}

}  // namespace arboretum
