// Gauss–Legendre quadrature on [0, 1]: n points integrate polynomials of degree 2n − 1 exactly.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

namespace arboretum {

struct Quadrature {
    std::vector<double> at, weight;

    int size() const { return static_cast<int>(at.size()); }
};

// Points are the roots of the Legendre polynomial of degree n, by Newton's method from Tricomi's first guess.
inline Quadrature gauss_legendre(int n) {
    Quadrature points{std::vector<double>(n), std::vector<double>(n)};
    for (int i = 0; i < (n + 1) / 2; ++i) {
        double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1;
        for (int step = 0; step < 8; ++step) {
            double before = 1, value = x;  // P₀, P₁, and P_j = ((2j − 1) x P_{j−1} − (j − 1) P_{j−2}) / j
            for (int j = 2; j <= n; ++j) {
                const double next = ((2 * j - 1) * x * value - (j - 1) * before) / j;
                before = value;
                value = next;
            }
            slope = n * (x * value - before) / (x * x - 1);
            x -= value / slope;
        }
        const double weight = 1 / ((1 - x * x) * slope * slope);
        points.at[i] = (1 - x) / 2;
        points.at[n - 1 - i] = (1 + x) / 2;
        points.weight[i] = points.weight[n - 1 - i] = weight;
    }
    return points;
}

}  // namespace arboretum
