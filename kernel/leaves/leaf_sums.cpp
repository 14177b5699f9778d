#include "leaves/leaf_sums.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "base/per_thread.hpp"
#include "base/simd.hpp"
#include "base/whole_sums.hpp"

namespace arboretum {

namespace {

constexpr int64_t step_chunk = 512;

// What a thread has summed.
struct Part {
    std::vector<WholePair> sums;
    GradientPair largest{0, 0};
};

// Whole numbers of a chunk of terms; returns the largest size. Sizes are compared by their bits, which order numbers that
// are not below 0, and what is not finite above all: compilers make vectors of maxima of integers, not of numbers.
ARBORETUM_CLONES double make_whole(const double* terms, int64_t n, double unit, uint64_t* out) {
    constexpr int64_t size_bits = std::numeric_limits<int64_t>::max();  // all but the sign
    int64_t largest = 0;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t size = std::bit_cast<int64_t>(terms[i]) & size_bits;
        largest = size > largest ? size : largest;
        out[i] = whole(terms[i] * unit);
    }
    return std::bit_cast<double>(largest);
}

// fill(first, m, gradients, hessians) writes those of rows first … first + m − 1, m <= step_chunk. out: n_nodes pairs.
template <class Fill>
GradientPair sum_by_leaf(const LeafStep& step, int threads, Fill&& fill, WholePair* out) {
    const int64_t block = std::max<int64_t>(16384, 4 * step.n_nodes);
    PerThread<Part> parts(std::clamp(threads, 1, max_threads));
    parallel_blocks(step.n_rows, block, threads, [&](int64_t begin, int64_t end, int worker) {
        Part& own = parts[worker];
        own.sums.resize(step.n_nodes);
        double gradients[step_chunk], hessians[step_chunk];
        uint64_t whole_gradients[step_chunk], whole_hessians[step_chunk];
        for (int64_t first = begin; first < end; first += step_chunk) {
            const int64_t m = std::min(step_chunk, end - first);
            fill(first, m, gradients, hessians);
            raise(own.largest.gradient, make_whole(gradients, m, step.units.gradient, whole_gradients));
            raise(own.largest.hessian, make_whole(hessians, m, step.units.hessian, whole_hessians));
            for (int64_t i = 0; i < m; ++i) own.sums[step.leaf[first + i]].add({whole_gradients[i], whole_hessians[i]});
        }
    });
    std::fill_n(out, step.n_nodes, WholePair{});
    GradientPair largest{0, 0};
    for (const Part& part : parts) {
        for (size_t node = 0; node < part.sums.size(); ++node) out[node].add(part.sums[node]);
        raise(largest.gradient, part.largest.gradient);
        raise(largest.hessian, part.largest.hessian);
    }
    return largest;
}

void move_raw(const LeafStep& step, const double* raw, int64_t first, int64_t m, double* moved) {
    for (int64_t i = 0; i < m; ++i) moved[i] = raw[first + i] + step.values[step.leaf[first + i]];
}

}  // namespace

GradientPair sum_gradients_by_leaf(LossKind kind, double parameter, const double* y, const double* raw,
                                   const double* weight, const LeafStep& step, int threads, WholePair* out) {
    GradientBlock<double> block = gradient_block_of<double>(kind);
    auto fill = [=](int64_t first, int64_t m, double* gradients, double* hessians) {
        double moved[step_chunk];
        move_raw(step, raw, first, m, moved);
        block({y + first, moved, weight != nullptr ? weight + first : nullptr, parameter, gradients, hessians}, 0, m);
    };
    return sum_by_leaf(step, threads, fill, out);
}

GradientPair sum_known_by_leaf(const double* gradients, const double* hessians, const LeafStep& step, int threads,
                               WholePair* out) {
    auto fill = [=](int64_t first, int64_t m, double* g, double* h) {
        std::copy_n(gradients + first, m, g);
        std::copy_n(hessians + first, m, h);
    };
    return sum_by_leaf(step, threads, fill, out);
}

GradientPair sum_softmax_by_leaf(const double* y, const double* raw, const double* weight, int64_t n_classes,
                                 int64_t output, const LeafStep& step, int threads, WholePair* out) {
    static_assert(step_chunk % softmax_chunk == 0);
    auto fill = [=](int64_t first, int64_t m, double* gradients, double* hessians) {
        std::vector<double> room(4 * n_classes * softmax_chunk);  // raw, gradients, hessians, exponentials of a chunk
        double *chunk = room.data(), *g = chunk + n_classes * softmax_chunk, *h = g + n_classes * softmax_chunk;
        for (int64_t done = 0; done < m; done += softmax_chunk) {
            const int64_t at = first + done, part = std::min<int64_t>(softmax_chunk, m - done);
            for (int64_t k = 0; k < n_classes; ++k) std::copy_n(raw + k * step.n_rows + at, part, chunk + k * part);
            move_raw(step, raw + output * step.n_rows, at, part, chunk + output * part);
            const double* own_weight = weight != nullptr ? weight + at : nullptr;
            softmax_block(SoftmaxTask<double>{y + at, chunk, own_weight, part, n_classes, g, h}, 0,
                          static_cast<int>(part), h + n_classes * softmax_chunk);
            std::copy_n(g + output * part, part, gradients + done);
            std::copy_n(h + output * part, part, hessians + done);
        }
    };
    return sum_by_leaf(step, threads, fill, out);
}

}  // namespace arboretum
