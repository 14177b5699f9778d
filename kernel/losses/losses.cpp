#include "losses/losses.hpp"

#include <algorithm>
#include <vector>

#include "base/elementary.hpp"
#include "base/parallel.hpp"
#include "base/simd.hpp"

namespace arboretum {

namespace {

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

// One set of clones per loss and type: target_clones cannot be put on a template.
#define ARBORETUM_GRADIENTS(kind)                                                                          \
    ARBORETUM_CLONES void gradients_##kind(const GradientTask<float>& task, int64_t begin, int64_t end) {  \
        gradients_of<LossKind::kind>(task, begin, end);                                                    \
    }                                                                                                      \
    ARBORETUM_CLONES void gradients_##kind(const GradientTask<double>& task, int64_t begin, int64_t end) { \
        gradients_of<LossKind::kind>(task, begin, end);                                                    \
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

}  // namespace

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

ARBORETUM_CLONES void sigmoid_pairs(const double* raw, int64_t n, double* out) {
    for (int64_t i = 0; i < n; ++i) {
        double p = 1.0 / (1.0 + exponential(-raw[i]));
        out[2 * i] = 1.0 - p;
        out[2 * i + 1] = p;
    }
}

ARBORETUM_CLONES void softmax_block(const SoftmaxTask<float>& task, int64_t first, int m, double* scratch) {
    softmax_of(task, first, m, scratch);
}
ARBORETUM_CLONES void softmax_block(const SoftmaxTask<double>& task, int64_t first, int m, double* scratch) {
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

template GradientBlock<float> gradient_block_of(LossKind kind);
template GradientBlock<double> gradient_block_of(LossKind kind);
template void compute_gradients(LossKind kind, const GradientTask<float>& task, int64_t n, int threads);
template void compute_gradients(LossKind kind, const GradientTask<double>& task, int64_t n, int threads);
template void compute_softmax_gradients(const SoftmaxTask<float>& task, int threads);
template void compute_softmax_gradients(const SoftmaxTask<double>& task, int threads);

}  // namespace arboretum
