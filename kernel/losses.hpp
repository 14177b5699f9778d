// Fused gradients of the hot losses: the formulas of arboretum/losses, row by row, in double, stored as float for large
// tables and as double for small ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "parallel.hpp"
#include "simd.hpp"
#include "types.hpp"

namespace arboretum {

enum class LossKind : int { squared, absolute, quantile, huber, poisson, gamma, tweedie, logistic };

struct GradientPair {
    double gradient, hessian;
};

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
// series to degree 23 (remainder below 2^-60). Of 0 it is about −710.
[[gnu::always_inline]] inline double logarithm(double x) {
    constexpr uint64_t root_half = 0x3fe6a09e667f3bcdull;
    uint64_t bits = std::bit_cast<uint64_t>(x);
    int64_t k = static_cast<int64_t>(bits - root_half) >> 52;
    double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(k) << 52));
    double s = (m - 1) / (m + 1), t = s * s, p = 0;
    for (int degree = 23; degree >= 3; degree -= 2) p = p * t + 1.0 / degree;
    return static_cast<double>(k) * 0.69314718055994530942 + 2 * (s + s * t * p);
}

template <LossKind kind>
[[gnu::always_inline]] inline GradientPair gradient_at(double y, double raw, double parameter) {
    if constexpr (kind == LossKind::squared) {
        return {raw - y, 1.0};
    } else if constexpr (kind == LossKind::absolute) {
        return {raw > y ? 1.0 : raw < y ? -1.0 : 0.0, 1.0};
    } else if constexpr (kind == LossKind::quantile) {
        return {raw > y ? 1.0 - parameter : raw < y ? -parameter : 0.0, 1.0};
    } else if constexpr (kind == LossKind::huber) {
        double residual = raw - y;
        residual = residual > parameter ? parameter : residual;
        residual = residual < -parameter ? -parameter : residual;
        return {residual, 1.0};
    } else if constexpr (kind == LossKind::poisson) {
        double mean = exponential(raw);
        return {mean - y, mean};
    } else if constexpr (kind == LossKind::gamma) {
        double ratio = y * exponential(-raw);
        return {1.0 - ratio, ratio};
    } else if constexpr (kind == LossKind::tweedie) {
        double a = 2.0 - parameter, b = parameter - 1.0;
        double rising = exponential(a * raw), falling = y * exponential(-b * raw);
        return {rising - falling, a * rising + b * falling};
    } else {
        double p = 1.0 / (1.0 + exponential(-raw));
        return {p - y, p * (1.0 - p)};
    }
}

template <class Real>
struct GradientTask {
    const double* y;
    const double* raw;
    const double* weight;  // or null
    double parameter;
    Real* gradients;
    Real* hessians;
};

template <LossKind kind, class Real>
[[gnu::always_inline]] inline void gradients_of(const GradientTask<Real>& task, int64_t begin, int64_t end) {
    if (task.weight == nullptr) {
        for (int64_t i = begin; i < end; ++i) {
            GradientPair pair = gradient_at<kind>(task.y[i], task.raw[i], task.parameter);
            task.gradients[i] = static_cast<Real>(pair.gradient);
            task.hessians[i] = static_cast<Real>(pair.hessian);
        }
    } else {
        for (int64_t i = begin; i < end; ++i) {
            GradientPair pair = gradient_at<kind>(task.y[i], task.raw[i], task.parameter);
            task.gradients[i] = static_cast<Real>(pair.gradient * task.weight[i]);
            task.hessians[i] = static_cast<Real>(pair.hessian * task.weight[i]);
        }
    }
}

// One clone set a loss and type: target_clones cannot be put on a template.
#define ARBORETUM_GRADIENTS(kind)                                                                                 \
    ARBORETUM_CLONES inline void gradients_##kind(const GradientTask<float>& task, int64_t begin, int64_t end) {  \
        gradients_of<LossKind::kind>(task, begin, end);                                                           \
    }                                                                                                             \
    ARBORETUM_CLONES inline void gradients_##kind(const GradientTask<double>& task, int64_t begin, int64_t end) { \
        gradients_of<LossKind::kind>(task, begin, end);                                                           \
    }
ARBORETUM_GRADIENTS(squared)
ARBORETUM_GRADIENTS(absolute)
ARBORETUM_GRADIENTS(quantile)
ARBORETUM_GRADIENTS(huber)
ARBORETUM_GRADIENTS(poisson)
ARBORETUM_GRADIENTS(gamma)
ARBORETUM_GRADIENTS(tweedie)
ARBORETUM_GRADIENTS(logistic)
#undef ARBORETUM_GRADIENTS

