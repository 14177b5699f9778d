#include "leaves/leaf_sums.hpp"

#include <algorithm>
#include <vector>

#include "base/parallel.hpp"

namespace arboretum {

namespace {

constexpr int64_t step_chunk = 512;

// fill(first, m, gradients, hessians) writes those of rows first … first + m − 1, m <= step_chunk. out: n_nodes pairs.
template <class Fill>
void sum_by_leaf(const LeafStep& step, int threads, Fill&& fill, GradientPair* out) {
    const int64_t block = std::max<int64_t>(16384, 4 * step.n_nodes);
    std::vector<std::vector<GradientPair>> blocks((step.n_rows + block - 1) / block);
    parallel_blocks(step.n_rows, block, threads, [&](int64_t begin, int64_t end, int) {
        std::vector<GradientPair>& sums = blocks[begin / block];
        sums.assign(step.n_nodes, {0, 0});
        double gradients[step_chunk], hessians[step_chunk];
        for (int64_t first = begin; first < end; first += step_chunk) {
            const int64_t m = std::min(step_chunk, end - first);
            fill(first, m, gradients, hessians);
            for (int64_t i = 0; i < m; ++i) {
                GradientPair& sum = sums[step.leaf[first + i]];
                sum.gradient += gradients[i];
                sum.hessian += hessians[i];
            }
        }
    });
    std::fill_n(out, step.n_nodes, GradientPair{0, 0});
    for (const std::vector<GradientPair>& sums : blocks)
        for (int64_t node = 0; node < step.n_nodes; ++node) {
            out[node].gradient += sums[node].gradient;
            out[node].hessian += sums[node].hessian;
        }
}

void move_raw(const LeafStep& step, const double* raw, int64_t first, int64_t m, double* moved) {
    for (int64_t i = 0; i < m; ++i) moved[i] = raw[first + i] + step.values[step.leaf[first + i]];
}

}  // namespace

void sum_gradients_by_leaf(LossKind kind, double parameter, const double* y, const double* raw, const double* weight,
                           const LeafStep& step, int threads, GradientPair* out) {
    GradientBlock<double> block = gradient_block_of<double>(kind);
    auto fill = [=](int64_t first, int64_t m, double* gradients, double* hessians) {
        double moved[step_chunk];
        move_raw(step, raw, first, m, moved);
        block({y + first, moved, weight != nullptr ? weight + first : nullptr, parameter, gradients, hessians}, 0, m);
    };
    sum_by_leaf(step, threads, fill, out);
}

void sum_softmax_by_leaf(const double* y, const double* raw, const double* weight, int64_t n_classes, int64_t output,
                         const LeafStep& step, int threads, GradientPair* out) {
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
    sum_by_leaf(step, threads, fill, out);
}

}  // namespace arboretum
