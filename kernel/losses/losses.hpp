// Fused gradients of the hot losses: the formulas of arboretum/losses, row by row, in double, stored as float for large
// tables and as double for small ones.
#pragma once

#include <cstdint>

namespace arboretum {

enum class LossKind : int { squared, absolute, quantile, huber, poisson, gamma, tweedie, logistic };

struct GradientPair {
    double gradient, hessian;
};

template <class Real>
struct GradientTask {
    const double* y;
    const double* raw;
    const double* weight;  // or null
    double parameter;
    Real* gradients;
    Real* hessians;
};

constexpr int64_t gradient_block = 8192;

// Gradients of rows begin … end − 1 of a task.
template <class Real>
using GradientBlock = void (*)(const GradientTask<Real>& task, int64_t begin, int64_t end);

// Real: float or double.
template <class Real>
GradientBlock<Real> gradient_block_of(LossKind kind);

template <class Real>
void compute_gradients(LossKind kind, const GradientTask<Real>& task, int64_t n, int threads);

// Probabilities of both classes: out[2i] = 1 − p, out[2i + 1] = p = 1 / (1 + e^−raw).
void sigmoid_pairs(const double* raw, int64_t n, double* out);

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

// Rows first … first + m − 1, m <= softmax_chunk. The exponentials of a chunk of rows wait in `scratch` (n_classes ×
// softmax_chunk) until their sum is known.
void softmax_block(const SoftmaxTask<float>& task, int64_t first, int m, double* scratch);
void softmax_block(const SoftmaxTask<double>& task, int64_t first, int m, double* scratch);

template <class Real>
void compute_softmax_gradients(const SoftmaxTask<Real>& task, int threads);

}  // namespace arboretum