constexpr int64_t gradient_block = 8192;

// Gradients of rows begin … end − 1 of a task.
template <class Real>
using GradientBlock = void (*)(const GradientTask<Real>& task, int64_t begin, int64_t end);

template <class Real>
GradientBlock<Real> gradient_block_of(LossKind kind) {
    constexpr GradientBlock<Real> blocks[] = {gradients_squared, gradients_absolute, gradients_quantile,
                                              gradients_huber,   gradients_poisson,  gradients_gamma,
                                              gradients_tweedie, gradients_logistic};
    return blocks[static_cast<int>(kind)];
}

template <class Real>
void compute_gradients(LossKind kind, const GradientTask<Real>& task, int64_t n, int threads) {
    GradientBlock<Real> block = gradient_block_of<Real>(kind);
    parallel_blocks(n, gradient_block, threads, [&](int64_t begin, int64_t end, int) { block(task, begin, end); });
}

// Probabilities of both classes: out[2i] = 1 − p, out[2i + 1] = p = 1 / (1 + e^−raw).
ARBORETUM_CLONES inline void sigmoid_pairs(const double* raw, int64_t n, double* out) {
    for (int64_t i = 0; i < n; ++i) {
        double p = 1.0 / (1.0 + exponential(-raw[i]));
        out[2 * i] = 1.0 - p;
        out[2 * i + 1] = p;
    }
}

// Multinomial: raw, gradients and hessians are class-major (n_classes × n). p = softmax(raw); g = p − [y = k],
// h = K/(K−1) · p(1 − p).
template <class Real>
struct SoftmaxTask {
    const double* y;  // class codes
    const double* raw;
    const double* weight;  // or null
    int64_t n;
    int64_t n_classes;
    Real* gradients;
    Real* hessians;
};

constexpr int softmax_chunk = 128;

// The exponentials of a chunk of rows wait in `scratch` (n_classes × softmax_chunk) until their sum is known.
template <class Real>
[[gnu::always_inline]] inline void softmax_of(const SoftmaxTask<Real>& task, int64_t first, int m, double* scratch) {
    double top[softmax_chunk], sum[softmax_chunk];
    const double factor = static_cast<double>(task.n_classes) / static_cast<double>(task.n_classes - 1);
    for (int i = 0; i < m; ++i) {
        top[i] = task.raw[first + i];
        sum[i] = 0;
    }
    for (int64_t k = 1; k < task.n_classes; ++k) {
        const double* raw = task.raw + k * task.n + first;
        for (int i = 0; i < m; ++i) top[i] = raw[i] > top[i] ? raw[i] : top[i];
    }
    for (int64_t k = 0; k < task.n_classes; ++k) {
        const double* raw = task.raw + k * task.n + first;
        double* power = scratch + k * softmax_chunk;
        for (int i = 0; i < m; ++i) {
            power[i] = exponential(raw[i] - top[i]);
            sum[i] += power[i];
        }
    }
    for (int64_t k = 0; k < task.n_classes; ++k) {
        const double* power = scratch + k * softmax_chunk;
        Real* g = task.gradients + k * task.n + first;
        Real* h = task.hessians + k * task.n + first;
        for (int i = 0; i < m; ++i) {
            double p = power[i] / sum[i];
            double weight = task.weight != nullptr ? task.weight[first + i] : 1.0;
            double is_class = task.y[first + i] == static_cast<double>(k) ? 1.0 : 0.0;
            g[i] = static_cast<Real>((p - is_class) * weight);
            h[i] = static_cast<Real>(factor * (p * (1.0 - p)) * weight);
        }
    }
}

ARBORETUM_CLONES inline void softmax_block(const SoftmaxTask<float>& task, int64_t first, int m, double* scratch) {
    softmax_of(task, first, m, scratch);
}
ARBORETUM_CLONES inline void softmax_block(const SoftmaxTask<double>& task, int64_t first, int m, double* scratch) {
    softmax_of(task, first, m, scratch);
}

template <class Real>
void compute_softmax_gradients(const SoftmaxTask<Real>& task, int threads) {
    parallel_blocks(task.n, gradient_block, threads, [&](int64_t begin, int64_t end, int) {
        std::vector<double> scratch(task.n_classes * softmax_chunk);
        for (int64_t first = begin; first < end; first += softmax_chunk)
            softmax_block(task, first, static_cast<int>(std::min<int64_t>(softmax_chunk, end - first)), scratch.data());
    });
}

}  // namespace arboretum
